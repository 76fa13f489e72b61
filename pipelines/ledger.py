"""The ledger: from normalised rows and rules to postings, statements, bridges and findings.

All arithmetic is SQL in `sql/`; this module only says in which order it runs. Which relations
it reads and leaves behind is written in `sql/README.md`.
"""

from dataclasses import dataclass
from typing import Literal

import duckdb

from pipelines import queries
from transforms.errors import InputError


@dataclass(frozen=True)
class Step:
    """One relation of the ledger and the query that makes it."""

    relation: str
    query: str
    kind: Literal["TABLE", "VIEW"] = "TABLE"


VIEWS = tuple(Step(name, f"views/{name}", "VIEW") for name in queries.names("views"))

RULES = (
    Step("clusters", "distribute/clusters"),
    Step("daily_costs", "distribute/daily_costs"),
    Step("rules_in_force", "distribute/rules_in_force"),
    Step("unknown_reserves", "distribute/unknown_reserves"),
    Step("pools", "distribute/pools"),
    Step("rule_weights", "distribute/rule_weights"),
)
POSTINGS = (
    Step("variants", "distribute/variants"),
    Step("workload_costs", "distribute/workload_costs"),
    Step("entitled", "distribute/entitled"),
    Step("assignments", "distribute/assignments"),
    Step("distributions", "distribute/distributions"),
    Step("participants", "distribute/participants"),
    Step("weights", "distribute/weights", "VIEW"),
    Step("claims", "distribute/claims", "VIEW"),
    Step("shares", "distribute/postings"),
    Step("postings", "publish/postings"),
)
RULES_ALONE = Step("variants", "distribute/rules_alone")
STATEMENTS = (
    Step("minor_units", "statements/minor_units", "VIEW"),
    Step("kinds", "statements/kinds", "VIEW"),
    Step("team_amounts", "statements/team_amounts"),
    Step("line_kinds", "statements/line_kinds"),
    Step("rounded_lines", "statements/rounded_lines"),
    Step("rounded_kinds", "statements/rounded_kinds"),
    Step("statement_lines", "statements/statement_lines"),
    Step("statements", "publish/statements"),
    Step("comparison", "publish/comparison"),
)
RECONCILIATION = (
    Step("both_views", "reconcile/both_views"),
    Step("node_days", "reconcile/node_days"),
    Step("node_steps", "reconcile/node_steps"),
    Step("bridges", "reconcile/bridges"),
    Step("reconciliation", "publish/reconciliation"),
)
MONTH = (
    Step("cluster_quantities", "reconcile/cluster_quantities"),
    Step("cluster_months", "reconcile/cluster_months"),
)
CHANGES = (Step("team_changes", "reconcile/team_changes"),)


def build(con: duckdb.DuckDBPyConnection) -> None:
    """Leave postings, statements, comparison, reconciliation and findings in `con`.

    Raises LeerlaufError when a pool is too large to be distributed exactly.
    """
    define_macros(con)  # 1. exact integers for money
    _run(con, VIEWS)  # 2. each row gets its one cost
    _make_pools(con)  # 3. and 4.
    _run(con, POSTINGS)  # 5. methods give weights, one query gives money
    _run(con, STATEMENTS)  # 6. lines, rounded so that sums hold
    _run(con, RECONCILIATION)  # 7. the provider's idle against ours
    summarise(con)
    _run(con, CHANGES)
    _collect_findings(con)  # 8. what a person must know, the broken promises among it


def distribute(con: duckdb.DuckDBPyConnection) -> None:
    """Leave the postings of the rules in `con` there: no other method, no statement, no check.

    Reads `normalised`, `settings` and what `loading.load_rules` puts beside them.
    """
    define_macros(con)
    _run(con, VIEWS)
    _make_pools(con)
    _run(con, tuple(RULES_ALONE if step.relation == "variants" else step for step in POSTINGS))


def summarise(con: duckdb.DuckDBPyConnection) -> None:
    """Leave `cluster_months` in `con`: what another month of a cluster is compared with.

    Reads the views, `postings` and, of `allocation_rules`, id, scope and by.
    """
    _run(con, MONTH)


def broken_promises(con: duckdb.DuckDBPyConnection) -> list[dict[str, object]]:
    """Return the findings that forbid publishing: errors of the promises 1 to 4."""
    found = con.execute(queries.read("read/broken_promises"))
    columns = [column[0] for column in found.description or ()]
    return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]


def define_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Define the functions on money that the queries share."""
    for name in queries.names("macros"):
        con.execute(queries.read(f"macros/{name}"))


def _make_pools(con: duckdb.DuckDBPyConnection) -> None:
    _run(con, RULES)  # 3. each amount gets its pool and its rule
    _refuse_oversized_pools(con)  # 4. 128 bits must hold pool times weight
    _refuse_doubled_values(con)


def _run(con: duckdb.DuckDBPyConnection, steps: tuple[Step, ...]) -> None:
    for step in steps:
        con.execute(f"CREATE OR REPLACE {step.kind} {step.relation} AS {_text(step.query)}")


def _text(query: str) -> str:
    """Return one query; a folder is the union of the queries in it."""
    parts = [f"{query}/{name}" for name in queries.names(query)] or [query]
    return " UNION ALL BY NAME ".join(f"({queries.read(part)})" for part in parts)


def _refuse_oversized_pools(con: duckdb.DuckDBPyConnection) -> None:
    pools = con.execute(queries.read("distribute/oversized_pools")).fetchall()
    if pools:
        pool_id, amount = pools[0]
        raise InputError(
            f"{len(pools)} pool(s) are too large to be distributed exactly",
            where=f"pool {pool_id}",
            expected="at most 170000000000 units of currency in one pool of one day",
            got=f"{amount:f}",
            hint="look for a wrong unit or currency in the source files of that day",
        )


def _refuse_doubled_values(con: duckdb.DuckDBPyConnection) -> None:
    doubled = con.execute(queries.read("distribute/doubled_values")).fetchall()
    if doubled:
        rule, day, cluster, team = doubled[0]
        raise InputError(
            "two values of a metric are about one team",
            where=f"metric of allocation rule {rule}: {day}, {team or 'no team'}",
            expected="one value for a team on a day and cluster, by its name or by its id",
            got=f"one by the name of {cluster}, one by this id",
            hint="write the cluster in one way throughout the metric file",
        )


def _collect_findings(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE OR REPLACE TABLE findings AS FROM findings_in")
    for folder in ("findings", "checks"):
        for name in queries.names(folder):
            con.execute(f"INSERT INTO findings BY NAME {queries.read(f'{folder}/{name}')}")
