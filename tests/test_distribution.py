"""Rules, pools, weights and postings: who gets what, and that nothing is lost or made."""

import random
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings

from pipelines import ledger, queries
from tests.ledger_cases import (
    DAY,
    SHOP,
    Row,
    book,
    charge,
    idle,
    insert,
    measured,
    outside,
    rule,
    shares,
    workload,
)
from tests.strategies import QUANTUM, Pool, months, pools
from transforms.errors import InputError
from transforms.schema import POOL_KINDS, TABLES

METHODS = queries.methods()
NEEDS = {
    "fixed": shares(ads="0.000000000001", batch=60, web=40, platform="999999999999"),
    "metric": {"fallback": "proportional"},
}
"""What a rule of a method says beside its name."""
VALUES = [measured("ads", 0), measured("Zoo", "1e24"), measured("web", 3), measured(None, "1e-12")]
"""Values for method `metric`, on DAY in the cluster shop; not of every team."""
Shares = dict[str | None, Decimal]


# ------------------------------------------------------------------ the arithmetic, alone


@pytest.fixture(scope="module")
def arithmetic() -> duckdb.DuckDBPyConnection:
    """Only what claims and postings read, and the two of them."""
    con = duckdb.connect()
    ledger.define_macros(con)
    con.execute("CREATE TABLE distributions (distribution BIGINT, pool BIGINT)")
    con.execute("CREATE TABLE pools (pool BIGINT, pool_amount DECIMAL(38, 12), bearer VARCHAR)")
    con.execute(
        "CREATE TABLE weights (distribution BIGINT, claimant VARCHAR, weight DECIMAL(38, 12))"
    )
    con.execute(f"CREATE VIEW claims AS {queries.read('distribute/claims')}")
    return con


def shares_of(con: duckdb.DuckDBPyConnection, cases: Sequence[Pool]) -> list[list[Row]]:
    """Return the postings of each pool."""
    for table in ("distributions", "pools", "weights"):
        con.execute(f"DELETE FROM {table}")
    for number, case in enumerate(cases):
        insert(con, "distributions", [{"distribution": number, "pool": number}])
        insert(con, "pools", [{"pool": number, "pool_amount": case.amount, "bearer": case.bearer}])
        weights = [
            {"distribution": number, "claimant": claimant, "weight": weight}
            for claimant, weight in case.weights.items()
        ]
        insert(con, "weights", weights)
    posted = con.execute(queries.read("distribute/postings"))
    names = [column[0] for column in posted.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in posted.fetchall()]
    return [[row for row in rows if row["distribution"] == n] for n in range(len(cases))]


def expected_shares(case: Pool) -> Shares:
    """The contract's arithmetic, written a second time, in Python's integers."""
    weights = {c: int(w / QUANTUM) for c, w in case.weights.items() if w > 0}
    if not weights:
        return {None: case.amount}
    power = 1
    while sum(weights.values()) // power >= 10**15:
        power *= 10
    parts = {claimant: weight // power for claimant, weight in weights.items()}
    whole, total = abs(int(case.amount / QUANTUM)), sum(parts.values())
    shares = {claimant: whole * part // total for claimant, part in parts.items()}
    by_leftover = sorted(
        parts,
        key=lambda c: (
            -(whole * parts[c] % total),
            c is None,
            c == case.bearer,
            (c or "").encode(),
        ),
    )
    for claimant in by_leftover[: whole - sum(shares.values())]:
        shares[claimant] += 1
    sign = -1 if case.amount < 0 else 1
    return {claimant: sign * share * QUANTUM for claimant, share in shares.items()}


@settings(max_examples=200, deadline=None)
@given(case=pools)
def test_postings_are_the_contracts_arithmetic(
    arithmetic: duckdb.DuckDBPyConnection, case: Pool
) -> None:
    [rows] = shares_of(arithmetic, [case])
    assert {row["claimant"]: row["amount"] for row in rows} == expected_shares(case)
    assert sum(row["amount"] for row in rows) == case.amount
    assert {row["team"] for row in rows} <= {*case.weights, case.bearer}


@pytest.mark.parametrize(
    ("case", "shares"),
    [
        (
            Pool(Decimal(100), "ops", {"b": Decimal(1), "a": Decimal(1), "c": Decimal(1)}),
            {"a": "33.333333333334", "b": "33.333333333333", "c": "33.333333333333"},
        ),
        (
            Pool(Decimal(-100), "ops", {"b": Decimal(1), "a": Decimal(1), "c": Decimal(1)}),
            {"a": "-33.333333333334", "b": "-33.333333333333", "c": "-33.333333333333"},
        ),
        (
            Pool(QUANTUM, "ops", {"b": Decimal(1), "a": Decimal(1)}),
            {"a": "0.000000000001", "b": "0"},
        ),
        (
            Pool(QUANTUM, "a", {"b": Decimal(1), "a": Decimal(1), None: Decimal(1)}),
            {"b": "0.000000000001", "a": "0", None: "0"},
        ),
        (
            Pool(QUANTUM, "ops", {"ops": Decimal(1), None: Decimal(1)}),
            {"ops": "0.000000000001", None: "0"},
        ),
        (Pool(Decimal(77), "ops", {}), {None: "77"}),
        (Pool(Decimal(77), "ops", {"a": Decimal(0), "b": Decimal(-5)}), {None: "77"}),
        (Pool(Decimal(0), "ops", {"a": Decimal(3)}), {"a": "0"}),
        (
            Pool(Decimal(10), "ops", {"a": Decimal(3), "b": Decimal(-9), "c": Decimal(1)}),
            {"a": "7.5", "c": "2.5"},
        ),
        (
            Pool(Decimal(170_000_000_000), "ops", {"a": Decimal(10**24), "b": Decimal(1)}),
            {"a": "170000000000", "b": "0"},
        ),
    ],
    ids=[
        "three equal parts",
        "a credit",
        "one quantum goes to the first name",
        "the bearer and no team come last",
        "no team comes after the bearer",
        "nobody",
        "weights of zero and below are none",
        "an empty pool",
        "a negative weight takes no part",
        "the largest pool and a weight too small to see",
    ],
)
def test_shares_by_hand(
    arithmetic: duckdb.DuckDBPyConnection, case: Pool, shares: dict[str | None, str]
) -> None:
    [rows] = shares_of(arithmetic, [case])
    assert {row["claimant"]: row["amount"] for row in rows} == {
        claimant: Decimal(amount) for claimant, amount in shares.items()
    }


def test_weights_are_thinned_only_where_they_must_be(
    arithmetic: duckdb.DuckDBPyConnection,
) -> None:
    """999.999999999999 is the largest sum of weights that is used as it is."""
    kept = Pool(Decimal(1), None, {"a": Decimal("999.999999999998"), "b": QUANTUM})
    thinned = Pool(Decimal(1), None, {"a": Decimal("999.999999999991"), "b": 9 * QUANTUM})
    shares_of(arithmetic, [kept, thinned])
    parts = arithmetic.sql("SELECT shrink, parts FROM claims ORDER BY distribution, claimant")
    assert parts.fetchall() == [
        (1, 999_999_999_999_998),
        (1, 1),
        (10, 99_999_999_999_999),
        (10, 0),
    ]


@pytest.mark.parametrize(
    "amount",
    [
        "99999999999999999999999999.999999999999",
        "-99999999999999999999999999.999999999999",
        "9007199254740993.000000000001",
        "-0.000000000001",
        "0.1",
        "0",
    ],
)
def test_money_and_quanta_are_the_same_amount(
    arithmetic: duckdb.DuckDBPyConnection, amount: str
) -> None:
    back_and_forth = arithmetic.execute(
        "SELECT quanta($a::DECIMAL(38, 12)), money(quanta($a::DECIMAL(38, 12)))", {"a": amount}
    ).fetchall()
    units, _, fraction = amount.partition(".")
    quanta = int(f"{units}{fraction:0<12}")
    assert back_and_forth == [(quanta, Decimal(amount))]


@pytest.mark.parametrize(("whole", "floored"), [(7, 3), (-7, -4), (-8, -4), (0, 0), (-1, -1)])
def test_floored_rounds_down_below_zero_too(
    arithmetic: duckdb.DuckDBPyConnection, whole: int, floored: int
) -> None:
    query = "SELECT floored($whole::HUGEINT, 2::HUGEINT)"
    assert arithmetic.execute(query, {"whole": whole}).fetchall() == [(floored,)]


# --------------------------------------------------------- every method, whole months


def distributed(con: duckdb.DuckDBPyConnection, kind: str = "idle") -> list[tuple[Any, ...]]:
    """Return (team, resource kind, amount) of the postings of one kind."""
    return con.execute(
        "SELECT team, resource_kind, sum(amount) FROM postings WHERE row_kind = $kind "
        "GROUP BY ALL ORDER BY ALL",
        {"kind": kind},
    ).fetchall()


def applied(
    rows: Sequence[Row], method: str, *kinds: str, **columns: Any
) -> duckdb.DuckDBPyConnection:
    """Distribute some kinds by a method, which gets what it needs."""
    given = NEEDS.get(method, {}) | columns
    metrics = VALUES if method == "metric" else ()
    return book(rows, rule("r", method, *kinds, **given), metrics=metrics)


def balances(method: str, rows: list[Row]) -> None:
    """Every pool is posted exactly, every kind arrives whole, no check finds an error."""
    con = applied(rows, method, *POOL_KINDS, scope="node")
    unbalanced = con.sql("""
        SELECT pool_id, any_value(pool_amount) AS pool, sum(amount) AS posted
        FROM postings GROUP BY pool_id HAVING posted <> pool
    """).fetchall()
    assert unbalanced == []
    total = con.sql("SELECT coalesce(sum(amount), 0) FROM postings").fetchall()
    assert total == [(sum(row["effective_cost"] for row in rows),)]
    assert errors(con) == []
    assert mistakes_in_weights(con, method) == []


def mistakes_in_weights(con: duckdb.DuckDBPyConnection, method: str) -> list[tuple[Any, ...]]:
    """Claimants weighed twice, not at all, below zero, or without being a participant here."""
    return con.sql(f"""
        SELECT weights.distribution, weights.claimant
        FROM ({queries.read(f"distribute/weights/{method}")}) AS weights
        LEFT JOIN participants
            ON weights.distribution = participants.distribution
            AND weights.claimant IS NOT DISTINCT FROM participants.claimant
        GROUP BY ALL
        HAVING count(*) > 1 OR min(weights.weight) < 0 OR count(weights.weight) = 0
            OR any_value(participants.method) IS DISTINCT FROM '{method}'
    """).fetchall()


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=10, deadline=None)
@given(rows=months)
def test_a_method_neither_loses_nor_makes_money(method: str, rows: list[Row]) -> None:
    balances(method, rows)


@pytest.mark.soak
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=500, deadline=None)
@given(rows=months)
def test_a_method_neither_loses_nor_makes_money_at_length(method: str, rows: list[Row]) -> None:
    balances(method, rows)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_returns_exact_weights(method: str) -> None:
    """One DOUBLE among the methods would make doubles of all weights."""
    con = applied(MONTH, method, *POOL_KINDS)
    weights = con.sql(queries.read(f"distribute/weights/{method}"))
    assert dict(zip(weights.columns, map(str, weights.types), strict=True)) == {
        "distribution": "BIGINT",
        "claimant": "VARCHAR",
        "weight": "DECIMAL(38,12)",
    }


def errors(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the rules of error findings; no provider measured the idle of these cases."""
    found = con.sql("SELECT rule FROM findings WHERE severity = 'error' ORDER BY ALL")
    return [rule for (rule,) in found.fetchall() if rule != "bridge_closes"]


def test_the_methods_are_the_files_in_the_folder() -> None:
    assert METHODS == ["even", "fixed", "metric", "none", "proportional"]


MONTH = [
    workload("ads", "3"),
    workload("web", "1"),
    workload("web", "4", resource_kind="memory"),
    idle("8"),
    idle("2", resource_kind="memory"),
]


@pytest.mark.parametrize(
    ("applied", "postings"),
    [
        (rule("r", "none"), [("platform", "cpu", "8"), ("platform", "memory", "2")]),
        (
            rule("r", "even"),
            [
                ("ads", "cpu", "4"),
                ("ads", "memory", "1"),
                ("web", "cpu", "4"),
                ("web", "memory", 1),
            ],
        ),
        (
            rule("r", "proportional"),
            [("ads", "cpu", "6"), ("web", "cpu", "2"), ("web", "memory", "2")],
        ),
        (
            rule("r", "proportional", by="total"),
            [
                ("ads", "cpu", "3"),
                ("ads", "memory", "0.75"),
                ("web", "cpu", "5"),
                ("web", "memory", "1.25"),
            ],
        ),
    ],
    ids=["none", "even", "proportional by resource", "proportional by total"],
)
def test_each_method_by_hand(applied: Row, postings: list[tuple[str, str, str]]) -> None:
    assert distributed(book(MONTH, applied)) == [
        (team, kind, Decimal(amount)) for team, kind, amount in postings
    ]


# ------------------------------------------------------------------- who takes part


def resource(kind: str, cost: str = "12", **columns: Any) -> Row:
    """An idle, shared or other pool row of one resource kind."""
    return charge(cost, resource_kind=kind, split_source=None, **columns)


PEOPLE = [
    workload("cpu", "1"),
    workload("memory", "2", resource_kind="memory"),
    workload("gpu", "3", resource_kind="gpu"),
    workload("disk", "4", resource_kind="storage", split_source=None),
    workload("fargate", "5", split_source=None),
    workload("free", "0"),
    workload("credited", "-1"),
]


@pytest.mark.parametrize(
    ("pool", "by_resource", "by_total"),
    [
        (
            resource("cpu", row_kind="idle", reason="unrequested"),
            {"cpu": "12"},
            {"cpu": "2", "memory": "4", "gpu": "6"},
        ),
        (
            resource("gpu", row_kind="headroom", reason="placeholder_pods"),
            {"gpu": "12"},
            {"cpu": "2", "memory": "4", "gpu": "6"},
        ),
        (
            resource("compute", row_kind="idle", reason="empty_node"),
            {"cpu": "2", "memory": "4", "gpu": "6"},
            {"cpu": "2", "memory": "4", "gpu": "6"},
        ),
        (
            resource("storage", "15", row_kind="idle", reason="unrequested"),
            {"disk": "15"},
            {"cpu": "1", "memory": "2", "gpu": "3", "disk": "4", "fargate": "5"},
        ),
        (
            resource("storage", "15", row_kind="system_overhead", reason="node_disk"),
            {"cpu": "1", "memory": "2", "gpu": "3", "disk": "4", "fargate": "5"},
            {"cpu": "1", "memory": "2", "gpu": "3", "disk": "4", "fargate": "5"},
        ),
        (
            resource("network", "15", row_kind="shared", reason="network"),
            {"cpu": "1", "memory": "2", "gpu": "3", "disk": "4", "fargate": "5"},
            {"cpu": "1", "memory": "2", "gpu": "3", "disk": "4", "fargate": "5"},
        ),
        (
            resource("other", "15", row_kind="cluster_fee", reason="control_plane"),
            {"cpu": "1", "memory": "2", "gpu": "3", "disk": "4", "fargate": "5"},
            {"cpu": "1", "memory": "2", "gpu": "3", "disk": "4", "fargate": "5"},
        ),
    ],
    ids=["cpu", "gpu", "compute", "idle disk", "node disk", "network", "fee"],
)
def test_what_a_pool_is_weighted_by(
    pool: Row, by_resource: dict[str, str], by_total: dict[str, str]
) -> None:
    for by, parts in (("resource", by_resource), ("total", by_total)):
        con = book([*PEOPLE, pool], rule("r", "proportional", pool["row_kind"], by=by))
        assert distributed(con, pool["row_kind"]) == [
            (team, pool["resource_kind"], Decimal(parts[team])) for team in sorted(parts)
        ]


def test_even_counts_whoever_has_node_workload_in_a_node_pool() -> None:
    con = book([*PEOPLE, idle("12")], rule("r", "even"))
    assert distributed(con) == [(team, "cpu", Decimal(4)) for team in ("cpu", "gpu", "memory")]


def test_workload_without_a_team_is_one_participant_whose_part_the_operator_bears() -> None:
    rows = [workload("ads", "1"), workload(None, "1"), workload(None, "1", namespace="x")]
    con = book([*rows, idle("3")], rule("r", "even"))
    posted = con.sql(
        "SELECT team, weight, amount, note FROM postings WHERE row_kind = 'idle' ORDER BY ALL"
    ).fetchall()
    assert posted == [
        ("ads", Decimal(1), Decimal("1.5"), None),
        (
            "platform",
            Decimal(1),
            Decimal("1.5"),
            "part of workload without a team: the operator bears it",
        ),
    ]


@pytest.mark.parametrize("method", [method for method in METHODS if method != "none"])
def test_a_pool_in_which_nobody_has_weight_stays_with_the_operator(method: str) -> None:
    rows = [idle("5"), workload("ads", "1", charge_period_start=date(2026, 10, 2))]
    con = applied(rows, method)
    posted = con.sql(
        "SELECT team, method, allocation_rule, weight, weight_total, amount, note "
        "FROM postings WHERE row_kind = 'idle'"
    ).fetchall()
    assert posted == [
        (
            "platform",
            method,
            "r",
            None,
            None,
            Decimal(5),
            "nobody has weight in this pool: it stays with the operator",
        )
    ]


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"cluster_id": "arn:other", "cluster_name": "other"},
        {"billing_currency": "EUR"},
        {"charge_period_start": date(2026, 10, 2)},
        {"provider": "gcp"},
    ],
    ids=["cluster", "currency", "day", "provider"],
)
def test_nobody_takes_part_from_elsewhere(elsewhere: Row) -> None:
    rows = [workload("ads", "1"), workload("far", "9", **elsewhere), idle("5")]
    assert distributed(book(rows, rule("r", "proportional"))) == [("ads", "cpu", Decimal(5))]


def test_corrections_are_pools_of_their_own_shared_by_the_workload_of_their_day() -> None:
    rows = [
        workload("ads", "3"),
        workload("web", "1"),
        idle("8"),
        idle("-4", charge_class="Correction"),
    ]
    con = book(rows, rule("r", "proportional"))
    posted = con.sql(
        "SELECT charge_class, team, pool_amount, amount FROM postings "
        "WHERE row_kind = 'idle' ORDER BY ALL"
    ).fetchall()
    assert posted == [
        ("Correction", "ads", Decimal(-4), Decimal(-3)),
        ("Correction", "web", Decimal(-4), Decimal(-1)),
        (None, "ads", Decimal(8), Decimal(6)),
        (None, "web", Decimal(8), Decimal(2)),
    ]


# ------------------------------------------------------------------------- postings


def test_a_posting_says_everything_about_itself() -> None:
    con = book([workload("ads", "3"), workload("web", "1"), idle("8")], rule("r", "proportional"))
    posted = con.sql("SELECT * FROM postings WHERE row_kind = 'idle' ORDER BY team").fetchall()
    pool_id = f"2026-10-01/aws/{SHOP}/USD/-/idle/unrequested/cpu/cluster/{SHOP}"
    same = (
        *("2026-10", DAY, None, "aws", SHOP, "cluster", SHOP, pool_id),
        *("idle", "unrequested", "cpu"),
    )
    assert posted == [
        (*same, "ads", "proportional", "r", 3, 4, 8, 6, "USD", None),
        (*same, "web", "proportional", "r", 1, 4, 8, 2, "USD", None),
    ]
    assert con.table("postings").columns == TABLES["postings"]


def test_what_is_not_distributed_goes_where_the_contract_says() -> None:
    rows = [
        workload("ads", "1"),
        workload(None, "2"),
        charge("4", row_kind="unattributed", reason="split_gap", resource_kind="compute"),
        charge("8", row_kind="system_overhead", reason="system_namespace"),
        charge("16", row_kind="cluster_fee", reason="control_plane", resource_kind="other"),
        charge("32", row_kind="shared", reason="logging", resource_kind="other"),
        charge("64", row_kind="headroom", reason="placeholder_pods"),
        idle("128"),
        outside("256", "tax"),
    ]
    con = book(rows)
    posted = con.sql(
        "SELECT amount, row_kind, team, method, allocation_rule, note FROM postings ORDER BY amount"
    ).fetchall()
    assert posted == [
        (1, "workload", "ads", "none", "default", None),
        (2, "workload", None, "none", "default", "no team rule matches this workload"),
        (4, "unattributed", None, "none", "default", None),
        (8, "system_overhead", "platform", "none", "default", None),
        (16, "cluster_fee", "platform", "none", "default", None),
        (32, "shared", "platform", "none", "default", None),
        (64, "headroom", "platform", "none", "default", None),
        (128, "idle", "platform", "none", "default", None),
    ]


def test_without_an_operator_money_has_no_team_and_a_finding_says_so() -> None:
    con = book(
        [workload("ads", "1"), idle("5")],
        operators=[{"team": "ops", "cluster": ["prod-*"]}],
    )
    posted = con.sql("SELECT team, note FROM postings WHERE row_kind = 'idle'").fetchall()
    assert posted == [(None, "no operator is configured for this cluster")]
    found = con.sql(
        'SELECT severity, provider, cluster_id, "where", actual FROM findings '
        "WHERE rule = 'operator_missing'"
    ).fetchall()
    assert found == [("warning", "aws", SHOP, "shop", "5.000000000000 USD without a team")]


def test_the_first_operator_that_matches_name_or_id_bears() -> None:
    operators = [
        {"team": "none of them", "cluster": ["x", "sho"]},
        {"team": "by id", "cluster": ["x", "arn:aws:eks:*/shop"]},
        {"team": "by name", "cluster": ["shop"]},
    ]
    assert distributed(book([idle("5")], operators=operators)) == [("by id", "cpu", Decimal(5))]
    assert distributed(book([idle("5")], operators=operators[2:])) == [("by name", "cpu", 5)]


def test_pool_names_tell_workload_and_unattributed_apart_by_team() -> None:
    rows = [
        workload("ads", "1"),
        workload(None, "2"),
        charge("4", row_kind="unattributed", reason="unknown_owner"),
    ]
    names = book(rows).sql("SELECT pool_id FROM postings ORDER BY amount").fetchall()
    start, end = f"2026-10-01/aws/{SHOP}/USD/-", f"cpu/cluster/{SHOP}"
    assert names == [
        (f"{start}/workload/-/{end}/ads",),
        (f"{start}/workload/-/{end}/-",),
        (f"{start}/unattributed/unknown_owner/{end}/-",),
    ]


def test_a_team_named_like_the_sign_for_nobody_stays_apart() -> None:
    con = book([workload("-", "1"), workload(None, "2")])
    posted = con.sql("SELECT team, amount FROM postings ORDER BY amount").fetchall()
    assert posted == [("-", 1), (None, 2)]


# --------------------------------------------------------------------------- scopes


NODES = [
    workload("ads", "1", resource_id="i-1", node_pool="small"),
    workload("web", "1", resource_id="i-2", node_pool="small"),
    workload("gpu", "2", resource_id="i-3", node_pool="large"),
    idle("8", resource_id="i-1", node_pool="small"),
]


@pytest.mark.parametrize(
    ("scope", "key", "shares"),
    [
        ("node", "i-1", [("ads", "8")]),
        ("node_pool", "small", [("ads", "4"), ("web", "4")]),
        ("cluster", SHOP, [("ads", "2"), ("gpu", "4"), ("web", "2")]),
    ],
)
def test_a_scope_is_who_shares(scope: str, key: str, shares: list[tuple[str, str]]) -> None:
    con = book(NODES, rule("r", "proportional", scope=scope))
    posted = con.sql(
        "SELECT scope, scope_key, team, amount FROM postings WHERE row_kind = 'idle' ORDER BY team"
    ).fetchall()
    assert posted == [(scope, key, team, Decimal(amount)) for team, amount in shares]
    assert findings(con, "scope_unknown") == []


def findings(con: duckdb.DuckDBPyConnection, name: str) -> list[tuple[Any, ...]]:
    """Return severity, where, expected, actual and difference of one rule's findings."""
    return con.execute(
        'SELECT severity, "where", expected, actual, difference FROM findings '
        "WHERE rule = $name ORDER BY ALL",
        {"name": name},
    ).fetchall()


@pytest.mark.parametrize(
    ("asked", "row", "scope", "severity"),
    [
        ("node", idle("8", resource_id=None, node_pool="small"), "node_pool", "warning"),
        ("node", idle("8", node_name=None, node_pool="small"), "node_pool", "warning"),
        ("node", idle("8", resource_id=None), "cluster", "warning"),
        ("node_pool", idle("8", resource_id="i-1"), "cluster", "warning"),
        (
            "node",
            resource("network", "8", row_kind="shared", reason="load_balancer", resource_id="lb"),
            "cluster",
            "info",
        ),
        (
            "node_pool",
            resource("other", "8", row_kind="cluster_fee", reason="control_plane"),
            "cluster",
            "info",
        ),
        (
            "node",
            resource("storage", "8", row_kind="system_overhead", reason="node_disk"),
            "cluster",
            "info",
        ),
    ],
    ids=[
        "no node",
        "no name of a node",
        "no node, no pool",
        "no pool",
        "load balancer",
        "fee",
        "node disk",
    ],
)
def test_an_unknown_scope_falls_to_the_next_coarser_one_and_a_finding_says_so(
    asked: str, row: Row, scope: str, severity: str
) -> None:
    kind = row["row_kind"]
    con = book([*NODES[:3], row], rule("r", "proportional", kind, scope=asked))
    scopes = con.execute(
        "SELECT DISTINCT scope FROM postings WHERE row_kind = $kind", {"kind": kind}
    ).fetchall()
    assert scopes == [(scope,)]
    assert findings(con, "scope_unknown") == [
        (severity, f"allocation rule r, {kind}", asked, scope, "8.000000000000")
    ]


# ---------------------------------------------------------------------------- rules


@pytest.mark.parametrize(
    ("rules", "applied"),
    [
        ([], "default"),
        ([rule("first", "even"), rule("second", "none")], "first"),
        ([rule("other kind", "even", "headroom"), rule("second", "even")], "second"),
        ([rule("other cluster", "even", cluster=["shop-*"]), rule("mine", "even")], "mine"),
        ([rule("by name", "even", cluster=["x", "s[hj]o?"])], "by name"),
        ([rule("by id", "even", cluster=["arn:aws:eks:*:cluster/shop"])], "by id"),
        ([rule("from today", "even", valid_from=DAY)], "from today"),
        ([rule("from tomorrow", "even", valid_from=date(2026, 10, 2))], "default"),
        ([rule("until today", "even", valid_to=DAY)], "default"),
        ([rule("until tomorrow", "even", valid_to=date(2026, 10, 2))], "until tomorrow"),
        (
            [rule("past", "none", valid_to=DAY), rule("present", "even", valid_from=DAY)],
            "present",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_first_rule_in_file_order_that_matches_is_in_force(
    rules: list[Row], applied: str
) -> None:
    con = book([workload("ads", "1"), idle("5")], *rules)
    names = con.sql("SELECT allocation_rule FROM postings WHERE row_kind = 'idle'").fetchall()
    assert names == [(applied,)]
    assert errors(con) == []


def test_a_rule_may_change_within_the_month() -> None:
    days = [date(2026, 10, 15), date(2026, 10, 16)]
    rows = [idle("6", charge_period_start=day) for day in days]
    rows += [workload("ads", "1", charge_period_start=day) for day in days]
    con = book(rows, rule("early", "none", valid_to=days[1]), rule("late", "even"))
    posted = con.sql(
        "SELECT charge_date, allocation_rule, team FROM postings WHERE row_kind = 'idle' "
        "ORDER BY ALL"
    ).fetchall()
    assert posted == [(days[0], "early", "platform"), (days[1], "late", "ads")]


def test_one_rule_holds_for_a_cluster_even_where_rows_know_two_names_of_it() -> None:
    rows = [workload("ads", "1"), idle("5", cluster_name=None), idle("3")]
    con = book(rows, rule("r", "even", cluster=["shop"]))
    assert distributed(con) == [("ads", "cpu", Decimal(8))]


@pytest.mark.parametrize("names", [("old", "renamed"), ("renamed", "old")])
def test_of_two_names_of_a_cluster_the_same_one_counts_in_every_run(names: tuple[str, ...]) -> None:
    con = book(
        [idle("5", cluster_name=name) for name in names], rule("r", "none", cluster=["ren*"])
    )
    assert con.sql("SELECT DISTINCT allocation_rule FROM postings").fetchall() == [("r",)]


def test_no_rule_reaches_workload_or_unattributed() -> None:
    rows = [workload("ads", "1"), workload("web", "2"), charge("4", row_kind="unattributed")]
    con = book(rows, rule("greedy", "even", "workload", "unattributed", "idle"))
    posted = con.sql("SELECT team, amount, allocation_rule FROM postings ORDER BY amount")
    assert posted.fetchall() == [("ads", 1, "default"), ("web", 2, "default"), (None, 4, "default")]


# ---------------------------------------------------------------- limits, determinism


@pytest.mark.parametrize("sign", [1, -1])
def test_a_pool_too_large_to_be_exact_is_refused_by_name(sign: int) -> None:
    with pytest.raises(InputError) as refused:
        book([idle(sign * Decimal("170000000000.000000000001"))])
    assert refused.value.where == (
        f"pool 2026-10-01/aws/{SHOP}/USD/-/idle/unrequested/cpu/cluster/{SHOP}"
    )
    assert refused.value.got == f"{sign * Decimal('170000000000.000000000001'):f}"


def test_the_largest_pool_is_distributed_exactly() -> None:
    rows = [workload("ads", "333333333.333333333333"), workload("web", "0.000000000001")]
    con = book([*rows, idle("170000000000")], rule("r", "proportional"))
    assert errors(con) == []
    assert con.sql("SELECT sum(amount) FROM postings WHERE row_kind = 'idle'").fetchall() == [
        (Decimal(170_000_000_000),)
    ]


def test_the_order_of_rows_and_the_number_of_threads_change_nothing() -> None:
    maker = random.Random(7)
    cost: Callable[[], Decimal] = lambda: Decimal(maker.randrange(1, 10**15)) * QUANTUM  # noqa: E731
    rows = [
        workload(f"team {n % 9}", cost(), resource_id=f"i-{n % 7}", resource_kind=kind)
        for n in range(120)
        for kind in ("cpu", "memory")
    ] + [idle(cost(), resource_id=f"i-{n}", resource_kind="cpu") for n in range(7)]
    results = []
    for threads in (1, 4):
        maker.shuffle(rows)
        con = book(rows, rule("r", "proportional", scope="node"), threads=threads)
        results.append(
            [
                con.sql(f"FROM {table} ORDER BY ALL").fetchall()
                for table in ("postings", "statements", "comparison", "reconciliation")
            ]
        )
    assert results[0] == results[1]


def test_building_twice_gives_the_same_books() -> None:
    con = book(MONTH, rule("r", "proportional"))
    before = [con.sql(f"FROM {t} ORDER BY ALL").fetchall() for t in ("postings", "findings")]
    ledger.build(con)
    after = [con.sql(f"FROM {t} ORDER BY ALL").fetchall() for t in ("postings", "findings")]
    assert before == after
