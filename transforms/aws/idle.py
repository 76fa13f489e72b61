"""Idle of instances: what AWS put on pods as unused, and hours without any pod.

Hours in which DaemonSets alone ran are as empty as hours without a pod, so their idle is a row
of its own with its cause. On the last day of an instance that left, what came after its last
other pod was a wait for the scale-down.
"""

from typing import NamedTuple

import polars as pl

from transforms.aws.codes import ACCELERATED_WEIGHTS, WEIGHTS
from transforms.aws.hours import Intervals
from transforms.aws.node_days import KEY
from transforms.money import apportion, scaled, zero
from transforms.schema import MONEY
from transforms.sliced import joined_files

EMPTY, WAIT = "empty_node", "scale_down_wait"
_DAY = ["resource_id", "charge_date"]
_PART = [*KEY, "resource_kind"]
_SUMS = ("effective_cost", "gross", "list_cost", "capacity_quantity")


class Days(NamedTuple):
    """The days of a source's instances."""

    days: pl.DataFrame
    """As of `node_days`."""
    when: Intervals
    last: pl.DataFrame
    """resource_id, charge_date: the last day of each instance that left."""


def last_days(parents: pl.DataFrame) -> pl.DataFrame:
    """Return the last billed day of each instance, where another was billed later."""
    last = parents.group_by("resource_id").agg(pl.col("charge_date").max())
    return last.filter(pl.col("charge_date") < pl.col("charge_date").max())


# ---------------------------------------------------------------- hours with pods


def unrequested(merged: pl.DataFrame, of: Days) -> pl.DataFrame:
    """Return what AWS put on pods as unused, by node, resource and cause.

    merged: workloads of nodes and days. `cause` is NULL for hours with other pods than those of
    DaemonSets. `is_rest` marks the one row of a node and resource that takes what roundings
    leave; `quiet_requested` is what DaemonSets requested in the hours of a cause.
    """
    whole = _whole(merged, of.days)
    return _with_rest(whole, _quiet(whole, of)).with_columns(
        row_kind=pl.lit("idle"),
        reason=pl.lit("unrequested"),
        provider_class=pl.lit("unused_cost"),
    )


def _whole(merged: pl.DataFrame, days: pl.DataFrame) -> pl.DataFrame:
    """Add up each node and resource; the capacity is that of all hours with pods."""
    is_partly_empty = pl.col("empty") > zero()
    empty_hours = pl.when(is_partly_empty).then("empty_hours").otherwise(zero())
    used_hours = (pl.col("quantity") - empty_hours).cast(pl.Float64)
    return (
        merged.filter(pl.col("resource_kind").is_not_null())
        .group_by(_PART)
        .agg(
            effective_cost=pl.col("effective_unused").sum(),
            gross=pl.col("gross_unused").sum(),
            list_cost=pl.col("list_unused").sum(),
            source_file=joined_files(),
        )
        .join(days.drop("source_file"), on=KEY)
        .with_columns(capacity_quantity=(_size() * used_hours).cast(MONEY))
        .select(*_PART, *_SUMS, "source_file", "split_hours")
    )


def _quiet(whole: pl.DataFrame, of: Days) -> pl.DataFrame:
    """Take out the hours of DaemonSets alone, by cause.

    An hour that was billed in part counts as one of the day's split hours, like all others.
    """
    hours = _caused(of.when.quiet, of.last).group_by([*_DAY, "cause"])
    sums = _caused(of.when.unused, of.last).group_by([*_PART, "cause"])
    quiet = whole.select(*_PART, "source_file", "capacity_quantity", "split_hours").join(
        hours.agg(hours=pl.len().cast(MONEY)), on=_DAY
    )
    capacity = scaled(quiet, "capacity_quantity", by="hours", of="split_hours")
    amounts = sums.agg(
        effective_cost=pl.col("effective_unused").sum(),
        gross=pl.col("gross_unused").sum(),
        list_cost=pl.col("list_unused").sum(),
        quiet_requested=pl.col("requested_quantity").sum(),
    )
    return quiet.with_columns(capacity_quantity=capacity).join(
        amounts, on=[*_PART, "cause"], how="left"
    )


def _caused(hours: pl.DataFrame, last: pl.DataFrame) -> pl.DataFrame:
    """Add the cause of hours without other pods: `is_after` says that none came after them."""
    left = hours.join(last.with_columns(has_left=pl.lit(value=True)), on=_DAY, how="left")
    is_wait = pl.col("has_left").fill_null(value=False) & pl.col("is_after")
    return left.with_columns(
        cause=pl.when(is_wait).then(pl.lit(WAIT)).otherwise(pl.lit(EMPTY))
    ).drop("has_left", "is_after")


def _with_rest(whole: pl.DataFrame, quiet: pl.DataFrame) -> pl.DataFrame:
    """Add what quiet hours leave, so that each node and resource adds up to the whole.

    Where all hours were quiet there is no row for others, and the last cause takes what is left.
    """
    counted = quiet.group_by(_PART).agg(pl.col("hours").sum())
    rest = (
        whole.join(counted, on=_PART, how="left")
        .filter(pl.col("hours").fill_null(0) < pl.col("split_hours"))
        .select(*_PART, "source_file", cause=pl.lit(None, dtype=pl.String))
    )
    wholes = whole.select(*_PART, *(pl.col(name).alias(f"whole_{name}") for name in _SUMS))
    pieces = (
        pl.concat([rest, quiet], how="diagonal")
        .join(wholes, on=_PART)
        .sort([*_PART, "cause"], nulls_last=False)
        .with_columns(is_rest=pl.int_range(pl.len()).over(_PART) == 0)
    )
    return pieces.with_columns(
        pl.col("quiet_requested").fill_null(zero()), *(_left(name) for name in _SUMS)
    ).drop(wholes.columns[len(_PART) :], "hours", "split_hours")


def _left(name: str) -> pl.Expr:
    """Leave what is not known unknown: the capacity of an instance of unknown size."""
    own, whole = pl.col(name).fill_null(zero()), pl.col(f"whole_{name}")
    others = pl.when("is_rest").then(zero()).otherwise(own).sum().over(_PART)
    left = pl.when("is_rest").then(whole - others).otherwise(own)
    return pl.when(whole.is_not_null()).then(left).alias(name)


# ---------------------------------------------------------------- hours without pods


def empty_nodes(of: Days) -> pl.DataFrame:
    """Return empty hours, divided by AWS's own weights and the billed size of the instance."""
    is_free = ~pl.col("has_pods") & (pl.col("residual") == zero())
    empty = of.days.filter((pl.col("empty") != zero()) | is_free)
    empty = _caused(empty.with_columns(is_after=pl.lit(value=True)), of.last)
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
        .select(*_PART, "cause", "effective_cost", "capacity_quantity", "source_file")
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


def _size() -> pl.Expr:
    """Return the billed size of the instance in the unit of the row's resource kind."""
    kind = pl.col("resource_kind")
    sizes = {"cpu": "vcpu", "memory": "memory", "gpu": "gpu"}
    found = pl.lit(None, dtype=pl.Float64)
    for name, column in sizes.items():
        found = pl.when(kind == name).then(pl.col(column)).otherwise(found)
    return found
