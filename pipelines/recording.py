"""The record of a run, from what was fetched, what was written and what the ledger says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from typing import Literal

import duckdb

from pipelines.config import Config, to_document
from pipelines.fetching import Copied, Fetched
from pipelines.hashes import lock_hash
from pipelines.record import Input, InputFile, RunRecord, TableFile, Total
from transforms.schema import SCHEMA_VERSION

MONTH_STATUS = "provisional"


@dataclass(frozen=True)
class Course:
    """The course of a run: how long it took, what it read and what it wrote.

    timings: seconds of each stage; side_files: what was read beside the bill; last_run: the run
    of the month before that findings compared with; files: those of each table.
    """

    run: str
    started_at: datetime
    timings: Mapping[str, float]
    fetched: Sequence[Fetched]
    side_files: tuple[InputFile, ...]
    last_run: str | None
    files: Mapping[str, tuple[TableFile, ...]]


def record(
    con: duckdb.DuckDBPyConnection, config: Config, course: Course, *, is_broken: bool
) -> RunRecord:
    """Return the record of a run with its tables in `con`; of a broken one no file is kept."""
    return RunRecord(
        run=course.run,
        billing_period=course.fetched[0].context.billing_period,
        status="failed" if is_broken else _status(con),
        month_status=MONTH_STATUS,
        published=False,
        started_at=course.started_at,
        finished_at=datetime.now(UTC),
        version=metadata.version("leerlauf"),
        schema_version=SCHEMA_VERSION,
        lock_hash=lock_hash(),
        configuration=to_document(config),
        inputs=tuple(_input(one, copied) for one in course.fetched for copied in one.deliveries),
        side_files=course.side_files,
        last_run=course.last_run,
        counts={table: _rows(parts) for table, parts in course.files.items()},
        totals=_totals(con),
        timings=dict(course.timings),
        tables={} if is_broken else dict(course.files),
    )


def _status(con: duckdb.DuckDBPyConnection) -> Literal["ok", "findings"]:
    errors = con.sql("SELECT count(*) FROM findings WHERE severity = 'error'").fetchall()[0][0]
    return "findings" if errors else "ok"


def _rows(parts: Sequence[TableFile]) -> int:
    return sum(part.rows for part in parts if part.path.endswith(".parquet"))


def _totals(con: duckdb.DuckDBPyConnection) -> tuple[Total, ...]:
    totals = con.sql(
        "SELECT provider, billing_currency, cost_view, sum(amount)::VARCHAR AS amount "
        "FROM bill GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    return tuple(
        Total(provider=provider, billing_currency=currency, cost_view=view, amount=amount)
        for provider, currency, view, amount in totals
    )


def _input(one: Fetched, copied: Copied) -> Input:
    return Input(
        source=one.context.source,
        provider=one.context.provider,
        dataset=one.context.dataset,
        delivery=copied.receipt.delivery,
        provider_run_id=copied.receipt.provider_run_id,
        files=tuple(InputFile(name=f.name, size=f.size, sha256=f.sha256) for f in copied.files),
    )
