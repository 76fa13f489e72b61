"""Raw CUR 2.0 rows for tests, built from the few cells a test is about."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import polars as pl

from transforms.aws import combine, slice_file
from transforms.sliced import Context, Sliced

LABELS = pl.Map(pl.String(), pl.String())
SCHEMA: dict[str, pl.DataType] = {
    "bill_payer_account_id": pl.String(),
    "bill_billing_period_start_date": pl.Datetime("us"),
    "line_item_usage_account_id": pl.String(),
    "line_item_line_item_type": pl.String(),
    "line_item_product_code": pl.String(),
    "line_item_usage_type": pl.String(),
    "line_item_operation": pl.String(),
    "line_item_resource_id": pl.String(),
    "line_item_currency_code": pl.String(),
    "line_item_usage_start_date": pl.Datetime("us"),
    "line_item_usage_end_date": pl.Datetime("us"),
    "line_item_usage_amount": pl.Float64(),
    "line_item_unblended_cost": pl.Float64(),
    "line_item_net_unblended_cost": pl.Float64(),
    "product_product_family": pl.String(),
    "product_region_code": pl.String(),
    "pricing_term": pl.String(),
    "reservation_reservation_a_r_n": pl.String(),
    "reservation_effective_cost": pl.Float64(),
    "reservation_unused_amortized_upfront_fee_for_billing_period": pl.Float64(),
    "reservation_unused_recurring_fee": pl.Float64(),
    "savings_plan_savings_plan_effective_cost": pl.Float64(),
    "savings_plan_net_savings_plan_effective_cost": pl.Float64(),
    "savings_plan_total_commitment_to_date": pl.Float64(),
    "savings_plan_used_commitment": pl.Float64(),
    "split_line_item_parent_resource_id": pl.String(),
    "split_line_item_reserved_usage": pl.Float64(),
    "split_line_item_actual_usage": pl.Float64(),
    "split_line_item_split_usage": pl.Float64(),
    "split_line_item_split_usage_ratio": pl.Float64(),
    "split_line_item_split_cost": pl.Float64(),
    "split_line_item_unused_cost": pl.Float64(),
    "split_line_item_net_split_cost": pl.Float64(),
    "split_line_item_net_unused_cost": pl.Float64(),
    "resource_tags": LABELS,
    "product": LABELS,
}
START = dt.datetime(2026, 10, 1)  # noqa: DTZ001 the column has no zone
CLUSTER = "arn:aws:eks:us-east-1:111122223333:cluster/demo"
NODE = "i-0aaaaaaaaaaaaaaa1"
SUFFIX = {"cpu": "vCPU", "memory": "GB", "gpu": "Accelerator"}


def row(hour: int = 0, **cells: Any) -> dict[str, Any]:
    """A row of October; `cells` are column names without their long prefixes where unambiguous."""
    start = START + dt.timedelta(hours=hour)
    base: dict[str, Any] = {
        "bill_payer_account_id": "999988887777",
        "bill_billing_period_start_date": START,
        "line_item_usage_account_id": "111122223333",
        "line_item_line_item_type": "Usage",
        "line_item_currency_code": "USD",
        "line_item_usage_start_date": start,
        "line_item_usage_end_date": start + dt.timedelta(hours=1),
        "line_item_usage_amount": 1.0,
        "product_region_code": "us-east-1",
    }
    return base | {_full(name): value for name, value in cells.items()}


def node(hour: int = 0, cost: float = 0.13, **cells: Any) -> dict[str, Any]:
    """An hour of the instance NODE (2 vCPU, 8 GiB) of the cluster `demo`."""
    own: dict[str, Any] = {
        "product_code": "AmazonEC2",
        "operation": "RunInstances",
        "usage_type": "BoxUsage:demo.large",
        "resource_id": NODE,
        "unblended_cost": cost,
        "product_product_family": "Compute Instance",
        "pricing_term": "OnDemand",
        "product": {"vcpu": "2", "memory": "8 GiB"},
        "resource_tags": {"aws_eks_cluster_name": "demo"},
    }
    return row(hour, **(own | cells))


def pod(
    hour: int = 0,
    kind: str = "cpu",
    split: float = 0.0,
    unused: float = 0.0,
    *,
    name: str = "web",
    namespace: str = "shop",
    **cells: Any,
) -> dict[str, Any]:
    """One split row of a pod on NODE."""
    own: dict[str, Any] = {
        "product_code": "AmazonEKS",
        "operation": "EKSPod-EC2",
        "usage_type": f"USE1-EKS-EC2-{SUFFIX.get(kind, kind)}-Hours",
        "resource_id": f"{CLUSTER.replace('cluster/', 'pod/')}/{namespace}/{name}-abcde/uid-{name}",
        "unblended_cost": 0.0,
        "split_line_item_parent_resource_id": NODE,
        "split_line_item_split_cost": split,
        "split_line_item_unused_cost": unused,
        "split_line_item_reserved_usage": 1.0,
        "split_line_item_split_usage": 1.0,
        "resource_tags": {"aws_eks_deployment": name, "aws_eks_workload_type": "ReplicaSet"},
    }
    return row(hour, **(own | cells))


def agent(
    hour: int = 0, kind: str = "cpu", split: float = 0.0, unused: float = 0.0, **cells: Any
) -> dict[str, Any]:
    """One split row of a DaemonSet's pod on NODE."""
    tags = {"aws_eks_workload_name": "cni", "aws_eks_workload_type": "DaemonSet"}
    own: dict[str, Any] = {"name": "cni", "namespace": "kube-system", "resource_tags": tags}
    return pod(hour, kind, split, unused, **(own | cells))


def raw(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows as one raw file of a CUR 2.0."""
    return pl.DataFrame(list(rows), schema=SCHEMA)


def sliced(*files: pl.DataFrame, labels: Sequence[str] = (), **context: Any) -> Sliced:
    """Files of one delivery through the whole transform."""
    asked = Context("aws", "prod", "cur2", "2026-10", tuple(labels), **context)
    parts: dict[str, list[pl.LazyFrame]] = {}
    for number, frame in enumerate(files, start=1):
        made = slice_file(frame.lazy(), asked)
        for name, part in made.items():
            named = part.with_columns(source_file=pl.lit(f"file-{number}"))
            parts.setdefault(name, []).append(named)
    return combine({name: pl.concat(part) for name, part in parts.items()}, asked)


def kinds(result: Sliced, *, view: str = "effective") -> dict[tuple[str, str | None, str], str]:
    """Amounts per row kind, reason and resource kind, as text; zero amounts are left out."""
    summed = (
        result.slices.group_by("row_kind", "reason", "resource_kind")
        .agg(pl.col(f"{view}_cost").sum())
        .filter(pl.col(f"{view}_cost") != 0)
    )
    return {
        (kind, reason, resource): f"{amount.normalize():f}"
        for kind, reason, resource, amount in sorted(summed.iter_rows(), key=str)
    }


def _full(name: str) -> str:
    return name if name in SCHEMA else f"line_item_{name}"
