"""What nodes reserve for kubelet, runtime and eviction: it leaves idle, where it is known.

For each node, day and resource, in quantities of 12 places:
    could be allocated = allocatable x billed hours
    reserve            = node cost x (capacity - could be allocated) / capacity, half-even
It is taken from the idle of that node, day and resource, and never more than that comes to.
Clusters whose provider sets the reserve apart are left alone.
"""

from collections.abc import Iterator

import polars as pl

from transforms.carve import Carved, Target, carve
from transforms.inventory import shown
from transforms.money import scaled, zero
from transforms.node_costs import NODE_PART, NodeMonth, is_on_node
from transforms.schema import MONEY
from transforms.sliced import Context, finding

TOLERANCE = 1e-6
"""How far an inventory may be above the bill: quantities come from doubles."""

LEAST_CAPACITY = 0.75
"""What a system sees of a machine at least; less is the snapshot of a smaller one."""

LEAST_ALLOCATABLE = 0.5
"""What is left of a machine at least; where more is reserved, somebody should look."""

_OF_ROW = ["resource_id", "charge_period_start", "billing_currency", "resource_kind"]

_UNITS = {"cpu": "vCPU-hours", "memory": "GiB-hours", "gpu": "GPU-hours"}


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
    return Carved(left, made, [*found, *_short(known.join(units, on="unit"), month.context)])


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
    """Say whether the inventory is above the bill, or above itself."""
    most = pl.col("capacity").cast(pl.Float64) * (1 + TOLERANCE)
    above = [pl.col(name).cast(pl.Float64) > most for name in ("could", "had")]
    return pl.any_horizontal(*above, pl.col("allocatable") > pl.col("told")).fill_null(value=False)


def _is_far_below() -> pl.Expr:
    """Say whether the inventory is so far below the bill that it may be of another machine."""
    capacity = pl.col("capacity").cast(pl.Float64)
    had, could = (pl.col(name).cast(pl.Float64) for name in ("had", "could"))
    is_smaller = (had < capacity * LEAST_CAPACITY).fill_null(value=False)
    return is_smaller | (could < capacity * LEAST_ALLOCATABLE)


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


def _contradictions(wrong: pl.DataFrame, context: Context) -> list[dict[str, str | None]]:
    """Tell which inventories say more than was billed."""
    return [
        finding(
            context,
            "inventory_contradicts_bill",
            "error",
            **said,
            expected=f"at most {billed}, as billed",
            hint="nothing was moved for these nodes: their reserve stands in idle; take a snapshot "
            "of the machines that were billed",
        )
        for said, billed in _by_file(wrong)
    ]


def _small(doubtful: pl.DataFrame, context: Context) -> list[dict[str, str | None]]:
    """Tell which inventories say so much less than was billed that much of idle is reserve."""
    return [
        finding(
            context,
            "inventory_far_below_bill",
            "warning",
            **said,
            expected=f"most of {billed}, as billed",
            hint="what is missing left idle as node reserve; is it a snapshot of another, smaller "
            "machine of that name, or does the system not see all of this one?",
        )
        for said, billed in _by_file(doubtful)
    ]


def _by_file(parts: pl.DataFrame) -> Iterator[tuple[dict[str, str], str]]:
    """Yield, for each cluster, resource and file, what it says of which nodes, and the bill."""
    keys = ["cluster_id", "resource_kind", "file"]
    grouped = (
        parts.sort("node_name", *NODE_PART)
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("node_name").unique(maintain_order=True),
            pl.col("resource_id", "charge_date", "could", "had", "capacity").first(),
        )
    )
    for row in grouped.sort(keys).to_dicts():
        had = "unknown" if row["had"] is None else f"{row['had']:f}"
        said = {
            "cluster_id": row["cluster_id"],
            "where": f"{row['file']}, {row['resource_kind']} of {shown(row['node_name'])}",
            "actual": f"allocatable {row['could']:f}, capacity {had} for {row['resource_id']} on "
            f"{row['charge_date']}",
        }
        yield said, f"{row['capacity']} {_UNITS[row['resource_kind']]}"
