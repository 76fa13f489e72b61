"""The oracle's own reader: the files of a Cost Management export as plain rows.

EA, MCA and FOCUS columns are found by their names without case; a localised header is the name in
its brackets. Amounts are exact fractions of what stands in the file, up to 21 decimals as text.
Every id is in lower case. A file has one form of date, ISO or MM/DD/YYYY, or it is refused.
"""

import csv
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.oracle_slices import rounded

COLUMNS = {
    "period": ("billingperiodstartdate", "billingperiodstart"),
    "day": ("date", "chargeperiodstart"),
    "currency": ("billingcurrencycode", "billingcurrency"),
    "cost": ("costinbillingcurrency", "cost"),
    "billed": ("billedcost",),
    "effective": ("effectivecost",),
    "resource": ("resourceid",),
    "group": ("resourcegroup", "resourcegroupname", "x_resourcegroupname"),
    "subscription": ("subscriptionid", "subaccountid"),
    "unit": ("unitofmeasure", "pricingunit"),
    "charge_type": ("chargetype", "chargecategory"),
    "charge_class": ("chargeclass",),
    "status": ("commitmentdiscountstatus",),
    "category": ("metercategory", "x_skumetercategory"),
    "meter": ("metername", "x_skumetername", "skumeter"),
    "commitment": ("reservationid", "benefitid", "commitmentdiscountid"),
    "pricing": ("pricingmodel", "pricingcategory"),
    "order": ("productordername", "x_skuordername"),
    "rule": ("costallocationrulename", "x_costallocationrulename"),
    "tags": ("tags",),
}
NEEDED = ("period", "day", "currency", "charge_type")
_DATA = re.compile(r"\.(csv|csv\.gz|parquet)$")
_ISO = re.compile(r"^\d{4}-\d{2}-\d{2}([T ].*)?$")
_AMERICAN = re.compile(r"^\d{2}/\d{2}/\d{4}$")

Cells = dict[str, Any]
"""One row of a file by the keys of COLUMNS; empty is absent."""


@dataclass(frozen=True)
class Row:
    """One row of the export; `amounts` by view are rounded to 12 places."""

    month: str
    day: date
    currency: str
    amounts: Mapping[str, Fraction]
    resource: str
    group: tuple[str, str]
    cells: Cells
    tags: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return a cell in lower case, empty where there is none."""
        return str(self.cells.get(name) or "").lower()


def files(location: Path, month: str) -> list[Path]:
    """Return the files of the newest complete run of `month`; all files without a manifest."""
    manifests = [
        json.loads(path.read_text(encoding="utf-8-sig"))
        for path in sorted(location.rglob("manifest.json"))
    ]
    if not manifests:
        return [path for path in sorted(location.rglob("*")) if _DATA.search(path.name)]
    runs = [one for one in manifests if one["runInfo"]["startDate"].startswith(month)]
    for run in sorted(runs, key=lambda one: str(one["runInfo"]["submittedTime"]), reverse=True):
        found = [_blob(location, blob) for blob in run["blobs"]]
        if found and all(found):
            return [path for path in found if path]
    raise ValueError(f"{location}: no complete run of {month}")


def _blob(location: Path, blob: Mapping[str, Any]) -> Path | None:
    """Return the file a blob's name ends in, if all its bytes are there."""
    parts = blob["blobName"].split("/")
    for start in range(len(parts)):
        path = location.joinpath(*parts[start:])
        if path.is_file():
            return path if path.stat().st_size == blob["byteCount"] else None
    return None


def read(location: Path, month: str, views: Sequence[str], *, focus: bool) -> list[Row]:
    """Return every row of the month's delivery with its amount in each of `views`."""
    columns = {view: view if focus else "cost" for view in views}
    return [row for file in files(location, month) for row in rows(_values(file), columns)]


def _values(file: Path) -> Iterator[Mapping[str, Any]]:
    if file.suffix == ".parquet":
        yield from pq.read_table(file).to_pylist()
        return
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8-sig", newline="") as lines:
        yield from csv.DictReader(lines)


def rows(values: Iterator[Mapping[str, Any]], columns: Mapping[str, str]) -> list[Row]:
    """Return the rows of one file; `columns` gives the amount's name for each view."""
    cells = [_cells(value) for value in values]
    forms = {form for row in cells for form in (_form(row, "period"), _form(row, "day"))}
    if len(forms) > 1:
        raise ValueError(f"dates of several forms in one file: {sorted(forms)}")
    return [_row(row, columns) for row in cells]


def _cells(values: Mapping[str, Any]) -> Cells:
    named = {column_name(name): value for name, value in values.items() if value not in (None, "")}
    found: Cells = {}
    for key, names in COLUMNS.items():
        filled = [named[name] for name in names if name in named]
        if filled:
            found[key] = filled[0]
    return found


def column_name(header: str) -> str:
    """Return a header in lower case: `Kosten (Cost)` is `cost`."""
    bracket = re.search(r"\(([A-Za-z_]+)\)\s*$", header)
    return (bracket[1] if bracket else header).strip().lower()


def _form(cells: Cells, name: str) -> str:
    value = cells.get(name)
    if value is None:
        raise ValueError(f"a row without {name}: {cells}")
    if not isinstance(value, str) or _ISO.match(value):
        return "iso"
    if _AMERICAN.match(value):
        return "MM/DD/YYYY"
    raise ValueError(f"no date: {value}")


def _day(value: Any) -> date:
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if _ISO.match(value):
        return date.fromisoformat(value[:10])
    return datetime.strptime(value, "%m/%d/%Y").date()  # noqa: DTZ007


def _row(cells: Cells, columns: Mapping[str, str]) -> Row:
    for name in (*NEEDED, *columns.values()):
        if name not in cells:
            raise ValueError(f"a row without {name}: {cells}")
    resource = str(cells.get("resource") or "").lower().rstrip("/")
    parts = resource.split("/")
    place = (str(cells.get("subscription") or ""), str(cells.get("group") or ""))
    if len(parts) > 4 and parts[1] == "subscriptions" and parts[3] == "resourcegroups":
        place = (parts[2], parts[4])
    return Row(
        month=_day(cells["period"]).isoformat()[:7],
        day=_day(cells["day"]),
        currency=cells["currency"],
        amounts={view: _amount(cells[name]) for view, name in columns.items()},
        resource=resource,
        group=(place[0].lower().removeprefix("/subscriptions/"), place[1].lower()),
        cells=cells,
        tags=_tags(cells.get("tags")),
    )


def _amount(value: Any) -> Fraction:
    return rounded(Fraction(value if isinstance(value, float) else Decimal(value)))


def _tags(value: Any) -> dict[str, str]:
    """Tags are an object, its JSON text, or that text without braces."""
    if value is None:
        return {}
    if isinstance(value, str):
        text = value.strip()
        value = json.loads(text if text.startswith("{") else "{" + text + "}")
    return {key: str(text) for key, text in dict(value).items() if text not in (None, "")}
