"""What each billed row of AWS is and costs, in both views."""

import datetime as dt
from typing import Any

import polars as pl
import pytest

from tests.aws_rows import CLUSTER, kinds, raw, row, sliced
from transforms.aws.codes import LINE_ITEM_TYPES

IN_CLUSTER: dict[str, Any] = {"resource_tags": {"aws_eks_cluster_name": "demo"}}
CLAIM = {
    "kubernetes.io/cluster/demo": "owned",
    "kubernetes.io/created-for/pvc/namespace": "shop",
    "kubernetes.io/created-for/pvc/name": "data-0",
}


def usage(product: str, usage_type: str, resource: str | None, **cells: Any) -> dict[str, Any]:
    own: dict[str, Any] = {"unblended_cost": 1.0, "product_code": product, "usage_type": usage_type}
    return row(**(own | {"resource_id": resource, "operation": "Op"} | cells))


def only(*rows: dict[str, Any], view: str = "effective") -> dict[Any, str]:
    return kinds(sliced(raw(*rows)), view=view)


TAGS: dict[str, dict[str, str]] = {
    "none": {},
    "cluster": {"aws_eks_cluster_name": "demo"},
    "claim": CLAIM,
    "owned": {"kubernetes.io/cluster/demo": "owned"},
    "node": {"eks:cluster-name": "demo", "eks:nodegroup-name": "a"},
    "balancer": {"elbv2.k8s.aws/cluster": "demo"},
}
LOG_GROUP = "arn:aws:logs:us-east-1:111122223333:log-group:/aws/eks/demo/cluster"
SERVICES = (
    ("AmazonEKS", "AmazonEKS-Hours:perCluster", CLUSTER, "none", "cluster_fee control_plane other"),
    ("AmazonEKS", "AmazonEKS-Hours:4XL-ProvisionedTier", CLUSTER, "none",
     "cluster_fee control_plane other"),
    ("AmazonEKS", "AmazonEKS-Hours:extendedSupport", CLUSTER, "none",
     "cluster_fee extended_support other"),
    ("AmazonEKS", "EUC1-EKS-Auto:c6a.large-management-hours", "i-1", "cluster",
     "cluster_fee auto_mode other"),
    ("AmazonEKS", "USE1-AmazonEKSHybridNodes-Hours:pervCPU", CLUSTER, "none",
     "cluster_fee service_charge other"),
    ("AmazonEC2", "EBS:VolumeUsage.gp3", "vol-1", "claim", "workload - storage"),
    ("AmazonEC2", "EBS:VolumeUsage.gp3", "vol-1", "owned", "unattributed unmounted_volume storage"),
    ("AmazonEC2", "EBS:VolumeUsage.gp3", "vol-1", "node", "system_overhead node_disk storage"),
    ("AmazonEC2", "EBS:VolumeUsage.gp3", "vol-1", "none", "outside other_service other"),
    ("AWSELB", "EUC1-LoadBalancerUsage", "arn:lb", "balancer", "shared load_balancer network"),
    ("AmazonEC2", "NatGateway-Hours", "nat-1", "cluster", "shared network network"),
    ("AmazonVPC", "USE1-PublicIPv4:InUseAddress", "eni-1", "cluster", "shared network network"),
    ("AmazonEC2", "USE1-DataTransfer-Regional-Bytes", "i-1", "cluster", "shared network network"),
    ("AmazonEC2", "USE1-CPUCredits:t3", "i-1", "cluster", "shared other other"),
    ("AmazonEC2", "USE1-EBS:SnapshotUsage", "snap-1", "cluster", "shared storage storage"),
    ("AmazonCloudWatch", "USE1-DataProcessing-Bytes", LOG_GROUP, "none", "shared logging other"),
    ("AmazonS3", "TimedStorage-ByteHrs", "bucket", "none", "outside other_service other"),
    ("AWSSupportBusiness", "Dollar", None, "none", "outside support other"),
)  # fmt: skip


@pytest.mark.parametrize(("product", "usage_type", "resource", "tags", "expected"), SERVICES)
def test_usage_by_what_it_is(
    product: str, usage_type: str, resource: str | None, tags: str, expected: str
) -> None:
    row_kind, reason, resource_kind = expected.split()
    found = only(usage(product, usage_type, resource, resource_tags=TAGS[tags]))
    assert found == {(row_kind, None if reason == "-" else reason, resource_kind): "1"}


def test_claimed_volumes_whose_cluster_no_active_tag_names() -> None:
    tags = {name: value for name, value in CLAIM.items() if "pvc" in name}
    lost = usage("AmazonEC2", "EBS:VolumeUsage.gp3", "vol-1", resource_tags=tags)
    found = usage("AmazonEC2", "EBS:VolumeUsage.gp3", "vol-2", resource_tags=CLAIM)
    result = sliced(raw(lost, found))
    assert kinds(result)["outside", "other_service", "other"] == "1"
    assert result.findings.select("rule", "severity", "actual", "difference", "hint").rows() == [
        (
            "volume_without_cluster",
            "warning",
            "1 claimed volumes whose tags name no cluster",
            "1.000000000000",
            "activate the cost allocation tag KubernetesCluster",
        )
    ]


@pytest.mark.parametrize(
    ("line_item_type", "cells", "effective", "billed"),
    [
        ("Tax", {}, {"tax": "1"}, {"tax": "1"}),
        ("Credit", {"unblended_cost": -2.0}, {"credit": "-2"}, {"credit": "-2"}),
        ("Refund", {"unblended_cost": -2.0}, {"refund": "-2"}, {"refund": "-2"}),
        ("EdpDiscount", {"unblended_cost": -2.0}, {"discount": "-2"}, {"discount": "-2"}),
        ("SavingsPlanNegation", {"unblended_cost": -2.0}, {}, {"commitment_offset": "-2"}),
        ("SavingsPlanUpfrontFee", {}, {}, {"commitment_fee": "1"}),
        ("Fee", {"reservation_reservation_a_r_n": "arn:ri"}, {}, {"commitment_fee": "1"}),
        ("Fee", {"product_code": "AWSSupportBusiness"}, {"support": "1"}, {"support": "1"}),
        ("Fee", {}, {"other_service": "1"}, {"other_service": "1"}),
        (
            "SavingsPlanRecurringFee",
            {"savings_plan_total_commitment_to_date": 7.0, "savings_plan_used_commitment": 6.75},
            {"unused_commitment": "0.25"},
            {"commitment_fee": "1"},
        ),
        (
            "RIFee",
            {
                "reservation_unused_amortized_upfront_fee_for_billing_period": 0.125,
                "reservation_unused_recurring_fee": 0.5,
            },
            {"unused_commitment": "0.625"},
            {"commitment_fee": "1"},
        ),
        (
            "SavingsPlanCoveredUsage",
            {"savings_plan_savings_plan_effective_cost": 0.5},
            {"other_service": "0.5"},
            {"commitment_offset": "1"},
        ),
        (
            "DiscountedUsage",
            {"reservation_effective_cost": 0.5},
            {"other_service": "0.5"},
            {"other_service": "1"},
        ),
    ],
)
def test_line_item_types_outside_the_clusters(
    line_item_type: str, cells: dict[str, Any], effective: dict[str, str], billed: dict[str, str]
) -> None:
    rows = (
        [usage("AmazonEC2", "X", None, line_item_type=line_item_type, **cells)]
        if "product_code" not in cells
        else [row(line_item_type=line_item_type, unblended_cost=1.0, **cells)]
    )
    for view, expected in (("effective", effective), ("billed", billed)):
        assert only(*rows, view=view) == {
            ("outside", reason, "other"): amount for reason, amount in expected.items()
        }


def test_every_line_item_type_has_a_home_without_a_finding() -> None:
    rows = [
        usage(
            "AmazonEC2",
            "X",
            None,
            line_item_type=kind,
            savings_plan_savings_plan_effective_cost=1.0,
            reservation_effective_cost=1.0,
            savings_plan_total_commitment_to_date=1.0,
            savings_plan_used_commitment=1.0,
            reservation_unused_amortized_upfront_fee_for_billing_period=0.0,
            reservation_unused_recurring_fee=0.0,
        )
        for kind in LINE_ITEM_TYPES
    ]
    result = sliced(raw(*rows))
    assert result.findings.is_empty()
    assert result.slices["reason"].null_count() == 0


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (IN_CLUSTER, ("unattributed", "unclassified", "other")),
        ({}, ("outside", "other_service", "other")),
    ],
)
def test_an_unknown_line_item_type_is_reported_and_kept(
    cells: dict[str, Any], expected: Any
) -> None:
    result = sliced(raw(usage("AmazonEC2", "X", "r", line_item_type="Novelty", **cells)))
    assert kinds(result) == {expected: "1"}
    finding = result.findings.row(0, named=True)
    assert (finding["rule"], finding["severity"], finding["where"], finding["actual"]) == (
        "unknown_line_item_type",
        "error",
        "file-1",
        "Novelty",
    )


def test_an_unknown_usage_type_of_eks_is_reported_and_kept() -> None:
    result = sliced(raw(usage("AmazonEKS", "USE1-AmazonEKS-Hours:perMoon", CLUSTER)))
    assert kinds(result) == {("unattributed", "unclassified", "other"): "1"}
    assert result.findings.select("rule", "severity", "actual").rows() == [
        ("unknown_usage_type", "error", "USE1-AmazonEKS-Hours:perMoon")
    ]


def test_an_unknown_split_operation_is_reported() -> None:
    odd = usage(
        "AmazonX", "X", "r", operation="NewPod-EC2", split_line_item_parent_resource_id="i-1"
    )
    result = sliced(raw(odd))
    assert kinds(result) == {("outside", "other_service", "other"): "1"}
    assert result.findings.select("rule", "severity", "actual").rows() == [
        ("unknown_operation", "error", "NewPod-EC2")
    ]


def test_fargate_pods_are_billed_workloads_without_idle() -> None:
    arn = CLUSTER.replace("cluster/", "pod/") + "/shop/web-1/uid"
    pod = {"operation": "FargatePod", "split_line_item_actual_usage": 0.25}
    result = sliced(
        raw(
            usage("AmazonEKS", "USE1-Fargate-vCPU-Hours:perCPU", arn, **pod),
            usage("AmazonEKS", "USE1-Fargate-GB-Hours", arn, **pod),
            usage("AmazonEKS", "USE1-Fargate-EphemeralStorage-GB-Hours", arn, **pod),
        )
    )
    assert kinds(result) == {
        ("workload", None, "cpu"): "1",
        ("workload", None, "memory"): "1",
        ("workload", None, "storage"): "1",
    }
    cpu = result.slices.filter(resource_kind="cpu").row(0, named=True)
    assert (cpu["cluster_id"], cpu["namespace"], cpu["workload_name"]) == (CLUSTER, "shop", "web-1")
    assert (cpu["split_source"], float(cpu["workload_idle"])) == (None, 0.75)


def test_net_is_decided_for_the_month_and_discount_rows_keep_their_own_net() -> None:
    result = sliced(
        raw(
            usage("AmazonS3", "X", "b", net_unblended_cost=0.9),
            usage("AmazonS3", "X", "b", line_item_type="EdpDiscount", unblended_cost=-0.1),
        )
    )
    assert result.bill_values == {"net": True}
    assert kinds(result) == {("outside", "other_service", "other"): "0.9"}
    assert kinds(result, view="billed") == {
        ("outside", "discount", "other"): "-0.1",
        ("outside", "other_service", "other"): "1",
    }
    assert result.findings.is_empty()


def test_a_net_amount_that_is_missing_is_an_error_never_the_gross_one() -> None:
    result = sliced(
        raw(usage("AmazonS3", "X", "b", net_unblended_cost=0.9), usage("AmazonS3", "X", "c"))
    )
    assert kinds(result) == {("outside", "other_service", "other"): "0.9"}
    assert result.findings.select("rule", "severity").rows() == [("cost_missing", "error")]


def test_a_second_currency_is_an_error_and_is_kept_apart() -> None:
    bucket = usage("AmazonS3", "X", "b")
    result = sliced(raw(bucket, bucket, usage("AmazonS3", "X", "b", currency_code="CNY")))
    amounts = result.slices.select("billing_currency", pl.col("effective_cost").cast(float))
    assert sorted(amounts.rows()) == [("CNY", 1.0), ("USD", 2.0)]
    assert result.findings.select("rule", "severity", "expected", "actual").rows() == [
        ("second_currency", "error", "USD", "CNY")
    ]


def test_a_promised_currency_is_held() -> None:
    result = sliced(raw(usage("AmazonS3", "X", "b")), currency="EUR")
    assert result.findings.select("rule", "expected", "actual").rows() == [
        ("second_currency", "EUR", "USD")
    ]


def test_rows_of_another_month_are_counted_and_not_sliced() -> None:
    september = dt.datetime(2026, 9, 1)  # noqa: DTZ001 the column has no zone
    result = sliced(
        raw(
            usage("AmazonS3", "X", "b"),
            usage("AmazonS3", "X", "b", bill_billing_period_start_date=september),
        )
    )
    assert result.slices.height == 1
    totals = result.totals.filter(cost_view="billed").sort("fate")
    assert totals.select("fate", "rows", pl.col("amount").cast(float)).rows() == [
        ("other_period", 1, 1.0),
        ("sliced", 1, 1.0),
    ]


@pytest.mark.parametrize(
    "tags",
    [
        {"aws:eks:cluster-name": "demo"},
        {"aws_eks_cluster_name": "demo"},
        {"user_eks_cluster_name": "demo"},
        {"user:alpha.eksctl.io/cluster-name": "demo"},
        {"kubernetes.io/cluster/demo": "owned"},
        {"user_kubernetes_io_cluster_demo": "owned"},
        {"user_kubernetes_cluster": "demo"},
    ],
)
def test_the_clusters_name_in_every_spelling(tags: dict[str, str]) -> None:
    fee = usage("AmazonEKS", "AmazonEKS-Hours:perCluster", CLUSTER)
    balancer = usage("AWSELB", "LoadBalancerUsage", "arn:lb", resource_tags=tags)
    result = sliced(raw(fee, balancer)).slices
    assert result["cluster_id"].to_list() == [CLUSTER, CLUSTER]


def test_a_label_in_two_spellings_is_a_warning() -> None:
    rows = [
        usage("AmazonS3", "X", "b", resource_tags={"user:team": "a"}),
        usage("AmazonS3", "X", "c", resource_tags={"user_team": "b"}),
    ]
    result = sliced(raw(*rows), labels=["team"])
    assert sorted(labels["team"] for labels in result.slices["labels"]) == ["a", "b"]
    assert result.findings.select("rule", "severity", "actual").rows() == [
        ("label_spellings", "warning", "user:team, user_team")
    ]
