"""Google exports as other tools write them, and broken ones: right figures or one clear error."""

import csv
import datetime as dt
import gzip
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.exports import reading
from tests.gcp_rows import Row, bill, kinds, of_cluster, raw, row, scanned, sliced, write
from transforms.errors import InputError

MOMENT = 1_791_194_400
OCTOBER = [dt.date(2026, 10, 5)]


def lines(folder: Path, *rows: Row, name: str = "a.json") -> Path:
    path = folder / name
    path.write_text("".join(f"{json.dumps(made)}\n" for made in rows), encoding="utf-8")
    return path


def as_json(made: Row) -> Row:
    """A row as EXPORT DATA writes it."""
    times = {
        name: value.strftime("%Y-%m-%d %H:%M:%S UTC")
        for name, value in made.items()
        if isinstance(value, dt.datetime)
    }
    return {name: value for name, value in (made | times).items() if value is not None}


def refused(path: Path) -> InputError:
    with pytest.raises(InputError) as error, reading(path.name):
        sliced(scanned(path))
    return error.value


# ---------------------------------------------------------------- times and months


@pytest.mark.parametrize("parts", [1, 10**3, 10**6, 10**9])
@pytest.mark.parametrize("kind", [int, str, "{:.9E}".format])
def test_a_time_as_a_number_is_read_by_its_size(
    parts: int, kind: Callable[[int], Any], tmp_path: Path
) -> None:
    made = as_json(row()) | {"usage_start_time": kind(MOMENT * parts)}
    assert sliced(scanned(lines(tmp_path, made))).slices["charge_period_start"].to_list() == OCTOBER
    if kind is int:
        whole = raw(row()).with_columns(usage_start_time=pl.lit(MOMENT * parts, dtype=pl.Int64))
        assert sliced(whole).slices["charge_period_start"].to_list() == OCTOBER


@pytest.mark.parametrize("text", ["2026-10-05", "2026-10-05 10:00", "2026-10-05T10:00:00.123456Z"])
def test_a_time_may_be_short_or_long(text: str, tmp_path: Path) -> None:
    path = lines(tmp_path, as_json(row()) | {"usage_start_time": text})
    assert sliced(scanned(path)).slices["charge_period_start"].to_list() == OCTOBER


def test_a_time_nobody_can_read_is_shown_as_it_came(tmp_path: Path) -> None:
    path = lines(
        tmp_path, as_json(row()), as_json(row()) | {"usage_start_time": "05/10/2026 10:00"}
    )
    error = refused(path)
    assert (error.where, error.got) == (
        "a.json, column usage_start_time",
        '["05/10/2026 10:00"]',
    )


@pytest.mark.parametrize(
    "month", [202610, "202610", "2026-10", "2026-10-01", "202610.0", " 202610"]
)
def test_a_month_in_every_spelling(month: Any, tmp_path: Path) -> None:
    path = lines(tmp_path, as_json(row(cost=2.5)) | {"invoice": {"month": month}})
    assert kinds(sliced(scanned(path))) == {("outside", "other_service", "other"): "2.5"}


@pytest.mark.parametrize("month", [202610, "202610", "2026-10"])
def test_a_month_in_every_spelling_is_the_same_class_of_the_bill(
    month: Any, tmp_path: Path
) -> None:
    made = as_json(row(cost=2.5)) | {"invoice": {"month": month}}
    nested = raw(row(cost=2.5)).with_columns(invoice=pl.struct(month=pl.lit(month)))
    nested.write_parquet(tmp_path / "a.parquet")
    text = raw(row(cost=2.5)).select(
        "cost", "cost_type", "currency", invoice=pl.lit(json.dumps({"month": month}))
    )
    text.write_csv(tmp_path / "a.csv")
    for path in (lines(tmp_path, made), tmp_path / "a.parquet", tmp_path / "a.csv"):
        assert {counted[0] for counted in bill(path)} == {"regular"}, path


@pytest.mark.parametrize("month", ["October", "202613", "26-10"])
def test_a_month_that_is_none_is_no_row_of_another_month(month: str, tmp_path: Path) -> None:
    path = lines(tmp_path, as_json(row()), as_json(row()) | {"invoice": {"month": month}})
    error = refused(path)
    assert (error.where, error.got) == ("a.json, column invoice.month", f'["{month}"]')


# ---------------------------------------------------------------- texts of Python and JSON


PRINTED = {
    "decimal": "[{'type': 'DISCOUNT', 'amount': Decimal('-0.25')}]",
    "date": "[{'type': 'DISCOUNT', 'amount': -0.25, 'at': datetime.datetime(2026, 10, 5, 0, 0)}]",
    "numpy": "[{'type': 'DISCOUNT', 'amount': -0.125}\n {'type': 'DISCOUNT', 'amount': -0.125}]",
    "amount in a text": """[{'name': "Bob's 'amount': 5", 'type': 'DISCOUNT', 'amount': -0.25}]""",
    "amount in a JSON text": '[{"name": "a \\"amount\\": 5", "type": "DISCOUNT", "amount": -0.25}]',
    "amount as text": '[{"type": "DISCOUNT", "amount": "-0.25"}]',
}


@pytest.mark.parametrize("cell", PRINTED.values(), ids=PRINTED)
def test_credits_as_they_are_printed(cell: str, tmp_path: Path) -> None:
    path = _with_credits(tmp_path, cell)
    assert kinds(sliced(scanned(path))) == {("outside", "other_service", "other"): "0.75"}
    assert {counted[-1] for counted in bill(path)} == {Decimal("0.75")}


@pytest.mark.parametrize("cell", ["", "[]", "None", "null", "nan"])
def test_no_credits_however_they_are_printed(cell: str, tmp_path: Path) -> None:
    path = _with_credits(tmp_path, cell)
    assert kinds(sliced(scanned(path))) == {("outside", "other_service", "other"): "1"}
    assert {counted[-1] for counted in bill(path)} == {Decimal(1)}


@pytest.mark.parametrize("cell", ["[{'a': {[]: 1}}]", "[{'a': open('x')", "['" + "(" * 500])
def test_a_cell_python_cannot_read_is_refused(cell: str, tmp_path: Path) -> None:
    assert refused(_with_credits(tmp_path, cell)).what == "a file cannot be read"


def _with_credits(folder: Path, cell: str) -> Path:
    made = as_json(row()) | {"credits": cell, "labels": "[]", "resource": {"name": ""}}
    flat: Row = {}
    for name, value in made.items():
        is_record = isinstance(value, dict)
        flat |= {f"{name}.{k}": v for k, v in value.items()} if is_record else {name: value}
    out = io.StringIO()
    writer = csv.DictWriter(out, flat)
    writer.writeheader()
    writer.writerow(flat)
    path = folder / "a.csv"
    path.write_text(out.getvalue(), encoding="utf-8")
    return path


def test_labels_of_lines_may_be_objects(tmp_path: Path) -> None:
    made = as_json(of_cluster("checkout", labels={"k8s-label/team": "a"}))
    labels = {pair["key"]: pair["value"] for pair in made["labels"]}
    path = lines(tmp_path, made | {"labels": labels})
    result = sliced(scanned(path), labels=["team"])
    assert kinds(result) == {("workload", None, "cpu"): "1"}
    assert result.slices["labels"].to_list() == [{"team": "a"}]


# ---------------------------------------------------------------- types of Parquet


@pytest.mark.parametrize("dtype", [pl.Null(), pl.List(pl.Null())])
def test_a_column_without_values_may_have_any_type(dtype: pl.DataType, tmp_path: Path) -> None:
    empty = pl.lit(None, dtype=dtype)
    frame = raw(row(cost=2.5)).with_columns(credits=empty, labels=empty, system_labels=empty)
    path = tmp_path / "a.parquet"
    frame.write_parquet(path)
    assert kinds(sliced(scanned(path))) == {("outside", "other_service", "other"): "2.5"}
    assert {counted[-1] for counted in bill(path)} == {Decimal("2.5")}


@pytest.mark.parametrize("column", ["labels", "system_labels", "credits"])
@pytest.mark.parametrize("value", [1, [["team", "a"]], {"list": [{"element": {"key": "a"}}]}])
def test_a_column_of_lists_that_is_none_is_named(column: str, value: Any) -> None:
    with pytest.raises(InputError, match=f"the column {column} has another type"):
        sliced(raw(row()).with_columns(pl.Series(column, [value])))


def test_bytes_are_no_text() -> None:
    with pytest.raises(InputError, match="the column currency has another type"):
        sliced(raw(row()).with_columns(pl.col("currency").cast(pl.Binary)))


@pytest.mark.parametrize("amount", [float("nan"), float("inf"), 1e30])
@pytest.mark.parametrize(
    ("column", "cells"),
    [
        ("cost", lambda amount: {"cost": amount}),
        ("amount", lambda amount: {"credits": {"PROMOTION": amount}}),
        ("amount", lambda amount: {"usage": {"amount": amount, "unit": "seconds"}}),
    ],
)
def test_an_amount_that_is_none_names_its_column(
    amount: float, column: str, cells: Callable[[float], Row], tmp_path: Path
) -> None:
    path = write(tmp_path, "parquet", row(**cells(amount)))
    assert refused(path).where == f"part-0.parquet, column {column}"


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("form", ["json", "csv-json"])
@pytest.mark.parametrize("is_packed", [True, False])
def test_a_file_may_be_packed_or_not_whatever_its_name(
    form: str, is_packed: bool, tmp_path: Path
) -> None:
    plain = write(tmp_path, form, row(cost=2.5))
    path = plain.with_name(plain.name if is_packed else f"{plain.name}.gz")
    content = plain.read_bytes()
    path.write_bytes(gzip.compress(content) if is_packed else content)
    assert kinds(sliced(scanned(path))) == {("outside", "other_service", "other"): "2.5"}
    assert {counted[-1] for counted in bill(path)} == {Decimal("2.5")}


@pytest.mark.parametrize("indent", [None, 2])
def test_a_whole_document_is_no_lines(indent: int | None, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps([as_json(row())], indent=indent), encoding="utf-8")
    assert refused(path).what == "a line is not a row"


def test_utf_16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("cost,currency\n", encoding="utf-16")
    with pytest.raises(InputError) as error:
        scanned(path)
    assert error.value.got == "text in UTF-16"


def test_a_line_of_csv_with_too_many_cells_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "csv-json", row(), row())
    path.write_text(path.read_text().rstrip("\n") + ",5,5\n")
    with pytest.raises(InputError), reading(path.name):
        bill(path)


@pytest.mark.parametrize(
    ("header", "what"),
    [
        ({"BilledCost": 1, "BillingCurrency": "USD"}, "this is a FOCUS export"),
        ({"line_item_unblended_cost": 1}, "the export lacks the column usage_start_time, cost"),
        ({"COST": 1, "CURRENCY": "USD"}, "the export lacks the column usage_start_time, cost"),
    ],
)
def test_another_export_is_not_taken_for_the_standard_one(
    header: Row, what: str, tmp_path: Path
) -> None:
    for frame in (pl.LazyFrame([header]), scanned(lines(tmp_path, header))):
        with pytest.raises(InputError, match=what):
            sliced(frame)


def test_a_reseller_is_known_by_any_of_the_first_lines(tmp_path: Path) -> None:
    theirs = as_json(row()) | {"payer_billing_account_id": "A"}
    assert refused(lines(tmp_path, as_json(row()), theirs)).what == "this is a reseller's export"
