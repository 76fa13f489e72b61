"""The forms of Google's export: the same rows come out the same, and other exports are refused."""

import datetime as dt
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.exports import reading
from tests.conftest import ROOT
from tests.gcp_rows import (
    FORMS,
    IN_CLUSTER,
    Row,
    bill,
    found,
    kinds,
    of_cluster,
    raw,
    row,
    scanned,
    sliced,
    write,
)
from transforms.errors import InputError
from transforms.gcp import slice_file
from transforms.sliced import Context

KOKU = ROOT.parent / "shared" / "samples" / "gcp_koku_resource_2022.csv"
ABOUT = Context("gcp", "prod", "gke_detailed", "2026-10")


def assorted() -> list[Row]:
    """Rows with what a form could lose: every nested column, signs, exponents, awkward texts."""
    labels = {
        "k8s-workload-type": "apps/v1-Deployment",
        "k8s-workload-name": "api",
        "k8s-label/team": "payments",
    }
    paid = {"COMMITTED_USAGE_DISCOUNT": -0.02370825, "PROMOTION": -1.5e-07}
    return [
        of_cluster("checkout", 0.0474165, labels=labels, credits=paid, cost_at_list=0.05),
        of_cluster("kube:unallocated", 123456789.123),
        of_cluster("search", -1.385e-05, labels={"k8s-label/note": 'Bob\'s "best", {x: None}'}),
        row(cost=2e-06, credits=[("PROMOTION", 0.25), ("NOVELTY", -0.5), (None, 0.125)]),
        row("Größe\nüber, Zeilen", cost_type="tax", project=None, resource=None),
        row(invoice={"month": "202609"}, cost=7.25, credits={"FREE_TIER": -7.25}),
        row(adjustment_info={"id": "a"}, system_labels={"x": "y"}, currency="EUR"),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_slices(form: str, tmp_path: Path) -> None:
    expected = sliced(raw(*assorted()), labels=["team", "note"])
    result = sliced(scanned(write(tmp_path, form, *assorted())), labels=["team", "note"])
    order = ["origin_id", "row_kind", "effective_cost"]
    assert result.slices.sort(order).equals(expected.slices.sort(order))
    assert result.totals.sort(pl.all()).equals(expected.totals.sort(pl.all()))
    assert result.cluster_bills.sort(pl.all()).equals(expected.cluster_bills.sort(pl.all()))
    assert result.findings.equals(expected.findings)


@pytest.mark.parametrize("form", FORMS)
def test_the_bill_query_agrees_in_every_form(form: str, tmp_path: Path) -> None:
    path = write(tmp_path, form, *assorted())
    ours = _totals(
        (fate, currency, view, rows, amount)
        for fate, currency, view, rows, amount in sliced(scanned(path))
        .totals.select("fate", "billing_currency", "cost_view", "rows", "amount")
        .iter_rows()
    )
    theirs = _totals(
        (kind if kind == "other_period" else "sliced", currency, view, rows, amount)
        for kind, _, currency, view, rows, amount in bill(path)
    )
    assert {key: rows for key, (rows, _) in ours.items()} == {
        key: rows for key, (rows, _) in theirs.items()
    }
    for key, (rows, amount) in ours.items():
        tolerance = rows * Decimal("1e-12") + Decimal(130_000_000) * Decimal("1e-15")
        assert abs(amount - theirs[key][1]) <= tolerance


def _totals(rows: Any) -> dict[tuple[str, str, str], tuple[int, Decimal]]:
    summed: dict[tuple[str, str, str], tuple[int, Decimal]] = {}
    for fate, currency, view, count, amount in rows:
        had = summed.get((fate, currency, view), (0, Decimal(0)))
        summed[fate, currency, view] = (had[0] + count, had[1] + amount)
    return summed


def test_the_classes_of_the_bill(tmp_path: Path) -> None:
    classes = {row[:4]: row[4:] for row in bill(write(tmp_path, "json", *assorted()))}
    assert classes["tax", "Compute Engine", "USD", "billed"] == (1, Decimal(1))
    assert classes["other_period", "Compute Engine", "USD", "effective"] == (1, Decimal(0))
    assert classes["regular", "Compute Engine", "EUR", "billed"] == (1, Decimal(1))


def test_the_published_sample_reads_without_a_wrong_figure() -> None:
    if not KOKU.exists():
        pytest.skip("the samples are not beside this checkout")
    result = sliced(scanned(KOKU), billing_period="2022-08")
    assert kinds(result) == {("outside", "other_service", "other"): "0.000012"}
    assert result.totals.select("fate", "cost_view", "rows", pl.col("amount").cast(pl.String)).sort(
        "cost_view"
    ).rows() == [
        ("sliced", "billed", 9, "0.000012000000"),
        ("sliced", "effective", 9, "0.000012000000"),
    ]
    days = result.slices["charge_period_start"].unique().to_list()
    assert (days, found(result)) == ([dt.date(2022, 8, 1)], [])
    assert sliced(scanned(KOKU)).totals["fate"].unique().to_list() == ["other_period"]


# ---------------------------------------------------------------- cells


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-05 10:00:00 UTC",
        "2026-10-05 10:00:00.000000 UTC",
        "2026-10-05T10:00:00Z",
        "2026-10-05T10:00:00.123+00:00",
        "2026-10-05 10:00:00+00",
        "2026-10-05 10:00:00",
        "2026-10-06 01:30:00+05:30",
        "2026-10-04 17:00:00-08",
    ],
)
def test_a_time_is_utc_however_it_is_written(text: str) -> None:
    lines = pl.DataFrame({"line": [json.dumps(line(usage_start_time=text))]})
    assert sliced(lines).slices["charge_period_start"].to_list() == [dt.date(2026, 10, 5)]


def test_a_time_without_zone_in_parquet_is_utc() -> None:
    naive = raw(row()).with_columns(pl.col("usage_start_time").dt.replace_time_zone(None))
    local = raw(row()).with_columns(
        pl.col("usage_start_time").dt.convert_time_zone("America/Los_Angeles")
    )
    for frame in (naive, local):
        assert sliced(frame).slices["charge_period_start"].to_list() == [dt.date(2026, 10, 5)]


def line(**cells: Any) -> Row:
    """A row as JSON has it, without what it need not say."""
    return {
        "usage_start_time": "2026-10-05 10:00:00 UTC",
        "invoice": {"month": "202610"},
        "cost": 1.0,
        "currency": "USD",
        "cost_type": "regular",
    } | cells


@pytest.mark.parametrize("cost", [0.25, "0.25", "2.5e-1"])
def test_json_holds_numbers_or_texts(cost: Any) -> None:
    lines = pl.DataFrame(
        {"line": [json.dumps(line(cost=cost, tags=[{"inherited": True}])), "", " "]}
    )
    assert kinds(sliced(lines)) == {("outside", "other_service", "other"): "0.25"}


@pytest.mark.parametrize(
    "cell",
    [
        json.dumps({"k8s-label/team": "a", **IN_CLUSTER}),
        str({"k8s-label/team": "a", **IN_CLUSTER}),
        str([{"key": "k8s-label/team", "value": "a"}, {"key": "odd", "value": "it's"}]),
        str([{"key": "k8s-label/team", "value": "a"}, {"key": "odd", "value": None}]),
    ],
)
def test_labels_in_one_cell(cell: str) -> None:
    flat = raw(of_cluster("checkout")).with_columns(labels=pl.lit(cell))
    with_labels = sliced(flat, labels=["team"])
    assert with_labels.slices["labels"].to_list() == [{"team": "a"}]


def test_labels_as_a_map() -> None:
    mapped = raw(of_cluster("checkout", labels={"k8s-label/team": "a"})).with_columns(
        pl.col("labels").cast(pl.Map(pl.String(), pl.String()))
    )
    assert sliced(mapped, labels=["team"]).slices["labels"].to_list() == [{"team": "a"}]


def test_an_unreadable_cell_is_said() -> None:
    broken = raw(row()).with_columns(credits=pl.lit("[{'type': 'DISCOUNT\\', 'amount': }]"))
    with pytest.raises(InputError) as error, reading("file-1"):
        sliced(broken)
    assert (error.value.where, error.value.what) == ("file-1", "a file cannot be read")
    assert error.value.got.startswith("error deserializing JSON")


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("cells", "column"),
    [
        ({"invoice": None}, "invoice.month"),
        ({"usage_start_time": None}, "usage_start_time"),
        ({"currency": None}, "currency"),
        ({"currency": ""}, "currency"),
        ({"cost": None}, "cost"),
        ({"credits": [("DISCOUNT", None)]}, "credits.amount"),
        ({"credits": [("PROMOTION", None), ("DISCOUNT", -1.0)]}, "credits.amount"),
    ],
)
@pytest.mark.parametrize("form", ["parquet", "json", "csv-python"])
def test_a_missing_value_is_refused(
    cells: dict[str, Any], column: str, form: str, tmp_path: Path
) -> None:
    path = write(tmp_path, form, row(), row(**cells))
    with pytest.raises(InputError) as error:
        sliced(scanned(path))
    assert (error.value.what, error.value.where, error.value.got) == (
        "a value is missing",
        f"file-1, column {column}",
        "1 rows without one"
        if "cost" not in column and "credits" not in column
        else error.value.got,
    )


@pytest.mark.parametrize(
    "column", ["invoice", "cost", "currency", "cost_type", "usage_start_time", "labels", "credits"]
)
def test_a_missing_column_is_named(column: str) -> None:
    with pytest.raises(InputError) as error:
        slice_file(raw(row()).drop(column).lazy(), ABOUT)
    assert column in error.value.what


@pytest.mark.parametrize(
    "column",
    [
        "system_labels",
        "location",
        "usage",
        "adjustment_info",
        "consumption_model",
        "export_time",
        "cost_at_list",
    ],
)
def test_an_optional_column_may_be_missing(column: str) -> None:
    result = sliced(raw(of_cluster("checkout")).drop(column))
    assert kinds(result) == {("workload", None, "cpu"): "1"}


def test_columns_nobody_knows_are_ignored() -> None:
    novel = raw(row()).with_columns(price=pl.lit(1), gemini=pl.lit("x"))
    assert kinds(sliced(novel)) == {("outside", "other_service", "other"): "1"}


def test_the_standard_export_is_refused_by_its_header() -> None:
    with pytest.raises(InputError, match="this is the standard export") as error:
        slice_file(raw(row()).drop("resource").lazy(), ABOUT)
    assert error.value.hint == (
        "export the detailed table: the split by namespace exists only there"
    )


def test_the_standard_export_is_refused_by_its_rows(tmp_path: Path) -> None:
    fee = row(labels=IN_CLUSTER, service={"description": "Kubernetes Engine"})
    assert kinds(sliced(scanned(write(tmp_path, "json", fee))))
    machine = of_cluster(None, resource=None)
    with pytest.raises(InputError, match="this is the standard export"):
        sliced(scanned(write(tmp_path, "json", fee, machine)))


def test_the_export_of_a_reseller_is_refused(tmp_path: Path) -> None:
    theirs = raw(row()).with_columns(payer_billing_account_id=pl.lit("A"))
    lines = pl.DataFrame({"line": [json.dumps(line(payer_billing_account_id="A"))]})
    for frame in (theirs, lines):
        with pytest.raises(InputError, match="this is a reseller's export"):
            slice_file(frame.lazy(), ABOUT)
