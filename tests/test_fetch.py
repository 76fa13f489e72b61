"""`leerlauf fetch`: deliveries copied into the lake, what that took, and which sources fail."""

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from rich.console import Console

from pipelines import config, progress
from pipelines.fetching import Copied, fetch
from pipelines.lake import Lake
from pipelines.objects_setup import Fetch
from tests.conftest import ROOT
from tests.services.seaweedfs import S3
from tests.small_month import said

EXPORTS = ROOT / "fixtures" / "exports"
MONTH = "2026-10"
AWS = """
[[source]]
id = "aws-example"
provider = "aws"
dataset = "cur2"
location = "exports/aws-example"
"""
AZURE = """
[[source]]
id = "azure-lab"
provider = "azure"
dataset = "cost_export"
location = "exports/azure-lab/costs"
metric = "amortized"
splits = ["query"]
split_location = "exports/azure-lab/splits"
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command runs in a folder with two exports, written ten days ago."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("aws-example", "azure-lab"):
        shutil.copytree(EXPORTS / name, tmp_path / "exports" / name)
    moment = (datetime.now(UTC) - timedelta(days=10, hours=1)).timestamp()
    for path in tmp_path.rglob("*.*"):
        os.utime(path, (moment, moment))
    Path("leerlauf.toml").write_text(AWS + AZURE, encoding="utf-8")


def fetched(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the rows that `fetch --json` printed; they have the promised form."""
    told = said(capsys, "fetch", MONTH, "--json")
    assert (told.code, told.err) == (0, "")
    assert Fetch.model_validate_json(told.out).billing_period == MONTH
    rows: list[dict[str, Any]] = json.loads(told.out)["rows"]
    return rows


def size(pattern: str) -> int:
    """Return the bytes of the files of an export."""
    return sum(path.stat().st_size for path in Path("exports").glob(pattern))


# ---------------------------------------------------------------------------------------------
# What is told
# ---------------------------------------------------------------------------------------------


def test_every_delivery_with_what_it_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = fetched(capsys)
    assert [(row["source"], row["holds"], row["files"], row["status"]) for row in rows] == [
        ("aws-example", "bill", 2, "new"),
        ("azure-lab", "bill", 3, "new"),
        ("azure-lab", "split", 1, "new"),
    ]
    manifest = size("aws-example/**/*2026-10*/*.json")
    parquet = size("aws-example/**/*2026-10*/*.parquet")
    assert {name: rows[0][name] for name in ("provider", "size", "bytes", "calls", "retries")} == {
        "provider": "aws",
        "size": parquet,
        "bytes": parquet + manifest,
        "calls": 0,
        "retries": 0,
    }
    assert {(row["age"], row["billing_currency"]) for row in rows} == {(10, None)}
    receipts = {path.parent.name for path in tmp_path.glob("lake/raw/*/*/*/receipt.json")}
    assert receipts == {row["delivery"] for row in rows}


def test_what_is_there_is_not_copied_again(capsys: pytest.CaptureFixture[str]) -> None:
    first, again = fetched(capsys), fetched(capsys)
    nothing = {"status": "unchanged", "bytes": 0, "calls": 0, "retries": 0}
    assert again == [row | nothing for row in first]


def test_only_copies_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fetched(capsys)
    assert sorted(path.name for path in (tmp_path / "lake").iterdir()) == [".lock", "raw"]


def test_people_see_how_old_a_delivery_is_and_what_was_copied(
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown = said(capsys, "fetch", MONTH)
    lines = [line.rstrip() for line in shown.out.splitlines()]
    assert (shown.code, shown.err, lines[0]) == (0, "", MONTH)
    (line,) = (line for line in lines if line.split()[:2] == ["new", "aws-example"])
    assert "2 files, 105.9 KB, written 20" in line
    assert line.endswith(" UTC, 10 days old")
    assert any(line.strip().startswith("copied 1") for line in lines)
    again = said(capsys, "fetch", MONTH).out
    assert "unchanged  azure-lab splits" in again
    assert "copied" not in again


def test_a_month_that_has_not_begun(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "fetch", "2999-01").code == 2


def test_a_lake_that_another_run_holds(capsys: pytest.CaptureFixture[str]) -> None:
    with Lake(Path("lake")).lock():
        told = said(capsys, "fetch", MONTH)
    assert (told.code, told.err.split("\n")[0]) == (3, "error: another run holds the lake")


# ---------------------------------------------------------------------------------------------
# Sources that fail
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["fetch", "run"])
def test_every_source_that_lacks_the_month_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    shutil.rmtree(tmp_path / "exports" / "azure-lab" / "costs")
    third = AZURE.replace("azure-lab", "azure-more")
    (tmp_path / "leerlauf.toml").write_text(AZURE + AWS + third, encoding="utf-8")
    told = said(capsys, command, MONTH, "--json")
    found = json.loads(told.out)["findings"]
    assert told.code == 2
    assert [(f["rule"], f["actual"], f["where"]) for f in found] == [
        (
            "delivery",
            "no such folder",
            f"source {name}: {tmp_path / 'exports' / name / 'costs'}",
        )
        for name in ("azure-lab", "azure-more")
    ]
    assert list(tmp_path.glob("lake/raw/aws-example/*/*/receipt.json"))


def test_one_source_that_lacks_the_month(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = said(capsys, "run", "2026-08")
    assert told.code == 2
    assert told.err.count("error: ") == 1
    assert "error: no delivery of 2026-08" in told.err
    assert f"source aws-example: {tmp_path}" in " ".join(told.err.split())


def test_the_worst_of_several_decides_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(tmp_path / "exports" / "azure-lab" / "costs")
    next(tmp_path.rglob("acme-example-00002.snappy.parquet")).unlink()
    told = said(capsys, "fetch", MONTH)
    assert (told.code, told.err.count("error: ")) == (3, 2)


def test_a_missing_folder_of_splits_names_its_own_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(tmp_path / "exports" / "azure-lab" / "splits")
    (finding,) = json.loads(said(capsys, "run", MONTH, "--json").out)["findings"]
    assert finding["where"] == f"source azure-lab: {tmp_path / 'exports/azure-lab/splits'}"
    assert finding["hint"].startswith("set `split_location` of the source to the folder")


# ---------------------------------------------------------------------------------------------
# From afar, and on the way
# ---------------------------------------------------------------------------------------------


def test_a_bucket_at_an_endpoint_of_its_own(
    tmp_path: Path, seaweedfs: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in seaweedfs.env.items():
        monkeypatch.setenv(name, value)
    address = seaweedfs.upload(EXPORTS / "aws-example", "fetched", "exports")
    remote = AWS.replace("exports/aws-example", address) + f'endpoint = "{seaweedfs.endpoint}"\n'
    (tmp_path / "leerlauf.toml").write_text(remote, encoding="utf-8")
    read = config.load(tmp_path / "leerlauf.toml")
    seen: dict[str, tuple[int, int]] = {}

    def copy() -> Copied:
        def note(name: str, done: int, of: int) -> None:
            seen[name] = (done, of)

        lake = Lake(read.lake.path)
        return fetch(read.sources[0], read, MONTH, lake, note).deliveries[0]

    first, second = copy(), copy()
    assert (first.is_new, first.took.calls >= 3, first.took.retries) == (True, True, 0)
    assert (second.is_new, second.took.calls, second.took.bytes) == (False, 0, 0)
    assert {name.split(".", 1)[1] for name in seen} == {"json", "snappy.parquet"}
    assert all(done == of for done, of in seen.values())


def shown(what: progress._Shown) -> list[str]:
    """Return what a terminal shows of a progress."""
    console = Console(width=100, force_terminal=False)
    with console.capture() as captured:
        console.print(what.page)
    return [line.strip() for line in captured.get().splitlines() if line.strip()]


def test_a_bar_for_each_file_that_is_not_whole_yet() -> None:
    what = progress._Shown()
    what.stage("fetch aws-[bold]prod")
    what.copying("a.parquet", 0, 2000)
    what.copying("b[red].parquet", 500, 1000)
    what.copying("a.parquet", 1000, 2000)
    stage, first, second = shown(what)
    assert stage.endswith("fetch aws-[bold]prod")
    assert (first.split()[0], "1.0/2.0 kB" in first) == ("a.parquet", True)
    assert (second.split()[0], "0.5/1.0 kB" in second) == ("b[red].parquet", True)
    what.copying("a.parquet", 2000, 2000)
    assert [line.split()[0] for line in shown(what)[1:]] == ["b[red].parquet"]
    what.stage("slice")
    assert len(shown(what)) == 1


def test_progress_is_told_from_several_threads() -> None:
    what = progress._Shown()

    def tell() -> None:
        for done in range(1, 1001):
            what.copying("a", done, 1000)

    threads = [Thread(target=tell) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    what.stage("slice")
    assert len(shown(what)) == 1
