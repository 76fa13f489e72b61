"""Raw files, opened for either engine; what cannot be read is said with file, column and value."""

import glob
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import polars as pl

from transforms.errors import InputError

_FAILED_CAST = re.compile(
    r"conversion from `\w+` to `(?P<to>[^`]+)` failed in column '(?P<column>[^']*)'"
    r".*?: (?P<values>\[.*?\])(?:\n\n|\Z)",
    re.DOTALL,
)
_JSON = {".json", ".jsonl", ".ndjson"}
_EXPECTED = {"decimal": "a number", "datetime": "a date and time such as 2026-10-01T00:00:00Z"}


def scan(path: Path) -> pl.LazyFrame | None:
    """Return the rows of a raw file, unread; None where there is nothing in it.

    Text files are read as text: what a number or a date is, the transform decides once. Of JSON
    a row is one line, in the column `line`.
    """
    if path.stat().st_size == 0:
        return None
    if path.suffix == ".parquet":
        return pl.scan_parquet(path, glob=False)
    if _is_json(path):
        return pl.scan_lines(path, glob=False, name="line")
    try:
        lazy = pl.scan_csv(path, infer_schema=False, glob=False)
        lazy.collect_schema()
    except pl.exceptions.NoDataError:
        return None
    return lazy


def open_relation(con: duckdb.DuckDBPyConnection, path: Path) -> duckdb.DuckDBPyRelation:
    """Return the rows of a raw file as DuckDB sees them, text files as text."""
    name = glob.escape(str(path))
    if path.suffix == ".parquet":
        return con.read_parquet(name)
    if _is_json(path):
        return con.sql("SELECT json AS line FROM read_ndjson_objects(?)", params=[name])
    return con.read_csv(
        name, header=True, delimiter=",", quotechar='"', escapechar='"', all_varchar=True
    )


def _is_json(path: Path) -> bool:
    return not _JSON.isdisjoint(path.suffixes[-2:])


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn what the engines say about a broken file into one message that names it."""
    try:
        yield
    except InputError as error:
        error.where = error.where or name
        raise
    except (pl.exceptions.PolarsError, duckdb.Error, OSError) as error:
        raise _unreadable(name, str(error)) from error


def _unreadable(name: str, message: str) -> InputError:
    failed = _FAILED_CAST.search(message)
    if failed is None:
        return InputError(
            "a file cannot be read",
            where=name,
            expected="a complete Parquet, CSV or JSON file",
            got=message.strip().splitlines()[0],
            hint="copy or fetch the file again; it may be truncated",
        )
    kind = re.match(r"[a-z]+", failed["to"])
    return InputError(
        "a value cannot be read",
        where=f"{name}, column {failed['column']}",
        expected=_EXPECTED.get(kind[0] if kind else "", failed["to"]),
        got=failed["values"][:200],
        hint="let the provider deliver the month again; nothing was changed",
    )
