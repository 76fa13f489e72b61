"""The oracle's own reader: the files of a Google detailed billing export as plain rows.

Parquet and JSON lines keep nested fields; CSV has dotted headers, or one cell of JSON or Python
text for a nested field. Amounts are exact fractions of what stands in the file: a double's exact
value, or the decimal text. Empty and missing is None, which is refused where money would be lost.
"""

import ast
import csv
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.oracle_slices import rounded

_DATA = re.compile(r"\.(parquet|(csv|json|jsonl|ndjson)(\.gz)?)$")
_MONTH = re.compile(r"^(?:invoice_month=)?(\d{4})-?(\d{2})$")
_DAY = re.compile(r"^(?:[a-z_]+=)?\d{4}-?\d{2}-?\d{2}$")


@dataclass(frozen=True)
class Row:
    """One row of the export; `cost` and credits are rounded to 12 places, each by itself."""

    month: str
    start: datetime
    currency: str
    cost: Fraction
    cost_type: str | None
    credits: tuple[tuple[str | None, Fraction], ...]
    is_correction: bool
    service_id: str | None
    service: str
    sku: str
    sku_id: str | None
    unit: str | None
    usage: Fraction | None
    project: str | None
    location: str | None
    labels: Mapping[str, str]
    system_labels: Mapping[str, str]
    resource: str | None
    resource_id: str | None


def files(location: Path, month: str) -> list[Path]:
    """Return the data files below `location` that can hold rows of `month` (YYYY-MM).

    A folder named by an invoice month counts for that month, a folder named by a day always.
    """
    found = []
    for file in sorted(path for path in location.rglob("*") if _DATA.search(path.name)):
        parts = file.relative_to(location).parts[:-1]
        months = {f"{named[1]}-{named[2]}" for part in parts if (named := _MONTH.match(part))}
        if months <= {month} and all(_MONTH.match(part) or _DAY.match(part) for part in parts):
            found.append(file)
    return found


def read(location: Path, month: str) -> list[Row]:
    """Return every row of the files for a month, also rows of other invoice months."""
    return [row(values) for file in files(location, month) for values in _values(file)]


def _values(file: Path) -> Iterator[dict[str, Any]]:
    if file.suffix == ".parquet":
        yield from pq.read_table(file).to_pylist()
        return
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8-sig", newline="") as lines:
        if ".csv" in file.suffixes:
            yield from csv.DictReader(lines)
        else:
            yield from (parsed(line) for line in lines if line.strip())


def row(values: Mapping[str, Any]) -> Row:
    """Put one row of any form under one shape; raise ValueError where money would be lost."""
    return Row(
        month=str(_needed(values, "invoice.month")),
        start=_moment(_needed(values, "usage_start_time")),
        currency=_needed(values, "currency"),
        cost=_amount(_needed(values, "cost")),
        cost_type=at(values, "cost_type"),
        credits=tuple(_credits(values)),
        is_correction=at(values, "cost_type") == "adjustment" or _is_adjusted(values),
        service_id=at(values, "service.id"),
        service=at(values, "service.description") or "",
        sku=at(values, "sku.description") or "",
        sku_id=at(values, "sku.id"),
        unit=at(values, "usage.unit"),
        usage=_quantity(at(values, "usage.amount")),
        project=at(values, "project.id"),
        location=at(values, "location.location"),
        labels=_pairs(at(values, "labels")),
        system_labels=_pairs(at(values, "system_labels")),
        resource=at(values, "resource.name"),
        resource_id=at(values, "resource.global_name") or at(values, "resource.name"),
    )


def at(values: Mapping[str, Any], path: str) -> Any:
    """Return what stands under a dotted path, however it is nested; None where nothing does."""
    if path in values:
        value = values[path]
        return None if value is None or value == "" else value
    head, dot, rest = path.partition(".")
    inner = values.get(head) if dot else None
    if isinstance(inner, str):
        inner = parsed(inner) if inner else None
    return at(inner, rest) if isinstance(inner, Mapping) else None


def _needed(values: Mapping[str, Any], path: str) -> Any:
    value = at(values, path)
    if value is None:
        raise ValueError(f"a row without {path}: {dict(values)}")
    return value


def _is_adjusted(values: Mapping[str, Any]) -> bool:
    return any(at(values, f"adjustment_info.{name}") for name in ("id", "mode", "type"))


def _credits(values: Mapping[str, Any]) -> Iterator[tuple[str | None, Fraction]]:
    found = at(values, "credits") or []
    for credit in parsed(found) if isinstance(found, str) else found:
        yield at(credit, "type"), _amount(_needed(credit, "amount"))


def _pairs(value: Any) -> dict[str, str]:
    """Labels are a list of key and value, a list of pairs, or one object."""
    found = parsed(value) if isinstance(value, str) else value or []
    if isinstance(found, Mapping):
        return {key: text for key, text in found.items() if text}
    pairs = ((x["key"], x.get("value")) if isinstance(x, Mapping) else x for x in found)
    return {key: text for key, text in pairs if text}


def _amount(value: Any) -> Fraction:
    exact = value if isinstance(value, float) else Decimal(value)
    return rounded(Fraction(exact))


def _quantity(value: Any) -> Fraction | None:
    return None if value is None else _amount(value)


def _moment(value: Any) -> datetime:
    if isinstance(value, str):
        value = datetime.fromisoformat(re.sub(r" ?UTC$", "+00:00", value))
    moment: datetime = value
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


@lru_cache(maxsize=4096)
def parsed(text: str) -> Any:
    """Return JSON or Python text as values; numbers as the decimals that are written there."""
    try:
        return json.loads(text, parse_float=Decimal)
    except ValueError:
        return _literal(ast.parse(text.strip(), mode="eval").body, text.strip())


def _literal(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.List | ast.Tuple):
        return [_literal(part, text) for part in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_literal(key, text): _literal(value, text) for key, value in pairs if key}
    if isinstance(node, ast.Constant) and not isinstance(node.value, int | float):
        return node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return node.value
    if isinstance(node, ast.Call):
        return _literal(node.args[0], text)
    return Decimal(ast.get_source_segment(text, node) or "")
