"""Raw Azure rows for tests, built from the few cells a test is about, in every form of export."""

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from pipelines.exports import open_relation
from pipelines.providers import PROVIDERS
from transforms.azure import bill_columns, combine, slice_file, slice_split
from transforms.sliced import Context, Sliced

SUBSCRIPTION = "11111111-2222-3333-4444-555555555555"
CLUSTER = (
    f"/subscriptions/{SUBSCRIPTION}/resourcegroups/rg-shop"
    "/providers/microsoft.containerservice/managedclusters/aks-shop"
)
GROUP = "mc_rg-shop_aks-shop_westeurope"
NODE_GROUP = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/MC_rg-shop_aks-shop_westeurope"
POOL = f"{NODE_GROUP}/providers/Microsoft.Compute/virtualMachineScaleSets/aks-user-1-vmss"
CLUSTERS = {CLUSTER: GROUP}
DAY = dt.date(2026, 10, 14)

Row = dict[str, Any]


def row(day: int = 14, **cells: Any) -> Row:
    """A row of October in words of no export; the forms below spell it out."""
    base: Row = {
        "day": dt.date(2026, 10, day),
        "period": dt.date(2026, 10, 1),
        "charge_type": "Usage",
        "cost": "1",
        "quantity": "24",
        "unit": "1 Hour",
        "category": "Virtual Machines",
        "meter": "D4s v5",
        "meter_id": "m-1",
        "currency": "EUR",
        "subscription": SUBSCRIPTION,
        "group": "MC_rg-shop_aks-shop_westeurope",
        "location": "westeurope",
        "account": "1000001",
        "pricing": "OnDemand",
        "tags": {},
    }
    return base | cells


def node(day: int = 14, cost: str = "1", **cells: Any) -> Row:
    """A day of the scale set POOL."""
    own: Row = {"resource": POOL, "tags": {"aks-managed-poolName": "user"}}
    return row(day, cost=cost, **(own | cells))


def disk(name: str, day: int = 14, cost: str = "1", **cells: Any) -> Row:
    """A day of a disk in the node resource group."""
    own: Row = {
        "resource": f"{NODE_GROUP}/providers/Microsoft.Compute/disks/{name}",
        "category": "Storage",
        "meter": "E6 LRS Disk",
        "unit": "1/Month",
    }
    return row(day, cost=cost, **(own | cells))


def network(path: str, day: int = 14, cost: str = "1", **cells: Any) -> Row:
    """A day of a network resource, such as `loadBalancers/kubernetes`."""
    own: Row = {
        "resource": f"{NODE_GROUP}/providers/Microsoft.Network/{path}",
        "category": "Load Balancer" if path.startswith("load") else "Virtual Network",
        "meter": "Standard",
    }
    return row(day, cost=cost, **(own | cells))


def fee(day: int = 14, cost: str = "1", meter: str = "Standard Uptime SLA", **cells: Any) -> Row:
    """A day of the managed cluster itself, in the resource group of its owner."""
    resource = CLUSTER.replace("resourcegroups", "resourceGroups")
    own: Row = {"resource": resource, "group": "rg-shop", "category": "Azure Kubernetes Service"}
    return row(day, cost=cost, meter=meter, **(own | cells))


# ---------------------------------------------------------------- forms of exports


def _us(day: dt.date) -> str:
    return day.strftime("%m/%d/%Y")


def _braceless(tags: Mapping[str, str]) -> str:
    return ",".join(f'"{key}": "{value}"' for key, value in tags.items())


def mca(row: Row) -> Row:
    """A row of an MCA cost export."""
    return {
        "billingAccountId": row["account"],
        "billingPeriodStartDate": _us(row["period"]),
        "date": _us(row["day"]),
        "productOrderName": row.get("order"),
        "meterId": row["meter_id"],
        "meterName": row["meter"],
        "meterCategory": row["category"],
        "SubscriptionId": row["subscription"],
        "resourceGroupName": row["group"],
        "ResourceId": row.get("resource"),
        "resourceLocation": row["location"],
        "quantity": row["quantity"],
        "unitOfMeasure": row["unit"],
        "chargeType": row["charge_type"],
        "billingCurrency": row["currency"],
        "costInBillingCurrency": row["cost"],
        "costInPricingCurrency": "777",
        "costInUsd": "888",
        "additionalInfo": row.get("details"),
        "tags": json.dumps(row["tags"]),
        "reservationId": row.get("reservation"),
        "pricingModel": row["pricing"],
        "costAllocationRuleName": row.get("rule"),
        "benefitId": row.get("benefit"),
    }


def ea(row: Row) -> Row:
    """A row of an EA cost export of 2024-08-01."""
    return {
        "SubscriptionId": row["subscription"],
        "ResourceGroup": row["group"],
        "ResourceLocation": row["location"],
        "Date": _us(row["day"]),
        "MeterCategory": row["category"],
        "MeterId": row["meter_id"],
        "MeterName": row["meter"],
        "UnitOfMeasure": row["unit"],
        "Quantity": row["quantity"],
        "CostInBillingCurrency": row["cost"],
        "ResourceId": row.get("resource"),
        "Tags": _braceless(row["tags"]),
        "AdditionalInfo": row.get("details"),
        "ReservationId": row.get("reservation"),
        "ProductOrderName": row.get("order"),
        "ChargeType": row["charge_type"],
        "PricingModel": row["pricing"],
        "BillingAccountId": row["account"],
        "BillingCurrencyCode": row["currency"],
        "BillingPeriodStartDate": _us(row["period"]),
        "CostAllocationRuleName": row.get("rule"),
        "benefitId": row.get("benefit"),
        "ResourceLocationNormalized": row["location"],
    }


def ea_old(row: Row) -> Row:
    """A row of the other EA layout: Cost, BillingCurrency, no normalised location."""
    new = ea(row)
    renamed = {"CostInBillingCurrency": "Cost", "BillingCurrencyCode": "BillingCurrency"}
    del new["ResourceLocationNormalized"]
    return {renamed.get(name, name): value for name, value in new.items()}


def iso(form: Callable[[Row], Row]) -> Callable[[Row], Row]:
    """The same export with ISO dates."""

    def written(row: Row) -> Row:
        days = {_us(row["day"]): str(row["day"]), _us(row["period"]): str(row["period"])}
        return {name: days.get(str(value), value) for name, value in form(row).items()}

    return written


_FOCUS_TYPE = {
    "Usage": ("Usage", None),
    "Purchase": ("Purchase", None),
    "Refund": ("Purchase", "Correction"),
    "RoundingAdjustment": ("Adjustment", None),
    "UnusedReservation": ("Usage", None),
    "UnusedSavingsPlan": ("Usage", None),
}
_FOCUS_PRICING = {"OnDemand": "Standard", "Spot": "Dynamic"}


def focus(row: Row, stamp: str = "T00:00Z") -> Row:
    """A row of a FOCUS export 1.0."""
    category, correction = _FOCUS_TYPE.get(row["charge_type"], (row["charge_type"], None))
    benefit = row.get("benefit")
    unused = row["charge_type"].startswith("Unused")
    kind = "Reservation" if "capacity" in str(benefit).lower() else "Savings Plan"
    return {
        "BilledCost": row.get("billed", row["cost"]),
        "BillingAccountId": f"/providers/Microsoft.Billing/billingAccounts/{row['account']}",
        "BillingCurrency": row["currency"],
        "BillingPeriodStart": f"{row['period']}{stamp}",
        "ChargeCategory": category,
        "ChargeClass": row.get("class", correction),
        "ChargePeriodStart": f"{row['day']}{stamp}",
        "CommitmentDiscountId": benefit,
        "CommitmentDiscountStatus": "Unused" if unused else ("Used" if benefit else None),
        "CommitmentDiscountType": kind if benefit else None,
        "ContractedCost": "777",
        "EffectiveCost": row["cost"],
        "ListCost": "888",
        "PricingCategory": _FOCUS_PRICING.get(row["pricing"], "Committed"),
        "PricingQuantity": row["quantity"],
        "PricingUnit": row["unit"].removeprefix("1 ") + "s",
        "RegionId": row["location"],
        "ResourceId": row.get("resource"),
        "ServiceName": "Azure Kubernetes Service",
        "SubAccountId": f"/subscriptions/{row['subscription']}" if row["subscription"] else None,
        "Tags": json.dumps(row["tags"]),
        "x_BillingAccountId": row["account"],
        "x_CostAllocationRuleName": row.get("rule"),
        "x_PricingUnitDescription": row["unit"],
        "x_ResourceGroupName": row["group"],
        "x_SkuDetails": row.get("details"),
        "x_SkuMeterCategory": row["category"],
        "x_SkuMeterId": row["meter_id"],
        "x_SkuMeterName": row["meter"],
        "x_SkuOrderName": row.get("order"),
    }


def focus_r2(row: Row) -> Row:
    """A row of a FOCUS export 1.0r2: its times have seconds."""
    return focus(row, "T00:00:00Z")


def focus_12(row: Row) -> Row:
    """A row of a FOCUS export 1.2-preview: other names of the meter and the invoice."""
    renamed = {"x_SkuMeterName": "SkuMeter"}
    return {renamed.get(n, n): v for n, v in focus_r2(row).items()} | {"InvoiceId": None}


def frame(rows: Iterable[Row], form: Callable[[Row], Row] = mca) -> pl.DataFrame:
    """Rows as one raw file of a form, all text, an empty cell NULL: as a CSV file is read."""
    made = [form(row) for row in rows]
    schema = {name: pl.String() for name in made[0]}
    return pl.DataFrame([list(r.values()) for r in made], schema=schema, orient="row")


# ---------------------------------------------------------------- splits


def query(
    rows: Iterable[tuple[str, str, str]], currency: str = "EUR", cluster: str = CLUSTER
) -> pl.DataFrame:
    """A query answer of (cost, namespace, category), as its lines are read."""
    columns = ["ServiceCategory", "Cost", "Currency", "Cluster", "Namespace"]
    named = [{"name": name, "type": "String"} for name in columns]
    cells = ",".join(
        f'["{category}",{cost},"{currency}","{cluster}","{namespace}"]'
        for cost, namespace, category in rows
    )
    body = f'{{"nextLink":null,"columns":{json.dumps(named)},\n"rows":[{cells}]}}'
    return lines(f'{{"id":"x","properties":{body}}}')


def agent(resources: Mapping[str, Sequence[tuple[str, str, str]]]) -> pl.DataFrame:
    """An answer of the agent: resource -> (fraction, namespace or "", bucket)."""
    found = []
    for resource, splits in resources.items():
        parts = ",".join(
            f'{{"Fraction":{fraction},"SplitKey":{json.dumps(_key(namespace))},'
            f'"SplitBucket":"{bucket}"}}'
            for fraction, namespace, bucket in splits
        )
        kind = "compute" if "virtualMachine" in resource else "storage"
        kind = "network" if "Microsoft.Network" in resource else kind
        found.append(f'{{"ID":"{resource}","Name":"n","Kind":"{kind}","Splits":[{parts}]}}')
    return lines(f'{{"Resources":[{",".join(found)}],"Metrics":{{}}}}')


def lines(text: str) -> pl.DataFrame:
    """A JSON file as it is read."""
    return pl.DataFrame({"line": text.splitlines()})


def _key(namespace: str) -> dict[str, str]:
    if not namespace:
        return {}
    name = f"{namespace}-web"
    key = {"namespace": namespace, "object_kind": "deployment", "object_name": name}
    return key | {"label_team": f"team-{namespace}"}


# ---------------------------------------------------------------- the transform


def context(dataset: str = "cost_export", **parts: Any) -> Context:
    """The context of October, with the cluster CLUSTER."""
    base: dict[str, Any] = {"clusters": CLUSTERS}
    if dataset == "cost_export":
        base["metric"] = "amortized"
    return Context("azure", "azure", dataset, "2026-10", **(base | parts))


def sliced(
    *files: pl.DataFrame,
    splits: Mapping[str, pl.DataFrame] | None = None,
    of: Context | None = None,
) -> Sliced:
    """Files of one delivery, and split files by name, through the whole transform."""
    of = of or context()
    parts: dict[str, list[pl.LazyFrame]] = {}
    named = [(f"file-{number}.csv", raw, slice_file) for number, raw in enumerate(files, start=1)]
    named += [(name, raw, slice_split) for name, raw in (splits or {}).items()]
    for name, raw, slicing in named:
        for part, made in slicing(raw.lazy(), of).items():
            parts.setdefault(part, []).append(made.with_columns(source_file=pl.lit(name)))
    return combine({name: pl.concat(part) for name, part in parts.items()}, of)


def kinds(result: Sliced, *names: str, view: str = "effective") -> dict[tuple[Any, ...], str]:
    """Amounts per row kind, reason and resource kind (or the columns `names`), as text."""
    keys = names or ("row_kind", "reason", "resource_kind")
    summed = result.slices.group_by(keys).agg(pl.col(f"{view}_cost").sum())
    return {
        tuple(key): f"{amount.normalize():f}"
        for *key, amount in sorted(summed.iter_rows(), key=str)
        if amount
    }


def findings(result: Sliced) -> list[tuple[str, str]]:
    """Rule and severity of each finding."""
    return sorted(result.findings.select("rule", "severity").iter_rows())


def billed_again(
    path: Path, result: Sliced, period: str = "2026-10"
) -> dict[tuple[str, str], tuple[int, Decimal]]:
    """What `bill.sql` says of a raw file: (fate, view) -> rows and amount."""
    fates = ("other_period", "provider_reallocation")
    con = duckdb.connect()
    relation = open_relation(con, path)
    types = {n: str(t) for n, t in zip(relation.columns, relation.types, strict=True)}
    columns = ", ".join(f"{sql} AS {name}" for name, sql in bill_columns(types).items())
    relation.project(columns).create_view("raw")
    con.execute(PROVIDERS["azure"].bill_query, {"period": period, **result.bill_values})
    sums: dict[tuple[str, str], tuple[int, Decimal]] = {}
    for charge, _, _, view, rows, amount in con.fetchall():
        key = (charge if charge in fates else "sliced", view)
        before = sums.get(key, (0, Decimal(0)))
        sums[key] = (before[0] + rows, before[1] + amount)
    return sums


def totals(result: Sliced) -> dict[tuple[str, str], tuple[int, Decimal]]:
    """What the transform says of the same: (fate, view) -> rows and amount."""
    summed = result.totals.group_by("fate", "cost_view").agg(pl.col("rows", "amount").sum())
    return {(fate, view): (rows, amount) for fate, view, rows, amount in summed.iter_rows()}
