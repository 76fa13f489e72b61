"""The oracle's second opinion on AWS rows: what each costs and what kind of cost it is.

Amounts are exact fractions. Nodes and their pods are in `oracle_nodes`.

Choices where the contract leaves room:

* An amount is rounded half-even on its exact value, each column by itself: a difference such as
  commitment minus used commitment is one of two rounded amounts.
* A net column is filled when it is not NULL; 0 counts as filled.
* A source's first split hour is that of its first EKS split row of the month.
* Tag keys are equal when they differ only in `.`, `/`, `-`, `_`, `:`, capitals or `user:` before
  them. A cluster's name out of a tag key is compared likewise with the clusters whose ARN stands
  in the delivery.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from tests.oracle_files import Row, tag_key

QUANTUM = Fraction(1, 10**12)
ZERO = Fraction(0)

DISCOUNTS = ("EdpDiscount", "PrivateRateDiscount", "BundledDiscount", "SppDiscount")
USAGE = ("Usage", "SavingsPlanCoveredUsage", "DiscountedUsage")
TYPE_REASON = {
    "Tax": "tax",
    "Credit": "credit",
    "Refund": "refund",
    "SavingsPlanNegation": "commitment_offset",
    "SavingsPlanUpfrontFee": "commitment_fee",
    **dict.fromkeys(DISCOUNTS, "discount"),
}
NET_COLUMNS = (
    "line_item_net_unblended_cost",
    "split_line_item_net_split_cost",
    "split_line_item_net_unused_cost",
    "reservation_net_effective_cost",
    "savings_plan_net_savings_plan_effective_cost",
)
SPLIT_OPERATIONS = ("EKSPod-EC2", "ECSTask-EC2")
POOL_TAGS = ("eks:nodegroup-name", "karpenter.sh/nodepool", "alpha.eksctl.io/nodegroup-name")
NODE_TAGS = (
    *POOL_TAGS,
    "aws:eks:cluster-name",
    "aws:autoscaling:groupName",
    "aws:ec2launchtemplate:id",
)
CLUSTER_TAGS = (
    "aws:eks:cluster-name",
    "eks:cluster-name",
    "alpha.eksctl.io/cluster-name",
    "elbv2.k8s.aws/cluster",
)
CSI_TAGS = ("CSIVolumeName", "ebs.csi.aws.com/cluster", "c_s_i_volume_name")


@dataclass
class Slice:
    """A part of the bill, before teams and rules; amounts in the source's currency."""

    source: str
    day: date
    currency: str
    row_kind: str
    reason: str | None
    resource_kind: str
    effective: Fraction
    billed: Fraction
    cluster: str | None = None
    node: str | None = None
    node_name: str | None = None
    node_pool: str | None = None
    namespace: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    team: str | None = None
    is_pod: bool = False
    is_split: bool = False
    gross: Fraction = ZERO
    provider_idle: Fraction = ZERO
    provider_idle_gross: Fraction = ZERO
    workload_idle: Fraction | None = None
    empty_hours: Fraction = ZERO


def rounded(value: Fraction | None) -> Fraction:
    """Return an amount as the bill of a row: 12 places, half-even; NULL is 0."""
    return ZERO if value is None else round(value / QUANTUM) * QUANTUM


def tag(row: Row, *names: str) -> str | None:
    """Return the first filled tag, in the order of `names`."""
    found = (row["tags"].get(tag_key(name)) for name in names)
    return next((value for value in found if value), None)


@dataclass
class Source:
    """The rows of one source and month, and what has to be known before a row is judged."""

    id: str
    month: str
    rows: list[Row]

    def __post_init__(self) -> None:
        inside = [row for row in self.rows if f"{_billing_start(row):%Y-%m}" == self.month]
        self.other = [row for row in self.rows if f"{_billing_start(row):%Y-%m}" != self.month]
        self.splits = [row for row in inside if row.get("line_item_operation") == "EKSPod-EC2"]
        self.foreign = [row for row in inside if row.get("line_item_operation") == "ECSTask-EC2"]
        self.charges = [row for row in inside if not self.is_split(row)]
        self.net = any(name in row for row in inside for name in NET_COLUMNS)
        self.first_split = min((start(row) for row in self.splits), default=None)
        hour = timedelta(hours=1)
        self.is_daily = any(
            row["line_item_usage_end_date"] - start(row) > hour for row in self.splits
        )
        self.known = {arn for row in inside if (arn := _arn_of(row))}
        self.instances = self._instances()
        self.node_names = self._node_names()

    def _instances(self) -> dict[str, str]:
        """Return the cluster of each instance: its tag, else the ARN of its pods."""
        by_pods = {row["split_line_item_parent_resource_id"]: _arn_of(row) for row in self.splits}
        by_tag = {
            row["line_item_resource_id"]: named
            for row in self.charges
            if (row.get("line_item_resource_id") or "").startswith("i-")
            and (named := self.by_tags(row))
        }
        return {k: v for k, v in (by_pods | by_tag).items() if v}

    def _node_names(self) -> dict[str, str]:
        """Return the name of each instance that its pods' tags give."""
        names: dict[str, str] = {}
        for row in self.splits:
            instance = row["split_line_item_parent_resource_id"]
            if name := tag(row, "aws:eks:node"):
                names[instance] = min(name, names.get(instance, name))
        return names

    def by_tags(self, row: Row) -> str | None:
        """Return the cluster a row's tags name."""
        prefix = tag_key("kubernetes.io/cluster/")
        name = tag(row, *CLUSTER_TAGS) or next(
            (key.removeprefix(prefix) for key in sorted(row["tags"]) if key.startswith(prefix)),
            None,
        )
        if name is None:
            return None
        place = f"arn:aws:eks:{row['product_region_code']}:{row['line_item_usage_account_id']}"
        alike = [
            arn
            for arn in sorted(self.known)
            if arn.startswith(f"{place}:cluster/") and tag_key(arn.split("/")[1]) == tag_key(name)
        ]
        return alike[0] if alike else f"{place}:cluster/{name}"

    def cluster(self, row: Row) -> str | None:
        """Return the cluster of a charge."""
        resource = row.get("line_item_resource_id") or ""
        return _arn_of(row) or self.instances.get(resource) or self.by_tags(row)

    def by_fate(self) -> dict[str, list[Row]]:
        """Return all rows by what becomes of them."""
        return {
            "sliced": self.charges,
            "split_information": [*self.splits, *self.foreign],
            "other_period": self.other,
        }

    def is_split(self, row: Row) -> bool:
        """Whether a row only splits the cost of another."""
        return row.get("line_item_operation") in SPLIT_OPERATIONS

    def effective(self, row: Row) -> Fraction:
        """Return a row's amortised amount on the basis of the source."""
        return _amortised(row, "net_" if self.net else "")

    def split_amounts(self, row: Row) -> tuple[Fraction, Fraction]:
        """Return split and unused cost of a split row on the basis of the source."""
        net = "net_" if self.net else ""
        names = (f"split_line_item_{net}split_cost", f"split_line_item_{net}unused_cost")
        return rounded(row[names[0]]), rounded(row[names[1]])


def _billing_start(row: Row) -> datetime:
    moment: datetime = row["bill_billing_period_start_date"]
    return moment


def start(row: Row) -> datetime:
    """Return when a row's usage began."""
    moment: datetime = row["line_item_usage_start_date"]
    return moment


def _arn_of(row: Row) -> str | None:
    """Return the ARN of the cluster whose ARN, or whose pod's ARN, is the resource."""
    parts = (row.get("line_item_resource_id") or "").split("/")
    if ":eks:" not in parts[0] or len(parts) < 2:
        return None
    return f"{parts[0].removesuffix(':pod').removesuffix(':cluster')}:cluster/{parts[1]}"


def billed(row: Row) -> Fraction:
    """Return what the invoice says about a row."""
    return rounded(row.get("line_item_unblended_cost"))


def _amortised(row: Row, net: str) -> Fraction:
    def amount(name: str) -> Fraction:
        return rounded(row[name])

    kind = row["line_item_line_item_type"]
    if kind == "SavingsPlanCoveredUsage":
        return amount(f"savings_plan_{net}savings_plan_effective_cost")
    if kind == "DiscountedUsage":
        return amount(f"reservation_{net}effective_cost")
    if kind in ("SavingsPlanNegation", "SavingsPlanUpfrontFee") or is_commitment_fee(row):
        return ZERO
    if kind == "SavingsPlanRecurringFee":
        used = amount("savings_plan_used_commitment")
        return amount("savings_plan_total_commitment_to_date") - used
    if kind == "RIFee":
        upfront = amount(f"reservation_{net}unused_amortized_upfront_fee_for_billing_period")
        return upfront + amount(f"reservation_{net}unused_recurring_fee")
    if kind in DISCOUNTS:
        return rounded(row.get(f"line_item_{net}unblended_cost"))
    return amount(f"line_item_{net}unblended_cost")


def is_commitment_fee(row: Row) -> bool:
    """Whether a Fee row is the payment for a reservation."""
    is_fee = row["line_item_line_item_type"] == "Fee"
    return is_fee and "reservation_reservation_a_r_n" in row


def is_parent(row: Row) -> bool:
    """Whether a row is an instance's own time."""
    family = row.get("product_product_family")
    usage = row["line_item_usage_type"]
    boxes = ("BoxUsage", "SpotUsage", "DedicatedUsage")
    is_instance = "Compute Instance" in family if family else any(box in usage for box in boxes)
    return (
        row["line_item_line_item_type"] in USAGE
        and (row.get("line_item_resource_id") or "").startswith("i-")
        and "RunInstances" in (row.get("line_item_operation") or "")
        and is_instance
    )


# ------------------------------------------------------------------- charges that are no node


def make(source: Source, row: Row, kind: tuple[str, str | None, str], **more: Any) -> Slice:
    """Return a slice of `row` with its own amounts, unless `more` says otherwise."""
    if "effective" not in more:
        more |= {"effective": source.effective(row)}
    if "billed" not in more:
        more |= {"billed": billed(row)}
    return Slice(source.id, start(row).date(), row["line_item_currency_code"], *kind, **more)


def charge_slices(source: Source, row: Row) -> Iterator[Slice]:
    """Yield the slices of a charge that is no node of a cluster."""
    kind = row["line_item_line_item_type"]
    if kind in ("SavingsPlanRecurringFee", "RIFee"):
        unused = ("outside", "unused_commitment", "other")
        yield make(source, row, unused, billed=ZERO)
        yield make(source, row, ("outside", "commitment_fee", "other"), effective=ZERO)
        return
    if kind in TYPE_REASON:
        yield make(source, row, ("outside", TYPE_REASON[kind], "other"))
        return
    if kind == "Fee":
        yield make(source, row, ("outside", _fee_reason(row), "other"))
        return
    if kind not in USAGE:
        raise ValueError(f"{source.id}: unknown line-item type {kind}")
    yield from _usage_slices(source, row)


def _fee_reason(row: Row) -> str:
    if "Support" in row["line_item_product_code"]:
        return "support"
    return "commitment_fee" if is_commitment_fee(row) else "other_service"


def _usage_slices(source: Source, row: Row) -> Iterator[Slice]:
    cluster = source.cluster(row)
    piece = make(source, row, _usage_kind(row, cluster), cluster=cluster)
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


def plan_offset(source: Source, row: Row) -> Slice:
    """Return the unblended amount of covered usage, which its negation takes back."""
    return make(source, row, ("outside", "commitment_offset", "other"), effective=ZERO)


def _usage_kind(row: Row, cluster: str | None) -> tuple[str, str | None, str]:
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
    if resource.startswith("i-"):
        return (
            ("shared", "network", "network") if "Bytes" in usage else ("shared", "other", "other")
        )
    if resource.startswith("vol-"):
        return _volume_kind(row)
    return _shared_kind(product, usage)


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


def _volume_kind(row: Row) -> tuple[str, str | None, str]:
    if tag(row, "kubernetes.io/created-for/pvc/namespace"):
        return "workload", None, "storage"
    if tag(row, *NODE_TAGS) and not tag(row, *CSI_TAGS):
        return "system_overhead", "node_disk", "storage"
    return "unattributed", "unmounted_volume", "storage"


def _shared_kind(product: str, usage: str) -> tuple[str, str | None, str]:
    if product == "AWSELB":
        return "shared", "load_balancer", "network"
    if product == "AmazonVPC" or "NatGateway" in usage or "DataTransfer" in usage:
        return "shared", "network", "network"
    if "Snapshot" in usage or product == "AmazonEFS":
        return "shared", "storage", "storage"
    if product == "AmazonCloudWatch":
        return "shared", "logging", "other"
    return "shared", "other", "other"
