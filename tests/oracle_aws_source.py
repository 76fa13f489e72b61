"""The oracle's reading of one AWS source: which rows it has, what each costs, whose cluster it is.

Choices where the contract leaves room:

* An amount is rounded half-even on its exact value, each column by itself: a difference such as
  commitment minus used commitment is one of two rounded amounts.
* A net column is filled when it is not NULL; 0 counts as filled.
* A source's first split hour is that of its first EKS split row of the month.
* Tag keys are equal when they differ only in `.`, `/`, `-`, `_`, `:`, capitals or `user:` before
  them. A cluster's name out of a tag key is compared likewise with the clusters whose ARN stands
  in the delivery.
"""

from datetime import datetime, timedelta
from fractions import Fraction

from tests.oracle_aws_files import Row, tag_key
from tests.oracle_slices import ZERO, rounded

USAGE = ("Usage", "SavingsPlanCoveredUsage", "DiscountedUsage")
DISCOUNTS = ("EdpDiscount", "PrivateRateDiscount", "BundledDiscount", "SppDiscount")
SPLIT_OPERATIONS = ("EKSPod-EC2", "ECSTask-EC2")
NET_COLUMNS = (
    "line_item_net_unblended_cost",
    "split_line_item_net_split_cost",
    "split_line_item_net_unused_cost",
    "reservation_net_effective_cost",
    "savings_plan_net_savings_plan_effective_cost",
)
OWN_COST = ("line_item_{net}unblended_cost",)
AMORTISED_COST: dict[str, tuple[str, ...]] = {
    "SavingsPlanCoveredUsage": ("savings_plan_{net}savings_plan_effective_cost",),
    "DiscountedUsage": ("reservation_{net}effective_cost",),
    "SavingsPlanNegation": (),
    "SavingsPlanUpfrontFee": (),
    "RIFee": (
        "reservation_{net}unused_amortized_upfront_fee_for_billing_period",
        "reservation_{net}unused_recurring_fee",
    ),
}
"""The columns whose sum a row costs, amortised; `net_` goes where the basis is net."""
CLUSTER_TAGS = (
    "aws:eks:cluster-name",
    "eks:cluster-name",
    "alpha.eksctl.io/cluster-name",
    "elbv2.k8s.aws/cluster",
)


def tag(row: Row, *names: str) -> str | None:
    """Return the first filled tag, in the order of `names`."""
    found = (row["tags"].get(tag_key(name)) for name in names)
    return next((value for value in found if value), None)


class Source:
    """The rows of one source and month, and what has to be known before a row is judged."""

    def __init__(self, name: str, month: str, rows: list[Row]) -> None:
        self.id, self.month, self.rows = name, month, rows
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
    """Return what a row costs; a missing amount is an error, except that of a discount."""
    kind = row["line_item_line_item_type"]
    if kind == "SavingsPlanRecurringFee":
        used = rounded(row["savings_plan_used_commitment"])
        return rounded(row["savings_plan_total_commitment_to_date"]) - used
    columns = () if is_commitment_fee(row) else AMORTISED_COST.get(kind, OWN_COST)
    names = [name.format(net=net) for name in columns]
    if kind in DISCOUNTS:
        return sum((rounded(row.get(name)) for name in names), ZERO)
    return sum((rounded(row[name]) for name in names), ZERO)


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
