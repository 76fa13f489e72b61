"""One month, from the exports to the statements: plain Python, no scheduler.

    fetch -> slice -> normalise -> ledger -> publish

Each stage is a function of its own, so that a scheduler can wrap it. A month in which promise 1,
2, 3 or 4 is broken is not published; every other finding is published with it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl

from connectors.base import Progress as Copying
from connectors.base import silent
from pipelines import (
    inventory,
    last_month,
    ledger,
    loading,
    metrics,
    overlaps,
    recording,
    rule_changes,
    tables,
)
from pipelines.bill import add_bill
from pipelines.config import Config
from pipelines.engine import connect
from pipelines.fetching import Fetched, fetch_all, refuse_what_sources_lack
from pipelines.hashes import sha256_of
from pipelines.lake import Lake
from pipelines.record import InputFile, RunRecord, TableFile
from pipelines.recording import Course
from pipelines.slicing import slice_source
from transforms.normalise import normalise
from transforms.schema import TABLES
from transforms.sliced import Sliced, findings_frame

ALSO_CSV = ("statements", "comparison")

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """The record of a run and the findings that kept it from being published, if any."""

    record: RunRecord
    broken: Sequence[Mapping[str, Any]]


@dataclass
class _Clock:
    """Seconds each stage took; they live in the run record only."""

    progress: Progress
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        self.progress(name)
        start = time.monotonic()
        yield
        self.timings[name] = round(time.monotonic() - start, 3)


class _Month(NamedTuple):
    """A month (YYYY-MM) while it runs."""

    config: Config
    name: str
    lake: Lake
    run: str
    clock: _Clock


class _Read(NamedTuple):
    """What a month is made from: the bill, and beside it METRIC_VALUES and inventories."""

    fetched: Sequence[Fetched]
    metric_values: pl.DataFrame
    inventories: inventory.Inventories
    side_files: tuple[InputFile, ...]


def run(
    config: Config, month: str, *, progress: Progress = lambda _: None, copying: Copying = silent
) -> Outcome:
    """Run one month and return its record.

    progress is told of each stage, copying of each file. Raises LeerlaufError, DeliveryError or
    InputError; then nothing was published.
    """
    lake, clock = Lake(config.lake.path), _Clock(progress)
    with lake.lock():
        one = _Month(config, month, lake, lake.new_run(), clock)
        read = _read(one, copying)
        staged = lake.stage(one.run)
        with connect(staged / ".spill") as con:
            last_run = _balance(con, one, read)
            with clock.stage("write"):
                files = _write(con, read.fetched, month, staged)
            outcome = _outcome(con, one, read, last_run, files)
        if outcome.broken:
            lake.note(outcome.record)
            return outcome
        return Outcome(lake.publish(outcome.record, staged), ())


# ---------------------------------------------------------------- read


def _read(one: _Month, copying: Copying) -> _Read:
    """Read what stands beside the bill, before that is fetched in vain, then fetch the bill."""
    refuse_what_sources_lack(one.config, one.name)
    measured, inventories = metrics.of_rules(one.config), inventory.read(one.config)
    side_files = (*inventories.files, *measured.files)
    progress = one.clock.progress
    with one.clock.stage("fetch"):
        fetched = fetch_all(one.config, one.name, one.lake, progress=progress, copying=copying)
    return _Read(fetched, measured.values, inventories, side_files)


# ---------------------------------------------------------------- balance


def _balance(con: duckdb.DuckDBPyConnection, one: _Month, read: _Read) -> str | None:
    """Leave the ledger of a month in `con`; return the run of the month before it compares with."""
    with one.clock.stage("slice"):
        sliced = [_slice(con, fetched, one.lake) for fetched in read.fetched]
    with one.clock.stage("normalise"):
        _normalise(con, sliced, one.config, read.inventories, one.name)
        overlaps.refuse(con, one.config.sources)
    with one.clock.stage("ledger"):
        rule_changes.add_findings(con, one.config, one.name, one.lake)
        loading.load(con, one.config, one.name, sliced, read.metric_values)
        last_run = last_month.load(con, one.lake, one.name)
        ledger.build(con)
    return last_run


def _slice(con: duckdb.DuckDBPyConnection, one: Fetched, lake: Lake) -> Sliced:
    sliced = slice_source(one.provider, one.files, one.context, lake.path / "cache")
    add_bill(con, one.provider, one.bills, one.context, sliced.bill_values)
    return sliced


def _normalise(
    con: duckdb.DuckDBPyConnection,
    sliced: Sequence[Sliced],
    config: Config,
    inventories: inventory.Inventories,
    month: str,
) -> None:
    """Add the rows of all sources to the table `normalised` of `con`, and what they tell."""
    known = inventory.matched(inventories, sliced, month)
    loading.append(con, "findings_in", findings_frame(known.findings))
    for one in sliced:
        normalised = normalise(one, config, known.allocatable)
        loading.append(con, "normalised", normalised.rows.collect(engine="streaming"))
        loading.append(con, "findings_in", normalised.findings)


# ---------------------------------------------------------------- write


def _write(
    con: duckdb.DuckDBPyConnection, fetched: Sequence[Fetched], month: str, staged: Path
) -> dict[str, tuple[TableFile, ...]]:
    """Write every table to `staged`; paths are those the files will have in the lake."""
    partition = f"billing_period={month}"
    written: dict[str, list[TableFile]] = {table: [] for table in TABLES}
    for one in fetched:
        context = one.context
        folder = f"normalised/{partition}/provider={context.provider}/source={context.source}"
        rows = f"(FROM normalised WHERE source = '{context.source}')"
        written["normalised"].append(
            _written(con, "normalised", rows, staged, f"{folder}/part.parquet")
        )
    for table in TABLES:
        if table == "normalised":
            continue
        path = f"{table}/{partition}/part"
        written[table].append(_written(con, table, table, staged, f"{path}.parquet"))
        if table in ALSO_CSV:
            written[table].append(_written(con, table, table, staged, f"{path}.csv"))
    return {table: tuple(files) for table, files in written.items()}


def _written(
    con: duckdb.DuckDBPyConnection, table: str, rows: str, staged: Path, name: str
) -> TableFile:
    path = staged / name
    write = tables.write_csv if path.suffix == ".csv" else tables.write_parquet
    count = write(con, table, rows, path)
    return TableFile(path=name, rows=count, sha256=sha256_of(path))


# ---------------------------------------------------------------- record


def _outcome(
    con: duckdb.DuckDBPyConnection,
    one: _Month,
    read: _Read,
    last_run: str | None,
    files: Mapping[str, tuple[TableFile, ...]],
) -> Outcome:
    """Return the record of the run, unpublished, and what forbids publishing it."""
    broken = ledger.broken_promises(con)
    course = Course(
        run=one.run,
        started_at=one.clock.started_at,
        timings=one.clock.timings,
        fetched=read.fetched,
        side_files=read.side_files,
        last_run=last_run,
        files=files,
    )
    return Outcome(recording.record(con, one.config, course, is_broken=bool(broken)), broken)
