"""The parts of all files of a month, put together into slices: classified, named, reported."""

from collections.abc import Mapping

import polars as pl

from transforms.gcp import codes, notices
from transforms.gcp.capacity import with_quantities
from transforms.gcp.classify import (
    classify,
    classify_credits,
    is_autopilot_pod,
    is_kubernetes_engine,
)
from transforms.gcp.nodes import node_days, pod_requests, resource_id
from transforms.gcp.others import standard_export
from transforms.schema import COST_VIEWS
from transforms.sliced import (
    Context,
    Sliced,
    as_slices,
    cluster_bills,
    findings_frame,
    require_values,
    totals,
)

_NEVER_EMPTY = {
    "fate": "invoice.month",
    "charge_date": "usage_start_time",
    "billing_currency": "currency",
    "cost": "cost",
    "amount": "credits.amount",
}


def combine(parts: Mapping[str, pl.LazyFrame], context: Context) -> Sliced:
    """Return one month of one source, sliced.

    parts: what `slice_file` returned for each file, concatenated, with `source_file` added.
    Raises InputError where a row lacks its month, day, currency or an amount, and where it is
    the standard export after all.
    """
    raw, raw_credits, exports, spellings = (
        parts[name].collect(engine="streaming")
        for name in ("charges", "credits", "exports", "spellings")
    )
    require_values(raw, _NEVER_EMPTY)
    _refuse_standard(raw)
    charges = _charges(classify(raw.filter(pl.col("fate") == "sliced")))
    paid = _credits(classify_credits(raw_credits.filter(pl.col("fate") == "sliced")))
    both = pl.concat([charges, paid], how="diagonal")
    return Sliced(
        slices=as_slices(_named(both), context),
        totals=totals(_with_all_credits(raw), COST_VIEWS, context),
        cluster_bills=cluster_bills(both.with_columns(billed="effective"), COST_VIEWS, context),
        findings=findings_frame(
            [
                *notices.of_codes(both, context),
                *notices.of_split(charges, context),
                *notices.of_source(charges, spellings, context),
                *notices.of_exports(exports, context),
            ]
        ),
        node_days=node_days(parts["usage"].collect(engine="streaming")),
        pod_requests=pod_requests(charges),
    )


def _refuse_standard(charges: pl.DataFrame) -> None:
    """JSON has no header: machines of a cluster, and no resource anywhere, are the standard export.

    Pods of Autopilot and fees have no resource either; they prove nothing.
    """
    resource = pl.coalesce("resource_name", "resource_global_name")
    machines = charges.filter(pl.col("cluster_id").is_not_null() & ~is_kubernetes_engine())
    columns = charges.select(resource, "namespace")
    if not machines.is_empty() and all(column.null_count() == len(column) for column in columns):
        raise standard_export("no row names a resource")


def _with_all_credits(raw: pl.DataFrame) -> pl.DataFrame:
    """What the raw rows cost before any credit is told apart: the same in both views."""
    amounts = {view: pl.col("amount") for view in COST_VIEWS}
    sizes = {f"{view}_abs": pl.col("amount_abs") for view in COST_VIEWS}
    return raw.with_columns(**amounts, **sizes)


# ---------------------------------------------------------------- slices


def _charges(charges: pl.DataFrame) -> pl.DataFrame:
    """Fill what a charge knows by itself; a node is known where the resource is an instance."""
    is_outside = pl.col("row_kind") == "outside"
    is_workload = pl.col("row_kind") == "workload"
    node = pl.col("resource_name").str.extract(codes.INSTANCE, 1)
    named = charges.with_columns(node_name=pl.when(~is_outside).then(node))
    return with_quantities(named).with_columns(
        *_split(),
        raw_namespace="namespace",
        charge_category=_category(),
        pricing_category=_pricing(),
        namespace=pl.when(is_workload).then("namespace"),
        workload_kind=pl.when(is_workload).then(pl.col("workload_type").str.replace(r"^.*-", "")),
        workload_name=pl.when(is_workload).then("workload_name"),
        node_pool=pl.when(~is_outside).then("node_pool"),
    )


def _split() -> list[pl.Expr]:
    """Who split the charge, Google's word for its part of it, and what Google calls idle of it."""
    namespace = pl.col("namespace")
    in_cluster = pl.col("row_kind") != "outside"
    is_known = (pl.col("unknown") != "cost_type").fill_null(value=True)
    is_split = in_cluster & is_known & namespace.is_not_null() & ~is_autopilot_pod()
    is_word = namespace.is_in(list(codes.NAMESPACE_KINDS)) | namespace.str.contains(":")
    has_idle = (namespace == codes.UNALLOCATED) & pl.col("row_kind").is_in(["idle", "shared"])
    return [
        pl.when(is_split).then(pl.lit(codes.SPLIT_SOURCE)).alias("split_source"),
        pl.when(in_cluster & is_word).then("namespace").otherwise("sku").alias("provider_class"),
        pl.when(has_idle).then("effective").alias("provider_idle_cost"),
    ]


def _credits(paid: pl.DataFrame) -> pl.DataFrame:
    return paid.with_columns(provider_class="credit_type", charge_category=pl.lit("Credit"))


def _category() -> pl.Expr:
    is_fee = pl.col("reason").is_in(["commitment_fee", "unused_commitment"])
    known = pl.col("cost_type").replace_strict(codes.CHARGE_CATEGORY, default=None)
    is_purchase = is_fee & (pl.col("cost_type") == "regular") & ~pl.col("is_unused_reservation")
    return pl.when(is_purchase).then(pl.lit("Purchase")).otherwise(known)


def _pricing() -> pl.Expr:
    is_spot = pl.col("sku").str.contains(r"\b(?:Spot|Preemptible)\b").fill_null(value=False)
    return (
        pl.when(is_spot)
        .then(pl.lit("Dynamic"))
        .when("is_covered")
        .then(pl.lit("Committed"))
        .otherwise(pl.lit("Standard"))
    )


def _named(charges: pl.DataFrame) -> pl.DataFrame:
    """Fill the columns that charges and credits share."""
    origin = (pl.col("sku_id"), resource_id(), pl.col("project_id"), pl.col("credit_type"))
    return charges.with_columns(
        effective_cost="effective",
        billed_cost="effective",
        sub_account_id="project_id",
        resource_id=resource_id(),
        cluster_name=pl.col("cluster_id").str.extract(r"([^/]+)$", 1),
        charge_class=pl.when("is_correction").then(pl.lit("Correction")),
        service_category=pl.col("service_name").replace_strict(
            codes.SERVICE_CATEGORY, default="Other"
        ),
        origin_id=pl.concat_str(
            *(part.fill_null("-") for part in origin),
            pl.col("charge_date").cast(pl.String),
            separator=" ",
        ),
    )
