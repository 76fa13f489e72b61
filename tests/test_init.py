"""`leerlauf init`: what a folder is recognised as, and the configuration that is written for it."""

import gzip
import json
import re
import shutil
import tomllib
from pathlib import Path

import polars as pl
import pytest

from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from pipelines import config, headers, machine
from pipelines.guides import guide
from pipelines.inspecting import Found, Inspection, inspect
from pipelines.starting import document
from pipelines.survey import survey
from tests.conftest import ROOT
from tests.small_month import said
from transforms.azure import recognise as azure
from transforms.seen import Seen

EXPORTS = ROOT / "fixtures" / "exports"
MONTH = "2026-10"
CLUSTER = (
    "/subscriptions/{}/resourcegroups/{}/providers/microsoft.containerservice/managedclusters/{}"
)
KNOWN = {
    "aws-prod": ("aws", "cur2", "USD", None),
    "aws-prod-csv": ("aws", "cur2", "USD", None),
    "aws-data": ("aws", "cur_legacy", "USD", None),
    "aws-data-parquet": ("aws", "cur_legacy", "USD", None),
    "gcp-shop": ("gcp", "gke_detailed", "USD", None),
    "gcp-shop-json": ("gcp", "gke_detailed", "USD", None),
    "gcp-shop-csv": ("gcp", "gke_detailed", "USD", None),
    "gcp-sheet": ("gcp", "gke_detailed", "USD", None),
    "azure-shop": ("azure", "cost_export", "EUR", "amortized"),
    "azure-shop-actual": ("azure", "cost_export", "EUR", "actual"),
    "azure-shop-ea": ("azure", "cost_export", "EUR", "amortized"),
    "azure-shop-localised": ("azure", "cost_export", "EUR", "amortized"),
    "azure-shop-focus": ("azure", "focus_export", "EUR", None),
    "azure-shop-focus-parquet": ("azure", "focus_export", "EUR", None),
    "azure-lab": ("azure", "cost_export", "USD", "amortized"),
}
"""Folder of the fixtures -> provider, dataset, currency, metric."""

AWS_HEADER = (
    "bill_billing_period_start_date,line_item_currency_code,line_item_line_item_type,"
    "line_item_unblended_cost"
)
AWS_ROW = "2026-10-01 00:00:00,USD,Usage,1"
GCP_HEADER = (
    "service.id,sku.id,project.id,usage_start_time,cost,currency,invoice.month,resource.name"
)
AZURE_HEADER = (
    "BillingPeriodStartDate,BillingCurrency,Date,ChargeType,MeterCategory,ResourceId,"
    "AdditionalInfo,Cost,PricingModel,Tags"
)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def copied(folder: Path, *names: str) -> Path:
    """Copy fixture exports into a folder."""
    for name in names:
        shutil.copytree(EXPORTS / name, folder / name)
    return folder


def written(path: Path, *lines: str) -> Path:
    """Write a text file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def found(folder: Path) -> list[tuple[str, str, str, str]]:
    """Return id, provider, dataset and place of what is found in a folder."""
    return [
        (one.id, one.provider, one.dataset, one.location.relative_to(folder).as_posix())
        for one in inspect(folder).sources
    ]


# ---------------------------------------------------------------------------------------------
# What is found
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KNOWN)
def test_every_form_of_export_is_recognised(tmp_path: Path, name: str) -> None:
    inspection = inspect(copied(tmp_path, name))
    (one,) = inspection.sources
    assert (one.provider, one.dataset, one.currency, one.metric) == KNOWN[name]
    assert (one.location, one.problem, one.metric_told) == (tmp_path / name, None, True)
    assert inspection.month == MONTH


def test_each_sub_folder_is_a_source_of_its_own(tmp_path: Path) -> None:
    copied(tmp_path, "aws-prod", "aws-data", "gcp-shop", "azure-shop", "azure-lab")
    assert found(tmp_path) == [
        ("aws-data", "aws", "cur_legacy", "aws-data"),
        ("aws-prod", "aws", "cur2", "aws-prod"),
        ("azure-lab", "azure", "cost_export", "azure-lab"),
        ("azure-shop", "azure", "cost_export", "azure-shop"),
        ("gcp-shop", "gcp", "gke_detailed", "gcp-shop"),
    ]


def test_two_exports_of_one_account_are_told_apart(tmp_path: Path) -> None:
    copied(tmp_path / "bucket", "aws-prod", "aws-example")
    assert [place for *_, place in found(tmp_path)] == ["bucket/aws-example", "bucket/aws-prod"]


def test_folders_of_months_and_runs_belong_to_their_export(tmp_path: Path) -> None:
    export = copied(tmp_path, "azure-shop") / "azure-shop" / "billing" / "acme-amortized"
    assert found(export) == [("azure-acme-amortized", "azure", "cost_export", ".")]
    export = copied(tmp_path, "aws-prod") / "aws-prod" / "billing" / "acme-prod"
    assert found(export) == [("aws-acme-prod", "aws", "cur2", ".")]


def test_a_lake_and_hidden_folders_are_no_exports(tmp_path: Path) -> None:
    copied(tmp_path, "gcp-sheet")
    copied(tmp_path / "lake" / "raw", "gcp-shop")
    written(tmp_path / "lake" / ".lock")
    copied(tmp_path / ".old", "gcp-shop")
    assert found(tmp_path) == [("gcp-sheet", "gcp", "gke_detailed", "gcp-sheet")]


def test_ids_are_after_folders_and_never_the_same(tmp_path: Path) -> None:
    for name in ("Prod EU", "prod-eu", "снг", "дал", "a.b.c"):
        written(tmp_path / name / "1.csv", AWS_HEADER, AWS_ROW)
    assert sorted((place, name) for name, *_, place in found(tmp_path)) == [
        ("Prod EU", "aws-prod-eu"),
        ("a.b.c", "aws-a-b-c"),
        ("prod-eu", "aws-prod-eu-2"),
        ("дал", "aws"),
        ("снг", "aws-2"),
    ]


def test_the_edge_of_a_month_is_no_month(tmp_path: Path) -> None:
    (one,) = inspect(copied(tmp_path, "gcp-shop-csv")).sources
    assert dict(one.seen.months) == {"2026-09": 38, "2026-10": 369, "2026-11": 52}
    assert one.months == ["2026-09", "2026-10", "2026-11"]
    assert one.whole_months == ["2026-10"]


def test_the_month_to_begin_with_is_one_that_all_have() -> None:
    early, late = (
        Found(name, "aws", "cur2", Path(name), Seen(months=dict.fromkeys(months, 9)))
        for name, months in (("a", ["2026-08", "2026-09"]), ("b", ["2026-09", "2026-10"]))
    )
    assert Inspection((early, late), {}).month == "2026-09"
    assert Inspection((late,), {}).month == "2026-10"
    nothing = Found("c", "aws", "cur2", Path("c"), Seen())
    assert Inspection((nothing,), {}).month is None


def test_a_damaged_export_is_found_with_its_problem(tmp_path: Path) -> None:
    copied(tmp_path, "aws-prod")
    next(tmp_path.rglob(f"*={MONTH}/acme-prod-00002.snappy.parquet")).unlink()
    (one,) = inspect(tmp_path).sources
    assert one.location == tmp_path / "aws-prod"
    assert one.problem == (
        "files that the manifest names are not there, or not told apart: 3; not found: "
        "s3://acme-billing/billing/acme-prod/data/BILLING_PERIOD=2026-10/acme-prod-00002.snappy.parquet"
    )
    text = document(Inspection((one,), {}), tmp_path / "leerlauf.toml", None)
    assert "# It cannot be read yet: files that the manifest names are not there" in text
    assert config.from_document(_parsed(text)).sources[0].id == "aws-prod"


@pytest.mark.parametrize("header", [AWS_HEADER, GCP_HEADER, AZURE_HEADER])
def test_an_export_without_rows_is_found_with_its_problem(tmp_path: Path, header: str) -> None:
    written(tmp_path / "a" / "1.csv", header)
    inspection = inspect(tmp_path)
    (one,) = inspection.sources
    assert (one.problem, inspection.month) == ("no row that names its month", None)
    text = document(inspection, tmp_path / "leerlauf.toml", None)
    assert 'location = "a"  # with no month\n' in text
    assert config.from_document(_parsed(text)).sources[0].id == one.id


def test_folders_of_runs_are_one_export(tmp_path: Path) -> None:
    for run in ("2b3c4d5e-6f70-4a1b-9c2d-aabbccddeeff", "ab3c4d5e-6f70-4a1b-9c2d-aabbccddeeff"):
        written(tmp_path / "a" / run / "1.csv", AWS_HEADER, AWS_ROW)
    (one,) = inspect(tmp_path).sources
    assert one.location == tmp_path / "a"
    assert one.problem is not None
    assert one.problem.startswith("several folders hold files of 2026-10")


def test_an_export_that_is_still_being_written_is_no_flat_folder(tmp_path: Path) -> None:
    copied(tmp_path, "aws-prod")
    for manifest in tmp_path.rglob("*-Manifest.json"):
        written(manifest.parent / "other-Manifest.json", "{}")
        manifest.unlink()
    (one,) = inspect(tmp_path).sources
    assert one.location == tmp_path / "aws-prod"
    assert one.problem is not None


def test_a_refusal_below_is_asked_for_each_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []

    def refuse(source: object, month: str) -> None:
        asked.append(source.metric)  # type: ignore[attr-defined]
        raise DeliveryError("no", exit_code=UNREADABLE if len(asked) == 2 else WRONG_USE)

    monkeypatch.setattr("connectors.azure.discover", refuse)
    (one,) = inspect(copied(tmp_path, "azure-shop-ea")).sources
    assert asked == ["amortized", "actual"]
    assert (one.metric, one.problem, one.damaged) == ("amortized", "no", True)


# ---------------------------------------------------------------------------------------------
# What the rows tell
# ---------------------------------------------------------------------------------------------


def azure_rows(*rows: dict[str, str]) -> pl.LazyFrame:
    """Return raw rows of a cost export; what is not given is empty."""
    empty = dict.fromkeys(AZURE_HEADER.split(","), "")
    start = {"BillingPeriodStartDate": "10/01/2026", "BillingCurrency": "EUR"}
    return pl.LazyFrame([empty | start | row for row in rows])


@pytest.mark.parametrize(
    ("row", "metric"),
    [
        ({"ChargeType": "UnusedReservation", "Cost": "2"}, "amortized"),
        ({"ChargeType": "UnusedSavingsPlan", "Cost": "2"}, "amortized"),
        ({"ChargeType": "Usage", "PricingModel": "SavingsPlan", "Cost": "0.1"}, "amortized"),
        ({"ChargeType": "Usage", "PricingModel": "Reservation", "Cost": "0"}, "actual"),
        ({"ChargeType": "Purchase", "PricingModel": "Reservation", "Cost": "90"}, "actual"),
        ({"ChargeType": "Purchase", "PricingModel": "OnDemand", "Cost": "90"}, None),
        ({"ChargeType": "Usage", "PricingModel": "OnDemand", "Cost": "1"}, None),
    ],
)
def test_charge_types_tell_amortized_from_actual(row: dict[str, str], metric: str | None) -> None:
    seen = azure.look(azure_rows({"ChargeType": "Usage", "Cost": "1"}, row))
    assert seen == Seen(months={MONTH: 2}, currencies=frozenset({"EUR"}), metric=metric)


@pytest.mark.parametrize(
    ("row", "metric", "told"),
    [
        ("10/01/2026,EUR,10/01/2026,Purchase,,,,90,Reservation,", "actual", True),
        ("10/01/2026,EUR,10/01/2026,Usage,,,,90,OnDemand,", "amortized", False),
    ],
)
def test_without_a_manifest_the_rows_tell_the_metric_or_it_is_a_guess(
    tmp_path: Path, row: str, metric: str, told: bool
) -> None:
    written(tmp_path / "a" / "1.csv", AZURE_HEADER, row)
    (one,) = inspect(tmp_path).sources
    assert (one.metric, one.metric_told, one.problem) == (metric, told, None)


def test_what_speaks_for_both_metrics_tells_neither() -> None:
    both = azure_rows(
        {"ChargeType": "UnusedReservation", "Cost": "2"},
        {"ChargeType": "Purchase", "PricingModel": "Reservation", "Cost": "90"},
    )
    assert azure.look(both).metric is None


def resource(group: str, rest: str = "microsoft.network/x/y") -> str:
    """Return the id of a resource of subscription S-1."""
    return f"/subscriptions/S-1/resourceGroups/{group}/providers/{rest}"


def test_clusters_are_told_by_tags_and_guessed_by_names() -> None:
    cluster = "Microsoft.ContainerService/managedClusters/"
    pool = '"aks-managed-poolName":"p"'
    seen = azure.look(
        azure_rows(
            {
                "ResourceId": resource("Nodes-1"),
                "Tags": '{"aks-managed-cluster-name":"Shop","aks-managed-cluster-rg":"RG"}',
            },
            {"ResourceId": resource("nodes-1"), "Tags": f"{{{pool}}}"},
            {"ResourceId": resource("rg", cluster + "shop")},
            {"ResourceId": resource("rg", cluster + "lab")},
            {"ResourceId": resource("MC_rg_lab_westeurope"), "Tags": pool},
            {"ResourceId": resource("rg", cluster + "two")},
            {"ResourceId": resource("MC_rg_two_westeurope"), "Tags": pool},
            {"ResourceId": resource("MC_rg_two_northeurope"), "Tags": pool},
        )
    )
    assert seen.clusters == {CLUSTER.format("s-1", "rg", "shop"): "nodes-1"}
    assert seen.guessed == {CLUSTER.format("s-1", "rg", "lab"): "mc_rg_lab_westeurope"}


def test_tags_that_name_two_groups_are_no_certainty() -> None:
    tags = '{"aks-managed-cluster-name":"shop","aks-managed-cluster-rg":"rg"}'
    rows = azure_rows(
        {"ResourceId": resource("mc_rg_shop_eu"), "Tags": tags},
        {"ResourceId": resource("mc_rg_shop_eu"), "Tags": '"aks-managed-poolName":"p"'},
        {"ResourceId": resource("network"), "Tags": tags},
    )
    seen = azure.look(rows)
    assert seen.clusters == {}
    assert seen.guessed == {CLUSTER.format("s-1", "rg", "shop"): "mc_rg_shop_eu"}


def test_what_one_file_says_ends_the_guess_of_another() -> None:
    guess = Seen(months={MONTH: 1}, guessed={"c": "maybe"})
    sure = Seen(months={MONTH: 2, "2026-09": 1}, clusters={"c": "group"}, metric="actual")
    assert guess | sure == Seen(
        months={"2026-09": 1, MONTH: 3}, clusters={"c": "group"}, metric="actual"
    )


# ---------------------------------------------------------------------------------------------
# Headers
# ---------------------------------------------------------------------------------------------


def test_names_are_read_from_every_form(tmp_path: Path) -> None:
    bom = tmp_path / "bom.csv"
    bom.write_bytes('\ufeffDate,"a, b"\r\n1,2\r\n'.encode())
    assert headers.names(bom) == ("Date", "a, b")
    lines = tmp_path / "x.json.gz"
    with gzip.open(lines, "wt") as stream:
        stream.write('{"cost":1}\n{"service":{"id":"x"},"cost":2}\n')
    assert headers.names(lines) == ("cost", "service", "service.id")
    pretty = tmp_path / "pretty.json"
    pretty.write_text(json.dumps({"properties": {"columns": [], "rows": []}}, indent=2))
    assert headers.names(pretty) == ("properties", "properties.columns", "properties.rows")
    table = tmp_path / "x.parquet"
    pl.DataFrame({"a": [1], "b": [{"c": 1}]}).write_parquet(table)
    assert headers.names(table) == ("a", "b")


@pytest.mark.parametrize("name", ["x.parquet", "x.csv.gz", "x.json", "x.jsonl", "x.csv"])
def test_what_cannot_be_read_has_no_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xff\xfe{" if not name.endswith(".csv") else b"")
    assert headers.names(tmp_path / name) == ()
    assert not headers.mentions(tmp_path / name, ["x"])


@pytest.mark.parametrize(
    ("provider", "header", "reason"),
    [
        (
            "gcp",
            GCP_HEADER.replace("resource.name", "location.region"),
            "the standard export: only the detailed one knows namespaces",
        ),
        (
            "gcp",
            f"{GCP_HEADER},payer_billing_account_id",
            "the export of a reseller: its amounts are not those of a customer's bill",
        ),
        (
            "azure",
            "SubscriptionGuid,UsageDateTime,InstanceId,PreTaxCost",
            "a Usage export, which leaves purchases out: export amortized or actual cost",
        ),
        (
            "aws",
            "BilledCost,EffectiveCost,x_ServiceCode",
            "a FOCUS export, which does not tell what pods cost: export CUR 2.0",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(
    tmp_path: Path, provider: str, header: str, reason: str
) -> None:
    path = written(tmp_path / "x.csv", header)
    assert guide(provider).refuse(header.split(",")) == reason
    assert survey(tmp_path).refused == {path: reason}


def test_no_header_is_known_to_two_providers(tmp_path: Path) -> None:
    for path in EXPORTS.rglob("*"):
        if path.is_file() and headers.is_data(path):
            columns = headers.names(path)
            known = [name for name in ("aws", "gcp", "azure") if guide(name).recognise(columns)]
            splits = [
                name for name in ("aws", "gcp", "azure") if guide(name).recognise_split(columns)
            ]
            is_none = "anifest" in path.name or path.parent.name in ("nodes", "metrics")
            assert len(known) + len(splits) == (0 if is_none else 1), path


# ---------------------------------------------------------------------------------------------
# What is written
# ---------------------------------------------------------------------------------------------


SMALL = """\
[[source]]
id = "gcp-sheet"
provider = "gcp"
dataset = "gke_detailed"
location = "exports/gcp-sheet"  # with 2026-10
currency = "USD"  # a promise: another one is an error finding
"""
SPLIT_APART = """\
[[source]]
id = "azure-lab"
provider = "azure"
dataset = "cost_export"
location = "exports/azure-lab"  # with 2026-09, 2026-10
currency = "USD"  # a promise: another one is an error finding
metric = "amortized"
splits = ["query"]  # who splits a cluster's cost, the preferred first
split_location = "exports/azure-lab/splits"
[source.clusters."{cluster}"]
node_resource_group = "mc_rg-lab_aks-lab_eastus"
"""


def _parsed(text: str) -> dict[str, object]:
    return tomllib.loads(text)


def _sources(file: Path) -> str:
    """Return the part of a configuration between its lines about sources and teams."""
    return file.read_text("utf-8").split(" sources\n\n")[1].split("\n# ---")[0]


def test_the_file_names_the_source_and_the_next_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(tmp_path / "exports", "gcp-sheet")
    told = said(capsys, "init", "exports")
    file = tmp_path / "leerlauf.toml"
    assert (told.code, told.err) == (0, "")
    assert [line.rstrip() for line in told.out.splitlines()] == [
        "gcp-sheet  gcp gke_detailed",
        "         location         exports/gcp-sheet",
        "         months           2026-10",
        "         currency         USD",
        "",
        "written: leerlauf.toml",
        "read it and correct it, then: leerlauf check 2026-10",
    ]
    assert _sources(file) == SMALL
    assert "#   leerlauf run 2026-10" in file.read_text("utf-8")


def test_the_rules_begin_with_none_and_examples_are_commented_out(tmp_path: Path) -> None:
    file = tmp_path / "leerlauf.toml"
    file.write_text(document(inspect(copied(tmp_path, "gcp-sheet")), file, None), "utf-8")
    read = config.load(file)
    assert [(rule.id, rule.method) for rule in read.allocation_rules] == [("start", "none")]
    assert [rule.label for rule in read.team_rules] == ["team"]
    assert [operator.team for operator in read.operators] == ["platform"]
    assert (read.headroom, read.lake.path) == ((), tmp_path / "lake")
    examples = re.sub(r"(?m)^# (?=[a-z_]+ = |\[\[)", "", file.read_text("utf-8"))
    changed = config.from_document(_parsed(examples))
    assert [rule.team for rule in changed.team_rules] == [None, "payments"]
    assert [rule.namespace for rule in changed.system] == [("kube-system", "monitoring")]
    pods, policy = changed.headroom
    assert pods.placeholder_pods is not None
    assert pods.placeholder_pods.namespace == ("overprovisioning",)
    assert policy.keep_free is not None
    assert policy.keep_free.cpu == "10%"
    assert [nodes.path for nodes in changed.nodes] == [("nodes/*.json",)]
    assert [pool.min_nodes for pool in changed.node_pools] == [2]


def test_a_provider_whose_split_comes_apart_gets_its_clusters_and_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(tmp_path / "exports", "azure-lab", "azure-shop")
    assert said(capsys, "init", "exports").code == 0
    lab = CLUSTER.format("1ab00000-0000-4000-8000-000000000009", "rg-lab", "aks-lab")
    first, second = _sources(tmp_path / "leerlauf.toml").split("\n\n")
    assert f"{first}\n" == SPLIT_APART.format(cluster=lab)
    shop = config.load(tmp_path / "leerlauf.toml").sources[1]
    assert shop.splits == ("query", "agent")
    assert shop.split_location == str(tmp_path / "exports" / "azure-shop" / "splits")
    assert 'splits = ["query", "agent"]' in second
    assert sorted(place.node_resource_group for place in shop.clusters.values()) == [
        "mc_rg-dark_aks-dark_northeurope",
        "mc_rg-shop_aks-shop-prod_westeurope",
        "mc_rg-shop_aks-shop-prod_westeurope2",
        "rg-batch-nodes",
    ]


def test_answers_about_other_clusters_are_not_taken(tmp_path: Path) -> None:
    copied(tmp_path, "azure-shop", "azure-lab")
    shutil.rmtree(tmp_path / "azure-shop" / "splits")
    lab, shop = inspect(tmp_path).sources
    assert (lab.splits, shop.splits, shop.split_location) == (("query",), (), None)


def test_answers_beside_all_exports_are_found_too(tmp_path: Path) -> None:
    copied(tmp_path, "azure-shop", "azure-lab")
    shutil.move(tmp_path / "azure-shop" / "splits", tmp_path / "answers")
    _, shop = inspect(tmp_path).sources
    assert (shop.splits, shop.split_location) == (("query", "agent"), tmp_path / "answers")


def test_a_guess_is_commented_out(tmp_path: Path) -> None:
    cluster = CLUSTER.format("s-1", "rg", "lab")
    seen = Seen(months={MONTH: 1}, guessed={cluster: "mc_rg_lab_eu"})
    one = Found("azure-a", "azure", "cost_export", tmp_path, seen, "amortized", metric_told=False)
    text = document(Inspection((one,), {}), tmp_path / "leerlauf.toml", None)
    assert f'# [source.clusters."{cluster}"]\n# node_resource_group = "mc_rg_lab_eu"\n' in text
    assert 'metric = "amortized"  # a guess: the export\'s settings show its type\n' in text
    assert config.from_document(_parsed(text)).sources[0].clusters == {}


def test_one_bill_in_two_views_is_counted_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(tmp_path, "azure-shop", "azure-shop-actual")
    told = json.loads(said(capsys, "init", "--json").out)
    assert [(row["source"], row["metric"], row["used"]) for row in told["rows"]] == [
        ("azure-shop", "amortized", True),
        ("azure-shop-actual", "actual", False),
    ]
    assert [source.id for source in config.load(tmp_path / "leerlauf.toml").sources] == [
        "azure-shop"
    ]
    assert '# [[source]]\n# id = "azure-shop-actual"' in (tmp_path / "leerlauf.toml").read_text()


@pytest.mark.parametrize(
    ("names", "kept", "again"),
    [
        (("gcp-shop-csv", "gcp-shop-json"), "gcp-shop-csv", "gcp-shop-json"),
        (("azure-shop-ea", "azure-shop-localised"), "azure-shop-ea", "azure-shop-localised"),
        (("azure-shop", "azure-shop-focus"), "azure-shop", "azure-shop-focus"),
    ],
    ids=["as long in every month", "one cluster", "cost and FOCUS"],
)
def test_one_bill_in_two_forms_is_counted_once(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    names: tuple[str, str],
    kept: str,
    again: str,
) -> None:
    copied(tmp_path, *names)
    told = said(capsys, "init").out
    file = tmp_path / "leerlauf.toml"
    assert [source.id for source in config.load(file).sources] == [kept]
    reason = f"it seems to hold the bill of {kept} once more"
    assert f'# Not used: {reason}.\n# [[source]]\n# id = "{again}"' in file.read_text()
    assert f"no, commented out: {reason}" in " ".join(told.split())


def test_exports_of_different_bills_are_all_used(tmp_path: Path) -> None:
    copied(tmp_path, "aws-prod", "aws-data", "gcp-shop", "azure-shop", "azure-lab")
    assert inspect(tmp_path).unused == {}


def test_a_bill_without_amortised_cost_is_shown_as_invoiced(tmp_path: Path) -> None:
    inspection = inspect(copied(tmp_path, "azure-shop-actual"))
    text = document(inspection, tmp_path / "leerlauf.toml", None)
    assert config.from_document(_parsed(text)).report.cost_view == "billed"


def test_two_currencies_are_no_promise(tmp_path: Path) -> None:
    path = written(tmp_path / "a" / "1.csv", AWS_HEADER, AWS_ROW, AWS_ROW.replace("USD", "EUR"))
    text = document(inspect(path.parent), tmp_path / "leerlauf.toml", None)
    assert "# currency: it has EUR, USD; they are never added\n" in text
    assert config.from_document(_parsed(text)).sources[0].currency is None


def test_strange_names_of_folders_are_written_so_that_they_load(tmp_path: Path) -> None:
    for name in ("a.b.c", 'q"uo\\te', "del\x7f", "new\nline"):
        written(tmp_path / name / "1.csv", AWS_HEADER, AWS_ROW)
    file = tmp_path / "leerlauf.toml"
    file.write_text(document(inspect(tmp_path), file, tmp_path / "x.y.z"), "utf-8")
    read = config.load(file)
    assert sorted(source.location for source in read.sources) == sorted(
        str(tmp_path / name) for name in ("a.b.c", 'q"uo\\te', "del\x7f", "new\nline")
    )
    assert read.lake.path == tmp_path / "x.y.z"


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


def test_what_it_writes_runs_with_three_providers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(tmp_path / "exports", "aws-example", "gcp-shop", "azure-lab")
    told = json.loads(said(capsys, "init", "exports", "--json").out)
    assert told["next"] == "leerlauf check 2026-10"
    run = said(capsys, "run", told["billing_period"], "--json")
    printed = json.loads(run.out)
    assert (run.err, {cluster["provider"] for cluster in printed["clusters"]}) == (
        "",
        {"aws", "gcp", "azure"},
    )
    assert {team["team"] for team in printed["teams"]} >= {"platform", None}
    assert said(capsys, "check", "--json").code in (0, 1)


def test_the_file_may_lie_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copied(tmp_path / "exports", "gcp-sheet")
    file = tmp_path / "conf" / "my.toml"
    told = said(capsys, "init", "exports", "--config", file, "--lake", tmp_path / "big", "--json")
    printed = json.loads(told.out)
    assert (printed["file"], printed["next"]) == (
        str(file),
        f"leerlauf check 2026-10 --config {file}",
    )
    assert printed["rows"][0]["location"] == "../exports/gcp-sheet"
    read = config.load(file)
    assert (read.lake.path, read.sources[0].location) == (
        tmp_path / "big",
        str(tmp_path / "exports" / "gcp-sheet"),
    )


def test_a_file_that_is_there_is_never_written_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "leerlauf.toml", "mine")
    copied(tmp_path / "exports", "gcp-sheet")
    told = said(capsys, "init", "exports")
    assert (told.code, told.out, file.read_text()) == (2, "", "mine\n")
    assert told.err.startswith("error: a configuration is there already")
    file.unlink()
    file.symlink_to(tmp_path / "nowhere")
    assert said(capsys, "init", "exports").code == 2


def test_nothing_found_says_what_it_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "notes.csv", "a,b")
    written(tmp_path / "std.csv", GCP_HEADER.replace("resource.name", "tags"))
    told = json.loads(said(capsys, "init", "--json").out)
    (finding,) = told["findings"]
    assert (told["status"], finding["rule"], finding["where"]) == ("failed", "configuration", ".")
    assert finding["expected"] == (
        "files (.parquet, .csv, .json, .jsonl, .ndjson) with the header of "
        "aws: cur2, cur_legacy; gcp: gke_detailed; azure: cost_export, focus_export"
    )
    assert finding["actual"] == (
        "no billing export found: "
        "std.csv: the standard export: only the detailed one knows namespaces\n"
        "notes.csv: not known"
    )
    assert not (tmp_path / "leerlauf.toml").exists()


def test_of_many_unknown_files_few_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(8):
        written(tmp_path / f"{number}.csv", "a")
    told = said(capsys, "init")
    assert told.code == 2
    assert "4.csv: not known" in told.err
    assert "5.csv" not in told.err
    assert "and 3 more" in told.err


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "init", "nowhere")
    assert (told.code, told.err.splitlines()[0]) == (2, "error: no such folder")


def test_two_providers_in_one_folder_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "mixed" / "1.csv", AWS_HEADER, AWS_ROW)
    copied(tmp_path, "gcp-sheet")
    shutil.copy(EXPORTS / "gcp-sheet" / "sheet.jsonl", tmp_path / "mixed")
    told = said(capsys, "init")
    assert told.code == 0
    why = "aws cur2 and gcp gke_detailed in one folder: give each a folder of its own"
    assert f"not used: mixed: {why}" in " ".join(told.out.split())


def test_a_file_that_breaks_off_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(tmp_path, "azure-shop-focus")
    path = next(tmp_path.rglob("*.csv.gz"))
    path.write_bytes(path.read_bytes()[:-400])
    told = said(capsys, "init")
    assert told.code == 3
    assert "part_0_0001.csv.gz" in told.err


def test_what_is_printed_fits_its_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copied(tmp_path, "azure-lab")
    printed = json.loads(said(capsys, "init", "--json").out)
    assert machine.json_schema("init")["anyOf"][0] == {"$ref": "#/$defs/Inspection"}
    lab = CLUSTER.format("1ab00000-0000-4000-8000-000000000009", "rg-lab", "aks-lab")
    assert printed == {
        "billing_period": MONTH,
        "file": "leerlauf.toml",
        "next": "leerlauf check 2026-10",
        "rows": [
            {
                "provider": "azure",
                "source": "azure-lab",
                "billing_currency": "USD",
                "dataset": "cost_export",
                "location": "azure-lab",
                "months": ["2026-09", MONTH],
                "metric": "amortized",
                "splits": ["query"],
                "split_location": "azure-lab/splits",
                "clusters": [lab],
                "used": True,
                "problem": None,
            }
        ],
    }
