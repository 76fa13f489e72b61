"""Cells and columns of a raw file: empty text is no value, money becomes exact once."""

import polars as pl

from transforms.schema import MONEY


def text(value: pl.Expr) -> pl.Expr:
    """Return text; an empty cell is NULL."""
    return pl.when(value.cast(pl.String) != "").then(value.cast(pl.String))


def amount(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return money, rounded half-even to 12 places; an empty cell is NULL.

    Text is read as text and a double is cast once, so nothing is rounded twice.
    """
    return (text(value) if dtype == pl.String else value).cast(MONEY)


def sql(column: str, dtype: str) -> str:
    """Return a raw column as SQL, by its DuckDB type; an empty text is NULL."""
    return f"nullif({quoted(column)}, '')" if dtype == "VARCHAR" else quoted(column)


def quoted(column: str) -> str:
    """Return a raw column's name as SQL."""
    return '"' + column.replace('"', '""') + '"'
