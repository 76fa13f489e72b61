"""What the rows of one file cost, at the grain of a day.

A row has one class. It is known from the row alone, so that rows of one day, SKU, resource and
workload can be summed here and classified later, when there are a hundred times fewer of them.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from transforms.gcp import codes, labels
from transforms.gcp.credits import absolute, every, price, separate
from transforms.gcp.nodes import in_hours
from transforms.money import known_sum

GROUP = (
    "fate",
    "charge_date",
    "cost_type",
    "is_correction",
    "service_id",
    "service_name",
    "sku_id",
    "sku",
    "unit",
    "pricing_unit",
    "project_id",
    "region_id",
    "billing_account_id",
    "billing_currency",
    "resource_name",
    "resource_global_name",
    "cluster_id",
    "node_pool",
    "namespace",
    "workload_type",
    "workload_name",
    "is_unused_reservation",
    "is_covered",
)
"""What two rows must share to be one charge of a day."""

CREDIT_GROUP = (*GROUP[:14], "cluster_id", "credit_type")
"""The same for credits that are no part of a price: whom they would have paid for is no matter."""

DEFAULT_MODEL = "Default"


def charges(rows: pl.LazyFrame, found: Iterable[str], wanted: Sequence[str]) -> pl.LazyFrame:
    """Return rows as charges of a day.

    rows: as `identified` returns them; found: the label keys of the file.
    Columns: GROUP, one `label:<key>` for each wanted label, the sums `effective` (cost and the
    credits of the price), `cost`, `amount` (cost and all credits), `amount_abs`, `list_cost`,
    `usage`, `pricing_quantity`, and the row count `rows`. A sum is NULL where a part is missing.
    `in_hours` has one bit for each hour of the day in which there is a row.
    """
    schema = rows.collect_schema()
    keys = [*GROUP, *(f"label:{label}" for label in wanted)]
    return (
        rows.select(
            *GROUP,
            *(labels.wanted(found, label) for label in wanted),
            "cost",
            "list_cost",
            "usage",
            "pricing_quantity",
            "start",
            effective=pl.col("cost") + price(schema),
            amount=pl.col("cost") + every(schema),
            amount_abs=pl.col("cost").abs() + absolute(schema),
        )
        .group_by(keys)
        .agg(
            *(known_sum(name) for name in ("cost", "amount", "list_cost", "usage")),
            known_sum("pricing_quantity"),
            pl.col("effective", "amount_abs").sum(),
            in_hours(),
            rows=pl.len().cast(pl.Int64),
        )
    )


def separate_credits(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return the credits that are no part of a price: CREDIT_GROUP, `effective`, `rows`."""
    return (
        separate(rows.select(*GROUP[:14], "cluster_id", "credits"))
        .group_by(CREDIT_GROUP)
        .agg(effective=known_sum("credit"), rows=pl.len().cast(pl.Int64))
    )


def exports(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return what a file holds of each run of the export: `export_time`, `rows`, `cost`, `print`.

    print: a sum of the rows' hashes, so that two runs with as many rows are not taken for one.
    """
    content = pl.struct("start", "sku_id", "resource_name", "project_id", "cost", "usage").hash()
    return (
        rows.filter(pl.col("export_time").is_not_null())
        .group_by("export_time")
        .agg(
            rows=pl.len().cast(pl.Int64),
            cost=pl.col("cost").sum(),
            print=(content % 2**32).cast(pl.Int64).sum(),
        )
    )


def identified(rows: pl.LazyFrame, period: str) -> pl.LazyFrame:
    """Add the columns of GROUP that a row says about itself.

    period: the billing month, YYYY-MM. `fate` is NULL where a row names no invoice month.
    """
    is_ours = pl.col("month") == period
    model = pl.col("consumption_model")
    return rows.with_columns(
        fate=pl.when(is_ours).then(pl.lit("sliced")).when(~is_ours).then(pl.lit("other_period")),
        charge_date=pl.col("start").dt.date(),
        is_correction=pl.col("is_correction") | (pl.col("cost_type") == "adjustment"),
        cluster_id=_cluster_id(),
        node_pool=labels.value(codes.NODE_POOL),
        namespace=labels.value(codes.NAMESPACE),
        workload_type=labels.value(codes.WORKLOAD_TYPE),
        workload_name=labels.value(codes.WORKLOAD_NAME),
        is_unused_reservation=_is_true(labels.value(codes.UNUSED_RESERVATION, "system_labels")),
        is_covered=(model != DEFAULT_MODEL).fill_null(value=False),
    ).with_columns(is_correction=pl.col("is_correction").fill_null(value=False))


def _cluster_id() -> pl.Expr:
    """A name alone is not unique: `project/location/name`; NULL where one of them is missing."""
    place = pl.coalesce(labels.value(codes.CLUSTER_LOCATION), "location")
    return pl.concat_str(
        pl.coalesce("project_id", "project_number"),
        place,
        labels.value(codes.CLUSTER_NAME),
        separator="/",
    )


def _is_true(value: pl.Expr) -> pl.Expr:
    return (value.str.to_lowercase() == "true").fill_null(value=False)
