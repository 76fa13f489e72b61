"""The synthetic exports are what their maker writes, and have the form AWS gives them."""

import csv
import gzip
import json
import tomllib
from collections import defaultdict
from datetime import date
from fractions import Fraction
from functools import cache
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fixtures import make
from tests import oracle_aws_files
from tests.oracle_aws_files import Row

MONTH = "2026-10"
DEMO = ("aws-prod", "aws-data", "aws-example")
PROD = "billing/acme-prod/data/BILLING_PERIOD=2026-10"


@cache
def rows(name: str) -> list[Row]:
    return oracle_aws_files.read(make.EXPORTS / name, MONTH)


def content(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` by its path, gzip files unpacked."""
    return {
        str(path.relative_to(folder)): gzip.decompress(path.read_bytes())
        if path.suffix == ".gz"
        else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exports")
    make.write(folder)
    return folder


# ------------------------------------------------------------------------------ the maker


def test_the_committed_files_are_what_the_maker_writes(made: Path) -> None:
    # Packed bytes depend on the zlib of the machine, so gzip files are compared unpacked.
    committed, fresh = content(make.EXPORTS), content(made)
    assert sorted(committed) == sorted(fresh)
    assert [path for path in committed if committed[path] != fresh[path]] == []


def test_the_maker_writes_the_same_bytes_each_time(made: Path, tmp_path: Path) -> None:
    make.write(tmp_path)
    first = {p.relative_to(made): p.read_bytes() for p in made.rglob("*") if p.is_file()}
    again = {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    assert first == again


def test_the_maker_replaces_what_was_there(tmp_path: Path) -> None:
    left = tmp_path / "exports" / "left.txt"
    left.parent.mkdir()
    left.touch()
    make.write(left.parent)
    assert not left.exists()


def test_the_exports_stay_small() -> None:
    files = [path for path in make.EXPORTS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 6_000_000


# ------------------------------------------------------------------------------- the form


def test_cur2_has_leftover_and_empty_chunks_and_only_the_manifest_tells_them_apart() -> None:
    folder = make.EXPORTS / "aws-prod" / PROD
    chunks = {path.name[10:15]: pq.read_metadata(path).num_rows for path in folder.iterdir()}
    listed = [file.name[10:15] for file in oracle_aws_files.files(make.EXPORTS / "aws-prod", MONTH)]
    assert listed == ["00001", "00002", "00003", "00004"]
    assert sorted(chunks) == [*listed, "00005"]
    assert [number for number in sorted(chunks) if chunks[number] == 0] == ["00003", "00005"]


def test_cur2_keeps_nodes_and_their_pods_in_different_files() -> None:
    folder = make.EXPORTS / "aws-prod" / PROD
    columns = ["line_item_operation"]
    operations = [
        set(pq.read_table(path, columns=columns)[columns[0]].to_pylist())
        for path in sorted(folder.iterdir())[:2]
    ]
    assert "EKSPod-EC2" not in operations[0]
    assert operations[1] == {"EKSPod-EC2"}


def test_cur2_has_awss_types() -> None:
    schema = pq.read_schema(next((make.EXPORTS / "aws-prod" / PROD).iterdir()))
    names = (
        "line_item_usage_start_date",
        "line_item_unblended_cost",
        "line_item_unblended_rate",
        "resource_tags",
        "discount",
        "split_line_item_parent_resource_id",
        "split_line_item_split_cost",
    )
    assert [str(schema.field(name).type) for name in names] == [
        "timestamp[ms]",
        "double",
        "string",
        "map<string, string ('resource_tags')>",
        "map<string, double ('discount')>",
        "string",
        "double",
    ]


def test_the_legacy_report_has_slashes_and_no_net_columns() -> None:
    file = oracle_aws_files.files(make.EXPORTS / "aws-data", MONTH)[0]
    with gzip.open(file, "rt", encoding="utf-8", newline="") as lines:
        header = next(csv.reader(lines))
    assert {
        "bill/BillingPeriodStartDate",
        "lineItem/UsageStartDate",
        "lineItem/UnblendedCost",
        "product/instanceType",
        "product/vcpu",
        "pricing/publicOnDemandCost",
        "reservation/ReservationARN",
        "resourceTags/aws:eks:cluster-name",
        "resourceTags/user:team",
        "splitLineItem/SplitCost",
    } <= set(header)
    assert [name for name in header if "/net" in name.lower()] == []
    assert "account" not in {name.split("/")[0] for name in header}


def test_the_legacy_manifest_names_the_newest_assembly() -> None:
    folder = make.EXPORTS / "aws-data/cur/acme-data/20261001-20261101"
    manifest = json.loads((folder / "acme-data-Manifest.json").read_text())
    assemblies = sorted(path.name for path in folder.iterdir() if path.is_dir())
    assert manifest["assemblyId"] == assemblies[-1]
    assert len(assemblies) == 2
    assert manifest["reportKeys"] == [
        f"cur/acme-data/20261001-20261101/{assemblies[-1]}/acme-data-1.csv.gz"
    ]
    inside = folder / assemblies[-1] / "acme-data-Manifest.json"
    assert json.loads(inside.read_text()) == manifest


@pytest.mark.parametrize(
    ("one", "other"), [("aws-prod", "aws-prod-csv"), ("aws-data", "aws-data-parquet")]
)
def test_both_forms_of_an_export_hold_the_same_charges(one: str, other: str) -> None:
    def comparable(name: str) -> list[dict[str, object]]:
        return [
            {
                key: round(value, 12) if isinstance(value, Fraction) else value
                for key, value in row.items()
                # The forms of the legacy report spell keys with capitals differently.
                if key != "tags" and not key.startswith("product_")
            }
            for row in rows(name)
        ]

    def tags(name: str) -> list[dict[str, str]]:
        def key(text: str) -> str:
            return text.replace("_", "")

        return [{key(name): row["tags"][name] for name in row["tags"]} for row in rows(name)]

    assert comparable(one) == comparable(other)
    assert tags(one) == tags(other)


# ---------------------------------------------------------------------------- the content


@pytest.mark.parametrize(("name", "ordinary"), [("aws-prod", {0}), ("aws-data", {None})])
def test_split_rows_have_no_cost_of_their_own(name: str, ordinary: set[object]) -> None:
    split = [row for row in rows(name) if "split_line_item_parent_resource_id" in row]
    assert {row.get("line_item_unblended_cost") for row in split} == ordinary


@pytest.mark.parametrize("name", [*DEMO, "published-example", "sheet-sample-net", "daily"])
def test_pods_never_cost_more_than_their_node_within_dust(name: str) -> None:
    spent: dict[tuple[str, date], Fraction] = defaultdict(Fraction)
    for row in rows(name):
        if f"{row['bill_billing_period_start_date']:%Y-%m}" != MONTH:
            continue
        day = row["line_item_usage_start_date"].date()
        if "split_line_item_parent_resource_id" in row:
            key = (row["split_line_item_parent_resource_id"], day)
            spent[key] += row["split_line_item_split_cost"] + row["split_line_item_unused_cost"]
        elif row.get("product_product_family", "Compute Instance") == "Compute Instance":
            spent[row.get("line_item_resource_id", ""), day] -= amortised(row)
    assert len(spent) > 0
    assert [key for key, rest in spent.items() if rest > Fraction(1, 10**7)] == []


def amortised(row: Row) -> Fraction:
    column = {
        "SavingsPlanCoveredUsage": "savings_plan_savings_plan_effective_cost",
        "DiscountedUsage": "reservation_effective_cost",
    }.get(row["line_item_line_item_type"], "line_item_unblended_cost")
    is_negation = row["line_item_line_item_type"] == "SavingsPlanNegation"
    return Fraction(0) if is_negation else Fraction(row[column])


def test_the_worked_example_is_the_contracts() -> None:
    parents = [row for row in rows("aws-example") if row["line_item_operation"] == "RunInstances"]
    assert len(parents) == 730
    assert {row["line_item_unblended_cost"] for row in parents} == {Fraction(0.23)}
    asked = {
        (row["tags"]["team"], row["line_item_usage_type"][-10:], row["split_line_item_split_usage"])
        for row in rows("aws-example")
        if row["line_item_operation"] == "EKSPod-EC2"
    }
    assert asked == {
        ("A", "vCPU-Hours", Fraction(3, 2)),
        ("B", "vCPU-Hours", Fraction(1, 2)),
        ("C", "vCPU-Hours", Fraction(1, 2)),
        ("A", "2-GB-Hours", Fraction(4)),
        ("B", "2-GB-Hours", Fraction(2)),
        ("C", "2-GB-Hours", Fraction(2)),
    }


def test_the_demo_has_every_line_item_type() -> None:
    found = {row["line_item_line_item_type"] for name in DEMO for row in rows(name)}
    assert found == {
        "BundledDiscount",
        "Credit",
        "DiscountedUsage",
        "EdpDiscount",
        "Fee",
        "PrivateRateDiscount",
        "RIFee",
        "Refund",
        "SavingsPlanCoveredUsage",
        "SavingsPlanNegation",
        "SavingsPlanRecurringFee",
        "SavingsPlanUpfrontFee",
        "SppDiscount",
        "Tax",
        "Usage",
    }


def test_the_dark_cluster_has_no_tag_at_all() -> None:
    dark = [row for row in rows("aws-prod") if ":pod/dark/" in row.get("line_item_resource_id", "")]
    nodes = {row["split_line_item_parent_resource_id"] for row in dark}
    tagged = [
        row
        for row in rows("aws-prod")
        if row["tags"] and (row in dark or row.get("line_item_resource_id") in nodes)
    ]
    assert (len(nodes), tagged) == (2, [])


def test_the_demo_configuration_names_exports_that_are_there() -> None:
    document = tomllib.loads((make.EXPORTS.parent / "leerlauf.toml").read_text())
    locations = [source["location"] for source in document["source"]]
    assert {f"exports/{name}" for name in DEMO} <= set(locations)
    for location in locations:
        assert any((make.EXPORTS.parent / location).rglob("*.*")), location
