"""Instances against their pods, per instance and UTC day.

The identity kept here: for every instance, day and currency the slices add up to the parents,
in both views. AWS has spread each instance's unused capacity over its pods; that is undone by
summing `unused_cost` per resource. What parents cost beyond their pods is an empty node as far
as whole hours without split rows explain it, and a gap between bill and split otherwise.
"""

import polars as pl

from transforms.aws.categories import by_category
from transforms.aws.codes import QUANTITY_UNIT
from transforms.aws.hours import Intervals
from transforms.aws.idle import Days, empty_nodes, last_days, unrequested
from transforms.aws.node_days import DESCRIBED, KEY, node_days, per_day
from transforms.aws.request import reprice, unit_prices
from transforms.money import apportion, known_sum, zero
from transforms.schema import MONEY
from transforms.sliced import joined_files

SPLIT_SOURCE = "scad"
"""AWS split cost allocation data."""


def node_slices(
    parents: pl.DataFrame, pods: pl.DataFrame, when: Intervals, *, by_request: bool
) -> pl.DataFrame:
    """Slice the instances of known clusters.

    parents: charges of instances (one row an hour and kind) with `cluster_id`, `effective`,
    `max_price`; pods: EKS workloads with `resource_id` of their instance, `effective_split`,
    `effective_unused`, `gross_split`, `gross_unused`; both with `source_file`;
    by_request: whether pods are charged what they requested, at the node's unit price.
    Returns slices with KEY, `row_kind`, `reason`, `cause`, `effective_cost`, `billed_cost` and
    what else `normalised` can hold of them.
    """
    split = is_split(when)
    before, parents = parents.filter(~split), parents.filter(split)
    of = Days(node_days(parents, pods, when), when, last_days(pl.concat([before, parents])))
    merged = _merged(pods.join(of.days.select(KEY), on=KEY, how="semi"))
    cut = pl.concat(
        [_workloads(merged), unrequested(merged, of), _unclassified(merged), empty_nodes(of)],
        how="diagonal",
    )
    slices = _settle_dust(cut, of.days)
    if by_request:
        slices = reprice(slices, unit_prices(cut))
    slices = pl.concat([slices, _gaps(of.days)], how="diagonal")
    slices = by_category(_described(_billed(slices, of.days), of.days, merged), parents)
    return pl.concat([slices, _not_split(before)], how="diagonal").with_columns(
        service_name="product_code"
    )


def node_hours(parents: pl.DataFrame, when: Intervals) -> pl.DataFrame:
    """Return NODE_DAYS: billed hours of each instance and day, from the first split hour on.

    They are the hours of `capacity_quantity`, also on the day in which the split began.
    """
    hours = parents.filter(is_split(when)).group_by("resource_id", "charge_date")
    return hours.agg(hours=pl.col("quantity").sum()).sort("resource_id", "charge_date")


def is_split(when: Intervals) -> pl.Expr:
    """Say whether an instance's hour is one that AWS could have split."""
    return pl.lit(value=False) if when.first is None else pl.col("hour") >= when.first


# ---------------------------------------------------------------- slices


def _merged(pods: pl.DataFrame) -> pl.DataFrame:
    """Workloads of a node and day, whichever files their rows came from."""
    summed = [name for name, dtype in pods.schema.items() if dtype == MONEY or name == "rows"]
    nullable = ("workload_idle", "requested_quantity", "used_quantity", "slack_quantity")
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
    falling = {"is_idle": True, "effective_cost": True, "resource_kind": False, "reason": True}
    order = falling | {"tie": False}
    ranked = (
        slices.with_columns(is_idle=has_idle, tie=_tie(slices))
        .sort(list(order), descending=list(order.values()))
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
