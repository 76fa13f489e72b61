"""Free questions to a lake: `leerlauf sql`. Only queries, and only the files of one run."""

import csv
from collections.abc import Iterator
from decimal import Decimal
from typing import TextIO

import duckdb

from pipelines.errors import ConfigurationError
from pipelines.lake import Lake
from pipelines.machine import plain
from pipelines.reading import Row
from pipelines.record import RunRecord
from pipelines.tables import csv_cell
from transforms.schema import TABLES

BATCH = 10_000
QUERIES = {"SELECT", "CREATE"}
"""Statements that cannot write a file; PIVOT creates a type before it selects."""


class Answer:
    """The rows of one query: read once, in batches."""

    def __init__(self, con: duckdb.DuckDBPyConnection, query: str) -> None:
        self._con = con
        _refuse_all_but_one_query(con, query)
        try:
            con.execute(query)
        except duckdb.Error as error:
            raise _wrong_query(error) from None
        self.names = [column[0] for column in con.description or ()]

    def batches(self) -> Iterator[list[tuple[object, ...]]]:
        """Yield the rows; raises ConfigurationError where the query fails on the way."""
        while True:
            try:
                batch = self._con.fetchmany(BATCH)
            except duckdb.Error as error:
                raise _wrong_query(error) from None
            if not batch:
                return
            yield batch

    def rows(self) -> Iterator[Row]:
        """Yield the rows as dictionaries; a name given twice is kept apart by a number."""
        names = _apart(self.names)
        for batch in self.batches():
            yield from (dict(zip(names, row, strict=True)) for row in batch)

    def write_csv(self, out: TextIO) -> None:
        """Write the rows as CSV; text that a spreadsheet would run gets a quote before it."""
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([_safe(name) for name in self.names])
        for batch in self.batches():
            writer.writerows([_safe(value) for value in row] for row in batch)


def ask(lake: Lake, record: RunRecord, query: str) -> Answer:
    """Ask the tables of one run. No other file can be read, and none can be written.

    Raises ConfigurationError where `query` is no single query, or DuckDB refuses it.
    """
    con = lake.connect(record)
    paths = [str(path.absolute()) for table in TABLES for path in lake.files(record, table)]
    con.execute("SET allowed_paths = $paths", {"paths": paths})
    con.execute("SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    return Answer(con, query)


def _safe(value: object) -> object:
    """Return a value as CSV holds it; dates, lists and maps are written out."""
    is_plain = value is None or isinstance(value, Decimal | str)
    return csv_cell(value) if is_plain else str(plain(value))


def _refuse_all_but_one_query(con: duckdb.DuckDBPyConnection, query: str) -> None:
    try:
        kinds = [statement.type.name for statement in con.extract_statements(query)]
    except duckdb.Error as error:
        raise _wrong_query(error) from None
    if kinds.count("SELECT") != 1 or kinds[-1] != "SELECT" or not set(kinds) <= QUERIES:
        raise ConfigurationError(
            "not a single query",
            where="SQL",
            expected="one SELECT, FROM, WITH, DESCRIBE, SUMMARIZE or PIVOT",
            got=", ".join(kinds) or "nothing",
            hint="The lake is only read; `leerlauf schema` shows its tables.",
        )


def _wrong_query(error: duckdb.Error) -> ConfigurationError:
    return ConfigurationError(
        "DuckDB cannot answer this",
        where="SQL",
        got=str(error),
        hint="`leerlauf schema` shows the tables and their columns.",
    )


def _apart(names: list[str]) -> list[str]:
    """Return the names, each once: a second `x` becomes `x_1`."""
    seen: list[str] = []
    for name in names:
        number, unique = 0, name
        while unique in seen:
            number += 1
            unique = f"{name}_{number}"
        seen.append(unique)
    return seen
