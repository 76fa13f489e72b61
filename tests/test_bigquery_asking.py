"""What BigQuery is asked: the price first, no more than needed, and what each refusal means."""

import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import requests
from google.api_core.exceptions import TooManyRequests

from connectors import gcp
from connectors.base import ExportSource, Meter, Receipt
from connectors.errors import DeliveryError
from connectors.google_api import patience
from connectors.retry import PATIENCE
from fixtures import make
from tests.services import faults
from tests.services.bigquery_rest import (
    BYTES,
    LOCATION,
    PROJECT,
    PRUNED_BYTES,
    TABLE,
    BigQueryRest,
)
from tests.services.google import TOKEN, problem
from tests.services.web import Answer

MONTH = "2026-10"
ROWS = 120
SHOP = (
    f"SELECT * FROM '{make.EXPORTS}/gcp-shop/*2.parquet' WHERE invoice.month = '202610'"
    f" LIMIT {ROWS}"
)
BUSY = problem(503, "backendError", "try later")


def source(fake: BigQueryRest, **more: Any) -> ExportSource:
    return ExportSource(LOCATION, "gke_detailed", endpoint=fake.endpoint, **more)


def fetched(source: ExportSource, into: Path) -> Receipt:
    (delivery,) = gcp.discover(source, MONTH)
    return gcp.fetch(source, delivery, into, lambda *_: None)


def refused(source: ExportSource) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        fetched(source, Path("/nowhere"))
    error = caught.value
    assert all((error.what, error.where, error.expected, error.got, error.hint))
    assert error.where == LOCATION
    return error


def jobs(fake: BigQueryRest) -> list[dict[str, Any]]:
    """The queries that were asked for, in their order."""
    asked = [it for it in fake.calls if it.method == "POST" and it.path.endswith("/jobs")]
    return [it.json["configuration"] for it in asked]


# ------------------------------------------------------------------------ price and limit


def test_the_price_is_asked_for_and_told_before_the_rows(
    bigquery_rest: BigQueryRest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bigquery_rest.table(SHOP)
    fetched(source(bigquery_rest), tmp_path)
    assert [job.get("dryRun", False) for job in jobs(bigquery_rest)] == [True, False] * 2
    assert capsys.readouterr().err == (
        f"{LOCATION} 2026-10: the query reads 2.00 GB, about 0.01 USD\n"
    )


def test_only_named_columns_of_the_month_and_its_partitions_are_asked_for(
    bigquery_rest: BigQueryRest, tmp_path: Path
) -> None:
    bigquery_rest.table(SHOP)
    fetched(source(bigquery_rest), tmp_path)
    query = jobs(bigquery_rest)[-1]["query"]
    assert query["query"] == (
        "SELECT invoice, cost_type, service, sku, usage_start_time, project, labels, resource,"
        " cost, currency, credits, export_time, billing_account_id, usage_end_time, system_labels,"
        " location, cost_at_list, usage, adjustment_info, consumption_model, subscription"
        f" FROM `{LOCATION}` WHERE invoice.month = @month AND _PARTITIONTIME >= @since"
        " AND export_time <= @until"
    )
    values = {it["name"]: it["parameterValue"]["value"] for it in query["queryParameters"]}
    assert values["month"] == "202610"
    assert values["since"].startswith("2026-09-26")
    assert query["useLegacySql"] is False


def test_too_dear_a_month_is_refused_before_anything_is_spent(bigquery_rest: BigQueryRest) -> None:
    bigquery_rest.table(SHOP)
    error = refused(source(bigquery_rest, maximum_bytes_billed=PRUNED_BYTES - 1))
    assert (error.exit_code, error.what) == (2, "the query costs more than it may")
    assert error.got == "2.00 GB, about 0.01 USD"
    assert "`maximum_bytes_billed`" in error.expected + error.hint
    assert bigquery_rest.billed == 0
    assert all(job["dryRun"] for job in jobs(bigquery_rest))


def test_a_view_reads_all_partitions_and_the_hint_says_so(
    bigquery_rest: BigQueryRest, tmp_path: Path
) -> None:
    bigquery_rest.table(SHOP, partitioned=False)
    error = refused(source(bigquery_rest, maximum_bytes_billed=BYTES - 1))
    assert "a view reads all partitions" in error.hint
    receipt = fetched(source(bigquery_rest, maximum_bytes_billed=BYTES), tmp_path)
    assert rows_of(tmp_path, receipt) == ROWS
    assert bigquery_rest.billed == 2 * BYTES


def rows_of(into: Path, receipt: Receipt) -> int:
    (file,) = receipt.files
    path = into / receipt.billing_period / receipt.delivery / file.name
    return int(pq.read_metadata(path).num_rows)


def test_the_limit_goes_with_the_job_where_the_trial_was_wrong(
    bigquery_rest: BigQueryRest,
) -> None:
    bigquery_rest.table(SHOP)
    trial = {"jobReference": {"projectId": PROJECT, "jobId": "trial"}, "status": {"state": "DONE"}}
    bigquery_rest.then("/jobs", Answer(body=trial | {"configuration": {"dryRun": True}}))
    error = refused(source(bigquery_rest, maximum_bytes_billed=1000))
    assert jobs(bigquery_rest)[-1]["query"]["maximumBytesBilled"] == "1000"
    assert (error.exit_code, error.what) == (2, "the query costs more than it may")
    assert "bytes billed: 1000" in error.got
    assert bigquery_rest.billed == 0


def test_pages_are_read_to_the_last(
    bigquery_rest: BigQueryRest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bigquery_rest.table(SHOP)
    bigquery_rest.page = 50
    monkeypatch.setattr("connectors.bigquery.GROUP_BYTES", 1)
    receipt = fetched(source(bigquery_rest), tmp_path)
    assert rows_of(tmp_path, receipt) == ROWS
    paged = [it for it in bigquery_rest.calls if it.query.get("pageToken")]
    assert len(paged) == ROWS // 50
    (file,) = tmp_path.rglob("*.parquet")
    groups = pq.read_metadata(file)
    assert {groups.row_group(i).num_rows for i in range(groups.num_row_groups)} == {50, 20}


def test_a_fetch_tells_its_calls_and_bytes(bigquery_rest: BigQueryRest, tmp_path: Path) -> None:
    bigquery_rest.table(SHOP)
    about = source(bigquery_rest)
    (delivery,) = gcp.discover(about, MONTH)
    before = len(bigquery_rest.calls)
    receipt = gcp.fetch(about, delivery, tmp_path, lambda *_: None)
    assert receipt.calls == len(bigquery_rest.calls) - before
    assert receipt.bytes > receipt.files[0].size
    assert receipt.retries == 0
    before = len(bigquery_rest.calls)
    assert gcp.fetch(about, delivery, tmp_path, lambda *_: None) == receipt
    assert len(bigquery_rest.calls) == before


# ------------------------------------------------------------------------ worth another try


@pytest.mark.parametrize(
    "answer",
    [
        BUSY,
        problem(500, "internalError", "try later"),
        problem(403, "rateLimitExceeded", "too many queries"),
        problem(429, "rateLimitExceeded", "too many queries"),
        Answer(429, b"busy", {"Content-Type": "text/plain"}),
        Answer(502, b"<html>bad gateway</html>", {"Content-Type": "text/html"}),
        Answer(200, b'{"cut', {}),
    ],
    ids="503 500 403-rate 429 429-plain 502-html cut".split(),
)
@pytest.mark.parametrize("call", [f"/tables/{TABLE}", "/jobs"])
def test_what_may_pass_is_tried_again(
    bigquery_rest: BigQueryRest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    answer: Answer,
    call: str,
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    bigquery_rest.table(SHOP)
    bigquery_rest.then(call, answer, answer)
    assert rows_of(tmp_path, fetched(source(bigquery_rest), tmp_path)) == ROWS


def test_the_server_is_waited_for_as_long_as_it_asks(
    bigquery_rest: BigQueryRest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    bigquery_rest.table(SHOP)
    (delivery,) = gcp.discover(source(bigquery_rest), MONTH)
    bigquery_rest.then("/jobs", problem(429, "rateLimitExceeded", "slow", Retry_After="17"))
    receipt = gcp.fetch(source(bigquery_rest), delivery, tmp_path, lambda *_: None)
    assert receipt.retries == slept.count(17.0) == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_third_of_all_answers_may_be_spoiled(
    bigquery_rest: BigQueryRest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: int
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    bigquery_rest.table(SHOP)
    bigquery_rest.page = 10
    calm = fetched(source(bigquery_rest), tmp_path / "calm")
    with faults.running(bigquery_rest.endpoint, seed=seed, rate=0.3) as proxy:
        about = ExportSource(LOCATION, "gke_detailed", endpoint=proxy.endpoint)
        receipt = fetched(about, tmp_path / "spoiled")
    assert receipt.files[0].sha256 == calm.files[0].sha256
    assert calm.calls < calm.calls + receipt.retries <= 4 * calm.calls


def test_after_the_longest_wait_the_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now, meter = [0.0], Meter()
    asked: list[float] = []

    def sleep(wait: float) -> None:
        now[0] += wait

    def busy_once() -> str:
        asked.append(now[0])
        if len(asked) > 1:
            return "an answer"
        answer = requests.Response()
        answer.headers["Retry-After"] = f"{PATIENCE:.0f}"
        raise TooManyRequests("slow", response=answer)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    assert patience(meter)(busy_once)() == "an answer"
    assert (asked[1] >= PATIENCE, meter.retries) == (True, 1)


def test_nobody_is_waited_for_all_day(bigquery_rest: BigQueryRest) -> None:
    bigquery_rest.table(SHOP)
    bigquery_rest.then(
        f"/tables/{TABLE}", problem(429, "rateLimitExceeded", "slow", Retry_After="3600")
    )
    error = refused(source(bigquery_rest))
    assert (error.exit_code, error.what) == (3, "the provider's service does not answer")


@pytest.mark.parametrize("call", [f"/tables/{TABLE}", "/jobs"])
def test_a_service_that_stays_away_is_given_up(
    bigquery_rest: BigQueryRest, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    monkeypatch.setattr("connectors.google_api.WAIT_SECONDS", 1.0)
    bigquery_rest.table(SHOP)
    bigquery_rest.then(call, *[BUSY] * 100)
    error = refused(source(bigquery_rest))
    assert (error.exit_code, error.what) == (3, "the provider's service does not answer")
    assert error.got == "503 backendError try later"
    assert len(bigquery_rest.calls) < 20


def test_nobody_listens() -> None:
    about = ExportSource(LOCATION, "gke_detailed", endpoint="http://127.0.0.1:9")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("connectors.google_api.WAIT_SECONDS", 1.0)
        error = refused(about)
    assert (error.exit_code, error.got) == (3, "ConnectionError")


# ------------------------------------------------------------------------ not worth another


@pytest.mark.parametrize(
    ("call", "message", "permission", "role"),
    [
        (f"/tables/{TABLE}", "Access Denied", "bigquery.tables.get", "dataViewer"),
        ("/jobs", "Access Denied: User does not", "bigquery.jobs.create", "jobUser"),
        (
            "/jobs",
            "Access Denied: Table x: User does not have permission bigquery.tables.getData on it",
            "bigquery.tables.getData",
            "dataViewer",
        ),
        (
            "/jobs",
            "Caller lacks serviceusage.services.use",
            "serviceusage.services.use",
            "serviceUsageConsumer",
        ),
    ],
)
def test_a_missing_permission_is_named_with_the_role_that_has_it(
    bigquery_rest: BigQueryRest, call: str, message: str, permission: str, role: str
) -> None:
    bigquery_rest.table(SHOP)
    bigquery_rest.then(call, problem(403, "accessDenied", message))
    error = refused(source(bigquery_rest))
    assert (error.exit_code, error.what) == (3, "Google denies access")
    assert error.expected == f"the permission {permission}"
    assert role in error.hint
    assert len(bigquery_rest.calls) <= 2


@pytest.mark.parametrize(
    ("answer", "exit_code", "what"),
    [
        (problem(404, "notFound", "Not found: Dataset x"), 2, "no such table or bucket"),
        (problem(403, "quotaExceeded", "Quota"), 3, "the provider's service does not answer"),
        (problem(429, "quotaExceeded", "Quota"), 3, "the provider's service does not answer"),
        (problem(401, "authError", "x"), 3, "Google does not know who asks"),
        (
            problem(400, "invalidQuery", "Cannot query over table without a filter"),
            3,
            "Google refuses the request",
        ),
        (problem(403, "billingNotEnabled", "no billing"), 3, "Google denies access"),
    ],
)
def test_what_stays_is_not_tried_again(
    bigquery_rest: BigQueryRest, answer: Answer, exit_code: int, what: str
) -> None:
    bigquery_rest.table(SHOP)
    bigquery_rest.then("/jobs", *[answer] * 5)
    error = refused(source(bigquery_rest))
    assert (error.exit_code, error.what) == (exit_code, what)
    assert len(jobs(bigquery_rest)) == 1


# ------------------------------------------------------------------------ who asks


def secured(fake: BigQueryRest, patch: pytest.MonkeyPatch) -> ExportSource:
    for name, value in fake.env.items():
        patch.setenv(name, value)
    return ExportSource(LOCATION, "gke_detailed", endpoint=fake.secure_endpoint)


def test_application_default_credentials_sign_the_calls_and_their_project_pays(
    bigquery_rest: BigQueryRest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bigquery_rest.table(SHOP)
    receipt = fetched(secured(bigquery_rest, monkeypatch), tmp_path)
    assert rows_of(tmp_path, receipt) == ROWS
    asked = [it for it in bigquery_rest.calls if it.path.endswith("/jobs")]
    assert {it.path for it in asked} == {"/bigquery/v2/projects/asking-project/jobs"}
    assert {it.headers["authorization"] for it in asked} == {f"Bearer {TOKEN}"}
    assert TOKEN not in "".join(p.read_text() for p in tmp_path.rglob("receipt.json"))


def test_a_token_never_goes_over_plain_http(
    bigquery_rest: BigQueryRest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    secured(bigquery_rest, monkeypatch)
    bigquery_rest.table(SHOP)
    fetched(source(bigquery_rest), tmp_path)
    assert not any("authorization" in it.headers for it in bigquery_rest.calls)


def test_no_credentials_at_all(
    bigquery_rest: BigQueryRest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    about = secured(bigquery_rest, monkeypatch)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
    error = refused(about)
    assert (error.exit_code, error.what) == (3, "Google does not know who asks")
    assert (error.got, "gcloud auth" in error.hint) == ("DefaultCredentialsError", True)


def test_credentials_that_are_no_longer_good(
    bigquery_rest: BigQueryRest, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = secured(bigquery_rest, monkeypatch)
    key = bigquery_rest.private_key
    bigquery_rest.then(
        "/token", Answer(400, {"error": "invalid_grant", "error_description": f"{TOKEN} {key}"})
    )
    error = refused(about)
    assert (error.exit_code, error.got) == (3, "RefreshError")
    assert not any(TOKEN in text or key in text for text in map(str, vars(error).values()))
