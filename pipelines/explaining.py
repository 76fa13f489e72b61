"""What a team's figures are made of: postings with their files, and the nodes behind the idle."""

import difflib
from collections.abc import Sequence
from typing import NamedTuple

import duckdb

from pipelines import queries
from pipelines.engine import connect
from pipelines.errors import ConfigurationError
from pipelines.lake import Lake
from pipelines.reading import NO_TEAM, Row, rows
from pipelines.rule_words import listed

SHOWN_TEAMS = 10


class Explained(NamedTuple):
    """The postings of one team, with source_file, and of which nodes its idle pools were made.

    idle: one row per pool, node and cause; `amount` adds up to the pool, `part` to the posting.
    """

    postings: list[Row]
    idle: list[Row]


def explained(con: duckdb.DuckDBPyConnection, team: str) -> Explained:
    """Return what a team bears in the month of a run, and why; `-` is money without team.

    Without postings where there is no such team.
    """
    asked = {"team": None if team == NO_TEAM else team}
    for step in ("pool_places", "pool_rows"):
        query = f"CREATE OR REPLACE TEMP TABLE {step} AS {queries.read(f'read/{step}')}"
        con.execute(query, asked)
    postings = rows(con, queries.read("read/explain"), asked)
    return Explained(postings, rows(con, queries.read("read/explain_idle"), asked))


def no_such_team(
    con: duckdb.DuckDBPyConnection, team: str, month: str, others: Sequence[str]
) -> ConfigurationError:
    """Return what to say of a team without postings; others: the months in which it has a line."""
    teams = con.sql("SELECT DISTINCT team FROM statements WHERE team IS NOT NULL").fetchall()
    names = sorted(name for (name,) in teams)
    near = difflib.get_close_matches(team, names, n=1)
    hint = f"Did you mean `{near[0]}`?" if near else ""
    return ConfigurationError(
        f"no such team in {month}",
        where="TEAM",
        expected=f"one of {len(names)} teams: {', '.join(names[:SHOWN_TEAMS])}"
        + (", ..." if len(names) > SHOWN_TEAMS else ""),
        got=repr(team),
        hint=f"It has a statement in {listed(others)}." if others else hint,
    )


def months_of(lake: Lake, team: str) -> list[str]:
    """Return the months in which a team has a statement by their newest run, the newest first."""
    newest = {one.billing_period: one for one in reversed(lake.records()) if one.published}
    paths = [path for record in newest.values() for path in lake.files(record, "statements")]
    files = [str(path) for path in paths if path.suffix == ".parquet" and path.exists()]
    query = """
        SELECT DISTINCT billing_period FROM read_parquet($files, hive_partitioning = false)
        WHERE team IS NOT DISTINCT FROM $team ORDER BY billing_period DESC
    """
    with connect() as con:
        asked = {"files": files, "team": None if team == NO_TEAM else team}
        return [month for (month,) in con.execute(query, asked).fetchall()] if files else []
