"""Bridges from the provider's idle to ours."""

from decimal import Decimal
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings

from pipelines import queries
from tests.ledger_cases import SHOP, Row, book, charge, idle, outside, workload
from tests.strategies import months

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
    idle("9.25"),
    idle("8", reason="empty_node", provider_class=None),
    charge("5", row_kind="unattributed", reason="split_gap", resource_kind="compute"),
]
"""Pods left 10 idle; 0.5 is reserved, 0.25 held free, and the node stood empty for 8."""


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
