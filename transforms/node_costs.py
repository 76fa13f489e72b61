"""What each node cost on each day by resource, and how much of it was there.

A node row is a part of what nodes cost: workload, idle, headroom or system overhead of cpu, memory,
gpu or compute, idle or split. Disks, fees and pods that are billed directly are none. The amount
that counts is the effective one, the billed one where a source has no effective view.
"""

from typing import NamedTuple

import polars as pl

from transforms.sliced import Context, Sliced

NODE_RESOURCES = ("cpu", "memory", "gpu", "compute")
"""The resource kinds that nodes are made of."""

NODE_DAY = ("resource_id", "charge_date", "billing_currency")
"""A node on a day."""

NODE_PART = (*NODE_DAY, "resource_kind")
"""One resource of a node on a day."""

PLACE = ("cluster_id", "cluster_name", "node_pool", "node_name")
"""Where a node row is; NULL where the provider does not say."""

_KINDS = ("workload", "idle", "headroom", "system_overhead")


class NodeMonth(NamedTuple):
    """What one source's month says of its nodes.

    costs: see `node_costs`; hours: NODE_DAYS; view: the cost column that counts; reserved_by:
    clusters whose provider sets the node reserve apart; context: whose month it is.
    """

    costs: pl.DataFrame
    hours: pl.DataFrame
    view: str
    reserved_by: list[str]
    context: Context


def node_month(sliced: Sliced, rows: pl.LazyFrame) -> NodeMonth:
    """Return what is known of the nodes; rows: the slices, with their row kinds."""
    slices = sliced.slices
    view = counted_view(slices)
    is_reserve = pl.col("reason").eq_missing(pl.lit("node_reserve"))
    told = slices.filter(is_reserve & pl.col("provider_class").is_not_null())
    clusters = told.get_column("cluster_id").unique().drop_nulls().to_list()
    costs = node_costs(rows, view)
    return NodeMonth(costs, sliced.node_days, view, clusters, _context(slices))


def _context(slices: pl.DataFrame) -> Context:
    """Return whose month it is: the same on every slice."""
    named = ("provider", "source", "source_dataset", "billing_period")
    return Context(*(slices.select(named).row(0) if slices.height else ("",) * len(named)))


def counted_view(slices: pl.DataFrame) -> str:
    """Return the cost column that counts in a source: `effective_cost` where it has that view."""
    has_effective = slices.get_column("effective_cost").null_count() < slices.height
    return "effective_cost" if has_effective or slices.is_empty() else "billed_cost"


def is_node_row() -> pl.Expr:
    """Say for each row whether it is a part of what nodes cost."""
    return (
        pl.col("row_kind").is_in(_KINDS)
        & pl.col("resource_kind").is_in(NODE_RESOURCES)
        & ((pl.col("row_kind") == "idle") | pl.col("split_source").is_not_null())
    )


def is_on_node() -> pl.Expr:
    """Say for each node row whether it is known which node it is on."""
    return pl.col("resource_id").is_not_null() & pl.col("node_name").is_not_null()


def node_costs(rows: pl.LazyFrame, view: str) -> pl.DataFrame:
    """Return what nodes cost, one row for each part and place.

    rows: of `normalised`; view: the cost column that counts. Returns PLACE, NODE_PART and
    cost: all node rows; reserve: those of reason node_reserve; idle: those of kind idle;
    capacity: NULL where no row says it.
    Without a node, resource_id and node_name are NULL: the cost of a whole node pool or cluster.
    """
    nodes = ("resource_id", "node_name")
    is_reserve = pl.col("reason").eq_missing(pl.lit("node_reserve"))
    cost, capacity = pl.col(view), pl.col("capacity_quantity")
    keys = [*PLACE, *NODE_PART]
    return (
        rows.filter(is_node_row())
        .with_columns(
            *(pl.when(is_on_node()).then(name).alias(name) for name in nodes),
            charge_date="charge_period_start",
        )
        .group_by(keys)
        .agg(
            cost=cost.sum(),
            reserve=cost.filter(is_reserve).sum(),
            idle=cost.filter(pl.col("row_kind") == "idle").sum(),
            capacity=pl.when(capacity.is_not_null().any()).then(capacity.sum()),
        )
        .sort(keys)
        .collect(engine="streaming")
    )
