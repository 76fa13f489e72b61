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
from typing import Any

import duckdb

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
from pipelines.record import RunRecord, TableFile
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


def run(
    config: Config,
    month: str,
    *,
    progress: Progress = lambda _: None,
    copying: Copying = silent,
) -> Outcome:
    """Run one month and return its record.

    progress is told of each stage, copying of each file. Raises LeerlaufError, DeliveryError or
    InputError; then nothing was published.
    """
    lake = Lake(config.lake.path)
    clock = _Clock(progress)
    with lake.lock():
        written = lake.new_run()
        refuse_what_sources_lack(config, month)
        measured, inventories = metrics.of_rules(config), inventory.read(config)
        with clock.stage("fetch"):
            fetched = fetch_all(config, month, lake, progress=progress, copying=copying)
        staged = lake.stage(written)
        with connect(staged / ".spill") as con:
            with clock.stage("slice"):
                sliced = [_slice(con, one, lake) for one in fetched]
            with clock.stage("normalise"):
                _normalise(con, sliced, config, inventories, month)
                overlaps.refuse(con, config.sources)
            with clock.stage("ledger"):
                rule_changes.add_findings(con, config, month, lake)
                loading.load(con, config, month, sliced, measured.values)
                last_run = last_month.load(con, lake, month)
                ledger.build(con)
            with clock.stage("write"):
                files = _write(con, fetched, month, staged)
            broken = ledger.broken_promises(con)
            record = recording.record(con, config, written, clock.started_at, fetched, files)
            read = (*inventories.files, *measured.files)
            known = {"timings": clock.timings, "side_files": read, "last_run": last_run}
            record = record.model_copy(update=known)
        if broken:
            lake.note(record.model_copy(update={"status": "failed", "tables": {}}))
            return Outcome(record.model_copy(update={"status": "failed"}), broken)
        return Outcome(lake.publish(record, staged), ())


# ---------------------------------------------------------------- slice


def _slice(con: duckdb.DuckDBPyConnection, one: Fetched, lake: Lake) -> Sliced:
    sliced = slice_source(one.provider, one.files, one.context, lake.path / "cache")
    add_bill(con, one.provider, one.bills, one.context, sliced.bill_values)
    return sliced


# ---------------------------------------------------------------- normalise


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
