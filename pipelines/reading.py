"""What the commands show, read from the tables of one run: rows as dictionaries, in order.

The connection has one view per table (`pipelines.lake.Lake.connect`). Amounts are Decimal in the
currency of their row; None is unknown or not applicable.
"""

import difflib
from dataclasses import dataclass
from typing import Any

import duckdb

from pipelines import queries
from pipelines.errors import ConfigurationError
from pipelines.record import RunRecord

Row = dict[str, Any]
NO_TEAM = "-"
SHOWN_TEAMS = 10

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
    """What stood idle in each cluster, by cause, the largest amount first."""
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


def postings(con: duckdb.DuckDBPyConnection, team: str, month: str) -> list[Row]:
    """Return the postings of a team with their source files; `-` is money without team.

    Raises ConfigurationError where the team has none.
    """
    asked = None if team == NO_TEAM else team
    found = rows(con, queries.read("read/explain"), {"team": asked})
    if not found:
        raise _no_such_team(con, team, month)
    return found


def _no_such_team(con: duckdb.DuckDBPyConnection, team: str, month: str) -> ConfigurationError:
    teams = con.sql("SELECT DISTINCT team FROM statements WHERE team IS NOT NULL").fetchall()
    names = sorted(name for (name,) in teams)
    near = difflib.get_close_matches(team, names, n=1)
    return ConfigurationError(
        f"no such team in {month}",
        where="TEAM",
        expected=f"one of {len(names)} teams: {', '.join(names[:SHOWN_TEAMS])}"
        + (", ..." if len(names) > SHOWN_TEAMS else ""),
        got=repr(team),
        hint=f"Did you mean `{near[0]}`?" if near else "",
    )
