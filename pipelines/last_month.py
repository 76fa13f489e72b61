"""What the month before showed, read once, so that findings can compare: an input like any other.

It is the newest published run of that month in the same lake. Where there is none, or its files
are gone, there is nothing to compare with, and nothing is said.
"""

import duckdb
import polars as pl
import pyarrow as pa

from pipelines import ledger, loading, queries
from pipelines.errors import ConfigurationError
from pipelines.lake import Lake
from pipelines.periods import month_before
from pipelines.record import RunRecord
from transforms.schema import MONEY, SCHEMA_VERSION, TABLES, TEXT

LAST_CLUSTERS = {
    **dict.fromkeys(("billing_period", "cost_view", "charge_basis"), TEXT),
    **dict.fromkeys(("provider", "cluster_id", "billing_currency"), TEXT),
    "bill": MONEY,
    "day_count": pl.Int64(),
    "idle_ratio": pl.Float64(),
    **dict.fromkeys(("requested_cpu", "requested_memory", "requested_gpu"), MONEY),
    **dict.fromkeys(("used_cpu", "used_memory"), MONEY),
    "idle_rules": pl.List(TEXT),
    **dict.fromkeys(("is_weighed", "is_by_cost"), pl.Boolean()),
}
"""What `sql/reconcile/cluster_months.sql` returns."""

LAST_TEAMS = {
    **dict.fromkeys(("provider", "cluster_id", "billing_currency", "team"), TEXT),
    **dict.fromkeys(("workload", "idle"), MONEY),
}


def load(con: duckdb.DuckDBPyConnection, lake: Lake, month: str) -> str | None:
    """Put `last_clusters` and `last_teams` into `con`; return the id of the run they are from."""
    record = _newest(lake, month_before(month))
    clusters, teams = _read(lake, record) if record else (None, None)
    _append(con, "last_clusters", clusters, LAST_CLUSTERS)
    _append(con, "last_teams", teams, LAST_TEAMS)
    return record.run if record else None


def _newest(lake: Lake, month: str) -> RunRecord | None:
    """Return the newest published run of a month, if all its files are there to be read."""
    try:
        record = lake.newest(month)
    except ConfigurationError:
        return None
    if record.schema_version != SCHEMA_VERSION or not set(TABLES) <= set(record.tables):
        return None
    files = [file for table in TABLES for file in lake.files(record, table)]
    return record if all(file.exists() for file in files) else None


def _read(lake: Lake, record: RunRecord) -> tuple[pa.Table, pa.Table]:
    rules = record.configuration.get("allocation_rule", [])
    with lake.connect(record) as con:
        names = pl.DataFrame(rules, schema=dict.fromkeys(("id", "scope", "by"), TEXT))
        loading.append(con, "allocation_rules", names)
        ledger.summarise(con)
        return (
            con.sql("FROM cluster_months").to_arrow_table(),
            con.sql(queries.read("read/last_teams")).to_arrow_table(),
        )


def _append(
    con: duckdb.DuckDBPyConnection,
    table: str,
    rows: pa.Table | None,
    schema: dict[str, pl.DataType],
) -> None:
    frame = pl.DataFrame(rows if rows is not None else None, schema=schema)
    loading.append(con, table, frame)
