"""The parts of all files of a month, put together into slices.

Order: choose net or gross, find each charge's cluster, sum up what the bill says, split the
nodes, classify the rest, report what a person must know.
"""

from collections.abc import Mapping

import polars as pl

from transforms.aws import distribution, notices, request
from transforms.aws.classify import classify, commitment_slices, invoice_slices
from transforms.aws.clusters import arn_of_resource, name_of, resolve
from transforms.aws.codes import (
    CHARGE_CATEGORY,
    COVERED,
    POD_ARN,
    PRICING_CATEGORY,
    QUANTITY_UNIT,
    SERVICE_CATEGORY,
)
from transforms.aws.hours import intervals
from transforms.aws.nodes import node_hours, node_slices
from transforms.aws.pod_requests import pod_requests
from transforms.money import zero
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
    "fate": "bill_billing_period_start_date",
    "charge_date": "line_item_usage_start_date",
    "billing_currency": "line_item_currency_code",
}
_LOG_GROUP = r"log-group:/aws/(?:eks|containerinsights)/([^/:]+)"


def combine(parts: Mapping[str, pl.LazyFrame], context: Context) -> Sliced:
    """Return one month of one source, sliced.

    parts: what `slice_file` returned for each file, concatenated, with `source_file` added.
    Raises InputError where a row lacks its month, its day or its currency.
    """
    raw_charges, raw_pods = (
        parts[name].collect(engine="streaming") for name in ("charges", "pods")
    )
    for part in (raw_charges, raw_pods):
        require_values(part, _NEVER_EMPTY)
    net = _is_net(raw_charges, raw_pods)
    charges, pods = _in_basis(raw_charges, raw_pods, net=net)
    sliced, eks = _with_clusters(charges.filter(pl.col("fate") == "sliced"), _of_eks(pods))
    is_node = pl.col("is_node") & pl.col("cluster_id").is_not_null()
    parents, others = sliced.filter(is_node), classify(sliced.filter(~is_node))
    when = intervals(parts["hours"], net=net)
    by_request = context.charge_basis == "request"
    nodes = node_slices(_without_offset(parents), eks, when, by_request=by_request)
    charged = _without_offset(pl.concat([parents, others], how="diagonal"))
    return Sliced(
        slices=as_slices(_slices(nodes, parents, others), context),
        totals=totals(_all_rows(charges, pods), COST_VIEWS, context),
        cluster_bills=cluster_bills(charged, COST_VIEWS, context),
        findings=findings_frame(
            [
                *notices.of_basis(raw_charges, raw_pods, context, net=net),
                *notices.of_codes(others, eks, context),
                *notices.of_split(parents, pods, eks, nodes, when, context),
                *distribution.notices(parts["hours"], context),
                *(request.notices(nodes, context) if by_request else ()),
                *notices.of_source(sliced, others, parts["spellings"].collect(), context),
            ]
        ),
        bill_values={"net": net},
        node_days=node_hours(parents, when),
        pod_requests=pod_requests(parts["requests"], eks),
    )


# ---------------------------------------------------------------- basis


def _is_net(charges: pl.DataFrame, pods: pl.DataFrame) -> bool:
    """Net where the account has net amounts: once for the month, never row by row.

    Where AWS delivers net amounts for instances but none for their pods, gross is the only
    basis in which pods and instances can be compared.
    """
    has_net = any((frame.get_column("net_filled") > 0).any() for frame in (charges, pods))
    return has_net and not notices.lacks_net_split(pods)


def _in_basis(
    charges: pl.DataFrame, pods: pl.DataFrame, *, net: bool
) -> tuple[pl.DataFrame, pl.DataFrame]:
    basis = "net" if net else "gross"
    return (
        charges.with_columns(
            effective=basis,
            effective_abs=f"{basis}_abs",
            max_price=f"max_{basis}_price",
            workload_idle=f"{basis}_workload_idle",
        ),
        pods.with_columns(
            effective_split=f"{basis}_split",
            effective_unused=f"{basis}_unused",
            workload_idle=f"{basis}_workload_idle",
        ),
    )


# ---------------------------------------------------------------- clusters


def _of_eks(pods: pl.DataFrame) -> pl.DataFrame:
    """Return the split rows of EKS in the month; what they split is their `resource_id`."""
    is_ours = (pl.col("fate") == "split_information") & (pl.col("orchestrator") == "eks")
    return pods.filter(is_ours).rename({"instance": "resource_id"})


def _with_clusters(charges: pl.DataFrame, pods: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Add `cluster_id`: pods and control planes name it, instances by tag or by their pods."""
    charges = charges.with_columns(
        cluster_arn=arn_of_resource(pl.col("resource_id")),
        tag_cluster=pl.coalesce("tag_cluster", pl.col("resource_id").str.extract(_LOG_GROUP, 1)),
    )
    known = [
        *charges.get_column("cluster_arn").drop_nulls().unique(),
        *pods.get_column("cluster_arn").drop_nulls().unique(),
    ]
    pods = resolve(pods, known)
    nodes = resolve(charges.filter("is_node"), known)
    known += nodes.get_column("cluster_id").drop_nulls().unique().to_list()
    by_tag = nodes.group_by("resource_id").agg(tagged=pl.col("cluster_id").min())
    by_pods = pods.group_by("resource_id").agg(podded=pl.col("cluster_id").min())
    of_instance = by_tag.join(by_pods, on="resource_id", how="full", coalesce=True).select(
        "resource_id", instance_cluster=pl.coalesce("tagged", "podded")
    )
    resolved = resolve(charges, known).join(
        of_instance, on="resource_id", how="left", maintain_order="left"
    )
    return (
        resolved.with_columns(cluster_id=pl.coalesce("instance_cluster", "cluster_id")).drop(
            "instance_cluster"
        ),
        pods,
    )


# ---------------------------------------------------------------- the bill, before slicing


def _all_rows(charges: pl.DataFrame, pods: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that totals count. Split rows add nothing: their money is their parents'."""
    names = ["fate", "billing_currency", "rows"]
    amounts = [f"{view}{suffix}" for view in COST_VIEWS for suffix in ("", "_abs")]
    split = pods.select(*names, *(zero().alias(amount) for amount in amounts))
    return pl.concat([charges.select(*names, *amounts), split], how="vertical_relaxed")


# ---------------------------------------------------------------- slices


def _slices(nodes: pl.DataFrame, parents: pl.DataFrame, others: pl.DataFrame) -> pl.DataFrame:
    """Put the nodes' slices, the other charges and what is on the invoice alone together."""
    offsets = invoice_slices(_as_node(parents))
    rest = pl.concat([commitment_slices(others), *offsets], how="diagonal")
    both = pl.concat([_finish_nodes(nodes), _finish_charges(rest)], how="diagonal")
    return both.with_columns(cluster_name=name_of(pl.col("cluster_id")))


def _without_offset(charges: pl.DataFrame) -> pl.DataFrame:
    """Usage covered by a plan is 0 inside the cluster; its offset is outside."""
    is_covered = pl.col("line_item_type") == COVERED
    return charges.with_columns(billed=pl.when(is_covered).then(zero()).otherwise("billed"))


def _as_node(parents: pl.DataFrame) -> pl.DataFrame:
    text = pl.lit(None, dtype=pl.String)
    return parents.with_columns(row_kind=text, reason=text, resource_kind=text, unknown=text)


def _finish_nodes(nodes: pl.DataFrame) -> pl.DataFrame:
    return nodes.with_columns(
        charge_category=pl.lit("Usage"),
        service_category=pl.lit("Compute"),
        origin_id=pl.concat_str(
            "resource_id", pl.col("charge_date").cast(pl.String), separator="/"
        ),
    )


def _finish_charges(charges: pl.DataFrame) -> pl.DataFrame:
    """Fill the columns of `normalised` that a charge knows by itself."""
    is_outside = pl.col("row_kind") == "outside"
    origin = ("line_item_type", "usage_type", "resource_id")
    return charges.with_columns(
        *_workload(),
        effective_cost="effective",
        billed_cost="billed",
        service_name="product_code",
        service_category=pl.col("product_code").replace_strict(SERVICE_CATEGORY, default="Other"),
        charge_category=pl.col("line_item_type").replace_strict(CHARGE_CATEGORY, default=None),
        pricing_category=pl.col("pricing_term").replace_strict(PRICING_CATEGORY, default=None),
        provider_class=pl.when(is_outside).then("line_item_type").otherwise("usage_type"),
        pricing_quantity="quantity",
        origin_id=pl.concat_str(
            *(pl.col(name).fill_null("-") for name in origin),
            pl.col("charge_date").cast(pl.String),
            separator="/",
        ),
    )


def _workload() -> list[pl.Expr]:
    """Name the workload of a Fargate pod (by its ARN) and of a claimed volume."""
    is_workload = pl.col("row_kind") == "workload"
    is_claim = is_workload & pl.col("claim_namespace").is_not_null()
    is_pod = is_workload & ~is_claim
    arn = {g: pl.col("resource_id").str.extract(POD_ARN.pattern, g) for g in (3, 4)}
    kind = pl.when(pl.col("deployment").is_not_null()).then(pl.lit("Deployment"))
    unit = pl.col("resource_kind").replace_strict(QUANTITY_UNIT, default=None)
    return [
        pl.when(is_claim).then("claim_namespace").when(is_pod).then(arn[3]).alias("namespace"),
        pl.when(is_claim)
        .then(pl.lit("PersistentVolumeClaim"))
        .when(is_pod)
        .then(kind.otherwise("workload_type"))
        .alias("workload_kind"),
        pl.when(is_claim)
        .then("claim_name")
        .when(is_pod)
        .then(pl.coalesce("deployment", "workload_tag", arn[4]))
        .alias("workload_name"),
        pl.when(is_pod).then(unit).alias("quantity_unit"),
        pl.when(is_pod).then("quantity").alias("charged_quantity"),
    ]
