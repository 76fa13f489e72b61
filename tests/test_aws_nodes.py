"""Instances against their pods: each figure by hand."""

import datetime as dt

import polars as pl
import pytest

from tests.aws_rows import NODE, kinds, node, pod, raw, row, sliced
from transforms.errors import InputError

FULL_HOUR = (
    pod(kind="cpu", split=0.0225, unused=0.0675),
    pod(kind="memory", split=0.01, unused=0.03),
)


def test_unused_cost_of_pods_is_the_nodes_idle() -> None:
    assert kinds(sliced(raw(node(), *FULL_HOUR))) == {
        ("idle", "unrequested", "cpu"): "0.0675",
        ("idle", "unrequested", "memory"): "0.03",
        ("workload", None, "cpu"): "0.0225",
        ("workload", None, "memory"): "0.01",
    }


def test_an_hour_without_split_rows_is_an_empty_node_by_weights_9_to_1() -> None:
    # 2 vCPU x 9 : 8 GiB x 1 = 18 : 8
    assert kinds(sliced(raw(node(0), node(1), *FULL_HOUR))) == {
        ("idle", "empty_node", "cpu"): "0.09",
        ("idle", "empty_node", "memory"): "0.04",
        ("idle", "unrequested", "cpu"): "0.0675",
        ("idle", "unrequested", "memory"): "0.03",
        ("workload", None, "cpu"): "0.0225",
        ("workload", None, "memory"): "0.01",
    }


def test_an_empty_gpu_node_is_split_9_to_0_9_to_0_1() -> None:
    big = {"vcpu": "2", "memory": "8 GiB", "gpu": "1"}
    rows = [node(hour=5, cost=11.6, product=big, resource_id="i-gpu"), node(), *FULL_HOUR]
    empty = sliced(raw(*rows)).slices.filter(reason="empty_node")
    assert dict(
        empty.select("resource_kind", pl.col("effective_cost").cast(float)).iter_rows()
    ) == {
        "gpu": 9.0,
        "cpu": 1.8,
        "memory": 0.8,
    }


def test_a_node_of_unknown_size_stays_compute() -> None:
    rows = [node(hour=5, product=None, resource_id="i-odd"), node(), *FULL_HOUR]
    assert kinds(sliced(raw(*rows)))["idle", "empty_node", "compute"] == "0.13"


def test_empty_hours_are_counted_not_matched_by_time() -> None:
    # One interval lies in an hour that the instance has no row for: still one empty hour of three.
    shifted = [pod(7, "cpu", 0.0225, 0.0675), pod(7, "memory", 0.01, 0.03)]
    result = kinds(sliced(raw(node(0), node(1), node(2), *FULL_HOUR, *shifted)))
    assert result["idle", "empty_node", "cpu"] == "0.09"
    assert ("unattributed", "split_gap", "compute") not in result


def test_a_residual_above_the_empty_hours_is_a_gap() -> None:
    rows = [node(0), node(1), node(1, cost=0.5, usage_amount=0.0), *FULL_HOUR]
    result = kinds(sliced(raw(*rows)))
    assert result["idle", "empty_node", "cpu"] == "0.09"
    assert result["unattributed", "split_gap", "compute"] == "0.5"


def test_pods_that_cost_more_than_their_node_leave_a_negative_gap() -> None:
    rows = [node(cost=0.1), *FULL_HOUR]
    assert kinds(sliced(raw(*rows)))["unattributed", "split_gap", "compute"] == "-0.03"


def test_dust_goes_to_the_largest_idle_slice() -> None:
    dusty = [pod(kind="cpu", split=0.0225, unused=0.0675 + 3e-12), FULL_HOUR[1]]
    result = kinds(sliced(raw(node(), *dusty)))
    assert result["idle", "unrequested", "cpu"] == "0.0675"
    assert not [key for key in result if key[1] == "split_gap"]


def test_dust_without_idle_goes_to_the_largest_slice() -> None:
    full = [pod(kind="cpu", split=0.09 - 2e-12), pod(kind="memory", split=0.04)]
    assert kinds(sliced(raw(node(), *full))) == {
        ("workload", None, "cpu"): "0.09",
        ("workload", None, "memory"): "0.04",
    }


def test_hours_before_the_first_split_row_have_no_split_source() -> None:
    late = [pod(2, "cpu", 0.0225, 0.0675), pod(2, "memory", 0.01, 0.03)]
    result = kinds(sliced(raw(node(0), node(1), node(2), *late)))
    assert result["unattributed", "no_split_source", "compute"] == "0.26"
    assert ("idle", "empty_node", "cpu") not in result


def test_without_any_split_row_nothing_is_idle() -> None:
    assert kinds(sliced(raw(node(0), node(1)))) == {
        ("unattributed", "no_split_source", "compute"): "0.26"
    }


def test_a_daily_export_cannot_count_hours() -> None:
    day = dt.datetime(2026, 10, 2)  # noqa: DTZ001 the column has no zone
    pods = [
        pod(kind=kind, split=split, unused=unused, usage_end_date=day)
        for kind, split, unused in (("cpu", 0.5, 1.0), ("memory", 0.2, 0.4))
    ]
    result = sliced(raw(node(cost=3.12, usage_amount=24.0, usage_end_date=day), *pods))
    assert kinds(result)["unattributed", "split_gap", "compute"] == "1.02"
    assert result.findings.select("rule", "severity", "difference").rows() == [
        ("daily_granularity", "warning", "1.020000000000")
    ]


def test_a_monthly_export_is_refused() -> None:
    end = dt.datetime(2026, 11, 1)  # noqa: DTZ001 the column has no zone
    with pytest.raises(InputError, match="monthly"):
        sliced(raw(node(), pod(usage_end_date=end)))


def test_split_rows_without_a_parent_are_an_error_and_in_no_sum() -> None:
    lost = pod(kind="cpu", split=0.1, unused=0.2, split_line_item_parent_resource_id="i-gone")
    result = sliced(raw(node(), *FULL_HOUR, lost))
    assert sum(map(float, kinds(result).values())) == pytest.approx(0.13)
    assert result.findings.select("rule", "severity", "actual", "difference").rows() == [
        ("orphan_split", "error", "1 split rows without a parent", "0.300000000000")
    ]


def test_split_rows_without_parent_and_without_cost_are_nothing() -> None:
    nothing = pod(split_line_item_parent_resource_id=None)
    assert sliced(raw(node(), *FULL_HOUR, nothing)).findings.is_empty()


def test_an_unknown_suffix_stays_on_the_clusters_bill() -> None:
    result = sliced(raw(node(cost=0.43), *FULL_HOUR, pod(kind="TPU", split=0.1, unused=0.2)))
    assert kinds(result)["unattributed", "unclassified", "other"] == "0.3"
    finding = result.findings.row(0, named=True)
    assert (finding["rule"], finding["severity"]) == ("unknown_usage_type", "error")
    assert (finding["where"], finding["actual"]) == ("file-1", "USE1-EKS-EC2-TPU-Hours")


def test_the_instance_belongs_to_the_cluster_of_its_pods_where_no_tag_says_so() -> None:
    result = sliced(raw(node(resource_tags=None), *FULL_HOUR))
    assert set(result.slices["cluster_name"]) == {"demo"}


def test_several_parent_rows_of_one_hour_are_added_before_pods_are_joined() -> None:
    half = node(cost=0.065, usage_amount=0.5)
    assert kinds(sliced(raw(half, half, *FULL_HOUR))) == kinds(sliced(raw(node(), *FULL_HOUR)))


def test_parents_and_pods_in_different_files_come_out_the_same() -> None:
    assert kinds(sliced(raw(node()), raw(FULL_HOUR[0]), raw(FULL_HOUR[1]))) == kinds(
        sliced(raw(node(), *FULL_HOUR))
    )


def test_covered_usage_is_free_on_the_invoice_inside_the_cluster() -> None:
    covered = node(
        cost=0.2,
        line_item_type="SavingsPlanCoveredUsage",
        savings_plan_savings_plan_effective_cost=0.13,
    )
    negation = row(
        line_item_type="SavingsPlanNegation",
        product_code="ComputeSavingsPlans",
        unblended_cost=-0.2,
    )
    result = sliced(raw(covered, negation, *FULL_HOUR))
    assert kinds(result)["workload", None, "cpu"] == "0.0225"
    assert kinds(result, view="billed") == {}
    offsets = result.slices.filter(reason="commitment_offset").sort("billed_cost")
    assert offsets["billed_cost"].cast(float).to_list() == [-0.2, 0.2]
    assert set(offsets["cluster_id"]) == {None}


def test_billed_slices_follow_the_amortised_ones() -> None:
    discounted = node(cost=0.26, line_item_type="DiscountedUsage", reservation_effective_cost=0.13)
    assert kinds(sliced(raw(discounted, *FULL_HOUR)), view="billed") == {
        ("idle", "unrequested", "cpu"): "0.135",
        ("idle", "unrequested", "memory"): "0.06",
        ("workload", None, "cpu"): "0.045",
        ("workload", None, "memory"): "0.02",
    }


def test_billed_follows_the_split_before_discounts_where_the_amortised_cost_is_zero() -> None:
    free = {"split_line_item_net_split_cost": 0.0, "split_line_item_net_unused_cost": 0.0}
    pods = [{**pod_row, **free} for pod_row in FULL_HOUR]
    result = sliced(raw(node(cost=0.13, net_unblended_cost=0.0), *pods))
    assert result.bill_values == {"net": True}
    assert kinds(result, view="billed") == {
        ("idle", "unrequested", "cpu"): "0.0675",
        ("idle", "unrequested", "memory"): "0.03",
        ("workload", None, "cpu"): "0.0225",
        ("workload", None, "memory"): "0.01",
    }


def test_billed_is_a_gap_where_nothing_gives_a_ratio() -> None:
    free = node(cost=0.13, line_item_type="DiscountedUsage", reservation_effective_cost=0.0)
    assert kinds(sliced(raw(free, pod(), pod(kind="memory"))), view="billed") == {
        ("unattributed", "split_gap", "compute"): "0.13"
    }


def test_idle_rows_carry_the_nodes_capacity_in_full() -> None:
    slices = sliced(raw(node(0), node(1), *FULL_HOUR)).slices.filter(row_kind="idle")
    capacity = slices.group_by("resource_kind").agg(pl.col("capacity_quantity").cast(float).sum())
    assert dict(capacity.iter_rows()) == {"cpu": 4.0, "memory": 16.0}


def test_provider_idle_stays_on_the_workload_as_information() -> None:
    slices = sliced(raw(node(), *FULL_HOUR)).slices.filter(row_kind="workload")
    assert slices.sort("resource_kind")["provider_idle_cost"].cast(float).to_list() == [
        0.0675,
        0.03,
    ]
    assert slices["resource_id"].unique().to_list() == [NODE]


def test_ecs_split_rows_are_kept_apart() -> None:
    task = pod(
        product_code="AmazonECS",
        operation="ECSTask-EC2",
        usage_type="USE1-ECS-EC2-vCPU-Hours",
        resource_id="arn:aws:ecs:us-east-1:111122223333:task/batch/abc",
        split_line_item_split_cost=0.1,
        split_line_item_parent_resource_id="i-ecs",
    )
    instance = node(resource_id="i-ecs", resource_tags=None, cost=0.1)
    result = sliced(raw(node(), *FULL_HOUR, task, instance))
    assert kinds(result)["outside", "other_service", "other"] == "0.1"
    assert result.findings.select("rule", "severity").rows() == [("ecs_split_rows", "info")]
