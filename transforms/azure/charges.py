"""What each billed row costs in the views its export has, at the grain of a day."""

from collections.abc import Sequence

import polars as pl

from transforms.azure.clusters import identity
from transforms.azure.codes import (
    CHARGE_TYPES,
    FOCUS_CHARGE_TYPE,
    FOCUS_UNUSED,
    PRICING_CATEGORY,
)
from transforms.azure.tags import (
    CLAIM_NAME,
    CLAIM_NAMESPACE,
    CLUSTER_GROUP,
    CLUSTER_NAME,
    CREATED_BY,
    POOL,
    SERVICE,
    Tags,
)
from transforms.money import known_sum
from transforms.sliced import Context

GROUP = (
    "fate",
    "lacks_amount",
    "charge_date",
    "charge_type",
    "charge_class",
    "is_commitment",
    "meter_category",
    "meter_name",
    "unit",
    "resource_id",
    "resource_group",
    "billing_currency",
    "billing_account_id",
    "sub_account_id",
    "invoice_id",
    "region_id",
    "sku_id",
    "pricing_category",
    "is_aks_node",
    "node_pool",
    "claim_namespace",
    "claim_name",
    "is_volume",
    "service",
    "tag_cluster",
    "tag_cluster_group",
)
"""What two rows must share to be one charge of a day."""

AMOUNTS = ("effective", "billed", "list_cost", "contracted_cost", "quantity")

_NOBODY = "00000000-0000-0000-0000-000000000000"
_IN_SUBSCRIPTION = r"^/subscriptions/([^/]+)"
_IN_GROUP = r"^/subscriptions/[^/]+/resourcegroups/([^/]+)"
_COMMITMENT = r"(?i)reserv|savings ?plan"


def charges(rows: pl.LazyFrame, tags: Tags, context: Context, views: Sequence[str]) -> pl.LazyFrame:
    """Return billed rows as charges of a day.

    rows: what `columns.resolve` returns. Columns: GROUP, one `label:<key>` for each wanted label,
    the sums AMOUNTS (NULL where one of the rows has none), `effective_abs` and `billed_abs` (sums
    of absolute row amounts), and the row count `rows`. Ids are in lower case.
    """
    keys = [*GROUP, *(f"label:{key}" for key in context.labels)]
    named = (
        rows.with_columns(tags=tags.decoded(pl.col("tags")), **_ids())
        .with_columns(charge_type=_charge_type(context.dataset))
        .with_columns(
            *_tags(tags, context.labels),
            fate=_fate(context.billing_period),
            lacks_amount=pl.any_horizontal(pl.col(view).is_null() for view in views),
            charge_date=pl.col("date"),
            charge_class=_charge_class(),
            is_commitment=_is_commitment(),
            region_id=_squeezed("region_id"),
            pricing_category=_squeezed("pricing_model").replace_strict(
                PRICING_CATEGORY, default=None, return_dtype=pl.String
            ),
            is_aks_node=_is_aks_node(tags),
        )
    )
    return named.group_by(keys).agg(
        *(known_sum(name) for name in AMOUNTS),
        *(pl.col(view).abs().sum().alias(f"{view}_abs") for view in ("effective", "billed")),
        rows=pl.len().cast(pl.Int64),
    )


def _fate(period: str) -> pl.Expr:
    """Return what becomes of a row; NULL where it does not say which month bills it."""
    month = pl.col("period_start").dt.strftime("%Y-%m")
    is_pair = pl.col("rule_name").is_not_null()
    ours = pl.when(is_pair).then(pl.lit("provider_reallocation")).otherwise(pl.lit("sliced"))
    return pl.when(month == period).then(ours).when(month != period).then(pl.lit("other_period"))


def _ids() -> dict[str, pl.Expr]:
    """Ids in lower case: Azure writes one resource in several spellings within a file."""
    resource = identity(pl.col("resource_id"))
    own = identity(pl.col("sub_account_id")).str.strip_prefix("/subscriptions/")
    group = identity(pl.col("resource_group"))
    return {
        "resource_id": resource,
        "sub_account_id": pl.coalesce(
            resource.str.extract(_IN_SUBSCRIPTION, 1), pl.when(own != _NOBODY).then(own)
        ),
        "resource_group": pl.coalesce(resource.str.extract(_IN_GROUP, 1), group),
    }


def _charge_type(dataset: str) -> pl.Expr:
    """The charge type of a cost export; FOCUS says the same in three columns."""
    words = (
        FOCUS_CHARGE_TYPE if dataset == "focus_export" else {name: name for name in CHARGE_TYPES}
    )
    own = pl.col("charge_type")
    unused = pl.col("commitment_type").replace_strict(
        FOCUS_UNUSED, default="UnusedBenefit", return_dtype=pl.String
    )
    is_unused = (own == "Usage") & (pl.col("commitment_status") == "Unused")
    is_refund = own.is_in(["Purchase", "Adjustment"]) & (pl.col("charge_class") == "Correction")
    known = {word.lower(): charge_type for word, charge_type in words.items()}
    return (
        pl.when(is_unused)
        .then(unused)
        .when(is_refund)
        .then(pl.lit("Refund"))
        .otherwise(own.str.to_lowercase().replace_strict(known, default=own))
    )


def _charge_class() -> pl.Expr:
    """A refund is a correction, as Microsoft maps it to FOCUS."""
    is_refund = pl.col("charge_type") == "Refund"
    return pl.when(is_refund).then(pl.lit("Correction")).otherwise("charge_class")


def _is_commitment() -> pl.Expr:
    named = pl.concat_str(
        "pricing_model", "order_name", "resource_id", separator=" ", ignore_nulls=True
    )
    return pl.col("commitment").is_not_null() | named.str.contains(_COMMITMENT)


def _is_aks_node(tags: Tags) -> pl.Expr:
    by_details = pl.col("details").str.contains("(?i)microsoft.aks").fill_null(value=False)
    on_machine = pl.col("resource_id").str.contains(r"microsoft\.compute/virtualmachine")
    has_sign = tags.value(*POOL).is_not_null() | by_details
    return (on_machine & has_sign).fill_null(value=False)


def _squeezed(name: str) -> pl.Expr:
    return pl.col(name).str.to_lowercase().str.replace_all(" ", "", literal=True)


def _tags(tags: Tags, labels: Sequence[str]) -> list[pl.Expr]:
    created = tags.value(CREATED_BY).is_not_null()
    is_disk = pl.col("resource_id").str.contains(r"microsoft\.compute/disks/")
    is_claim_like = pl.col("resource_id").str.contains(r"/disks/pvc-")
    return [
        tags.value(*POOL).alias("node_pool"),
        tags.value(CLAIM_NAMESPACE).alias("claim_namespace"),
        tags.value(CLAIM_NAME).alias("claim_name"),
        ((is_disk & created) | is_claim_like).fill_null(value=False).alias("is_volume"),
        tags.value(*SERVICE).alias("service"),
        tags.value(CLUSTER_NAME).str.to_lowercase().alias("tag_cluster"),
        tags.value(CLUSTER_GROUP).str.to_lowercase().alias("tag_cluster_group"),
        *(tags.value(key).alias(f"label:{key}") for key in labels),
    ]
