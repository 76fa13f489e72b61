"""Instances against their pods, per instance and UTC day.

The identity kept here: for every instance, day and currency the slices add up to the parents,
in both views. AWS has spread each instance's unused capacity over its pods; that is undone by
summing `unused_cost` per resource. What parents cost beyond their pods is an empty node as far
as whole hours without split rows explain it, and a gap between bill and split otherwise.
"""

import polars as pl

from transforms.aws.codes import ACCELERATED_WEIGHTS, QUANTITY_UNIT, WEIGHTS
from transforms.aws.node_days import DESCRIBED, KEY, Intervals, node_days, per_day
from transforms.money import apportion, known_sum, zero
from transforms.schema import MONEY
from transforms.sliced import joined_files

SPLIT_SOURCE = "scad"
"""AWS split cost allocation data."""

_SIZED = ("vcpu", "memory", "gpu", "quantity", "empty_hours", "empty")


def node_slices(parents: pl.DataFrame, pods: pl.DataFrame, when: Intervals) -> pl.DataFrame:
    """Slice the instances of known clusters.

    parents: charges of instances (one row an hour and kind) with `cluster_id`, `effective`,
    `max_price`; pods: EKS workloads with `resource_id` of their instance, `effective_split`,
    `effective_unused`, `gross_split`, `gross_unused`; both with `source_file`.
    Returns slices with KEY, `row_kind`, `reason`, `effective_cost`, `billed_cost` and what else
    `normalised` can hold of them.
    """
    is_before = pl.lit(value=True) if when.first is None else pl.col("hour") < when.first
    before = parents.filter(is_before)
    days = node_days(parents.filter(~is_before), pods, when)
    merged = _merged(pods.join(days.select(KEY), on=KEY, how="semi"))
    slices = pl.concat(
        [_workloads(merged), _idle(merged, days), _unclassified(merged), _empty_nodes(days)],
        how="diagonal",
    )
    slices = pl.concat([_settle_dust(slices, days), _gaps(days)], how="diagonal")
    slices = _described(_billed(slices, days), days, merged)
    return pl.concat([slices, _not_split(before)], how="diagonal").with_columns(
        service_name="product_code"
    )


# ---------------------------------------------------------------- slices


def _merged(pods: pl.DataFrame) -> pl.DataFrame:
    """Workloads of a node and day, whichever files their rows came from."""
    summed = [name for name, dtype in pods.schema.items() if dtype == MONEY or name == "rows"]
    nullable = ("workload_idle", "used_quantity")
    keys = [name for name in pods.columns if name not in (*summed, "source_file", "net_filled")]
    return pods.group_by(keys).agg(
        *(pl.col(name).sum() for name in summed if name not in nullable),
        *(known_sum(name) for name in nullable),
        source_file=joined_files(),
    )


def _workloads(merged: pl.DataFrame) -> pl.DataFrame:
    return merged.filter(pl.col("resource_kind").is_not_null()).with_columns(
        row_kind=pl.lit("workload"),
        reason=pl.lit(None, dtype=pl.String),
        provider_class=pl.lit("split_cost"),
        effective_cost="effective_split",
        gross="gross_split",
        list_cost="list_split",
        provider_idle_cost="effective_unused",
    )


def _idle(merged: pl.DataFrame, days: pl.DataFrame) -> pl.DataFrame:
    """What AWS put on the pods as unused, back in one row per node and resource."""
    idle = (
        merged.filter(pl.col("resource_kind").is_not_null())
        .group_by([*KEY, "resource_kind"])
        .agg(
            effective_cost=pl.col("effective_unused").sum(),
            gross=pl.col("gross_unused").sum(),
            list_cost=pl.col("list_unused").sum(),
            source_file=joined_files(),
        )
        .join(days.select([*KEY, *_SIZED]), on=KEY)
    )
    is_partly_empty = pl.col("empty") > zero()
    empty_hours = pl.when(is_partly_empty).then("empty_hours").otherwise(zero())
    used_hours = pl.col("quantity") - empty_hours
    return idle.with_columns(
        row_kind=pl.lit("idle"),
        reason=pl.lit("unrequested"),
        provider_class=pl.lit("unused_cost"),
        capacity_quantity=(_size() * used_hours.cast(pl.Float64)).cast(MONEY),
    ).drop(_SIZED)


def _size() -> pl.Expr:
    """Billed size of the instance in the unit of the row's resource kind."""
    kind = pl.col("resource_kind")
    sizes = {"cpu": "vcpu", "memory": "memory", "gpu": "gpu"}
    size = pl.lit(None, dtype=pl.Float64)
    for name, column in sizes.items():
        size = pl.when(kind == name).then(pl.col(column)).otherwise(size)
    return size


def _unclassified(merged: pl.DataFrame) -> pl.DataFrame:
    """Split rows for a resource that this version does not know: shown, never guessed."""
    return merged.filter(pl.col("resource_kind").is_null()).with_columns(
        row_kind=pl.lit("unattributed"),
        reason=pl.lit("unclassified"),
        provider_class="usage_type",
        resource_kind=pl.lit("other"),
        effective_cost=pl.col("effective_split") + pl.col("effective_unused"),
        gross=pl.col("gross_split") + pl.col("gross_unused"),
        workload_idle=pl.lit(None, dtype=MONEY),
    )


def _empty_nodes(days: pl.DataFrame) -> pl.DataFrame:
    """Empty hours, divided over the node's resources by AWS's own weights and its billed size."""
    is_free = ~pl.col("has_pods") & (pl.col("residual") == zero())
    empty = days.filter((pl.col("empty") != zero()) | is_free)
    is_sized = pl.col("vcpu").is_not_null() & pl.col("memory").is_not_null()
    pieces = [
        _weighed(empty.filter(is_sized & (pl.col("gpu").fill_null(0) > 0)), ACCELERATED_WEIGHTS),
        _weighed(empty.filter(is_sized & (pl.col("gpu").fill_null(0) <= 0)), WEIGHTS),
        empty.filter(~is_sized).with_columns(
            resource_kind=pl.lit("compute"), effective_cost="empty"
        ),
    ]
    capacity = (_size() * pl.col("empty_hours").cast(pl.Float64)).cast(MONEY)
    return (
        pl.concat(pieces, how="diagonal")
        .with_columns(capacity_quantity=capacity)
        .select(*KEY, "resource_kind", "effective_cost", "capacity_quantity", "source_file")
        .with_columns(
            row_kind=pl.lit("idle"),
            reason=pl.lit("empty_node"),
            gross=zero(),
            provider_class=pl.lit(None, dtype=pl.String),
        )
    )


def _weighed(empty: pl.DataFrame, weights: dict[str, int]) -> pl.DataFrame:
    kinds = pl.DataFrame({"resource_kind": list(weights), "per_unit": list(weights.values())})
    pieces = empty.join(kinds, how="cross").with_columns(
        weight=(_size() * pl.col("per_unit")).cast(MONEY)
    )
    parts = apportion(pieces, by=KEY, total="empty", weight="weight", order=["resource_kind"])
    return pieces.with_columns(effective_cost=parts)


def _gaps(days: pl.DataFrame) -> pl.DataFrame:
    """What neither pods nor empty hours explain, with its sign."""
    return days.filter(pl.col("gap") != zero()).select(
        *KEY,
        "source_file",
        row_kind=pl.lit("unattributed"),
        reason=pl.lit("split_gap"),
        resource_kind=pl.lit("compute"),
        effective_cost="gap",
        gross=zero(),
    )


def _settle_dust(slices: pl.DataFrame, days: pl.DataFrame) -> pl.DataFrame:
    """Give what provider doubles miss to the largest idle slice, else to the largest slice."""
    dust = days.filter(pl.col("dust") != zero()).select(*KEY, "dust")
    has_idle = (pl.col("row_kind") == "idle") & (pl.col("effective_cost") > zero())
    ranked = (
        slices.with_columns(is_idle=has_idle, tie=_tie(slices))
        .sort(["is_idle", "effective_cost", "tie"], descending=[True, True, False])
        .with_columns(is_first=pl.int_range(pl.len()).over(KEY) == 0)
    )
    taken = pl.when("is_first").then(pl.col("dust").fill_null(zero())).otherwise(zero())
    return (
        ranked.join(dust, on=KEY, how="left")
        .with_columns(effective_cost=pl.col("effective_cost") + taken)
        .drop("is_idle", "is_first", "tie", "dust")
    )


def _tie(slices: pl.DataFrame) -> pl.Expr:
    """Everything that names a slice, so that equal amounts have one order in every run."""
    names = sorted(name for name, dtype in slices.schema.items() if dtype == pl.String)
    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator="\x1f")


# ---------------------------------------------------------------- both views


def _billed(slices: pl.DataFrame, days: pl.DataFrame) -> pl.DataFrame:
    """Divide the parents' invoice amount like their amortised one.

    Where a parent's amortised cost is 0, the split before discounts gives the ratio; where that
    is 0 too, the amount is a gap.
    """
    amounts = days.select(
        *KEY,
        "billed",
        "effective",
        node_gross=pl.col("gross_split").fill_null(zero()),
        file="source_file",
    )
    weight = pl.when(pl.col("effective") != zero()).then("effective_cost").otherwise("gross")
    joined = slices.join(amounts, on=KEY, how="left").with_columns(weight=weight, tie=_tie(slices))
    has_ratio = (pl.col("effective") != zero()) | (pl.col("node_gross") != zero())
    divided = joined.filter(has_ratio)
    parts = apportion(divided, by=KEY, total="billed", weight="weight", order=["tie"])
    rest = joined.filter(~has_ratio).with_columns(billed_cost=zero())
    gaps = amounts.filter(~has_ratio & (pl.col("billed") != zero())).select(
        *KEY,
        row_kind=pl.lit("unattributed"),
        reason=pl.lit("split_gap"),
        resource_kind=pl.lit("compute"),
        effective_cost=zero(),
        billed_cost="billed",
        source_file="file",
    )
    kept = pl.concat([divided.with_columns(billed_cost=parts), rest], how="diagonal")
    dropped = ["billed", "effective", "node_gross", "file", "weight", "tie"]
    return pl.concat([kept.drop(dropped), gaps], how="diagonal")


def _described(slices: pl.DataFrame, days: pl.DataFrame, merged: pl.DataFrame) -> pl.DataFrame:
    """Add what the parents say about the node: accounts, region, pool, price category, name."""
    names = merged.group_by("resource_id").agg(tagged_name=pl.col("node_name").min())
    known = [name for name in DESCRIBED if name in slices.columns]
    return (
        slices.drop(known)
        .join(days.select(*KEY, *DESCRIBED, "pricing_category"), on=KEY, how="left")
        .join(names, on="resource_id", how="left")
        .with_columns(
            node_name=pl.coalesce("tagged_name", "resource_id"),
            split_source=pl.lit(SPLIT_SOURCE),
            quantity_unit=pl.col("resource_kind").replace_strict(QUANTITY_UNIT, default=None),
        )
        .drop("tagged_name")
    )


def _not_split(before: pl.DataFrame) -> pl.DataFrame:
    """Hours before the source's first split row: cost of the cluster, but nobody's yet."""
    return per_day(before).select(
        *KEY,
        *DESCRIBED,
        "pricing_category",
        "source_file",
        effective_cost="effective",
        billed_cost="billed",
        node_name="resource_id",
        row_kind=pl.lit("unattributed"),
        reason=pl.lit("no_split_source"),
        resource_kind=pl.lit("compute"),
    )
