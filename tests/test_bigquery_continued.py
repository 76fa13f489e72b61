"""A fetch of a table that broke off goes on: every row once, and no query paid twice."""

import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors import asked, gcp
from connectors.base import Delivery, ExportSource, Receipt
from connectors.bigquery import BigQueryStore
from connectors.errors import DeliveryError
from fixtures import make
from tests.google_rows import killed_after
from tests.services.bigquery_rest import LOCATION, BigQueryRest
from tests.services.google import problem
from tests.services.web import Answer

MONTH = "2026-10"
ROWS, PAGE, FILE = 120, 10, 40
SHOP = (
    f"SELECT * FROM '{make.EXPORTS}/gcp-shop/*2.parquet' WHERE invoice.month = '202610'"
    f" LIMIT {ROWS}"
)


@pytest.fixture
def about(bigquery_rest: BigQueryRest, monkeypatch: pytest.MonkeyPatch) -> ExportSource:
    """A table that comes as three files, each of four answers."""
    monkeypatch.setattr("connectors.bigquery.FILE_ROWS", FILE)
    bigquery_rest.table(SHOP)
    bigquery_rest.page = PAGE
    return ExportSource(LOCATION, "gke_detailed", endpoint=bigquery_rest.endpoint)


@pytest.fixture
def delivery(about: ExportSource) -> Delivery:
    (it,) = gcp.discover(about, MONTH)
    return it


def fetched(about: ExportSource, delivery: Delivery, into: Path) -> Receipt:
    return gcp.fetch(about, delivery, into, lambda *_: None)


def broken_off(about: ExportSource, delivery: Delivery, into: Path, batches: int) -> None:
    with pytest.raises(KeyboardInterrupt):
        gcp.fetch(about, delivery, into, killed_after(batches))
    assert len(list(into.rglob(".*.parquet.[0-9]"))) == 1
    assert list((into / MONTH).glob("[!.]*")) == []


def rows_of(into: Path, receipt: Receipt) -> list[dict[str, Any]]:
    """The rows of all pages, and nothing else lies in the folder."""
    folder = into / MONTH / receipt.delivery
    names = [file.name for file in receipt.files]
    assert {path.name for path in folder.iterdir()} == {*names, "receipt.json"}
    return [row for name in names for row in pq.read_table(folder / name).to_pylist()]


def test_it_goes_on_after_the_complete_pages_and_pays_no_second_query(
    bigquery_rest: BigQueryRest, about: ExportSource, delivery: Delivery, tmp_path: Path
) -> None:
    calm = rows_of(tmp_path / "calm", fetched(about, delivery, tmp_path / "calm"))
    into, paid = tmp_path / "raw", bigquery_rest.billed
    broken_off(about, delivery, into, 7)
    broken_off(about, delivery, into, 1)
    once, before = bigquery_rest.billed, len(bigquery_rest.calls)
    receipt = fetched(about, delivery, into)
    assert once - paid == paid // 2 == bigquery_rest.billed - paid
    later = bigquery_rest.calls[before:]
    assert [it.path for it in later if it.method == "POST"] == []
    starts = [it.query.get("pageToken") or it.query["startIndex"] for it in later if rows(it)]
    assert min(map(int, starts)) == FILE
    assert rows_of(into, receipt) == calm
    assert (len(calm), len(receipt.files)) == (ROWS, ROWS // FILE)
    assert fetched(about, delivery, into) == receipt


def rows(call: Any) -> bool:
    """Tell whether a call asks for rows."""
    return "/queries/" in call.path and call.query.get("maxResults") != "0"


def test_all_pages_are_there_and_have_no_names_yet(
    bigquery_rest: BigQueryRest,
    about: ExportSource,
    delivery: Delivery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def killed(*_: Any) -> str:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(asked, "publish", killed)
        with pytest.raises(KeyboardInterrupt):
            BigQueryStore(about, MONTH).copy(delivery.files[0], tmp_path / "it.parquet", nothing)
    paid = bigquery_rest.billed
    BigQueryStore(about, MONTH).copy(delivery.files[0], tmp_path / "it.parquet", nothing)
    assert sum(pq.read_metadata(it).num_rows for it in tmp_path.glob("it*.parquet")) == ROWS
    assert bigquery_rest.billed == paid
    assert list(tmp_path.glob(".*")) == []


def nothing(*_: Any) -> None:
    """See progress and say nothing."""


@pytest.mark.parametrize("gone", ["rows", "job", "not one's own"])
def test_it_starts_again_where_the_job_is_gone(
    bigquery_rest: BigQueryRest, about: ExportSource, delivery: Delivery, tmp_path: Path, gone: str
) -> None:
    calm = rows_of(tmp_path / "calm", fetched(about, delivery, tmp_path / "calm"))
    into = tmp_path / "raw"
    broken_off(about, delivery, into, 6)
    paid = bigquery_rest.billed
    journal = next(into.rglob(".*.job")).read_text()
    job = journal.split('"id":"')[1].split('"')[0]
    if gone == "rows":
        bigquery_rest.expire()
    else:
        code, reason = (404, "notFound") if gone == "job" else (403, "accessDenied")
        bigquery_rest.then(f"/jobs/{job}", problem(code, reason, "no"))
    assert rows_of(into, fetched(about, delivery, into)) == calm
    assert bigquery_rest.billed > paid


def test_a_job_that_failed_is_not_gone_on_with(
    bigquery_rest: BigQueryRest, about: ExportSource, delivery: Delivery, tmp_path: Path
) -> None:
    trial = {"jobReference": {"projectId": "p", "jobId": "trial"}, "status": {"state": "DONE"}}
    bigquery_rest.then("/jobs", Answer(body=trial | {"configuration": {"dryRun": True}}))
    with pytest.raises(DeliveryError, match="costs more than it may"):
        fetched(replace(about, maximum_bytes_billed=1), delivery, tmp_path)
    assert list(tmp_path.rglob(".*.job"))
    assert len(rows_of(tmp_path, fetched(about, delivery, tmp_path))) == ROWS


def test_a_cut_journal_is_none(
    bigquery_rest: BigQueryRest, about: ExportSource, delivery: Delivery, tmp_path: Path
) -> None:
    broken_off(about, delivery, tmp_path, 6)
    next(tmp_path.rglob(".*.job")).write_text('{"project":')
    assert len(rows_of(tmp_path, fetched(about, delivery, tmp_path))) == ROWS


def test_a_service_that_stays_away_keeps_what_is_there(
    bigquery_rest: BigQueryRest,
    about: ExportSource,
    delivery: Delivery,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken_off(about, delivery, tmp_path, 6)
    paid = bigquery_rest.billed
    job = next(tmp_path.rglob(".*.job")).read_text().split('"id":"')[1].split('"')[0]
    bigquery_rest.then(f"/jobs/{job}", problem(403, "quotaExceeded", "Quota"))
    with pytest.raises(DeliveryError, match="does not answer"):
        fetched(about, delivery, tmp_path)
    assert len(rows_of(tmp_path, fetched(about, delivery, tmp_path))) == ROWS
    assert bigquery_rest.billed == paid


def test_no_more_than_a_group_of_rows_and_one_answer_are_held_at_once(
    about: ExportSource, delivery: Delivery, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[weakref.ref[pa.RecordBatch]] = []
    held: list[int] = []
    batches = BigQueryStore._batches

    def watched(*asked: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches(*asked):
            seen.append(weakref.ref(batch))
            held.append(sum(it.num_rows for ref in seen if (it := ref()) is not None))
            yield batch

    monkeypatch.setattr("connectors.bigquery.GROUP_BYTES", 1)
    monkeypatch.setattr(BigQueryStore, "_batches", watched)
    receipt = fetched(about, delivery, tmp_path)
    assert len(rows_of(tmp_path, receipt)) == ROWS
    assert max(held) <= 3 * PAGE < ROWS
