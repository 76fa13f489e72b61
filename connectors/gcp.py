"""Deliveries of Google's detailed Cloud Billing export: a table, or files taken out of it.

BigQuery writes no manifest beside its files. The folder or gs:// prefix counts as a whole: flat,
or with one folder for each invoice month (202610, 2026-10, invoice_month=202610), of which only
that of the month counts, or with one for each day (2026-10-05, 20261005,
partition_date=2026-10-05), which all count, because the day is that of the export and rows of one
invoice come on many days. Where two folders could hold the same rows, nobody can tell which of
them counts, and the location is refused.
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath

from connectors import bigquery, raw
from connectors.base import Delivery, ExportSource, Progress, Receipt, RemoteFile
from connectors.errors import WRONG_USE, DeliveryError
from connectors.folder import is_table
from connectors.places import open_store

JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
DATA_SUFFIXES = (".parquet", ".csv", ".csv.gz", *JSON_SUFFIXES, *(f"{s}.gz" for s in JSON_SUFFIXES))
DAY = "<day>"

_MONTH = re.compile(r"(?:invoice[._-]month=)?(20\d\d)-?(0[1-9]|1[0-2])", re.IGNORECASE)
_DAY = re.compile(r"(?:[\w.-]+=)?(\d{4})(-?)(\d\d)\2(\d\d)")


@dataclass(frozen=True)
class _Place:
    """The folders of a file: as they are, with their days in one spelling, and without days."""

    folder: str
    dated: tuple[str, ...]
    shape: tuple[str, ...]


def discover(source: ExportSource, month: str) -> list[Delivery]:
    """Return the delivery of `month` (YYYY-MM) below the location.

    Raise `DeliveryError`: exit code 2 where there is none, or more than one that could count.
    """
    location = source.location
    if is_table(location):
        return _of_table(source, month)
    store = open_store(source)
    data = [file for file in store.listing() if _is_data(file)]
    months = {file.path: _month(location, file) for file in data}
    files = tuple(file for file in data if months[file.path] in (month, None))
    if not files:
        raise _no_delivery(location, month, months.values())
    if None in months.values() and len(set(months.values())) > 1:
        raise _which_counts(location, "folders of months, and files beside them", files)
    _one_of_each(location, files)
    return [Delivery(store.location, month, files)]


def fetch(source: ExportSource, delivery: Delivery, into: Path, progress: Progress) -> Receipt:
    """Copy the delivery to `into/<billing period>/<delivery id>` unless it is there already."""
    if is_table(delivery.location):
        return bigquery.fetch(source, delivery, into, progress)
    store = open_store(replace(source, location=delivery.location))
    return raw.fetch(store, delivery, into, progress)


def _of_table(source: ExportSource, month: str) -> list[Delivery]:
    files = bigquery.BigQueryStore(source, month).listing()
    if files:
        return [Delivery(source.location, month, tuple(files))]
    raise DeliveryError(
        f"no delivery of {month}",
        exit_code=WRONG_USE,
        where=source.location,
        expected=f"rows of the invoice of {month}",
        got="none",
        hint="the export begins on the day it is switched on, and rows come a day late or more;"
        " what was missed is not made up for",
    )


def _is_data(file: RemoteFile) -> bool:
    """Tell whether a file holds billing rows; the receipt of a copy in the lake does not."""
    name = PurePosixPath(file.path).name
    return name.lower().endswith(DATA_SUFFIXES) and name != raw.RECEIPT


def _month(location: str, file: RemoteFile) -> str | None:
    """Return the invoice month that the folders name, the innermost first, the location last."""
    own_name = Path(os.path.realpath(location)).name
    for folder in reversed([own_name, *PurePosixPath(file.path).parent.parts]):
        if found := _MONTH.fullmatch(folder):
            return f"{found[1]}-{found[2]}"
    return None


# ------------------------------------------------------------------------ what is refused


def _one_of_each(location: str, files: Sequence[RemoteFile]) -> None:
    """Refuse folders that differ in more than their day, and two folders of one day."""
    places = sorted({_place(file) for file in files}, key=lambda place: place.folder)
    if len({place.shape for place in places}) > 1:
        raise _which_counts(location, "several folders whose names are no days", files)
    if len({place.dated for place in places}) < len(places):
        raise _which_counts(location, "two folders of one day", files)


def _place(file: RemoteFile) -> _Place:
    parts = PurePosixPath(file.path).parent.parts
    days = [_day(part) for part in parts]
    return _Place(
        folder="/".join(parts) or ".",
        dated=tuple(day or part for day, part in zip(days, parts, strict=True)),
        shape=tuple(DAY if day else part for day, part in zip(days, parts, strict=True)),
    )


def _day(folder: str) -> str | None:
    found = _DAY.fullmatch(folder)
    try:
        return date(int(found[1]), int(found[3]), int(found[4])).isoformat() if found else None
    except ValueError:
        return None


def _which_counts(location: str, what: str, files: Iterable[RemoteFile]) -> DeliveryError:
    folders = sorted({_place(file).folder for file in files})
    return DeliveryError(
        f"{what}: nothing says which of them count",
        exit_code=WRONG_USE,
        where=location,
        expected="one folder of files, or one folder for each invoice month or each day",
        got=", ".join(folders),
        hint="set `location` of the source to the folder that counts, or move the other one away",
    )


def _no_delivery(location: str, month: str, months: Iterable[str | None]) -> DeliveryError:
    periods = sorted({period for period in months if period is not None})
    return DeliveryError(
        f"no delivery of {month}",
        exit_code=WRONG_USE,
        where=location,
        expected=f"files ({', '.join(DATA_SUFFIXES)}) of {month}",
        got=f"files of {', '.join(periods)}" if periods else "no such files",
        hint="copy the export of that month here, or correct `location` of the source",
    )
