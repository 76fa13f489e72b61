"""The synthetic Google exports have BigQuery's form and hold what the fixtures promise."""

import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq

from fixtures import make
from fixtures.gcp.forms import MORE_HOURS, ONE_HOUR
from tests import oracle_gcp, oracle_gcp_files
from tests.oracle_gcp_files import Row

MONTH = "2026-10"
SHOP = make.EXPORTS / "gcp-shop"
SEPTEMBER = SHOP / "shop-september-000000000000.parquet"
CLUSTERS = {
    "shop-std": "acme-shop-prod/us-central1/shop-std",
    "shop-late": "acme-shop-prod/us-east1-b/shop-late",
    "shop-auto": "acme-shop-prod/europe-west1/shop-auto",
    "shop-lab": "acme-shop-lab/us-central1/shop-lab",
}


@cache
def rows(name: str = "gcp-shop") -> list[Row]:
    """The rows of an export, without the file that holds September alone."""
    files = oracle_gcp_files.files(make.EXPORTS / name, MONTH)
    return [row for file in files if file != SEPTEMBER for row in of_file(file)]


def of_file(file: Path) -> list[Row]:
    return [oracle_gcp_files.row(values) for values in oracle_gcp_files._values(file)]


def of_cluster(name: str) -> list[Row]:
    return [row for row in rows() if oracle_gcp.cluster_of(row) == CLUSTERS[name]]


def net(some: Iterable[Row]) -> Fraction:
    return sum((row.cost + sum(credit for _, credit in row.credits) for row in some), Fraction(0))


# ------------------------------------------------------------------------------- the form


def test_parquet_is_nested_and_has_bigquerys_types() -> None:
    schema = pq.read_schema(SHOP / "shop-000000000000.parquet")
    names = "usage_start_time cost cost_at_effective_price_default service labels tags".split()
    assert [str(schema.field(name).type) for name in names] == [
        "timestamp[us]",
        "double",
        "decimal128(38, 9)",
        "struct<id: string, description: string>",
        "list<element: struct<key: string, value: string>>",
        "list<element: struct<key: string, value: string, inherited: bool, namespace: string>>",
    ]
    assert len(schema) == 28


def test_files_are_numbered_as_export_data_does_it_and_the_last_is_empty() -> None:
    found = {path.name: pq.read_metadata(path).num_rows for path in sorted(SHOP.glob("shop-0*"))}
    assert found == {
        "shop-000000000000.parquet": 2355,
        "shop-000000000001.parquet": 2378,
        "shop-000000000002.parquet": 2363,
        "shop-000000000003.parquet": 0,
    }


def test_rows_of_one_machine_day_and_sku_lie_in_every_file_and_nothing_looks_exported_twice() -> (
    None
):
    batches: Counter[tuple[datetime, int, float]] = Counter()
    held: dict[tuple[str, date, str], set[str]] = defaultdict(set)
    for path in SHOP.iterdir():
        exported: dict[datetime, list[float]] = defaultdict(list)
        for row in pq.read_table(path).to_pylist():
            exported[row["export_time"]].append(row["cost"])
            machine = (row["resource"] or {}).get("name", "")
            key = (machine, row["usage_start_time"].date(), row["sku"]["description"])
            held[key].add(path.name)
        batches.update((time, len(costs), round(sum(costs), 9)) for time, costs in exported.items())
    core = "N2 Instance Core running in Americas"
    node = "projects/481516234200/instances/gke-shop-std-pool-a-0f1e2d3c-k9x2"
    assert len(held[node, date(2026, 10, 5), core]) == 3
    assert max(batches.values()) == 1


def test_json_leaves_nulls_out_writes_numeric_as_text_and_escapes() -> None:
    folder = make.EXPORTS / "gcp-shop-json"
    text = (folder / "shop-000000000000.json").read_text(encoding="utf-8")
    with gzip.open(folder / "shop-000000000001.json.gz", "rt", encoding="utf-8") as packed:
        text += packed.read()
    lines = [json.loads(line) for line in text.splitlines()]
    assert "null" not in text
    assert "\\u003c2026\\u003e \\u0026" in text
    assert {type(line["price"]["list_price"]) for line in lines} == {str}
    assert {type(line["cost"]) for line in lines} == {float}
    assert [len(line["labels"]) for line in lines if "project" not in line][:2] == [1, 1]
    assert lines[0]["usage_start_time"] == "2026-10-05 10:00:00 UTC"


def test_csv_has_dotted_headers_and_nested_cells_of_two_kinds() -> None:
    folder = make.EXPORTS / "gcp-shop-csv"
    plain = (folder / "202610_0.csv").read_text(encoding="utf-8")
    with gzip.open(folder / "202610_1.csv.gz", "rt", encoding="utf-8") as packed:
        text = packed.read()
    assert {"service.id", "invoice.month", "resource.name", "tags"} < set(
        plain.split("\n")[0].split(",")
    )
    assert {"price.list_price", "tags"}.isdisjoint(text.split("\n")[0].split(","))
    assert "{'key': 'k8s-namespace', 'value': 'checkout'}" in plain
    assert "Acme\\'s" in plain
    assert '""k8s-namespace"":""checkout""' in text
    assert '""type"":""COMMITTED_USAGE_DISCOUNT""' in text


def test_every_form_holds_the_same_rows() -> None:
    hours = {hour.astimezone(UTC) for hour in (*ONE_HOUR, *MORE_HOURS)}
    expected = _in_doubles(row for row in rows() if row.start in hours)
    assert len(expected) == 459
    for name in ("gcp-shop-json", "gcp-shop-csv"):
        assert _in_doubles(rows(name)) == expected


def _in_doubles(some: Iterable[Row]) -> list[Row]:
    """Text holds the shortest digits of a double, Parquet the double: as fractions they differ."""
    doubles = (
        replace(row, usage=None if row.usage is None else Fraction(float(row.usage)))
        for row in some
    )
    return sorted(doubles, key=repr)


# ---------------------------------------------------------------------------- the content


def test_pieces_of_a_machine_add_up_to_it_in_every_hour() -> None:
    """Nodes are of four cores (two in the small clusters); they exist for parts of an hour too."""
    cores: dict[tuple[str, datetime], float] = defaultdict(float)
    for path in SHOP.glob("shop-0*"):
        for row in pq.read_table(path).to_pylist():
            name = row["resource"]["name"] if row["resource"] else ""
            if "Instance Core" in row["sku"]["description"] and "/instances/" in name:
                amount = row["usage"]["amount_in_pricing_units"]
                cores[name, row["usage_start_time"]] += amount
    found = Counter(round(amount, 9) for amount in cores.values())
    assert found == {4.0: 199, 2.0: 54, 1.6: 6, 3.0: 6, 1.0: 6}


def test_namespaces_of_the_clusters() -> None:
    found = {
        name: {row.labels.get("k8s-namespace") for row in of_cluster(name)} for name in CLUSTERS
    }
    special = {"kube:unallocated", "kube:system-overhead", "goog-k8s-unsupported-sku"}
    own = "batch catalog checkout goog-k8s-tools jobs kube-system overprovisioning pay-core search"
    assert found == {
        "shop-std": {
            *special,
            *own.split(),
            *"streams tools train goog-k8s-unknown kube:default".split(),
            None,
        },
        "shop-late": {*special, "returns", "pay-late", "kube-system", None},
        "shop-auto": {"checkout", "pay-eu", None},
        "shop-lab": {None},
    }


def test_cost_allocation_comes_late_or_never() -> None:
    split: dict[str, set[date]] = defaultdict(set)
    unsplit: dict[str, set[date]] = defaultdict(set)
    for name in ("shop-late", "shop-lab"):
        for row in of_cluster(name):
            if "Instance Core" in row.sku:
                days = split if "k8s-namespace" in row.labels else unsplit
                days[name].add(row.start.date())
    october = [date(2026, 10, day) for day in (1, 5, 6, 16, 17, 31)]
    assert split == {"shop-late": set(october[3:])}
    assert unsplit == {"shop-late": set(october[:3]), "shop-lab": set(october)}


def test_a_disk_without_a_label_of_its_location_belongs_to_the_zonal_cluster() -> None:
    disks = [row for row in of_cluster("shop-late") if row.sku == "Balanced PD Capacity"]
    assert {row.labels.get("goog-k8s-cluster-location") for row in disks} == {None}
    assert len(disks) == 39


def test_usage_days_and_invoice_months_cross() -> None:
    found = Counter((row.month, f"{row.start:%m-%d}") for row in rows())
    assert found == {
        ("202609", "09-28"): 2,
        ("202609", "10-01"): 257,
        ("202610", "09-28"): 4,
        ("202610", "10-01"): 827,
        ("202610", "10-05"): 1087,
        ("202610", "10-06"): 1158,
        ("202610", "10-16"): 1135,
        ("202610", "10-17"): 1138,
        ("202610", "10-31"): 1135,
        ("202610", "11-01"): 257,
        ("202611", "10-31"): 10,
        ("202611", "11-01"): 86,
    }


def test_a_correction_takes_the_hour_back_and_prices_it_anew() -> None:
    hour = [row for row in rows() if f"{row.start:%m-%d}" == "09-28"]
    first = [row for row in hour if not row.is_correction]
    back = [row for row in hour if row.is_correction and row.cost < 0]
    again = [row for row in hour if row.is_correction and row.cost > 0]
    assert (len(first), len(back), len(again)) == (2, 2, 2)
    assert net(first) + net(back) == 0
    assert net(back) == -Fraction("0.04125")
    assert net(again) == Fraction("0.0317775")
    assert {row.month for row in first} == {"202609"}


def test_credits_of_each_type_and_where_they_are() -> None:
    names = {key: name for name, key in CLUSTERS.items()}
    found: dict[str | None, set[str]] = defaultdict(set)
    for row in rows():
        for kind, _ in row.credits:
            found[kind].add(names.get(oracle_gcp.cluster_of(row) or "", "account"))
    assert found == {
        "COMMITTED_USAGE_DISCOUNT": {"shop-std"},
        "SUSTAINED_USAGE_DISCOUNT": {"shop-std"},
        "COMMITTED_USAGE_DISCOUNT_DOLLAR_BASE": {"shop-late"},
        "FREE_TIER": {"shop-late"},
        "DISCOUNT": {"shop-late", "account"},
        "PROMOTION": {"shop-lab", "account"},
        "FEE_UTILIZATION_OFFSET": {"account"},
    }
    assert max(len(row.credits) for row in rows()) == 2


def test_the_flexible_fee_covers_more_than_it_offsets() -> None:
    fees = [row for row in rows() if "Committed Use Discounts" in row.sku]
    left = {round(net([row]), 6) for row in fees}
    assert len(fees) == 153
    assert min(left) > 0
    assert max(left) < Fraction("0.13")


def test_autopilot_pods_of_three_flavours_one_of_which_lost_its_namespace_for_an_hour() -> None:
    pods = [row for row in of_cluster("shop-auto") if " Pod " in row.sku]
    lost = {(f"{row.start:%dT%H}", row.sku) for row in pods if "k8s-namespace" not in row.labels}
    region = "Requests (europe-west1)"
    kinds = ("mCPU", "Memory", "Ephemeral Storage")
    flavours = ("", "Spot ", "Balanced ")
    assert {row.sku for row in pods} == {
        f"Autopilot {flavour}Pod {kind} {region}" for flavour in flavours for kind in kinds
    }
    assert lost == {
        ("17T12", f"Autopilot {flavour}Pod {kind} {region}")
        for flavour in ("", "Balanced ")
        for kind in kinds
    }


def test_usage_without_time_is_called_unallocated_once_a_day() -> None:
    found = [
        (f"{row.start:%dT%H}", row.unit)
        for row in rows()
        if row.labels.get("k8s-namespace") == "kube:unallocated" and "second" not in str(row.unit)
    ]
    assert sorted(found) == [(f"{day:02}T12", "bytes") for day in (1, 5, 6, 16, 17, 31)]


def test_six_hours_of_a_reservation_are_unused() -> None:
    key = "compute.googleapis.com/is_unused_reservation"
    unused = [row for row in rows() if row.system_labels.get(key) == "true"]
    assert {str(row.resource).split("/")[-2] for row in unused} == {"reservation"}
    assert net(unused) == 6 * (4 * Fraction("0.031611") + 16 * Fraction("0.004237"))


def test_labels_are_spelled_in_many_ways() -> None:
    keys = {key for row in rows() for key in row.labels if not key.startswith("goog-")}
    assert keys == {
        "k8s-namespace",
        "k8s-workload-name",
        "k8s-workload-type",
        "k8s-label/team",
        "k8s-label/Team",
        "k8s-label/TEAM",
        "k8s-label/acme_io-owner",
        "k8s-label/app.kubernetes.io/name",
        "k8s-namespace-labels/team",
        "team",
    }


def test_labels_may_be_empty_or_missing() -> None:
    table = pq.read_table(SHOP / "shop-000000000000.parquet").to_pylist()
    fleet = {
        label["value"]
        for row in table
        for label in row["labels"]
        if label["key"] == "goog-fleet-project"
    }
    assert fleet == {""}
    bare = [row for row in of_cluster("shop-std") if row.labels.get("k8s-namespace") == "jobs"]
    assert {"k8s-workload-name" in row.labels for row in bare} == {False}


def test_what_the_account_pays_besides_its_clusters() -> None:
    found = {row.sku for row in rows() if oracle_gcp.cluster_of(row) is None}
    assert found == {
        "Commitment - dollar based v1: GCE for 1 year",
        "Commitment v1: N2 Cpu in Americas for 1 Year",
        "Compute Flexible Committed Use Discounts - 1 Year",
        "Enhanced Support",
        "Goodwill adjustment",
        "Log Storage cost",
        "Multi-Region Standard Class A Operations",
        "N2 Instance Core running in Americas",
        "N2 Instance Ram running in Americas",
        "Network Internet Data Transfer Out from Americas to Americas",
        "Network Load Balancing: Forwarding Rule Minimum Service Charge in Americas",
        "Rounding error",
        "Standard Storage US Multi-region",
        "Tax",
    }


def test_september_is_four_days_of_october_without_gpu_and_before_the_switch() -> None:
    found = of_file(SEPTEMBER)
    assert {row.month for row in found} == {"202609"}
    assert {row.start.date() for row in found} == {date(2026, 9, day) for day in (1, 5, 16, 17)}
    late = [row for row in found if oracle_gcp.cluster_of(row) == CLUSTERS["shop-late"]]
    nodes = [row for row in late if "/instances/" in str(row.resource)]
    assert {row.labels.get("k8s-namespace") for row in nodes} == {None}
    assert [row for row in found if "GPU" in row.sku] == []
    fourth = [row for row in rows() if (row.start.day, row.month) == (5, "202610")]
    again = [row for row in found if row.start.day == 5]
    assert net(again) == net(fourth) != 0


def test_cost_types() -> None:
    found = Counter((row.cost_type, row.project) for row in rows() if row.cost_type != "regular")
    assert found == {
        ("tax", "acme-shop-prod"): 1,
        ("tax", "acme-shop-lab"): 1,
        ("tax", None): 1,
        ("adjustment", "acme-shop-prod"): 1,
        ("rounding_error", None): 1,
    }


def test_the_sheet_is_the_pages() -> None:
    twelve = rows("gcp-sheet")
    assert len(twelve) == 12
    assert {
        month: net(row for row in twelve if row.month == month) for month in ("202610", "202611")
    } == {
        "202610": Fraction("0.24199326"),
        "202611": Fraction("-0.02370825"),
    }
    found: dict[tuple[str, str | None], Fraction] = defaultdict(Fraction)
    for row in twelve[:-1]:
        for piece in oracle_gcp.slices("gcp-sheet", row):
            found[piece.row_kind, piece.reason] += piece.effective or 0
    assert found == {
        ("workload", None): Fraction("0.07371626"),
        ("idle", "unrequested"): Fraction("0.01770216"),
        ("system_overhead", "node_reserve"): Fraction("0.00126444"),
        ("unattributed", "unsupported_sku"): Fraction("0.0055"),
        ("cluster_fee", "control_plane"): Fraction("0.1"),
        ("outside", "commitment_fee"): Fraction("0.0398304"),
        ("outside", "unused_commitment"): Fraction("0.00398"),
    }
