"""What each charge that is not a node of a cluster is: its row kind, reason and resource kind.

First match wins, in the order of the rules. A line-item type, usage type or operation that no
list names stays on the cluster's bill as unclassified, or outside, and is reported.
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from transforms.aws.codes import (
    CLUSTER_FEE,
    COMMITMENT_FEES,
    COVERED,
    FARGATE_POD,
    FARGATE_RESOURCE,
    LINE_ITEM_TYPES,
    OUTSIDE_REASON,
    SUPPORT,
    TRANSFER,
    USAGE_TYPES,
)
from transforms.matching import first_match
from transforms.money import zero


class Rule(NamedTuple):
    """Charges that match are of this row kind, reason and resource kind."""

    matches: pl.Expr
    row_kind: str
    reason: str | None
    resource_kind: str
    unknown: str | None = None
    """The column whose value no list names, where that is why the rule matches."""


def classify(charges: pl.DataFrame) -> pl.DataFrame:
    """Add `row_kind`, `reason`, `resource_kind` and `unknown` to charges.

    charges: one row a charge, with `cluster_id` (NULL where its cluster is not known). `unknown`
    names the column whose value no list knows. What is outside has no cluster afterwards.
    """
    is_outside = pl.col("row_kind") == "outside"
    return first_match(charges, list(_rules()), Rule._fields[1:]).with_columns(
        cluster_id=pl.when(~is_outside).then("cluster_id")
    )


def commitment_slices(charges: pl.DataFrame) -> pl.DataFrame:
    """Return classified charges with fees and covered usage as two slices each.

    The views disagree about both: a recurring fee is the unused commitment in the amortised
    view and a fee on the invoice; covered usage costs its plan's price in the amortised view,
    and on the invoice an amount that the negation takes back.
    """
    is_fee = pl.col("line_item_type").is_in(COMMITMENT_FEES)
    is_covered = pl.col("line_item_type") == COVERED
    main = charges.with_columns(
        reason=pl.when(is_fee).then(pl.lit("unused_commitment")).otherwise("reason"),
        billed=pl.when(is_fee | is_covered).then(zero()).otherwise("billed"),
    )
    return pl.concat([main, *invoice_slices(charges)], how="vertical")


def invoice_slices(charges: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield what fees and covered usage are on the invoice, outside the clusters."""
    for types, reason in ((COMMITMENT_FEES, "commitment_fee"), ((COVERED,), "commitment_offset")):
        yield charges.filter(pl.col("line_item_type").is_in(types)).with_columns(
            row_kind=pl.lit("outside"),
            reason=pl.lit(reason),
            resource_kind=pl.lit("other"),
            cluster_id=pl.lit(None, dtype=pl.String),
            effective=zero(),
            unknown=pl.lit(None, dtype=pl.String),
        )


def _rules() -> Iterator[Rule]:
    kind = pl.col("line_item_type")
    in_cluster = pl.col("cluster_id").is_not_null()
    is_support = pl.col("product_code").str.contains(SUPPORT)

    is_unknown = ~kind.is_in(LINE_ITEM_TYPES) | kind.is_null()
    yield from _unclassified(is_unknown, in_cluster, "line_item_type")
    for type_, reason in OUTSIDE_REASON.items():
        yield Rule(kind == type_, "outside", reason, "other")
    yield Rule((kind == "Fee") & is_support, "outside", "support", "other")
    yield Rule((kind == "Fee") & pl.col("is_committed_fee"), "outside", "commitment_fee", "other")
    yield Rule(~kind.is_in(USAGE_TYPES), "outside", "other_service", "other")
    yield Rule(is_support, "outside", "support", "other")
    yield from _containers(in_cluster)
    yield from _unclassified(pl.col("split_parent").is_not_null(), in_cluster, "operation")
    yield Rule(~in_cluster, "outside", "other_service", "other")
    yield from _instance_extras()
    yield from _volumes()
    yield from _shared()


def _unclassified(matches: pl.Expr, in_cluster: pl.Expr, column: str) -> Iterator[Rule]:
    yield Rule(matches & in_cluster, "unattributed", "unclassified", "other", column)
    yield Rule(matches, "outside", "other_service", "other", column)


def _containers(in_cluster: pl.Expr) -> Iterator[Rule]:
    """Fargate pods and the fees of product AmazonEKS."""
    usage = pl.col("usage_type")
    is_pod = (pl.col("operation") == FARGATE_POD) & in_cluster
    for resource_kind, pattern in FARGATE_RESOURCE.items():
        yield Rule(is_pod & usage.str.contains(pattern), "workload", None, resource_kind)
    is_eks = (pl.col("product_code") == "AmazonEKS").fill_null(value=False)
    for reason, pattern in CLUSTER_FEE.items():
        is_fee = is_eks & usage.str.contains(pattern)
        yield Rule(is_fee & in_cluster, "cluster_fee", reason, "other")
        yield Rule(is_fee, "outside", "other_service", "other")
    yield from _unclassified(is_eks | is_pod, in_cluster, "usage_type")


def _instance_extras() -> Iterator[Rule]:
    """What else is billed on an instance of a cluster: transfer, CPU credits, ..."""
    on_instance = pl.col("resource_id").str.starts_with("i-")
    is_transfer = pl.col("usage_type").str.contains(TRANSFER)
    yield Rule(on_instance & is_transfer, "shared", "network", "network")
    yield Rule(on_instance, "shared", "other", "other")


def _volumes() -> Iterator[Rule]:
    is_volume = pl.col("resource_id").str.contains(r"(^|/)vol-")
    has_claim = pl.col("claim_namespace").is_not_null()
    is_node_disk = pl.col("is_node_part") & ~pl.col("is_volume")
    yield Rule(is_volume & has_claim, "workload", None, "storage")
    yield Rule(is_volume & is_node_disk, "system_overhead", "node_disk", "storage")
    yield Rule(is_volume, "unattributed", "unmounted_volume", "storage")


def _shared() -> Iterator[Rule]:
    """Cost of a cluster that is neither node capacity nor one workload's."""
    usage, product = pl.col("usage_type"), pl.col("product_code")
    is_balancer = (product == "AWSELB") | usage.str.contains("LoadBalancer|LCUUsage")
    is_network = usage.str.contains(TRANSFER) | product.is_in(["AmazonVPC", "AWSDataTransfer"])
    is_storage = usage.str.contains("Snapshot") | product.is_in(["AmazonEFS", "AmazonFSx"])
    yield Rule(is_balancer, "shared", "load_balancer", "network")
    yield Rule(product == "AmazonCloudWatch", "shared", "logging", "other")
    yield Rule(is_storage, "shared", "storage", "storage")
    yield Rule(is_network, "shared", "network", "network")
    yield Rule(pl.lit(value=True), "shared", "other", "other")
