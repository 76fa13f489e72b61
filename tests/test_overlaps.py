"""One bill in two sources is found by its resource-days, and refused before anything is summed."""

import json
import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import polars as pl
import pytest

from pipelines import config, doctor, overlaps
from pipelines.errors import ConfigurationError, SeveralError
from pipelines.sources import Source
from tests.conftest import ROOT
from tests.small_month import said

EXPORTS = ROOT / "fixtures" / "exports"
MONTH = "2026-10"
NOW = datetime(2026, 11, 6, 12, tzinfo=UTC)
LAB = """
[[source]]
id = "{name}"
provider = "azure"
dataset = "cost_export"
location = "{location}"
metric = "amortized"
"""
Row = tuple[str, str, str | None, str | None, int]
ROWS = {"provider": pl.String, "source": pl.String, "sub_account_id": pl.String} | {
    "resource_id": pl.String,
    "charge_period_start": pl.Date,
}


def connection(*charges: Row) -> duckdb.DuckDBPyConnection:
    """Return a connection with these rows of provider, source, sub account, resource and day."""
    con = duckdb.connect()
    rows = [(*names, date(2026, 10, day)) for *names, day in charges]
    con.register("arriving", pl.DataFrame(rows, schema=ROWS, orient="row").to_arrow())
    con.execute("CREATE TABLE normalised AS FROM arriving")
    return con


def sources(*names: str) -> list[Source]:
    """Return sources of one provider."""
    return [
        Source(id=name, provider="aws", dataset="cur2", location=f"/exports/{name}")
        for name in names
    ]


def days(source: str, account: str | None, resource: str | None, *numbers: int) -> list[Row]:
    """Return a row for each of some days."""
    return [("aws", source, account, resource, number) for number in numbers]


def refused(*charges: Row, among: Sequence[str] = ("a", "b")) -> list[tuple[str, str]]:
    """Return where and what of each refusal."""
    try:
        overlaps.refuse(connection(*charges), sources(*among))
    except ConfigurationError as error:
        return [(error.where, error.got)]
    except SeveralError as error:
        return [(problem.where, problem.got) for problem in error.problems]
    return []


# ---------------------------------------------------------------------------------------------
# What counts as the same bill
# ---------------------------------------------------------------------------------------------


def test_most_of_a_sub_account_in_the_other_source_too() -> None:
    charges = [*days("a", "1", "i-1", 1, 2, 3), *days("b", "1", "I-1", 2, 3, 3)]
    assert refused(*charges) == [
        (
            "sources a and b",
            "sub account 1: 2 resource-days in both, 5 rows, 2026-10-02 to 2026-10-03",
        )
    ]


def test_a_sub_account_that_changes_its_payer_is_in_both_on_one_day() -> None:
    before = [*days("a", "1", "i-1", *range(1, 16)), *days("a", "1", "i-2", 15)]
    after = [*days("b", "1", "i-1", *range(15, 32)), *days("b", "1", "i-2", 15)]
    assert refused(*before, *after) == []
    ((_, got),) = refused(*before, *after, *days("b", "1", "i-1", 14))
    assert got == "sub account 1: 3 resource-days in both, 6 rows, 2026-10-14 to 2026-10-15"


def test_half_of_one_day_is_not_most() -> None:
    charges = [*days("a", "1", "i-1", 1), *days("a", "1", "i-2", 1), *days("a", "1", "i-3", 1)]
    assert refused(*charges, *days("b", "1", "i-1", 1, 2), *days("b", "1", "i-4", 1, 2)) == []


def test_payers_and_accounts_side_by_side_are_run() -> None:
    """Two payers of AWS, three billing accounts of Google: nothing of one is in another."""
    charges = [row for name in "abc" for row in days(name, f"{name}1", f"i-{name}", 1, 2, 3)]
    assert refused(*charges, among="abc") == []


def test_the_smaller_one_decides() -> None:
    large = days("a", "1", "i-1", *range(1, 31))
    assert refused(*large, *days("b", "1", "i-1", 7)) == [
        ("sources a and b", "sub account 1: 1 resource-day in both, 2 rows, 2026-10-07")
    ]


def test_each_sub_account_counts_alone() -> None:
    charges = [
        *days("a", "1", "i-1", *range(1, 31)),
        *days("a", "2", "i-2", 1),
        *days("b", "2", "i-2", 1),
        *days("b", "3", "i-3", *range(1, 31)),
    ]
    ((_, got),) = refused(*charges)
    assert got == "sub account 2: 1 resource-day in both, 2 rows, 2026-10-01"


def test_the_account_may_be_spelled_in_another_way() -> None:
    charges = [*days("a", "/subscriptions/1", "i-1", 1), *days("b", None, "i-1", 1)]
    ((_, got),) = refused(*charges)
    assert [part.split(":")[0] for part in got.split("; ")] == [
        "sub account /subscriptions/1",
        "sub account unknown",
    ]


@pytest.mark.parametrize(
    "charges",
    [
        [*days("a", "1", "i-1", 1, 2), *days("b", "1", "i-2", 1, 2)],
        [*days("a", "1", "i-1", 1, 2), *days("b", "1", "i-1", 3, 4)],
        [*days("a", "1", None, 1, 2), *days("b", "1", None, 1, 2)],
        [*days("a", "1", "i-1", 1, 1, 1)],
        [*days("a", "1", "i-1", 1), ("gcp", "b", "1", "i-1", 1)],
    ],
    ids=["other resources", "other days", "no resources", "one source", "other provider"],
)
def test_what_is_not_the_same_bill(charges: list[Row]) -> None:
    assert refused(*charges) == []


def test_every_pair_of_sources_and_the_first_accounts() -> None:
    accounts = [f"{number:02}" for number in range(8)]
    charges = [
        row
        for source in ("a", "b", "c")
        for account in accounts
        for row in days(source, account, f"i-{account}", 1)
    ]
    found = refused(*charges, among=("a", "b", "c"))
    assert [where for where, _ in found] == [
        "sources a and b",
        "sources a and c",
        "sources b and c",
    ]
    assert {got.rsplit("; ", 1)[1] for _, got in found} == {"and 3 more"}


def test_one_source_of_each_provider_is_not_looked_at() -> None:
    overlaps.refuse(duckdb.connect(), sources("a"))


# ---------------------------------------------------------------------------------------------
# run and check
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration that has one export in two folders."""
    monkeypatch.chdir(tmp_path)
    parts = [LAB.format(name=name, location=name) for name in ("lab-account", "lab-profile")]
    for name in ("lab-account", "lab-profile"):
        shutil.copytree(EXPORTS / "azure-lab" / "costs", tmp_path / name)
    (tmp_path / "leerlauf.toml").write_text("".join(parts), encoding="utf-8")
    return tmp_path


def test_run_refuses_them_and_publishes_nothing(
    twice: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(capsys, "run", MONTH, "--json")
    (finding,) = json.loads(told.out)["findings"]
    assert (told.code, finding["rule"], finding["where"]) == (
        2,
        "configuration",
        "sources lab-account and lab-profile",
    )
    assert finding["actual"].startswith(
        "two sources hold the same bill: it would be counted twice: sub account "
        "1ab00000-0000-4000-8000-000000000009: "
    )
    assert finding["hint"] == overlaps.HINT
    assert {path.name for path in (twice / "lake").iterdir()} & {"normalised", "runs"} == set()


def test_check_says_what_run_would_refuse(twice: Path) -> None:
    checked = doctor.examine(config.load(twice / "leerlauf.toml"), MONTH, NOW)
    (row,) = (row for row in checked.rows if row.check == "one_bill" and row.status == "error")
    assert row.actual.startswith("lab-account and lab-profile hold the same bill: sub account 1ab")
    assert (row.provider, row.hint, checked.exit_code) == ("azure", overlaps.HINT, 2)


def test_two_exports_of_other_parts_of_a_bill_are_run(
    twice: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bill = twice / "lab-profile" / "acme-lab_0.csv"
    (twice / "lab-profile" / "acme-lab_1.csv").unlink()
    (twice / "lab-account" / "acme-lab_0.csv").unlink()
    assert bill.exists()
    assert said(capsys, "run", MONTH).code == 0
