"""Small Azure exports and answers by hand, for the oracle's tests."""

import csv
import io
import json
from collections import defaultdict
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.oracle import Books

SUBSCRIPTION = "/subscriptions/11111111-2222-3333-4444-555555555555"
MANAGED = f"{SUBSCRIPTION}/resourceGroups/rg-shop/providers/Microsoft.ContainerService"
MANAGED += "/managedClusters/aks-shop-prod"
NODES = "MC_rg-shop_aks-shop-prod_westeurope"
BELOW = f"{SUBSCRIPTION}/resourceGroups/{NODES}/providers/"
USER = "Microsoft.Compute/virtualMachineScaleSets/aks-user-40000001-vmss"
SYS = "Microsoft.Compute/virtualMachineScaleSets/aks-sys-40000001-vmss"
OS_DISK = "Microsoft.Compute/disks/aks-user-40000001aks-user-40000001OS__1_0123456789abcdef"
CLAIM = '"kubernetes.io-created-for-pvc-namespace": "shop-api","k8s-azure-created-by": "dd"'
BALANCER = "microsoft.network/loadbalancers/kubernetes"

Line = dict[str, str]


def line(resource: str, cost: str, unit: str = "1 Hour", **more: str) -> Line:
    """One row of an EA export; a resource without `/subscriptions` is in the node group."""
    found = resource if resource.startswith("/") or not resource else BELOW + resource
    return {
        "Date": "10/14/2026",
        "BillingPeriodStartDate": "10/01/2026",
        "BillingCurrencyCode": "EUR",
        "CostInBillingCurrency": cost,
        "ResourceId": found,
        "ResourceGroup": "",
        "SubscriptionId": "",
        "UnitOfMeasure": unit,
        "ChargeType": "Usage",
        "MeterCategory": "",
        "MeterName": "",
        "ReservationId": "",
        "CostAllocationRuleName": "",
        "Tags": "",
        **more,
    }


SAMPLE = [
    line(SYS, "4.416"),
    line(USER, "2.4288"),
    line("Microsoft.Compute/virtualMachineScaleSets/aks-spot-40000001-vmss", "0.46"),
    line(OS_DISK, "0.5888", "1/Month"),
    line("Microsoft.Compute/disks/pvc-0a1b2c3d", "0.184", "1/Month", Tags=CLAIM),
    line(BALANCER.upper(), "0.552"),
    line("microsoft.network/publicipaddresses/0f0e0d0c", "0.1104"),
    line(USER.lower(), "0.0092", "1 GB", MeterCategory="Bandwidth"),
    line(MANAGED, "2.208", MeterName="Standard Uptime SLA"),
    line("", "2.4288", ChargeType="UnusedReservation", ReservationId="r"),
]
COLUMNS = ("ServiceCategory", "Cost", "Cluster", "Namespace", "Currency")
ANSWER = [
    ("Compute", 2.8, "shop-api"),
    ("Service", 2.208, "#service charges#"),
    ("Compute", 1.714, "#idle charges#"),
    ("Compute", 1.35, "shop-web"),
    ("Compute", 0.95, "kube-system"),
    ("Compute", 0.5, "#system charges#"),
    ("Storage", 0.404, "shop-api"),
    ("Networking", 0.3, "shop-web"),
    ("Networking", 0.252, "#idle charges#"),
    ("Storage", 0.1288, "#idle charges#"),
    ("Networking", 0.1104, "#system charges#"),
    ("Storage", 0.11, "shop-web"),
    ("Storage", 0.08, "kube-system"),
    ("Storage", 0.05, "#unallocated charges#"),
]


def written(folder: Path, lines: list[Line], name: str = "part_0.csv") -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]))
    writer.writeheader()
    writer.writerows(lines)
    (folder / "bill").mkdir(exist_ok=True)
    (folder / "bill" / name).write_text(text.getvalue(), encoding="utf-8-sig")


def answered(folder: Path, split: list[tuple[str, float, str]], name: str) -> None:
    """Save an answer of the query."""
    found = [(what, cost, MANAGED.lower(), who, "EUR") for what, cost, who in split]
    answer = {"columns": [{"name": name} for name in COLUMNS], "rows": found}
    file = folder / "splits" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"properties": answer}), encoding="utf-8")


def measured(folder: Path, resources: dict[str, list[tuple[float, str, str]]]) -> None:
    """Save an agent's answer of 2026-10-14."""
    answer = [
        {
            "ID": BELOW + resource,
            "Kind": "compute",
            "Splits": [
                {
                    "Fraction": fraction,
                    "SplitBucket": bucket,
                    "SplitKey": {"namespace": who, "label_team": "red"} if who else {},
                }
                for fraction, bucket, who in splits
            ],
        }
        for resource, splits in resources.items()
    ]
    (folder / "splits").mkdir(exist_ok=True)
    file = folder / "splits" / "2026-10-14.json"
    file.write_text(json.dumps({"Resources": answer}), encoding="utf-8")


def books(folder: Path, **more: Any) -> Books:
    source = {
        "id": "azure",
        "provider": "azure",
        "dataset": "cost_export",
        "metric": "amortized",
        "location": "bill",
        "splits": ["query", "agent"],
        "split_location": "splits",
        "clusters": {MANAGED: {"node_resource_group": NODES.upper()}},
        **more,
    }
    rules = [{"label": "team"}]
    return Books({"source": [source], "team_rule": rules, "system": []}, folder, "2026-10")


def money(text: str) -> Fraction:
    return Fraction(Decimal(text))


def sums(of: Books, view: str = "effective") -> dict[tuple[str, str | None, str], Fraction]:
    found: dict[tuple[str, str | None, str], Fraction] = defaultdict(Fraction)
    for (*_, kind, reason, resource), amount in of.kinds(view).items():
        found[kind, reason, resource] += amount
    return dict(found)
