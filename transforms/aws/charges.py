"""What each billed row costs in each view, at the grain of a day.

A row has one amount for the invoice (billed) and one amortised amount, before (gross) and after
(net) discounts; which of the two the account uses is decided once for a source and month, when
all files are known. Instances stay at the hour, because the first split hour of a source is
known only then.
"""

from collections.abc import Sequence

import polars as pl

from transforms.aws.codes import (
    COVERED,
    DISCOUNTS,
    FARGATE_POD,
    NODE_USAGE,
    USAGE_TYPES,
)
from transforms.aws.tags import (
    CLAIM_NAME,
    CLAIM_NAMESPACE,
    NODE_KEYS,
    NODE_POOL_KEYS,
    POD_KEYS,
    VOLUME_KEYS,
    Tags,
)
from transforms.money import known_sum, zero
from transforms.schema import MONEY

GROUP = (
    "fate",
    "is_node",
    "hour",
    "charge_date",
    "line_item_type",
    "product_code",
    "usage_type",
    "operation",
    "resource_id",
    "billing_currency",
    "billing_account_id",
    "sub_account_id",
    "invoice_id",
    "region_id",
    "pricing_term",
    "pricing_unit",
    "sku_id",
    "vcpu",
    "memory",
    "gpu",
    "is_committed_fee",
    "split_parent",
    "tag_cluster",
    "node_pool",
    "claim_namespace",
    "claim_name",
    "is_volume",
    "is_node_part",
    "workload_type",
    "workload_tag",
    "deployment",
)
"""What two rows must share to be one charge of a day (and hour, for instances)."""

AMOUNTS = ("gross", "net", "billed", "list_cost", "quantity")
POD_QUANTITIES = (
    "requested_quantity",
    "used_quantity",
    "gross_workload_idle",
    "net_workload_idle",
)
"""Known for Fargate pods only, and only where AWS measured them."""


def charges(rows: pl.LazyFrame, tags: Tags, labels: Sequence[str], period: str) -> pl.LazyFrame:
    """Return billed rows as charges of a day.

    Columns: GROUP, one `label:<key>` for each wanted label, the sums AMOUNTS and POD_QUANTITIES,
    `gross_abs`, `net_abs`, `billed_abs` (sums of absolute row amounts), `max_gross_price`,
    `max_net_price` (highest price per hour of a row), and the row counts `rows`,
    `net_filled` (rows with a net amount), `gross_missing`, `net_missing` (amounts that should
    be there and are not).
    """
    billed = rows.select(*_identity(period), *_tags(tags, labels), *_amounts())
    keys = [*GROUP, *(f"label:{key}" for key in labels)]
    nothing = pl.lit(None)
    price = {
        f"max_{basis}_price": pl.when(pl.col("is_node") & (pl.col("quantity") > 0))
        .then(pl.col(basis).cast(pl.Float64) / pl.col("quantity").cast(pl.Float64))
        .otherwise(nothing)
        .max()
        for basis in ("gross", "net")
    }
    return billed.group_by(keys).agg(
        *(pl.col(name).sum() for name in AMOUNTS),
        *(known_sum(name) for name in POD_QUANTITIES),
        *(pl.col(name).abs().sum().alias(f"{name}_abs") for name in ("gross", "net", "billed")),
        **price,
        rows=pl.len().cast(pl.Int64),
        net_filled=pl.col("own_net").count().cast(pl.Int64),
        gross_missing=pl.col("gross").null_count().cast(pl.Int64),
        net_missing=(pl.col("net").is_null() & (pl.col("gross") != zero())).sum().cast(pl.Int64),
        end=pl.col("end").max(),
    )


def is_node() -> pl.Expr:
    """Say whether a raw row is an instance's own time, the parent that pods split."""
    family = pl.col("product_product_family")
    by_usage = family.is_null() & pl.col("line_item_usage_type").str.contains(NODE_USAGE)
    return (
        pl.col("line_item_line_item_type").is_in(USAGE_TYPES)
        & pl.col("line_item_resource_id").str.starts_with("i-")
        & pl.col("line_item_operation").str.contains("RunInstances", literal=True)
        & (family.str.contains("Compute Instance", literal=True).fill_null(value=False) | by_usage)
    ).fill_null(value=False)


def fate(ours: str, period: str) -> pl.Expr:
    """Return what becomes of a row; NULL where it does not say which month bills it."""
    is_ours = in_period(period)
    return pl.when(is_ours).then(pl.lit(ours)).when(~is_ours).then(pl.lit("other_period"))


def in_period(period: str) -> pl.Expr:
    """Say whether a month (YYYY-MM) bills a row; NULL where the row does not say."""
    return pl.col("bill_billing_period_start_date").dt.strftime("%Y-%m") == period


def _identity(period: str) -> list[pl.Expr]:
    start = pl.col("line_item_usage_start_date")
    kind = pl.col("line_item_line_item_type")
    return [
        fate("sliced", period).alias("fate"),
        is_node().alias("is_node"),
        pl.when(is_node()).then(start.dt.truncate("1h")).alias("hour"),
        start.dt.date().alias("charge_date"),
        pl.col("line_item_usage_end_date").alias("end"),
        kind.alias("line_item_type"),
        pl.col("line_item_product_code").alias("product_code"),
        pl.col("line_item_usage_type").alias("usage_type"),
        pl.col("line_item_operation").alias("operation"),
        pl.col("line_item_resource_id").alias("resource_id"),
        pl.col("line_item_currency_code").alias("billing_currency"),
        pl.col("bill_payer_account_id").alias("billing_account_id"),
        pl.col("line_item_usage_account_id").alias("sub_account_id"),
        pl.col("bill_invoice_id").alias("invoice_id"),
        _region().alias("region_id"),
        _pricing_term().alias("pricing_term"),
        pl.col("pricing_unit"),
        pl.col("product_sku").alias("sku_id"),
        _number("product_vcpu").alias("vcpu"),
        _number("product_memory").alias("memory"),
        _number("product_gpu").alias("gpu"),
        pl.col("reservation_reservation_a_r_n").is_not_null().alias("is_committed_fee"),
        pl.col("split_line_item_parent_resource_id").alias("split_parent"),
    ]


def _pricing_term() -> pl.Expr:
    committed = pl.col("line_item_line_item_type").is_in([COVERED, "DiscountedUsage"])
    spot = pl.col("line_item_usage_type").str.contains("SpotUsage", literal=True)
    return (
        pl.when(committed)
        .then(pl.lit("Reserved"))
        .when(spot)
        .then(pl.lit("Spot"))
        .otherwise(pl.col("pricing_term"))
    )


def _region() -> pl.Expr:
    zone = pl.col("line_item_availability_zone").str.replace(r"[a-z]$", "")
    return pl.coalesce(pl.col("product_region_code"), pl.col("product_region"), zone)


def _number(name: str) -> pl.Expr:
    """`16 GiB` -> 16; `NA` and `0`, which no instance has, -> NULL."""
    digits = pl.col(name).str.replace_all(",", "").str.extract(r"^\s*([0-9]+(?:\.[0-9]+)?)")
    number = digits.cast(pl.Float64)
    return pl.when(number > 0).then(number)


def _tags(tags: Tags, labels: Sequence[str]) -> list[pl.Expr]:
    return [
        tags.cluster().alias("tag_cluster"),
        tags.value(*NODE_POOL_KEYS).alias("node_pool"),
        tags.value(CLAIM_NAMESPACE).alias("claim_namespace"),
        tags.value(CLAIM_NAME).alias("claim_name"),
        tags.value(*VOLUME_KEYS).is_not_null().alias("is_volume"),
        tags.value(*NODE_KEYS, "aws:eks:cluster-name").is_not_null().alias("is_node_part"),
        tags.value(POD_KEYS["workload_type"]).alias("workload_type"),
        tags.value(POD_KEYS["workload_name"]).alias("workload_tag"),
        tags.value(POD_KEYS["deployment"]).alias("deployment"),
        *(tags.value(key).alias(f"label:{key}") for key in labels),
    ]


def _amounts() -> list[pl.Expr]:
    is_pod = pl.col("line_item_operation") == FARGATE_POD
    return [
        _amortised("").alias("gross"),
        _amortised("net_").alias("net"),
        pl.col("line_item_net_unblended_cost").alias("own_net"),
        pl.col("line_item_unblended_cost").alias("billed"),
        pl.col("pricing_public_on_demand_cost").alias("list_cost"),
        pl.col("line_item_usage_amount").alias("quantity"),
        pl.when(is_pod).then(_requested()).alias("requested_quantity"),
        pl.when(is_pod).then("split_line_item_actual_usage").alias("used_quantity"),
        pl.when(is_pod)
        .then(workload_idle(_amortised(""), _requested(), "line_item_usage_amount"))
        .alias("gross_workload_idle"),
        pl.when(is_pod)
        .then(workload_idle(_amortised("net_"), _requested(), "line_item_usage_amount"))
        .alias("net_workload_idle"),
    ]


def _requested() -> pl.Expr:
    return pl.coalesce("split_line_item_reserved_usage", "line_item_usage_amount")


def workload_idle(cost: pl.Expr, requested: pl.Expr, charged: str) -> pl.Expr:
    """Return the requested but unused part of a row's cost, in AWS's own interval.

    Taking the maximum after summing would hide one pod's slack behind another's burst.
    """
    used = pl.col("split_line_item_actual_usage").cast(pl.Float64)
    slack = (requested.cast(pl.Float64) - used).clip(lower_bound=0)
    quantity = pl.col(charged).cast(pl.Float64)
    amount = cost.cast(pl.Float64)
    idle = pl.when(quantity > 0).then(amount * slack / quantity).otherwise(amount * slack * 0)
    return idle.cast(MONEY)


def _amortised(net: str) -> pl.Expr:
    """The amortised amount of a row by its line-item type, before or after discounts."""
    kind = pl.col("line_item_line_item_type")
    fee = (kind == "Fee") & pl.col("reservation_reservation_a_r_n").is_not_null()
    unused_reservation = pl.col(
        f"reservation_{net}unused_amortized_upfront_fee_for_billing_period"
    ) + pl.col(f"reservation_{net}unused_recurring_fee")
    unused_plan = pl.col("savings_plan_total_commitment_to_date") - pl.col(
        "savings_plan_used_commitment"
    )
    own = pl.col(f"line_item_{net}unblended_cost")
    discount = own.fill_null(zero()) if net else own
    return (
        pl.when(kind == COVERED)
        .then(pl.col(f"savings_plan_{net}savings_plan_effective_cost"))
        .when(kind == "DiscountedUsage")
        .then(pl.col(f"reservation_{net}effective_cost"))
        .when(kind.is_in(["SavingsPlanNegation", "SavingsPlanUpfrontFee"]) | fee)
        .then(zero())
        .when(kind == "SavingsPlanRecurringFee")
        .then(unused_plan)
        .when(kind == "RIFee")
        .then(unused_reservation)
        .when(kind.is_in(list(DISCOUNTS)))
        .then(discount)
        .otherwise(own)
    )
