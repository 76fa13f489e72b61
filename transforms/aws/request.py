"""Charge basis `request`: pods cost what they requested at the node's unit price.

The unit price of a resource is what it cost on a node and day, empty hours with it, over all
capacity that was billed. What pods do not request is idle; that is below 0 where they request
more than there is. A node of unknown size keeps the provider's split, and so does one with a pod
whose request is unknown: a request that is missing is not one of 0.
"""

from collections.abc import Iterator

import polars as pl

from transforms.aws.node_days import KEY
from transforms.money import scaled, zero
from transforms.notices import Notice
from transforms.sliced import Context, finding

_PART = [*KEY, "resource_kind"]
_IS_POD = pl.col("row_kind") == "workload"
_IS_QUIET = (pl.col("reason") == "unrequested") & ~pl.col("is_rest")
_PRICES = {
    "effective_cost": ("cost", "capacity"),
    "gross": ("gross_cost", "used_capacity"),
    "list_cost": ("list_cost_of_all", "used_capacity"),
}
"""Amount -> what all of it is, and the capacity that this paid for: empty hours have a cost, but
none before discounts and none at list price."""

_UNSIZED = (
    "unit_price_unknown",
    "the size of every instance with pods, to charge by request",
    "instances of unknown size",
    "add `product` (or product_vcpu and product_memory) to the export's query",
)
_UNASKED = (
    "request_unknown",
    "a request of 0 or more in every split row, to charge by request",
    "instances with pods whose request is missing or below 0",
    "let the provider deliver the month again, or charge with charge_basis = 'provider'",
)


def unit_prices(slices: pl.DataFrame) -> pl.DataFrame:
    """Return cost and capacity of each resource of the nodes with pods that can be priced.

    slices: workloads and idle of nodes and days.
    """
    parts = _parts(slices)
    return parts.join(_unpriced(parts), on=KEY, how="anti")


def reprice(slices: pl.DataFrame, prices: pl.DataFrame) -> pl.DataFrame:
    """Charge pods by request. Every node, day and resource adds up to what it did before.

    slices: as for `unit_prices`, with `slack_quantity` of workloads, and `is_rest` and
    `quiet_requested` of unrequested idle (`idle.unrequested`), so that idle of hours with
    DaemonSets alone is priced too and what roundings leave has its row.
    """
    free = pl.col("capacity_quantity") - pl.col("quiet_requested")
    asked = pl.when(_IS_POD).then("requested_quantity").when(_IS_QUIET).then(free)
    priced = slices.join(prices, on=_PART, how="left", maintain_order="left")
    priced = priced.with_columns(asked=asked)
    is_priced = pl.col("cost").is_not_null()
    slack = scaled(priced, "slack_quantity", by="cost", of="capacity")
    amounts = {name: _amounts(priced, name) for name in _PRICES}
    return priced.with_columns(
        workload_idle=pl.when(is_priced).then(slack).otherwise("workload_idle"), **amounts
    ).select(slices.columns)


def _amounts(priced: pl.DataFrame, name: str) -> pl.Series:
    cost, capacity = _PRICES[name]
    parts = priced.with_columns(new=scaled(priced, "asked", by=cost, of=capacity))
    new = pl.coalesce("new", name)
    is_rest = pl.col("is_rest").fill_null(value=False) & pl.col("cost").is_not_null()
    others = pl.when(is_rest).then(zero()).otherwise(new).sum().over(_PART)
    left = pl.col(name).sum().over(_PART) - others
    return parts.select(pl.when(is_rest).then(left).otherwise(new).alias(name)).to_series()


def notices(slices: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Say which clusters have nodes that keep the provider's split."""
    parts = _parts(slices)
    for unknown, (rule, expected, actual, hint) in (
        (_unsized(parts), _UNSIZED),
        (_unasked(parts), _UNASKED),
    ):
        nodes = slices.join(unknown, on=KEY).group_by("cluster_id")
        counts = nodes.agg(pl.col("resource_id").n_unique()).sort("cluster_id")
        for cluster, count in counts.rows():
            yield finding(
                context,
                rule,
                "warning",
                cluster_id=cluster,
                where=context.source,
                expected=expected,
                actual=f"{count} {actual}, charged as the provider split them",
                hint=hint,
            )


def _parts(slices: pl.DataFrame) -> pl.DataFrame:
    """Add up each resource of nodes with pods; capacity is 0 where no size is known.

    `is_unasked`: of one of the pods it is unknown what it requested.
    """
    is_asked = (pl.col("requested_quantity") >= zero()).fill_null(value=False)
    is_unrequested = pl.col("reason") == "unrequested"
    capacity = pl.col("capacity_quantity")
    return (
        slices.filter(_IS_POD | (pl.col("row_kind") == "idle"))
        .group_by(_PART)
        .agg(
            cost=pl.col("effective_cost").sum(),
            gross_cost=pl.col("gross").sum(),
            list_cost_of_all=pl.col("list_cost").sum(),
            capacity=capacity.sum(),
            used_capacity=capacity.filter(is_unrequested).sum(),
            has_pods=_IS_POD.any(),
            is_unasked=(_IS_POD & ~is_asked).any(),
        )
        .filter("has_pods")
        .drop("has_pods")
    )


def _unpriced(parts: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([_unsized(parts), _unasked(parts)]).unique()


def _unsized(parts: pl.DataFrame) -> pl.DataFrame:
    return parts.filter(pl.col("capacity") <= zero()).select(KEY).unique()


def _unasked(parts: pl.DataFrame) -> pl.DataFrame:
    return parts.filter("is_unasked").select(KEY).unique()
