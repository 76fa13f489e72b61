"""Raw files, opened for either engine; what cannot be read is said with file, column and value."""

import codecs
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
_GZIP = b"\x1f\x8b"
_JSON = {".json", ".jsonl", ".ndjson"}
_EXPECTED = {
    "date": "a month or a day such as 2026-10-01",
    "datetime": "a date and time such as 2026-10-01T00:00:00Z",
    "decimal": "a number",
}


def scan(path: Path) -> pl.LazyFrame | None:
    """Return the rows of a raw file, unread; None where there is nothing in it.

    Text files are read as text: what a number or a date is, the transform decides once. Of JSON
    a row is one line, in the column `line`.
    """
    if path.stat().st_size == 0:
        return None
    _refuse_encoding(path)
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
    """Return the rows of a raw file as DuckDB sees them, text files as text.

    Nothing is guessed from the content, and every line of CSV must have all columns. The text of
    a query stands in place of parameters, with which DuckDB would hold the whole file in memory.
    """
    name = glob.escape(str(path))
    if path.suffix == ".parquet":
        return con.read_parquet(name)
    options = f"{_literal(name)}, compression = {_literal(_compression(path))}"
    if _is_json(path):
        return con.sql(f"SELECT json AS line FROM read_ndjson_objects({options})")
    header = pl.scan_csv(path, infer_schema=False, glob=False).collect_schema()
    columns = ", ".join(f"{_literal(column)}: 'VARCHAR'" for column in header)
    return con.sql(
        f"FROM read_csv({options}, columns = {{{columns}}}, auto_detect = false, header = true, "
        """delim = ',', quote = '"', escape = '"')"""
    )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _compression(path: Path) -> str:
    """By the content: downloads may unpack a file and keep its name, or the other way round."""
    if _start(path).startswith(_GZIP):
        return "gzip"
    return "uncompressed" if _is_json(path) else "none"


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _refuse_encoding(path: Path) -> None:
    """Neither engine reads UTF-16, in which Windows writes what a command prints."""
    if _start(path).startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError(
            "a file cannot be read",
            expected="text in UTF-8",
            got="text in UTF-16",
            hint="convert it, or let the export write the file instead of redirecting its output",
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
