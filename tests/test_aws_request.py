"""Charge by request, each figure by hand, and what one pod requests.

The node has 2 vCPU and 8 GiB for 0.13 an hour: 0.045 a vCPU-hour, 0.005 a GiB-hour.
"""

import datetime as dt
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from tests.aws_rows import CLUSTER, NODE, START, agent, kinds, node, pod, raw, row, sliced
from transforms.aws import combine, slice_file
from transforms.sliced import Context, Sliced

Row = dict[str, Any]
KEPT = "split_line_item_reserved_usage"


def usage(requested: float, used: float | None = None) -> Row:
    """The quantities of a split row; AWS charges for the greater one."""
    return {
        "split_line_item_reserved_usage": requested,
        "split_line_item_actual_usage": used,
        "split_line_item_split_usage": max(requested, used or 0.0),
    }


def web(hour: int = 0, requested: float = 0.5, used: float | None = None) -> list[Row]:
    """A pod alone on the node: what it uses of CPU may vary, and 2 GiB of which it uses 1."""
    charged = max(requested, used or 0.0)
    split = 0.045 * min(charged, 2)
    return [
        pod(hour, "cpu", split, 0.09 - split, **usage(requested, used)),
        pod(hour, "memory", 0.01, 0.03, **usage(2.0, 1.0)),
    ]


def by_request(*rows: Row) -> Sliced:
    return sliced(raw(*rows), charge_basis="request")


def test_a_pod_costs_what_it_requested_not_what_it_used() -> None:
    rows = [node(), *web(requested=0.5, used=1.0)]
    assert kinds(sliced(raw(*rows))) == {
        ("idle", "unrequested", "cpu"): "0.045",
        ("idle", "unrequested", "memory"): "0.03",
        ("workload", None, "cpu"): "0.045",
        ("workload", None, "memory"): "0.01",
    }
    assert kinds(by_request(*rows)) == {
        ("idle", "unrequested", "cpu"): "0.0675",
        ("idle", "unrequested", "memory"): "0.03",
        ("workload", None, "cpu"): "0.0225",
        ("workload", None, "memory"): "0.01",
    }


def test_what_the_provider_charged_and_called_idle_stays_as_information() -> None:
    slices = by_request(node(), *web(requested=0.5, used=1.0)).slices
    cpu = slices.filter(row_kind="workload", resource_kind="cpu").row(0, named=True)
    assert {
        name: str(cpu[name].normalize())
        for name in ("requested_quantity", "used_quantity", "charged_quantity")
    } == {"requested_quantity": "0.5", "used_quantity": "1", "charged_quantity": "1"}
    assert (cpu["provider_class"], str(cpu["provider_idle_cost"])) == (
        "split_cost",
        "0.045000000000",
    )


def test_workload_idle_is_priced_by_interval_and_unknown_where_nothing_was_measured() -> None:
    # Requests 0.5: used 0.1 in one hour, 0.9 in the other; the second does not offset the first.
    rows = [node(0), node(1), *web(0, 0.5, 0.1), *web(1, 0.5, 0.9)]
    workloads = by_request(*rows).slices.filter(row_kind="workload").sort("resource_kind")
    assert workloads["workload_idle"].to_list() == [Decimal("0.018"), Decimal("0.01")]
    unmeasured = by_request(*rows, node(2), *web(2, 0.5)).slices.filter(row_kind="workload")
    assert unmeasured.sort("resource_kind")["workload_idle"].to_list() == [None, Decimal("0.015")]


def test_requests_above_the_capacity_leave_negative_idle() -> None:
    assert kinds(by_request(node(), *web(requested=3.0))) == {
        ("idle", "unrequested", "cpu"): "-0.045",
        ("idle", "unrequested", "memory"): "0.03",
        ("workload", None, "cpu"): "0.135",
        ("workload", None, "memory"): "0.01",
    }


def test_empty_hours_are_part_of_the_unit_price() -> None:
    # The empty hour costs 0.26, by 18 : 8; CPU is 0.27 for 4 vCPU-hours, memory 0.12 for 16.
    assert kinds(by_request(node(0), node(1, cost=0.26), *web(0))) == {
        ("idle", "empty_node", "cpu"): "0.18",
        ("idle", "empty_node", "memory"): "0.08",
        ("idle", "unrequested", "cpu"): "0.05625",
        ("idle", "unrequested", "memory"): "0.025",
        ("workload", None, "cpu"): "0.03375",
        ("workload", None, "memory"): "0.015",
    }


def test_hours_of_daemonsets_alone_are_priced_by_what_these_request() -> None:
    # The agent uses 0.4 and requests 0.2: AWS leaves 0.072 unused, 1.8 vCPU are 0.081.
    alone = [
        agent(1, "cpu", 0.018, 0.072, **usage(0.2, 0.4)),
        agent(1, "memory", 0.004, 0.036, **usage(0.8, 0.8)),
    ]
    slices = by_request(node(0), node(1), *web(0), *alone).slices
    idle = slices.filter(row_kind="idle", resource_kind="cpu").sort("cause")
    assert idle.select("cause", "effective_cost", "capacity_quantity").rows() == [
        (None, Decimal("0.0675"), Decimal(2)),
        ("empty_node", Decimal("0.081"), Decimal(2)),
    ]


def test_a_node_of_unknown_size_keeps_the_split_of_the_provider() -> None:
    rows = [node(product=None), *web(requested=0.5, used=1.0)]
    result = by_request(*rows)
    assert kinds(result) == kinds(sliced(raw(*rows)))
    assert result.findings.select("rule", "severity", "cluster_id", "actual").rows() == [
        (
            "unit_price_unknown",
            "warning",
            CLUSTER,
            "1 instances of unknown size, charged as the provider split them",
        )
    ]


@pytest.mark.parametrize("requested", [None, -0.5])
def test_a_request_that_nobody_knows_is_not_one_of_zero(requested: float | None) -> None:
    other = pod(0, "cpu", 0.0225, 0.0225, **usage(0.5) | {KEPT: requested}, name="other")
    known = [
        pod(0, "cpu", 0.0225, 0.0225, **usage(0.25)),
        pod(0, "memory", 0.01, 0.03, **usage(2.0)),
    ]
    rows = [node(), *known, other]
    result = by_request(*rows)
    assert kinds(result) == kinds(sliced(raw(*rows)))
    told = result.findings.filter(rule="request_unknown")
    assert told.select("severity", "cluster_id").rows() == [("warning", CLUSTER)]
    assert told.item(0, "actual") == (
        "1 instances with pods whose request is missing or below 0, charged as the provider split "
        "them"
    )


def test_a_request_that_is_missing_stays_unknown_on_either_basis() -> None:
    rows = [node(), *web(), node(1), *web(1)]
    rows[-2][KEPT] = None
    for basis in (by_request(*rows), sliced(raw(*rows))):
        told = basis.slices.filter(row_kind="workload").sort("resource_kind")
        assert told["requested_quantity"].to_list() == [None, Decimal(4)]


@pytest.mark.parametrize("product", [{"vcpu": "0", "memory": "0 GiB"}, {"vcpu": "2"}])
def test_a_size_of_nothing_is_no_size(product: dict[str, str]) -> None:
    rows = [node(0, product=product), node(1, product=product), *web()]
    result = by_request(*rows)
    found = kinds(result)
    assert found == kinds(sliced(raw(*rows)))
    assert found["idle", "empty_node", "compute"] == "0.13"


def test_a_gpu_that_no_size_tells_keeps_the_whole_node_as_it_is() -> None:
    rows = [node(cost=9.13), *web(requested=0.5, used=1.0), pod(0, "gpu", 6.0, 3.0)]
    result = by_request(*rows)
    assert kinds(result) == kinds(sliced(raw(*rows)))
    assert result.findings["rule"].to_list() == ["unit_price_unknown"]


def test_the_invoice_follows_what_was_requested() -> None:
    bought = node(cost=0.26, line_item_type="DiscountedUsage", reservation_effective_cost=0.13)
    assert kinds(by_request(bought, *web(requested=0.5, used=1.0)), view="billed") == {
        ("idle", "unrequested", "cpu"): "0.135",
        ("idle", "unrequested", "memory"): "0.06",
        ("workload", None, "cpu"): "0.045",
        ("workload", None, "memory"): "0.02",
    }


def test_the_invoice_follows_requests_also_where_the_amortised_cost_is_zero() -> None:
    free = {"split_line_item_net_split_cost": 0.0, "split_line_item_net_unused_cost": 0.0}
    pods = [it | free for it in web(requested=0.5, used=1.0)]
    result = by_request(node(net_unblended_cost=0.0), *pods)
    assert kinds(result, view="billed") == {
        ("idle", "unrequested", "cpu"): "0.0675",
        ("idle", "unrequested", "memory"): "0.03",
        ("workload", None, "cpu"): "0.0225",
        ("workload", None, "memory"): "0.01",
    }


def test_list_prices_are_by_request_too() -> None:
    # Nobody tells the list price of the second hour, which is empty.
    listed = {
        f"split_line_item_public_on_demand_{name}": 2 * pl.col(f"split_line_item_{name}")
        for name in ("split_cost", "unused_cost")
    }
    file = raw(node(0), node(1), *web(requested=0.5, used=1.0)).with_columns(**listed)
    slices = sliced(file, charge_basis="request").slices.filter(resource_kind="cpu")
    assert dict(slices.select("reason", "list_cost").iter_rows()) == {
        None: Decimal("0.045"),
        "unrequested": Decimal("0.135"),
        "empty_node": None,
    }


@pytest.mark.parametrize(("basis", "dollars"), [("provider", "0.045"), ("request", "0.0225")])
def test_currencies_are_never_mixed(basis: str, dollars: str) -> None:
    # In yuan CPU is 0.09 a vCPU-hour: half the request at twice the price.
    yuan = {"line_item_currency_code": "CNY"}
    dear = [it | yuan for it in web(1, requested=0.25, used=0.5)]
    rows = [node(0), *web(0, 0.5, 1.0), node(1, cost=0.26) | yuan, *dear]
    rows[-2]["split_line_item_unused_cost"] += 0.09
    rows[-1]["split_line_item_unused_cost"] += 0.04
    slices = sliced(raw(*rows), charge_basis=basis).slices
    for view in ("effective_cost", "billed_cost"):
        sums = slices.group_by("billing_currency").agg(pl.col(view).sum())
        assert dict(sums.iter_rows()) == {"USD": Decimal("0.13"), "CNY": Decimal("0.26")}
    cpu = slices.filter(row_kind="workload", resource_kind="cpu").sort("billing_currency")
    assert cpu["effective_cost"].to_list() == [Decimal("0.0225"), Decimal(dollars)]


def test_what_splits_nothing_is_charged_as_ever() -> None:
    fargate = row(
        product_code="AmazonEKS",
        operation="FargatePod",
        usage_type="USE1-Fargate-vCPU-Hours:perCPU",
        resource_id=CLUSTER.replace("cluster/", "pod/") + "/shop/web-1/uid",
        unblended_cost=1.0,
    )
    unknown = pod(kind="TPU", split=0.1, unused=0.2)
    for basis in ("provider", "request"):
        result = kinds(sliced(raw(node(cost=0.43), *web(), unknown, fargate), charge_basis=basis))
        assert result["unattributed", "unclassified", "other"] == "0.3"
        assert sum(float(it) for key, it in result.items() if key[0] == "workload") > 1


def test_parts_serve_both_bases() -> None:
    about = Context("aws", "prod", "cur2", "2026-10")
    frame = raw(node(), *web(requested=0.5, used=1.0)).lazy()
    parts = {
        name: part.with_columns(source_file=pl.lit("f"))
        for name, part in slice_file(frame, about).items()
    }
    asked = Context("aws", "prod", "cur2", "2026-10", charge_basis="request")
    assert kinds(combine(parts, asked)) != kinds(combine(parts, about))


# ---------------------------------------------------------------- what one pod requests


def requested(*rows: Row) -> list[tuple[str, str, float, float]]:
    found = sliced(raw(node(), *rows)).pod_requests
    assert set(found["cluster_id"]) <= {CLUSTER}
    return [
        (cluster[-4:], kind, float(quantity), float(weight))
        for cluster, kind, quantity, weight in found.rows()
    ]


def test_requests_are_counted_in_pod_hours() -> None:
    assert requested(*web(0), *web(1), pod(1, "cpu", name="b", **usage(0.25))) == [
        ("demo", "cpu", 0.25, 1.0),
        ("demo", "cpu", 0.5, 2.0),
        ("demo", "memory", 2.0, 2.0),
    ]


def test_daemonsets_and_requests_of_nothing_are_left_out() -> None:
    assert requested(agent(0, "cpu", **usage(0.2)), pod(0, "cpu", **usage(0.0, 1.0))) == []


def test_a_daily_row_is_a_day_of_hours() -> None:
    day = {"line_item_usage_end_date": START + dt.timedelta(days=1)}
    assert requested(pod(0, "cpu", **usage(12.0)) | day) == [("demo", "cpu", 0.5, 24.0)]


def test_odd_requests_are_told_to_six_digits() -> None:
    found = requested(*(pod(n, "cpu", **usage(2 / 3 + n * 1e-9)) for n in range(4)))
    assert found == [("demo", "cpu", 0.666667, 4.0)]


@pytest.mark.parametrize("kind", ["TPU", "gpu"])
def test_a_resource_that_nobody_knows_is_no_request(kind: str) -> None:
    found = sliced(raw(node(), pod(0, kind, **usage(1.0)))).pod_requests
    assert found.height == (kind == "gpu")


def test_ecs_has_no_pods() -> None:
    task = pod(product_code="AmazonECS", operation="ECSTask-EC2", **usage(1.0))
    assert requested(task) == []


def test_nodes_are_those_of_clusters() -> None:
    lonely = node(resource_id="i-lonely", resource_tags=None)
    result = sliced(raw(node(), *web(), lonely))
    assert result.node_days.rows() == [(NODE, dt.date(2026, 10, 1), Decimal(1))]
