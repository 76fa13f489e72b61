"""Twelve rows that show every part of a GKE bill, with the figures they must come to."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import ROOT
from tests.gcp_rows import (
    CLUSTER,
    KUBERNETES,
    Row,
    bill,
    found,
    kinds,
    of_cluster,
    row,
    scanned,
    sliced,
    write,
)
from transforms.sliced import Sliced

SHEET = ROOT.parent / "shared" / "facts" / "gke.md"
OCTOBER = {
    ("workload", None, "cpu"): "0.0602754",
    ("workload", None, "storage"): "0.01344086",
    ("idle", "unrequested", "cpu"): "0.01770216",
    ("system_overhead", "node_reserve", "cpu"): "0.00126444",
    ("unattributed", "unsupported_sku", "compute"): "0.0055",
    ("cluster_fee", "control_plane", "other"): "0.1",
    ("outside", "unused_commitment", "other"): "0.00398",
    ("outside", "commitment_fee", "other"): "0.0398304",
}


CUD = "COMMITTED_USAGE_DISCOUNT"
NODE = {
    "checkout": (0.0474165, -0.02370825, 5400.0),
    "search": (0.031611, -0.0158055, 3600.0),
    "kube-system": (0.0094833, -0.00474165, 1080.0),
    "kube:system-overhead": (0.00252888, -0.00126444, 288.0),
    "kube:unallocated": (0.03540432, -0.01770216, 4032.0),
}
"""One hour of a node's cores: cost, credit and seconds of each owner."""


def twelve() -> list[Row]:
    """The rows of the sheet, built from what this project reads of them."""
    return [
        *(of_node(name, *amounts) for name, amounts in NODE.items()),
        of_cluster(
            "search",
            0.01344086,
            sku=_sku("Balanced PD Capacity"),
            usage={"amount": 386547056640000.0, "unit": "byte-seconds"},
            resource={"name": "pvc-5b8e3f60-0000-4000-8000-000000000001"},
        ),
        of_cluster("goog-k8s-unsupported-sku", 0.0055, sku=_sku("SKU of a node without split")),
        of_cluster(None, 0.1, service=KUBERNETES, sku=_sku("Regional Kubernetes Clusters")),
        *commitments(),
        of_node(
            "checkout",
            *(-amount for amount in NODE["checkout"]),
            invoice={"month": "202611"},
            adjustment_info={"id": "adj-1", "mode": "COMPLETE_NEGATION"},
        ),
    ]


def of_node(namespace: str, cost: float, credit: float, seconds: float, **cells: Any) -> Row:
    usage = {"amount": seconds, "unit": "seconds"}
    return of_cluster(namespace, cost, credits={CUD: credit}, usage=usage, **cells)


def commitments() -> list[Row]:
    """A pod of Autopilot whose price holds the discount, its fee with the offset, an old fee."""
    pod = {
        "goog-k8s-cluster-name": "shop-auto",
        "goog-k8s-cluster-location": "us-central1",
        "k8s-namespace": "checkout",
    }
    return [
        row(
            "Autopilot Pod mCPU Requests (us-central1)",
            0.01602,
            service=KUBERNETES,
            usage={"amount": 1800000.0, "unit": "seconds"},
            labels=pod,
            consumption_model={"description": "Compute Flexible CUDs 1 Year"},
        ),
        row(
            "Compute Flexible Committed Use Discounts - 1 Year",
            0.02,
            project=None,
            credits={"FEE_UTILIZATION_OFFSET": -0.01602},
        ),
        row("Commitment v1: N2 Cpu in Americas for 1 Year", 0.0398304),
    ]


def _sku(description: str) -> dict[str, str]:
    return {"id": f"id of {description}", "description": description}


def sheet(folder: Path) -> Path:
    """The rows as they stand in the sheet."""
    if not SHEET.exists():
        pytest.skip("the fact sheets are not beside this checkout")
    lines = [line for line in SHEET.read_text(encoding="utf-8").splitlines() if line[:2] == '{"']
    assert len(lines) == 12
    path = folder / "sheet.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(params=["sheet", "parquet", "json", "csv-python"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    if request.param == "sheet":
        return sheet(tmp_path)
    return write(tmp_path, request.param, *twelve())


def total(result: Sliced, **where: str) -> Decimal:
    return Decimal(str(result.slices.filter(**where)["effective_cost"].sum()))


def test_the_twelve_rows_of_the_sheet(file: Path) -> None:
    result = sliced(scanned(file))
    assert kinds(result) == OCTOBER
    assert total(result, row_kind="workload") == Decimal("0.07371626")
    assert total(result, row_kind="outside") == Decimal("0.0438104")
    assert total(result) == Decimal("0.24199326")
    assert result.slices["billed_cost"].equals(result.slices["effective_cost"], check_names=False)
    assert found(result) == [
        (
            "commitment_fee_outside",
            "info",
            "prod",
            "commitment fees of 0.039830400000 USD are outside",
        )
    ]


def test_november_holds_the_correction_alone(file: Path) -> None:
    result = sliced(scanned(file), billing_period="2026-11")
    assert kinds(result) == {("workload", None, "cpu"): "-0.02370825"}
    columns = ("charge_class", "charge_period_start", "charge_category", "charged_quantity")
    assert [str(value) for value in result.slices.select(columns).row(0)] == [
        "Correction",
        "2026-10-05",
        "Usage",
        "-1.500000000000",
    ]
    assert result.totals.filter(cost_view="billed").select("fate", "rows").sort("fate").rows() == [
        ("other_period", 11),
        ("sliced", 1),
    ]


def test_the_clusters_of_october(file: Path) -> None:
    bills = sliced(scanned(file)).cluster_bills.filter(cost_view="effective").sort("cluster_id")
    assert bills.select("cluster_id", pl.col("amount").cast(pl.String)).rows() == [
        ("acme-shop-prod/us-central1/shop-auto", "0.016020000000"),
        (CLUSTER, "0.182162860000"),
    ]


def test_the_bill_is_summed_apart(file: Path) -> None:
    amounts: dict[tuple[str, str], Decimal] = {}
    for kind, _, _, view, _, amount in bill(file):
        amounts[kind, view] = amounts.get((kind, view), Decimal(0)) + amount
    assert amounts == {
        ("regular", "effective"): Decimal("0.24199326"),
        ("regular", "billed"): Decimal("0.24199326"),
        ("other_period", "effective"): Decimal("-0.02370825"),
        ("other_period", "billed"): Decimal("-0.02370825"),
    }


def test_the_rows_here_are_those_of_the_sheet(tmp_path: Path) -> None:
    theirs = [json.loads(line) for line in sheet(tmp_path).read_text().splitlines()]
    for ours, their in zip(twelve(), theirs, strict=True):
        assert ours["cost"] == their["cost"]
        assert [c["amount"] for c in ours["credits"]] == [c["amount"] for c in their["credits"]]
        assert ours["usage"]["unit"] == their["usage"]["unit"]
