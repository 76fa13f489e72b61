"""What each row of Google's bill is, what it pays for and what it costs."""

from typing import Any

import polars as pl
import pytest

from tests.gcp_rows import (
    CLUSTER,
    IN_CLUSTER,
    KUBERNETES,
    NODE,
    Row,
    found,
    kinds,
    of_cluster,
    raw,
    row,
    sliced,
)

CORE = "N2 Instance Core running in Americas"
AUTOPILOT = "Autopilot Pod mCPU Requests (us-central1)"
BYTES = {"amount": 14871.0, "unit": "bytes"}
SECONDS = {"amount": 3600.0, "unit": "seconds"}


def sku(description: str) -> dict[str, str]:
    return {"id": "A-1", "description": description}


def only(*rows: Row) -> dict[Any, str]:
    return kinds(sliced(raw(*rows)))


def kind(text: str) -> dict[tuple[str, str | None, str], str]:
    row_kind, reason, resource_kind = text.split()
    return {(row_kind, None if reason == "-" else reason, resource_kind): "1"}


# ---------------------------------------------------------------- clusters


@pytest.mark.parametrize(
    ("namespace", "expected", "provider_class", "split_source"),
    [
        ("checkout", "workload - cpu", CORE, "gke_cost_allocation"),
        ("kube-system", "workload - cpu", CORE, "gke_cost_allocation"),
        ("goog-k8s-mine", "workload - cpu", CORE, "gke_cost_allocation"),
        ("kube-unallocated", "workload - cpu", CORE, "gke_cost_allocation"),
        ("kube:unallocated", "idle unrequested cpu", "kube:unallocated", "gke_cost_allocation"),
        (
            "kube:system-overhead",
            "system_overhead node_reserve cpu",
            "kube:system-overhead",
            "gke_cost_allocation",
        ),
        (
            "goog-k8s-unknown",
            "unattributed unknown_owner cpu",
            "goog-k8s-unknown",
            "gke_cost_allocation",
        ),
        (
            "goog-k8s-unsupported-sku",
            "unattributed unsupported_sku cpu",
            "goog-k8s-unsupported-sku",
            "gke_cost_allocation",
        ),
        ("kube:default", "unattributed unclassified cpu", "kube:default", "gke_cost_allocation"),
        (None, "unattributed unclassified cpu", CORE, None),
        ("", "unattributed unclassified cpu", CORE, None),
    ],
)
def test_a_cluster_row_by_its_namespace(
    namespace: str | None, expected: str, provider_class: str, split_source: str | None
) -> None:
    result = sliced(raw(of_cluster(namespace)))
    assert kinds(result) == kind(expected)
    columns = ("cluster_id", "provider_class", "split_source", "node_name", "node_pool")
    assert result.slices.select(columns).rows() == [
        (CLUSTER, provider_class, split_source, NODE.rsplit("/", 1)[-1], "pool-a")
    ]


@pytest.mark.parametrize(
    ("description", "unit", "expected"),
    [
        (CORE, "seconds", "cpu"),
        ("Memory-optimized Instance Core running in Americas", "seconds", "cpu"),
        ("E2 Instance Ram running in Americas", "byte-seconds", "memory"),
        ("Nvidia Tesla T4 GPU running in Americas", "seconds", "gpu"),
        ("Balanced PD Capacity", "byte-seconds", "storage"),
        ("SSD backed Local Storage", "byte-seconds", "storage"),
        ("Hyperdisk Balanced IOPS", "seconds", "storage"),
        ("Network Inter Zone Data Transfer Out", "bytes", "network"),
        ("External IP Charge on a Standard VM", "seconds", "network"),
        ("Licensing Fee for Container-Optimized OS (CPU cost)", "seconds", "compute"),
        ("A novelty", "seconds", "compute"),
        ("A novelty", "requests", "other"),
        ("A novelty", None, "other"),
    ],
)
def test_the_resource_kind_by_sku_and_unit(
    description: str, unit: str | None, expected: str
) -> None:
    made = of_cluster("checkout", sku=sku(description), usage={"amount": 1.0, "unit": unit})
    assert only(made) == {("workload", None, expected): "1"}


def test_what_is_no_machine_is_no_node() -> None:
    disk = {"name": "pvc-1", "global_name": "//compute.googleapis.com/projects/4/disk/7"}
    result = sliced(raw(of_cluster("search", sku=sku("Balanced PD Capacity"), resource=disk)))
    assert result.slices.select("node_name", "resource_id").rows() == [(None, disk["global_name"])]


@pytest.mark.parametrize(
    ("description", "usage", "expected"),
    [
        ("Network Internet Egress", BYTES, "shared network network"),
        ("External IP Charge on a Standard VM", SECONDS, "shared network network"),
        ("Cloud Storage Class A Operations", {"unit": "requests"}, "shared other storage"),
        ("A novelty", {"unit": "count"}, "shared other other"),
        ("A novelty", SECONDS, "idle unrequested compute"),
    ],
)
def test_what_is_billed_by_use_is_never_idle(
    description: str, usage: dict[str, Any], expected: str
) -> None:
    result = sliced(raw(of_cluster("kube:unallocated", sku=sku(description), usage=usage)))
    assert kinds(result) == kind(expected)
    amounts = result.slices.select("provider_class", pl.col("provider_idle_cost").cast(pl.Float64))
    assert amounts.rows() == [("kube:unallocated", 1.0)]


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("Zonal Kubernetes Clusters", "cluster_fee control_plane other"),
        ("Regional Kubernetes Clusters", "cluster_fee control_plane other"),
        ("Extended Period Cluster Management Fee", "cluster_fee extended_support other"),
    ],
)
@pytest.mark.parametrize(
    "service", [{"id": KUBERNETES["id"]}, {"description": "Kubernetes Engine"}]
)
def test_the_fee_of_a_cluster(description: str, expected: str, service: dict[str, str]) -> None:
    made = of_cluster(None, service=service, sku=sku(description), resource=None)
    assert only(made) == kind(expected)


@pytest.mark.parametrize(
    ("namespace", "expected", "warned"),
    [
        ("checkout", "workload - cpu", []),
        (None, "unattributed unclassified cpu", ["no value"]),
        ("kube:unallocated", "unattributed unclassified cpu", ["kube:unallocated"]),
        ("kube:system-overhead", "unattributed unclassified cpu", ["kube:system-overhead"]),
    ],
)
def test_a_pod_of_autopilot_is_never_split(
    namespace: str | None, expected: str, warned: list[str]
) -> None:
    made = of_cluster(namespace, service=KUBERNETES, sku=sku(AUTOPILOT), resource=None)
    result = sliced(raw(made))
    assert kinds(result) == kind(expected)
    assert result.slices["split_source"].to_list() == [None]
    assert found(result) == [
        ("unknown_namespace_value", "warning", "file-1", value) for value in warned
    ]


def test_pods_and_nodes_of_one_cluster_are_told_apart_by_the_row() -> None:
    pod = of_cluster("checkout", service=KUBERNETES, sku=sku(AUTOPILOT), resource=None)
    result = sliced(raw(pod, of_cluster("kube:unallocated"), of_cluster("search")))
    assert result.slices.select("row_kind", "split_source").sort(
        "row_kind", "split_source"
    ).rows() == [
        ("idle", "gke_cost_allocation"),
        ("workload", None),
        ("workload", "gke_cost_allocation"),
    ]


@pytest.mark.parametrize(
    ("labels", "cells", "expected"),
    [
        (IN_CLUSTER, {}, CLUSTER),
        ({"goog-k8s-cluster-name": "shop-std"}, {}, "acme-shop-prod/us-central1-a/shop-std"),
        (IN_CLUSTER, {"project": {"number": "4815"}}, "4815/us-central1/shop-std"),
        (IN_CLUSTER, {"project": None}, None),
        ({"goog-k8s-cluster-location": "us-central1"}, {}, None),
        ({}, {}, None),
    ],
)
def test_a_cluster_is_project_location_and_name(
    labels: dict[str, str], cells: dict[str, Any], expected: str | None
) -> None:
    result = sliced(raw(row(labels=labels | {"k8s-namespace": "checkout"}, **cells)))
    assert result.slices["cluster_id"].to_list() == [expected]
    name = expected and "shop-std"
    assert result.slices.select("cluster_name", "row_kind").rows() == [
        (name, "workload" if expected else "outside")
    ]


def test_a_workload_has_its_names_labels_and_quantities() -> None:
    labels = {
        "k8s-workload-type": "apps/v1-Deployment",
        "k8s-workload-name": "api",
        "k8s-label/team": "payments",
    }
    result = sliced(raw(of_cluster("checkout", labels=labels)), labels=["team", "tier"])
    assert result.slices.select(
        "namespace", "workload_kind", "workload_name", "quantity_unit", "workload_idle"
    ).rows() == [("checkout", "Deployment", "api", "Core-Hours", None)]
    assert result.slices["labels"].to_list() == [{"team": "payments"}]
    assert result.slices.select(
        pl.col("requested_quantity", "charged_quantity", "used_quantity").cast(pl.Float64)
    ).rows() == [(1.0, 1.0, None)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"k8s-label/team": "a", "k8s-namespace-labels/team": "b", "team": "c"}, "a"),
        ({"k8s-label/team": "", "k8s-namespace-labels/team": "b", "team": "c"}, "b"),
        ({"team": "c"}, "c"),
        ({"k8s-label/Team": "a", "k8s-label/other": "b"}, "a"),
        ({"k8s-label/steam": "b"}, None),
    ],
)
def test_a_label_of_the_pod_then_of_the_namespace_then_of_the_resource(
    labels: dict[str, str], expected: str | None
) -> None:
    result = sliced(raw(of_cluster("checkout", labels=labels)), labels=["team"])
    assert result.slices["labels"].to_list() == [None if expected is None else {"team": expected}]
    assert found(result) == []


def test_a_label_in_two_spellings_is_a_warning() -> None:
    labels = {"k8s-label/app.io/name": "a", "k8s-label/app_io-name": "b"}
    result = sliced(raw(of_cluster("checkout", labels=labels)), labels=["app.io/name"])
    assert result.slices["labels"].to_list() == [{"app.io/name": "a"}]
    assert found(result) == [
        ("label_spellings", "warning", "prod", "k8s-label/app.io/name, k8s-label/app_io-name")
    ]


# ---------------------------------------------------------------- quantities


def test_a_node_has_what_was_billed_and_allocates_what_google_leaves() -> None:
    hours = {"checkout": 1.5, "search": 1.3, "kube:system-overhead": 0.08, "kube:unallocated": 1.12}
    rows = [
        of_cluster(name, usage={"amount": 3600 * share, "unit": "seconds"})
        for name, share in hours.items()
    ]
    result = sliced(raw(*rows[:2]), raw(*rows[2:], rows[3] | {"cost": 0.5, "usage": None}))
    capacity = result.slices.select(
        "row_kind", pl.col("capacity_quantity", "allocatable_quantity").cast(pl.Float64)
    ).drop_nulls()
    assert capacity.rows() == [("idle", 4.0, 3.92)]


@pytest.mark.parametrize(
    ("description", "usage", "expected"),
    [
        (CORE, {"amount": 5400.0, "unit": "seconds"}, ("Core-Hours", "1.500000000000")),
        (
            "N2 Instance Ram running in Americas",
            {"amount": 3.0 * 3600 * 2**30, "unit": "byte-seconds"},
            ("GiB-Hours", "3.000000000000"),
        ),
        ("Nvidia T4 GPU", {"amount": 7200.0, "unit": "seconds"}, ("GPU-Hours", "2.000000000000")),
        (AUTOPILOT, {"amount": 1800000.0, "unit": "seconds"}, ("Core-Hours", "0.500000000000")),
        (CORE, {"amount": None, "unit": "seconds"}, ("Core-Hours", None)),
        ("Network Internet Egress", BYTES, (None, None)),
    ],
)
def test_quantities_in_hours(
    description: str, usage: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    result = sliced(raw(of_cluster("checkout", sku=sku(description), usage=usage)))
    columns = ("quantity_unit", pl.col("charged_quantity").cast(pl.String))
    assert result.slices.select(columns).rows() == [expected]


# ---------------------------------------------------------------- outside


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (row(cost_type="tax"), "tax"),
        (of_cluster("checkout", cost_type="tax"), "tax"),
        (row(cost_type="tax", project=None), "tax"),
        (row(cost_type="rounding_error"), "rounding"),
        (row(cost_type="adjustment"), "refund"),
        (row("Commitment v1: N2 Cpu in Americas for 1 Year"), "commitment_fee"),
        (
            of_cluster(None, sku=sku("Commitment v1: N2 Ram in Americas for 1 Year")),
            "commitment_fee",
        ),
        (row("Commitment - dollar based v1: Cloud SQL"), "commitment_fee"),
        (row("Compute Flexible Committed Use Discounts - 3 Year"), "unused_commitment"),
        (
            row(system_labels={"compute.googleapis.com/is_unused_reservation": "true"}),
            "unused_commitment",
        ),
        (
            row(system_labels={"compute.googleapis.com/is_unused_reservation": "false"}),
            "other_service",
        ),
        (row(service={"id": "S", "description": "Support"}, project=None), "support"),
        (row(service={"id": "S", "description": "Cloud Storage"}), "other_service"),
        (row(labels={"goog-k8s-node-pool-name": "pool-a"}), "other_service"),
    ],
)
def test_what_is_outside(made: Row, reason: str) -> None:
    result = sliced(raw(made))
    assert kinds(result) == {("outside", reason, "other"): "1"}
    assert result.slices.select("cluster_id", "node_name", "namespace").row(0) == (None, None, None)
    assert result.cluster_bills.is_empty()


def test_a_correction_keeps_its_kind_and_says_so() -> None:
    fixed = {"adjustment_info": {"id": "a", "mode": "PARTIAL", "type": "USAGE_CORRECTION"}}
    result = sliced(
        raw(of_cluster("checkout", -2.0, **fixed), of_cluster("search", cost_type="adjustment"))
    )
    assert result.slices.select("namespace", "row_kind", "charge_class").sort(
        "namespace"
    ).rows() == [
        ("checkout", "workload", "Correction"),
        ("search", "workload", "Correction"),
    ]


@pytest.mark.parametrize("cost_type", ["novelty", None])
def test_an_unknown_cost_type_is_reported_and_kept(cost_type: str | None) -> None:
    inside = of_cluster("kube:unallocated", cost_type=cost_type)
    result = sliced(raw(inside, row(cost=2.0, cost_type=cost_type)))
    assert kinds(result) == {
        ("unattributed", "unclassified", "cpu"): "1",
        ("outside", "other_service", "other"): "2",
    }
    assert found(result) == 2 * [("unknown_cost_type", "error", "file-1", cost_type or "no value")]


# ---------------------------------------------------------------- credits


@pytest.mark.parametrize(
    "type_",
    [
        "SUSTAINED_USAGE_DISCOUNT",
        "COMMITTED_USAGE_DISCOUNT",
        "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE",
        "FEE_UTILIZATION_OFFSET",
        "DISCOUNT",
        "SUBSCRIPTION_BENEFIT",
        "RESELLER_MARGIN",
    ],
)
def test_a_credit_of_the_price_is_inside(type_: str) -> None:
    assert only(of_cluster("checkout", credits={type_: -0.25})) == {
        ("workload", None, "cpu"): "0.75"
    }


@pytest.mark.parametrize("type_", ["FREE_TIER", "PROMOTION"])
def test_a_credit_that_pays_makes_no_workload_cheaper(type_: str) -> None:
    result = sliced(raw(of_cluster("checkout", credits={type_: -0.25, "DISCOUNT": -0.5})))
    assert kinds(result) == {
        ("workload", None, "cpu"): "0.5",
        ("outside", "credit", "other"): "-0.25",
    }
    credit = result.slices.filter(row_kind="outside")
    assert credit.select("cluster_id", "provider_class", "charge_category").rows() == [
        (None, type_, "Credit")
    ]
    assert result.cluster_bills.filter(cost_view="billed")["amount"].cast(pl.Float64).to_list() == [
        0.5
    ]
    assert found(result) == []


@pytest.mark.parametrize("type_", ["NOVELTY", None])
def test_an_unknown_credit_is_reported_and_kept(type_: str | None) -> None:
    result = sliced(
        raw(of_cluster("checkout", credits=[(type_, -0.25)]), row(credits=[(type_, -0.5)]))
    )
    assert kinds(result) == {
        ("workload", None, "cpu"): "1",
        ("unattributed", "unclassified", "other"): "-0.25",
        ("outside", "other_service", "other"): "0.5",
    }
    assert found(result) == 2 * [("unknown_credit_type", "error", "file-1", type_ or "no value")]


def test_each_credit_is_rounded_by_itself() -> None:
    tiny = [("DISCOUNT", -0.0000000000004), ("DISCOUNT", -0.0000000000004)]
    result = sliced(raw(of_cluster("checkout", credits=tiny)))
    assert kinds(result) == {("workload", None, "cpu"): "1"}
    assert result.totals["amount"].cast(pl.Float64).to_list() == [1.0, 1.0]


def test_labels_and_credits_do_not_multiply() -> None:
    labels = {f"k8s-label/l{number}": "x" for number in range(5)}
    paid = [("DISCOUNT", -0.125), ("PROMOTION", -0.125), ("PROMOTION", -0.25)]
    result = sliced(raw(of_cluster("checkout", labels=labels, credits=paid), row(cost=8.0)))
    assert kinds(result) == {
        ("workload", None, "cpu"): "0.875",
        ("outside", "credit", "other"): "-0.375",
        ("outside", "other_service", "other"): "8",
    }
