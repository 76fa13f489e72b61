"""What nodes reserve for kubelet, runtime and eviction: it leaves idle, where it is known.

For each node, day and resource, in quantities of 12 places:
    could be allocated = allocatable x billed hours
    reserve            = node cost x (capacity - could be allocated) / capacity, half-even
It is taken from the idle of that node, day and resource, and never more than that comes to.
Clusters whose provider sets the reserve apart are left alone.
"""

from collections.abc import Iterator
from decimal import Decimal

import polars as pl

from transforms.carve import Carved, Target, carve
from transforms.inventory import shown
from transforms.money import scaled, zero
from transforms.node_costs import NODE_PART, NodeMonth, is_on_node
from transforms.schema import MONEY
from transforms.sliced import Context, finding

TOLERANCE = 1e-6
"""How far an inventory may be beyond a limit: quantities come from doubles."""

LEAST_CAPACITY = 0.5
"""What a system sees of a machine at least; less is the snapshot of another, smaller one."""

USUAL_CAPACITY = 0.75
"""What a system sees of nearly every machine; less may be the snapshot of a smaller one."""

LARGEST_RESERVE = 0.5
"""What is reserved of nearly every machine at most; more is usual for very small ones alone."""

_OF_ROW = ["resource_id", "charge_period_start", "billing_currency", "resource_kind"]

_UNITS = {"cpu": "CPUs", "memory": "GiB", "gpu": "GPUs"}


def node_reserve(idle: pl.DataFrame, month: NodeMonth, allocatable: pl.DataFrame) -> Carved:
    """Move what nodes cannot allocate from idle to system overhead.

    idle: rows of `normalised`; allocatable: ALLOCATABLE, one row a node, day and resource.
    Idle rows of nodes whose allocatable is known and fits the bill get `allocatable_quantity`.
    """
    parts = _parts(month, allocatable)
    is_wrong = _contradicts()
    known = parts.filter(~is_wrong).with_row_index("unit")
    found = _contradictions(parts.filter(is_wrong), month.context)
    found += _small(parts.filter(~is_wrong & _is_far_below()), month.context)
    if known.is_empty():
        return Carved(idle, idle.clear(), found)
    reserved = pl.max_horizontal(pl.col("capacity") - pl.col("could"), zero())
    known = known.with_columns(reserved=reserved)
    wanted = pl.max_horizontal(scaled(known, "cost", by="reserved", of="capacity"), zero())
    known = known.with_columns(wanted=wanted)
    placed = _placed(idle, known)
    target = Target("system_overhead", "node_reserve", month.view)
    left, made, units = carve(placed, known.select("unit", "wanted"), target)
    known = known.join(units, on="unit")
    found += _large(known, month.context) + _short(known, month.context)
    return Carved(left, made, found)


def _parts(month: NodeMonth, allocatable: pl.DataFrame) -> pl.DataFrame:
    """Return the node parts whose allocatable, hours and capacity are known.

    Adds `could`, what could be allocated, and `had`, what the inventory says was there.
    """
    known = (
        month.costs.filter(
            pl.col("resource_id").is_not_null(), ~pl.col("cluster_id").is_in(month.reserved_by)
        )
        .group_by(NODE_PART)
        .agg(pl.col("cluster_id", "node_name").min(), pl.col("cost", "capacity").sum())
        .join(month.hours, on=["resource_id", "charge_date"])
        .join(
            allocatable.rename({"capacity": "told"}),
            on=["resource_id", "charge_date", "resource_kind"],
        )
        .filter(pl.col("capacity") > zero(), pl.col("hours") > zero())
        .with_columns(one=pl.lit(1).cast(MONEY))
        .sort(NODE_PART)
    )
    return known.with_columns(
        could=scaled(known, "allocatable", by="hours", of="one"),
        had=scaled(known, "told", by="hours", of="one"),
    )


def _contradicts() -> pl.Expr:
    """Say whether the inventory is above the bill or itself, or is of a much smaller machine."""
    billed, had, could = (pl.col(name).cast(pl.Float64) for name in ("capacity", "had", "could"))
    most, least = billed * (1 + TOLERANCE), billed * LEAST_CAPACITY * (1 - TOLERANCE)
    is_above = (could > most) | (had > most) | (pl.col("allocatable") > pl.col("told"))
    return (is_above | (had < least)).fill_null(value=False)


def _is_far_below() -> pl.Expr:
    """Say whether the inventory is so far below the bill that it may be of another machine."""
    had, billed = (pl.col(name).cast(pl.Float64) for name in ("had", "capacity"))
    return (had < billed * USUAL_CAPACITY).fill_null(value=False)


def _is_large() -> pl.Expr:
    """Say whether so much is reserved that somebody should look."""
    reserved, billed = (pl.col(name).cast(pl.Float64) for name in ("reserved", "capacity"))
    return reserved > billed * LARGEST_RESERVE * (1 + TOLERANCE)


def _placed(idle: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Give idle rows the unit they belong to, and their part of what could be allocated."""
    units = known.select(*NODE_PART, "unit", "could", whole=pl.col("capacity"))
    placed = idle.join(
        units, left_on=_OF_ROW, right_on=list(NODE_PART), how="left", maintain_order="left"
    ).with_columns(unit=pl.when(is_on_node()).then("unit"))
    share = scaled(placed, "could", by="capacity_quantity", of="whole")
    return placed.with_columns(
        allocatable_quantity=pl.when(pl.col("unit").is_not_null())
        .then(share)
        .otherwise("allocatable_quantity")
    ).drop("could", "whole")


# ---------------------------------------------------------------- findings


def _short(known: pl.DataFrame, context: Context) -> list[dict[str, str | None]]:
    """Tell where a reserve costs more than what stood idle."""
    keys = ["cluster_id", "resource_kind", "billing_currency"]
    missing = pl.col("wanted") - pl.col("taken")
    short = (
        known.filter(missing > zero())
        .group_by(keys)
        .agg(
            pl.col("wanted", "taken").sum(),
            missing=missing.sum(),
            nodes=pl.col("resource_id").n_unique(),
            days=pl.col("charge_date").n_unique(),
        )
    )
    return [
        finding(
            context,
            "reserve_short",
            "warning",
            cluster_id=row["cluster_id"],
            where=f"{row['resource_kind']}, nodes: {row['nodes']}, days: {row['days']}",
            expected=f"{row['wanted']:f} {row['billing_currency']} of node reserve",
            actual=f"{row['taken']:f}: no more of these nodes stood idle",
            difference=row["missing"],
            hint="pods request more than the nodes can allocate, or use what is reserved; the "
            "missing part stands in what they are charged",
        )
        for row in short.sort(keys).to_dicts()
    ]


def _large(known: pl.DataFrame, context: Context) -> list[dict[str, str | None]]:
    """Tell where more than half of what nodes have is reserved, and what that moved."""
    keys = ["cluster_id", "resource_kind", "billing_currency"]
    large = (
        known.filter(_is_large())
        .group_by(keys)
        .agg(
            pl.col("reserved", "capacity", "hours", "taken").sum(),
            nodes=pl.col("resource_id").n_unique(),
            days=pl.col("charge_date").n_unique(),
        )
    )
    return [
        finding(
            context,
            "reserve_large",
            "warning",
            cluster_id=row["cluster_id"],
            where=f"{row['resource_kind']}, nodes: {row['nodes']}, days: {row['days']}",
            expected="a reserve of at most half of each node",
            actual=f"{_figure(row['reserved'] / row['hours'])} of "
            f"{_figure(row['capacity'] / row['hours'])} {_UNITS[row['resource_kind']]} of a node",
            difference=row["taken"],
            hint=f"{row['taken']:f} {row['billing_currency']} of idle became node reserve: right "
            "for very small nodes; else see whether the inventory is of these machines",
        )
        for row in large.sort(keys).to_dicts()
    ]


def _contradictions(wrong: pl.DataFrame, context: Context) -> list[dict[str, str | None]]:
    """Tell which inventories cannot be of the machines that were billed."""
    return [
        finding(
            context,
            "inventory_contradicts_bill",
            "error",
            **said,
            expected=f"a capacity of {_figure(billed * Decimal(LEAST_CAPACITY))} to "
            f"{_figure(billed)} {_UNITS[kind]}, as billed, and no more of it allocatable",
            hint=f"no {kind} was moved for these nodes: what they reserve of it stands in idle; "
            "take a snapshot of the machines that were billed",
        )
        for said, kind, billed in _by_file(wrong)
    ]


def _small(doubtful: pl.DataFrame, context: Context) -> list[dict[str, str | None]]:
    """Tell which inventories say so much less than was billed that much of idle is reserve."""
    return [
        finding(
            context,
            "inventory_far_below_bill",
            "warning",
            **said,
            expected=f"most of {_figure(billed)} {_UNITS[kind]}, as billed",
            hint="what is missing left idle as node reserve; is it a snapshot of another, smaller "
            "machine of that name, or does the system not see all of this one?",
        )
        for said, kind, billed in _by_file(doubtful)
    ]


def _by_file(parts: pl.DataFrame) -> Iterator[tuple[dict[str, str], str, Decimal]]:
    """Yield, for each cluster, resource and file, what it says of which nodes.

    Beside it the resource, and what was billed of it: amounts of an hour, as the file has them.
    """
    keys = ["cluster_id", "resource_kind", "file"]
    grouped = (
        parts.sort("node_name", *NODE_PART)
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("node_name").unique(maintain_order=True),
            pl.col(
                "resource_id", "charge_date", "allocatable", "told", "capacity", "hours"
            ).first(),
        )
    )
    for row in grouped.sort(keys).to_dicts():
        kind, told = row["resource_kind"], row["told"]
        said = {
            "cluster_id": row["cluster_id"],
            "where": f"{row['file']}, {kind} of {shown(row['node_name'])}",
            "actual": f"allocatable {_figure(row['allocatable'])}, capacity "
            f"{'unknown' if told is None else _figure(told)} for {row['resource_id']} on "
            f"{row['charge_date']}",
        }
        yield said, kind, row["capacity"] / row["hours"]


def _figure(amount: Decimal) -> str:
    """Return an amount as a file or a list of machines has it."""
    return f"{round(amount, 6).normalize():f}"
