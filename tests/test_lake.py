"""A lake is old or new, never torn, and a reader sees the tables of one run."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from pipelines.errors import ConfigurationError, LakeError
from pipelines.lake import Lake, RunRecord
from pipelines.record import new_run_id
from tests.lakes import MARKED, MONTH, record, run_month, write_tables
from transforms.schema import SCHEMA_VERSION, TABLES

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def held(lake: Lake) -> Iterator[Lake]:
    with lake.lock():
        yield lake


def marks(lake: Lake, run: RunRecord) -> dict[str, set[str]]:
    """Return the marks in each table as `leerlauf` reads it."""
    with lake.connect(run) as con:
        return {
            table: {mark for (mark,) in con.execute(f"SELECT {column} FROM {table}").fetchall()}
            for table, column in MARKED.items()
        }


def marks_in_place(lake: Lake, table: str) -> dict[str, list[str]]:
    """Return the marks in each partition of a table as anybody reads it."""
    rows = duckdb.execute(f"""
        SELECT filename, {MARKED[table]}
        FROM read_parquet(
            '{lake.path}/{table}/**/*.parquet', hive_partitioning = true, filename = 'filename'
        )
    """).fetchall()
    found: dict[str, list[str]] = {}
    for name, mark in rows:
        found.setdefault(str(Path(name).relative_to(lake.path)), []).append(mark)
    return found


def all_marked(mark: str) -> dict[str, set[str]]:
    return {table: {mark} for table in TABLES}


def files_in_place(lake: Lake) -> list[str]:
    return sorted(
        path.relative_to(lake.path).as_posix()
        for table in TABLES
        for path in (lake.path / table).rglob("*")
        if path.is_file()
    )


# ------------------------------------------------------------------------------ one month


def test_a_published_run_lies_where_it_should_and_is_read_whole(held: Lake) -> None:
    run = run_month(held, "one")
    assert run.published
    assert held.newest() == held.newest(MONTH) == run
    assert files_in_place(held) == run.file_names()
    assert f"normalised/billing_period={MONTH}/provider=aws/source=aws-prod/part.parquet" in (
        run.file_names()
    )
    assert marks(held, run) == all_marked("one")
    assert sorted(path.name for path in held.path.iterdir()) == [
        ".lock",
        *sorted([*TABLES, "history", "runs", "staging"]),
    ]


def test_views_of_sql_are_there(held: Lake) -> None:
    run = run_month(held, "one")
    with held.connect(run) as con:
        con.execute("FROM charges")
        con.execute("FROM unit_prices")
        con.execute("FROM idle_ratio")
        settings = con.execute("FROM settings").fetchall()
    assert settings == [(MONTH, "effective", "provider", "provisional")]


def test_a_lake_in_an_awkward_folder(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "it's [a] lake" / "team=x")
    with lake.lock():
        run = run_month(lake, "one")
    assert marks(lake, run) == all_marked("one")


def test_the_older_run_stays_readable(held: Lake) -> None:
    first = run_month(held, "one")
    second = run_month(held, "two")
    assert held.records() == [second, first]
    assert held.newest() == second
    assert marks(held, first) == all_marked("one")
    assert marks(held, second) == all_marked("two")
    in_place = {table: list(marks_in_place(held, table).values()) for table in TABLES}
    assert in_place == {table: [["two"]] for table in TABLES}


def test_a_reader_keeps_its_run_while_another_is_published(held: Lake) -> None:
    first = run_month(held, "one")
    with held.connect(first) as con:
        run_month(held, "two")
        rows = con.execute("SELECT provider FROM postings").fetchall()
    assert rows == [("one",)]


def test_a_source_that_is_gone_leaves_its_place_and_stays_in_history(held: Lake) -> None:
    first = run_month(held, "one", sources=("aws-dev", "aws-prod"))
    second = run_month(held, "two", sources=("aws-prod",))
    assert files_in_place(held) == second.file_names()
    assert not (
        held.path / f"normalised/billing_period={MONTH}/provider=aws/source=aws-dev"
    ).exists()
    with held.connect(first) as con:
        assert con.execute("SELECT team FROM normalised").fetchall() == [("one",), ("one",)]


def test_months_do_not_touch_each_other(held: Lake) -> None:
    september = run_month(held, "one", month="2026-09")
    october = run_month(held, "two")
    assert held.newest("2026-09") == september
    assert held.newest("2026-10") == october
    assert files_in_place(held) == sorted(september.file_names() + october.file_names())


def test_a_run_that_published_nothing_changes_nothing(held: Lake) -> None:
    first = run_month(held, "one")
    failed = record(held.new_run())
    held.note(failed)
    assert held.records() == [failed, first]
    assert held.newest() == first
    with pytest.raises(LakeError, match="this run published nothing"):
        held.connect(failed)


def test_history_costs_nothing_until_a_run_is_superseded(held: Lake) -> None:
    run = run_month(held, "one")
    for name in run.file_names():
        assert (held.path / name).samefile(held.path / "history" / run.run / name)


def test_a_disk_without_hard_links_gets_copies(held: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(1, "no")))
    first = run_month(held, "one")
    run_month(held, "two")
    assert marks(held, first) == all_marked("one")


def test_staged_files_must_be_those_of_the_record(held: Lake) -> None:
    run = held.new_run()
    staged = held.stage(run)
    written = write_tables(staged, run, "one", sources=("aws-prod",))
    (staged / "bill" / f"billing_period={MONTH}" / "part.parquet").rename(staged / "bill.parquet")
    with pytest.raises(LakeError, match="not those of the record") as caught:
        held.publish(written, staged)
    assert caught.value.expected == f"bill/billing_period={MONTH}/part.parquet"
    assert caught.value.got == "bill.parquet"
    assert held.records() == []


def test_a_disk_that_fails_is_one_sentence(held: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run_month(held, "one")
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
        with pytest.raises(LakeError, match="the lake cannot be written") as caught:
            run_month(held, "two")
    assert (caught.value.exit_code, caught.value.got) == (3, "disk full")
    assert held.newest() == first
    assert marks(held, first) == all_marked("one")


# ------------------------------------------------------------------------ nothing to be read


@pytest.mark.parametrize(
    ("month", "what", "hint"),
    [
        (None, "no run is published in this lake", "leerlauf run YYYY-MM"),
        ("2026-09", "no run of 2026-09 is published in this lake", "leerlauf run 2026-09"),
    ],
)
def test_no_run_is_wrong_use(lake: Lake, month: str | None, what: str, hint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        lake.newest(month)
    assert (caught.value.what, caught.value.hint, caught.value.exit_code) == (what, hint, 2)
    assert not lake.path.exists()


def test_a_lake_of_a_newer_schema_is_left_alone(lake: Lake) -> None:
    with lake.lock():
        run = run_month(lake, "one")
    path = lake.path / "runs" / f"{run.run}.json"
    document = json.loads(path.read_text()) | {
        "schema_version": SCHEMA_VERSION + 1,
        "a_field_of_tomorrow": 1,
    }
    path.write_text(json.dumps(document))
    for use in (lake.records, lake.newest, lambda: lake.lock().__enter__()):
        with pytest.raises(LakeError, match="newer version of leerlauf") as caught:
            use()
        assert caught.value.exit_code == 3
        assert caught.value.got == str(SCHEMA_VERSION + 1)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"schema_version": "x"}', '{"schema_version": 1}']
)
def test_a_damaged_record(lake: Lake, text: str) -> None:
    (lake.path / "runs").mkdir(parents=True)
    (lake.path / "runs" / "20261106T060000000000Z-abcdef.json").write_text(text)
    with pytest.raises(LakeError, match="record of a run cannot be read"):
        lake.newest()


# ---------------------------------------------------------------------------------- the lock


def test_one_run_at_a_time(held: Lake) -> None:
    with pytest.raises(LakeError, match="another run holds the lake") as caught, held.lock():
        pass
    assert caught.value.exit_code == 3
    assert f"process {os.getpid()} on " in caught.value.got


def test_the_lock_ends_with_the_run(lake: Lake) -> None:
    with pytest.raises(RuntimeError), lake.lock():
        raise RuntimeError
    with lake.lock():
        pass


def test_readers_need_no_lock(held: Lake) -> None:
    run = run_month(held, "one")
    assert marks(Lake(held.path), run) == all_marked("one")


def test_a_lake_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LakeError, match="cannot be written"), Lake(tmp_path / "file/lake").lock():
        pass


def test_run_ids_sort_by_their_order_even_where_the_clock_goes_back() -> None:
    first = new_run_id([], datetime(2026, 11, 6, 6, 0, 0, 250_000, tzinfo=UTC))
    assert first[:-6] == "20261106T060000250000Z-"
    second = new_run_id([first, "not a run"], datetime(2026, 11, 6, 5, tzinfo=UTC))
    assert second[:-6] == "20261106T060000250001Z-"
    assert len({new_run_id([]) for _ in range(100)}) == 100


# -------------------------------------------------------------------------------- sudden death


def killed_copies(lake: Lake, copies: Path, *prepared: Path) -> list[Lake]:
    """Return copies of `lake` in which a process died at every step it would take."""
    command = [sys.executable, "-m", "tests.killed", str(lake.path), str(copies)]
    subprocess.run([*command, *map(str, prepared)], check=True, cwd=ROOT, timeout=300)
    return [Lake(path) for path in sorted(copies.iterdir())]


@pytest.fixture
def prepared(lake: Lake, tmp_path: Path) -> Path:
    """A first run in the lake, and a second one that has still to be published."""
    with lake.lock():
        run_month(lake, "old", sources=("aws-gone", "aws-prod"))
    folder = tmp_path / "prepared"
    (folder / "tables").mkdir(parents=True)
    second = write_tables(folder / "tables", lake.new_run(), "new", sources=("aws-new", "aws-prod"))
    (folder / "record.json").write_text(second.model_dump_json())
    return folder


def assert_whole(lake: Lake) -> str:
    """Check all that a reader may rely on at any moment; return the mark of the newest run."""
    found = marks(lake, lake.newest(MONTH))
    (mark,) = found["postings"]
    assert found == all_marked(mark)
    for table in TABLES:
        for rows in marks_in_place(lake, table).values():
            assert rows in (["old"], ["new"])
    return mark


def assert_settled(lake: Lake) -> None:
    """Check that the next run finds a lake in which nothing tells of the death."""
    with lake.lock():
        newest = lake.newest(MONTH)
        assert files_in_place(lake) == newest.file_names()
        for name in newest.file_names():
            assert (lake.path / name).samefile(lake.path / "history" / newest.run / name)
        runs = sorted(record.run for record in lake.records())
        assert sorted(path.name for path in (lake.path / "history").iterdir()) == runs
        assert not (lake.path / "staging").exists()


def test_killed_at_any_step_the_lake_is_old_or_new(
    lake: Lake, prepared: Path, tmp_path: Path
) -> None:
    copies = killed_copies(lake, tmp_path / "copies", prepared)
    seen = [assert_whole(copy) for copy in copies]
    assert len(seen) > 40
    assert seen == sorted(seen, reverse=True)  # old, old, ..., new: one step is the commit
    assert {"old", "new"} == set(seen)
    torn = copies[seen.index("new") - 1]
    assert list(marks_in_place(torn, "findings").values()) == [["new"]]
    again = killed_copies(torn, tmp_path / "again")  # and while the death is undone
    assert len(again) > 20
    assert {assert_whole(copy) for copy in again} == {"old"}
    for copy in copies + again:
        assert_settled(copy)
