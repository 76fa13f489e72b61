"""What each charge is: its row kind, its reason and what it pays for.

First match wins, in the order of the rules. What decides is the row itself, never its cluster:
one cluster may have nodes and pods billed by their requests side by side.
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from transforms.gcp import codes
from transforms.matching import first_match


class Rule(NamedTuple):
    """Charges that match are of this row kind and reason."""

    matches: pl.Expr
    row_kind: str
    reason: str | None
    unknown: str | None = None
    """The column whose value no list names, where that is why the rule matches."""


def classify(charges: pl.DataFrame) -> pl.DataFrame:
    """Add `resource_kind`, `row_kind`, `reason` and `unknown` to charges.

    What is outside has no cluster afterwards; what is outside or a fee pays for nothing that
    could be named: its resource kind is `other`.
    """
    has_kind = ~pl.col("row_kind").is_in(["outside", "cluster_fee"])
    named = charges.with_columns(resource_kind=_resource_kind())
    return first_match(named, list(_rules()), Rule._fields[1:]).with_columns(
        resource_kind=pl.when(has_kind).then("resource_kind").otherwise(pl.lit("other")),
        cluster_id=pl.when(pl.col("row_kind") != "outside").then("cluster_id"),
    )


def classify_credits(paid: pl.DataFrame) -> pl.DataFrame:
    """Add the same columns to credits that are no part of a price."""
    is_payment = pl.col("credit_type").is_in(codes.PAYMENT_CREDITS).fill_null(value=False)
    in_cluster = ~is_payment & pl.col("cluster_id").is_not_null()
    return paid.with_columns(
        row_kind=pl.when(in_cluster).then(pl.lit("unattributed")).otherwise(pl.lit("outside")),
        reason=pl.when(is_payment)
        .then(pl.lit("credit"))
        .when(in_cluster)
        .then(pl.lit("unclassified"))
        .otherwise(pl.lit("other_service")),
        resource_kind=pl.lit("other"),
        unknown=pl.when(~is_payment).then(pl.lit("credit_type")),
        cluster_id=pl.when(in_cluster).then("cluster_id"),
    )


def _rules() -> Iterator[Rule]:
    cost_type = pl.col("cost_type")
    in_cluster = pl.col("cluster_id").is_not_null()
    is_adjustment = cost_type == "adjustment"
    is_unknown = ~cost_type.is_in(codes.COST_TYPES) | cost_type.is_null()

    yield Rule(cost_type == "tax", "outside", "tax")
    yield Rule(cost_type == "rounding_error", "outside", "rounding")
    yield Rule(is_unknown & in_cluster, "unattributed", "unclassified", "cost_type")
    yield Rule(is_unknown, "outside", "other_service", "cost_type")
    yield Rule(~in_cluster & is_adjustment, "outside", "refund")
    yield Rule(_sku(codes.COMMITMENT_FEE), "outside", "commitment_fee")
    yield Rule(_sku(codes.NEW_COMMITMENT_FEE), "outside", "unused_commitment")
    yield Rule(~in_cluster & pl.col("is_unused_reservation"), "outside", "unused_commitment")
    is_support = pl.col("service_name").str.contains("Support", literal=True)
    yield Rule(~in_cluster & is_support, "outside", "support")
    yield Rule(~in_cluster, "outside", "other_service")
    yield from _of_clusters()


def _of_clusters() -> Iterator[Rule]:
    """Charges whose cluster is known, by what stands in `k8s-namespace`."""
    namespace = pl.col("namespace")
    is_word = namespace.is_in(list(codes.NAMESPACE_KINDS)) | namespace.str.contains(":")
    is_real = namespace.is_not_null() & ~is_word

    yield Rule(
        is_autopilot_pod() & ~is_real.fill_null(value=False),
        "unattributed",
        "unclassified",
        "namespace",
    )
    yield Rule(is_real, "workload", None)
    unallocated = namespace == codes.UNALLOCATED
    network = pl.col("resource_kind") == "network"
    yield Rule(unallocated & ~_is_capacity() & network, "shared", "network")
    yield Rule(unallocated & ~_is_capacity(), "shared", "other")
    for word, (row_kind, reason) in codes.NAMESPACE_KINDS.items():
        yield Rule(namespace == word, row_kind, reason)
    yield Rule(namespace.is_not_null(), "unattributed", "unclassified", "namespace")
    is_extended = pl.col("sku").str.to_lowercase().str.contains("extended", literal=True)
    yield Rule(is_kubernetes_engine() & is_extended, "cluster_fee", "extended_support")
    yield Rule(is_kubernetes_engine(), "cluster_fee", "control_plane")
    yield Rule(pl.lit(value=True), "unattributed", "unclassified")


def is_autopilot_pod() -> pl.Expr:
    """Say whether a charge is a pod billed by its requests: nobody split it, nothing is idle."""
    is_pod = pl.col("sku").str.contains(codes.AUTOPILOT_POD)
    return (is_pod & is_kubernetes_engine()).fill_null(value=False)


def is_kubernetes_engine() -> pl.Expr:
    """Say whether a charge is of the service that bills clusters themselves."""
    id_, name = codes.KUBERNETES_ENGINE
    by_id = (pl.col("service_id") == id_).fill_null(value=False)
    return by_id | (pl.col("service_name") == name).fill_null(value=False)


def _is_capacity() -> pl.Expr:
    """Say whether a charge is capacity over time. What is billed by use cannot stand idle."""
    over_time = pl.col("unit").str.contains("second", literal=True).fill_null(value=True)
    return over_time & pl.col("resource_kind").is_in(codes.CAPACITY_KINDS)


def _resource_kind() -> pl.Expr:
    """By the words of the SKU; what else a virtual machine costs over time is `compute`."""
    is_machine = pl.col("resource_name").str.contains(codes.INSTANCE) & pl.col("unit").str.contains(
        "second", literal=True
    )
    named = [
        pl.when(_sku(rf"(?i)\b(?:{words})\b")).then(pl.lit(kind))
        for kind, words in codes.RESOURCE_WORDS.items()
    ]
    return pl.coalesce(*named, pl.when(is_machine).then(pl.lit("compute")), pl.lit("other"))


def _sku(pattern: str) -> pl.Expr:
    return pl.col("sku").str.contains(pattern).fill_null(value=False)
