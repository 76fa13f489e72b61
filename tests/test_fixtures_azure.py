"""The synthetic Azure exports have Azure's form, and their split answers agree with the bill."""

import csv
import gzip
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import fixtures.azure
from fixtures import make

Row = dict[str, str]

SHOP = make.EXPORTS / "azure-shop"
OCTOBER = SHOP / "billing/acme-amortized/20261001-20261031/7c1d9a52-6e0b-4f7e-9c55-00000000b2b2"
SUBSCRIPTION = "/subscriptions/5a0b0c0d-0000-4000-8000-000000000001"
SHOP_PROD = (
    f"{SUBSCRIPTION}/resourcegroups/rg-shop/providers"
    "/microsoft.containerservice/managedclusters/aks-shop-prod"
)
NODE_GROUP = "mc_rg-shop_aks-shop-prod_westeurope"


def text(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if path.suffix == ".gz" else content).decode()


def rows(*paths: Path) -> list[Row]:
    return [row for path in paths for row in csv.DictReader(io.StringIO(text(path)[1:]))]


def bill(day: str | None = None) -> list[Row]:
    """The newest run of October, or the rows of one day (MM/DD/YYYY)."""
    found = rows(*sorted(OCTOBER.glob("part*")))
    return [row for row in found if day in (None, row["date"])]


def charged(found: list[Row]) -> list[Row]:
    """Rows without the pairs of cost allocation rules."""
    return [row for row in found if not row["costAllocationRuleName"]]


def answer(*paths: Path) -> list[dict[str, Any]]:
    found = []
    for path in paths:
        document = json.loads(path.read_text(), parse_float=Decimal)
        body = document.get("properties", document)
        names = [column["name"] for column in body["columns"]]
        found += [dict(zip(names, row, strict=True)) for row in body["rows"]]
    return found


def fractions(path: Path) -> Iterator[tuple[str, Decimal]]:
    """Resource and fraction of each piece of an agent's answer."""
    if path.suffix == ".csv":
        for row in csv.DictReader(io.StringIO(text(path))):
            yield row["ID"], Decimal(row["Fraction"])
    else:
        document = json.loads(path.read_text(), parse_float=Decimal)
        for resource in document["Resources"]:
            for split in resource["Splits"]:
                yield resource["ID"], Decimal(split["Fraction"])


def group_of(row: Row) -> str:
    return row["resourceGroupName"].lower()


def amount(row: Row) -> Decimal:
    return Decimal(row["costInBillingCurrency"])


# ------------------------------------------------------------------------------- the form


def test_two_generations_give_the_same_bytes_and_stay_small(tmp_path: Path) -> None:
    written = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        fixtures.azure.write(folder)
        files = [path for path in folder.rglob("*") if path.is_file()]
        written.append({path.relative_to(folder): path.read_bytes() for path in files})
    assert written[0] == written[1]
    assert sum(len(content) for content in written[0].values()) < 500_000


@pytest.mark.parametrize(
    ("path", "columns", "first", "last"),
    [
        (f"{OCTOBER.relative_to(make.EXPORTS)}/part_0_0001.csv.gz", 65, "invoiceId", "provider"),
        ("azure-sheet/costs/part_0_0001.csv", 65, "invoiceId", "provider"),
        ("azure-lab/costs/acme-lab_0.csv", 55, "BillingAccountId", "benefitName"),
        ("azure-shop-ea/acme-ea.csv", 57, "InvoiceSectionName", "ResourceLocationNormalized"),
        ("azure-shop-localised/acme-ea.csv", 57, "InvoiceSectionName (InvoiceSectionName)",
         "ResourceLocationNormalized"),
        ("azure-shop-focus/part_0_0001.csv.gz", 96, "BilledCost", "x_SkuTier"),
    ],
)  # fmt: skip
def test_csv_files_begin_with_a_mark_and_their_schemas_columns(
    path: str, columns: int, first: str, last: str
) -> None:
    content = text(make.EXPORTS / path)
    header = next(csv.reader(io.StringIO(content[1:])))
    assert (content[0], len(header), header[0], header[-1]) == ("\ufeff", columns, first, last)
    assert len(set(header)) == columns


def test_a_localised_header_repeats_the_english_name_in_brackets() -> None:
    header = list(rows(make.EXPORTS / "azure-shop-localised/acme-ea.csv")[0])
    assert header[17] == "Kosten in Abrechnungswährung (CostInBillingCurrency)"
    assert header[53:] == ["benefitId", "benefitName", "AccountId", "ResourceLocationNormalized"]


def test_the_parquet_form_has_doubles_instants_and_text() -> None:
    schema = pq.read_schema(make.EXPORTS / "azure-shop-focus-parquet/part_0_0001.parquet")
    names = ("BilledCost", "ChargePeriodStart", "x_SkuIsCreditEligible", "Tags")
    assert len(schema) == 105
    assert [str(schema.field(name).type) for name in names] == [
        "double",
        "timestamp[ms, tz=UTC]",
        "bool",
        "string",
    ]


def test_manifests_tell_runs_and_months_apart() -> None:
    found = {}
    for path in SHOP.rglob("manifest.json"):
        document = json.loads(path.read_text())
        run = document["runInfo"]
        files = [SHOP / blob["blobName"] for blob in document["blobs"]]
        assert [blob["byteCount"] for blob in document["blobs"]] == [
            file.stat().st_size for file in files
        ]
        assert document["dataRowCount"] == len(rows(*files))
        found[run["submittedTime"]] = (run["startDate"], len(files), document["dataRowCount"])
    # September lacks what is outside, what stands once, the stranger's cluster and a volume.
    assert found == {
        "2026-10-05T05:01:44": ("2026-09-01T00:00:00", 1, 459 - 32 - 8 - 8 - 4),
        "2026-10-05T04:12:31.1032074Z": ("2026-10-01T00:00:00Z", 1, 120),
        "2026-11-04T05:44:09.5234447+00:00": ("2026-10-01T00:00:00", 2, 459),
    }


def test_one_day_of_a_cluster_stands_in_both_parts() -> None:
    first, second = (
        {row["date"] for row in charged(rows(path)) if group_of(row) == NODE_GROUP}
        for path in sorted(OCTOBER.glob("part*"))
    )
    assert first & second == {"10/04/2026"}


def test_the_lab_writes_braceless_tags_and_two_months() -> None:
    found = rows(*sorted((make.EXPORTS / "azure-lab/costs").iterdir()))
    tagged = [row["Tags"] for row in found if row["Tags"]]
    assert tagged[0].startswith('"aks-managed-creationSource": "vmssclient-aks-agentpool-')
    assert tagged[0].endswith('"env": "lab","org": ""')
    assert not any(tags.startswith("{") for tags in tagged)
    assert Counter(row["BillingPeriodStartDate"] for row in found) == {
        "10/01/2026": 44,
        "09/01/2026": 2 + 3 * 13,
    }
    assert {row["BillingCurrency"] for row in found} == {"USD"}


# --------------------------------------------------------------------- what is on the bill


def test_the_shop_has_every_kind_of_charge() -> None:
    found = Counter(
        (row["chargeType"], row["pricingModel"], bool(row["SubscriptionId"])) for row in bill()
    )
    assert found == {
        ("Usage", "OnDemand", True): 400,
        ("Usage", "Reservation", True): 16,
        ("Usage", "SavingsPlan", True): 8,
        ("Usage", "Spot", True): 16,
        ("UnusedReservation", "Reservation", False): 8,
        ("UnusedSavingsPlan", "SavingsPlan", False): 8,
        ("Purchase", "OnDemand", True): 1,
        ("Refund", "OnDemand", True): 1,
        ("RoundingAdjustment", "", False): 1,
    }


def test_amounts_have_up_to_21_decimals_and_no_exponent() -> None:
    amounts = [row["costInBillingCurrency"] for row in bill()]
    assert max(len(value.partition(".")[2]) for value in amounts) == 21
    assert not any("E" in value.upper() for value in amounts)


def test_ids_are_spelled_in_four_ways() -> None:
    groups = {
        row["ResourceId"].split("/")[4] for row in bill("10/03/2026") if group_of(row) == NODE_GROUP
    }
    assert groups == {
        "MC_rg-shop_aks-shop-prod_westeurope",
        "MC_RG-SHOP_AKS-SHOP-PROD_WESTEUROPE",
        "mc_rg-shop_aks-shop-prod_westeurope",
    }
    vault = [row["ResourceId"] for row in bill() if "VAULT" in row["ResourceId"]]
    assert vault == [
        f"{SUBSCRIPTION}/resourceGroups/rg-data/providers/Microsoft.KeyVault/vaults/acme-kv".upper()
    ]


def test_traffic_is_the_only_node_cost_in_lower_case() -> None:
    kind = "/virtualmachinescalesets/"
    scale_sets = [row for row in charged(bill()) if kind in row["ResourceId"].lower()]
    lower = {row["meterCategory"] for row in scale_sets if row["ResourceId"].islower()}
    camel = {row["meterCategory"] for row in scale_sets if not row["ResourceId"].islower()}
    assert lower == {"Bandwidth"}
    assert camel == {"Virtual Machines", "Microsoft Defender for Cloud"}


def test_an_instance_has_a_row_for_each_price() -> None:
    instances = Counter(
        json.loads(row["additionalInfo"])["VMName"]
        for row in bill("10/02/2026")
        if group_of(row) == NODE_GROUP and row["meterCategory"] == "Virtual Machines"
    )
    assert instances == {
        "aks-sys-40000001-vmss_0": 1,
        "aks-sys-40000001-vmss_1": 1,
        "aks-user-40000002-vmss_0": 1,
        "aks-user-40000002-vmss_1": 2,
        "aks-user-40000002-vmss_2": 1,
        "aks-spot-40000003-vmss_3": 1,
        "aks-spot-40000003-vmss_7": 1,
    }


def test_a_group_whose_name_begins_with_a_clusters_is_another() -> None:
    twins = [row for row in bill() if group_of(row).startswith(NODE_GROUP)]
    assert {group_of(row) for row in twins} == {NODE_GROUP, f"{NODE_GROUP}2"}
    assert {row["date"] for row in twins if group_of(row) != NODE_GROUP} == {
        "10/02/2026",
        "10/05/2026",
    }


def test_a_reallocated_pair_adds_up_to_nothing_and_half_of_it_is_in_the_cluster() -> None:
    pair = [row for row in bill() if row["costAllocationRuleName"]]
    assert [(group_of(row), amount(row)) for row in pair] == [
        ("rg-hub", Decimal("-4.196787336")),
        (NODE_GROUP, Decimal("4.196787336")),
    ]


# -------------------------------------------------------------------------------- splits


def test_each_day_of_each_cluster_has_the_splits_it_should() -> None:
    def days(folder: str, pattern: str) -> list[str]:
        return sorted(path.stem[-10:] for path in (SHOP / "splits/agent" / folder).glob(pattern))

    queried = {
        f"{row.get('UsageDate', path.stem)}"
        for path in (SHOP / "splits/query").rglob("*.json")
        for row in answer(path)
    }
    september = {f"2026090{day}" for day in range(1, 9)}
    october = {"2026-10-02", "page-1", "page-2", "20261004", "shop-prod_20261008"}
    assert queried == {*october, *september}
    assert days("aks-shop-prod", "*") == ["2026-10-05", "2026-10-06", "2026-10-08"]
    assert days("aks-batch", "*.json") == ["2026-10-01", "2026-10-03", "2026-10-05"]
    assert days("aks-batch", "*.csv") == ["2026-10-02", "2026-10-04", "2026-10-06", "2026-10-08"]


@pytest.mark.parametrize(
    ("day", "files"),
    [
        ("10/02/2026", ["2026-10-02.json"]),
        ("10/03/2026", ["2026-10-03/page-1.json", "2026-10-03/page-2.json"]),
        ("10/04/2026", ["shop-prod-daily.json"]),
        ("10/08/2026", ["shop-prod_20261008.json"]),
    ],
)
def test_query_answers_agree_with_the_bill(day: str, files: list[str]) -> None:
    billed: dict[str, Decimal] = defaultdict(Decimal)
    for row in charged(bill(day)):
        if group_of(row) == NODE_GROUP or row["ResourceId"].lower() == SHOP_PROD:
            billed[category(row["ResourceId"].lower())] += amount(row)
    answered: dict[str, Decimal] = defaultdict(Decimal)
    found = answer(*(SHOP / "splits/query" / file for file in files))
    for part in found:
        answered[part["ServiceCategory"]] += part["Cost"]
    pieces = Counter(row["ServiceCategory"] for row in found)
    assert {row["Cluster"] for row in found} == {SHOP_PROD}
    assert set(billed) == {"Compute", "Storage", "Networking", "Service"}
    for name, value in billed.items():
        assert abs(answered[name] - value) <= pieces[name] * Decimal("0.000000005")


def category(resource: str) -> str:
    if "/microsoft.containerservice/" in resource:
        return "Service"
    if "/disks/" in resource:
        return "Storage"
    return "Networking" if "/microsoft.network/" in resource else "Compute"


def test_pages_of_one_answer_repeat_no_key() -> None:
    pages = [SHOP / f"splits/query/2026-10-03/page-{number}.json" for number in (1, 2)]
    links = [json.loads(page.read_text())["properties"]["nextLink"] for page in pages]
    keys = Counter((row["Namespace"], row["ServiceCategory"]) for row in answer(*pages))
    assert [bool(link) for link in links] == [True, False]
    assert set(keys.values()) == {1}


def test_the_answer_for_three_days_of_the_lab_agrees_with_their_bill() -> None:
    lab = make.EXPORTS / "azure-lab"
    known = ("mc_rg-lab_aks-lab_eastus", "managedclusters/aks-lab")
    billed = sum(
        Decimal(row["Cost"])
        for row in rows(*sorted((lab / "costs").iterdir()))
        if row["BillingPeriodStartDate"] == "10/01/2026"
        and any(name in row["ResourceId"].lower() for name in known)
    )
    found = answer(lab / "splits/aks-lab_2026-10-12_2026-10-14.json")
    assert abs(sum(row["Cost"] for row in found) - billed) < Decimal("0.000001")
    assert {row["Currency"] for row in found} == {"USD"}


def test_the_agents_fractions_add_up_to_one_as_well_as_six_decimals_can() -> None:
    sums: dict[Path, dict[str, Decimal]] = {}
    pieces: Counter[str] = Counter()
    for path in (SHOP / "splits/agent").rglob("*.*"):
        total: dict[str, Decimal] = defaultdict(Decimal)
        for resource, fraction in fractions(path):
            total[resource] += fraction
            pieces[resource] += 1
        sums[path] = total
    exact = [set(total.values()) for path, total in sums.items() if path.suffix == ".json"]
    rounded = {
        value for path, total in sums.items() if path.suffix == ".csv" for value in total.values()
    }
    assert exact == [{Decimal(1)}] * 4
    assert rounded == {Decimal("0.999999"), Decimal(1), Decimal("1.000001")}


def test_the_agent_does_not_name_replaced_disks_and_a_pool_that_just_came() -> None:
    batch = SHOP / "splits/agent/aks-batch/export-2026-10-08.csv"
    named = {resource.lower() for resource, _ in fractions(batch)}
    billed = {
        row["ResourceId"].lower()
        for row in bill("10/08/2026")
        if group_of(row) == "rg-batch-nodes" and "/virtualMachines/" not in row["ResourceId"]
    }
    missing = sorted(resource.rsplit("/", 1)[1][:16] for resource in billed - named)
    assert missing == ["aks-burst-500000", "aks-burst-500000", "pvc-04602c5f-480"]
    assert named <= billed


# ---------------------------------------------------------------------- one bill, many forms


def charges(name: str, resource: str, cost: str) -> Counter[tuple[str, Decimal]]:
    """Rows of a form by their resource and amount."""
    path = next(path for path in (make.EXPORTS / name).rglob("*.csv*"))
    columns = {column.rsplit("(", 1)[-1].rstrip(")"): column for column in rows(path)[0]}
    return Counter(
        (row[columns[resource]].lower(), Decimal(row[columns[cost]])) for row in rows(path)
    )


def test_all_forms_hold_the_same_charges() -> None:
    amortised = charges("azure-shop-ea", "ResourceId", "CostInBillingCurrency")
    invoiced = charges("azure-shop-actual", "ResourceId", "costInBillingCurrency")
    effective = charges("azure-shop-focus", "ResourceId", "EffectiveCost")
    billed = charges("azure-shop-focus", "ResourceId", "BilledCost")
    assert amortised.total() == 43
    assert charges("azure-shop-localised", "ResourceId", "CostInBillingCurrency") == amortised
    # FOCUS has both: purchases without an effective cost, unused parts without a billed one.
    assert effective - amortised == Counter({("", Decimal(0)): 2})
    assert billed - invoiced == Counter({("", Decimal(0)): 2})
    assert not amortised - effective
    assert not invoiced - billed


def test_parquet_has_the_doubles_of_the_text() -> None:
    table = pq.read_table(make.EXPORTS / "azure-shop-focus-parquet/part_0_0001.parquet")
    typed = table.select(["BilledCost", "EffectiveCost", "ChargePeriodStart"]).to_pylist()
    written = rows(make.EXPORTS / "azure-shop-focus/part_0_0001.csv.gz")
    assert [(row["BilledCost"], row["EffectiveCost"]) for row in typed] == [
        (float(row["BilledCost"]), float(row["EffectiveCost"])) for row in written
    ]
    assert [row["ChargePeriodStart"] for row in typed] == [
        datetime.fromisoformat(row["ChargePeriodStart"]) for row in written
    ]


def test_dates_differ_by_form_alone() -> None:
    iso = [
        date.fromisoformat(row["Date"]) for row in rows(make.EXPORTS / "azure-shop-ea/acme-ea.csv")
    ]
    german = rows(make.EXPORTS / "azure-shop-localised/acme-ea.csv")
    assert [f"{day:%m/%d/%Y}" for day in iso] == [row["Datum (Date)"] for row in german]


def test_the_sheets_sample_is_the_sheets() -> None:
    found = rows(make.EXPORTS / "azure-sheet/costs/part_0_0001.csv")
    assert [str(amount(row)) for row in found] == [
        "4.416", "2.4288", "0.46", "0.5888", "0.184", "0.552", "0.1104", "0.0092", "2.208",
        "2.4288",
    ]  # fmt: skip
    answered = answer(make.EXPORTS / "azure-sheet/splits/2026-10-14.json")
    assert sum(amount(row) for row in found[:9]) == Decimal("10.9572")
    assert sum(row["Cost"] for row in answered) == Decimal("10.9572")
