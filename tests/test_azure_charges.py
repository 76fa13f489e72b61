"""What each Azure charge is, whose cluster it belongs to, and what is reported."""

from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from tests.azure_rows import (
    CLUSTER,
    CLUSTERS,
    NODE_GROUP,
    POOL,
    SUBSCRIPTION,
    Row,
    context,
    disk,
    ea,
    fee,
    findings,
    focus,
    frame,
    kinds,
    network,
    node,
    row,
    sliced,
    totals,
)

CLAIM = "kubernetes.io-created-for-pvc-namespace"
COMPUTE = ("unattributed", "no_split_source", "compute")
STORAGE = ("unattributed", "no_split_source", "storage")
LOST = ("unattributed", "unmounted_volume", "storage")
ELSEWHERE = ("outside", "other_service", "other")
NETWORK = ("shared", "network", "network")
BALANCER = ("shared", "load_balancer", "network")
OUTSIDE: dict[str, Any] = {"subscription": None, "group": None}


def _in_group(path: str, **cells: Any) -> Row:
    return row(resource=f"{NODE_GROUP}/providers/{path}", **cells)


CASES: dict[str, tuple[Row, tuple[str, str | None, str]]] = {
    "a scale set": (node(), COMPUTE),
    "a virtual machine": (_in_group("Microsoft.Compute/virtualMachines/aks-np-1"), COMPUTE),
    "below a scale set": (node(resource=f"{POOL}/virtualMachines/0"), COMPUTE),
    "a node disk": (disk("aks-user-1OS"), STORAGE),
    "a claimed disk": (disk("pvc-1", tags={CLAIM: "shop"}), ("workload", None, "storage")),
    "a claimed disk in other spelling": (
        disk("pvc-1", tags={"Kubernetes.io_created-for_PVC-namespace": "shop"}),
        ("workload", None, "storage"),
    ),
    "a disk of a claim nobody names": (disk("pvc-1"), LOST),
    "a disk made by Kubernetes": (disk("data", tags={"k8s-azure-created-by": "x"}), LOST),
    "operations of a node disk": (disk("os", unit="10K"), ("shared", "storage", "storage")),
    "operations of a claimed disk": (
        disk("pvc-1", unit="10K", tags={CLAIM: "shop"}),
        ("workload", None, "storage"),
    ),
    "a snapshot": (
        _in_group("Microsoft.Compute/snapshots/s", unit="1 GB/Month", category="Storage"),
        ("shared", "storage", "storage"),
    ),
    "bandwidth": (node(category="Bandwidth", unit="1 GB"), NETWORK),
    "bandwidth without a unit": (node(category="Bandwidth", unit=None), NETWORK),
    "other cost of use": (node(unit="10K", category="Defender"), ("shared", "other", "other")),
    "a machine without a unit": (node(unit=None), ("shared", "other", "other")),
    "a load balancer": (network("loadBalancers/kubernetes"), BALANCER),
    "load balancer data": (network("loadBalancers/kubernetes", unit="1 GB"), BALANCER),
    "an address": (network("publicIPAddresses/ip"), NETWORK),
    "a NAT gateway": (network("natGateways/nat", category="NAT Gateway"), NETWORK),
    "NAT data": (network("natGateways/nat", category="NAT Gateway", unit="1 GB"), NETWORK),
    "the address of a Service": (
        network("publicIPAddresses/ip", tags={"k8s-azure-service": "shop/front"}),
        ("workload", None, "network"),
    ),
    "the address of a Service, older tag": (
        network("publicIPAddresses/ip", tags={"service": "shop/front"}),
        ("workload", None, "network"),
    ),
    "the address of two Services": (
        network("publicIPAddresses/ip", tags={"k8s-azure-service": "shop/a,web/b"}),
        NETWORK,
    ),
    "a tag `service` of a person": (
        network("publicIPAddresses/ip", tags={"service": "checkout"}),
        NETWORK,
    ),
    "logs by volume": (
        _in_group("microsoft.operationalinsights/w", category="Log Analytics", unit="1 GB"),
        ("shared", "logging", "other"),
    ),
    "logs kept": (
        _in_group("microsoft.operationalinsights/w", category="Log Analytics", unit="1 GB/Month"),
        ("shared", "logging", "other"),
    ),
    "something else": (
        _in_group("Microsoft.KeyVault/vaults/v", category="Key Vault"),
        ("shared", "other", "other"),
    ),
    "a virtual node": (
        _in_group("Microsoft.ContainerInstance/containerGroups/g", category="Container Instances"),
        ("shared", "other", "other"),
    ),
    "uptime SLA": (fee(), ("cluster_fee", "control_plane", "other")),
    "long term support": (
        fee(meter="Standard Long Term Support"),
        ("cluster_fee", "extended_support", "other"),
    ),
    "Defender on the cluster": (
        fee(category="Microsoft Defender for Cloud", meter="Standard vCore"),
        ("cluster_fee", "service_charge", "other"),
    ),
    "an unknown charge type on a node": (
        node(charge_type="Surprise"),
        ("unattributed", "unclassified", "other"),
    ),
    "an unknown charge type elsewhere": (
        row(charge_type="Surprise", **OUTSIDE, resource=None),
        ELSEWHERE,
    ),
    "a refund of a node": (node(charge_type="Refund"), ("outside", "refund", "other")),
    "UnusedBenefit": (
        row(charge_type="UnusedBenefit"),
        ("outside", "unused_commitment", "other"),
    ),
    "a reservation bought": (
        row(charge_type="Purchase", reservation="r-1"),
        ("outside", "commitment_fee", "other"),
    ),
    "a plan bought, told by its order": (
        row(charge_type="Purchase", order="Compute savings plan, 3 Years"),
        ("outside", "commitment_fee", "other"),
    ),
    "a purchase": (row(charge_type="Purchase", category="SaaS"), ELSEWHERE),
    "another subscription": (
        node(resource=POOL.replace(SUBSCRIPTION, "other"), subscription="other", tags={}),
        ELSEWHERE,
    ),
}


@pytest.mark.parametrize(("charge", "kind"), CASES.values(), ids=CASES)
def test_each_charge_is_what_it_is(charge: Row, kind: tuple[str, str | None, str]) -> None:
    assert kinds(sliced(frame([charge]))) == {kind: "1"}


@pytest.mark.parametrize("unit", ["1 Hour", "100 Hours", "1/Month", "1/Day", "1 GB/Month"])
def test_a_unit_with_time_is_time(unit: str) -> None:
    assert kinds(sliced(frame([disk("os", unit=unit)]))) == {STORAGE: "1"}


@pytest.mark.parametrize("unit", ["Hours", "GB-Months", "Units/Month", "Hour"])
def test_units_of_focus_are_time_too(unit: str) -> None:
    raw = frame([disk("os", unit=unit)], focus).with_columns(
        x_PricingUnitDescription=pl.lit(None, dtype=pl.String), PricingUnit=pl.lit(unit)
    )
    assert kinds(sliced(raw, of=context("focus_export"))) == {STORAGE: "1"}


# ---------------------------------------------------------------- clusters


def test_a_resource_group_is_compared_whole_and_never_by_its_beginning() -> None:
    longer = POOL.replace("_westeurope/", "_westeurope2/")
    result = sliced(frame([node(cost="1"), node(cost="2", resource=longer)]))
    assert kinds(result, "cluster_id") == {(CLUSTER,): "1", (None,): "2"}


def test_the_case_of_ids_does_not_matter() -> None:
    shouted = POOL.upper()
    result = sliced(frame([node(cost="1"), node(cost="2", resource=shouted)]))
    assert kinds(result, "cluster_id", "resource_id") == {(CLUSTER, POOL.lower()): "3"}


def test_a_row_without_resource_is_placed_by_its_resource_group_column() -> None:
    assert kinds(sliced(frame([node(resource=None)])), "cluster_id") == {(CLUSTER,): "1"}


def test_the_managed_cluster_and_what_lies_below_it_is_the_cluster() -> None:
    below = f"{CLUSTER}/providers/Microsoft.Security/pricings/x"
    result = sliced(frame([fee(cost="1"), fee(cost="2", resource=below)]))
    assert kinds(result, "cluster_id") == {(CLUSTER,): "3"}


def test_the_nobody_of_old_exports_is_no_account() -> None:
    nobody = "00000000-0000-0000-0000-000000000000"
    result = sliced(frame([row(subscription=nobody, charge_type="UnusedReservation")], ea))
    assert result.slices["sub_account_id"].to_list() == [None]


def test_a_cluster_that_nobody_configured_keeps_its_fee_and_is_reported() -> None:
    other = CLUSTER.replace("aks-shop", "aks-new")
    result = sliced(frame([fee(), fee(resource=other)]))
    assert kinds(result, "cluster_id", "row_kind") == {
        (other, "cluster_fee"): "1",
        (CLUSTER, "cluster_fee"): "1",
    }
    assert result.findings.select("rule", "severity", "where").rows() == [
        ("cluster_not_configured", "warning", other)
    ]


def test_nodes_that_nobody_configured_are_reported_with_the_line_to_add() -> None:
    tags = {"aks-managed-cluster-name": "AKS-shop", "aks-managed-cluster-rg": "RG-shop"}
    rows = [node(cost="5"), network("loadBalancers/kubernetes", tags=tags)]
    result = sliced(frame([*rows, fee()]), of=context(clusters={}))
    assert kinds(result) == {ELSEWHERE: "6", ("cluster_fee", "control_plane", "other"): "1"}
    [found] = result.findings.to_dicts()
    assert found["rule"] == "cluster_not_configured"
    assert found["actual"] == "nodes for 5.000000000000 EUR that belong to no cluster"
    assert found["hint"] == (
        f'add to `clusters` of the source: "{CLUSTER}" = '
        '{ node_resource_group = "mc_rg-shop_aks-shop_westeurope" }'
    )


def test_nodes_known_by_their_details_alone_are_reported_too() -> None:
    details = '{"VMProperties": "Microsoft.AKS.Compute.AKS.Linux.Billing"}'
    result = sliced(frame([node(tags={}, details=details)]), of=context(clusters={}))
    assert findings(result) == [("cluster_not_configured", "warning")]


# ---------------------------------------------------------------- fates and findings


def test_pairs_of_a_cost_allocation_rule_are_set_aside() -> None:
    rows = [node(cost="1"), node(cost="-1", rule="r"), node(cost="1", rule="r")]
    result = sliced(frame(rows))
    assert kinds(result) == {COMPUTE: "1"}
    assert totals(result) == {
        ("sliced", "effective"): (1, Decimal(1)),
        ("provider_reallocation", "effective"): (2, Decimal(0)),
    }


def test_a_row_of_another_month_belongs_to_that_month() -> None:
    month = node()["period"].replace(month=9)
    result = sliced(frame([node(cost="1"), node(cost="2", period=month, rule="r")]))
    assert totals(result) == {
        ("sliced", "effective"): (1, Decimal(1)),
        ("other_period", "effective"): (1, Decimal(2)),
    }


def test_a_day_outside_the_month_keeps_its_own_day() -> None:
    late = node(cost="1", day=14) | {"day": node()["day"].replace(month=9, day=30)}
    result = sliced(frame([late]))
    assert [str(day) for day in result.slices["charge_period_start"]] == ["2026-09-30"]


def test_an_unknown_charge_type_is_an_error_that_names_file_and_value() -> None:
    result = sliced(frame([node(charge_type="Surprise", cost="3")]))
    [found] = result.findings.to_dicts()
    assert (found["rule"], found["severity"]) == ("unknown_charge_type", "error")
    assert (found["where"], found["actual"]) == ("file-1.csv", "Surprise")
    assert (found["cluster_id"], found["difference"]) == (CLUSTER, "3.000000000000")


def test_a_correction_of_focus_keeps_its_class() -> None:
    raw = frame([node(cost="-1") | {"class": "Correction"}], focus)
    result = sliced(raw, of=context("focus_export"))
    assert result.slices.select("charge_class", "row_kind").rows() == [
        ("Correction", "unattributed")
    ]


@pytest.mark.parametrize(("promised", "other"), [(None, "USD"), ("USD", "EUR")])
def test_a_second_currency_is_an_error_and_never_added(promised: str | None, other: str) -> None:
    rows = [node(cost="1"), node(cost="1"), node(cost="5", currency="USD")]
    result = sliced(frame(rows), of=context(currency=promised))
    assert kinds(result, "billing_currency") == {("EUR",): "2", ("USD",): "5"}
    assert result.findings.select("rule", "severity", "actual").rows() == [
        ("second_currency", "error", other)
    ]


@pytest.mark.parametrize(
    ("metric", "charge"),
    [
        ("amortized", row(charge_type="Purchase", reservation="r")),
        ("actual", row(charge_type="UnusedReservation")),
    ],
)
def test_rows_that_contradict_the_metric_are_reported(metric: str, charge: Row) -> None:
    result = sliced(frame([charge]), of=context(metric=metric))
    assert findings(result) == [("metric_doubtful", "warning")]


def test_labels_are_read_in_all_spellings_and_empty_is_none() -> None:
    rows = [
        node(cost="1", tags={"Team": "a"}),
        node(cost="2", tags={"team": ""}),
        node(cost="4", tags={"TEAM": "c", "Team": ""}),
    ]
    result = sliced(frame(rows), of=context(labels=("team",)))
    shown = result.slices.select("effective_cost", "labels").sort("effective_cost")
    assert [labels for _, labels in shown.iter_rows()] == [{"team": "a"}, None, {"team": "c"}]
    assert findings(result) == [("label_spellings", "warning")]


@pytest.mark.parametrize(
    "text",
    [
        '"aks-managed-poolName": "user","env": "x"',
        '{"aks-managed-poolName":"user"}',
        '{\n  "AKS-managed-poolname" : "user"\n}',
        ' "poolName": "user" ',
    ],
)
def test_tags_are_read_with_and_without_braces(text: str) -> None:
    raw = frame([node()]).with_columns(tags=pl.lit(text))
    assert sliced(raw).slices["node_pool"].to_list() == ["user"]


def test_the_pool_is_told_by_the_scale_set_where_tags_are_missing() -> None:
    assert sliced(frame([node(tags={})])).slices["node_pool"].to_list() == ["user"]


def test_ids_of_a_slice() -> None:
    [found] = sliced(frame([node()])).slices.to_dicts()
    assert found["origin_id"] == f"Usage/m-1/{POOL.lower()}/2026-10-14"
    assert (found["cluster_name"], found["region_id"]) == ("aks-shop", "westeurope")
    assert (found["service_name"], found["service_category"]) == ("Virtual Machines", "Compute")
    assert (found["pricing_category"], found["charge_category"]) == ("Standard", "Usage")
    assert (found["pricing_unit"], str(found["pricing_quantity"])) == ("1 Hour", "24.000000000000")
    assert CLUSTERS[CLUSTER] in found["resource_id"]
