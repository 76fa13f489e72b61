"""The names in a raw file, read without reading the file."""

import csv
import gzip
import json
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import IO, Any

import polars as pl

SUFFIXES = (".parquet", ".csv", ".json", ".jsonl", ".ndjson")
"""How the names of data files end; but for Parquet, `.gz` may follow."""

SAMPLED_ROWS = 1000
LARGEST_DOCUMENT = 1 << 26
"""Characters of a JSON document that is read whole, because it is not one object a line."""

_GZIP = b"\x1f\x8b"


def is_data(path: Path) -> bool:
    """Say whether a file may hold billing rows, by its name."""
    return path.name.lower().removesuffix(".gz").endswith(SUFFIXES)


def names(path: Path) -> tuple[str, ...]:
    """Return the names in a file's header; none where it cannot be read.

    Of JSON, the keys of the first objects: `service`, and `service.id` for what is inside.
    """
    plain = path.name.lower().removesuffix(".gz")
    try:
        if plain.endswith(".parquet"):
            return tuple(pl.read_parquet_schema(path))
        with open_text(path) as text:
            if plain.endswith(".csv"):
                return tuple(next(csv.reader(text), ()))
            return tuple(_keys(text))
    except (OSError, EOFError, ValueError, csv.Error, pl.exceptions.PolarsError):
        return ()


def mentions(path: Path, words: Collection[str]) -> bool:
    """Say whether a text file has one of these words, given in lower case, in any spelling."""
    try:
        with open_text(path) as text:
            return any(word in line.lower() for line in text for word in words)
    except (OSError, EOFError, ValueError):
        return False


def open_text(path: Path) -> IO[str]:
    """Open a text file, packed or not: by its content, for downloads may unpack it."""
    with path.open("rb") as file:
        is_packed = file.read(len(_GZIP)) == _GZIP
    if is_packed:
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def _keys(text: IO[str]) -> dict[str, None]:
    """Return the keys of the first objects, in the order in which they come."""
    first = text.readline()
    try:
        objects = [
            json.loads(line) for line in [first, *islice(text, SAMPLED_ROWS)] if line.strip()
        ]
    except ValueError:  # printed over several lines
        text.seek(0)
        objects = [json.loads(text.read(LARGEST_DOCUMENT))]
    return {key: None for row in objects if isinstance(row, dict) for key in _dotted(row)}


def _dotted(row: Mapping[str, Any]) -> Iterator[str]:
    for key, value in row.items():
        yield key
        if isinstance(value, dict):
            yield from (f"{key}.{inner}" for inner in value)
