"""Cells and columns of a raw file: empty text is no value, money becomes exact once."""

import polars as pl

from transforms.schema import MONEY


def text(value: pl.Expr) -> pl.Expr:
    """Return text; an empty cell is NULL."""
    return pl.when(value.cast(pl.String) != "").then(value.cast(pl.String))


def amount(value: pl.Expr) -> pl.Expr:
    """Return money, rounded half-even to 12 places; an empty cell is NULL.

    Text is read as text and a double is cast once, so nothing is rounded twice.
    """
    return value.cast(MONEY)


def quoted(column: str) -> str:
    """Return a raw column's name as SQL."""
    return '"' + column.replace('"', '""') + '"'
