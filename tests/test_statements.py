"""Statements, their rounding, the comparison, and the views and summaries people read."""

from datetime import date, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import queries
from pipelines.explaining import explained
from tests.ledger_cases import DAY, PERIOD, SHOP, Row, book, charge, idle, outside, rule, workload
from tests.strategies import QUANTUM, months
from transforms.schema import CLUSTER_KINDS, TABLES, polars_schema

KINDS = (*CLUSTER_KINDS, "corrections")
ROUNDED = ", ".join(f"{kind}_rounded" for kind in KINDS)

PLACES = {"USD": 2, "EUR": 2, "JPY": 0, "KWD": 3, "CLF": 4}


def lines(con: duckdb.DuckDBPyConnection, columns: str = "team, total") -> list[tuple[Any, ...]]:
    """Return columns of the statements, teams in order, the line without a team last."""
    return con.sql(f"SELECT {columns} FROM statements ORDER BY cluster_id, team").fetchall()


# --------------------------------------------------------------------- whole lines


EVERY_KIND = [
    workload("ads", "1.005", workload_idle=Decimal("0.25")),
    workload("ads", "1", namespace="other", workload_idle=None),
    workload("web", "1", workload_idle=None),
    workload(None, "0.5"),
    idle("4"),
    charge("0.333", row_kind="headroom", reason="placeholder_pods", workload_idle=Decimal(9)),
    charge("0.1", row_kind="system_overhead", reason="system_namespace"),
    charge("0.2", row_kind="cluster_fee", reason="control_plane", resource_kind="other"),
    charge("0.3", row_kind="shared", reason="network", resource_kind="network"),
    charge("-0.004", row_kind="unattributed", reason="split_gap", resource_kind="compute"),
    outside("99", "tax"),
]


def test_a_line_is_one_team_with_every_kind() -> None:
    con = book(EVERY_KIND, rule("r", "even"), month_status="final")
    same = (PERIOD, "aws", SHOP)
    money = ", ".join(KINDS)
    shown = lines(con, f"billing_period, provider, cluster_id, team, {money}, total, workload_idle")
    third = Decimal("1.333333333333")
    assert shown == [
        (
            *(*same, "ads"),
            *(Decimal("2.005"), third + QUANTUM, 0, 0, 0, 0, 0, 0),
            *(Decimal("3.338333333334"), Decimal("0.25")),
        ),
        (
            *(*same, "platform"),
            *(0, third, Decimal("0.333"), Decimal("0.1"), Decimal("0.2"), Decimal("0.3"), 0, 0),
            *(Decimal("2.266333333333"), None),
        ),
        (*same, "web", 1, third, 0, 0, 0, 0, 0, 0, Decimal("2.333333333333"), None),
        (
            *(*same, None, Decimal("0.5"), 0, 0, 0, 0, 0, Decimal("-0.004"), 0),
            *(Decimal("0.496"), None),
        ),
    ]
    assert lines(con, "DISTINCT month_status") == [("final",)]


def test_rounded_kinds_add_up_to_rounded_lines_and_these_to_the_cluster() -> None:
    """8.434 is 8.43: the two cents missing go to ads and platform, the biggest leftovers."""
    con = book(EVERY_KIND, rule("r", "even"))
    shown = lines(con, "team, total_rounded, workload_rounded, idle_rounded, unattributed_rounded")
    assert shown == [
        ("ads", Decimal("3.34"), Decimal("2.01"), Decimal("1.33"), 0),
        ("platform", Decimal("2.27"), 0, Decimal("1.34"), 0),
        ("web", Decimal("2.33"), 1, Decimal("1.33"), 0),
        (None, Decimal("0.49"), Decimal("0.50"), 0, Decimal("-0.01")),
    ]


def test_published_tables_have_the_columns_of_the_contract() -> None:
    con = book(EVERY_KIND, rule("r", "even"))
    sql_types = {"Int64": "BIGINT", "Date": "DATE", "String": "VARCHAR"}
    for table in ("postings", "statements", "comparison", "reconciliation", "findings"):
        relation = con.table(table)
        expected = {
            name: sql_types.get(str(dtype), "DECIMAL(38,12)")
            for name, dtype in polars_schema(table).items()
        }
        assert dict(zip(relation.columns, map(str, relation.types), strict=True)) == expected
        assert relation.columns == TABLES[table]


# ------------------------------------------------------------------------ rounding


@pytest.mark.parametrize(
    ("currency", "amount", "rounded"),
    [
        ("USD", "0.125", "0.12"),
        ("USD", "0.135", "0.14"),
        ("USD", "0.134999999999", "0.13"),
        ("USD", "-0.125", "-0.12"),
        ("USD", "-0.135", "-0.14"),
        ("USD", "-0.129", "-0.13"),
        ("USD", "0.000000000001", "0"),
        ("USD", "-0.000000000001", "0"),
        ("JPY", "0.5", "0"),
        ("JPY", "1.5", "2"),
        ("JPY", "-2.5", "-2"),
        ("KWD", "0.0005", "0"),
        ("KWD", "0.0015", "0.002"),
        ("CLF", "0.00005", "0"),
        ("CLF", "0.00015", "0.0002"),
        ("USD", "99999999999.995", "100000000000"),
    ],
)
def test_a_single_line_is_rounded_half_even(currency: str, amount: str, rounded: str) -> None:
    con = book([workload("ads", amount, billing_currency=currency)])
    assert lines(con, "total_rounded, workload_rounded") == [(Decimal(rounded), Decimal(rounded))]


@pytest.mark.parametrize(
    ("currency", "shares", "rounded"),
    [
        ("USD", ["0.335", "0.335", "0.33"], ["0.34", "0.33", "0.33"]),
        ("USD", ["0.014", "0.014", "0.014"], ["0.02", "0.01", "0.01"]),
        ("USD", ["-0.014", "-0.014", "-0.014"], ["-0.01", "-0.01", "-0.02"]),
        ("USD", ["10", "-0.006", "-0.006"], ["10", "0", "-0.01"]),
        ("JPY", ["33.4", "33.3", "33.3"], ["34", "33", "33"]),
        ("KWD", ["0.0004", "0.0004", "0.0004"], ["0.001", "0", "0"]),
        ("KWD", ["1", "1", "1"], ["1", "1", "1"]),
    ],
)
def test_lines_take_the_missing_units_by_largest_remainder(
    currency: str, shares: list[str], rounded: list[str]
) -> None:
    rows = [
        workload(team, share, billing_currency=currency)
        for team, share in zip(("ads", "ops", "web"), shares, strict=True)
    ]
    con = book(rows)
    assert lines(con, "team, total_rounded") == [
        (team, Decimal(amount)) for team, amount in zip(("ads", "ops", "web"), rounded, strict=True)
    ]


def test_of_equal_remainders_the_operator_and_no_team_come_last() -> None:
    rows = [workload(team, "0.005") for team in ("platform", "web", None, "zoo")]
    assert lines(book(rows), "team, total_rounded") == [
        ("platform", 0),
        ("web", Decimal("0.01")),
        ("zoo", Decimal("0.01")),
        (None, 0),
    ]


@pytest.mark.parametrize("currency", sorted(PLACES))
@settings(max_examples=10, deadline=None)
@given(rows=months, scale=st.sampled_from([Decimal(1), Decimal("0.000001")]))
def test_rounding_adds_up_in_every_variant(currency: str, rows: list[Row], scale: Decimal) -> None:
    for row in rows:
        cost = (row["effective_cost"] * scale).quantize(QUANTUM)
        row |= {"billing_currency": currency, "effective_cost": cost, "billed_cost": cost}
    con = book(rows, rule("r", "proportional"))
    unit = Decimal(1).scaleb(-PLACES[currency])
    parts = con.sql(f"""
        SELECT [variant, cluster_id], total, total_rounded,
            [{", ".join(KINDS)}], [{ROUNDED}]
        FROM statement_lines
    """).fetchall()
    clusters: dict[tuple[str, ...], list[tuple[Decimal, Decimal]]] = {}
    for key, total, total_rounded, kinds, kinds_rounded in parts:
        clusters.setdefault(tuple(key), []).append((total, total_rounded))
        assert sum(kinds_rounded) == total_rounded
        assert total_rounded % unit == 0
        for exact, rounded in zip((*kinds, total), (*kinds_rounded, total_rounded), strict=True):
            assert abs(exact - rounded) < unit
    for totals in clusters.values():
        exact = sum((total for total, _ in totals), Decimal(0))
        assert sum(rounded for _, rounded in totals) == exact.quantize(unit, "ROUND_HALF_EVEN")


# -------------------------------------------------------------------- missing is not zero


NOBODY: dict[str, Any] = {"split_source": None}
UNSPLIT = [
    charge(
        "7", row_kind="unattributed", reason="no_split_source", resource_kind="compute", **NOBODY
    ),
    charge("1", row_kind="cluster_fee", reason="control_plane", resource_kind="other", **NOBODY),
]


def test_kinds_of_a_cluster_that_nobody_split_are_unknown_in_all_its_lines() -> None:
    con = book(UNSPLIT)
    assert lines(con, "team, workload, idle, headroom, system_overhead, total") == [
        ("platform", None, None, None, 0, 1),
        (None, None, None, None, 0, 7),
    ]
    assert lines(con, "workload_rounded, idle_rounded, headroom_rounded, shared_rounded") == [
        (None, None, None, 0),
        (None, None, None, 0),
    ]
    comparison = con.sql("SELECT DISTINCT workload, idle, headroom FROM comparison").fetchall()
    assert comparison == [(None, None, None)]


def test_every_kind_is_known_where_a_part_of_the_month_was_split() -> None:
    con = book([*UNSPLIT, workload("ads", "2"), idle("3")], rule("r", "even"))
    assert lines(con, "team, workload, idle, headroom, total") == [
        ("ads", 2, 3, 0, 5),
        ("platform", 0, 0, 0, 1),
        (None, 0, 0, 0, 7),
    ]


def test_pods_that_are_billed_directly_are_known_where_nobody_split_the_nodes() -> None:
    con = book([*UNSPLIT, workload("ads", "2", split_source=None)])
    assert lines(con, "team, workload, idle, headroom")[0] == ("ads", 2, None, None)


def test_other_clusters_are_not_touched_by_what_one_does_not_know() -> None:
    con = book([*UNSPLIT, workload("ads", "2", cluster_id="arn:b", cluster_name="b")])
    assert lines(con, "team, workload, idle, headroom")[2] == ("ads", 2, 0, 0)


# ----------------------------------------------------------------------- comparison


def test_the_comparison_moves_idle_and_headroom_and_nothing_else() -> None:
    rows = [
        workload("ads", "3"),
        workload("web", "1"),
        workload("web", "4", resource_kind="memory"),
        idle("8"),
        charge("2", row_kind="headroom", reason="placeholder_pods", resource_kind="memory"),
        charge("6", row_kind="shared", reason="network", resource_kind="network"),
    ]
    con = book(rows, rule("idle", "even"), rule("net", "even", "shared"))
    compared = con.sql("""
        SELECT method, "by", team, workload, idle, headroom, shared, total
        FROM comparison ORDER BY ALL
    """).fetchall()
    assert compared == [
        ("even", None, "ads", 3, 4, 1, 3, 11),
        ("even", None, "web", 5, 4, 1, 3, 13),
        ("none", None, "ads", 3, 0, 0, 3, 6),
        ("none", None, "platform", 0, 8, 2, 0, 10),
        ("none", None, "web", 5, 0, 0, 3, 8),
        ("proportional", "resource", "ads", 3, 6, 0, 3, 12),
        ("proportional", "resource", "web", 5, 2, 2, 3, 12),
        ("proportional", "total", "ads", 3, 3, Decimal("0.75"), 3, Decimal("9.75")),
        ("proportional", "total", "web", 5, 5, Decimal("1.25"), 3, Decimal("14.25")),
    ]
    in_force = con.sql("SELECT team, idle, headroom FROM statements ORDER BY team").fetchall()
    assert in_force == [("ads", 4, 0), ("platform", 0, 2), ("web", 4, 0)]


def test_the_comparison_keeps_the_scope_of_the_rule_in_force() -> None:
    rows = [
        workload("ads", "1", resource_id="i-1"),
        workload("web", "1", resource_id="i-2"),
        idle("8", resource_id="i-1"),
    ]
    con = book(rows, rule("r", "none", scope="node"))
    even = con.sql("SELECT team, idle FROM comparison WHERE method = 'even' ORDER BY team")
    assert even.fetchall() == [("ads", 8), ("web", 0)]


# -------------------------------------------------------------------- the worked example


HOURS = 730
NODE_PRICE = Decimal("0.23")
SIZE = {"cpu": Decimal(4), "memory": Decimal(16)}
REQUESTS = {
    "A": {"cpu": Decimal("1.5"), "memory": Decimal(4)},
    "B": {"cpu": Decimal("0.5"), "memory": Decimal(2)},
    "C": {"cpu": Decimal("0.5"), "memory": Decimal(2)},
}
UNIT_PRICE = {"cpu": NODE_PRICE * 9 / 52, "memory": NODE_PRICE / 52}


def example() -> list[Row]:
    """One node of 4 vCPU and 16 GiB at 0.23 per hour, weighted 9:1, for 730 hours."""
    rows = []
    for start in range(0, HOURS, 24):
        hours, day = min(24, HOURS - start), DAY + timedelta(days=start // 24)
        for team, kind in product(REQUESTS, SIZE):
            cost = (REQUESTS[team][kind] * UNIT_PRICE[kind] * hours).quantize(QUANTUM)
            rows.append(workload(team, cost, charge_period_start=day, resource_kind=kind))
        spent = sum(row["effective_cost"] for row in rows if row["charge_period_start"] == day)
        rest = {"cpu": (UNIT_PRICE["cpu"] * hours * Decimal("1.5")).quantize(QUANTUM)}
        rest["memory"] = NODE_PRICE * hours - spent - rest["cpu"]
        rows += [
            idle(
                rest[kind],
                charge_period_start=day,
                resource_kind=kind,
                capacity_quantity=SIZE[kind] * hours,
                quantity_unit={"cpu": "Core-Hours", "memory": "GiB-Hours"}[kind],
            )
            for kind in SIZE
        ]
    return rows


PUBLISHED = {
    ("none", None): {"A": "56.50", "B": "20.95", "C": "20.95", "platform": "69.42"},
    ("even", None): {"A": "79.65", "B": "44.14", "C": "44.14"},
    ("proportional", "total"): {"A": "96.36", "B": "35.77", "C": "35.77"},
    ("proportional", "resource"): {"A": "95.57", "B": "36.16", "C": "36.16"},
}


@pytest.fixture(scope="module")
def worked() -> duckdb.DuckDBPyConnection:
    """The worked example, distributed in proportion to the resource."""
    return book(example(), rule("r", "proportional"))


@pytest.mark.parametrize("method", PUBLISHED, ids=lambda method: f"{method[0]} {method[1]}")
def test_the_worked_example(
    worked: duckdb.DuckDBPyConnection, method: tuple[str, str | None]
) -> None:
    totals = dict(
        worked.execute(
            'SELECT team, total FROM comparison WHERE method = $method AND "by" IS NOT DISTINCT '
            "FROM $by",
            {"method": method[0], "by": method[1]},
        ).fetchall()
    )
    assert set(totals) == set(PUBLISHED[method])
    for team, published in PUBLISHED[method].items():
        assert abs(totals[team] - Decimal(published)) < Decimal("0.04")
    assert sum(totals.values()) == NODE_PRICE * HOURS


def test_the_worked_example_in_force(worked: duckdb.DuckDBPyConnection) -> None:
    """A's 95.5739 takes the cent that 95.57 + 36.16 + 36.16 lacks."""
    assert lines(worked, "team, total_rounded") == [
        ("A", Decimal("95.58")),
        ("B", Decimal("36.16")),
        ("C", Decimal("36.16")),
    ]
    [cluster] = worked.sql(queries.read("read/clusters")).fetchall()
    assert round(cluster[5], 2) == 0.41


def test_the_worked_examples_unit_prices(worked: duckdb.DuckDBPyConnection) -> None:
    prices = worked.sql("""
        SELECT DISTINCT resource_kind, round(price, 5), quantity_unit FROM unit_prices ORDER BY ALL
    """).fetchall()
    assert prices == [
        ("cpu", Decimal("0.03981"), "Core-Hours"),
        ("memory", Decimal("0.00442"), "GiB-Hours"),
    ]


# ---------------------------------------------------------------- views and summaries


def test_clusters_are_shown_before_distribution() -> None:
    con = book(EVERY_KIND, rule("r", "even"))
    assert con.sql(queries.read("read/clusters")).fetchall() == [
        (
            *("aws", SHOP, "shop", "USD", Decimal("8.434")),
            pytest.approx(4 / 7.938),
            *map(Decimal, ("3.505", "4", "0.333", "0.1", "0.2", "0.3", "-0.004")),
        )
    ]


def test_an_unsplit_cluster_has_no_idle_ratio_and_unknown_kinds() -> None:
    con = book(UNSPLIT)
    assert con.sql(queries.read("read/clusters")).fetchall() == [
        ("aws", SHOP, "shop", "USD", 8, None, None, None, None, 0, 1, 0, 7)
    ]


def test_the_idle_ratio_counts_node_cost_alone() -> None:
    rows = [
        workload("ads", "1"),
        workload("ads", "10", split_source=None),
        workload("ads", "10", resource_kind="storage", split_source=None),
        charge("1", row_kind="system_overhead", reason="system_namespace"),
        charge("9", row_kind="system_overhead", reason="node_disk", split_source=None),
        charge("1", row_kind="headroom", reason="placeholder_pods"),
        idle("1", resource_kind="compute", reason="empty_node"),
        idle("2", resource_kind="storage"),
    ]
    con = book(rows)
    assert con.sql(queries.read("read/clusters")).fetchall()[0][5] == 0.25
    ratios = con.sql("""
        SELECT resource_id, resource_kind, workload, idle, headroom, system_overhead, idle_ratio
        FROM idle_ratio ORDER BY ALL
    """).fetchall()
    assert ratios == [("i-1", "compute", 0, 1, 0, 0, 1.0), ("i-1", "cpu", 1, 0, 1, 1, 0.0)]


def test_outside_is_summed_by_reason() -> None:
    rows = [outside("1", "tax"), outside("2", "tax"), outside("-4", "credit"), workload("ads", "1")]
    assert book(rows).sql(queries.read("read/outside")).fetchall() == [
        ("aws", "credit", "USD", -4),
        ("aws", "tax", "USD", 3),
    ]


@pytest.mark.parametrize(
    ("view", "bill", "tax"), [("effective", Decimal(3), 7), ("billed", Decimal(30), 70)]
)
def test_everything_follows_the_cost_view(view: str, bill: Decimal, tax: int) -> None:
    rows = [
        workload("ads", "1", billed_cost=Decimal(10)),
        idle("2", billed_cost=Decimal(20)),
        outside("7", "tax", billed_cost=Decimal(70)),
    ]
    con = book(rows, cost_view=view)
    assert con.sql(queries.read("read/clusters")).fetchall()[0][4] == bill
    assert con.sql(queries.read("read/outside")).fetchall()[0][3] == tax
    assert lines(con) == [
        ("ads", bill / 3),
        ("platform", bill / 3 * 2),
    ]


def test_unit_prices_are_unknown_where_capacity_is() -> None:
    con = book([workload("ads", "1"), idle("2")])
    assert con.sql("SELECT price, quantity_unit FROM unit_prices").fetchall() == [(None, None)]


def test_explain_names_the_files_of_each_pool() -> None:
    rows = [
        workload("ads", "1", resource_id="i-1", source_file="a"),
        workload("web", "1", resource_id="i-2", source_file="b"),
        idle("2", resource_id="i-1", source_file="c; a"),
        idle("4", resource_id="i-2", source_file="d"),
        idle("8", resource_id=None, source_file="e"),
        workload(None, "16", source_file="f", charge_period_start=date(2026, 10, 2)),
    ]
    con = book(rows, rule("r", "proportional", scope="node"))
    postings = explained(con, "ads").postings
    assert list(postings[0]) == [*TABLES["postings"], "source_file"]
    shown = [(row["pool_amount"], row["source_file"]) for row in postings]
    assert sorted(shown) == [(1, "a"), (2, "a; c"), (8, "e")]
    nobody = explained(con, "-").postings
    assert [(row["amount"], row["source_file"]) for row in nobody] == [(16, "f")]
