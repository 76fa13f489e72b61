"""Exact money: rounding to the ledger's quantum once, and dividing an amount without a rest.

A quantum is 10^-12 of the billing currency. Sums and shares are integers of quanta, so nothing
depends on the order of rows or on the number of threads.
"""

from collections.abc import Sequence
from decimal import Decimal

import polars as pl

from transforms.errors import InputError
from transforms.schema import MONEY

QUANTUM = Decimal("0.000000000001")
DUST_PER_ROW = Decimal("0.000000001")
"""How far a provider's own doubles may miss each other, for each row that takes part."""

_PER_UNIT = 10**12
_LARGEST_PRODUCT = 1.6e38


def quanta(amount: pl.Expr) -> pl.Expr:
    """Return a money expression as a signed 128-bit integer of quanta."""
    return amount.to_physical()


def from_quanta(count: pl.Expr) -> pl.Expr:
    """Return an integer expression of quanta as money.

    Whole units and the rest are cast apart: quanta cast at once would need twice the digits.
    """
    unit = pl.lit(_PER_UNIT, dtype=pl.Int128)
    rest = (count % unit).cast(MONEY) * pl.lit(QUANTUM, dtype=MONEY)
    return (count // unit).cast(MONEY) + rest


def zero() -> pl.Expr:
    """Return the amount nothing."""
    return pl.lit(Decimal(0), dtype=MONEY)


def known_sum(name: str) -> pl.Expr:
    """Sum a column; NULL where any part was never measured, because missing is not zero."""
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).sum()).alias(name)


def apportion(
    frame: pl.DataFrame, *, by: Sequence[str], total: str, weight: str, order: Sequence[str]
) -> pl.Series:
    """Divide `total` among the rows of each group in proportion to `weight`, without a rest.

    Every row of a group carries the same `total` (money). Weights are money of any sign; their
    sum must not be 0. Each part is the quotient rounded down; the missing quanta go one each to
    the largest remainders, ties by `order`. Returns one amount a row, in the order of `frame`.
    """
    parts = frame.select(
        *dict.fromkeys((*by, *order)),
        __total=quanta(pl.col(total)),
        __weight=quanta(pl.col(weight)),
        __row=pl.int_range(pl.len()),
    ).with_columns(__all=pl.col("__weight").sum().over(by))
    _refuse_overflow(parts)
    sign = pl.when(pl.col("__all") < 0).then(-1).otherwise(1).cast(pl.Int128)
    product = pl.col("__total") * pl.col("__weight") * sign
    parts = parts.with_columns(
        __part=product // (pl.col("__all") * sign), __rest=product % (pl.col("__all") * sign)
    )
    missing = pl.col("__total") - pl.col("__part").sum().over(by)
    turn = pl.int_range(pl.len()).over(by)
    return (
        parts.sort(["__rest", *order], descending=[True, *[False] * len(order)], nulls_last=True)
        .with_columns(__part=pl.col("__part") + (turn < missing).cast(pl.Int128))
        .sort("__row")
        .select(from_quanta(pl.col("__part")))
        .to_series()
    )


def scaled(frame: pl.DataFrame, amount: str, *, by: str, of: str) -> pl.Series:
    """Return `amount` x `by` / `of`, rounded half-even to the quantum: one amount a row.

    All three are columns of money or quantities; `of` is above 0. NULL where one of them is.
    """
    parts = frame.select(
        __total=quanta(pl.col(amount)), __weight=quanta(pl.col(by)), __all=quanta(pl.col(of))
    )
    _refuse_overflow(parts)
    product, whole = pl.col("__total") * pl.col("__weight"), pl.col("__all")
    down, rest = product // whole, product % whole
    is_up = (2 * rest > whole) | ((2 * rest == whole) & (down % 2 == 1))
    return parts.select(from_quanta(down + is_up.cast(pl.Int128))).to_series()


def _refuse_overflow(parts: pl.DataFrame) -> None:
    """Integers of 128 bits wrap silently, so amounts that could are refused."""
    if parts.is_empty():
        return
    largest = [abs(int(parts[name].abs().max() or 0)) for name in ("__total", "__weight")]  # type: ignore[arg-type]
    if largest[0] * largest[1] > _LARGEST_PRODUCT:
        raise InputError(
            "an amount is too large to be divided exactly",
            expected="amounts below ten million units of currency a day and resource",
            got=f"{Decimal(largest[0]) * QUANTUM} divided by {Decimal(largest[1]) * QUANTUM}",
            hint="check the export: such a figure is usually a wrong unit",
        )
