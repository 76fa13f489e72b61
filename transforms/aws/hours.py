"""Split intervals: when AWS split an instance, and in which hours DaemonSets alone ran on it.

A pod that is no DaemonSet's makes its hour a busy one. An export by the day has one interval a
day, which is busy or not as a whole.
"""

import datetime as dt
from typing import NamedTuple

import polars as pl

from transforms.aws.charges import in_period
from transforms.aws.distribution import rates
from transforms.aws.split import is_daemon, orchestrator, resource_kind
from transforms.aws.tags import Tags
from transforms.errors import InputError
from transforms.schema import MONEY

SUMS = {
    "gross_unused": "unused_cost",
    "net_unused": "net_unused_cost",
    "list_unused": "public_on_demand_unused_cost",
    "gross_split": "split_cost",
    "requested_quantity": "reserved_usage",
    "charged_quantity": "split_usage",
    "ratio": "split_usage_ratio",
}
INTERVAL = ("orchestrator", "instance", "start", "end")
_GROUP = (*INTERVAL, "resource_kind", "billing_currency")
_IDLE = ("effective_unused", "gross_unused", "list_unused", "requested_quantity")


class Intervals(NamedTuple):
    """When and how finely EKS split the instances of a source."""

    first: dt.datetime | None
    """Start of the first split interval; None where nothing was split."""
    daily: bool
    """Whether intervals are longer than an hour, so that hours cannot be counted."""
    counted: pl.DataFrame
    """resource_id, charge_date, split_hours: distinct split hours of an instance and day."""
    quiet: pl.DataFrame
    """resource_id, charge_date, hour, is_after: hours in which DaemonSets alone ran, and whether
    no other pod ran on the instance afterwards."""
    unused: pl.DataFrame
    """resource_id, charge_date, billing_currency, resource_kind, is_after: what quiet hours add
    up to: effective_unused, gross_unused, list_unused, requested_quantity."""


def hours(rows: pl.LazyFrame, tags: Tags, period: str) -> pl.LazyFrame:
    """Return what split intervals of instances add up to, by resource and currency.

    Columns: INTERVAL, `resource_kind`, `billing_currency`, `is_busy` (a pod that is no
    DaemonSet's ran), the sums SUMS, `ratios` (rows that tell their ratio), the bounds of
    `distribution.rates` and `rows`. Files are put together by sums, `is_busy` by any.
    """
    return (
        rows.filter(in_period(period))
        .select(
            operation="line_item_operation",
            instance="split_line_item_parent_resource_id",
            start="line_item_usage_start_date",
            end="line_item_usage_end_date",
            usage_type="line_item_usage_type",
            billing_currency="line_item_currency_code",
            is_busy=~is_daemon(tags),
            **{name: pl.col(f"split_line_item_{column}") for name, column in SUMS.items()},
        )
        .with_columns(rates())
        .group_by("operation", "instance", "start", "end", "usage_type", "billing_currency")
        .agg(*merged(), ratios=pl.col("ratio").count().cast(pl.Int64), rows=pl.len().cast(pl.Int64))
        .with_columns(orchestrator(pl.col("operation")), resource_kind(pl.col("usage_type")))
        .select(*_GROUP, pl.exclude(*_GROUP, "operation", "usage_type"))
    )


def merged() -> list[pl.Expr]:
    """Return what rows of one interval and resource are together."""
    return [
        pl.col("is_busy").any(),
        *(pl.col(name).sum() for name in SUMS),
        pl.col("rate_from").max(),
        pl.col("rate_to").min(),
    ]


def intervals(part: pl.LazyFrame, *, net: bool) -> Intervals:
    """Read the split intervals of a source. part: `hours` of all its files."""
    spans = part.group_by(INTERVAL).agg(pl.col("is_busy").any()).collect(engine="streaming")
    eks = spans.filter(pl.col("orchestrator") == "eks")
    longest = eks.select((pl.col("end") - pl.col("start")).max()).item()
    if longest is not None and longest > dt.timedelta(hours=25):
        raise InputError(
            "the export is monthly",
            expected="hourly or daily granularity",
            got=f"split rows of {longest}",
            hint="create an export with TIME_GRANULARITY = HOURLY",
        )
    by_hour = spans.group_by(_hour()).agg(pl.col("is_busy").any())
    quiet = _quiet(by_hour)
    daily = longest is not None and longest > dt.timedelta(hours=1)
    first: dt.datetime | None = eks.get_column("start").min()  # type: ignore[assignment]
    return Intervals(first, daily, _counted(by_hour), quiet, _unused(part, quiet, net=net))


def _hour() -> list[pl.Expr]:
    return [
        pl.col("instance").alias("resource_id"),
        pl.col("start").dt.date().alias("charge_date"),
        pl.col("start").dt.truncate("1h").alias("hour"),
    ]


def _counted(by_hour: pl.DataFrame) -> pl.DataFrame:
    return by_hour.group_by("resource_id", "charge_date").agg(split_hours=pl.len().cast(MONEY))


def _quiet(by_hour: pl.DataFrame) -> pl.DataFrame:
    last = by_hour.filter("is_busy").group_by("resource_id").agg(last_busy=pl.col("hour").max())
    is_after = (pl.col("hour") > pl.col("last_busy")).fill_null(value=True)
    return (
        by_hour.filter(~pl.col("is_busy"))
        .join(last, on="resource_id", how="left")
        .select("resource_id", "charge_date", "hour", is_after=is_after)
    )


def _unused(part: pl.LazyFrame, quiet: pl.DataFrame, *, net: bool) -> pl.DataFrame:
    """Only quiet hours are read, which are few; all hours of a month would not be."""
    is_ours = (pl.col("orchestrator") == "eks") & pl.col("resource_kind").is_not_null()
    keys = ["resource_id", "charge_date", "hour"]
    return (
        part.filter(is_ours)
        .with_columns(*_hour(), effective_unused="net_unused" if net else "gross_unused")
        .join(quiet.lazy(), on=keys)
        .group_by("resource_id", "charge_date", "billing_currency", "resource_kind", "is_after")
        .agg(pl.col(_IDLE).sum())
        .collect(engine="streaming")
    )
