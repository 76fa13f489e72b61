"""BigQuery as the source of a month, against an emulator that runs the SQL."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from connectors import gcp
from connectors.base import Delivery, ExportSource, Receipt
from connectors.bigquery import BigQueryStore
from connectors.billing_table import NEEDED, OPTIONAL
from connectors.errors import DeliveryError
from fixtures import make
from tests.gcp_rows import scanned, sliced
from tests.google_rows import NAME, append, load, of_month, shop
from tests.services.bigquery_emulator import PROJECT, BigQuery

MONTH = "2026-10"
LATER = datetime(2026, 11, 4, 5, 6, 7, tzinfo=UTC)
LABELS = ("team", "app.kubernetes.io/name")


@pytest.fixture(scope="module")
def shop_table(bqemulator: BigQuery) -> str:
    table = f"{PROJECT}.shop.{NAME}"
    load(bqemulator.client(), table, shop())
    return table


@pytest.fixture
def made(bqemulator: BigQuery, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Makes a table of the first rows of the fixture, in a dataset of the test's own."""

    def make_one(rows: pa.Table | None = None, **shape: Any) -> str:
        table = f"{PROJECT}.{request.node.name.split('[')[0]}_{os.urandom(3).hex()}.{NAME}"
        load(bqemulator.client(), table, shop().slice(0, 20) if rows is None else rows, **shape)
        return table

    return make_one


def source(emulator: BigQuery, table: str, **more: Any) -> ExportSource:
    return ExportSource(table, "gke_detailed", endpoint=emulator.endpoint, **more)


def fetched(
    source: ExportSource, into: Path, month: str = MONTH
) -> tuple[Delivery, Receipt, pa.Table]:
    (delivery,) = gcp.discover(source, month)
    receipt = gcp.fetch(source, delivery, into, lambda *_: None)
    (file,) = receipt.files
    return delivery, receipt, pq.read_table(into / month / delivery.id / file.name)


def pruned(value: Any) -> Any:
    """Values without what only writers differ in: zones of times that are UTC."""
    if isinstance(value, dict):
        return {name: pruned(part) for name, part in value.items()}
    if isinstance(value, list):
        return [pruned(part) for part in value]
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def test_the_values_are_those_of_the_export(
    bqemulator: BigQuery, shop_table: str, tmp_path: Path
) -> None:
    _, receipt, rows = fetched(source(bqemulator, shop_table), tmp_path)
    assert rows.column_names == [*NEEDED, *OPTIONAL]
    expected = [{name: row[name] for name in rows.column_names} for row in of_month(shop())]
    got = pruned(rows.to_pylist())
    assert sorted(map(repr, got)) == sorted(map(repr, expected))
    (file,) = tmp_path.rglob("*.parquet")
    assert receipt.files[0].size == file.stat().st_size


def test_the_slices_are_those_of_the_folder(
    bqemulator: BigQuery, shop_table: str, tmp_path: Path
) -> None:
    fetched(source(bqemulator, shop_table), tmp_path)
    table = sorted(tmp_path.rglob("*.parquet"))
    folder = sorted((make.EXPORTS / "gcp-shop").glob("*.parquet"))
    filled = [path for path in folder if pq.read_metadata(path).num_rows]
    assert grouped(table) == grouped(filled) != {}


def grouped(files: list[Path]) -> dict[str, Any]:
    """Slices of some files, summed over all that is no amount, without the names of the files."""
    slices = sliced(*map(scanned, files), labels=LABELS).slices
    amounts = [name for name, dtype in slices.schema.items() if dtype.is_decimal()]
    keys = [name for name in slices.columns if name not in (*amounts, "source_file")]
    flat = slices.with_columns(pl.col("labels").map_elements(repr, return_dtype=pl.String))
    summed = flat.group_by(keys).agg(pl.col(amounts).sum(), pl.len())
    return {repr(row[: len(keys)]): row[len(keys) : -1] for row in summed.iter_rows()}


# ------------------------------------------------------------------------ once, and again


def test_an_unchanged_month_is_not_asked_for_twice(
    bqemulator: BigQuery,
    made: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    about = source(bqemulator, made())
    first, receipt, _ = fetched(about, tmp_path)
    monkeypatch.setattr(BigQueryStore, "copy", lambda *_: pytest.fail("asked for the rows again"))
    again, same, _ = fetched(about, tmp_path)
    assert (again, same) == (first, receipt)
    assert receipt == Receipt.model_validate_json(next(tmp_path.rglob("receipt.json")).read_bytes())


def test_a_later_row_is_a_new_delivery_and_the_old_one_stays(
    bqemulator: BigQuery, made: Callable[..., str], tmp_path: Path
) -> None:
    table = made()
    first, _, rows = fetched(source(bqemulator, table), tmp_path)
    late = shop().slice(0, 1).to_pylist()[0] | {"export_time": LATER}
    append(bqemulator.client(), table, pa.Table.from_pylist([late], shop().schema))
    second, _, more = fetched(source(bqemulator, table), tmp_path)
    assert (rows.num_rows, more.num_rows) == (20, 21)
    assert first.id < second.id == f"20261104T050607Z-{second.id[-12:]}"
    assert {path.name for path in (tmp_path / MONTH).iterdir()} == {first.id, second.id}


def test_rows_that_come_while_the_month_is_read_belong_to_the_next_delivery(
    bqemulator: BigQuery, made: Callable[..., str], tmp_path: Path
) -> None:
    table = made()
    about = source(bqemulator, table)
    (delivery,) = gcp.discover(about, MONTH)
    (row,) = shop().slice(0, 1).to_pylist()
    late = row | {"export_time": LATER}
    append(bqemulator.client(), table, pa.Table.from_pylist([late], shop().schema))
    receipt = gcp.fetch(about, delivery, tmp_path, lambda *_: None)
    assert pq.read_metadata(next(tmp_path.rglob("*.parquet"))).num_rows == 20
    append(bqemulator.client(), table, pa.Table.from_pylist([row], shop().schema))
    with pytest.raises(DeliveryError, match="the table changed while it was read") as caught:
        gcp.fetch(about, delivery, tmp_path / "again", lambda *_: None)
    assert (caught.value.exit_code, caught.value.got) == (3, "21 rows")
    assert list((tmp_path / "again" / MONTH).glob("[!.]*")) == []
    assert receipt.delivery == delivery.id


def test_a_copy_whose_size_was_never_noted_is_fetched_again(
    bqemulator: BigQuery, made: Callable[..., str], tmp_path: Path
) -> None:
    about = source(bqemulator, made())
    _, receipt, _ = fetched(about, tmp_path)
    unsized = receipt.files[0].model_copy(update={"size": 0})
    path = next(tmp_path.rglob("receipt.json"))
    path.write_text(receipt.model_copy(update={"files": (unsized,)}).model_dump_json())
    _, again, _ = fetched(about, tmp_path)
    assert again.fetched_at > receipt.fetched_at
    assert again.files[0].size > 0


# ------------------------------------------------------------------------ forms of tables


@pytest.mark.parametrize("partitioned", ["", "export_time", "usage_start_time", None])
def test_a_table_is_read_however_it_is_partitioned(
    bqemulator: BigQuery, made: Callable[..., str], tmp_path: Path, partitioned: str | None
) -> None:
    """A correction of August in the invoice of October: only its hours are before the window."""
    first, *others = shop().slice(0, 20).to_pylist()
    corrected = first | {"usage_start_time": datetime(2026, 8, 1, tzinfo=UTC)}
    table = made(pa.Table.from_pylist([corrected, *others], shop().schema), partitioned=partitioned)
    assert fetched(source(bqemulator, table), tmp_path)[2].num_rows == 20


def test_a_view_has_no_partitions_and_is_read_as_a_whole(
    bqemulator: BigQuery, made: Callable[..., str], tmp_path: Path
) -> None:
    from google.cloud import bigquery

    table = made()
    # The emulator tells the columns of a view only where they were told to it.
    columns = bqemulator.client().get_table(table).schema
    view = bigquery.Table(table.replace(NAME, "detailed"), schema=columns)
    view.view_query = f"SELECT * FROM `{table}`"
    bqemulator.client().create_table(view)
    about = source(bqemulator, str(view.reference))
    assert fetched(about, tmp_path)[2].num_rows == 20


def test_partitions_before_the_window_are_left_out(
    bqemulator: BigQuery, made: Callable[..., str], tmp_path: Path
) -> None:
    """The emulator's partitions are of today, whatever the rows say."""
    coming = f"{datetime.now(UTC) + timedelta(days=62):%Y-%m}"
    (row,) = shop().slice(0, 1).to_pylist()
    invoice = row["invoice"] | {"month": coming.replace("-", "")}
    rows = pa.Table.from_pylist([row | {"invoice": invoice}], shop().schema)
    with pytest.raises(DeliveryError, match=f"no delivery of {coming}"):
        gcp.discover(source(bqemulator, made(rows)), coming)
    assert fetched(source(bqemulator, made(rows, partitioned=None)), tmp_path, coming)


def test_a_table_older_than_some_columns_is_read_without_them(
    bqemulator: BigQuery, made: Callable[..., str], tmp_path: Path
) -> None:
    older = ("consumption_model", "subscription", "cost_at_list", "price", "tags")
    table = made(without=older)
    rows = fetched(source(bqemulator, table), tmp_path)[2]
    assert rows.column_names == [n for n in (*NEEDED, *OPTIONAL) if n not in older]


def test_a_table_that_gains_a_column_is_asked_again(
    bqemulator: BigQuery, made: Callable[..., str], tmp_path: Path
) -> None:
    without = fetched(source(bqemulator, made(without=["subscription"])), tmp_path)[0]
    whole = fetched(source(bqemulator, made()), tmp_path)[0]
    assert without.files[0].modified == whole.files[0].modified
    assert without.id != whole.id


def test_rows_are_written_in_groups(
    bqemulator: BigQuery, shop_table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.bigquery.PAGE_ROWS", 500)
    monkeypatch.setattr("connectors.bigquery.GROUP_BYTES", 1 << 20)
    about = source(bqemulator, shop_table)
    (delivery,) = gcp.discover(about, MONTH)
    told: list[tuple[str, int, int]] = []
    gcp.fetch(about, delivery, tmp_path, lambda *it: told.append(it))
    groups = pq.read_metadata(next(tmp_path.rglob("*.parquet"))).num_row_groups
    assert 3 < groups < len(told)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == told[-1][2] > 0
    assert {name for name, _, _ in told} == {f"{NAME}.parquet"}


# ------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("without", "more", "reason"),
    [
        (["resource"], [], "no column resource, as in the standard export"),
        ([], ["payer_billing_account_id"], "a reseller's export"),
        (["labels", "credits"], [], "no column labels, credits"),
    ],
)
def test_a_table_is_refused_by_its_columns(
    bqemulator: BigQuery,
    made: Callable[..., str],
    without: list[str],
    more: list[str],
    reason: str,
) -> None:
    rows = shop().slice(0, 1)
    for name in more:
        rows = rows.append_column(name, pa.array(["x"]))
    with pytest.raises(DeliveryError, match="this table cannot be the source") as caught:
        gcp.discover(source(bqemulator, made(rows, without=without)), MONTH)
    assert caught.value.exit_code == 2
    assert reason in caught.value.got


def test_a_month_without_rows_is_no_delivery(bqemulator: BigQuery, shop_table: str) -> None:
    with pytest.raises(DeliveryError, match="no delivery of 2031-01") as caught:
        gcp.discover(source(bqemulator, shop_table), "2031-01")
    assert caught.value.exit_code == 2


def test_a_table_that_is_not_there(bqemulator: BigQuery, shop_table: str) -> None:
    with pytest.raises(DeliveryError, match="no such table") as caught:
        gcp.discover(source(bqemulator, shop_table + "_2"), MONTH)
    assert caught.value.exit_code == 2
