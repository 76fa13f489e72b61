"""What Google's export tells of nodes: billed hours, and what their pods request."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from tests.gcp_rows import CLUSTER, IN_CLUSTER, NODE, START, Row, of_cluster, raw, row, sliced
from transforms.sliced import Sliced

DAY = dt.date(2026, 10, 5)
ID = f"//compute.googleapis.com/{NODE}"
DEPLOYMENT = {"k8s-workload-type": "apps/v1-Deployment", "k8s-workload-name": "api"}
DAEMON = {"k8s-workload-type": "apps/v1-DaemonSet", "k8s-workload-name": "agent"}
GIB_HOUR = 3600.0 * 2**30


def core(namespace: str, hour: int, cores: float, *, minutes: int = 60, **cells: Any) -> Row:
    """Core-seconds of a namespace from `hour` of the day on."""
    usage = {"amount": cores * minutes * 60, "unit": "seconds"}
    start = dt.datetime(2026, 10, 5, tzinfo=dt.UTC) + dt.timedelta(hours=hour)
    return of_cluster(namespace, usage_start_time=start, **({"usage": usage} | cells))


def hours(result: Sliced) -> dict[tuple[str, dt.date], str]:
    return {
        (node.removeprefix("//compute.googleapis.com/"), day): f"{count.normalize():f}"
        for node, day, count in result.node_days.iter_rows()
    }


def requests(result: Sliced) -> list[tuple[str, str, str, str]]:
    return [
        (cluster, kind, f"{quantity.normalize():f}", f"{weight.normalize():f}")
        for cluster, kind, quantity, weight in result.pod_requests.iter_rows()
    ]


# ---------------------------------------------------------------- billed hours


def test_a_part_of_an_hour_counts_as_that_part() -> None:
    rows = [
        core("kube:unallocated", 9, 4, minutes=15),
        core("checkout", 10, 1),
        core("kube:unallocated", 10, 3),
        core("kube:unallocated", 11, 4),
        core("kube:unallocated", 12, 4, minutes=1),
        core("kube:unallocated", 24, 4, minutes=30),
    ]
    result = sliced(raw(*rows[:2]), raw(*rows[2:]))
    assert hours(result) == {
        (NODE, DAY): "2.266666666667",
        (NODE, DAY + dt.timedelta(1)): "0.5",
    }
    assert result.node_days["resource_id"].unique().to_list() == [ID]
    assert set(result.slices["resource_id"]) == {ID}


def test_the_longest_sku_counts() -> None:
    licence: Row = {"sku": {"id": "os", "description": "Licensing Fee"}}
    spot: Row = {"sku": {"id": "spot", "description": "Spot Preemptible N2 Instance Core"}}
    rows = [
        *(core("checkout", hour, 2) for hour in range(3)),
        *(core("checkout", hour, 1, **licence) for hour in range(5)),
        core("checkout", 7, 2, **spot),
    ]
    assert hours(sliced(raw(*rows))) == {(NODE, DAY): "5"}


def test_a_correction_makes_a_day_no_longer() -> None:
    rows = [core("checkout", 1, 2), core("checkout", 2, 2)]
    again = [
        core("checkout", 2, 2, cost_type="adjustment"),
        core("checkout", 3, -2, adjustment_info={"id": "a", "type": "USAGE_CORRECTION"}),
    ]
    assert hours(sliced(raw(*rows, *again))) == {(NODE, DAY): "2"}


@pytest.mark.parametrize(
    "made",
    [
        row(
            usage={"amount": 3600.0, "unit": "seconds"},
            resource={"name": NODE, "global_name": ID},
        ),
        core("checkout", 1, 1, resource={"name": "pvc-1", "global_name": "//compute/disk/1"}),
        core("checkout", 1, 1, usage={"amount": 9 * GIB_HOUR, "unit": "byte-seconds"}),
        core("checkout", 1, 1, usage={"amount": None, "unit": "seconds"}),
        core("checkout", 1, 0),
        core("checkout", 1, 1, cost_type="adjustment"),
    ],
    ids=["no cluster", "no machine", "no seconds", "unknown", "nothing", "correction"],
)
def test_what_tells_no_hours(made: Row) -> None:
    assert sliced(raw(made)).node_days.is_empty()


def test_another_invoice_month_tells_nothing_of_this_one() -> None:
    rows = [core("checkout", 1, 2), core("checkout", 2, 8, invoice={"month": "202611"})]
    assert hours(sliced(raw(*rows))) == {(NODE, DAY): "1"}


# ---------------------------------------------------------------- requests


def test_a_request_is_what_a_workload_has_in_the_hours_it_has_rows() -> None:
    covered: Row = {"consumption_model": {"id": "1", "description": "Flexible 1 Year"}}
    memory: Row = {
        "sku": {"id": "ram", "description": "N2 Instance Ram running in Americas"},
        "usage": {"amount": 3 * GIB_HOUR, "unit": "byte-seconds"},
    }
    rows = [
        core("checkout", 0, 0.5, labels=DEPLOYMENT),
        core("checkout", 0, 0.25, labels=DEPLOYMENT, **covered),
        core("checkout", 23, 0.75, labels=DEPLOYMENT | {"k8s-label/team": "payments"}),
        core("checkout", 5, 1, labels=DEPLOYMENT, **memory),
        core("search", 5, 0.75, labels=DEPLOYMENT),
        core("search", 6, 0.5),
        core("kube:unallocated", 5, 2),
    ]
    assert requests(sliced(raw(*rows[:2]), raw(*rows[2:]))) == [
        (CLUSTER, "cpu", "0.5", "1"),
        (CLUSTER, "cpu", "0.75", "3"),
        (CLUSTER, "memory", "3", "1"),
    ]


def test_each_node_and_workload_is_looked_at_by_itself() -> None:
    remade: Row = {"name": NODE, "global_name": f"{ID}2"}
    rows = [
        core("checkout", 1, 1, labels=DEPLOYMENT),
        core("checkout", 1, 2, labels=DEPLOYMENT, resource=remade),
        core("checkout", 1, 4, labels=DEPLOYMENT | {"k8s-workload-name": "web"}),
        core("checkout", 1, 8, labels=DEPLOYMENT | {"k8s-workload-type": "batch/v1-Job"}),
        core("checkout", 25, 16, labels=DEPLOYMENT),
    ]
    assert requests(sliced(raw(*rows))) == [
        (CLUSTER, "cpu", quantity, "1") for quantity in ("1", "2", "4", "8", "16")
    ]


@pytest.mark.parametrize(
    "made",
    [
        core("checkout", 1, 1, labels=DAEMON),
        core("checkout", 1, 0, labels=DEPLOYMENT),
        core("kube:system-overhead", 1, 1),
        of_cluster(
            "checkout",
            service={"id": "CCD8-9BF1-090E", "description": "Kubernetes Engine"},
            sku={"id": "auto", "description": "Autopilot Pod mCPU Requests (us-central1)"},
            labels=IN_CLUSTER | DEPLOYMENT,
            resource=None,
        ),
        of_cluster(
            "checkout",
            sku={"id": "ssd", "description": "SSD backed Local Storage"},
            usage={"amount": GIB_HOUR, "unit": "byte-seconds"},
            labels=DEPLOYMENT,
        ),
    ],
    ids=["DaemonSet", "nothing", "no pod", "no node", "no resource of pods"],
)
def test_what_is_no_request_of_a_pod(made: Row) -> None:
    assert sliced(raw(made)).pod_requests.is_empty()


def test_every_hour_of_a_day_counts_once() -> None:
    rows = [core("checkout", hour, 1, labels=DEPLOYMENT) for hour in (*range(24), 4, 4)]
    assert START.date() == DAY
    assert sliced(raw(*rows)).pod_requests.rows() == [
        (CLUSTER, "cpu", Decimal("1.083333333333"), Decimal(24))
    ]
