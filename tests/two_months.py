"""A lake of months made from normalised rows, as runs would have published them.

Rows name their namespace; the team rules of the configuration say whose they are.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import duckdb

from pipelines import config as configuration
from pipelines import ledger, loading, queries, tables
from pipelines.config import Config
from pipelines.hashes import sha256_of
from pipelines.lake import Lake, RunRecord
from pipelines.record import TableFile
from tests import ledger_cases as cases
from tests.lakes import record
from transforms.schema import TABLES

Row = dict[str, Any]

SEPTEMBER, OCTOBER = "2026-09", "2026-10"
TEAMS = [{"team": name, "namespace": [name]} for name in ("a", "b", "c", "d")]
SOURCE = {"id": "aws-test", "provider": "aws", "dataset": "cur2", "location": "exports"}


def rule(name: str, method: str, *kinds: str, **keys: Any) -> Row:
    """Return one allocation rule of a file."""
    return {"id": name, "method": method, "kinds": list(kinds or ("idle",))} | keys


def config(
    *rules: Row,
    teams: Sequence[Row] = TEAMS,
    operator: str | None = "platform",
    report: Mapping[str, Any] | None = None,
    labels: Sequence[str] = (),
) -> Config:
    """Return a configuration with these rules; each namespace a to d is a team."""
    return configuration.from_document(
        {
            "lake": {"labels": list(labels)},
            "source": [SOURCE],
            "report": dict(report or {}),
            "team_rule": list(teams),
            "operator": [{"team": operator}] if operator else [],
            "allocation_rule": list(rules),
        }
    )


def day(month: str, number: int = 1) -> dt.date:
    """Return a day of a month."""
    return dt.date.fromisoformat(f"{month}-{number:02}")


def pods(
    namespace: str | None, cost: str | Decimal, cores: str | None = None, **columns: Any
) -> Row:
    """Return what a namespace's pods cost on a node, for how many core hours."""
    quantity = None if cores is None else Decimal(cores)
    unit = None if cores is None else "Core-Hours"
    own = {"namespace": namespace, "charged_quantity": quantity, "quantity_unit": unit}
    return cases.charge(cost, **(own | columns))


def idle(cost: str | Decimal, capacity: str | None = None, **columns: Any) -> Row:
    """Return what stood idle on a node, of how many core hours there were."""
    known = None if capacity is None else Decimal(capacity)
    return cases.idle(cost, capacity_quantity=known, **columns)


def fee(cost: str, **columns: Any) -> Row:
    """Return the fee of a cluster."""
    direct = {"resource_kind": "other", "split_source": None, "node_name": None}
    kind = {"row_kind": "cluster_fee", "reason": "control_plane"}
    return cases.charge(cost, **(direct | kind | columns))


def correction(row: Row) -> Row:
    """Return the row as a correction of an earlier month."""
    return row | {"charge_class": "Correction"}


def publish(path: Path, month: str, rows: Sequence[Row], read: Config) -> RunRecord:
    """Publish a month of these rows, and return its record."""
    lake = Lake(path)
    dated = [_dated(row, month) for row in rows]
    con = cases.ledger([_with_team(row, read) for row in dated], operators=(), billing_period=month)
    loading.load_rules(con, read)
    _build(con)
    with lake.lock():
        run = lake.new_run()
        staged = lake.stage(run)
        files: dict[str, tuple[TableFile, ...]] = {
            table: (_written(con, table, month, staged),) for table in TABLES
        }
        told = {"configuration": configuration.to_document(read)}
        return lake.publish(record(run, month=month, tables=files).model_copy(update=told), staged)


def _build(con: duckdb.DuckDBPyConnection) -> None:
    """Make postings and statements, as a run does; comparison, bridges and findings are empty."""
    ledger.distribute(con)
    for step in ledger.STATEMENTS:
        con.execute(f"CREATE {step.kind} {step.relation} AS {queries.read(step.query)}")
    for table in ("reconciliation", "findings"):
        columns = ", ".join(f'NULL AS "{column}"' for column in TABLES[table])
        con.execute(f"CREATE TABLE {table} AS SELECT {columns} LIMIT 0")


def _dated(row: Row, month: str) -> Row:
    """Put a row of DAY into the month; another day stays."""
    start = row["charge_period_start"]
    start = day(month) if start == cases.DAY else start
    days = {"charge_period_start": start, "charge_period_end": start + dt.timedelta(days=1)}
    return row | days | {"billing_period": month}


def _with_team(row: Row, read: Config) -> Row:
    if row["row_kind"] != "workload":
        return row
    for index, one in enumerate(read.team_rules):
        on = row["charge_period_start"]
        held = (one.valid_from or dt.date.min) <= on < (one.valid_to or dt.date.max)
        named = (row.get("labels") or {}).get(one.label) if one.label else one.team
        space = row.get("namespace") or ""
        if (
            held
            and named
            and any(glob == "*" or fnmatchcase(space, glob) for glob in one.namespace)
        ):
            return row | {"team": named, "team_rule": f"team_rule[{index}]"}
    return row


def _written(con: duckdb.DuckDBPyConnection, table: str, month: str, staged: Path) -> TableFile:
    folder = f"{table}/billing_period={month}"
    if table == "normalised":
        folder += "/provider=aws/source=aws-test"
    name = f"{folder}/part.parquet"
    rows = tables.write_parquet(con, table, table, staged / name)
    return TableFile(path=name, rows=rows, sha256=sha256_of(staged / name))
