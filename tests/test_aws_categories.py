"""Idle of a day that was bought in several ways has a pricing category in every row."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from tests.aws_rows import node, pod, raw, sliced
from transforms.sliced import Sliced

Row = dict[str, Any]
COMMITTED: Row = {
    "line_item_line_item_type": "SavingsPlanCoveredUsage",
    "savings_plan_savings_plan_effective_cost": 0.065,
}


def busy(hour: int, factor: float = 1.0) -> list[Row]:
    amounts = (("cpu", 0.0225, 0.0675), ("memory", 0.01, 0.03))
    return [pod(hour, kind, split * factor, rest * factor) for kind, split, rest in amounts]


def idle(result: Sliced) -> list[tuple[Any, ...]]:
    columns = ("pricing_category", "effective_cost", "billed_cost", "capacity_quantity")
    rows = result.slices.filter(row_kind="idle", resource_kind="cpu").select(columns)
    return [
        (category, *(None if it is None else f"{it.normalize():f}" for it in amounts))
        for category, *amounts in sorted(rows.iter_rows(), key=str)
    ]


def two_ways(**context: Any) -> Sliced:
    """An hour on demand for 0.13, and one that a plan covers for half of that."""
    rows = [node(0), {**node(1, cost=0.13), **COMMITTED}, *busy(0), *busy(1, 0.5)]
    return sliced(raw(*rows), **context)


def test_idle_is_divided_as_the_parents_cost() -> None:
    # 0.10125 of CPU idle, two thirds on demand; on the invoice 0.13 x 0.10125 / 0.195.
    assert idle(two_ways()) == [
        ("Committed", "0.03375", "0.0225", "1.333333333333"),
        ("Standard", "0.0675", "0.045", "2.666666666667"),
    ]


def test_also_charged_by_request() -> None:
    # Pods request 1 of 2 vCPU in both hours, at 0.135 for 4 vCPU-hours.
    assert idle(two_ways(charge_basis="request")) == [
        ("Committed", "0.0225", "0.015", "1.333333333333"),
        ("Standard", "0.045", "0.03", "2.666666666667"),
    ]


def test_every_piece_adds_up() -> None:
    whole = sliced(raw(node(0), node(1, cost=0.065), *busy(0), *busy(1, 0.5))).slices
    pieces = two_ways().slices
    for name in ("effective_cost", "capacity_quantity"):
        sums = [
            frame.filter(row_kind="idle").group_by("resource_kind").agg(pl.col(name).sum())
            for frame in (whole, pieces)
        ]
        assert sums[0].sort("resource_kind").equals(sums[1].sort("resource_kind"))


def test_empty_hours_are_divided_too() -> None:
    spot = node(1, cost=0.039, usage_type="SpotUsage:demo.large", pricing_term=None)
    result = sliced(raw(node(0), spot, *busy(0)))
    assert [(row[0], row[1]) for row in idle(result)] == [
        ("Dynamic", "0.006230769231"),
        ("Dynamic", "0.015576923077"),
        ("Standard", "0.020769230769"),
        ("Standard", "0.051923076923"),
    ]


def test_a_day_bought_alike_is_one_row() -> None:
    assert [row[0] for row in idle(sliced(raw(node(0), node(1), *busy(0), *busy(1))))] == [
        "Standard"
    ]


def test_what_cost_nothing_has_no_idle() -> None:
    free = node(1, cost=0.0, line_item_type="DiscountedUsage", reservation_effective_cost=0.0)
    assert [row[0] for row in idle(sliced(raw(node(0), free, *busy(0), *busy(1, 0))))] == [
        "Standard"
    ]


def test_a_day_that_cost_nothing_says_nothing() -> None:
    free = [
        node(0, cost=0.0),
        node(1, cost=0.0, line_item_type="DiscountedUsage", reservation_effective_cost=0.0),
    ]
    assert [row[:2] for row in idle(sliced(raw(*free, *busy(0, 0), *busy(1, 0))))] == [(None, "0")]


@pytest.mark.parametrize("term", [None, "Novelty"])
def test_what_the_parents_do_not_say_stays_unknown(term: str | None) -> None:
    rows = [node(0), node(1, pricing_term=term), *busy(0), *busy(1)]
    assert [row[:2] for row in idle(sliced(raw(*rows)))] == [
        ("Standard", "0.0675"),
        (None, "0.0675"),
    ]


def test_workloads_are_not_divided() -> None:
    workloads = two_ways().slices.filter(row_kind="workload")
    assert workloads.sort("resource_kind").select("pricing_category", "effective_cost").rows() == [
        (None, Decimal("0.03375")),
        (None, Decimal("0.015")),
    ]
