"""Nodes of a small cluster as rows of `normalised`: one day, figures to add by head."""

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import polars as pl

from transforms.inventory import ALLOCATABLE
from transforms.normalise import Normalised, normalise
from transforms.quantities import kept
from transforms.schema import polars_schema
from transforms.sliced import NODE_DAYS, Sliced

Row = dict[str, Any]

DAY = dt.date(2026, 10, 5)
CLUSTER = "arn:aws:eks:eu-central-1:111111111111:cluster/shop"
UNITS = {"cpu": "Core-Hours", "memory": "GiB-Hours", "gpu": "GPU-Hours"}


def charge(cost: Any, row_kind: str, node: str = "1", kind: str = "cpu", **cells: Any) -> Row:
    """A row of a node: node "1" is instance i-1, its name node-1."""
    base = {
        "billing_period": "2026-10",
        "provider": "aws",
        "source": "aws-prod",
        "source_dataset": "cur2",
        "charge_period_start": DAY,
        "cluster_id": CLUSTER,
        "cluster_name": "shop",
        "node_pool": "general",
        "resource_id": f"i-{node}",
        "node_name": f"node-{node}",
        "row_kind": row_kind,
        "resource_kind": kind,
        "split_source": "scad",
        "billing_currency": "USD",
        "effective_cost": Decimal(str(cost)),
        "billed_cost": Decimal(str(cost)),
    }
    return base | cells


def workload(cost: Any, node: str = "1", kind: str = "cpu", **cells: Any) -> Row:
    return charge(cost, "workload", node, kind, **cells)


def idle(cost: Any, capacity: Any, node: str = "1", kind: str = "cpu", **cells: Any) -> Row:
    known = {"reason": "unrequested", "capacity_quantity": capacity, "quantity_unit": UNITS[kind]}
    return charge(cost, "idle", node, kind, **known | cells)


def rows_frame(rows: Iterable[Row]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=polars_schema("normalised"))


def hours(*nodes: str, each: Any = 24, day: dt.date = DAY) -> pl.DataFrame:
    found = [(f"i-{node}", day, Decimal(str(each))) for node in nodes]
    return pl.DataFrame(found, schema=NODE_DAYS, orient="row")


def allocatable(
    amount: Any, node: str = "1", kind: str = "cpu", capacity: Any = None, day: dt.date = DAY
) -> Row:
    return {
        "resource_id": f"i-{node}",
        "charge_date": day,
        "resource_kind": kind,
        "allocatable": Decimal(str(amount)),
        "capacity": None if capacity is None else Decimal(str(capacity)),
        "file": "nodes.json",
    }


def policy(scope: str = "node", **cells: Any) -> Any:
    """A [[headroom]] table with keep_free: the resources are named, the rest is as by default."""
    wanted = {k: kept(k, cells.pop(k)) for k in ("cpu", "memory", "gpu", "compute") if k in cells}
    base: Row = {"cluster": ("*",), "node_pool": ("*",), "valid_from": None, "valid_to": None}
    base |= {"placeholder_pods": None, "scope": scope}
    return SimpleNamespace(**base | cells, keep_free=SimpleNamespace(wanted=wanted))


def applied(
    rows: Iterable[Row],
    *,
    known: Iterable[Row] = (),
    headroom: Iterable[Any] = (),
    billed: pl.DataFrame | None = None,
) -> Normalised:
    """Normalise, and hold that each view and each resource of each node sums to what it was."""
    frame = rows_frame(rows)
    node_days = hours("1", "2", "3") if billed is None else billed
    nothing = pl.DataFrame()
    sliced = Sliced(frame, nothing, nothing, nothing, node_days=node_days)
    decisions = SimpleNamespace(team_rules=(), system=(), headroom=tuple(headroom), node_pools=())
    inventory = pl.DataFrame(list(known), schema=ALLOCATABLE)
    result = normalise(sliced, decisions, inventory)
    after = result.rows.collect()
    keys = ["resource_id", "resource_kind", "charge_period_start", "billing_currency"]
    sums = [
        each.group_by(keys).agg(pl.col("effective_cost", "billed_cost").sum()).sort(keys)
        for each in (frame, after)
    ]
    assert sums[0].equals(sums[1])
    return Normalised(after.lazy(), result.findings)


def amounts(found: Normalised, *columns: str) -> list[tuple[Any, ...]]:
    """The rows that are no workload: row kind, reason, then these columns; sorted."""
    rows = found.rows.filter(pl.col("row_kind") != "workload").collect()
    return sorted(rows.select("row_kind", "reason", *columns).rows(), key=repr)
