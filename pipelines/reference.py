"""What the commands `methods` and `schema` and the README say, read from where it is written.

Columns come from `transforms/schema.py`, methods and views from the headers of their SQL files.
"""

import re
from typing import NamedTuple

from pipelines import queries
from transforms.schema import COLUMNS, TABLES

TYPES = {
    "String": "VARCHAR",
    "Int64": "BIGINT",
    "Date": "DATE",
    "Decimal(precision=38, scale=12)": "DECIMAL(38,12)",
    "Map(String, String)": "MAP(VARCHAR, VARCHAR)",
}
"""Polars types as DuckDB names them."""


class Column(NamedTuple):
    """A column of a table; `unit` is empty where it has none."""

    table: str
    column: str
    type: str
    unit: str
    meaning: str


class Header(NamedTuple):
    """What a SQL file says of itself: its name, its first line, and its labelled paragraphs."""

    name: str
    does: str
    parts: dict[str, str]


def columns() -> list[Column]:
    """Return the columns of all tables, in order."""
    return [
        Column(
            table, name, TYPES[str(COLUMNS[name].dtype)], COLUMNS[name].unit, COLUMNS[name].meaning
        )
        for table, names in TABLES.items()
        for name in names
    ]


def methods() -> list[Header]:
    """Return the headers of the distribution methods."""
    return [header(f"distribute/weights/{method}") for method in queries.methods()]


def views() -> list[Header]:
    """Return the headers of the views that stand beside the tables."""
    return [header(f"views/{view}") for view in queries.names("views")]


def header(name: str) -> Header:
    """Read the comment that opens sql/<name>.sql."""
    lines = []
    for line in queries.read(name).splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").removeprefix(" "))
    title, does = lines[0].split(": ", maxsplit=1)
    parts: dict[str, str] = {}
    for line in lines[1:]:
        labelled = re.match(r"(\w+(?: \w+)*) {2,}(.+)|(\w+) (.+)", line)
        if line.startswith(" ") and parts:
            parts[list(parts)[-1]] += " " + line.strip()
        elif labelled:
            label = labelled[1] or labelled[3]
            parts[label] = labelled[2] or labelled[4]
    return Header(title, does, parts)
