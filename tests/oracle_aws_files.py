"""The oracle's own reader: the files of an AWS export as plain rows.

A row is a dict keyed by CUR 2.0 column names, whatever the form of the export. Text is `str`,
times are `datetime` in UTC, numbers are exact fractions of what stands in the file (a double's
exact value, or the decimal text); empty and missing is None. `tags` joins all tag columns of the
row under one spelling of their keys, `product` likewise.
"""

import csv
import gzip
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = dict[str, Any]

_NUMBERS = re.compile(
    r"(_cost|_commitment|_to_date|_usage_amount|_fee|_for_billing_period|_usage"
    r"|_usage_ratio|_value|_quantity|_rate)$"
)
_TEXTS = re.compile(r"^(product_|resource_tags_|line_item_usage_type$|pricing_unit$)|_rate$")
_UNUSED = ("cost_category", "discount")
_TIMES = re.compile(r"^(bill_billing_period|line_item_usage)_(start|end)_date$")


def read(location: Path, month: str) -> list[Row]:
    """Return every row of the newest delivery of `month` (YYYY-MM) below `location`."""
    return [row for file in files(location, month) for row in _rows(file)]


def files(location: Path, month: str) -> list[Path]:
    """Return the files the newest manifest of `month` lists, in its order.

    `location` stands for the bucket, so a file's key is its path. Raise ValueError unless there is
    exactly one manifest directly in the folder of the month.
    """
    first = f"{month.replace('-', '')}01"
    found = [
        path
        for path in sorted(location.rglob("*Manifest.json"))
        if path.parent.name == f"BILLING_PERIOD={month}" or path.parent.name.startswith(first)
    ]
    if len(found) != 1:
        raise ValueError(f"{location}: {len(found)} manifests of {month}, one is needed")
    manifest = json.loads(found[0].read_text(encoding="utf-8"))
    keys = manifest.get("dataFiles") or manifest["reportKeys"]
    return [location / re.sub(r"^s3://[^/]+/", "", key) for key in keys]


def _rows(file: Path) -> Iterator[Row]:
    if file.suffix == ".parquet":
        for values in pq.read_table(file).to_pylist():
            yield _row(values)
    else:
        with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
            for values in csv.DictReader(lines):
                yield _row(values)


def _row(values: dict[str, Any]) -> Row:
    """Put one row of any form under CUR 2.0 names and exact types."""
    row: Row = {"tags": {}, "product": {}}
    for name, value in values.items():
        if value is None or value in ("", "{}", []) or name in _UNUSED:
            continue
        column = column_name(name)
        if column in ("resource_tags", "tags"):
            row["tags"] |= {tag_key(key): text for key, text in _pairs(value) if text}
        elif column.startswith("resource_tags_"):
            row["tags"][tag_key(column.removeprefix("resource_tags_"))] = value
        elif column == "product":
            row["product"] |= dict(_pairs(value))
        else:
            row[column] = _exact(column, value)
    for name in ("vcpu", "memory", "gpu"):
        if f"product_{name}" in row:
            row["product"][name] = row[f"product_{name}"]
    return row


def _pairs(value: Any) -> list[tuple[str, str]]:
    """A map is JSON text in CSV and a list of pairs in Parquet."""
    if isinstance(value, str):
        return list(json.loads(value).items())
    return list(value)


def _exact(column: str, value: Any) -> Any:
    if _TIMES.search(column):
        if isinstance(value, str):
            return datetime.fromisoformat(value)
        return value.replace(tzinfo=UTC)
    if isinstance(value, float):
        return Fraction(value)
    if _NUMBERS.search(column) and not _TEXTS.search(column):
        return Fraction(Decimal(value))
    return value


def column_name(name: str) -> str:
    """Return the CUR 2.0 name: `lineItem/UsageType` is `line_item_usage_type`."""
    group, slash, rest = name.partition("/")
    if not slash:
        return name
    if group == "resourceTags":
        return f"resource_tags_{rest}"
    return f"{_snake(group)}_{_snake(rest)}"


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda capital: f"_{capital[0].lower()}", name).lstrip("_")


def tag_key(name: str) -> str:
    """Return one spelling for `user:a.b/c-d`, `user_a_b_c_d` and `a.b/c-d`: `a_b_c_d`."""
    bare = re.sub(r"^user[:_]", "", name)
    return re.sub(r"[^a-z0-9]", "_", bare.lower())
