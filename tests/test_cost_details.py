"""A month's charges without an export: the Cost Details report."""

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from connectors import arm as client
from connectors import asked, azure, retry, transfer
from connectors.base import ExportSource, Receipt, silent
from connectors.errors import DeliveryError
from tests.services.arm import IDENTITY, OPERATIONS, TOKEN, Arm, problem
from tests.services.azurite import ACCOUNT, KEY, Blobs
from tests.services.web import Answer

MONTH = "2026-10"
SUBSCRIPTION = "/subscriptions/11111111-2222-3333-4444-555555555555"
PROFILE = "/providers/Microsoft.Billing/billingAccounts/a:b_2019-05-31/billingProfiles/ABCD-EFGH"
REPORT = "/providers/Microsoft.CostManagement/generateCostDetailsReport"
POLL = f"{OPERATIONS}/report"
PARTS = {"part-0.csv": b"date,cost\n10/01/2026,1\n" * 100_000, "part-1.csv": b"date,cost\n"}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_wait", lambda *_: 0.0)
    monkeypatch.setattr(asked, "today", lambda: date(2026, 11, 30))
    monkeypatch.setattr(transfer, "RANGE_BYTES", 1 << 20)


@pytest.fixture
def reports(arm: Arm, monkeypatch: pytest.MonkeyPatch) -> Arm:
    """A Resource Manager that needs no second poll."""
    for name, value in arm.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    arm.known.polls = 0
    return arm


@pytest.fixture
def links(azurite: Blobs) -> list[str]:
    """Signed addresses of the parts of a report."""
    from azure.storage.blob import BlobSasPermissions, generate_blob_sas

    container = azurite.container("reports")
    found = []
    for name, content in PARTS.items():
        container.upload_blob(name, content, overwrite=True)
        signature = generate_blob_sas(
            *(ACCOUNT, "reports", name),
            account_key=KEY,
            permission=BlobSasPermissions(read=True),
            expiry=datetime.now(UTC) + timedelta(hours=1),
        )
        found.append(f"{azurite.endpoint}/reports/{name}?{signature}")
    return found


def source(arm: Arm, location: str = SUBSCRIPTION, metric: str | None = "actual") -> ExportSource:
    return ExportSource(location, "cost_export", metric, arm.endpoint)


def fetched(source: ExportSource, into: Path) -> Receipt:
    (delivery,) = azure.discover(source, MONTH)
    return azure.fetch(source, delivery, into, silent)


def refusal(call: Callable[..., object], *arguments: Any) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        call(*arguments)
    error = caught.value
    told = f"{error.what} {error.where} {error.expected} {error.got} {error.hint}"
    assert error.hint
    assert not any(secret in told for secret in (TOKEN, IDENTITY, KEY, "sig="))
    return error


@pytest.mark.parametrize("scope", [SUBSCRIPTION, PROFILE])
def test_a_report_is_generated_and_copied_with_all_its_parts(
    reports: Arm, links: list[str], tmp_path: Path, scope: str
) -> None:
    reports.known.reports = links
    reports.known.polls = 1
    receipt = fetched(source(reports, scope), tmp_path)
    assert [file.name for file in receipt.files] == ["cost-details.csv", "cost-details-2.csv"]
    folder = tmp_path / MONTH / receipt.delivery
    copies = [(folder / file.name).read_bytes() for file in receipt.files]
    assert copies == list(PARTS.values())
    assert [file.size for file in receipt.files] == [len(content) for content in copies]
    assert sorted(path.name for path in folder.iterdir()) == [
        *("cost-details-2.csv", "cost-details.csv", "receipt.json"),
    ]
    written = (folder / "receipt.json").read_text()
    assert not any(secret in written for secret in (TOKEN, KEY, "sig="))
    (call,) = reports.asked(REPORT)
    assert call.path == f"{scope}{REPORT}"
    assert call.json == {
        "metric": "ActualCost",
        "timePeriod": {"start": "2026-10-01", "end": "2026-10-31"},
    }
    assert receipt.bytes == sum(map(len, copies))
    assert receipt.calls >= 3


def test_a_second_fetch_asks_nothing(reports: Arm, links: list[str], tmp_path: Path) -> None:
    reports.known.reports = links
    receipt = fetched(source(reports), tmp_path)
    reports.calls.clear()
    assert fetched(source(reports), tmp_path) == receipt
    assert reports.calls == []
    fetched(source(reports, metric="amortized"), tmp_path)
    assert [call.json["metric"] for call in reports.asked(REPORT)] == ["AmortizedCost"]


class PulledPlugError(Exception):
    """Somebody pulled the plug."""


def broken_off(arm: Arm, into: Path) -> None:
    """Fetch, and pull the plug when the first part is there."""
    (delivery,) = azure.discover(source(arm), MONTH)
    sizes: list[int] = []

    def pull(_: str, __: int, size: int) -> None:
        sizes.append(size)
        if sizes[0] != size:
            raise PulledPlugError

    with pytest.raises(PulledPlugError):
        azure.fetch(source(arm), delivery, into, pull)
    for path in (path for path in into.rglob("*") if path.is_file()):
        assert not any(secret in path.read_bytes() for secret in (b"sig=", TOKEN.encode()))


def copies_of(receipt: Receipt, into: Path) -> list[bytes]:
    folder = into / MONTH / receipt.delivery
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        ["receipt.json", *(file.name for file in receipt.files)]
    )
    return [(folder / file.name).read_bytes() for file in receipt.files]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_report_whose_copy_broke_off_is_not_generated_again(
    reports: Arm,
    links: list[str],
    tmp_path: Path,
    swapped: bool,
) -> None:
    first, second = PARTS.values()
    reports.known.reports = links
    broken_off(reports, tmp_path)
    reports.known.reports = links[::-1] if swapped else links
    receipt = fetched(source(reports), tmp_path)
    assert len(reports.asked(REPORT)) == 1
    assert receipt.bytes == len(second)
    assert copies_of(receipt, tmp_path) == ([second, first] if swapped else [first, second])


@pytest.mark.parametrize(
    "gone",
    [problem(404, "NotFound", "?"), Answer(204), Answer(body={"status": "NoDataFound"})],
)
def test_a_report_that_is_gone_is_generated_again(
    reports: Arm, links: list[str], tmp_path: Path, gone: Answer
) -> None:
    reports.known.reports = links
    broken_off(reports, tmp_path)
    reports.known.reports = links[1:]
    reports.then(POLL, gone)
    receipt = fetched(source(reports), tmp_path)
    assert len(reports.asked(REPORT)) == 2
    assert copies_of(receipt, tmp_path) == [PARTS["part-1.csv"]]


def test_a_report_whose_links_expired_is_generated_again(
    reports: Arm, links: list[str], tmp_path: Path
) -> None:
    reports.known.reports = links
    broken_off(reports, tmp_path)
    expired = [{"blobLink": link.replace("sig=", "sig=AAAA")} for link in links]
    reports.then(POLL, Answer(body={"status": "Completed", "manifest": {"blobs": expired}}))
    assert copies_of(fetched(source(reports), tmp_path), tmp_path) == list(PARTS.values())
    assert len(reports.asked(REPORT)) == 2


def test_a_report_that_is_not_told_of_is_not_generated_again(
    reports: Arm, links: list[str], tmp_path: Path
) -> None:
    reports.known.reports = links
    broken_off(reports, tmp_path)
    reports.then(POLL, problem(429, "429", "?", Retry_After="3600"))
    error = refusal(fetched, source(reports), tmp_path)
    assert (error.exit_code, len(reports.asked(REPORT))) == (3, 1)
    fetched(source(reports), tmp_path)
    assert len(reports.asked(REPORT)) == 1


def test_a_month_that_goes_on_is_asked_until_today(
    reports: Arm, links: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports.known.reports = links[:1]
    for day in (20, 21):
        monkeypatch.setattr(asked, "today", lambda day=day: date(2026, 10, day))
        assert len(fetched(source(reports), tmp_path).files) == 1
    ends = [call.json["timePeriod"]["end"] for call in reports.asked(REPORT)]
    assert ends == ["2026-10-20", "2026-10-21"]


def test_a_report_without_data_is_no_delivery(reports: Arm, tmp_path: Path) -> None:
    reports.known.reports = None
    error = refusal(fetched, source(reports), tmp_path)
    assert (error.exit_code, error.what) == (2, "no delivery of 2026-10")
    reports.then(REPORT, Answer(204))
    error = refusal(fetched, source(reports), tmp_path)
    assert (error.exit_code, error.what) == (2, "no delivery of 2026-10")


@pytest.mark.parametrize(
    "body",
    [
        {"status": "Failed", "error": {"code": "500", "message": "?"}},
        {"status": "Completed", "manifest": {"blobCount": 2, "blobs": [{"blobLink": "x"}]}},
        {"status": "Completed", "manifest": {"blobCount": 0, "blobs": []}},
        {"status": "Completed"},
    ],
)
def test_a_report_that_is_not_whole(reports: Arm, tmp_path: Path, body: dict[str, Any]) -> None:
    reports.then(POLL, Answer(body=body))
    error = refusal(fetched, source(reports), tmp_path)
    assert (error.exit_code, error.what) == (3, "Azure did not finish the cost report")
    assert not list(tmp_path.glob("*/[!.]*"))


@pytest.mark.parametrize(
    ("answer", "what", "hint"),
    [
        (problem(400, "BadRequest", "?"), "Azure has no cost report of this scope", "EA and MCA"),
        (problem(404, "NotFound", "?"), "Azure has no cost report of this scope", "export"),
        (problem(403, "RBACAccessDenied", "?"), "access is denied", "Cost Management Reader"),
        (problem(401, "InvalidAuthenticationToken", "?"), "the credentials are not", "az login"),
    ],
)
def test_what_azure_refuses(
    reports: Arm, tmp_path: Path, answer: Answer, what: str, hint: str
) -> None:
    reports.then(REPORT, answer)
    error = refusal(fetched, source(reports), tmp_path)
    assert error.exit_code == 3
    assert error.what.startswith(what)
    assert hint in error.hint
    assert error.where == SUBSCRIPTION


def test_a_busy_service_is_asked_again(reports: Arm, links: list[str], tmp_path: Path) -> None:
    reports.known.reports = links
    waits = {"x_ms_ratelimit_microsoft.costmanagement_entity_retry_after": "7"}
    reports.then(REPORT, problem(429, "429", "?", **waits))
    receipt = fetched(source(reports), tmp_path)
    assert (len(receipt.files), receipt.retries) == (2, 1)


@pytest.mark.parametrize("call", [REPORT, POLL])
def test_the_longest_wait_counts(
    reports: Arm,
    links: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
) -> None:
    slept: list[float] = []

    def noted(_: int, wait: float) -> float:
        slept.append(wait)
        return 0.0

    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(retry, "_wait", noted)
    reports.known.reports = links
    waits = {"Retry_After": "1", "x_ms_ratelimit_microsoft.costmanagement_entity_retry_after": "7"}
    reports.then(call, problem(429, "429", "?", **waits))
    fetched(source(reports), tmp_path)
    assert slept.count(7.0) == 1
    assert len(reports.asked(REPORT)) == (2 if call == REPORT else 1)


def test_a_wait_longer_than_patience_ends_at_once(reports: Arm, tmp_path: Path) -> None:
    reports.then(POLL, problem(429, "429", "?", Retry_After="3600"))
    error = refusal(fetched, source(reports), tmp_path)
    assert error.exit_code == 3
    assert error.got == "429 (1 try); the server asks to wait 3600 s"


def test_a_link_that_expired(reports: Arm, links: list[str], tmp_path: Path) -> None:
    reports.known.reports = [links[0].replace("sig=", "sig=AAAA")]
    error = refusal(fetched, source(reports), tmp_path)
    assert error.exit_code == 3
    assert "sig" not in error.where


@pytest.mark.parametrize(
    ("location", "dataset", "metric", "what"),
    [
        (f"{SUBSCRIPTION}/resourceGroups/rg", "cost_export", "actual", "this scope has no cost"),
        (
            "/providers/Microsoft.Management/managementGroups/m",
            *("cost_export", "actual"),
            "this scope has no cost",
        ),
        (SUBSCRIPTION, "focus_export", None, "a cost report holds other cost"),
        (SUBSCRIPTION, "cost_export", None, "a cost report holds other cost"),
    ],
)
def test_what_has_no_report(
    reports: Arm, location: str, dataset: str, metric: str | None, what: str
) -> None:
    wrong = ExportSource(location, dataset, metric, reports.endpoint)
    error = refusal(azure.discover, wrong, MONTH)
    assert error.exit_code == 2
    assert error.what.startswith(what)


def test_a_month_to_come(reports: Arm) -> None:
    assert refusal(azure.discover, source(reports), "2026-12").exit_code == 2


@pytest.mark.parametrize("folder", ["exports/azure", "/data/subscriptions/x", "C:/x", "s3://b/p"])
def test_what_is_no_scope(folder: str) -> None:
    assert not client.is_scope(folder)
