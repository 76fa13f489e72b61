"""What the commands show, read from the tables of one run: rows as dictionaries, in order.

The connection has one view per table (`pipelines.lake.Lake.connect`). Amounts are Decimal in the
currency of their row; None is unknown or not applicable.
"""

from dataclasses import dataclass
from typing import Any

import duckdb

from pipelines import queries
from pipelines.record import RunRecord

Row = dict[str, Any]
NO_TEAM = "-"

LINES = "provider, cluster_id, billing_currency, team NULLS LAST"
METHODS = 'method, "by" NULLS FIRST'
FINDINGS = """
    list_position(['error', 'warning', 'info'], severity),
    rule, provider, source, cluster_id, "where", expected, actual, difference, hint
"""


@dataclass(frozen=True)
class Month:
    """One month of one run, as far as people and machines are shown it."""

    record: RunRecord
    clusters: list[Row]
    causes: list[Row]
    """What stood idle in each cluster, by cause, that of disks apart; the largest first."""
    outside: list[Row]
    teams: list[Row]
    comparison: list[Row]
    bridges: list[Row]
    """One row a line, summed over the nodes; the lines of a bridge stand together."""
    findings: list[Row]
    places: dict[str, int]
    """Decimal places of the currencies that have not the usual two."""


def month(con: duckdb.DuckDBPyConnection, record: RunRecord) -> Month:
    """Read all that `run`, `reconcile` and `compare` show."""
    return Month(
        record=record,
        clusters=rows(con, queries.read("read/clusters")),
        causes=rows(con, queries.read("read/causes")),
        outside=rows(con, queries.read("read/outside")),
        teams=rows(con, f"FROM statements ORDER BY {LINES}"),
        comparison=rows(con, f"FROM comparison ORDER BY {LINES}, {METHODS}"),
        bridges=rows(con, queries.read("read/reconciliation")),
        findings=rows(con, f"FROM findings ORDER BY {FINDINGS}"),
        places=dict(con.sql(queries.read("statements/minor_units")).fetchall()),
    )


def rows(con: duckdb.DuckDBPyConnection, query: str, values: Row | None = None) -> list[Row]:
    """Return the rows of `query`; `values` are its named parameters."""
    answer = con.execute(query, values or {})
    names = [column[0] for column in answer.description]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]
