"""Bridges from the provider's idle to ours."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import ledger, queries
from tests.ledger_cases import DAY, SHOP, Row, book, charge, idle, outside, workload
from tests.strategies import QUANTUM, months

LINES = (
    "provider_idle",
    "node_reserve",
    "policy_headroom",
    "usage_above_request",
    "over_allocation",
    "empty_nodes",
    "not_time_based",
    "rebased",
    "idle",
)

NODE = [
    workload("ads", "4", provider_idle_cost=Decimal(6)),
    charge(
        "1", row_kind="system_overhead", reason="system_namespace", provider_idle_cost=Decimal(1)
    ),
    charge("2", row_kind="headroom", reason="placeholder_pods", provider_idle_cost=Decimal(3)),
    charge("0.5", row_kind="system_overhead", reason="node_reserve"),
    charge("0.25", row_kind="headroom", reason="policy"),
    idle("9.583333333333"),
    idle("7.666666666667", reason="empty_node", provider_class=None),
    charge("5", row_kind="unattributed", reason="split_gap", resource_kind="compute"),
]
"""Pods left 10 idle and the node stood empty for 8; of both, 0.5 is reserved and 0.25 held free."""


def bridges(con: duckdb.DuckDBPyConnection) -> dict[tuple[Any, ...], dict[str, Decimal]]:
    """Return each bridge's amounts by the names of its lines, in order."""
    found: dict[tuple[Any, ...], dict[str, Decimal]] = {}
    for *key, name, amount in con.sql("""
        SELECT cluster_id, node_name, resource_kind, provider_class, name, amount
        FROM reconciliation ORDER BY ALL
    """).fetchall():
        found.setdefault(tuple(key), {})[name] = amount
    return found


def test_a_bridge_line_by_line() -> None:
    con = book(NODE)
    shown = con.sql("""
        SELECT billing_period, provider, cluster_id, node_name, resource_kind, provider_class,
            position, name, amount, billing_currency
        FROM reconciliation ORDER BY position
    """).fetchall()
    amounts = ["10", "-0.5", "-0.25", "0", "0", "8", "0", "0", "17.25"]
    assert shown == [
        ("2026-10", "aws", SHOP, "node-1", "cpu", "unused_cost", position, name, amount, "USD")
        for position, (name, amount) in enumerate(
            zip(LINES, map(Decimal, amounts), strict=True), start=1
        )
    ]
    assert con.sql("FROM findings WHERE rule = 'bridge_closes'").fetchall() == []


def test_what_the_named_steps_leave_over_is_rebased() -> None:
    con = book([*NODE, idle("0.000000000007")])
    [bridge] = bridges(con).values()
    assert bridge["rebased"] == Decimal("0.000000000007")
    assert bridge["idle"] == Decimal("17.250000000007")


def test_bridges_stand_apart_by_node_and_resource_and_are_summed_over_nodes_for_reading() -> None:
    other = {"node_name": "node-2", "resource_id": "i-2"}
    rows = [
        *NODE,
        workload("ads", "1", provider_idle_cost=Decimal(2), **other),
        idle("2", **other),
        workload("ads", "1", provider_idle_cost=Decimal(3), resource_kind="memory"),
        idle("3", resource_kind="memory"),
    ]
    con = book(rows)
    assert {key[1:3]: lines["idle"] for key, lines in bridges(con).items()} == {
        ("node-1", "cpu"): Decimal("17.25"),
        ("node-2", "cpu"): 2,
        ("node-1", "memory"): 3,
    }
    read = con.sql(queries.read("read/reconciliation")).fetchall()
    assert [row[2:4] + row[5:] for row in read if row[6] in {"provider_idle", "idle"}] == [
        ("cpu", "unused_cost", 1, "provider_idle", 12),
        ("cpu", "unused_cost", 9, "idle", Decimal("19.25")),
        ("memory", "unused_cost", 1, "provider_idle", 3),
        ("memory", "unused_cost", 9, "idle", 3),
    ]


def test_a_node_that_was_only_empty_is_in_the_bridge_of_its_cluster() -> None:
    empty = idle("4", reason="empty_node", provider_class=None, node_name="node-2")
    con = book([*NODE, empty])
    assert {key[3] for key in bridges(con)} == {"unused_cost"}
    assert len(con.sql(queries.read("read/reconciliation")).fetchall()) == len(LINES)


def test_idle_the_provider_shows_on_rows_of_its_own() -> None:
    """Idle rows carry it; what is not time-based is shared; its own reserve is no step."""
    apart = {"provider_class": "#idle#", "node_name": None}
    rows = [
        workload("ads", "4"),
        idle("3", provider_idle_cost=Decimal("2.5"), resource_kind="compute", **apart),
        charge(
            "1",
            row_kind="system_overhead",
            reason="node_reserve",
            provider_class="#reserve#",
            node_name=None,
            resource_kind="compute",
        ),
        charge(
            "2",
            row_kind="shared",
            reason="load_balancer",
            resource_kind="network",
            provider_idle_cost=Decimal(2),
            **apart,
        ),
    ]
    shown = bridges(book(rows, splits_apart=["scad"]))
    assert {
        key[1:]: {name: amount for name, amount in lines.items() if amount}
        for key, lines in shown.items()
    } == {
        (None, "compute", "#idle#"): {
            "provider_idle": Decimal("2.5"),
            "rebased": Decimal("0.5"),
            "idle": Decimal(3),
        },
        (None, "network", "#idle#"): {
            "provider_idle": Decimal(2),
            "not_time_based": Decimal(-2),
        },
    }


def test_two_words_for_idle_are_two_bridges() -> None:
    rows = [
        idle(cost, provider_class=word, provider_idle_cost=Decimal(cost), node_name=None)
        for cost, word in (("3", "asked"), ("2", "measured"))
    ]
    assert {key[3]: lines["idle"] for key, lines in bridges(book(rows)).items()} == {
        "asked": 3,
        "measured": 2,
    }


def test_only_idle_of_clusters_is_bridged() -> None:
    assert bridges(book([workload("ads", "1"), outside("2", "tax")])) == {}


def test_the_billed_view_is_bridged_too_and_its_rebasing_is_no_finding() -> None:
    rows = [
        workload("ads", "4", provider_idle_cost=Decimal(6), billed_cost=Decimal(8)),
        idle("6", billed_cost=Decimal(12)),
    ]
    con = book(rows, cost_view="billed")
    [bridge] = bridges(con).values()
    assert [bridge[name] for name in ("provider_idle", "rebased", "idle")] == [6, 6, 12]
    assert con.sql("FROM findings WHERE rule = 'bridge_closes'").fetchall() == []


@pytest.mark.parametrize("view", ["effective", "billed"])
@settings(max_examples=15, deadline=None)
@given(rows=months)
def test_every_bridge_adds_up_and_all_idle_is_in_one(view: str, rows: list[Row]) -> None:
    con = book(rows, cost_view=view)
    for lines in bridges(con).values():
        assert tuple(sorted(lines, key=LINES.index)) == LINES
        assert sum(lines.values()) == 2 * lines["idle"]
    bridged = con.sql("SELECT sum(amount) FROM reconciliation WHERE name = 'idle'").fetchall()
    costs = [row["effective_cost"] for row in rows if row["row_kind"] == "idle"]
    assert bridged == [(sum(costs, Decimal(0)) if bridges(con) else None,)]


# ---------------------------------------------------------------------- charged by request

BY_REQUEST = {"charge_basis": "request"}
EMPTY = {"reason": "empty_node", "provider_class": None}
HOURS = Decimal(96)
"""Four cores for a day, at 9.60 for the node: 0.10 per core-hour."""


def pod(requested: str, charged: str, cost: str, provider_idle: str, **columns: Any) -> Row:
    """Return a pod's row; quantities are core-hours."""
    quantities = {"requested_quantity": Decimal(requested), "charged_quantity": Decimal(charged)}
    return workload("ads", cost, provider_idle_cost=Decimal(provider_idle), **quantities | columns)


def moved(con: duckdb.DuckDBPyConnection) -> dict[str, Decimal]:
    """Return the lines of the only bridge that are not 0, and see that they close."""
    [lines] = bridges(con).values()
    assert con.sql("FROM findings WHERE rule = 'bridge_closes'").fetchall() == []
    return {name: amount for name, amount in lines.items() if amount}


USED_MORE = [
    pod("24", "36", "2.4", "0.514285714286"),
    pod("48", "48", "4.8", "0.685714285714"),
]
"""72 core-hours asked, 84 charged by the provider; it splits 8.40 and leaves 1.20 idle."""


def test_use_above_request_is_idle_once_requests_are_charged() -> None:
    con = book([*USED_MORE, idle("2.4", capacity_quantity=HOURS)], **BY_REQUEST)
    assert moved(con) == {
        "provider_idle": Decimal("1.2"),
        "usage_above_request": Decimal("1.2"),
        "idle": Decimal("2.4"),
    }


def test_more_asked_than_there_is_makes_idle_negative_and_says_over_allocation() -> None:
    """120 core-hours charged and 108 asked of 96: the provider splits all 9.60."""
    pods = [pod("48", "60", "4.8", "0"), pod("60", "60", "6", "0")]
    con = book([*pods, idle("-1.2", capacity_quantity=HOURS)], **BY_REQUEST)
    assert moved(con) == {
        "usage_above_request": Decimal("1.2"),
        "over_allocation": Decimal("-2.4"),
        "idle": Decimal("-1.2"),
    }


def test_prices_are_those_of_the_day() -> None:
    """On the second day the node costs double, and nobody uses more than was asked."""
    day = {"charge_period_start": DAY + timedelta(days=1)}
    second = [
        pod("72", "72", "14.4", "4.8", **day),
        idle("4.8", capacity_quantity=HOURS, **day),
    ]
    con = book([*USED_MORE, idle("2.4", capacity_quantity=HOURS), *second], **BY_REQUEST)
    assert moved(con) == {
        "provider_idle": Decimal(6),
        "usage_above_request": Decimal("1.2"),
        "idle": Decimal("7.2"),
    }


def test_nothing_moves_where_the_provider_is_followed_or_capacity_is_unknown() -> None:
    followed = [
        pod("24", "36", "3.6", "0.514285714286"),
        pod("48", "48", "4.8", "0.685714285714"),
    ]
    for con in (
        book([*followed, idle("1.2", capacity_quantity=HOURS)]),
        book([*followed, idle("1.2")], **BY_REQUEST),
    ):
        assert moved(con) == {"provider_idle": Decimal("1.2"), "idle": Decimal("1.2")}


def test_a_node_that_is_not_known_as_a_whole_is_charged_as_the_provider_split_it() -> None:
    followed = [
        pod("24", "36", "3.6", "0.514285714286"),
        pod("48", "48", "4.8", "0.685714285714"),
        idle("1.2", capacity_quantity=HOURS),
    ]
    unasked = pod("0", "0", "0", "0", requested_quantity=None)
    below = pod("-1", "0", "0", "0")
    unsized = pod("1", "1", "0", "0", resource_kind="memory")
    for other in (unasked, below, unsized):
        con = book([*followed, other], **BY_REQUEST)
        assert con.sql("FROM findings WHERE rule = 'bridge_closes'").fetchall() == []
        (lines,) = (lines for key, lines in bridges(con).items() if "cpu" in key)
        assert {name: amount for name, amount in lines.items() if amount} == {
            "provider_idle": Decimal("1.2"),
            "idle": Decimal("1.2"),
        }


def test_a_provider_that_charges_requests_itself_has_no_such_step() -> None:
    asked = {"requested_quantity": Decimal(24), "charged_quantity": Decimal(24)}
    own = {"provider_class": "#idle#", "capacity_quantity": HOURS, "split_source": "asked"}
    con = book(
        [workload("ads", "2.4", **asked), idle("7.2", provider_idle_cost=Decimal("7.2"), **own)],
        **BY_REQUEST,
    )
    assert moved(con) == {"provider_idle": Decimal("7.2"), "idle": Decimal("7.2")}


def test_empty_nodes_are_whole_in_the_bridge_also_where_nothing_of_them_is_left() -> None:
    rows = [
        workload("ads", "4", provider_idle_cost=Decimal(6)),
        charge("10", row_kind="headroom", reason="policy"),
        idle("0"),
        idle("0", **EMPTY),
    ]
    assert moved(book(rows)) == {
        "provider_idle": Decimal(6),
        "policy_headroom": Decimal(-10),
        "empty_nodes": Decimal(4),
    }


def test_an_empty_node_of_which_nothing_is_left_had_what_its_capacity_cost() -> None:
    """Half of the day nobody was there; in the other half all was asked for that is not kept."""
    rows = [
        pod("36", "36", "3.6", "1.2"),
        charge("6", row_kind="headroom", reason="policy"),
        idle("0", capacity_quantity=HOURS / 2),
        idle("0", capacity_quantity=HOURS / 2, **EMPTY),
    ]
    assert moved(book(rows, **BY_REQUEST)) == {
        "provider_idle": Decimal("1.2"),
        "policy_headroom": Decimal(-6),
        "empty_nodes": Decimal("4.8"),
    }


def test_the_invoice_view_names_the_same_steps_and_rebases_the_rest() -> None:
    invoiced = [row | {"billed_cost": 2 * row["effective_cost"]} for row in USED_MORE]
    idle_row = idle("2.4", billed_cost=Decimal("4.8"), capacity_quantity=HOURS)
    con = book([*invoiced, idle_row], cost_view="billed", **BY_REQUEST)
    assert moved(con) == {
        "provider_idle": Decimal("1.2"),
        "usage_above_request": Decimal("1.2"),
        "rebased": Decimal("2.4"),
        "idle": Decimal("4.8"),
    }


def test_what_no_step_explains_is_an_error_on_both_bases() -> None:
    """On basis request a part of it is in the price: three quarters of the node are asked for."""
    followed = [pod("24", "36", "3.6", "0.6"), pod("48", "48", "4.8", "0.6")]
    for basis, pods, left, rebased in (
        ("provider", followed, "1.200001000000", "0.000001000000"),
        ("request", USED_MORE, "2.400001000000", "0.000000750000"),
    ):
        con = book([*pods, idle(left, capacity_quantity=HOURS)], charge_basis=basis)
        [(actual,)] = con.sql(
            "SELECT actual FROM findings WHERE rule = 'bridge_closes' AND severity = 'error'"
        ).fetchall()
        assert actual == f"{left}, of which rebased {rebased}"


def test_idle_that_the_provider_shows_and_we_lost_is_an_error() -> None:
    con = book([workload("ads", "4", provider_idle_cost=Decimal(6))])
    found = con.sql("SELECT expected, actual FROM findings WHERE rule = 'bridge_closes'")
    assert found.fetchall() == [
        ("0.000000000000", "0.000000000000, of which rebased -6.000000000000")
    ]


@dataclass(frozen=True)
class Node:
    """A node on a day, in exact fractions; requests and charges are quantities of its pods."""

    basis: str
    capacity: Fraction
    cost: Fraction
    empty_hours: int
    requested: list[Fraction]
    charged: list[Fraction]
    kept_percent: int

    @property
    def price(self) -> Fraction:
        """What a unit of the node costs."""
        return self.cost / self.capacity

    @property
    def empty(self) -> Fraction:
        """What the node cost while it was empty."""
        return quantum(self.cost * self.empty_hours / 24)

    @property
    def splits(self) -> list[Fraction]:
        """What the provider charges each pod: at the price, or all there is where it is short."""
        there = (self.cost - self.empty) / (sum(self.charged) or 1)
        return [quantum(part * min(self.price, there)) for part in self.charged]

    @property
    def unused(self) -> list[Fraction]:
        """What the provider puts on the pods as idle."""
        return shares(self.cost - self.empty - sum(self.splits), self.charged)

    @property
    def pods(self) -> list[Fraction]:
        """What each pod is charged here."""
        by_request = [quantum(part * self.price) for part in self.requested]
        return by_request if self.basis == "request" else self.splits

    @property
    def idle(self) -> list[Fraction]:
        """Idle beside pods and of the empty node, before anything is kept of it."""
        return [self.cost - self.empty - sum(self.pods), self.empty]

    @property
    def kept(self) -> list[Fraction]:
        """What is kept of either: a part of what is above 0, never more than there is."""
        there = max(sum(self.idle, Fraction(0)), Fraction(0))
        above = [max(amount, Fraction(0)) for amount in self.idle]
        return shares(quantum(there * self.kept_percent / 100), above)

    def rows(self) -> list[Row]:
        """Return the rows of the node."""
        pods = zip(self.requested, self.charged, self.pods, self.unused, strict=True)
        left = [idle - kept for idle, kept in zip(self.idle, self.kept, strict=True)]
        reserve = {"row_kind": "system_overhead", "reason": "node_reserve"}
        hours = [Fraction(24 - self.empty_hours), Fraction(self.empty_hours)]
        sizes = [Decimal(exact(size)) for size in shares(self.capacity, hours)]
        return [
            *(pod(*map(exact, one)) for one in pods),
            idle(exact(left[0]), capacity_quantity=sizes[0]),
            idle(exact(left[1]), capacity_quantity=sizes[1], **EMPTY),
            *(charge(exact(kept), **reserve) for kept in self.kept),
        ]

    def lines(self) -> dict[str, Fraction]:
        """Return the lines of the bridge."""
        nothing = Fraction(0)
        unused, kept = sum(self.unused, nothing), sum(self.kept, nothing)
        lines = {"provider_idle": unused, "node_reserve": -kept, "empty_nodes": self.empty}
        lines["idle"] = sum(self.idle, nothing) - kept
        if self.basis == "request":
            charged, requested = sum(self.charged, nothing), sum(self.requested, nothing)
            lines["usage_above_request"] = (charged - requested) * self.price
            lines["over_allocation"] = sum(self.splits) - charged * self.price
        return {name: lines.get(name, nothing) for name in LINES}


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    """Return a node: of any size, half empty, short of capacity, with something kept of it."""
    capacity = quantum(Fraction(draw(st.integers(1, 10**6)), draw(st.sampled_from([1, 7, 1000]))))
    cost = draw(st.integers(1, 10**15)) * Fraction(QUANTUM)
    asked = draw(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), min_size=1))
    return Node(
        basis=draw(st.sampled_from(["provider", "request"])),
        capacity=capacity,
        cost=cost,
        empty_hours=draw(st.integers(0, 24)),
        requested=[quantum(capacity * request / 300) for request, _ in asked],
        charged=[quantum(capacity * max(both) / 300) for both in asked],
        kept_percent=draw(st.integers(0, 100)),
    )


def quantum(amount: Fraction) -> Fraction:
    """Round to a quantum, half-even."""
    return Fraction(QUANTUM) * round(amount / Fraction(QUANTUM))


def shares(amount: Fraction, weights: list[Fraction]) -> list[Fraction]:
    """Divide an amount without a rest."""
    whole = sum(weights, Fraction(0))
    if not whole:
        return [amount, *(Fraction(0) for _ in weights[1:])]
    ends = [Fraction(0)]
    for weight in weights:
        ends.append(ends[-1] + weight)
    return [quantum(amount * b / whole) - quantum(amount * a / whole) for a, b in pairwise(ends)]


def exact(amount: Fraction) -> str:
    """Write out whole quanta."""
    return str(Decimal(int(amount / Fraction(QUANTUM))).scaleb(-12))


@settings(max_examples=20, deadline=None)
@given(node=nodes())
def test_every_step_of_a_node_is_what_fractions_say(node: Node) -> None:
    con = book(node.rows(), charge_basis=node.basis)
    [lines] = bridges(con).values()
    room = (len(node.charged) + 1000) * Fraction(QUANTUM)
    for name, amount in node.lines().items():
        assert abs(Fraction(lines[name]) - amount) <= room, name
    assert con.sql("FROM findings WHERE rule = 'bridge_closes'").fetchall() == []


@pytest.mark.parametrize("whole", [-7, -6, -5, -4, -1, 0, 1, 2, 3, 5, 6, 7, 10**37])
@pytest.mark.parametrize("unit", [1, 2, 3, 4])
def test_a_product_is_rounded_half_even(whole: int, unit: int) -> None:
    con = duckdb.connect()
    ledger.define_macros(con)
    query = "SELECT half_even($whole::HUGEINT, $unit::HUGEINT)"
    assert con.execute(query, {"whole": whole, "unit": unit}).fetchone() == (
        round(Fraction(whole, unit)),
    )
