"""The split of cluster cost, asked of Azure: a day a call, and no answer taken for another's."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from connectors import arm as client
from connectors import asked, azure, query, retry
from connectors.base import Delivery, ExportSource, Receipt, silent
from connectors.errors import DeliveryError
from tests.services.arm import IDENTITY, TOKEN, Arm, problem
from tests.services.web import Answer

MONTH = "2026-10"
SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
OTHER = "22222222-2222-3333-4444-555555555555"
QUERY = "/providers/Microsoft.CostManagement/query"
CLUSTER = (
    f"/subscriptions/{SUBSCRIPTION}/resourcegroups/rg-shop"
    "/providers/microsoft.containerservice/managedclusters/aks-shop"
)
ROW = (1.25, 1.36, "shop-api", CLUSTER, "Compute", "EUR")


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float | None]:
    """What the servers asked to wait; nobody does."""
    seen: list[float | None] = []

    def wait(_: int, asked_for: float | None) -> float:
        seen.append(asked_for)
        return 0.0

    monkeypatch.setattr(retry, "_wait", wait)
    monkeypatch.setattr(asked, "today", lambda: date(2026, 11, 30))
    return seen


@pytest.fixture
def azure_arm(arm: Arm, monkeypatch: pytest.MonkeyPatch) -> Arm:
    """A Resource Manager that answers one row a day."""
    for name, value in arm.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AZURE_STORAGE_CONNECTION_STRING", raising=False)
    arm.known.split = {date(2026, 10, day): [ROW] for day in range(1, 32)}
    return arm


def source(arm: Arm, *clusters: str, metric: str = "amortized") -> ExportSource:
    return ExportSource("", "cost_export", metric, arm.endpoint, clusters=clusters or (CLUSTER,))


def found(source: ExportSource) -> Delivery:
    delivery = azure.discover_splits(source, MONTH)
    assert delivery is not None
    return delivery


def fetched(source: ExportSource, into: Path) -> Receipt:
    return azure.fetch(source, found(source), into, silent)


def refusal(call: Callable[..., object], *arguments: Any) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        call(*arguments)
    error = caught.value
    told = f"{error.what} {error.where} {error.expected} {error.got} {error.hint}"
    assert error.hint
    assert TOKEN not in told
    assert IDENTITY not in told
    return error


# ------------------------------------------------------------------------- what is asked for


def test_nothing_is_asked_to_know_the_days(azure_arm: Arm) -> None:
    delivery = found(source(azure_arm, CLUSTER, CLUSTER.replace(SUBSCRIPTION, OTHER)))
    assert [file.path for file in delivery.files] == [
        f"{name}/2026-10-{day:02}.json" for name in (SUBSCRIPTION, OTHER) for day in range(1, 32)
    ]
    assert azure_arm.calls == []


@pytest.mark.parametrize(
    ("today", "days", "asked_on"),
    [
        (date(2026, 9, 30), 0, ""),
        (date(2026, 10, 1), 0, ""),
        (date(2026, 10, 3), 2, "20261003"),
        (date(2026, 11, 1), 31, "20261101"),
        (date(2026, 11, 5), 31, "20261105"),
        (date(2026, 11, 6), 31, "20261106"),
        (date(2027, 3, 1), 31, "20261106"),
    ],
)
def test_a_day_that_is_not_over_is_not_asked_for_and_a_closed_month_once(
    azure_arm: Arm, monkeypatch: pytest.MonkeyPatch, today: date, days: int, asked_on: str
) -> None:
    monkeypatch.setattr(asked, "today", lambda: today)
    delivery = azure.discover_splits(source(azure_arm), MONTH)
    assert (len(delivery.files) if delivery else 0) == days
    assert delivery is None or delivery.id.startswith(f"{asked_on}T000000Z-")


def test_the_cost_that_is_split_is_that_of_the_export(azure_arm: Arm, tmp_path: Path) -> None:
    actual, amortized = (source(azure_arm, metric=m) for m in ("actual", "amortized"))
    assert found(actual).id != found(amortized).id
    fetched(actual, tmp_path)
    asked_for = azure_arm.asked(QUERY)
    assert len(asked_for) == 31
    first = asked_for[0]
    assert first.query["api-version"] == "2023-04-01-preview"
    assert first.json == {
        "type": "ActualCost",
        "timeframe": "Custom",
        "timePeriod": {"from": "2026-10-01T00:00:00Z", "to": "2026-10-01T23:59:59Z"},
        "dataSet": {
            "granularity": "None",
            "aggregation": {
                "totalCost": {"name": "Cost", "function": "Sum"},
                "totalCostUSD": {"name": "CostUSD", "function": "Sum"},
            },
            "grouping": [
                {"type": "Dimension", "name": name}
                for name in ("Namespace", "Cluster", "ServiceCategory")
            ],
        },
        "provider": "Microsoft.ContainerService",
    }


def test_without_clusters_nobody_knows_whom_to_ask(azure_arm: Arm) -> None:
    nobody = ExportSource("", "cost_export", "actual", azure_arm.endpoint)
    error = refusal(azure.discover_splits, nobody, MONTH)
    assert error.exit_code == 2
    assert "clusters" in error.expected


# ------------------------------------------------------------------------------ what comes


def test_answers_are_saved_as_they_came_a_day_a_file(azure_arm: Arm, tmp_path: Path) -> None:
    receipt = fetched(source(azure_arm), tmp_path)
    assert [file.name for file in receipt.files] == [
        f"{SUBSCRIPTION}/2026-10-{day:02}.json" for day in range(1, 32)
    ]
    folder = tmp_path / MONTH / receipt.delivery
    (first, *_) = receipt.files
    content = (folder / first.name).read_bytes()
    assert first.size == len(content)
    assert json.loads(content)["properties"]["rows"] == [list(ROW)]
    assert receipt.calls == 31
    assert receipt.bytes == sum(file.size for file in receipt.files)
    assert not list(folder.rglob(".*"))


def test_a_second_fetch_asks_nothing(azure_arm: Arm, tmp_path: Path) -> None:
    receipt = fetched(source(azure_arm), tmp_path)
    azure_arm.calls.clear()
    assert fetched(source(azure_arm), tmp_path) == receipt
    assert azure_arm.calls == []


def test_pages_lie_beside_each_other(azure_arm: Arm, tmp_path: Path) -> None:
    azure_arm.known.page = 2
    azure_arm.known.split = {
        date(2026, 10, 14): [(n, n, f"team-{n}", CLUSTER, "Compute", "EUR") for n in range(5)]
    }
    receipt = fetched(source(azure_arm), tmp_path)
    names = [file.name for file in receipt.files if "2026-10-14" in file.name]
    assert names == [f"{SUBSCRIPTION}/2026-10-14{part}.json" for part in ("", "-2", "-3")]
    folder = tmp_path / MONTH / receipt.delivery
    rows = [json.loads((folder / name).read_bytes())["properties"]["rows"] for name in names]
    assert [row[0] for page in rows for row in page] == [0, 1, 2, 3, 4]
    bodies = [call.json for call in azure_arm.asked(QUERY) if "$skiptoken" in call.query]
    assert bodies == [azure_arm.asked(QUERY)[13].json] * 2


def test_a_day_without_content_is_no_file_and_one_without_rows_is(
    azure_arm: Arm, tmp_path: Path
) -> None:
    azure_arm.known.split = {}
    azure_arm.then(QUERY, Answer(204), Answer(204))
    receipt = fetched(source(azure_arm), tmp_path)
    assert [file.name[-15:] for file in receipt.files][:2] == ["2026-10-03.json", "2026-10-04.json"]
    assert len(receipt.files) == 29
    azure_arm.calls.clear()
    assert fetched(source(azure_arm), tmp_path) == receipt
    assert azure_arm.calls == []


def test_what_was_answered_is_not_asked_again(azure_arm: Arm, tmp_path: Path) -> None:
    blocked = problem(403, "RBACAccessDenied", "no role")
    usual = azure_arm.known.split[date(2026, 10, 1)]
    azure_arm.known.page = 1
    azure_arm.known.split[date(2026, 10, 2)] = usual * 3
    answers = [_page([ROW])] * 5
    azure_arm.then(QUERY, *answers, blocked)
    assert refusal(fetched, source(azure_arm), tmp_path).what == "access is denied"
    azure_arm.calls.clear()
    receipt = fetched(source(azure_arm), tmp_path)
    assert len(azure_arm.asked(QUERY)) == 31 - 5
    assert len(receipt.files) == 31


# ---------------------------------------------------------------------------- what is refused


def _page(rows: list[Any], columns: tuple[str, ...] = (), link: str | None = None) -> Answer:
    names = columns or ("Cost", "CostUSD", "Namespace", "Cluster", "ServiceCategory", "Currency")
    told = [{"name": name, "type": "String"} for name in names]
    properties = {"nextLink": link, "columns": told, "rows": [list(row) for row in rows]}
    return Answer(body={"id": "q", "properties": properties})


@pytest.mark.parametrize(
    ("answer", "exit_code", "what", "hint"),
    [
        (
            problem(400, "BadRequest", "Invalid query definition: Invalid dimension Namespace"),
            *(3, "Azure does not know the question about the split any more, or not for this"),
            "leave `query` out of `splits`",
        ),
        (
            problem(401, "401", "Request blocked. Use the Cost Analysis blade."),
            *(3, "Azure keeps the question about the split to its portal"),
            "leave `query` out of `splits`",
        ),
        (
            problem(401, "InvalidAuthenticationToken", "The access token is invalid."),
            *(3, "the credentials are not accepted"),
            "az login",
        ),
        (
            problem(403, "RBACAccessDenied", "does not have authorization"),
            *(3, "access is denied"),
            "Cost Management Reader",
        ),
        (
            problem(403, "IndirectCostDisabled", "disabled"),
            *(3, "the enrolment does not show charges"),
            "partner",
        ),
        (
            problem(404, "SubscriptionNotFound", "not found"),
            *(2, "no such subscription"),
            "clusters",
        ),
        (_page([ROW[:3]], ("Cost", "CostUSD", "Namespace")), 3, "Azure answers another", "agent"),
        (
            _page(
                [(*ROW, 20251014)], (*("Cost", "CostUSD"), *query.GROUPING, "Currency", "UsageDate")
            ),
            *(3, "Azure answers another question"),
            "agent",
        ),
        (Answer(body={"value": []}), 3, "Azure answers another question", "agent"),
        (
            _page([ROW], link="https://other.example/next"),
            3,
            "the pages of an answer lead",
            "again",
        ),
    ],
)
def test_outcomes_are_told_apart(
    azure_arm: Arm, tmp_path: Path, answer: Answer, exit_code: int, what: str, hint: str
) -> None:
    azure_arm.then(QUERY, answer)
    error = refusal(fetched, source(azure_arm), tmp_path)
    assert error.exit_code == exit_code
    assert error.what.startswith(what)
    assert hint in error.hint
    assert error.where == f"/subscriptions/{SUBSCRIPTION} on 2026-10-01"
    assert len(azure_arm.asked(QUERY)) == 1
    assert not list(tmp_path.glob("*/[!.]*"))


def throttled(**waits: str) -> Answer:
    names = {
        f"x_ms_ratelimit_microsoft.costmanagement_{k}_retry_after": v for k, v in waits.items()
    }
    retry_after = (
        {"Retry_After": names.pop("x_ms_ratelimit_microsoft.costmanagement_plain_retry_after")}
        if "plain" in waits
        else {}
    )
    return problem(429, "429", "Too many requests.", **names, **retry_after)


def test_the_longest_wait_counts(azure_arm: Arm, tmp_path: Path, waits: list[float | None]) -> None:
    azure_arm.then(
        QUERY,
        throttled(qpu="5", entity="40", tenant="12", plain="3"),
        throttled(client="7"),
        _page([ROW]),
        throttled(plain="9"),
    )
    assert fetched(source(azure_arm), tmp_path).retries == 3
    assert waits == [40.0, 7.0, 9.0]


def test_three_tries_are_enough(azure_arm: Arm, tmp_path: Path) -> None:
    azure_arm.then(QUERY, *[throttled(entity="59")] * 4)
    error = refusal(fetched, source(azure_arm), tmp_path)
    assert (error.exit_code, error.what) == (3, "Azure wants to be asked less often")
    assert error.got == "429 each time; it asks to wait 59 s"
    assert len(azure_arm.asked(QUERY)) == client.TRIES


def test_a_wait_longer_than_patience_ends_at_once(azure_arm: Arm, tmp_path: Path) -> None:
    azure_arm.then(QUERY, throttled(qpu="3000"))
    error = refusal(fetched, source(azure_arm), tmp_path)
    assert "the server asks to wait 3000 s" in error.got
    assert len(azure_arm.asked(QUERY)) == 1


def test_without_any_identity(
    azure_arm: Arm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDENTITY_HEADER", "another")
    error = refusal(fetched, source(azure_arm), tmp_path)
    assert (error.exit_code, error.what) == (3, "no credentials can be used")


def test_a_server_nobody_vouches_for(
    azure_arm: Arm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Static:
        def get_token(self, *_: object, **__: object) -> Any:
            from azure.core.credentials import AccessToken

            return AccessToken("static", 2**31)

    monkeypatch.setattr(client, "credential", Static)
    monkeypatch.delenv("REQUESTS_CA_BUNDLE")
    error = refusal(fetched, source(azure_arm), tmp_path)
    assert (error.exit_code, error.what) == (3, "the server's certificate is not trusted")
    assert azure_arm.calls == []


def test_a_token_is_not_sent_over_plain_http(tmp_path: Path) -> None:
    plain = ExportSource("", "cost_export", "actual", "http://127.0.0.1:1", clusters=(CLUSTER,))
    error = refusal(fetched, plain, tmp_path)
    assert (error.exit_code, error.what) == (2, "a token is not sent over plain http")


@pytest.mark.parametrize("cut", [b"", b'{"properties": {', b"[]"])
def test_an_answer_that_broke_off_is_asked_for_again(
    azure_arm: Arm, tmp_path: Path, cut: bytes
) -> None:
    azure_arm.then(QUERY, Answer(body=cut or b"<html>"), Answer(503), _page([ROW]))
    assert len(fetched(source(azure_arm), tmp_path).files) == 31
