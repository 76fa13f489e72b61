"""Bad input, one by one: what a person is told, with which exit code, and what is published."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines.lake import Lake
from tests.conftest import ROOT
from tests.small_month import Said, said
from transforms.schema import SCHEMA_VERSION, TABLES

MONTH = "2026-10"
EXPORT = ROOT / "fixtures" / "exports" / "published-example" / "billing"
CONFIGURATION = """
[[source]]
id = "test"
provider = "aws"
dataset = "{dataset}"
location = "exports"
currency = "USD"

[[team_rule]]
team = "shop"
namespace = "*"

[[operator]]
team = "platform"
"""
LEGACY = {
    "bill/BillingPeriodStartDate": "2026-10-01T00:00:00Z",
    "lineItem/LineItemType": "Usage",
    "lineItem/ProductCode": "AmazonEC2",
    "lineItem/UsageType": "BoxUsage:m5.large",
    "lineItem/Operation": "RunInstances",
    "lineItem/ResourceId": "i-1",
    "lineItem/CurrencyCode": "USD",
    "lineItem/UsageStartDate": "2026-10-05T10:00:00Z",
    "lineItem/UsageAmount": "1",
    "lineItem/UnblendedCost": "0.25",
}
Change = Callable[[pl.DataFrame], pl.DataFrame]


@pytest.fixture(autouse=True)
def _folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every test has a folder with an empty export and a configuration of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "exports").mkdir()
    configure(tmp_path)


def configure(folder: Path, extra: str = "", dataset: str = "cur2") -> None:
    (folder / "leerlauf.toml").write_text(CONFIGURATION.format(dataset=dataset) + extra)


def deliver(folder: Path, change: Change = lambda frame: frame) -> None:
    """Write the worked example of the provider's documentation, changed, as one file."""
    frames = (pl.read_parquet(path) for path in sorted(EXPORT.rglob("*.parquet")))
    change(pl.concat(frames)).write_parquet(folder / "exports" / "part-1.parquet")


def deliver_csv(folder: Path, **cells: str) -> Path:
    """Write a legacy export of one row."""
    configure(folder, dataset="cur_legacy")
    row = LEGACY | {name.replace("_", "/"): value for name, value in cells.items()}
    path = folder / "exports" / "part-1.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(",".join(row) + "\n" + ",".join(row.values()) + "\n")
    return path


def the_instance(column: str, value: str) -> Change:
    """Return a change of one column in the row of the instance."""
    is_instance = pl.col("line_item_resource_id").str.starts_with("i-")
    changed = pl.when(is_instance).then(pl.lit(value)).otherwise(column).alias(column)
    return lambda frame: frame.with_columns(changed)


def the_first_pod(column: str, value: str) -> Change:
    """Return a change of one column in the first row of a pod."""
    number = pl.int_range(pl.len())
    changed = pl.when(number == 1).then(pl.lit(value)).otherwise(column).alias(column)
    return lambda frame: frame.with_columns(changed)


def run(capsys: pytest.CaptureFixture[str]) -> tuple[Said, Any]:
    """Run the month twice, for people and for a machine; both end alike."""
    people = said(capsys, "run", MONTH)
    machine = said(capsys, "run", MONTH, "--json")
    assert people.code == machine.code
    assert "Traceback" not in people.err + machine.err
    return people, json.loads(machine.out)


def refused(capsys: pytest.CaptureFixture[str], code: int) -> Any:
    """Run the month, which must end with `code` and publish nothing; return the one finding."""
    people, machine = run(capsys)
    assert (people.code, people.out, people.err.startswith("error: ")) == (code, "", True)
    assert (machine["status"], machine["clusters"], machine["teams"]) == ("failed", [], [])
    assert not any(Path("lake").joinpath(table).exists() for table in TABLES)
    (finding,) = machine["findings"]
    assert (finding["severity"], finding["billing_period"]) == ("error", MONTH)
    return finding


def published_with(capsys: pytest.CaptureFixture[str], rule: str) -> Any:
    """Run the month, which must publish with errors of one rule; return the object."""
    people, machine = run(capsys)
    assert (people.code, people.err) == (1, "")
    assert people.out.rstrip().splitlines()[-1].startswith("Published with 1 error")
    assert machine["status"] == "findings"
    errors = [finding for finding in machine["findings"] if finding["severity"] == "error"]
    assert [finding["rule"] for finding in errors] == [rule]
    assert Lake(Path("lake")).newest(MONTH).status == "findings"
    return machine


def error(machine: Any) -> Any:
    (finding,) = [finding for finding in machine["findings"] if finding["severity"] == "error"]
    return finding


def test_the_unchanged_input_is_good(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deliver(tmp_path)
    people, machine = run(capsys)
    assert (people.code, people.err, machine["status"]) == (0, "", "ok")
    assert [cluster["bill"] for cluster in machine["clusters"]] == ["1.000000000000"]


# ---------------------------------------------------------------------------------------------
# Wrong use and configuration: exit 2
# ---------------------------------------------------------------------------------------------


def test_an_unknown_configuration_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configure(tmp_path, '[report]\ncost_veiw = "billed"\n')
    finding = refused(capsys, 2)
    assert finding["where"] == "leerlauf.toml: report.cost_veiw"
    assert finding["hint"] == "Did you mean `cost_view`?"
    assert not Path("lake").exists()


def test_a_month_in_the_future(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = said(capsys, "run", "2999-01", "--json")
    assert (told.code, json.loads(told.out)["findings"][0]["actual"]) == (
        2,
        "a month in the future: 2999-01",
    )


def test_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finding = refused(capsys, 2)
    assert (finding["rule"], finding["where"]) == (
        "delivery",
        f"source test: {tmp_path / 'exports'}",
    )


def test_no_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "exports").rmdir()
    finding = refused(capsys, 2)
    assert (finding["actual"], finding["where"]) == (
        "no such folder",
        f"source test: {tmp_path / 'exports'}",
    )


# ---------------------------------------------------------------------------------------------
# A warning: exit 0
# ---------------------------------------------------------------------------------------------


def test_a_rule_that_can_never_apply(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rule = '[[allocation_rule]]\nid = "{}"\nkinds = ["idle"]\nmethod = "even"\n'
    configure(tmp_path, rule.format("first") + rule.format("second"))
    deliver(tmp_path)
    people, machine = run(capsys)
    assert (people.code, machine["status"]) == (0, "ok")
    (finding,) = [f for f in machine["findings"] if f["rule"] == "rule_never_applies"]
    assert (finding["severity"], finding["where"], finding["actual"]) == (
        "warning",
        "allocation_rule[1] (second)",
        "all are taken by allocation_rule[0] (first)",
    )
    assert "rule_never_applies" in people.out


# ---------------------------------------------------------------------------------------------
# Error findings, published: exit 1
# ---------------------------------------------------------------------------------------------


def test_an_unknown_line_item_type(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deliver(tmp_path, the_instance("line_item_line_item_type", "Gift"))
    people, machine = run(capsys)
    assert (people.code, people.err, machine["status"]) == (1, "", "findings")
    errors = {f["rule"]: f for f in machine["findings"] if f["severity"] == "error"}
    # Nobody can tell an instance from what is not known, so its pods have no parent.
    assert sorted(errors) == ["orphan_split", "unknown_line_item_type"]
    assert "part-1.parquet" in errors["unknown_line_item_type"]["where"]
    assert "Gift" in errors["unknown_line_item_type"]["actual"]
    (cluster,) = machine["clusters"]
    assert (cluster["bill"], cluster["unattributed"]) == ("1.000000000000", "1.000000000000")


def test_an_unknown_suffix_of_a_usage_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deliver(tmp_path, the_first_pod("line_item_usage_type", "USE1-EKS-EC2-TPU-Hours"))
    machine = published_with(capsys, "unknown_usage_type")
    finding = error(machine)
    assert "part-1.parquet" in finding["where"]
    assert "USE1-EKS-EC2-TPU-Hours" in finding["actual"]
    assert [cluster["bill"] for cluster in machine["clusters"]] == ["1.000000000000"]


def test_a_second_currency(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def two(frame: pl.DataFrame) -> pl.DataFrame:
        instance = frame.filter(pl.col("line_item_resource_id").str.starts_with("i-"))
        again = instance.with_columns(
            line_item_resource_id=pl.lit("i-0eeeeeeeeeeeeeee2"),
            identity_line_item_id=pl.lit("another"),
            line_item_currency_code=pl.lit("EUR"),
        )
        return pl.concat([frame, again])

    deliver(tmp_path, two)
    people, machine = run(capsys)
    assert (people.code, machine["status"]) == (1, "findings")
    assert [(c["billing_currency"], c["bill"]) for c in machine["clusters"]] == [
        ("EUR", "1.000000000000"),
        ("USD", "1.000000000000"),
    ]
    (finding,) = [f for f in machine["findings"] if f["severity"] == "error"]
    assert (finding["source"], finding["expected"], finding["actual"]) == ("test", "USD", "EUR")
    assert {team["billing_currency"] for team in machine["teams"]} == {"EUR", "USD"}


# ---------------------------------------------------------------------------------------------
# Input that cannot be read: exit 3
# ---------------------------------------------------------------------------------------------


def test_a_missing_required_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deliver(tmp_path, lambda frame: frame.drop("line_item_usage_start_date"))
    finding = refused(capsys, 3)
    assert "part-1.parquet" in finding["where"]
    assert "line_item_usage_start_date" in f"{finding['expected']} {finding['actual']}"


def test_an_unparsable_date(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deliver_csv(tmp_path, lineItem_UsageStartDate="the fifth")
    finding = refused(capsys, 3)
    assert "part-1.csv.gz" in finding["where"]
    assert "the fifth" in finding["actual"]


def test_an_unparsable_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deliver_csv(tmp_path, lineItem_UnblendedCost="0.2S")
    finding = refused(capsys, 3)
    assert "part-1.csv.gz" in finding["where"]
    assert "0.2S" in finding["actual"]


def test_the_legacy_row_is_good_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deliver_csv(tmp_path)
    people, machine = run(capsys)
    assert (people.code, machine["outside"][0]["amount"]) == (0, "0.250000000000")


@pytest.mark.parametrize("keep", [0.9, 0.0])
def test_a_truncated_parquet_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keep: float
) -> None:
    deliver(tmp_path)
    path = tmp_path / "exports" / "part-1.parquet"
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * keep) + 4])
    assert "part-1.parquet" in refused(capsys, 3)["where"]


def test_a_truncated_csv_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = deliver_csv(tmp_path)
    path.write_bytes(path.read_bytes()[:-12])
    assert "part-1.csv.gz" in refused(capsys, 3)["where"]


@pytest.mark.parametrize(
    ("column", "dtype"),
    [
        ("bill_billing_period_start_date", pl.Datetime("us")),
        ("line_item_usage_start_date", pl.Datetime("us")),
        ("line_item_currency_code", pl.String()),
    ],
)
@pytest.mark.parametrize("row", [0, 1])
def test_a_row_without_month_day_or_currency(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], column: str, dtype: pl.DataType, row: int
) -> None:
    emptied = pl.when(pl.int_range(pl.len()) == row).then(pl.lit(None, dtype=dtype))
    deliver(tmp_path, lambda frame: frame.with_columns(emptied.otherwise(column).alias(column)))
    finding = refused(capsys, 3)
    assert finding["where"] == f"part-1.parquet, column {column}"
    assert finding["actual"] == "a value is missing: 1 rows without one"


def test_two_columns_of_one_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    twice = pl.lit(9.0).alias("lineItem/UnblendedCost")
    deliver(tmp_path, lambda frame: frame.with_columns(twice))
    finding = refused(capsys, 3)
    assert finding["where"] == "part-1.parquet"
    assert finding["actual"].endswith("line_item_unblended_cost, lineItem/UnblendedCost")


@pytest.mark.parametrize(
    ("change", "got"),
    [
        (lambda frame: frame.head(0), "no row at all"),
        (
            lambda frame: frame.filter(pl.col("line_item_operation") == "EKSPod-EC2"),
            "8 rows of split_information",
        ),
        (
            lambda frame: frame.with_columns(
                pl.col("bill_billing_period_start_date").dt.offset_by("-1mo")
            ),
            "9 rows of other_period",
        ),
    ],
)
def test_a_month_without_a_billed_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Change, got: str
) -> None:
    deliver(tmp_path, change)
    finding = refused(capsys, 2)
    assert finding["actual"] == f"no billed row of {MONTH}: {got}"


def test_files_of_no_byte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "exports" / "part-1.parquet").touch()
    assert refused(capsys, 2)["actual"] == f"no billed row of {MONTH}: files without a row"
    deliver(tmp_path)
    (tmp_path / "exports" / "part-2.parquet").touch()
    assert said(capsys, "run", MONTH).code == 0


def newer_lake(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a month, and let a newer version have written it."""
    deliver(folder)
    assert said(capsys, "run", MONTH).code == 0
    (path,) = Path("lake/runs").glob("*.json")
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"schema_version": SCHEMA_VERSION + 1, "news": {}}))


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", MONTH),
        ("reconcile", MONTH),
        ("compare", MONTH),
        ("explain", "shop", MONTH),
        ("sql", "FROM statements"),
    ],
)
def test_a_lake_of_a_newer_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    newer_lake(tmp_path, capsys)
    before = {path: path.read_bytes() for path in Path("lake").rglob("*.parquet")}
    told = said(capsys, *arguments)
    assert (told.code, told.out) == (3, "")
    assert told.err.startswith("error: the lake was written by a newer version of leerlauf")
    assert f"schema version {SCHEMA_VERSION} or lower" in told.err
    assert {path: path.read_bytes() for path in Path("lake").rglob("*.parquet")} == before
    printed = json.loads(said(capsys, *arguments, "--json").out)
    assert (printed["status"], printed["findings"][0]["rule"]) == ("failed", "lake")


# ---------------------------------------------------------------------------------------------
# A broken promise: nothing is published
# ---------------------------------------------------------------------------------------------


def test_a_broken_promise_publishes_nothing_and_leaves_the_month_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    deliver(tmp_path)
    assert said(capsys, "run", MONTH).code == 0
    good = Lake(Path("lake")).newest(MONTH)
    promise = {"rule": "promise_2_clusters_add_up", "severity": "error", "where": "cluster x"}
    finding = dict.fromkeys(("source", "cluster_id", "expected", "actual", "difference", "hint"))
    broken = [{**finding, "billing_period": MONTH, "provider": "aws", **promise}]
    monkeypatch.setattr("pipelines.ledger.broken_promises", lambda con: broken)
    people, machine = run(capsys)
    assert (people.code, machine["status"], machine["clusters"]) == (1, "failed", [])
    assert [finding["rule"] for finding in machine["findings"]] == ["promise_2_clusters_add_up"]
    assert people.out.splitlines()[-1] == "Nothing was published: the books do not balance."
    assert Lake(Path("lake")).newest(MONTH) == good
