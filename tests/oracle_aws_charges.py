"""The oracle's reading of AWS charges that are no nodes: what kind of cost each is.

First match wins, in the order of the contract. Nodes and their pods are in `oracle_aws_nodes`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.oracle_aws_files import Row
from tests.oracle_aws_source import (
    DISCOUNTS,
    USAGE,
    Source,
    billed,
    is_commitment_fee,
    start,
    tag,
)
from tests.oracle_slices import ZERO, Kind, Slice

TYPE_REASON = {
    "Tax": "tax",
    "Credit": "credit",
    "Refund": "refund",
    "SavingsPlanNegation": "commitment_offset",
    "SavingsPlanUpfrontFee": "commitment_fee",
    **dict.fromkeys(DISCOUNTS, "discount"),
}
POOL_TAGS = ("eks:nodegroup-name", "karpenter.sh/nodepool", "alpha.eksctl.io/nodegroup-name")
NODE_TAGS = (
    *POOL_TAGS,
    "aws:eks:cluster-name",
    "aws:autoscaling:groupName",
    "aws:ec2launchtemplate:id",
)
CSI_TAGS = ("CSIVolumeName", "ebs.csi.aws.com/cluster", "c_s_i_volume_name")


@dataclass
class AwsSlice(Slice):
    """A slice with both views, and its share before discounts, by which `billed` may go.

    `slack` is what was requested and not used, interval by interval; None where not measured.
    `asked` is what pods requested in the hours of an idle slice.
    """

    effective: Fraction
    billed: Fraction
    gross: Fraction = ZERO
    provider_idle_gross: Fraction = ZERO
    slack: Fraction | None = None
    asked: Fraction = ZERO


def slice_of(source: Source, row: Row, kind: Kind, **more: Any) -> AwsSlice:
    """Return a slice of `row` with its own amounts, unless `more` says otherwise."""
    if "effective" not in more:
        more |= {"effective": source.effective(row)}
    if "billed" not in more:
        more |= {"billed": billed(row)}
    return AwsSlice(source.id, start(row).date(), row["line_item_currency_code"], *kind, **more)


def charge_slices(source: Source, row: Row) -> Iterator[AwsSlice]:
    """Yield the slices of a charge that is no node of a cluster."""
    kind = row["line_item_line_item_type"]
    if kind in ("SavingsPlanRecurringFee", "RIFee"):
        unused = ("outside", "unused_commitment", "other")
        yield slice_of(source, row, unused, billed=ZERO)
        yield slice_of(source, row, ("outside", "commitment_fee", "other"), effective=ZERO)
        return
    if kind in TYPE_REASON:
        yield slice_of(source, row, ("outside", TYPE_REASON[kind], "other"))
        return
    if kind == "Fee":
        yield slice_of(source, row, ("outside", _fee_reason(row), "other"))
        return
    if kind not in USAGE:
        raise ValueError(f"{source.id}: unknown line-item type {kind}")
    yield from _usage_slices(source, row)


def _fee_reason(row: Row) -> str:
    if "Support" in row["line_item_product_code"]:
        return "support"
    return "commitment_fee" if is_commitment_fee(row) else "other_service"


def _usage_slices(source: Source, row: Row) -> Iterator[AwsSlice]:
    cluster = source.cluster(row)
    piece = slice_of(source, row, _usage_kind(row, cluster), cluster=cluster)
    if row.get("line_item_operation") == "FargatePod":
        piece.namespace = row["line_item_resource_id"].split("/")[2]
        piece.is_pod = True
    if piece.row_kind == "workload":
        piece.namespace = piece.namespace or tag(row, "kubernetes.io/created-for/pvc/namespace")
        piece.labels = row["tags"]
    if piece.row_kind == "outside":
        piece.cluster = None
    if row["line_item_line_item_type"] == "SavingsPlanCoveredUsage":
        piece.billed = ZERO
        yield plan_offset(source, row)
    yield piece


def plan_offset(source: Source, row: Row) -> AwsSlice:
    """Return the unblended amount of covered usage, which its negation takes back."""
    return slice_of(source, row, ("outside", "commitment_offset", "other"), effective=ZERO)


def _usage_kind(row: Row, cluster: str | None) -> Kind:
    """Return row kind, reason and resource kind of usage; first match wins."""
    product, usage = row["line_item_product_code"], row["line_item_usage_type"]
    resource = row.get("line_item_resource_id") or ""
    if "Support" in product:
        return "outside", "support", "other"
    if row.get("line_item_operation") == "FargatePod":
        return "workload", None, _fargate_resource(usage)
    if product == "AmazonEKS":
        return "cluster_fee", _eks_fee(usage), "other"
    if cluster is None:
        return "outside", "other_service", "other"
    return _volume_kind(row) if resource.startswith("vol-") else _shared_kind(row)


def _fargate_resource(usage: str) -> str:
    if "EphemeralStorage" in usage:
        return "storage"
    return "cpu" if "vCPU" in usage else "memory"


def _eks_fee(usage: str) -> str:
    reasons = {
        "AmazonEKS-Hours:perCluster": "control_plane",
        "ProvisionedTier": "control_plane",
        ":extendedSupport": "extended_support",
        "EKS-Auto:": "auto_mode",
        "HybridNodes": "service_charge",
        "Capabilities": "service_charge",
    }
    return next(reason for mark, reason in reasons.items() if mark in usage)


def _volume_kind(row: Row) -> Kind:
    if tag(row, "kubernetes.io/created-for/pvc/namespace"):
        return "workload", None, "storage"
    if tag(row, *NODE_TAGS) and not tag(row, *CSI_TAGS):
        return "system_overhead", "node_disk", "storage"
    return "unattributed", "unmounted_volume", "storage"


def _shared_kind(row: Row) -> Kind:
    product, usage = row["line_item_product_code"], row["line_item_usage_type"]
    kind, resource = "other", "other"
    if row["line_item_resource_id"].startswith("i-"):
        if "Bytes" in usage:
            kind, resource = "network", "network"
    elif product == "AWSELB":
        kind, resource = "load_balancer", "network"
    elif product == "AmazonVPC" or "NatGateway" in usage or "DataTransfer" in usage:
        kind, resource = "network", "network"
    elif "Snapshot" in usage or product == "AmazonEFS":
        kind, resource = "storage", "storage"
    elif product == "AmazonCloudWatch":
        kind = "logging"
    return "shared", kind, resource
