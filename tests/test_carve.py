"""What leaves an idle row arrives on another, in every view, to the quantum."""

import datetime as dt
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from transforms.carve import Target, carve
from transforms.schema import MONEY, polars_schema

VIEWS = ("effective_cost", "billed_cost", "list_cost", "contracted_cost")
TARGET = Target("headroom", "policy", "effective_cost")
QUANTUM = Decimal("1e-12")


def idle(*rows: dict[str, Any]) -> pl.DataFrame:
    """Idle rows of one unit each; what a row says is only what the test is about."""
    base = {"row_kind": "idle", "reason": "unrequested", "resource_kind": "cpu", "unit": 0}
    base |= {"charge_period_start": dt.date(2026, 10, 5), "resource_id": "i-1", "node_name": "n1"}
    schema = {**polars_schema("normalised"), "unit": pl.UInt32()}
    return pl.DataFrame([base | row for row in rows], schema=schema)


def wanted(*amounts: Any) -> pl.DataFrame:
    return pl.DataFrame(
        {"unit": list(range(len(amounts))), "wanted": [Decimal(str(a)) for a in amounts]},
        schema={"unit": pl.UInt32(), "wanted": MONEY},
    )


def total(rows: pl.DataFrame, view: str) -> Decimal:
    return sum(rows[view].drop_nulls(), start=Decimal(0))


def taken(before: pl.DataFrame, *amounts: Any) -> tuple[pl.DataFrame, pl.DataFrame, list[Decimal]]:
    """Carve, and hold the identity in each view."""
    left, made, units = carve(before, wanted(*amounts), TARGET)
    assert left.columns == made.columns == before.drop("unit").columns
    for view in VIEWS:
        assert total(before, view) == total(left, view) + total(made, view)
    return left, made, units.sort("unit")["taken"].to_list()


def test_rows_give_in_proportion_and_the_invoice_follows() -> None:
    rows = idle(
        {"effective_cost": 3, "billed_cost": 6, "list_cost": 9, "reason": "empty_node"},
        {"effective_cost": 1, "billed_cost": -5},
    )
    left, made, amounts = taken(rows, 2)
    assert amounts == [2]
    assert left["effective_cost"].to_list() == [Decimal("1.5"), Decimal("0.5")]
    assert left["billed_cost"].to_list() == [3, Decimal("-2.5")]
    assert left["list_cost"].to_list() == [Decimal("4.5"), None]
    assert made["effective_cost"].to_list() == [Decimal("1.5"), Decimal("0.5")]
    assert made["billed_cost"].to_list() == [3, Decimal("-2.5")]
    assert made["row_kind"].to_list() == ["headroom"] * 2
    assert made["reason"].to_list() == ["policy"] * 2


def test_no_more_is_taken_than_the_rows_come_to() -> None:
    rows = idle({"effective_cost": 5}, {"effective_cost": -2, "reason": "empty_node"})
    left, made, amounts = taken(rows, 10)
    assert amounts == [3]
    assert left["effective_cost"].to_list() == [2, -2]
    assert made["effective_cost"].to_list() == [3]


@pytest.mark.parametrize(
    ("costs", "asked"), [((-1, -2), 5), ((1, -1), 5), ((0, 0), 1), ((1, 2), 0), ((1, 2), -3)]
)
def test_nothing_is_taken_where_nothing_is_left_or_asked(costs: Any, asked: int) -> None:
    rows = idle(*({"effective_cost": cost} for cost in costs))
    left, made, amounts = taken(rows, asked)
    assert amounts == [0]
    assert made.is_empty()
    assert left["effective_cost"].to_list() == list(costs)


def test_a_unit_without_rows_gives_nothing_and_others_are_left_alone() -> None:
    rows = idle({"effective_cost": 5, "unit": None}, {"effective_cost": 7})
    left, made, amounts = taken(rows, 2, 4)
    assert amounts == [2, 0]
    assert left["effective_cost"].to_list() == [5, 5]
    assert made.height == 1


def test_one_quantum_is_not_lost_among_three() -> None:
    rows = idle(*({"effective_cost": 1, "billed_cost": 1, "sku_id": sku} for sku in "abc"))
    _, made, amounts = taken(rows, 1)
    assert amounts == [1]
    third = Decimal("0.333333333333")
    assert sorted(made["effective_cost"]) == [third, third, third + QUANTUM]
    again = taken(rows[[2, 1, 0]], 1)[1]
    assert again.sort("sku_id").equals(made.sort("sku_id"))


def test_all_of_a_row_leaves_a_row_of_nothing() -> None:
    tenth, third = Decimal("0.1"), Decimal("0.3")
    rows = idle({"effective_cost": tenth, "billed_cost": third, "capacity_quantity": 96})
    left, made, _ = taken(rows, tenth)
    assert left.select("effective_cost", "billed_cost", "capacity_quantity").row(0) == (0, 0, 96)
    assert made["billed_cost"].to_list() == [third]


def test_what_the_provider_said_and_quantities_stay_with_idle() -> None:
    said = {"provider_class": "unused_cost", "provider_idle_cost": 4, "cause": "empty_node"}
    said |= {"capacity_quantity": 96, "allocatable_quantity": 90, "quantity_unit": "Core-Hours"}
    said |= {"pricing_quantity": 24, "pricing_unit": "Hrs", "split_source": "scad"}
    left, made, _ = taken(idle({"effective_cost": 4} | said), 1)
    assert left.row(0, named=True) | said == left.row(0, named=True)
    kept = {name for name in said if made.item(0, name) is not None}
    assert kept == {"split_source"}
    assert made.item(0, "node_name") == "n1"


def test_an_amount_no_integer_can_hold_is_refused() -> None:
    rows = idle({"effective_cost": 10**13}, {"effective_cost": 10**13})
    with pytest.raises(Exception, match="too large"):
        carve(rows, wanted(10**13), TARGET)
