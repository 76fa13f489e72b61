"""Nodes in tables: an amount in each row, as kube-state-metrics tells it, or a node in each row."""

from datetime import date

import polars as pl

from transforms.errors import InputError
from transforms.inventory import INVENTORY, RAW, day_of, typed
from transforms.schema import DAY, TEXT

COLUMNS = (
    "either metric (or __name__), resource, value and node, as in kube_node_status_allocatable and "
    "kube_node_status_capacity; or node (or name) and cpu, memory or gpu, each also with "
    "allocatable_ or capacity_ before it. provider_id, unit and date (or timestamp, or time) may "
    "stand in both"
)
"""What a table may have; said wherever one has something else."""

_METRIC = (
    r"^(?:kube_node_status_)?(allocatable|capacity)"
    r"(?:_(cpu_cores|memory_bytes|nvidia_gpu_cards))?$"
)
_OLDER = {"cpu_cores": "cpu", "memory_bytes": "memory", "nvidia_gpu_cards": "gpu"}
_UNITS = {"cpu": ["core", "cores"], "memory": ["byte", "bytes"]}
_WIDE = {
    f"{prefix}{resource}": (prefix.rstrip("_") or "allocatable", resource)
    for prefix in ("", "allocatable_", "capacity_")
    for resource in ("cpu", "memory", "gpu")
}
_NOTHING = pl.lit(None, dtype=TEXT)


def of_table(table: pl.DataFrame, file: str, day: date | None) -> pl.DataFrame:
    """Return INVENTORY of a table whose cells are text; without rows where it has none.

    day: when it was taken, where no column tells. Raises InputError.
    """
    names = {name: name.strip().lower() for name in table.columns}
    rows = None
    if len(set(names.values())) == len(names):
        rows = _amounts(table.rename(names), file)
    if rows is None or {"node", "name", "provider_id"}.isdisjoint(rows.columns):
        raise InputError(
            "the columns of a table are not understood",
            where=file,
            expected=COLUMNS,
            got=", ".join(table.columns)[:200],
            hint="rename or add the columns, or leave the file out of [[nodes]]",
        )
    if table.is_empty():
        return pl.DataFrame(schema=INVENTORY)
    return typed(_raw(rows, file, day), file)


def _amounts(table: pl.DataFrame, file: str) -> pl.DataFrame | None:
    """Return `metric`, `resource`, `text` beside the columns; None where there is no amount."""
    name = next((name for name in ("metric", "__name__") if name in table.columns), None)
    if name is not None and "value" in table.columns:
        return _long(table, pl.col(name), file)
    held = {column: what for column, what in _WIDE.items() if column in table.columns}
    if not held or len(set(held.values())) < len(held):
        return None
    frames = [
        table.with_columns(metric=pl.lit(metric), resource=pl.lit(resource), text=column)
        for column, (metric, resource) in held.items()
    ]
    return pl.concat(frames)


def _long(table: pl.DataFrame, name: pl.Expr, file: str) -> pl.DataFrame:
    """Read a table with a metric in each row; older metrics bear the resource in their name."""
    parts = name.str.strip_chars().str.extract_groups(_METRIC)
    older = parts.struct[1].replace_strict(_OLDER, default=None)
    newer = pl.col("resource") if "resource" in table.columns else _NOTHING
    rows = table.with_columns(
        metric=parts.struct[0],
        resource=pl.coalesce(older, newer.str.strip_chars().str.replace_all(r"\W", "_")),
        text="value",
    ).drop_nulls(["metric", "resource"])
    if "unit" in rows.columns:
        _refuse_units(rows, file)
    return rows


def _refuse_units(rows: pl.DataFrame, file: str) -> None:
    """Refuse a unit that kube-state-metrics does not use: the amount would be misread."""
    for resource, units in _UNITS.items():
        other = rows.filter(
            pl.col("resource") == resource, ~pl.col("unit").str.strip_chars().is_in(["", *units])
        )
        if not other.is_empty():
            raise InputError(
                "a unit is not understood",
                where=f"{file}, column unit",
                expected=f"{units[0]} for {resource}",
                got=repr(other.get_column("unit").sort()[0]),
                hint="nothing was changed; give the amounts in that unit",
            )


def _raw(rows: pl.DataFrame, file: str, day: date | None) -> pl.DataFrame:
    """Add who a row is about and when it was taken. An empty cell is unknown, and no amount."""
    has = [pl.col(name) for name in ("node", "name") if name in rows.columns]
    who = {
        "node_name": pl.coalesce(*has) if has else _NOTHING,
        "provider_id": pl.col("provider_id") if "provider_id" in rows.columns else _NOTHING,
    }
    columns = who | {"text": pl.col("text")}
    known = rows.with_columns(
        **{name: _filled(column) for name, column in columns.items()}
    ).drop_nulls("text")
    if known.filter(pl.col("node_name").is_null() & pl.col("provider_id").is_null()).height:
        raise InputError(
            "a row says not which node it is about",
            where=file,
            expected="a name or a provider_id in every row",
            got="a row without either",
        )
    return known.with_columns(taken=_taken(known, file, day)).select(*RAW)


def _taken(rows: pl.DataFrame, file: str, day: date | None) -> pl.Expr:
    """Read each moment once; an empty cell is dated as the file is."""
    column = next((name for name in ("date", "timestamp", "time") if name in rows.columns), None)
    if column is None:
        return pl.lit(day, dtype=DAY)
    texts = rows.select(_filled(pl.col(column)).drop_nulls().unique().sort()).to_series()
    days = {text: day_of(text, f"{file}, column {column}") for text in texts}
    read = _filled(pl.col(column)).replace_strict(days, default=None, return_dtype=DAY)
    return read.fill_null(pl.lit(day, dtype=DAY))


def _filled(column: pl.Expr) -> pl.Expr:
    text = column.str.strip_chars()
    return pl.when(text != "").then(text)
