"""Small lakes for tests: every table has a row for each partition, marked with its run."""

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from pipelines.lake import Lake, RunRecord
from pipelines.record import TableFile
from transforms.schema import SCHEMA_VERSION, TABLES, polars_schema

MONTH = "2026-10"
MARKED = dict.fromkeys(TABLES, "provider") | {"normalised": "team"}
"""The column of each table that carries the mark of a run."""

CSV_TABLES = ("statements", "comparison")


def run_month(
    lake: Lake, mark: str, *, month: str = MONTH, sources: tuple[str, ...] = ("aws-prod",)
) -> RunRecord:
    """Publish a run whose every row carries `mark`; the caller holds the lock."""
    run = lake.new_run()
    staged = lake.stage(run)
    return lake.publish(write_tables(staged, run, mark, month=month, sources=sources), staged)


def write_tables(
    staged: Path, run: str, mark: str, *, month: str = MONTH, sources: tuple[str, ...]
) -> RunRecord:
    """Write all tables of a run into `staged` and return its record."""
    tables: dict[str, tuple[TableFile, ...]] = {}
    for table in TABLES:
        frame = pl.DataFrame(
            [{"billing_period": month, MARKED[table]: mark}], schema=polars_schema(table)
        )
        folder = f"{table}/billing_period={month}"
        names = [f"{folder}/part.parquet"]
        if table == "normalised":
            names = [f"{folder}/provider=aws/source={source}/part.parquet" for source in sources]
        if table in CSV_TABLES:
            names.append(f"{folder}/part.csv")
        tables[table] = tuple(_write(frame, staged, name) for name in names)
    return record(run, month=month, tables=tables)


def record(
    run: str, *, month: str = MONTH, tables: dict[str, tuple[TableFile, ...]] | None = None
) -> RunRecord:
    """Return the record of a run that is not published."""
    moment = datetime(2026, 11, 6, 6, tzinfo=UTC)
    return RunRecord(
        run=run,
        billing_period=month,
        status="ok",
        month_status="provisional",
        published=False,
        started_at=moment,
        finished_at=moment,
        version="0.1.0",
        schema_version=SCHEMA_VERSION,
        lock_hash=None,
        configuration={"report": {"cost_view": "effective", "charge_basis": "provider"}},
        inputs=(),
        counts={},
        totals=(),
        timings={},
        tables=tables or {},
    )


def _write(frame: pl.DataFrame, staged: Path, name: str) -> TableFile:
    path = staged / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        path.write_text(str(frame[MARKED[name.split("/", maxsplit=1)[0]]][0]), encoding="utf-8")
    else:
        frame.write_parquet(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return TableFile(path=name, rows=1, sha256=digest)
