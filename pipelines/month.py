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
import polars as pl

from connectors.base import Progress as Copying
from connectors.base import silent
from pipelines import ledger, overlaps, recording, rules, tables
from pipelines.bill import add_bill
from pipelines.config import Config
from pipelines.engine import connect
from pipelines.fetching import Fetched, fetch_all, refuse_what_sources_lack
from pipelines.hashes import sha256_of
from pipelines.lake import Lake
from pipelines.record import RunRecord, TableFile
from pipelines.recording import MONTH_STATUS
from pipelines.slicing import slice_source
from transforms.inventory import nothing_known
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
        with clock.stage("fetch"):
            fetched = fetch_all(config, month, lake, progress=progress, copying=copying)
        staged = lake.stage(written)
        with connect(staged / ".spill") as con:
            with clock.stage("slice"):
                sliced = [_slice(con, one, lake) for one in fetched]
            with clock.stage("normalise"):
                for one in sliced:
                    _normalise(con, one, config)
                overlaps.refuse(con, config.sources)
            with clock.stage("ledger"):
                _load(con, config, month, sliced)
                ledger.build(con)
            with clock.stage("write"):
                files = _write(con, fetched, month, staged)
            broken = ledger.broken_promises(con)
            record = recording.record(con, config, written, clock.started_at, fetched, files)
            record = record.model_copy(update={"timings": clock.timings})
        if broken:
            lake.note(record.model_copy(update={"status": "failed", "tables": {}}))
            return Outcome(record.model_copy(update={"status": "failed"}), broken)
        return Outcome(lake.publish(record, staged), ())


# ---------------------------------------------------------------- slice


def _slice(con: duckdb.DuckDBPyConnection, one: Fetched, lake: Lake) -> Sliced:
    sliced = slice_source(one.provider, one.files, one.context, lake.path / "cache")
    add_bill(con, one.provider, one.bills, one.context, sliced.bill_values)
    return sliced


# ---------------------------------------------------------------- normalise and ledger


def _normalise(con: duckdb.DuckDBPyConnection, sliced: Sliced, config: Config) -> None:
    """Add one source's rows to the table `normalised` of `con`, and what they tell."""
    normalised = normalise(sliced, config, nothing_known())
    _append(con, "normalised", normalised.rows.collect(engine="streaming"))
    _append(con, "findings_in", normalised.findings)


def _load(
    con: duckdb.DuckDBPyConnection, config: Config, month: str, sliced: Sequence[Sliced]
) -> None:
    """Put what the ledger reads beside `normalised` and `bill` into `con`."""
    for name in ("totals", "cluster_bills"):
        _append(con, name, pl.concat([getattr(one, name) for one in sliced]))
    _append(con, "findings_in", pl.concat([one.findings for one in sliced]))
    clusters = con.sql(
        "SELECT DISTINCT cluster_id, cluster_name FROM normalised WHERE cluster_id IS NOT NULL"
    ).fetchall()
    unused = rules.unused_rules(config, clusters, month)
    _append(con, "findings_in", findings_frame(unused))
    report = config.report
    _append(
        con,
        "settings",
        pl.DataFrame(
            {
                "billing_period": [month],
                "cost_view": [report.cost_view],
                "charge_basis": [report.charge_basis],
                "month_status": [MONTH_STATUS],
                "splits_apart": [sorted({name for one in config.sources for name in one.splits})],
            },
            schema_overrides={"splits_apart": pl.List(pl.String)},
        ),
    )
    _append(con, "allocation_rules", _rule_rows(config))
    _append(con, "operators", _operator_rows(config))


def _rule_rows(config: Config) -> pl.DataFrame:
    columns = ("id", "kinds", "method", "scope", "by", "cluster", "valid_from", "valid_to")
    return pl.DataFrame(
        [
            (position, *(_listed(getattr(rule, name)) for name in columns))
            for position, rule in enumerate(config.allocation_rules)
        ],
        schema={
            "position": pl.Int32,
            "id": pl.String,
            "kinds": pl.List(pl.String),
            "method": pl.String,
            "scope": pl.String,
            "by": pl.String,
            "cluster": pl.List(pl.String),
            "valid_from": pl.Date,
            "valid_to": pl.Date,
        },
        orient="row",
    )


def _operator_rows(config: Config) -> pl.DataFrame:
    return pl.DataFrame(
        [
            (position, operator.team, list(operator.cluster))
            for position, operator in enumerate(config.operators)
        ],
        schema={"position": pl.Int32, "team": pl.String, "cluster": pl.List(pl.String)},
        orient="row",
    )


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _append(con: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    arriving = rows.to_arrow()
    con.register("arriving", arriving)
    con.execute(f"CREATE TABLE IF NOT EXISTS {table} AS FROM arriving LIMIT 0")
    con.execute(f"INSERT INTO {table} FROM arriving")
    con.unregister("arriving")


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
