"""An instance's day: what its parents cost, what its pods split of it, and what is left over."""

import polars as pl

from transforms.aws.codes import PRICING_CATEGORY
from transforms.aws.hours import Intervals
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
    """Add up an instance's day; where its rows describe it differently, the lowest text counts.

    `pricing_category` is NULL where its hours were not all bought alike.
    """
    return parents.group_by(KEY).agg(
        pl.col("effective", "billed", "quantity", "rows").sum(),
        pl.col("max_price").max(),
        pl.col("vcpu", "memory", "gpu").max(),
        *(pl.col(name).min() for name in DESCRIBED),
        pricing_category=pl.when(pricing_category().n_unique() == 1).then(
            pricing_category().first()
        ),
        source_file=joined_files(),
    )


def pricing_category() -> pl.Expr:
    """Return how a row of an instance was bought; NULL where its term says nothing."""
    return pl.col("pricing_term").replace_strict(PRICING_CATEGORY, default=None)


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
