"""An instance's day: what its parents cost, what its pods split of it, and what is left over."""

import datetime as dt
from typing import NamedTuple

import polars as pl

from transforms.aws.codes import PRICING_CATEGORY
from transforms.errors import InputError
from transforms.money import DUST_PER_ROW, zero
from transforms.schema import MONEY
from transforms.sliced import joined_files

KEY = ["resource_id", "charge_date", "billing_currency"]

DESCRIBED = (
    "cluster_id",
    "billing_account_id",
    "sub_account_id",
    "invoice_id",
    "region_id",
    "sku_id",
    "product_code",
    "node_pool",
)
"""What the parents say about a node and every slice of it repeats."""


class Intervals(NamedTuple):
    """When and how finely EKS split the instances of a source."""

    first: dt.datetime | None
    """Start of the first split interval; None where nothing was split."""
    daily: bool
    """Whether intervals are longer than an hour, so that hours cannot be counted."""
    counted: pl.DataFrame
    """resource_id, charge_date, split_hours: distinct split hours of an instance and day."""


def intervals(hours: pl.DataFrame) -> Intervals:
    """Read first hour, granularity and distinct hours from the split intervals of a source."""
    eks = hours.filter(pl.col("orchestrator") == "eks")
    longest = eks.select((pl.col("end") - pl.col("start")).max()).item()
    if longest is not None and longest > dt.timedelta(hours=25):
        raise InputError(
            "the export is monthly",
            expected="hourly or daily granularity",
            got=f"split rows of {longest}",
            hint="create an export with TIME_GRANULARITY = HOURLY",
        )
    counted = (
        hours.select(resource_id="instance", charge_date=pl.col("start").dt.date(), start="start")
        .group_by("resource_id", "charge_date")
        .agg(split_hours=pl.col("start").dt.truncate("1h").n_unique().cast(MONEY))
    )
    daily = longest is not None and longest > dt.timedelta(hours=1)
    return Intervals(eks.get_column("start").min(), daily, counted)  # type: ignore[arg-type]


def node_days(parents: pl.DataFrame, pods: pl.DataFrame, when: Intervals) -> pl.DataFrame:
    """One row per instance, day and currency: the parents, their split, and what is left over."""
    split = pods.group_by(KEY).agg(
        split=(pl.col("effective_split") + pl.col("effective_unused")).sum(),
        gross_split=(pl.col("gross_split") + pl.col("gross_unused")).sum(),
        split_rows=pl.col("rows").sum(),
    )
    days = (
        per_day(parents)
        .join(split, on=KEY, how="left")
        .join(when.counted, on=["resource_id", "charge_date"], how="left")
        .with_columns(has_pods=pl.col("split").is_not_null())
        .with_columns(
            residual=pl.col("effective") - pl.col("split").fill_null(zero()),
            dust=(pl.col("rows") + pl.col("split_rows").fill_null(0)).cast(MONEY)
            * pl.lit(DUST_PER_ROW, dtype=MONEY),
            empty_hours=zero() if when.daily else _empty_hours(),
        )
        .with_columns(empty=_empty_cost())
        .with_columns(rest=pl.col("residual") - pl.col("empty"))
    )
    is_dust = pl.col("has_pods") & (pl.col("rest").abs() <= pl.col("dust"))
    return days.with_columns(
        gap=pl.when(is_dust).then(zero()).otherwise("rest"),
        dust=pl.when(is_dust).then("rest").otherwise(zero()),
    )


def per_day(parents: pl.DataFrame) -> pl.DataFrame:
    """Add up an instance's day; where its rows describe it differently, the lowest text counts."""
    return parents.group_by(KEY).agg(
        pl.col("effective", "billed", "quantity", "rows").sum(),
        pl.col("max_price").max(),
        pl.col("vcpu", "memory", "gpu").max(),
        *(pl.col(name).min() for name in DESCRIBED),
        pricing_category=_pricing_category(),
        source_file=joined_files(),
    )


def _pricing_category() -> pl.Expr:
    """One category where all hours of the day were bought alike, else NULL."""
    known = pl.col("pricing_term").replace_strict(PRICING_CATEGORY, default=None)
    return pl.when(known.n_unique() == 1).then(known.first())


def _empty_hours() -> pl.Expr:
    """Hours of the instance without any split row: counted, never matched by time."""
    hours = pl.col("quantity") - pl.col("split_hours").fill_null(zero())
    return pl.when(hours > zero()).then(hours).otherwise(zero())


def _empty_cost() -> pl.Expr:
    """Cost of the empty hours: at most the residual, at most their number at the highest price."""
    most = (pl.col("empty_hours").cast(pl.Float64) * pl.col("max_price")).cast(MONEY)
    residual = pl.col("residual")
    is_dust = pl.col("has_pods") & (residual <= pl.col("dust"))
    return (
        pl.when(is_dust | (residual <= zero()))
        .then(zero())
        .otherwise(pl.min_horizontal(residual, most.fill_null(zero())))
    )
