"""The inventories that [[nodes]] names: found, read, and matched with the nodes of a month."""

import csv
import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.config import Config
from pipelines.errors import ConfigurationError
from pipelines.exports import reading
from pipelines.providers import PROVIDERS
from pipelines.record import InputFile
from pipelines.separators import refuse_longer_rows, refuse_semicolons
from transforms.errors import InputError, doubled
from transforms.inventory import INVENTORY, nothing_known
from transforms.node_documents import of_document
from transforms.node_tables import COLUMNS, of_table
from transforms.sliced import Finding, Sliced, of_month
from transforms.snapshots import Matched, bill_nodes, match

_DAY = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_GZIP = b"\x1f\x8b"
_YAML = re.compile(r"(?:- )?[A-Za-z]\w*:(?:\s|$)")
_START = 1000
"""Characters in which YAML has its first key."""


@dataclass(frozen=True)
class Inventories:
    """What all files say: INVENTORY, the files, and the names of those that hold no node."""

    rows: pl.DataFrame
    files: tuple[InputFile, ...]
    empty: tuple[str, ...]


def read(config: Config) -> Inventories:
    """Read every file that [[nodes]] names, each once.

    Raises ConfigurationError where a path matches no file, InputError where one cannot be read.
    """
    paths = sorted({path for index in range(len(config.nodes)) for path in _paths(config, index)})
    frames, files, empty = [pl.DataFrame(schema=INVENTORY)], [], []
    for path, name in zip(paths, _names(paths), strict=True):
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        files.append(InputFile(name=str(path), size=len(content), sha256=digest))
        frames.append(_rows(content, name, _day(path.name)))
        if frames[-1].is_empty():
            empty.append(name)
    return Inventories(pl.concat(frames), tuple(files), tuple(empty))


def matched(inventories: Inventories, sliced: Iterable[Sliced], month: str) -> Matched:
    """Return what the nodes of a month can allocate, and what a person must know of it.

    sliced: all sources, because a name must be one node's alone.
    """
    found = [_empty(name, month) for name in inventories.empty]
    if inventories.rows.is_empty():
        return Matched(nothing_known(), found)
    bill = pl.concat([bill_nodes(one.slices.lazy()) for one in sliced])
    node_ids = [provider.transform.NODE_IDS for provider in PROVIDERS.values()]
    known = match(inventories.rows, bill, month, node_ids)
    return Matched(known.allocatable, [*found, *known.findings])


# ---------------------------------------------------------------- files


def _paths(config: Config, index: int) -> list[Path]:
    found = []
    for pattern in config.nodes[index].path:
        files = _matching(Path(pattern), f"nodes[{index}].path")
        if not files:
            raise ConfigurationError(
                "no inventory",
                where=f"nodes[{index}].path",
                expected="at least one file, such as nodes/*.json",
                got=f"{pattern}, which matches no file",
                hint="write one with `kubectl get nodes -o json > nodes/2026-10-01.json`, or "
                "correct the path",
            )
        found += files
    return found


def _matching(pattern: Path, key: str) -> list[Path]:
    below = pattern.relative_to(pattern.anchor)
    try:
        found = Path(pattern.anchor).glob(str(below)) if below.parts else ()
        return [path for path in found if path.is_file()]
    except ValueError as error:
        raise ConfigurationError(
            "not a pattern",
            where=key,
            expected="names with *, ? and [..]; ** alone between two /",
            got=f"{pattern} ({error})",
        ) from None


def _names(paths: Sequence[Path]) -> list[str]:
    """Name files below the folder they share, so that findings say the same on every machine."""
    folder = os.path.commonpath([path.parent for path in paths]) if paths else ""
    names = [path.relative_to(folder).as_posix() for path in paths]
    for name, path in zip(names, paths, strict=True):
        if _is_no_text(str(path)):
            raise InputError(
                "the name of a file is no text",
                where=ascii(name),
                expected="a name in UTF-8",
                got=ascii(str(path)),
                hint="rename the file",
            )
    return names


def _is_no_text(name: str) -> bool:
    """Say whether a name has bytes that are no UTF-8: Python keeps them, no table can."""
    return any("\ud800" <= sign <= "\udfff" for sign in name)


def _day(name: str) -> date | None:
    """Return the first day that the name of a file bears."""
    for text in _DAY.findall(name):
        try:
            return date.fromisoformat(text)
        except ValueError:
            continue
    return None


# ---------------------------------------------------------------- content


def _rows(content: bytes, name: str, day: date | None) -> pl.DataFrame:
    text = _text(content, name)
    if text.lstrip()[:1] in ("{", "["):
        return of_document(_document(text, name), name, day)
    _refuse_yaml(text, name)
    names = _header(text)
    refuse_semicolons(names, name)
    _refuse_doubled(names, name)
    with reading(name):
        return of_table(_table(text, len(names), name), name, day)


def _table(text: str, columns: int, name: str) -> pl.DataFrame:
    """Return the cells as text."""
    try:
        return pl.read_csv(BytesIO(text.encode()), infer_schema=False)
    except pl.exceptions.ComputeError:
        with suppress(csv.Error):
            refuse_longer_rows(StringIO(text, newline=""), columns, name)
        raise


def _refuse_yaml(text: str, name: str) -> None:
    lines = [line for line in text[:_START].splitlines() if line.strip()]
    first = next((line for line in lines if not line.startswith(("---", "#", "%"))), "")
    if _YAML.match(first):
        raise InputError(
            "an inventory in YAML",
            where=name,
            expected="JSON, as `kubectl get nodes -o json` writes it",
            got=first,
            hint="write it again with -o json",
        )


def _header(text: str) -> list[str]:
    """Return the names of the columns; none where they cannot be read, which Polars tells."""
    try:
        header = next(csv.reader(StringIO(text, newline="")), [])
    except csv.Error:
        return []
    return [column.strip() for column in header]


def _refuse_doubled(names: Sequence[str], name: str) -> None:
    """Refuse a column that is there twice, of which Polars would rename the second."""
    for column in names:
        if names.count(column) > 1:
            error = doubled(column, names, hint="keep one of the two")
            error.where = name
            raise error


def _text(content: bytes, name: str) -> str:
    """Return the text of a file, packed or not, in whichever Unicode a shell has written it."""
    try:
        plain = gzip.decompress(content) if content.startswith(_GZIP) else content
        text = plain.decode(json.detect_encoding(plain)).removeprefix("\ufeff")
    except (OSError, EOFError, ValueError) as error:
        raise _unreadable(name, f"{len(content)} bytes that are no text ({error})") from None
    if not text.strip():
        raise _unreadable(name, "nothing")
    return text


def _document(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _unreadable(name, str(error)) from None


def _unreadable(name: str, got: str) -> InputError:
    return InputError(
        "an inventory cannot be read",
        where=name,
        expected=f"JSON of `kubectl get nodes -o json`, or CSV with {COLUMNS}",
        got=got,
        hint="nothing was changed; write the file again",
    )


def _empty(name: str, month: str) -> Finding:
    return of_month(
        month,
        "inventory_empty",
        "warning",
        where=name,
        expected="nodes",
        actual="none",
        hint="was kubectl asked about another cluster? leave the file out of [[nodes]] otherwise",
    )
