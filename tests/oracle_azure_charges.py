"""The oracle's reading of Azure rows that no split source divides: what kind of cost each is.

Choices where the contract leaves room:

* A purchase belongs to a commitment when it names one, is priced as one, or its order's name says
  so. FOCUS has no words for refund and rounding: a Purchase or Adjustment of class Correction is
  a refund, any other Adjustment is rounding.
* Usage-based and neither bandwidth, a load balancer's nor a disk's: shared/other or a log's
  shared/logging, resource kind `other`. A tagged disk or address is its namespace's with all its
  meters.
* A disk of a claim without a namespace is `unmounted_volume` unless an agent's answer names it,
  also on days that a query answered, because a query names no disk.
* Resource kinds of rows of an unknown charge type are those of their resource.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.oracle_azure_files import Row
from tests.oracle_slices import ZERO, Kind, Slice, label_key

FIXED = {
    "refund": "refund",
    "unusedreservation": "unused_commitment",
    "unusedsavingsplan": "unused_commitment",
    "unusedbenefit": "unused_commitment",
    "roundingadjustment": "rounding",
    "adjustment": "rounding",
    "tax": "tax",
    "credit": "credit",
}
MANAGED = "microsoft.containerservice/managedclusters"
CATEGORIES = {
    "microsoft.compute/virtualmachinescalesets": "Compute",
    "microsoft.compute/virtualmachines": "Compute",
    "microsoft.compute/disks": "Storage",
}
RESOURCE_KINDS = {"Compute": "compute", "Storage": "storage", "Networking": "network"}
CLAIM_NAMESPACE = "kubernetes.io-created-for-pvc-namespace"


@dataclass(frozen=True)
class Clusters:
    """The configured clusters: their ids by subscription and node resource group."""

    by_group: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "Clusters":
        """Return the clusters of a [[source]]."""
        return cls(
            {
                (name.lower().split("/")[2], more["node_resource_group"].lower()): name.lower()
                for name, more in entry.get("clusters", {}).items()
            }
        )

    def of_resource(self, resource: str) -> str | None:
        """Return the cluster of a resource id in lower case."""
        if resource_type(resource) == MANAGED:
            return asset(resource)
        parts = resource.split("/")
        return self.by_group.get((parts[2], parts[4])) if len(parts) > 4 else None

    def of_row(self, row: Row) -> str | None:
        """Return the cluster of a row: by its resource, else by its resource group."""
        if resource_type(row.resource) == MANAGED:
            return asset(row.resource)
        return self.by_group.get(row.group)


def asset(resource: str) -> str:
    """Return the id of the resource that a resource is below: a node of a scale set is its set."""
    return "/".join(resource.split("/")[:9])


def resource_type(resource: str) -> str:
    """Return provider and type, such as `microsoft.compute/disks`; empty where there is none."""
    parts = resource.split("/")
    return "/".join(parts[6:8]) if len(parts) > 8 and parts[5] == "providers" else ""


def category(resource: str) -> str | None:
    """Return the service category of a resource of a node resource group."""
    kind = resource_type(resource)
    if kind.startswith("microsoft.network/"):
        return "Networking"
    return CATEGORIES.get(kind)


def tag(row: Row, *names: str) -> str | None:
    """Return the first filled tag; spellings of a key count as one."""
    found = {label_key(key): value for key, value in sorted(row.tags.items(), reverse=True)}
    return next((found[label_key(name)] for name in names if label_key(name) in found), None)


def is_time_based(row: Row) -> bool:
    """Whether a row is for capacity over time, which alone can be split or idle."""
    return bool(re.search(r"hour|day|month", row.text("unit")))


def fixed_kind(row: Row, cluster: str | None) -> Kind | None:
    """Return the kind of a row that is no cluster's usage."""
    reason = _reason(row)
    if reason:
        return "outside", reason, "other"
    if cluster is None:
        return "outside", "other_service", "other"
    if row.text("charge_type") == "usage":
        return None
    kind = RESOURCE_KINDS.get(category(row.resource) or "", "other")
    return "unattributed", "unclassified", kind


def _reason(row: Row) -> str | None:
    """Return why a row is no cluster's whatever its resource; None for usage and unknown types."""
    charge = row.text("charge_type")
    if row.text("status") == "unused":
        return "unused_commitment"
    if charge in ("purchase", "adjustment") and row.text("charge_class") == "correction":
        return "refund"
    if charge == "purchase":
        return "commitment_fee" if _is_commitment(row) else "other_service"
    return FIXED.get(charge)


def _is_commitment(row: Row) -> bool:
    is_priced = re.search(r"reserv|saving|commit", row.text("pricing") + row.text("order"))
    return bool(row.text("commitment") or is_priced)


def fee_kind(row: Row) -> Kind:
    """Return the kind of usage of a managed cluster itself."""
    what = row.text("meter")
    if "uptime sla" in what:
        return "cluster_fee", "control_plane", "other"
    is_long = "long term support" in what.replace("-", " ")
    return "cluster_fee", "extended_support" if is_long else "service_charge", "other"


def tagged_namespace(row: Row) -> str | None:
    """Return the namespace that the tags of a disk or an address name."""
    kind = resource_type(row.resource)
    if kind == "microsoft.compute/disks":
        return tag(row, CLAIM_NAMESPACE)
    if kind == "microsoft.network/publicipaddresses":
        named = tag(row, "k8s-azure-service", "service") or ""
        return named.split("/")[0] if "/" in named else None
    return None


def usage_kind(row: Row) -> Kind:
    """Return the kind of usage-based cost, which nobody splits."""
    if "bandwidth" in row.text("category"):
        return "shared", "network", "network"
    if _is_balancer(row) or "load balancer" in row.text("category"):
        return "shared", "load_balancer", "network"
    if category(row.resource) == "Storage":
        return "shared", "storage", "storage"
    return other_kind(row)


def unsplit_kind(row: Row) -> Kind:
    """Return the kind of capacity of a day that no source split."""
    what = category(row.resource)
    if what == "Networking":
        return "shared", "load_balancer" if _is_balancer(row) else "network", "network"
    return "unattributed", "no_split_source", RESOURCE_KINDS[str(what)]


def other_kind(row: Row) -> Kind:
    """Return the kind of a resource that is neither node, disk nor network."""
    is_log = re.search(r"operationalinsights|insights", resource_type(row.resource))
    return "shared", "logging" if is_log else "other", "other"


def _is_balancer(row: Row) -> bool:
    return resource_type(row.resource) == "microsoft.network/loadbalancers"


def is_unmounted(row: Row) -> bool:
    """Whether a disk was made for a claim whose namespace nobody knows."""
    if resource_type(row.resource) != "microsoft.compute/disks":
        return False
    return (
        row.resource.split("/")[8].startswith("pvc-")
        or tag(row, "k8s-azure-created-by") is not None
    )


def pool(row: Row) -> str | None:
    """Return the node pool that tags, or else the name of a scale set, tell."""
    named = tag(row, "aks-managed-poolName", "poolName")
    by_name = re.search(r"/virtualmachinescalesets/aks-(.+)-\d+-vmss", row.resource)
    return named or (by_name[1] if by_name else None)


def alone_kind(row: Row, *, is_named: bool, is_answered: bool) -> Kind | None:
    """Return the kind of capacity that no answer divides; None where one does or should.

    `is_named` says that an answer has the resource, `is_answered` that the day has an answer.
    """
    if is_named:
        return None
    if is_unmounted(row):
        return "unattributed", "unmounted_volume", "storage"
    if category(row.resource) is None:
        return other_kind(row)
    return None if is_answered else unsplit_kind(row)


def slice_of(
    source: str,
    rows: Sequence[Row],
    amounts: Mapping[str, Fraction],
    kind: Kind,
    cluster: str | None,
) -> Slice:
    """Return a slice of rows of one day and currency."""
    row, pools = rows[0], {pool(row) for row in rows}
    return Slice(
        source,
        row.day,
        row.currency,
        *kind,
        effective=amounts.get("effective"),
        billed=amounts.get("billed"),
        cluster=cluster,
        charge_class=str(row.cells["charge_class"]) if row.text("charge_class") else None,
        node_pool=pools.pop() if len(pools) == 1 and cluster else None,
    )


def total(rows: Sequence[Row]) -> dict[str, Fraction]:
    """Return the sum of rows in each view."""
    return {view: sum((row.amounts[view] for row in rows), ZERO) for view in rows[0].amounts}
