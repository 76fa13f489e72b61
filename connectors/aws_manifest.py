"""Manifests of AWS billing exports: which files make up a delivery.

AWS writes the manifest after all data files, so it marks a delivery as complete, and it is the
only list of files to trust: an export that is overwritten leaves chunks behind that no longer
belong to it. The fields are not documented. CUR 2.0 names its files in `dataFiles`, the legacy
CUR in `reportKeys`, as s3 URIs or as keys; anything else is searched for names of data files.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from connectors.base import RemoteFile, Store
from connectors.errors import UNREADABLE, DeliveryError

DATA_SUFFIXES = (".parquet", ".csv", ".csv.gz")
NAME_FIELDS = ("datafiles", "reportkeys")
RUN_FIELDS = ("executionid", "assemblyid")
STAGES = ("data", "metadata")
"""The two folders of a CUR 2.0 export."""

_MONTH = r"billing_period=(\d{4})-(\d\d)|(\d{4})(\d\d)\d\d-\d{8}|(\d{4})-(\d\d)"
_MONTH_FOLDER = re.compile(_MONTH, re.IGNORECASE)
_MONTH_PART = re.compile(rf"{_MONTH}|year=\d{{4}}|month=\d\d?", re.IGNORECASE)
_YEAR_AND_MONTH_FOLDERS = re.compile(r"year=(\d{4})/month=(\d\d?)", re.IGNORECASE)
_MOMENT = re.compile(r"\d{4}-?\d\d-?\d\d[T_-]?\d\d[:.-]?\d\d[:.-]?\d\d")


@dataclass(frozen=True)
class Manifest:
    """A manifest and what it says; `month` is None where it does not say."""

    file: RemoteFile
    names: tuple[str, ...]
    run_id: str | None
    month: str | None
    bucket: str | None = None

    @property
    def uris(self) -> set[str]:
        """Where AWS put the files, as far as the manifest says."""
        return {name if "://" in name else f"s3://{self.bucket}/{name}" for name in self.names}


def is_manifest(file: RemoteFile) -> bool:
    """Tell whether `file` is a manifest by its name."""
    name = PurePosixPath(file.path).name
    return name == "Manifest.json" or name.endswith("-Manifest.json")


def is_data(name: str) -> bool:
    """Tell whether a file of this name holds billing rows."""
    return name.lower().endswith(DATA_SUFFIXES)


def month_of(path: str) -> str | None:
    """Return the billing period (YYYY-MM) that the folders of `path` name, the innermost first.

    BILLING_PERIOD=2026-10, 20261001-20261101, 2026-10 and year=2026/month=10 are such names.
    """
    pairs = list(_YEAR_AND_MONTH_FOLDERS.finditer(path))
    if pairs:
        return f"{pairs[-1][1]}-{int(pairs[-1][2]):02d}"
    for folder in reversed(path.split("/")[:-1]):
        if found := _MONTH_FOLDER.fullmatch(folder):
            year, month = (part for part in found.groups() if part is not None)
            return f"{year}-{month}"
    return None


def moment_of(names: Iterable[str]) -> str:
    """Return the newest time in the execution folders (TIMESTAMP-ID) of `names`, else ""."""
    folders = (PurePosixPath(name).parent.name for name in names)
    found = (_MOMENT.match(folder) for folder in folders)
    return max((re.sub(r"\D", "", match[0]) for match in found if match), default="")


def without_months(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a path without those that only name a month."""
    return tuple(part for part in parts if not _MONTH_PART.fullmatch(part))


def export_of(file: RemoteFile) -> str:
    """Return the folder of the export a manifest belongs to: what stands above its month."""
    parts = PurePosixPath(file.path).parent.parts
    months = [depth for depth, part in enumerate(parts) if _MONTH_PART.fullmatch(part)]
    depth = months[-1] if months else len(parts)
    while depth and (parts[depth - 1] in STAGES or _MONTH_PART.fullmatch(parts[depth - 1])):
        depth -= 1
    return "/".join(parts[:depth])


def read(store: Store, file: RemoteFile) -> Manifest:
    """Return what a manifest says. Raise `DeliveryError` (exit code 3) where it is damaged."""
    try:
        document = json.loads(store.read(file))
    except (ValueError, RecursionError) as error:
        raise _damaged(file, "a JSON document", str(error)) from error
    names = tuple(dict.fromkeys(_names(document)))
    if not names:
        raise _damaged(file, "names of data files in dataFiles or reportKeys", "none")
    for name in names:
        if ".." in name.split("/"):
            raise _damaged(file, "names of files below the location", name)
        if not is_data(name):
            raise _damaged(file, f"files that end in {', '.join(DATA_SUFFIXES)}", name)
    return Manifest(file, names, _run_id(document), _month(document, names), _bucket(document))


def _damaged(file: RemoteFile, expected: str, got: str) -> DeliveryError:
    return DeliveryError(
        "the manifest cannot be used",
        exit_code=UNREADABLE,
        where=file.uri,
        expected=expected,
        got=got,
        hint="copy the export again, with its manifest; AWS can write Parquet and gzip",
    )


def _fields(document: Any) -> Iterator[tuple[str, Any]]:
    """Yield every key and value of a JSON document, at any depth."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield key.lower(), value
            yield from _fields(value)
    elif isinstance(document, list):
        for value in document:
            yield from _fields(value)


def _names(document: Any) -> list[str]:
    """Return the names in the known fields: texts as they are, of objects what names data."""
    fields = [value for key, value in _fields(document) if key in NAME_FIELDS]
    entries = [entry for value in fields if isinstance(value, list) for entry in value]
    plain = [entry for entry in entries if isinstance(entry, str)]
    inside = [entry for entry in entries if not isinstance(entry, str)] if fields else [document]
    return plain + [text for text in _texts(inside) if is_data(text)]


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _run_id(document: Any) -> str | None:
    return next(
        (v for k, v in _fields(document) if k in RUN_FIELDS and isinstance(v, str) and v), None
    )


def _bucket(document: Any) -> str | None:
    return next((v for k, v in _fields(document) if k == "bucket" and isinstance(v, str)), None)


def _month(document: Any, names: Iterable[str]) -> str | None:
    """Return the month of `billingPeriod.start` (20261001T000000.000Z), else of the names."""
    for key, value in _fields(document):
        if key == "billingperiod" and isinstance(value, dict):
            digits = re.sub(r"\D", "", str(value.get("start", "")))
            if len(digits) >= len("YYYYMM"):
                return f"{digits[:4]}-{digits[4:6]}"
    return next(filter(None, map(month_of, names)), None)
