"""Amounts are divided without a rest, and what could wrap around is refused."""

from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transforms.errors import InputError
from transforms.money import QUANTUM, apportion, from_quanta, quanta, scaled
from transforms.schema import MONEY

AMOUNTS = st.integers(-(10**18), 10**18).map(lambda count: Decimal(count) * QUANTUM)


def divide(total: Decimal, weights: list[Decimal]) -> list[Decimal]:
    frame = pl.DataFrame(
        {"total": [total] * len(weights), "weight": weights, "name": list(range(len(weights)))},
        schema={"total": MONEY, "weight": MONEY, "name": pl.Int64},
    )
    return apportion(
        frame.with_columns(group=0), by=["group"], total="total", weight="weight", order=["name"]
    ).to_list()


@example(
    Decimal("999999.989999996501"),
    [Decimal("-999999.920000003599"), Decimal("999999.929999997679")],
)
@given(AMOUNTS, st.lists(AMOUNTS, min_size=1, max_size=12).filter(lambda w: sum(w) != 0))
def test_the_parts_add_up_exactly(total: Decimal, weights: list[Decimal]) -> None:
    parts = [Fraction(part) for part in divide(total, weights)]
    shares = [Fraction(total) * Fraction(weight) / Fraction(sum(weights)) for weight in weights]
    assert sum(parts) == total
    for part, share in zip(parts, shares, strict=True):
        assert abs(part - share) < 2 * Fraction(QUANTUM)


@pytest.mark.parametrize(
    ("total", "weights", "parts"),
    [
        ("0.000000000010", ["1", "1", "1"], ["4", "3", "3"]),
        ("-0.000000000010", ["1", "1", "1"], ["-3", "-3", "-4"]),
        ("0.000000000001", ["1", "2", "1"], ["0", "1", "0"]),
        ("0.000000000010", ["3", "-1", "0"], ["15", "-5", "0"]),
        ("0.000000000010", ["-1", "-1", "0"], ["5", "5", "0"]),
    ],
)
def test_missing_quanta_go_to_the_largest_remainders(
    total: str, weights: list[str], parts: list[str]
) -> None:
    quantum_parts = [int(part / QUANTUM) for part in divide(Decimal(total), _decimals(weights))]
    assert sum(quantum_parts) == int(Decimal(total) / QUANTUM)
    assert sorted(quantum_parts) == sorted(map(int, parts))


def scale(*amounts: Decimal | None) -> Decimal | None:
    names = ("amount", "by", "of")
    frame = pl.DataFrame([amounts], schema=dict.fromkeys(names, MONEY), orient="row")
    found: Decimal | None = scaled(frame, "amount", by="by", of="of").item()
    return found


@given(AMOUNTS, AMOUNTS, AMOUNTS.map(abs).filter(lambda of: of > Decimal("0.001")))
def test_an_amount_is_scaled_half_even(amount: Decimal, by: Decimal, of: Decimal) -> None:
    count = Fraction(amount) * Fraction(by) / Fraction(of) / Fraction(QUANTUM)
    assert scale(amount, by, of) == round(count) * QUANTUM


@pytest.mark.parametrize(
    ("quanta_of_amount", "scaled_quanta"),
    [("1", "0"), ("3", "2"), ("5", "2"), ("-1", "0"), ("-3", "-2"), ("-5", "-2"), ("4", "2")],
)
def test_a_half_quantum_goes_to_the_even_one(quanta_of_amount: str, scaled_quanta: str) -> None:
    half = scale(Decimal(quanta_of_amount) * QUANTUM, Decimal(1), Decimal(2))
    assert half == Decimal(scaled_quanta) * QUANTUM


@pytest.mark.parametrize("missing", range(3))
def test_what_is_unknown_is_not_scaled(missing: int) -> None:
    assert scale(*(None if place == missing else Decimal(1) for place in range(3))) is None


def test_a_product_that_would_wrap_around_is_refused() -> None:
    with pytest.raises(InputError, match="too large"):
        scale(Decimal(10**8), Decimal(10**8), Decimal(1))


def test_groups_do_not_see_each_other() -> None:
    frame = pl.DataFrame(
        {
            "group": ["a", "b", "a"],
            "total": _decimals(["1", "5", "1"]),
            "weight": _decimals(["1", "7", "3"]),
        },
        schema={"group": pl.String, "total": MONEY, "weight": MONEY},
    )
    parts = apportion(frame, by=["group"], total="total", weight="weight", order=["weight"])
    assert parts.to_list() == _decimals(["0.25", "5", "0.75"])


def test_amounts_that_would_wrap_around_are_refused() -> None:
    with pytest.raises(InputError, match="too large"):
        divide(Decimal(10**9), _decimals(["1000000000", "1000000000"]))


def test_quanta_and_back_is_the_same_amount() -> None:
    amounts = _decimals(
        ["0.000000000001", "-123456789.987654321012", "0", "-999999999999999999999999.9"]
    )
    frame = pl.DataFrame({"amount": amounts}, schema={"amount": MONEY})
    assert frame.select(from_quanta(quanta(pl.col("amount")))).to_series().to_list() == amounts


def _decimals(texts: list[str]) -> list[Decimal]:
    return [Decimal(text) for text in texts]
