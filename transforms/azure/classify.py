"""What each charge is: its row kind, reason and resource kind, and whether a split may divide it.

First match wins, in the order of the rules. A charge type that no list names stays on the
cluster's bill as unclassified, or outside, and is reported.
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from transforms.azure.clusters import managed_cluster
from transforms.azure.codes import (
    CHARGE_TYPES,
    CLUSTER_FEE,
    LOGS,
    OUTSIDE_REASON,
    SPLIT_CATEGORIES,
)
from transforms.matching import first_match

_TIME = r"(?i)\b(?:hours?|days?|months?)\b"
_BELOW = r"^/subscriptions/[^/]+/resourcegroups/[^/]+/providers/"
_MACHINE = _BELOW + r"microsoft\.compute/virtualmachine(?:scalesets|s)/[^/]+"
_POOL = r"/virtualmachinescalesets/aks-([a-z0-9]+)-\d+-vmss"
_DISK = _BELOW + r"microsoft\.compute/disks/"
_SNAPSHOT = _BELOW + r"(?:microsoft\.compute/snapshots|microsoft\.storage)/"
_NETWORK = _BELOW + r"microsoft\.network/"
_ADDRESS = _BELOW + r"microsoft\.network/publicipaddresses/"
_BALANCER = _BELOW + r"microsoft\.network/loadbalancers/"
_ONE_SERVICE = r"^([^/,\s]+)/([^/,\s]+)$"

OTHER = "Other"
"""Category of resources that only a split by resource can divide."""


class Rule(NamedTuple):
    """Charges that match are of this row kind, reason and resource kind."""

    matches: pl.Expr
    row_kind: str
    reason: str | None
    resource_kind: str
    unknown: str | None = None
    """The column whose value no list names, where that is why the rule matches."""
    category: str | None = None
    """Category of a split that may divide the charge; the kinds above hold where none does."""


def classify(charges: pl.DataFrame) -> pl.DataFrame:
    """Add `row_kind`, `reason`, `resource_kind`, `unknown`, `category` and the workload's names.

    charges: one row a charge, with `cluster_id` (NULL where its cluster is not known).
    `category` is NULL where no split may divide the charge. What is outside has no cluster
    afterwards.
    """
    is_outside = pl.col("row_kind") == "outside"
    return first_match(charges, list(_rules()), Rule._fields[1:]).with_columns(
        *_workload(),
        node_resource=pl.col("resource_id").str.extract(f"({_MACHINE})", 1),
        node_pool=pl.coalesce("node_pool", pl.col("resource_id").str.extract(_POOL, 1)),
        tagged_cluster=pl.col("cluster_id"),
        cluster_id=pl.when(~is_outside).then("cluster_id"),
    )


def _rules() -> Iterator[Rule]:
    kind, in_cluster = pl.col("charge_type"), pl.col("cluster_id").is_not_null()
    is_unknown = ~kind.is_in(CHARGE_TYPES) | kind.is_null()
    yield Rule(is_unknown & in_cluster, "unattributed", "unclassified", "other", "charge_type")
    yield Rule(is_unknown, "outside", "other_service", "other", "charge_type")
    for type_, reason in OUTSIDE_REASON.items():
        yield Rule(kind == type_, "outside", reason, "other")
    is_purchase = kind == "Purchase"
    yield Rule(is_purchase & pl.col("is_commitment"), "outside", "commitment_fee", "other")
    yield Rule(is_purchase | ~in_cluster, "outside", "other_service", "other")
    yield from _fees()
    yield from _tagged()
    yield from _by_use()
    yield from _by_time()


def _fees() -> Iterator[Rule]:
    is_fee = managed_cluster(pl.col("resource_id")).is_not_null()
    for reason, pattern in CLUSTER_FEE.items():
        is_meter = pl.col("meter_name").str.contains(pattern)
        yield Rule(is_fee & is_meter, "cluster_fee", reason, "other")
    yield Rule(is_fee, "cluster_fee", "service_charge", "other")


def _tagged() -> Iterator[Rule]:
    """Disks and addresses whose tags name the namespace: nobody else need split them."""
    yield Rule(_is(_DISK) & pl.col("claim_namespace").is_not_null(), "workload", None, "storage")
    yield Rule(_is(_ADDRESS) & _names_service(), "workload", None, "network")


def _by_use() -> Iterator[Rule]:
    """Cost that grows with use and not with time: it can be neither idle nor split."""
    is_used = ~pl.col("unit").str.contains(_TIME) | pl.col("unit").is_null()
    meter = pl.col("meter_category")
    yield Rule(is_used & (meter == "Bandwidth"), "shared", "network", "network")
    yield Rule(is_used & _is_balancer(), "shared", "load_balancer", "network")
    yield Rule(is_used & (_is(_DISK) | _is(_SNAPSHOT)), "shared", "storage", "storage")
    yield Rule(is_used & _is(_NETWORK), "shared", "network", "network")
    yield Rule(is_used & meter.is_in(LOGS), "shared", "logging", "other")
    yield Rule(is_used, "shared", "other", "other")


def _by_time() -> Iterator[Rule]:
    """Cost of time, which a split divides; the kinds here hold where there is none."""
    lost, unsplit = "unattributed", "no_split_source"
    is_volume, is_log = pl.col("is_volume"), pl.col("meter_category").is_in(LOGS)
    compute, storage, network = SPLIT_CATEGORIES
    yield Rule(_is(_MACHINE), lost, unsplit, "compute", category=compute)
    is_lost = _is(_DISK) & is_volume
    yield Rule(is_lost, lost, "unmounted_volume", "storage", category=storage)
    yield Rule(_is(_DISK), lost, unsplit, "storage", category=storage)
    is_balancer = _is(_NETWORK) & _is_balancer()
    yield Rule(is_balancer, "shared", "load_balancer", "network", category=network)
    yield Rule(_is(_NETWORK), "shared", "network", "network", category=network)
    yield Rule(_is(_SNAPSHOT), "shared", "storage", "storage", category=OTHER)
    yield Rule(is_log, "shared", "logging", "other", category=OTHER)
    yield Rule(pl.lit(value=True), "shared", "other", "other", category=OTHER)


def _is(pattern: str) -> pl.Expr:
    return pl.col("resource_id").str.contains(pattern).fill_null(value=False)


def _is_balancer() -> pl.Expr:
    return _is(_BALANCER) | (pl.col("meter_category") == "Load Balancer")


def _names_service() -> pl.Expr:
    """One Service, not a list of several, whose parts nobody knows."""
    return pl.col("service").str.contains(_ONE_SERVICE).fill_null(value=False)


def _workload() -> list[pl.Expr]:
    is_workload = pl.col("row_kind") == "workload"
    is_claim = is_workload & (pl.col("resource_kind") == "storage")
    service = {group: pl.col("service").str.extract(_ONE_SERVICE, group) for group in (1, 2)}
    return [
        pl.when(is_claim)
        .then("claim_namespace")
        .when(is_workload)
        .then(service[1])
        .alias("namespace"),
        pl.when(is_claim)
        .then(pl.lit("PersistentVolumeClaim"))
        .when(is_workload)
        .then(pl.lit("Service"))
        .alias("workload_kind"),
        pl.when(is_claim)
        .then("claim_name")
        .when(is_workload)
        .then(service[2])
        .alias("workload_name"),
    ]
