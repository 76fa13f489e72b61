"""What a team's figures are made of: postings with their files, and the nodes behind the idle."""

import difflib
from typing import NamedTuple

import duckdb

from pipelines import queries
from pipelines.errors import ConfigurationError
from pipelines.reading import NO_TEAM, Row, rows

SHOWN_TEAMS = 10


class Explained(NamedTuple):
    """The postings of one team, with source_file, and of which nodes its idle pools were made.

    idle: one row per pool, node and cause; `amount` adds up to the pool, `part` to the posting.
    """

    postings: list[Row]
    idle: list[Row]


def explained(con: duckdb.DuckDBPyConnection, team: str, month: str) -> Explained:
    """Return what a team bears in a month, and why; `-` is money without team.

    Raises ConfigurationError where the team has no posting.
    """
    asked = {"team": None if team == NO_TEAM else team}
    for step in ("pool_places", "pool_rows"):
        query = f"CREATE OR REPLACE TEMP TABLE {step} AS {queries.read(f'read/{step}')}"
        con.execute(query, asked)
    postings = rows(con, queries.read("read/explain"), asked)
    if not postings:
        raise _no_such_team(con, team, month)
    return Explained(postings, rows(con, queries.read("read/explain_idle"), asked))


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
