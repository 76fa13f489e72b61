"""The record of a run, from what was fetched, what was written and what the ledger says."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata

import duckdb

from pipelines.config import Config, to_document
from pipelines.fetching import Copied, Fetched
from pipelines.hashes import lock_hash
from pipelines.record import Input, InputFile, RunRecord, TableFile, Total
from transforms.schema import SCHEMA_VERSION

MONTH_STATUS = "provisional"


def record(
    con: duckdb.DuckDBPyConnection,
    config: Config,
    run: str,
    started_at: datetime,
    fetched: Sequence[Fetched],
    files: Mapping[str, tuple[TableFile, ...]],
) -> RunRecord:
    """Return the record of a run whose tables are in `con` and written to `files`."""
    errors = con.sql("SELECT count(*) FROM findings WHERE severity = 'error'").fetchall()[0][0]
    return RunRecord(
        run=run,
        billing_period=fetched[0].context.billing_period,
        status="findings" if errors else "ok",
        month_status=MONTH_STATUS,
        published=False,
        started_at=started_at,
        finished_at=datetime.now(UTC),
        version=metadata.version("leerlauf"),
        schema_version=SCHEMA_VERSION,
        lock_hash=lock_hash(),
        configuration=to_document(config),
        inputs=tuple(_input(one, copied) for one in fetched for copied in one.deliveries),
        counts={table: _rows(parts) for table, parts in files.items()},
        totals=_totals(con),
        timings={},
        tables=dict(files),
    )


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
