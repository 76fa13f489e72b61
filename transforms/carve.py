"""A part of idle becomes rows of another kind; whatever leaves one row arrives on another.

Identity, for each view and each unit: idle before = idle after + rows that were made. What is
taken is divided among the unit's idle rows above 0 in proportion, so what is left of them keeps
its proportions; the other views of a row follow the one that counts.
"""

from typing import NamedTuple

import polars as pl

from transforms.money import apportion, scaled, zero
from transforms.schema import COLUMNS

_VIEWS = ("effective_cost", "billed_cost", "list_cost", "contracted_cost")
_NOT_MOVED = (
    *("cause", "provider_class", "provider_idle_cost", "workload_idle"),
    *("pricing_quantity", "pricing_unit", "quantity_unit", "requested_quantity", "used_quantity"),
    *("charged_quantity", "capacity_quantity", "allocatable_quantity"),
)
"""What stays with the idle row alone: quantities, and what the provider said of it."""


class Carved(NamedTuple):
    """Idle rows with less cost, the rows their cost moved to, and what a person must know."""

    idle: pl.DataFrame
    moved: pl.DataFrame
    findings: list[dict[str, str | None]]


class Target(NamedTuple):
    """What the new rows are, and which cost column counts."""

    row_kind: str
    reason: str
    view: str


def carve(idle: pl.DataFrame, wanted: pl.DataFrame, target: Target) -> tuple[pl.DataFrame, ...]:
    """Take amounts out of idle: never more than a unit's idle rows come to.

    idle: rows of `normalised` and `unit`, NULL where nothing is asked; wanted: `unit`, `wanted`.
    Returns idle with what is left, the new rows, and `unit`, `taken` of every unit asked for.
    """
    view = target.view
    numbered = idle.with_row_index("row")
    asked = numbered.join(wanted, on="unit", maintain_order="left")
    there = pl.max_horizontal(pl.col(view).sum(), zero())
    units = wanted.join(asked.group_by("unit").agg(there=there), on="unit", how="left").select(
        "unit",
        taken=pl.max_horizontal(
            pl.min_horizontal("wanted", pl.col("there").fill_null(zero())), zero()
        ),
    )
    payers = asked.filter(pl.col(view) > zero()).join(
        units.filter(pl.col("taken") > zero()), on="unit", maintain_order="left"
    )
    order = [name for name in idle.columns if name in COLUMNS and name != "labels"]
    parts = apportion(payers, by=["unit"], total="taken", weight=view, order=order)
    moving = _in_all_views(payers.with_columns(part=parts), view)
    left = numbered.join(moving.select("row", *_parts()), on="row", how="left").with_columns(
        pl.col(name) - pl.col(f"part:{name}").fill_null(zero()) for name in _VIEWS
    )
    return left.select(idle.columns).drop("unit"), _made(moving, idle, target), units


def _in_all_views(payers: pl.DataFrame, view: str) -> pl.DataFrame:
    """Add `part:<view>`: what each row gives, in each view in the ratio of the one that counts."""
    others = [name for name in _VIEWS if name != view]
    shares = {f"part:{name}": scaled(payers, name, by="part", of=view) for name in others}
    return payers.with_columns(**shares, **{f"part:{view}": "part"})


def _parts() -> list[str]:
    return [f"part:{name}" for name in _VIEWS]


def _made(moving: pl.DataFrame, idle: pl.DataFrame, target: Target) -> pl.DataFrame:
    """Return the new rows: a copy of the idle row with the part that was taken."""
    made = moving.filter(pl.col("part") != zero()).with_columns(
        *(pl.lit(None, dtype=moving.schema[name]).alias(name) for name in _NOT_MOVED),
        **{name: pl.col(f"part:{name}") for name in _VIEWS},
        row_kind=pl.lit(target.row_kind),
        reason=pl.lit(target.reason),
    )
    return made.select(idle.columns).drop("unit")
