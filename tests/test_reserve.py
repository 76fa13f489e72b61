"""What nodes reserve leaves idle where it is known, and never without a word where it is not."""

import datetime as dt
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from tests.node_rows import DAY, allocatable, amounts, applied, charge, hours, idle, workload
from transforms.normalise import Normalised


def money(*texts: str) -> tuple[Decimal, ...]:
    return tuple(Decimal(text) for text in texts)


def findings(found: Normalised) -> list[tuple[Any, ...]]:
    columns = ("rule", "severity", "cluster_id", "where", "difference")
    rows = found.findings.select(columns).rows()
    return [(rule, severity, *rest[1:]) for rule, severity, *rest in rows]


NODE = [workload(6), idle(4, 96)]
"""A node of 4 vCPU for a day: 10 USD, so a vCPU-hour is 10/96."""


def test_the_reserve_leaves_idle_at_the_price_of_the_node() -> None:
    found = applied(NODE, known=[allocatable("3.6")])
    assert amounts(found, "effective_cost", "allocatable_quantity", "capacity_quantity") == [
        ("idle", "unrequested", *money("3"), Decimal("86.4"), 96),
        ("system_overhead", "node_reserve", *money("1"), None, None),
    ]
    assert findings(found) == []


def test_the_worked_example() -> None:
    """4 vCPU and 16 GiB for 0.23 an hour; 3.92 CPU and 14.3 GiB can be allocated."""
    cpu, memory = Decimal("3.821538461538"), Decimal("1.698461538462")
    rows = [
        idle(cpu, 96),
        idle(memory, 384, kind="memory"),
    ]
    known = [allocatable("3.92"), allocatable("14.3", kind="memory", capacity="15.5")]
    found = applied(rows, known=known)
    reserve = {
        kind: cost
        for name, _, kind, cost in amounts(found, "resource_kind", "effective_cost")
        if name == "system_overhead"
    }
    # cpu / 50 and memory x 1.7 / 16, half-even
    assert reserve == {"cpu": Decimal("0.076430769231"), "memory": Decimal("0.180461538462")}


def test_billed_cost_follows_each_idle_row() -> None:
    rows = [workload(6), idle(3, 72, billed_cost=6), idle(1, 24, reason="empty_node")]
    found = applied(rows, known=[allocatable("2")])
    assert amounts(found, "effective_cost", "billed_cost", "allocatable_quantity") == [
        ("idle", "empty_node", 0, 0, 12),
        ("idle", "unrequested", 0, 0, 36),
        ("system_overhead", "node_reserve", 1, 1, None),
        ("system_overhead", "node_reserve", 3, 6, None),
    ]
    assert findings(found) == [
        ("reserve_short", "warning", "cpu, nodes: 1, days: 1", "1.000000000000")
    ]


def test_more_is_reserved_than_stands_idle() -> None:
    found = applied([workload("9.9"), idle("0.1", 96)], known=[allocatable(3)])
    assert amounts(found, "effective_cost", "allocatable_quantity") == [
        ("idle", "unrequested", *money("0"), 72),
        ("system_overhead", "node_reserve", *money("0.1"), None),
    ]
    assert findings(found) == [
        ("reserve_short", "warning", "cpu, nodes: 1, days: 1", "2.400000000000")
    ]
    (row,) = found.findings.to_dicts()
    assert row["expected"] == "2.500000000000 USD of node reserve"
    assert row["actual"].startswith("0.100000000000:")


def test_negative_idle_stays_and_nothing_is_taken() -> None:
    found = applied([workload(12), idle(-2, 96)], known=[allocatable(3)])
    assert amounts(found, "effective_cost") == [("idle", "unrequested", -2)]
    assert [row[0] for row in findings(found)] == ["reserve_short"]


@pytest.mark.parametrize(
    ("known", "billed"),
    [
        ([], hours("1")),
        ([allocatable(3, node="2")], hours("1", "2")),
        ([allocatable(3, kind="memory")], hours("1")),
        ([allocatable(3, day=DAY + dt.timedelta(1))], hours("1")),
        ([allocatable(3)], hours("2")),
        ([allocatable(3)], hours("1", each=0)),
    ],
)
def test_what_is_not_known_is_not_moved(known: Any, billed: pl.DataFrame) -> None:
    found = applied(NODE, known=known, billed=billed)
    assert amounts(found, "effective_cost", "allocatable_quantity") == [
        ("idle", "unrequested", 4, None)
    ]
    assert findings(found) == []


@pytest.mark.parametrize("capacity", [None, 0])
def test_without_capacity_there_is_no_price(capacity: Any) -> None:
    found = applied([workload(6), idle(4, capacity)], known=[allocatable(3)])
    assert amounts(found, "effective_cost", "allocatable_quantity") == [
        ("idle", "unrequested", 4, None)
    ]


@pytest.mark.parametrize(
    "known",
    [
        allocatable("4.1"),
        allocatable("3.9", capacity=5),
        allocatable("3.9", capacity="3.8"),
        allocatable("4.00001"),
        allocatable("1.9", capacity="1.99"),
        allocatable(0, capacity=0),
    ],
)
def test_an_inventory_above_or_below_half_of_the_bill_moves_nothing(known: Any) -> None:
    memory = idle(2, 384, kind="memory")
    found = applied([*NODE, memory], known=[known, allocatable(8, kind="memory")])
    assert amounts(found, "resource_kind", "effective_cost", "allocatable_quantity") == [
        ("idle", "unrequested", "cpu", 4, None),
        ("idle", "unrequested", "memory", 1, 192),
        ("system_overhead", "node_reserve", "memory", 1, None),
    ]
    assert findings(found) == [
        ("inventory_contradicts_bill", "error", "nodes.json, cpu of node-1", None)
    ]


@pytest.mark.parametrize(
    ("known", "told", "moved"),
    [
        ({"amount": "2", "capacity": "2"}, True, None),
        ({"amount": "1.999999", "capacity": "1.999999"}, True, None),
        ({"amount": "2.8", "capacity": "2.99"}, True, None),
        ({"amount": "2.8", "capacity": "3"}, False, None),
        ({"amount": "1.9", "capacity": "2"}, True, "5.250000000000"),
        ({"amount": "1.99"}, False, "5.025000000000"),
        ({"amount": "0"}, False, "10.000000000000"),
        ({"amount": "0", "capacity": "4"}, False, "10.000000000000"),
        ({"amount": "2"}, False, None),
    ],
)
def test_an_inventory_far_below_the_bill_and_a_large_reserve_are_told(
    known: Any, told: bool, moved: str | None
) -> None:
    found = applied([idle(10, 96)], known=[allocatable(**known)])
    far = ("inventory_far_below_bill", "warning", "nodes.json, cpu of node-1", None)
    large = ("reserve_large", "warning", "cpu, nodes: 1, days: 1", moved)
    assert findings(found) == [far] * told + [large] * (moved is not None)


def test_a_large_reserve_has_figures_of_a_node_and_hour() -> None:
    left = {"1": ".1", "2": ".2", "3": ".4"}
    rows = [idle(4, 12, node=name, kind="memory") for name in left]
    known = [allocatable(amount, name, "memory") for name, amount in left.items()]
    found = applied(rows, known=known)
    (row,) = found.findings.to_dicts()
    assert (row["where"], row["actual"], row["difference"]) == (
        "memory, nodes: 2, days: 1",
        "0.35 of 0.5 GiB of a node",
        "5.600000000000",
    )
    assert row["hint"].startswith("5.600000000000 USD of idle became node reserve")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (allocatable(4, "1", "cpu", 5), "allocatable 4, capacity 5 for i-1 on 2026-10-05"),
        (
            allocatable("4.500001", "1", "cpu"),
            "allocatable 4.500001, capacity unknown for i-1 on 2026-10-05",
        ),
    ],
)
def test_a_contradiction_names_the_resource_and_has_the_figures_of_the_file(
    known: Any, said: str
) -> None:
    (row,) = applied(NODE, known=[known]).findings.to_dicts()
    assert row["actual"] == said
    assert row["expected"] == (
        "a capacity of 2 to 4 CPUs, as billed, and no more of it allocatable"
    )
    assert row["hint"].startswith("no cpu was moved for these nodes:")


def test_what_is_above_the_bill_by_doubles_is_no_contradiction() -> None:
    found = applied(NODE, known=[allocatable("4.000000000004")])
    assert amounts(found, "effective_cost") == [("idle", "unrequested", 4)]
    assert findings(found) == []


def test_many_contradictions_are_one_finding() -> None:
    names = [f"{number:02}" for number in range(12)]
    rows = [idle(4, 96, node=name) for name in names]
    known = [allocatable(8, node=name) for name in names]
    found = applied(rows, known=known, billed=hours(*names))
    assert [row[2] for row in findings(found)] == [
        "nodes.json, cpu of node-00, node-01, node-02, node-03, node-04 and 7 more"
    ]


def test_clusters_whose_provider_sets_the_reserve_apart_are_left_alone() -> None:
    own = charge(
        1, "system_overhead", kind="memory", reason="node_reserve", provider_class="system"
    )
    other = {"cluster_id": "another", "resource_id": "i-2", "node_name": "node-2"}
    found = applied(
        [*NODE, own, idle(4, 96, **other)],
        known=[allocatable(3), allocatable(3, node="2")],
    )
    assert amounts(found, "resource_id", "resource_kind", "effective_cost") == [
        ("idle", "unrequested", "i-1", "cpu", 4),
        ("idle", "unrequested", "i-2", "cpu", 3),
        ("system_overhead", "node_reserve", "i-1", "memory", 1),
        ("system_overhead", "node_reserve", "i-2", "cpu", 1),
    ]


def test_a_source_without_effective_view_counts_what_is_billed() -> None:
    rows = [{**row, "effective_cost": None} for row in NODE]
    found = applied(rows, known=[allocatable("3.6")])
    assert amounts(found, "billed_cost", "effective_cost") == [
        ("idle", "unrequested", 3, None),
        ("system_overhead", "node_reserve", 1, None),
    ]


def test_currencies_are_never_added() -> None:
    rows = [workload(6), idle(4, 96), idle(8, 96, billing_currency="EUR")]
    found = applied(rows, known=[allocatable(3)])
    assert amounts(found, "billing_currency", "effective_cost") == [
        ("idle", "unrequested", "EUR", 6),
        ("idle", "unrequested", "USD", money("1.5")[0]),
        ("system_overhead", "node_reserve", "EUR", 2),
        ("system_overhead", "node_reserve", "USD", money("2.5")[0]),
    ]


def test_rows_of_no_known_node_are_left_alone() -> None:
    rows = [*NODE, idle(5, 96, node_name=None)]
    found = applied(rows, known=[allocatable(3)])
    assert amounts(found, "node_name", "effective_cost", "allocatable_quantity") == [
        ("idle", "unrequested", "node-1", money("1.5")[0], 72),
        ("idle", "unrequested", None, 5, None),
        ("system_overhead", "node_reserve", "node-1", money("2.5")[0], None),
    ]
