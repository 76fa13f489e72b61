"""Why capacity stood idle: one cause for each idle row. No row is divided, no amount moves.

The first that holds: the node was empty and about to leave; its pool is at its minimum; the node
was empty; a usual pod would fit but for another resource; it would not fit; something else.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from transforms.money import quanta, zero
from transforms.node_costs import NODE_DAY, NODE_PART, NodeMonth, is_node_row, is_on_node
from transforms.rules import NodePoolRule, Vocabulary

AGENT = "DaemonSet"
"""Pods of this kind run on every node; alone they keep none."""

FIT = 1 - 1e-6
"""What may miss of a usual request, so that rounded quantities decide nothing."""

_REQUESTED = ("cpu", "memory", "gpu")
_POOL = ("cluster_id", "node_pool", "charge_date")


class Nodes(NamedTuple):
    """What is known of the nodes of a source beside their idle rows.

    rows: of `normalised`, before anything was carved from idle; month: what its nodes cost;
    requests: POD_REQUESTS.
    """

    rows: pl.LazyFrame
    month: NodeMonth
    requests: pl.DataFrame


def with_causes(
    idle: pl.DataFrame, nodes: Nodes, pools: Sequence[NodePoolRule], names: Vocabulary
) -> pl.DataFrame:
    """Return idle rows with `cause`, one of CAUSES; where a provider knew one, it decides first.

    idle: rows of `normalised`, node reserve and policy headroom taken out.
    """
    seen = _seen(nodes.rows)
    known = _with_days(idle.with_columns(charge_date="charge_period_start"), seen, nodes)
    sized = _with_pools(known, seen, pools, names)
    decided = sized.with_columns(decided=_by_node())
    fitted = decided.join(_by_fit(decided, nodes), on=NODE_PART, how="left", maintain_order="left")
    cause = pl.coalesce("decided", "by_fit", pl.lit("rest"))
    return fitted.with_columns(cause=cause).select(idle.columns)


# ---------------------------------------------------------------- whole nodes


def _seen(rows: pl.LazyFrame) -> pl.DataFrame:
    """Return the nodes that have idle or pods on a day, and whether a pod kept them in use.

    `is_known`: the provider tells hours without pods apart, so that it knows better than a day.
    """
    is_pod = (pl.col("row_kind") == "workload") | pl.col("reason").is_in(
        ["placeholder_pods", "system_namespace"]
    ).fill_null(value=False)
    is_agent = pl.col("workload_kind").eq_missing(pl.lit(AGENT))
    return (
        rows.filter(is_node_row() & is_on_node() & (is_pod | (pl.col("row_kind") == "idle")))
        .with_columns(charge_date="charge_period_start")
        .group_by(*NODE_DAY, "cluster_id", "node_pool")
        .agg(in_use=(is_pod & ~is_agent).any(), is_known=pl.col("cause").is_not_null().any())
        .collect(engine="streaming")
    )


def _with_days(idle: pl.DataFrame, seen: pl.DataFrame, nodes: Nodes) -> pl.DataFrame:
    """Add `is_empty`, and `waits`: empty on the last day of a node that left."""
    days = seen.group_by(NODE_DAY).agg(pl.col("in_use", "is_known").any())
    joined = idle.join(days, on=NODE_DAY, how="left", maintain_order="left").join(
        _left(nodes).with_columns(is_last=True),
        on=["resource_id", "charge_date"],
        how="left",
        maintain_order="left",
    )
    on_node = is_node_row() & is_on_node()
    is_said = pl.any_horizontal(
        pl.col(name).eq_missing(pl.lit("empty_node")) for name in ("reason", "cause")
    )
    is_empty = is_said | (on_node & ~pl.col("in_use")).fill_null(value=False)
    is_last = pl.col("is_last").fill_null(value=False) & ~pl.col("is_known").fill_null(value=False)
    given = pl.col("cause").eq_missing(pl.lit("scale_down_wait"))
    return joined.with_columns(is_empty=is_empty, waits=given | (is_empty & is_last))


def _left(nodes: Nodes) -> pl.DataFrame:
    """Return `resource_id`, `charge_date`: the last day of nodes that are gone before others."""
    billed = nodes.month.hours if nodes.month.hours.height else nodes.month.costs
    last = (
        billed.filter(pl.col("resource_id").is_not_null())
        .group_by("resource_id")
        .agg(pl.col("charge_date").max())
    )
    return last.filter(pl.col("charge_date") < pl.col("charge_date").max())


def _with_pools(
    idle: pl.DataFrame, seen: pl.DataFrame, pools: Sequence[NodePoolRule], names: Vocabulary
) -> pl.DataFrame:
    """Add `is_smallest`: the row's node pool had no more nodes on that day than it must have."""
    counted = seen.group_by(_POOL).agg(nodes=pl.col("resource_id").n_unique().cast(pl.Int64))
    minimum = pl.coalesce(
        *(
            pl.when(names.dates(rule) & names.pools(rule)).then(
                pl.lit(rule.min_nodes, dtype=pl.Int64)
            )
            for rule in pools
        ),
        pl.lit(None, dtype=pl.Int64),
    )
    joined = idle.join(counted, on=_POOL, how="left", maintain_order="left")
    is_smallest = (pl.col("nodes") <= minimum).fill_null(value=False)
    return joined.with_columns(is_smallest=is_smallest)


def _by_node() -> pl.Expr:
    """The causes that hold for a node or a node pool as a whole; NULL where none does."""
    return (
        pl.when("waits")
        .then(pl.lit("scale_down_wait"))
        .when("is_smallest")
        .then(pl.lit("minimum_size"))
        .when("is_empty")
        .then(pl.lit("empty_node"))
    )


# ---------------------------------------------------------------- what would fit


def _by_fit(idle: pl.DataFrame, nodes: Nodes) -> pl.DataFrame:
    """Return `by_fit` for each resource of a node and day: what a usual pod finds there."""
    usual = typical(nodes.requests)
    free = _free(idle, nodes).join(usual, on=["cluster_id", "resource_kind"], how="left")
    fits = pl.col("free") >= pl.col("usual").fill_null(0.0) * FIT
    is_full = (pl.col("usual").is_not_null() & ~pl.col("fits")).fill_null(value=False)
    return (
        free.with_columns(fits=fits)
        .with_columns(other_is_full=is_full.any().over(NODE_DAY))
        .select(
            *NODE_PART,
            by_fit=pl.when(~pl.col("fits"))
            .then(pl.lit("fragment"))
            .when(pl.col("fits") & pl.col("other_is_full"))
            .then(pl.lit("stranded")),
        )
    )


def _free(idle: pl.DataFrame, nodes: Nodes) -> pl.DataFrame:
    """Return how much of each node was free, in cores, GiB or GPUs, in the hours it was in use.

    Columns: NODE_PART, `cluster_id`, `free`. Idle that `decided` explains is not free: its hours
    count as much less as its capacity is. Unknown without hours, capacity or price; but what has
    no idle row has nothing free.
    """
    view = nodes.month.view
    costs = nodes.month.costs.filter(is_on_node() & pl.col("resource_kind").is_in(_REQUESTED))
    whole = costs.group_by(NODE_PART).agg(
        pl.col("cluster_id").min(), pl.col("cost").sum(), _sum("capacity")
    )
    is_open = pl.col("decided").is_null()
    left = (
        idle.filter(is_node_row() & is_on_node())
        .group_by(NODE_PART)
        .agg(
            free_cost=pl.col(view).filter(is_open).sum(),
            free_capacity=pl.col("capacity_quantity").filter(is_open).sum(),
            has_idle=pl.lit(value=True),
        )
    )
    joined = whole.join(left, on=NODE_PART, how="left").join(
        nodes.month.hours, on=["resource_id", "charge_date"], how="left"
    )
    return joined.select(*NODE_PART, "cluster_id", free=_rate())


def _sum(name: str) -> pl.Expr:
    return pl.when(pl.col(name).is_not_null().any()).then(pl.col(name).sum()).alias(name)


def _rate() -> pl.Expr:
    """Free cost ÷ unit price ÷ hours in use, each a ratio of sums. It decides, it is no amount."""
    divisors = ("cost", "free_capacity", "hours")
    is_known = pl.all_horizontal(pl.col(name) != zero() for name in divisors)
    cost, capacity, hours, free_cost, free_capacity = (
        pl.col(name).cast(pl.Float64)
        for name in ("cost", "capacity", "hours", "free_cost", "free_capacity")
    )
    quantity = free_cost / cost * capacity
    busy_hours = hours * (free_capacity / capacity)
    return (
        pl.when(pl.col("has_idle").is_null())
        .then(0.0)
        .when(is_known & (pl.col("capacity") != zero()))
        .then(quantity / busy_hours)
    )


def typical(requests: pl.DataFrame) -> pl.DataFrame:
    """Return what pods usually request: `cluster_id`, `resource_kind`, `usual`.

    requests: POD_REQUESTS. The lower median by pod-hours: half of them request so much or less.
    """
    key = ["cluster_id", "resource_kind"]
    weight = quanta(pl.col("weight"))
    return (
        requests.group_by(*key, "quantity")
        .agg(pl.col("weight").sum())
        .sort(*key, "quantity")
        .filter(2 * weight.cum_sum().over(key) >= weight.sum().over(key))
        .group_by(key)
        .agg(usual=pl.col("quantity").min().cast(pl.Float64))
    )
