"""The inventories that [[nodes]] names: found, read, and matched with the nodes of a month."""

import gzip
import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from pipelines.config import Config
from pipelines.errors import ConfigurationError
from pipelines.exports import reading
from pipelines.record import InputFile
from transforms.errors import InputError
from transforms.inventory import INVENTORY, nothing_known
from transforms.node_documents import of_document
from transforms.node_tables import COLUMNS, of_table
from transforms.sliced import Sliced
from transforms.snapshots import Finding, Matched, bill_nodes, match, of_month

_DAY = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?!\d)")
_GZIP = b"\x1f\x8b"


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
    known = match(inventories.rows, bill, month)
    return Matched(known.allocatable, [*found, *known.findings])


# ---------------------------------------------------------------- files


def _paths(config: Config, index: int) -> list[Path]:
    found = []
    for pattern in config.nodes[index].path:
        files = _matching(Path(pattern))
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


def _matching(pattern: Path) -> list[Path]:
    below = pattern.relative_to(pattern.anchor)
    found = Path(pattern.anchor).glob(str(below)) if below.parts else ()
    return [path for path in found if path.is_file()]


def _names(paths: Sequence[Path]) -> list[str]:
    """Name files below the folder they share, so that findings say the same on every machine."""
    folder = os.path.commonpath([path.parent for path in paths]) if paths else ""
    return [path.relative_to(folder).as_posix() for path in paths]


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
    with reading(name):
        table = pl.read_csv(BytesIO(text.encode()), infer_schema=False)
    return of_table(table, name, day)


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
