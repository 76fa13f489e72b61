"""`leerlauf check`: what is there, what is missing, and the step that mends it."""

import json
import os
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines import config, doctor, queries
from pipelines.checked import Checked, Examination
from pipelines.figures import bytes_of
from pipelines.guides import guide
from pipelines.lake import Lake
from pipelines.providers import PROVIDERS
from pipelines.reading import rows
from pipelines.show import console
from pipelines.show_setup import examination
from tests.conftest import ROOT
from tests.small_month import said

EXPORTS = ROOT / "fixtures" / "exports"
MONTH = "2026-10"
NOW = datetime(2026, 11, 6, 12, tzinfo=UTC)
EXAMPLE = "arn:aws:eks:us-east-1:777766665555:cluster/worked-example"
LAB = (
    "/subscriptions/1ab00000-0000-4000-8000-000000000009/resourcegroups/rg-lab/providers"
    "/microsoft.containerservice/managedclusters/aks-lab"
)
AWS = """
[[source]]
id = "aws-example"
provider = "aws"
dataset = "cur2"
location = "exports/aws-example"
currency = "USD"
"""
AZURE = f"""
[[source]]
id = "azure-lab"
provider = "azure"
dataset = "cost_export"
location = "exports/azure-lab"
metric = "amortized"
splits = ["query"]
split_location = "exports/azure-lab/splits"
clusters = {{ "{LAB}" = {{ node_resource_group = "mc_rg-lab_aks-lab_eastus" }} }}
"""
RULES = """
[[team_rule]]
label = "team"
[[operator]]
team = "platform"
"""
Row = dict[str, Any]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command runs in a folder with two exports, written on 3 November 2026."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("aws-example", "azure-lab"):
        shutil.copytree(EXPORTS / name, tmp_path / "exports" / name)
    written(tmp_path, datetime(2026, 11, 3, 4, 20, tzinfo=UTC))


def written(folder: Path, moment: datetime) -> None:
    """Let every file below a folder have been written at a moment."""
    for path in folder.rglob("*.*"):
        os.utime(path, (moment.timestamp(), moment.timestamp()))


def examined(text: str, month: str = MONTH) -> Examination:
    """Check a configuration in this folder."""
    Path("leerlauf.toml").write_text(text, encoding="utf-8")
    return doctor.examine(config.load(Path("leerlauf.toml")), month, NOW)


def of(checked: Examination, check: str) -> list[Checked]:
    """Return the answers of one check."""
    return [row for row in checked.rows if row.check == check]


def told(checked: Examination, check: str) -> list[tuple[str, str]]:
    """Return status and actual of one check."""
    return [(row.status, row.actual) for row in of(checked, check)]


# ---------------------------------------------------------------------------------------------
# All there
# ---------------------------------------------------------------------------------------------


def test_every_answer_about_one_source(tmp_path: Path) -> None:
    checked = examined(AWS + RULES)
    assert checked.exit_code == 0
    assert [
        (row.check, row.status, row.actual, row.expected, row.source, row.cluster_id)
        for row in checked.rows
    ] == [
        (
            "configuration",
            "ok",
            "sources: 1, team rules: 1, operators: 1, allocation rules: 0",
            "a file that can be read",
            None,
            None,
        ),
        (
            "location",
            "ok",
            str(tmp_path / "exports" / "aws-example"),
            "a folder with the export",
            "aws-example",
            None,
        ),
        ("cost_view", "ok", "effective and billed", "effective", "aws-example", None),
        (
            "delivery",
            "ok",
            "2 files, 105.9 KB, written 2026-11-03 04:20 UTC, 3 days old",
            "a delivery written after the end of 2026-10",
            "aws-example",
            None,
        ),
        (
            "files",
            "ok",
            "2 files, 248 rows of a day",
            "files with the needed columns",
            "aws-example",
            None,
        ),
        ("currency", "ok", "USD", "USD", "aws-example", None),
        ("rules", "ok", "every rule can apply", "no rule that never applies", None, None),
        (
            "node_reserve",
            "warning",
            "unknown: what kubelet and system reserve stands in idle",
            "known for every node",
            "aws-example",
            EXAMPLE,
        ),
        (
            "split_coverage",
            "ok",
            "100.0 % of 167.90 USD node cost, by scad, 2026-10-01 to 2026-10-31, 31 days",
            "all node cost split by workload, every day",
            "aws-example",
            EXAMPLE,
        ),
        (
            "teams",
            "ok",
            "0.0 % of 98.48 USD workload without team",
            "a team for every namespace",
            "aws-example",
            EXAMPLE,
        ),
    ]
    assert {row.billing_currency for row in checked.rows if row.cluster_id} == {"USD"}
    assert [row.check for row in checked.rows if row.hint] == ["node_reserve"]


def test_a_split_that_comes_apart_from_the_bill() -> None:
    checked = examined(AZURE + RULES)
    ((status, actual),) = told(checked, "split_files")
    assert (status, re.sub(r"[\d.]+ KB", "SIZE", actual)) == (
        "ok",
        "query: 1 file, SIZE, written 2026-11-03 04:20 UTC, 3 days old",
    )
    assert told(checked, "node_reserve") == [("ok", "known: it stands apart from idle")]
    ((status, actual),) = told(checked, "split_coverage")
    assert (status, re.sub(r"[\d.]+ USD", "AMOUNT", actual)) == (
        "ok",
        "100.0 % of AMOUNT node cost, by query, 2026-10-12 to 2026-10-14, 3 days",
    )
    assert told(checked, "currency") == [("warning", "USD")]
    assert [row.hint for row in of(checked, "currency")] == [
        'write currency = "USD" to be told when another one appears'
    ]
    assert checked.exit_code == 0


def test_nothing_is_written_but_copies_and_the_cache(tmp_path: Path) -> None:
    examined(AWS + RULES)
    assert {path.name for path in (tmp_path / "lake").iterdir()} == {".lock", "cache", "raw"}
    before = sorted(tmp_path.rglob("*"))
    examined(AWS + RULES)
    assert sorted(tmp_path.rglob("*")) == before


def test_sources_and_clusters_are_checked_side_by_side() -> None:
    checked = examined(AWS + AZURE + RULES)
    clusters = [row.cluster_id for row in checked.rows if row.cluster_id]
    assert clusters == [EXAMPLE] * 3 + [LAB] * 3
    assert [row.source for row in of(checked, "files")] == ["aws-example", "azure-lab"]


# ---------------------------------------------------------------------------------------------
# Something missing, and the step that mends it
# ---------------------------------------------------------------------------------------------


def test_a_location_that_is_not_there_and_the_others_all_the_same() -> None:
    checked = examined(AWS.replace("exports/aws-example", "nowhere") + AZURE + RULES)
    (missing, there) = of(checked, "location")
    assert (missing.status, missing.source, missing.exit_code) == ("error", "aws-example", 2)
    assert missing.actual.endswith("nowhere: no such folder")
    assert missing.hint == "correct `location` of the source, or copy the export there"
    assert (there.status, checked.exit_code) == ("ok", 2)
    assert [row.cluster_id for row in of(checked, "split_coverage")] == [LAB]


def test_a_folder_of_answers_that_is_not_there() -> None:
    checked = examined(AZURE.replace("azure-lab/splits", "nowhere") + RULES)
    (missing,) = of(checked, "split_location")
    assert (missing.status, missing.exit_code, checked.exit_code) == ("error", 2, 2)
    assert missing.actual.endswith("nowhere: no such folder")
    assert missing.hint == "correct `split_location` of the source, or copy the saved answers there"
    assert of(checked, "delivery") == []


def test_one_bill_in_two_sources() -> None:
    shutil.copytree(EXPORTS / "azure-lab" / "costs", "again")
    again = AZURE.replace('id = "azure-lab"', 'id = "azure-again"')
    again = again.replace('"exports/azure-lab"', '"again"')
    checked = examined(AZURE + again + RULES)
    refused, twice = of(checked, "one_bill")
    assert (refused.status, refused.exit_code, checked.exit_code) == ("error", 2, 2)
    assert (twice.status, twice.cluster_id) == ("warning", LAB)
    assert twice.actual.startswith(
        "several sources bill its nodes on the same days: azure-again, azure-lab; 2026-10-"
    )
    assert of(examined(AWS + AZURE + RULES), "one_bill") == []


def test_a_month_without_a_delivery() -> None:
    checked = examined(AWS + RULES, "2026-08")
    (row,) = of(checked, "delivery")
    assert (row.status, row.exit_code, checked.exit_code) == ("error", 2, 2)
    assert "no delivery of 2026-08" in row.actual
    assert row.hint == ("copy the export of that month here, or correct `location` of the source")
    assert of(checked, "files") == []


def test_a_truncated_file(tmp_path: Path) -> None:
    path = next(tmp_path.rglob("acme-example-00002.snappy.parquet"))
    path.write_bytes(path.read_bytes()[:-9])
    checked = examined(AWS + RULES)
    (row,) = of(checked, "files")
    assert (row.status, row.exit_code, checked.exit_code) == ("error", 3, 3)
    assert row.actual.startswith("acme-example-00002.snappy.parquet: a file cannot be read")


def test_a_file_that_the_manifest_names_is_missing(tmp_path: Path) -> None:
    next(tmp_path.rglob("acme-example-00002.snappy.parquet")).unlink()
    checked = examined(AWS + RULES)
    assert (of(checked, "delivery")[0].status, checked.exit_code) == ("error", 3)


def test_another_currency_than_the_promised_one() -> None:
    checked = examined(AWS.replace("USD", "EUR") + RULES)
    (row,) = of(checked, "currency")
    assert (row.status, row.actual, row.expected, checked.exit_code) == ("error", "USD", "EUR", 1)
    assert of(checked, "second_currency") == []


def test_what_the_transform_finds_is_told_too(tmp_path: Path) -> None:
    shutil.copytree(EXPORTS / "orphan", tmp_path / "exports" / "orphan")
    checked = examined(AWS.replace("exports/aws-example", "exports/orphan") + RULES)
    (row,) = of(checked, "orphan_split")
    assert (row.status, row.provider, row.source, checked.exit_code) == (
        "error",
        "aws",
        "aws-example",
        1,
    )
    assert row.hint


def test_a_cluster_that_nobody_splits(tmp_path: Path) -> None:
    shutil.copytree(EXPORTS / "no-split", tmp_path / "exports" / "no-split")
    checked = examined(AWS.replace("exports/aws-example", "exports/no-split") + RULES)
    assert [(status, actual[:6]) for status, actual in told(checked, "split_coverage")] == [
        ("warning", "0.0 % ")
    ]
    assert of(checked, "split_coverage")[0].hint == (
        "switch on split cost allocation data for Amazon EKS in the payer account (Billing and "
        "Cost Management, Cost Management preferences) and in the export (resource ids, split "
        "cost allocation data); it counts from that day on, never backwards"
    )
    assert of(checked, "node_reserve") == []


def test_no_split_where_it_comes_apart() -> None:
    kept = [line for line in AZURE.splitlines() if not line.startswith("split")]
    checked = examined("\n".join(kept) + RULES)
    (row,) = of(checked, "split_files")
    assert (row.status, row.actual) == ("warning", "no file of 2026-10")
    assert row.hint is not None
    assert row.hint.startswith("an Azure export holds no namespaces: switch on cost analysis")
    assert [row.status for row in of(checked, "split_coverage")] == ["warning"]


def test_a_view_that_the_source_lacks() -> None:
    checked = examined('[report]\ncost_view = "billed"\n' + AZURE + RULES)
    (row,) = of(checked, "cost_view")
    assert (row.status, row.actual, row.expected) == (
        "error",
        "no billed cost: it holds effective cost only",
        "billed",
    )
    assert checked.exit_code == 2
    assert row.hint == (
        'set cost_view = "effective" under [report], or give this source its billed cost; '
        'or correct metric = "amortized"'
    )
    assert [status for status, _ in told(checked, "split_coverage")] == ["ok"]


def test_a_delivery_written_before_the_month_ended(tmp_path: Path) -> None:
    written(tmp_path, datetime(2026, 10, 30, tzinfo=UTC))
    (row,) = of(examined(AWS + RULES), "delivery")
    assert (row.status, row.actual[-11:]) == ("warning", " 7 days old")
    assert row.hint == "fetch the month again: days at its end may be missing"


def test_a_month_that_has_not_ended(tmp_path: Path) -> None:
    written(tmp_path, datetime(2026, 10, 30, tzinfo=UTC))
    Path("leerlauf.toml").write_text(AWS + RULES, encoding="utf-8")
    read, now = config.load(Path("leerlauf.toml")), datetime(2026, 10, 30, 1, tzinfo=UTC)
    (row,) = of(doctor.examine(read, MONTH, now), "delivery")
    assert (row.status, row.expected) == ("ok", "a delivery of 2026-10, which has not ended")


def test_rules_that_never_apply_and_clusters_without_operator() -> None:
    rules = '[[operator]]\nteam = "x"\ncluster = ["lab-*"]\n'
    checked = examined(AWS + rules)
    assert told(checked, "rules") == [("warning", "operator[0]: no cluster matches 'lab-*'")]
    (row,) = of(checked, "operator")
    assert (row.status, row.cluster_id, row.billing_currency) == ("warning", EXAMPLE, "USD")
    assert told(checked, "teams") == [
        ("warning", "100.0 % of 98.48 USD workload without team: team-a, team-b, team-c")
    ]
    assert checked.exit_code == 0


def test_labels_that_no_active_tag_brings() -> None:
    rules = '[[team_rule]]\nlabel = "owner"\n'
    (row,) = of(examined(AWS + rules), "teams")
    assert (row.status, row.cluster_id) == ("warning", EXAMPLE)
    assert row.hint is not None
    assert "activated it as a cost allocation tag" in row.hint


def test_a_bill_without_clusters() -> None:
    kept = [line for line in AZURE.splitlines() if not line.startswith(("split", "clusters"))]
    bill = Path("exports/azure-lab/costs/acme-lab_0.csv")
    header, *lines = bill.read_text("utf-8-sig").splitlines()
    others = [line for line in lines if "managedclusters" not in line.lower()]
    bill.write_text("\n".join([header, *others]), encoding="utf-8")
    bill.with_name("acme-lab_1.csv").unlink()
    checked = examined("\n".join(kept) + RULES)
    assert told(checked, "clusters") == [("warning", "no cluster on any bill of 2026-10")]
    assert of(checked, "rules") == []
    assert "cluster_not_configured" in {row.check for row in checked.rows}


# ---------------------------------------------------------------------------------------------
# Month
# ---------------------------------------------------------------------------------------------


def test_the_month_is_the_newest_raw_one_else_the_last_full_one(tmp_path: Path) -> None:
    assert doctor.default_month(tmp_path, datetime(2026, 1, 1, tzinfo=UTC)) == "2025-12"
    for month in ("2026-08", "2026-09", ".partial-1"):
        (tmp_path / "raw" / "a" / month).mkdir(parents=True)
    (tmp_path / "raw" / "b" / "2026-07").mkdir(parents=True)
    assert doctor.default_month(tmp_path, NOW) == "2026-09"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_every_provider_tells_the_step_for_every_check(provider: str) -> None:
    steps = guide(provider).STEPS
    assert set(steps) - set(doctor.STEPS) == {"node_reserve", "split_coverage"}
    asked_by_queries = set(queries.names("doctor")) | {"split_gap", "operator"}
    assert asked_by_queries == set(steps) | set(doctor.STEPS)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 KB"),
        (2_500_000, "2.5 MB"),
        (7e15, "7000.0 TB"),
    ],
)
def test_sizes(number: int, shown: str) -> None:
    assert bytes_of(int(number)) == shown


# ---------------------------------------------------------------------------------------------
# The queries
# ---------------------------------------------------------------------------------------------


def asked(check: str, *charges: Row) -> list[Row]:
    """Ask one query of sql/doctor about some rows."""
    con = duckdb.connect()
    con.execute(
        "CREATE TABLE examined (provider VARCHAR, source VARCHAR, cluster_id VARCHAR, "
        "cluster_name VARCHAR, billing_currency VARCHAR, namespace VARCHAR, team VARCHAR, "
        "row_kind VARCHAR, reason VARCHAR, resource_kind VARCHAR, split_source VARCHAR, "
        "charge_date DATE, node VARCHAR, reserve_known BOOLEAN, cost DECIMAL(38, 12))"
    )
    usual: Row = {"provider": "p", "source": "s", "cluster_id": "c", "billing_currency": "USD"}
    usual |= {"row_kind": "workload", "resource_kind": "cpu", "reserve_known": False}
    for charge in charges:
        row = usual | {"charge_date": date(2026, 10, 1)} | charge
        names = ", ".join(row)
        marks = ", ".join("?" * len(row))
        con.execute(f"INSERT INTO examined ({names}) VALUES ({marks})", list(row.values()))
    return rows(con, queries.read(f"doctor/{check}"))


def day(number: int, cost: str, **columns: Any) -> Row:
    """Return a charge of one day of October."""
    return {"charge_date": date(2026, 10, number), "cost": Decimal(cost)} | columns


def gap(number: int, cost: str, reason: str = "no_split_source", **columns: Any) -> Row:
    """Return node cost that nobody split."""
    return day(number, cost, row_kind="unattributed", reason=reason, **columns)


def statuses(found: Sequence[Row]) -> list[tuple[str, str | None, str]]:
    """Return status, step and actual."""
    return [(row["status"], row["step"], row["actual"]) for row in found]


def test_coverage_goes_by_runs_of_days_that_are_alike() -> None:
    found = asked(
        "split_coverage",
        gap(1, "2"),
        gap(2, "2"),
        day(3, "1", split_source="q"),
        gap(3, "2"),
        day(4, "2", split_source="q"),
        day(4, "1", row_kind="idle", reason="unrequested"),
        day(9, "3", split_source="q"),
        day(10, "3", split_source="a"),
        gap(11, "3"),
    )
    assert statuses(found) == [
        (
            "warning",
            "split_coverage",
            "0.0 % of 4.00 USD node cost, 2026-10-01 to 2026-10-02, 2 days",
        ),
        ("warning", "split_gap", "33.3 % of 3.00 USD node cost, by q, 2026-10-03"),
        ("ok", None, "100.0 % of 6.00 USD node cost, by q, 2026-10-04 to 2026-10-09, 2 days"),
        ("ok", None, "100.0 % of 3.00 USD node cost, by a, 2026-10-10"),
        ("warning", "split_coverage", "0.0 % of 3.00 USD node cost, 2026-10-11"),
    ]


def test_coverage_counts_node_cost_only_and_each_currency_alone() -> None:
    found = asked(
        "split_coverage",
        day(1, "1", split_source="q"),
        day(1, "5", resource_kind="storage", row_kind="unattributed", reason="no_split_source"),
        day(1, "5", row_kind="cluster_fee"),
        gap(1, "2", billing_currency="EUR"),
        gap(1, "0.0001", cluster_id="d"),
        day(1, "999", cluster_id="d", split_source="q"),
    )
    assert [(row["cluster_id"], row["actual"]) for row in found] == [
        ("c", "0.0 % of 2.00 EUR node cost, 2026-10-01"),
        ("c", "100.0 % of 1.00 USD node cost, by q, 2026-10-01"),
        ("d", "99.9 % of 999.00 USD node cost, by q, 2026-10-01"),
    ]


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("no_split_source", "warning"),
        ("split_gap", "warning"),
        ("unclassified", "warning"),
        ("unknown_owner", "ok"),
        ("unsupported_sku", "ok"),
    ],
)
def test_what_the_provider_itself_cannot_name_is_split_all_the_same(
    reason: str, status: str
) -> None:
    assert [row["status"] for row in asked("split_coverage", gap(1, "2", reason))] == [status]


@pytest.mark.parametrize(
    ("rows_of_nodes", "expected"),
    [
        ([day(1, "1", row_kind="idle")], [("warning", "node_reserve")]),
        ([day(1, "1", row_kind="idle", reserve_known=True)], [("ok", None)]),
        (
            [
                day(1, "1", row_kind="idle"),
                day(1, "1", row_kind="system_overhead", reserve_known=True),
            ],
            [("ok", None)],
        ),
        (
            [
                day(1, "1", row_kind="idle", node="i-1", reserve_known=True),
                day(1, "1", row_kind="system_overhead", reason="node_reserve"),
                day(1, "1", row_kind="idle", node="i-2"),
            ],
            [("warning", "node_reserve")],
        ),
        ([day(1, "1")], []),
        ([day(1, "1", row_kind="idle", resource_kind="storage")], []),
    ],
)
def test_the_reserve_is_known_by_its_rows_or_by_what_is_allocatable(
    rows_of_nodes: list[Row], expected: list[tuple[str, str | None]]
) -> None:
    found = asked("node_reserve", *rows_of_nodes)
    assert [(row["status"], row["step"]) for row in found] == expected


def test_how_many_nodes_reserve_nobody_knows_what() -> None:
    found = asked(
        "node_reserve",
        day(1, "1", row_kind="idle", node="i-1", reserve_known=True),
        day(1, "1", row_kind="idle", node="i-1", reason="empty_node"),
        day(2, "1", row_kind="idle", node="i-2", reserve_known=True),
        day(3, "1", row_kind="idle", node="i-2"),
        day(1, "1", row_kind="idle", node="i-3", resource_kind="memory"),
        day(1, "1", row_kind="idle", node="i-3", reserve_known=True),
    )
    told = "unknown for 2 of 3 nodes: there it stands in idle"
    assert statuses(found) == [("warning", "node_reserve", told)]


def test_the_namespaces_without_team_are_named_the_dearest_first() -> None:
    many = [day(1, str(n), namespace=f"n{n}") for n in range(1, 8)]
    found = asked(
        "teams",
        *many,
        day(1, "72", namespace="shop", team="shop"),
        day(1, "9", row_kind="idle"),
        day(1, "1", cluster_id="d"),
        day(1, "1", cluster_id="e", team="x"),
        day(1, "0", cluster_id="f", team="x"),
    )
    assert statuses(found) == [
        (
            "warning",
            "teams",
            "28.0 % of 100.00 USD workload without team: n7, n6, n5, n4, n3 and 2 more",
        ),
        ("warning", "teams", "100.0 % of 1.00 USD workload without team: (none)"),
        ("ok", None, "0.0 % of 1.00 USD workload without team"),
        ("ok", None, "0.00 USD workload without team"),
    ]


def test_a_cluster_is_billed_twice_only_where_days_and_nodes_are_the_same() -> None:
    found = asked(
        "one_bill",
        day(1, "1"),
        *(day(number, "1", source="t") for number in (2, 3, 4)),
        *(day(number, "1") for number in (3, 4)),
        day(5, "1", row_kind="cluster_fee"),
        day(5, "1", source="t"),
        day(6, "0"),
        day(6, "1", source="t"),
        day(7, "1", billing_currency="EUR"),
        day(7, "1", source="t"),
    )
    said = "several sources bill its nodes on the same days: s, t; 2026-10-03 to 2026-10-04, 2 days"
    assert statuses(found) == [("warning", "one_bill", said)]


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


def test_the_page_tells_each_step_once(capsys: pytest.CaptureFixture[str]) -> None:
    rule = {"check": "teams", "status": "warning", "actual": "half", "hint": "add a rule"}
    source = Checked("files", "ok", "1 file", source="a", provider="p")
    first = Checked(**rule, expected="all", source="a", cluster_id="c1")  # type: ignore[arg-type]
    second = Checked(**rule, expected="all", source="a", cluster_id="c\x1b2")  # type: ignore[arg-type]
    many = [Checked("x", "error", str(n), source="a", exit_code=1) for n in range(7)]
    page = examination(Examination(MONTH, (source, first, second, *many)))
    console().print(page)
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "2026-10",
        "",
        "a",
        "ok       files            1 file",
        "error    x                0",
        "error    x                1",
        "error    x                2",
        "error    x                3",
        "error    x                4",
        "  and 2 more: --json shows all",
        "",
        "c1",
        "warning  teams            half",
        "                          expected: all",
        "                          do: add a rule",
        "",
        "c�2",
        "warning  teams            half",
        "                          do: as above",
        "",
        "Something is wrong: see above.",
    ]


def test_the_page_says_where_a_step_was_told(capsys: pytest.CaptureFixture[str]) -> None:
    def half(check: str, hint: str, cluster: str | None, source: str | None = None) -> Checked:
        return Checked(check, "warning", "half", None, hint, "p", source, None, cluster)

    rows = (half("x", "do it", None), half("teams", "add a rule", "r/c1"), half("x", "do it", "c2"))
    console().print(examination(Examination(MONTH, (*rows, half("teams", "add a rule", "c2")))))
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert [line for line in shown if line.startswith("do: ")] == [
        "do: do it",
        "do: add a rule",
        "do: as for x",
        "do: as for teams of c1",
    ]


def test_a_cluster_of_two_sources_says_which(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = {"check": "teams", "status": "ok", "cluster_id": "c"}
    rows = [
        Checked(**cluster, actual=actual, source=source)  # type: ignore[arg-type]
        for actual, source in (("1", "b"), ("2", "a"), ("3", None), ("4", "b"))
    ]
    console().print(examination(Examination(MONTH, tuple(rows))))
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()][3:-2] == [
        "ok       teams            3",
        "  by a",
        "ok       teams            2",
        "  by b",
        "ok       teams            1",
        "ok       teams            4",
    ]


@pytest.mark.parametrize(
    ("status", "end"),
    [
        ("ok", "All is there."),
        ("warning", "It can be run; what a warning names is missing in the figures."),
    ],
)
def test_the_page_ends_with_the_worst(
    capsys: pytest.CaptureFixture[str], status: Any, end: str
) -> None:
    console().print(examination(Examination(MONTH, (Checked("x", status, "y"),))))
    assert capsys.readouterr().out.splitlines()[-1] == end


# ---------------------------------------------------------------------------------------------
# Inventories
# ---------------------------------------------------------------------------------------------

NODES = """
[[nodes]]
path = "nodes/*.csv"
"""
MACHINE = "aws:///us-east-1a/i-0e0e0e0e0e0e0e0e1"
ABOVE = (
    "n.csv, cpu of ip-10-9-0-1.ec2.internal: allocatable 8, capacity unknown "
    "for i-0e0e0e0e0e0e0e0e1 on 2026-10-01"
)


@pytest.mark.parametrize(
    ("table", "answers", "exit_code"),
    [
        (
            f"provider_id,cpu,memory,date\n{MACHINE},3.92,14.3Gi,2026-10-04\n",
            [
                ("nodes", "ok", "1 file, taken 2026-10-04, 1 node of the bill"),
                ("node_reserve", "ok", "known: it stands apart from idle"),
            ],
            0,
        ),
        (
            f"provider_id,cpu\n{MACHINE},3.92\n",
            [
                ("nodes", "ok", "1 file, 1 node of the bill"),
                (
                    "node_reserve",
                    "warning",
                    "unknown: what kubelet and system reserve stands in idle",
                ),
            ],
            0,
        ),
        (
            "name,cpu,date\nother,3.92,2026-10-04\nother,3.92,2026-10-31\n",
            [
                ("nodes", "warning", "1 file, taken 2026-10-04 to 2026-10-31, 0 nodes of the bill"),
                ("inventory_unknown_node", "warning", "n.csv: other: 1 are not"),
            ],
            0,
        ),
        (
            f"provider_id,cpu\n{MACHINE},8\n",
            [
                ("nodes", "ok", "1 file, 1 node of the bill"),
                (
                    "inventory_contradicts_bill",
                    "error",
                    ABOVE,
                ),
            ],
            1,
        ),
        (
            f"provider_id,cpu\n{MACHINE},NaN\n",
            [
                (
                    "nodes",
                    "error",
                    f"n.csv, allocatable cpu of {MACHINE}: an amount cannot be read: 'NaN'",
                )
            ],
            3,
        ),
        (None, [("nodes", "error", "nodes[0].path: no inventory: nodes/*.csv")], 2),
    ],
)
def test_what_inventories_hold(
    tmp_path: Path, table: str | None, answers: Any, exit_code: int
) -> None:
    if table is not None:
        (tmp_path / "nodes").mkdir()
        (tmp_path / "nodes" / "n.csv").write_text(table, encoding="utf-8")
    checked = examined(AWS + RULES + NODES)
    told_of = [(row.check, row.status, row.actual) for row in checked.rows]
    asked_for = {check for check, *_ in answers}
    found = [
        (check, status, actual.replace(str(tmp_path / "nodes"), "nodes").split(", which")[0])
        for check, status, actual in told_of
        if check in asked_for
    ]
    assert (found, checked.exit_code) == (answers, exit_code)


def test_policies_and_pools_that_reach_no_node() -> None:
    text = """
[[headroom]]
node_pool = ["gpu"]
keep_free = { cpu = "10%" }
"""
    assert told(examined(AWS + RULES + text), "rules") == [
        ("warning", "headroom[0]: no node pool matches 'gpu'")
    ]


def test_the_command_prints_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    Path("leerlauf.toml").write_text(AWS + RULES, encoding="utf-8")
    answer = said(capsys, "check", MONTH, "--json")
    printed = json.loads(answer.out)
    assert (answer.code, answer.err, printed["billing_period"]) == (0, "", MONTH)
    assert printed["rows"][-1] == {
        "provider": "aws",
        "source": "aws-example",
        "billing_currency": "USD",
        "cluster_id": EXAMPLE,
        "check": "teams",
        "status": "ok",
        "actual": "0.0 % of 98.48 USD workload without team",
        "expected": "a team for every namespace",
        "hint": None,
    }
    schema = json.loads(said(capsys, "schema", "--json-schema", "check").out)
    assert set(schema["$defs"]["Check"]["required"]) == set(printed["rows"][0])


def test_the_lake_may_be_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("leerlauf.toml").write_text(AWS + RULES, encoding="utf-8")
    assert said(capsys, "check", MONTH, "--lake", tmp_path / "other").code == 0
    assert not (tmp_path / "lake").exists()
    newest = said(capsys, "check", "--lake", tmp_path / "other")
    assert newest.out.splitlines()[0].strip() == MONTH


def test_exit_codes_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "check").code == 2  # no configuration
    Path("leerlauf.toml").write_text("[lake]\npaht = 1\n", encoding="utf-8")
    told = said(capsys, "check", "--json")
    assert (told.code, json.loads(told.out)["status"]) == (2, "failed")
    Path("leerlauf.toml").write_text(AWS.replace("aws-example", "x") + RULES, encoding="utf-8")
    assert said(capsys, "check", MONTH).code == 2
    assert said(capsys, "check", "2099-01").code == 2


def test_a_lake_that_a_run_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("leerlauf.toml").write_text(AWS + RULES, encoding="utf-8")
    with Lake(tmp_path / "lake").lock():
        assert said(capsys, "check", MONTH).code == 3
