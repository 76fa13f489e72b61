"""Manifests of Cost Management exports: which run wrote which files, of which days.

Azure writes a manifest into the folder of every run. The folders above it differ between
exports and tools that copy them, so only the manifest tells the export, its days and its files.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import PurePosixPath
from typing import Any, NoReturn

from connectors.base import RemoteFile, Store
from connectors.errors import UNREADABLE, DeliveryError

DATA_SUFFIXES = (".csv", ".csv.gz", ".parquet")
MANIFESTS = ("manifest.json", "_manifest.json", "_manifest")


@dataclass(frozen=True)
class Blob:
    """A file as the manifest names it; `size` in bytes and `rows`, None where it is not said."""

    name: str
    size: int | None
    rows: int | None


@dataclass(frozen=True)
class Run:
    """One run of an export. `first` and `last` are its days, both included.

    `export` tells exports apart: resource id (or name) and type. `type` is ActualCost,
    AmortizedCost, FocusCost, ...; None where the manifest does not say.
    """

    file: RemoteFile
    export: tuple[str, str]
    name: str
    type: str | None
    run_id: str | None
    submitted: datetime
    first: date
    last: date
    blobs: tuple[Blob, ...]

    @property
    def days(self) -> str:
        """The days, as a person reads them."""
        return f"{self.first} to {self.last}"

    def holds(self, month: date) -> bool:
        """Tell whether the run begins with the month (its first day) or before, and not after."""
        return self.first <= month <= self.last


def is_manifest(file: RemoteFile) -> bool:
    """Tell whether `file` is a manifest by its name."""
    return PurePosixPath(file.path).name.lower() in MANIFESTS


def is_data(name: str) -> bool:
    """Tell whether a file of this name holds billing rows."""
    return name.lower().endswith(DATA_SUFFIXES)


def read(store: Store, file: RemoteFile) -> Run:
    """Return what a manifest says. Raise `DeliveryError` (exit code 3) where it is damaged."""
    try:
        document = _lower_keys(json.loads(store.read(file)))
    except (ValueError, RecursionError) as error:
        _refuse(file, "a JSON document", str(error))
    config, info = (_object(file, document, key) for key in ("exportconfig", "runinfo"))
    first, submitted = (_moment(file, info, key) for key in ("startdate", "submittedtime"))
    name = str(config.get("exportname") or "")
    kind = config.get("type")
    identity = str(config.get("resourceid") or name).lower().rstrip("/")
    return Run(
        file=file,
        export=(identity, str(kind or "").lower()),
        name=name or identity,
        type=str(kind) if kind else None,
        run_id=str(info["runid"]) if info.get("runid") else None,
        submitted=submitted.replace(tzinfo=submitted.tzinfo or UTC),
        first=first.date(),
        last=_last_day(first, _moment(file, info, "enddate")),
        blobs=_blobs(file, document),
    )


def _lower_keys(value: Any) -> Any:
    """Return a JSON value with all keys in lower case: Azure's own tools spell them both ways."""
    if isinstance(value, dict):
        return {key.lower(): _lower_keys(inner) for key, inner in value.items()}
    return [_lower_keys(inner) for inner in value] if isinstance(value, list) else value


def _object(file: RemoteFile, document: Any, key: str) -> Mapping[str, Any]:
    found = document.get(key) if isinstance(document, dict) else None
    if not isinstance(found, dict):
        _refuse(file, "exportConfig and runInfo", f"no {key}")
    return found


def _blobs(file: RemoteFile, document: Mapping[str, Any]) -> tuple[Blob, ...]:
    entries = document.get("blobs")
    if not isinstance(entries, list) or not entries:
        _refuse(file, "names of files in `blobs`", "none")
    blobs = tuple(_blob(file, entry) for entry in entries)
    count = _whole(file, document, "blobcount")
    if count not in (None, len(blobs)):
        _refuse(file, f"{count} files in `blobs`", str(len(blobs)))
    return blobs


def _blob(file: RemoteFile, entry: Any) -> Blob:
    name = entry.get("blobname") if isinstance(entry, dict) else None
    if not isinstance(name, str) or ".." in name.split("/"):
        _refuse(file, "names of files below the location", repr(name))
    if not is_data(name):
        _refuse(file, f"files that end in {', '.join(DATA_SUFFIXES)}", name)
    return Blob(name, _whole(file, entry, "bytecount"), _whole(file, entry, "datarowcount"))


def _whole(file: RemoteFile, fields: Mapping[str, Any], key: str) -> int | None:
    value = fields.get(key)
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError, OverflowError):
        _refuse(file, f"a whole number as {key}", repr(value))


def _moment(file: RemoteFile, info: Mapping[str, Any], key: str) -> datetime:
    """Return a date-time as it is written: with Z, with an offset, or with neither."""
    try:
        return datetime.fromisoformat(str(info.get(key)))
    except ValueError:
        _refuse(file, f"a date and time as {key} of runInfo", repr(info.get(key)))


def _last_day(first: datetime, end: datetime) -> date:
    """Return the last day that is included; midnight of a month's first day ends the one before."""
    midnight = end.time().replace(tzinfo=None) == datetime.min.time()
    exclusive = midnight and end.day == 1 and end.date() > first.date()
    return end.date() - timedelta(days=1) if exclusive else end.date()


def _refuse(file: RemoteFile, expected: str, got: str) -> NoReturn:
    raise DeliveryError(
        "the manifest cannot be used",
        exit_code=UNREADABLE,
        where=file.uri,
        expected=expected,
        got=got,
        hint="copy the folder of the run again, once Azure has written it",
    )
