"""Credits: those that make the price of a row, and those that pay for it.

Each credit is rounded by itself, like each cost. No credit row is unnested beside its labels, so
no cost is counted once a credit.
"""

import polars as pl

from transforms.cells import text
from transforms.gcp.codes import PRICE_CREDITS
from transforms.gcp.columns import amount
from transforms.money import zero


def price(schema: pl.Schema) -> pl.Expr:
    """Return the sum of a row's credits that are part of its price."""
    return _sum(_amount(schema).filter(_is_price(pl.element())))


def every(schema: pl.Schema) -> pl.Expr:
    """Return the sum of all credits of a row; NULL where one has no amount."""
    missing = pl.col("credits").list.agg(_amount(schema).null_count()).fill_null(0)
    return pl.when(missing == 0).then(_sum(_amount(schema)))


def absolute(schema: pl.Schema) -> pl.Expr:
    """Return the sum of the absolute amounts of a row's credits."""
    return _sum(_amount(schema).abs())


def separate(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row for each credit that is no part of a price: `credit_type`, `credit`.

    rows: with `credits`; their other columns stay. A credit without type has `credit_type` NULL.
    """
    schema = rows.collect_schema()
    is_other = ~_is_price(pl.element())
    others = pl.col("credits").list.filter(is_other)
    credit = pl.col("credits").struct.field
    dtype = _inner(schema)["amount"]
    return (
        rows.filter(pl.col("credits").list.agg(is_other.any()).fill_null(value=False))
        .with_columns(others)
        .explode("credits")
        .with_columns(credit_type=text(credit("type")), credit=amount(credit("amount"), dtype))
        .drop("credits")
    )


def _is_price(credit: pl.Expr) -> pl.Expr:
    return credit.struct.field("type").is_in(PRICE_CREDITS).fill_null(value=False)


def _amount(schema: pl.Schema) -> pl.Expr:
    return amount(pl.element().struct.field("amount"), _inner(schema)["amount"])


def _sum(amounts: pl.Expr) -> pl.Expr:
    return pl.col("credits").list.agg(amounts.sum()).fill_null(zero())


def _inner(schema: pl.Schema) -> dict[str, pl.DataType]:
    entry = schema["credits"]
    pair = entry.inner if isinstance(entry, pl.List) else None
    return dict(pl.Schema(pair.to_schema())) if isinstance(pair, pl.Struct) else {}
