"""The sheet's sample: one day of one cluster, split by a query, by the agent, and by nobody."""

import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.azure_rows import (
    CLUSTER,
    NODE_GROUP,
    Row,
    agent,
    context,
    disk,
    fee,
    findings,
    frame,
    kinds,
    lines,
    network,
    node,
    query,
    row,
    sliced,
)
from transforms.sliced import Context, Sliced

SHEET = Path(__file__).parents[2] / "shared" / "facts" / "aks.md"
SCALE_SET = f"{NODE_GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets"
OS_DISK = "aks-user-1aks-user-1OS__1_0123456789abcdef"
CLAIM = {
    "k8s-azure-created-by": "kubernetes-azure-dd",
    "kubernetes.io-created-for-pvc-name": "orders-db",
    "kubernetes.io-created-for-pvc-namespace": "shop-api",
}


def _pool(name: str, cost: str, **cells: Any) -> Row:
    tags = {"aks-managed-poolName": name, "cost-center": "retail"}
    resource = f"{SCALE_SET}/aks-{name}-1-vmss"
    return node(cost=cost, resource=resource, tags=tags, meter_id=f"m-{name}", **cells)


DAY = [
    _pool("sys", "4.416"),
    _pool("user", "2.4288", pricing="Reservation"),
    _pool("spot", "0.46", pricing="Spot"),
    disk(OS_DISK, cost="0.5888", tags={"aks-managed-poolName": "user"}),
    disk("pvc-0a1b2c3d", cost="0.184", tags=CLAIM),
    network("loadBalancers/kubernetes", cost="0.552"),
    network("publicIPAddresses/0f0e0d0c", cost="0.1104", category="Virtual Network"),
    _pool("user", "0.0092", unit="1 GB", category="Bandwidth"),
    fee(cost="2.208"),
    row(cost="2.4288", charge_type="UnusedReservation", subscription=None, group=None),
]
ANSWER = [
    ("2.8", "shop-api", "Compute"),
    ("2.208", "#service charges#", "Service"),
    ("1.714", "#idle charges#", "Compute"),
    ("1.35", "shop-web", "Compute"),
    ("0.95", "kube-system", "Compute"),
    ("0.5", "#system charges#", "Compute"),
    ("0.404", "shop-api", "Storage"),
    ("0.3", "shop-web", "Networking"),
    ("0.252", "#idle charges#", "Networking"),
    ("0.1288", "#idle charges#", "Storage"),
    ("0.1104", "#system charges#", "Networking"),
    ("0.11", "shop-web", "Storage"),
    ("0.08", "kube-system", "Storage"),
    ("0.05", "#unallocated charges#", "Storage"),
]
NOT_SPLIT: dict[tuple[Any, ...], str] = {
    ("cluster_fee", "control_plane", "other"): "2.208",
    ("outside", "unused_commitment", "other"): "2.4288",
    ("shared", "network", "network"): "0.0092",
}
BY_QUERY: dict[tuple[Any, ...], str] = {
    **NOT_SPLIT,
    ("idle", "unrequested", "compute"): "1.711844025157",
    ("idle", "unrequested", "storage"): "0.1288",
    ("shared", "load_balancer", "network"): "0.252",
    ("system_overhead", "node_reserve", "compute"): "0.499371069182",
    ("system_overhead", "node_reserve", "network"): "0.1104",
    ("unattributed", "unknown_owner", "storage"): "0.05",
    ("workload", None, "compute"): "5.093584905661",
    ("workload", None, "network"): "0.3",
    ("workload", None, "storage"): "0.594",
}


def _sheet() -> tuple[pl.DataFrame, pl.DataFrame]:
    """The sheet's export, with the BOM a true file has, and its query answer."""
    if not SHEET.exists():
        pytest.skip("the fact sheets are not here")
    text = SHEET.read_text(encoding="utf-8")
    answer = re.search(r"### 10\.1.*?```json\n(.*?)```", text, re.DOTALL)
    export = re.search(r"### 10\.2.*?```csv\n(.*?)```", text, re.DOTALL)
    assert answer
    assert export
    raw = pl.scan_csv(("\ufeff" + export[1]).encode(), infer_schema=False)
    return raw.collect(), lines(answer[1])


def _of_sheet() -> Context:
    cluster = CLUSTER.replace("aks-shop", "aks-shop-prod")
    group = "mc_rg-shop_aks-shop-prod_westeurope"
    return context(clusters={cluster: group}, splits=("query",), currency="EUR")


def _bill(result: Sliced) -> list[str]:
    return [f"{bill.normalize():f}" for bill in result.cluster_bills.get_column("amount")]


def test_the_sheet_split_by_its_query_answer() -> None:
    export, answer = _sheet()
    result = sliced(export, splits={"2026-10-14.json": answer}, of=_of_sheet())
    assert kinds(result) == BY_QUERY
    assert _bill(result) == ["10.9572"]
    assert findings(result) == []


def test_the_same_day_made_here_split_by_query() -> None:
    result = sliced(
        frame(DAY), splits={"2026-10-14.json": query(ANSWER)}, of=context(splits=("query",))
    )
    assert kinds(result) == BY_QUERY
    assert _bill(result) == ["10.9572"]
    assert findings(result) == []


def test_what_tags_name_is_taken_out_of_the_query_before_disks_are_divided() -> None:
    result = sliced(
        frame(DAY), splits={"2026-10-14.json": query(ANSWER)}, of=context(splits=("query",))
    )
    disks = result.slices.filter(resource_kind="storage")
    shown = disks.select("namespace", "provider_class", "split_source", "effective_cost").sort(
        "split_source", "effective_cost"
    )
    assert [(*row[:3], f"{row[3].normalize():f}") for row in shown.iter_rows()] == [
        ("shop-api", "Storage", None, "0.184"),
        (None, "#unallocated charges#", "query", "0.05"),
        ("kube-system", "Storage", "query", "0.08"),
        ("shop-web", "Storage", "query", "0.11"),
        (None, "#idle charges#", "query", "0.1288"),
        ("shop-api", "Storage", "query", "0.22"),
    ]


def test_the_idle_of_the_query_stands_on_the_slices_it_became() -> None:
    result = sliced(
        frame(DAY), splits={"2026-10-14.json": query(ANSWER)}, of=context(splits=("query",))
    )
    told = result.slices.drop_nulls("provider_idle_cost").group_by("row_kind", "resource_kind")
    sums = told.agg(pl.col("provider_idle_cost").sum()).sort("resource_kind")
    assert [(*row[:2], f"{row[2].normalize():f}") for row in sums.iter_rows()] == [
        ("idle", "compute", "1.714"),
        ("shared", "network", "0.252"),
        ("idle", "storage", "0.1288"),
    ]


def test_slices_of_a_query_name_no_node() -> None:
    result = sliced(
        frame(DAY), splits={"2026-10-14.json": query(ANSWER)}, of=context(splits=("query",))
    )
    divided = result.slices.filter(split_source="query")
    assert divided.select("node_name", "node_pool", "resource_id").unique().rows() == [
        (None, None, None)
    ]


USED = [("0.55", "shop-api", "usage"), ("0.37", "", "idle"), ("0.08", "", "system")]
FRACTIONS = {
    f"{SCALE_SET}/aks-user-1-vmss": USED,
    f"{SCALE_SET}/aks-sys-1-vmss": [("0.5", "kube-system", "usage"), ("0.5", "", "idle")],
    f"{SCALE_SET}/aks-spot-1-vmss": [("1", "shop-web", "usage")],
    f"{NODE_GROUP}/providers/Microsoft.Network/loadBalancers/kubernetes": [("1", "", "idle")],
    f"{NODE_GROUP}/providers/Microsoft.Network/publicIPAddresses/0f0e0d0c": [("1", "", "system")],
}


def test_the_same_day_split_by_the_agent() -> None:
    result = sliced(
        frame(DAY), splits={"2026-10-14.json": agent(FRACTIONS)}, of=context(splits=("agent",))
    )
    assert kinds(result) == {
        **NOT_SPLIT,
        # 2.4288 x 0.37 + 4.416 x 0.5
        ("idle", "unrequested", "compute"): "3.106656",
        # the OS disk has its pool's fractions: 0.5888 x (0.37 + 0.08)
        ("idle", "unrequested", "storage"): "0.26496",
        ("shared", "load_balancer", "network"): "0.552",
        # 2.4288 x 0.08
        ("system_overhead", "node_reserve", "compute"): "0.194304",
        ("system_overhead", "node_reserve", "network"): "0.1104",
        # 2.4288 x 0.55 + 4.416 x 0.5 + 0.46
        ("workload", None, "compute"): "4.00384",
        # the claim 0.184 and 0.5888 x 0.55
        ("workload", None, "storage"): "0.50784",
    }
    assert _bill(result) == ["10.9572"]
    assert findings(result) == []


def test_slices_of_the_agent_name_pool_and_scale_set_and_no_node() -> None:
    result = sliced(
        frame(DAY), splits={"2026-10-14.json": agent(FRACTIONS)}, of=context(splits=("agent",))
    )
    compute = result.slices.filter(split_source="agent", resource_kind="compute")
    places = compute.select("node_pool", "node_name", "resource_id").unique().sort("node_pool")
    assert places.rows() == [
        (name, None, f"{SCALE_SET}/aks-{name}-1-vmss".lower()) for name in ("spot", "sys", "user")
    ]
    orders = result.slices.filter(namespace="shop-api", resource_kind="compute")
    assert orders.select("workload_kind", "workload_name").rows() == [
        ("deployment", "shop-api-web")
    ]


def test_the_idle_of_the_agent_is_its_fraction_of_the_bill() -> None:
    result = sliced(
        frame(DAY), splits={"2026-10-14.json": agent(FRACTIONS)}, of=context(splits=("agent",))
    )
    told = result.slices.drop_nulls("provider_idle_cost")
    assert set(told.select("row_kind", "resource_kind").iter_rows()) == {
        ("idle", "compute"),
        ("idle", "storage"),
        ("shared", "network"),
    }
    assert (told["provider_idle_cost"] == told["effective_cost"]).all()


def test_the_same_day_split_by_nobody() -> None:
    result = sliced(frame(DAY))
    assert kinds(result) == {
        **NOT_SPLIT,
        ("shared", "load_balancer", "network"): "0.552",
        ("shared", "network", "network"): "0.1196",
        ("unattributed", "no_split_source", "compute"): "7.3048",
        ("unattributed", "no_split_source", "storage"): "0.5888",
        ("workload", None, "storage"): "0.184",
    }
    assert _bill(result) == ["10.9572"]
    assert result.slices.get_column("split_source").unique().to_list() == [None]
