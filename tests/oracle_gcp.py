"""The oracle's reading of one Google source: each row of the bill has one kind, first match wins.

Choices where the contract leaves room:

* Both views are the same: cost and the credits that are part of the price.
* A row is split when it has a `k8s-namespace`, whatever its value, and is no pod of Autopilot.
  A row of unknown cost type counts as not split.
* Autopilot's pods are also those with a word before: `Autopilot Spot Pod ...`.
* A resource kind is the first of cpu, memory, gpu, storage, network whose words stand in the
  SKU's description; `transfer` is a word of network, `licence` of none.
* Capacity is CPU, memory, GPU, disk or the rest of a machine, in a unit of time or an unknown one.
  What Google calls unallocated elsewhere, an address billed by the second too, is shared and keeps
  its resource kind; it has provider idle like all it calls unallocated, the bridge's
  `not_time_based`.
* A credit of an unknown type pays for nothing that could be named: its resource kind is `other`.
* An unused reservation and support count only without a cluster; the fees of commitments, old and
  new, are outside whatever labels they carry. An adjustment of them without a cluster is a refund.
* Labels of a workload: `k8s-label/`, then `k8s-namespace-labels/`, then the other labels.
"""

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests import oracle_gcp_files, oracle_gcp_nodes
from tests.oracle_gcp_files import Row
from tests.oracle_slices import ZERO, Fate, Kind, Read, Slice, labels

VIEWS = ("effective", "billed")
PRICE_CREDITS = (
    "SUSTAINED_USAGE_DISCOUNT",
    "COMMITTED_USAGE_DISCOUNT",
    "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE",
    "FEE_UTILIZATION_OFFSET",
    "DISCOUNT",
    "SUBSCRIPTION_BENEFIT",
    "RESELLER_MARGIN",
)
PAYMENT_CREDITS = ("FREE_TIER", "PROMOTION")
SPECIAL: Mapping[str, tuple[str, str]] = {
    "kube:unallocated": ("idle", "unrequested"),
    "kube:system-overhead": ("system_overhead", "node_reserve"),
    "goog-k8s-unknown": ("unattributed", "unknown_owner"),
    "goog-k8s-unsupported-sku": ("unattributed", "unsupported_sku"),
}
OLD_FEES = ("Commitment v1:", "Commitment - dollar based v1:")
UNUSED_RESERVATION = "compute.googleapis.com/is_unused_reservation"
WORDS = {
    "cpu": "core|cores|vcpu|mcpu",
    "memory": "ram|memory",
    "gpu": "gpu|tpu",
    "storage": "disk|pd|hyperdisk|storage|ephemeral",
    "network": "network|networking|egress|load balancing|ip|transfer",
}
POD_LABEL, NAMESPACE_LABEL = "k8s-label/", "k8s-namespace-labels/"
KUBERNETES_ENGINE = "CCD8-9BF1-090E"


def read(entry: dict[str, Any], folder: Path, month: str) -> Read:
    """Return one month of a source."""
    return read_rows(entry["id"], oracle_gcp_files.read(folder / entry["location"], month), month)


def read_rows(source: str, rows: list[Row], month: str) -> Read:
    """Return one month (YYYY-MM) of rows."""
    number = month.replace("-", "")
    fates = [_fate(row, "sliced" if row.month == number else "other_period") for row in rows]
    inside = [(row, list(slices(source, row))) for row in rows if row.month == number]
    charges = [(row, pieces[0]) for row, pieces in inside]
    oracle_gcp_nodes.give_capacity(charges)
    return Read(
        VIEWS,
        fates,
        [piece for _, pieces in inside for piece in pieces],
        oracle_gcp_nodes.hours(charges),
        oracle_gcp_nodes.requests(charges),
    )


def _fate(row: Row, name: str) -> Fate:
    amount = row.cost + sum((credit for _, credit in row.credits), ZERO)
    return Fate(name, row.currency, dict.fromkeys(VIEWS, amount))


def slices(source: str, row: Row) -> Iterator[Slice]:
    """Yield the slice of a row, and one for each credit that is no part of its price."""
    cluster = cluster_of(row)
    price = sum((credit for name, credit in row.credits if name in PRICE_CREDITS), row.cost)
    yield _charge(source, row, price, cluster)
    for name, credit in row.credits:
        if name in PAYMENT_CREDITS or (name not in PRICE_CREDITS and cluster is None):
            reason = "credit" if name in PAYMENT_CREDITS else "other_service"
            yield _slice(source, row, credit, ("outside", reason, "other"))
        elif name not in PRICE_CREDITS:
            kind = ("unattributed", "unclassified", "other")
            yield _slice(source, row, credit, kind, cluster=cluster)


def cluster_of(row: Row) -> str | None:
    """Return `project/location/name`; None where a part of it is missing."""
    name = row.labels.get("goog-k8s-cluster-name")
    place = row.labels.get("goog-k8s-cluster-location") or row.location
    return f"{row.project}/{place}/{name}" if name and place and row.project else None


def _slice(source: str, row: Row, amount: Fraction, kind: Kind, **more: Any) -> Slice:
    charge_class = "Correction" if row.is_correction else None
    own = {"effective": amount, "billed": amount, "charge_class": charge_class, **more}
    return Slice(source, row.start.date(), row.currency, *kind, **own)


def _charge(source: str, row: Row, amount: Fraction, cluster: str | None) -> Slice:
    kind = _fixed_kind(row, cluster) or _cluster_kind(row)
    if kind[0] == "outside":
        return _slice(source, row, amount, kind)
    namespace = row.labels.get("k8s-namespace")
    is_node = re.fullmatch(r"projects/[^/]+/instances/[^/]+", row.resource or "")
    piece = _slice(source, row, amount, kind, cluster=cluster)
    piece.node = row.resource_id if is_node else None
    piece.node_name = str(row.resource).rsplit("/", 1)[-1] if is_node else None
    piece.node_pool = row.labels.get("goog-k8s-node-pool-name")
    piece.is_split = bool(namespace) and not is_autopilot_pod(row) and _is_known(row)
    piece.is_pod = kind[0] == "workload" or is_autopilot_pod(row)
    if kind[0] == "workload":
        piece.namespace = namespace
        piece.labels = _labels(row)
        owner = row.labels.get("k8s-workload-type")
        piece.workload_kind = owner.rsplit("-", 1)[-1] if owner else None
    if namespace == "kube:unallocated" and kind[0] in ("idle", "shared"):
        piece.provider_idle = amount
    return piece


def _fixed_kind(row: Row, cluster: str | None) -> Kind | None:
    """Return the kind of what is decided before any namespace is looked at."""
    if row.cost_type in ("tax", "rounding_error"):
        return "outside", "tax" if row.cost_type == "tax" else "rounding", "other"
    if not _is_known(row):
        if cluster is None:
            return "outside", "other_service", "other"
        return "unattributed", "unclassified", resource_kind(row)
    if cluster and _commitment(row) is None:
        return None
    if not cluster and row.cost_type == "adjustment":
        return "outside", "refund", "other"
    return "outside", _commitment(row) or _outside_reason(row), "other"


def _is_known(row: Row) -> bool:
    return row.cost_type in ("regular", "adjustment", "tax", "rounding_error")


def _commitment(row: Row) -> str | None:
    """Return the reason of a commitment's fee. What its offset leaves of a new one is unused."""
    if row.sku.startswith(OLD_FEES):
        return "commitment_fee"
    is_new = re.search(r"Committed Use Discounts - \d+ Year", row.sku)
    return "unused_commitment" if is_new else None


def _outside_reason(row: Row) -> str:
    if row.system_labels.get(UNUSED_RESERVATION, "").lower() == "true":
        return "unused_commitment"
    return "support" if "Support" in row.service else "other_service"


def _cluster_kind(row: Row) -> Kind:
    namespace = row.labels.get("k8s-namespace", "")
    resource = resource_kind(row)
    if is_autopilot_pod(row) and (not namespace or namespace in SPECIAL):
        return "unattributed", "unclassified", resource
    if namespace in SPECIAL:
        if namespace == "kube:unallocated" and not _is_capacity(row):
            return "shared", "network" if resource == "network" else "other", resource
        return *SPECIAL[namespace], resource
    if namespace and ":" not in namespace:
        return "workload", None, resource
    if not namespace and _is_kubernetes_engine(row):
        is_extended = "extended" in row.sku.lower()
        return "cluster_fee", "extended_support" if is_extended else "control_plane", "other"
    return "unattributed", "unclassified", resource


def _is_kubernetes_engine(row: Row) -> bool:
    return row.service_id == KUBERNETES_ENGINE or row.service == "Kubernetes Engine"


def is_autopilot_pod(row: Row) -> bool:
    """Whether a row is a pod billed by its request, without any node."""
    return bool(re.match(r"Autopilot (\S+ )*Pod\b", row.sku)) and _is_kubernetes_engine(row)


def resource_kind(row: Row) -> str:
    """Return what a SKU pays for."""
    for kind, words in WORDS.items():
        if re.search(rf"\b({words})\b", row.sku, re.IGNORECASE):
            return kind
    is_node = re.fullmatch(r"projects/[^/]+/instances/[^/]+", row.resource or "")
    return "compute" if is_node and "second" in (row.unit or "") else "other"


def _is_capacity(row: Row) -> bool:
    is_over_time = row.unit is None or "second" in row.unit
    return is_over_time and resource_kind(row) not in ("network", "other")


def _labels(row: Row) -> dict[str, str]:
    def below(prefix: str) -> list[tuple[str, str]]:
        own = (pair for pair in row.labels.items() if pair[0].startswith(prefix))
        return [(key.removeprefix(prefix), value) for key, value in own]

    others = [pair for pair in row.labels.items() if not pair[0].startswith("k8s-")]
    return labels(below(POD_LABEL), below(NAMESPACE_LABEL), others)
