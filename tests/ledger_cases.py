"""A small ledger in memory: normalised rows and rules in, a DuckDB connection out.

`ledger` fills the relations that `pipelines.ledger.build` reads. What the transforms would
report about the same rows (`totals`, `bill`, `cluster_bills`) is derived here in Python, so that
the books balance unless a test breaks them on purpose.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import polars as pl

from pipelines.ledger import build
from transforms.schema import COLUMNS, COST_VIEWS, TABLES, Column

Row = dict[str, Any]

PERIOD = "2026-10"
DAY = date(2026, 10, 1)
SHOP = "arn:aws:eks:eu-central-1:111111111111:cluster/shop"

TYPES = {pl.Int64: "BIGINT", pl.Date: "DATE", pl.String: "VARCHAR", pl.Decimal: "DECIMAL(38, 12)"}

SHAPES = {
    "totals": "provider VARCHAR, source VARCHAR, fate VARCHAR, billing_currency VARCHAR, "
    "cost_view VARCHAR, rows BIGINT, amount DECIMAL(38, 12), amount_abs DECIMAL(38, 12)",
    "cluster_bills": "provider VARCHAR, source VARCHAR, cluster_id VARCHAR, "
    "billing_currency VARCHAR, cost_view VARCHAR, amount DECIMAL(38, 12)",
    "settings": "billing_period VARCHAR, cost_view VARCHAR, charge_basis VARCHAR, "
    "month_status VARCHAR, splits_apart VARCHAR[]",
    "allocation_rules": "position INTEGER, id VARCHAR, kinds VARCHAR[], method VARCHAR, "
    'scope VARCHAR, "by" VARCHAR, cluster VARCHAR[], valid_from DATE, valid_to DATE, '
    "teams VARCHAR[], excepted VARCHAR[], fallback VARCHAR, "
    "shares STRUCT(team VARCHAR, share DECIMAL(38, 12))[]",
    "metric_values": "position INTEGER, charge_date DATE, cluster VARCHAR, team VARCHAR, "
    "value DECIMAL(38, 12)",
    "operators": "position INTEGER, team VARCHAR, cluster VARCHAR[]",
    "last_clusters": "billing_period VARCHAR, cost_view VARCHAR, charge_basis VARCHAR, "
    "provider VARCHAR, cluster_id VARCHAR, billing_currency VARCHAR, bill DECIMAL(38, 12), "
    "day_count BIGINT, idle_ratio DOUBLE, requested_cpu DECIMAL(38, 12), "
    "requested_memory DECIMAL(38, 12), requested_gpu DECIMAL(38, 12), used_cpu DECIMAL(38, 12), "
    "used_memory DECIMAL(38, 12), idle_rules VARCHAR[], is_weighed BOOLEAN, is_by_cost BOOLEAN",
    "last_teams": "provider VARCHAR, cluster_id VARCHAR, billing_currency VARCHAR, team VARCHAR, "
    "workload DECIMAL(38, 12), idle DECIMAL(38, 12)",
}


def charge(cost: str | Decimal | None, **columns: Any) -> Row:
    """Return one normalised row: node CPU of the cluster shop on DAY, unless `columns` differ.

    `cost` is the effective and, unless `billed_cost` is given, the billed cost.
    """
    day = columns.get("charge_period_start", DAY)
    amount = None if cost is None else Decimal(cost)
    row: Row = {
        "billing_period": PERIOD,
        "provider": "aws",
        "source": "aws-test",
        "source_file": "part-1.parquet",
        "charge_period_start": day,
        "charge_period_end": day + timedelta(days=1),
        "resource_id": "i-1",
        "cluster_id": SHOP,
        "cluster_name": "shop",
        "node_name": "node-1",
        "row_kind": "workload",
        "resource_kind": "cpu",
        "split_source": "scad",
        "billing_currency": "USD",
        "effective_cost": amount,
        "billed_cost": amount,
    }
    if columns.get("row_kind") == "idle":
        row |= {"reason": "unrequested", "provider_class": "unused_cost", "split_source": None}
        row |= {"cause": "rest", "allocatable_quantity": Decimal(1)}  # the reserve is known
    return row | columns


def workload(team: str | None, cost: str | Decimal, **columns: Any) -> Row:
    """Return one workload row of `team`."""
    return charge(cost, team=team, **columns)


def idle(cost: str | Decimal, **columns: Any) -> Row:
    """Return one idle row."""
    return charge(cost, row_kind="idle", **columns)


def outside(cost: str | Decimal, reason: str, **columns: Any) -> Row:
    """Return one row that belongs to no cluster."""
    nowhere = {"cluster_id": None, "cluster_name": None, "node_name": None, "split_source": None}
    return charge(
        cost, row_kind="outside", reason=reason, resource_kind="other", **nowhere, **columns
    )


def rule(name: str, method: str, *kinds: str, **columns: Any) -> Row:
    """Return one allocation rule; scope cluster, by resource, every cluster, always valid."""
    return {
        "id": name,
        "kinds": list(kinds or ("idle",)),
        "method": method,
        "scope": "cluster",
        "by": "resource",
        "cluster": ["*"],
    } | columns


def shares(**of_teams: str | int) -> Row:
    """Return what method `fixed` needs: the share of each team."""
    return {"shares": [{"team": team, "share": Decimal(share)} for team, share in of_teams.items()]}


def measured(team: str | None, value: str | int, **columns: Any) -> Row:
    """Return one value of the first rule's metric, on DAY in the cluster shop."""
    row = {"position": 0, "charge_date": DAY, "cluster": "shop", "team": team}
    return row | {"value": Decimal(value)} | columns


def ledger(
    rows: Sequence[Row],
    *rules: Row,
    operators: Sequence[Row] = ({"team": "platform", "cluster": ["*"]},),
    findings: Sequence[Row] = (),
    metrics: Sequence[Row] = (),
    threads: int = 2,
    **settings: str | list[str],
) -> duckdb.DuckDBPyConnection:
    """Return a connection with every relation the ledger reads, ready for `build`."""
    con = duckdb.connect(config={"threads": threads})
    for table in ("normalised", "bill", "findings"):
        shape = ", ".join(f'"{name}" {_sql_type(COLUMNS[name])}' for name in TABLES[table])
        con.execute(f"CREATE TABLE {'findings_in' if table == 'findings' else table} ({shape})")
    for table, shape in SHAPES.items():
        con.execute(f"CREATE TABLE {table} ({shape})")
    default = {"billing_period": PERIOD, "cost_view": "effective", "charge_basis": "provider"}
    insert(
        con, "settings", [default | {"month_status": "provisional", "splits_apart": []} | settings]
    )
    insert(con, "normalised", rows)
    insert(con, "allocation_rules", _numbered(rules))
    insert(con, "operators", _numbered(operators))
    insert(con, "findings_in", findings)
    insert(con, "metric_values", metrics)
    insert(con, "totals", _totals(rows))
    insert(con, "bill", [_billed(total) for total in _totals(rows)])
    insert(con, "cluster_bills", _cluster_bills(rows))
    return con


def book(rows: Sequence[Row], *rules: Row, **options: Any) -> duckdb.DuckDBPyConnection:
    """Return a connection in which the ledger of `rows` is built."""
    con = ledger(rows, *rules, **options)
    build(con)
    return con


def insert(con: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append `rows`, which may leave columns out; every row of one shape goes in one statement."""
    shapes: dict[tuple[str, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        shapes[tuple(row)].append(row)
    for columns, alike in shapes.items():
        names = ", ".join(f'"{column}"' for column in columns)
        marks = ", ".join([f"({', '.join('?' * len(columns))})"] * len(alike))
        values = [value for row in alike for value in row.values()]
        con.execute(f"INSERT INTO {table} ({names}) VALUES {marks}", values)


def _sql_type(column: Column) -> str:
    return TYPES.get(type(column.dtype), "MAP(VARCHAR, VARCHAR)")


def _numbered(rows: Iterable[Row]) -> list[Row]:
    return [{"position": position} | row for position, row in enumerate(rows)]


def _summed(rows: Sequence[Row], keys: tuple[str, ...]) -> dict[tuple[Any, ...], list[Decimal]]:
    amounts: dict[tuple[Any, ...], list[Decimal]] = defaultdict(list)
    for row in rows:
        for view in COST_VIEWS:
            if row[f"{view}_cost"] is not None:
                amounts[(*(row[key] for key in keys), view)].append(row[f"{view}_cost"])
    return amounts


def _totals(rows: Sequence[Row]) -> list[Row]:
    return [
        {
            "provider": provider,
            "source": source,
            "fate": "sliced",
            "billing_currency": currency,
            "cost_view": view,
            "rows": len(amounts),
            "amount": sum(amounts),
            "amount_abs": sum(abs(amount) for amount in amounts),
        }
        for (provider, source, currency, view), amounts in _summed(
            rows, ("provider", "source", "billing_currency")
        ).items()
    ]


def _billed(total: Row) -> Row:
    shared = ("provider", "source", "billing_currency", "cost_view", "rows", "amount")
    return {key: total[key] for key in shared} | {"billing_period": PERIOD, "class": "Usage"}


def _cluster_bills(rows: Sequence[Row]) -> list[Row]:
    keys = ("provider", "source", "cluster_id", "billing_currency")
    inside = [row for row in rows if row["row_kind"] != "outside"]
    return [
        dict(zip((*keys, "cost_view"), key, strict=True)) | {"amount": sum(amounts)}
        for key, amounts in _summed(inside, keys).items()
    ]
