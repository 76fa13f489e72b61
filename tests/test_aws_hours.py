"""Hours in which DaemonSets alone ran: each figure by hand.

The node has 2 vCPU and 8 GiB for 0.13 an hour: 0.045 a vCPU-hour, 0.005 a GiB-hour.
"""

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from tests.aws_rows import NODE, START, agent, kinds, node, pod, raw, sliced
from transforms.sliced import Sliced

Row = dict[str, Any]
NEXT = "i-0bbbbbbbbbbbbbbb2"
"""An instance of the next day: NODE left before."""


def quiet(hour: int, **cells: Any) -> list[Row]:
    """An hour of an agent alone: 0.2 vCPU, 0.8 GiB."""
    asked: dict[str, Any] = {"split_line_item_reserved_usage": 0.2}
    return [
        agent(hour, "cpu", 0.009, 0.081, **(asked | cells)),
        agent(hour, "memory", 0.004, 0.036, **cells),
    ]


def busy(hour: int, **cells: Any) -> list[Row]:
    """An hour of a pod: 0.5 vCPU, 2 GiB."""
    return [pod(hour, "cpu", 0.0225, 0.0675, **cells), pod(hour, "memory", 0.01, 0.03, **cells)]


def shared(hour: int) -> list[Row]:
    """An hour of a pod and an agent of 0.5 vCPU and 2 GiB each."""
    amounts = (("cpu", 0.0225, 0.0225), ("memory", 0.01, 0.01))
    return [row(hour, *amount) for amount in amounts for row in (pod, agent)]


def nodes(hours: int, **cells: Any) -> list[Row]:
    return [node(hour, **cells) for hour in range(hours)]


def later() -> list[Row]:
    return [node(30, resource_id=NEXT), *busy(30, split_line_item_parent_resource_id=NEXT)]


def idle(result: Sliced, kind: str = "cpu") -> dict[tuple[str, str | None], tuple[str, str]]:
    """Amount and capacity of NODE's idle by reason and cause."""
    rows = result.slices.filter(row_kind="idle", resource_kind=kind, resource_id=NODE)
    assert rows.select("reason", "cause").is_unique().all()
    return {
        (reason, cause): (f"{cost.normalize():f}", f"{capacity.normalize():f}")
        for reason, cause, cost, capacity in rows.select(
            "reason", "cause", "effective_cost", "capacity_quantity"
        ).iter_rows()
    }


def of(*rows: Row, **context: Any) -> Sliced:
    return sliced(raw(*rows), **context)


def test_hours_of_daemonsets_alone_are_a_row_of_their_own() -> None:
    result = of(*nodes(3), *shared(0), *quiet(1), *quiet(2))
    assert idle(result) == {
        ("unrequested", None): ("0.045", "2"),
        ("unrequested", "empty_node"): ("0.162", "4"),
    }
    assert idle(result, "memory") == {
        ("unrequested", None): ("0.02", "8"),
        ("unrequested", "empty_node"): ("0.072", "16"),
    }


def test_a_day_of_daemonsets_alone_has_no_other_idle() -> None:
    assert idle(of(*nodes(2), *quiet(0), *quiet(1))) == {
        ("unrequested", "empty_node"): ("0.162", "4")
    }


def test_a_pod_whose_workload_nobody_names_keeps_its_node_busy() -> None:
    assert idle(of(*nodes(1), *busy(0, resource_tags=None))) == {
        ("unrequested", None): ("0.0675", "2")
    }


def test_an_instance_that_left_waited_from_its_last_other_pod_on() -> None:
    # Hours: agent alone, pod, agent alone, agent alone, nobody. It left, as another came later.
    rows = [*nodes(5), *quiet(0), *shared(1), *quiet(2), *quiet(3)]
    assert idle(of(*rows, *later())) == {
        ("unrequested", None): ("0.045", "2"),
        ("unrequested", "empty_node"): ("0.081", "2"),
        ("unrequested", "scale_down_wait"): ("0.162", "4"),
        ("empty_node", "scale_down_wait"): ("0.09", "2"),
    }


def test_an_instance_that_is_still_there_waits_for_nothing() -> None:
    rows = [*nodes(3), *busy(0), *quiet(1)]
    assert idle(of(*rows)) == {
        ("unrequested", None): ("0.0675", "2"),
        ("unrequested", "empty_node"): ("0.081", "2"),
        ("empty_node", "empty_node"): ("0.09", "2"),
    }


def test_only_the_last_day_is_a_wait() -> None:
    # NODE is alone with its agent for two days, and left on the second.
    rows = [node(0), *quiet(0), node(24), *quiet(24), node(60, resource_id=NEXT)]
    causes = of(*rows).slices.filter(resource_id=NODE, row_kind="idle", resource_kind="cpu")
    assert causes.sort("charge_period_start")["cause"].to_list() == [
        "empty_node",
        "scale_down_wait",
    ]


def test_partial_hours_share_the_capacity_that_was_billed() -> None:
    # Half an hour with a pod, half an hour without: one billed hour, two split hours.
    halves = [node(hour, cost=0.065, usage_amount=0.5) for hour in (0, 1)]
    rows = [
        pod(0, "cpu", 0.01125, 0.03375),
        pod(0, "memory", 0.005, 0.015),
        agent(1, "cpu", 0.0045, 0.0405),
        agent(1, "memory", 0.002, 0.018),
    ]
    assert idle(of(*halves, *rows)) == {
        ("unrequested", None): ("0.03375", "1"),
        ("unrequested", "empty_node"): ("0.0405", "1"),
    }


@pytest.mark.parametrize(
    ("pods", "cause"), [(quiet(0), "empty_node"), (busy(0), None), (shared(0), None)]
)
def test_a_daily_export_has_days_of_daemonsets_alone_or_not(
    pods: Sequence[Row], cause: str | None
) -> None:
    end = START + dt.timedelta(days=1)
    day = {"line_item_usage_end_date": end}
    total = sum(
        pod_row["split_line_item_split_cost"] + pod_row["split_line_item_unused_cost"]
        for pod_row in pods
    )
    parent = node(cost=total, usage_amount=24.0)
    result = of(parent | day, *(pod_row | day for pod_row in pods))
    rows = result.slices.filter(row_kind="idle", resource_kind="cpu")
    assert rows.select("cause", pl.col("capacity_quantity").cast(int)).rows() == [(cause, 48)]


def test_the_capacity_of_an_instance_of_unknown_size_is_unknown_in_every_row() -> None:
    result = of(*nodes(2, product=None), *busy(0), *quiet(1))
    rows = result.slices.filter(row_kind="idle", resource_kind="cpu")
    assert rows.sort("effective_cost").select("cause", "capacity_quantity").rows() == [
        (None, None),
        ("empty_node", None),
    ]


def test_a_resource_without_rows_in_quiet_hours_still_has_their_capacity() -> None:
    big = {"vcpu": "2", "memory": "8 GiB", "gpu": "1"}
    rows = [*nodes(2, product=big, cost=9.13), *busy(0), *quiet(1)]
    result = of(*rows, pod(0, "gpu", 6.0, 3.0))
    assert idle(result, "gpu") == {
        ("unrequested", None): ("3", "1"),
        ("unrequested", "empty_node"): ("0", "1"),
    }


def test_tasks_of_ecs_keep_an_instance_busy_too() -> None:
    task = pod(0, product_code="AmazonECS", operation="ECSTask-EC2", resource_tags=None)
    assert ("unrequested", None) in idle(of(*nodes(1), *quiet(0), task))


def test_files_may_be_cut_anywhere() -> None:
    rows = [*nodes(5), *quiet(0), *busy(1), *quiet(1), *quiet(2), *quiet(3), *later()]
    whole, cut = of(*rows), sliced(*(raw(row) for row in rows))
    order = ["resource_id", "row_kind", "reason", "cause", "resource_kind", "workload_name"]
    for name in ("slices", "node_days", "pod_requests", "findings"):
        expected, found = getattr(whole, name), getattr(cut, name)
        if name == "slices":
            expected, found = (it.drop("source_file").sort(order) for it in (expected, found))
        assert found.equals(expected), name


def test_causes_never_change_what_is_idle() -> None:
    rows = [*nodes(5), *quiet(0), *busy(1), *quiet(1), *quiet(2), *quiet(3), *later()]
    nameless = [{**row, "resource_tags": {"aws_eks_cluster_name": "demo"}} for row in rows]
    causes, none = of(*rows), of(*nameless)
    assert set(none.slices.filter(reason="unrequested")["cause"]) == {None}
    for view in ("effective", "billed"):
        assert kinds(causes, view=view) == kinds(none, view=view)


def test_net_amounts_are_those_of_the_month() -> None:
    def net(rows: Sequence[Row]) -> list[Row]:
        """Rows with half of each amount after discounts."""
        halves = {
            f"split_line_item_net_{name}": f"split_line_item_{name}"
            for name in ("split_cost", "unused_cost")
        }
        return [row | {name: row[of] / 2 for name, of in halves.items()} for row in rows]

    rows = [*nodes(2, net_unblended_cost=0.065), *net(busy(0)), *net(quiet(1))]
    assert idle(of(*rows)) == {
        ("unrequested", None): ("0.03375", "2"),
        ("unrequested", "empty_node"): ("0.0405", "2"),
    }


def test_billed_hours_of_nodes_are_those_of_their_capacity() -> None:
    # The split begins in the second hour.
    result = of(*nodes(3), *busy(1), *later())
    assert result.node_days.rows() == [
        (NODE, dt.date(2026, 10, 1), Decimal(2)),
        (NEXT, dt.date(2026, 10, 2), Decimal(1)),
    ]
    capacity = result.slices.filter(row_kind="idle", resource_id=NODE, resource_kind="cpu")
    assert capacity["capacity_quantity"].sum() == 4
