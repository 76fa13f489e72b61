"""Metric files: how much a team had of something that is measured, by day and cluster.

A mistake in any row refuses the whole file: a weight that is guessed would move money.
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from transforms.errors import InputError
from transforms.schema import DAY, MONEY, TEXT

COLUMNS = ("date", "cluster", "team", "metric", "value")
VALUES = {"charge_date": DAY, "cluster": TEXT, "team": TEXT, "metric": TEXT, "value": MONEY}
_KEYS = ("charge_date", "cluster", "team", "metric")
_LIMIT = 1e26
"""Where DECIMAL(38,12) ends."""


class _Doubt(NamedTuple):
    """Rows that cannot be used: which, what is wrong with them, and what would be right."""

    column: str
    rows: pl.Expr
    what: str
    expected: str
    hint: str = ""


def read(rows: pl.DataFrame, *, first: int = 1) -> pl.DataFrame:
    """Return VALUES, one row for each row of a metric file.

    rows: the file, with COLUMNS of text or of their own types; first: the number of its first
    row. A team that is empty is workload without a team. Rows that are empty count for nothing.
    Raises InputError, which names the row; the caller knows the file.
    """
    filled = _filled(rows, first)
    parsed = filled.with_columns(
        _day(filled.schema["date"]).alias("charge_date"),
        *(_text(name) for name in ("cluster", "team", "metric")),
        *_number(filled.schema["value"]),
    )
    for doubt in _doubts():
        _refuse(parsed, doubt)
    _refuse_doubles(parsed)
    return parsed.select(
        pl.col("number" if name == "value" else name).cast(dtype).alias(name)
        for name, dtype in VALUES.items()
    )


def _filled(rows: pl.DataFrame, first: int) -> pl.DataFrame:
    """Return COLUMNS and `row`, without rows that are empty. Raises InputError."""
    missing = [name for name in COLUMNS if name not in rows.columns]
    if missing:
        raise InputError(
            f"the metric file lacks the column {', '.join(missing)}",
            expected=", ".join(COLUMNS),
            got=", ".join(rows.columns) or "no column",
            hint="Name the columns so; more of them may stand beside these.",
        )
    numbered = rows.select(COLUMNS).with_row_index("row", offset=first)
    filled = numbered.filter(pl.any_horizontal(pl.col(COLUMNS).is_not_null()))
    if filled.is_empty():
        raise InputError(
            "a metric file without a row",
            expected="a row for each day, cluster and team",
            got="the names of the columns alone",
            hint="Let what writes the file write it again, or take the rule out.",
        )
    return filled


# ---------------------------------------------------------------------------------------------
# Cells
# ---------------------------------------------------------------------------------------------


def _text(name: str) -> pl.Expr:
    """Return text; an empty cell is NULL."""
    text = pl.col(name).cast(TEXT)
    return pl.when(text != "").then(text).alias(name)


def _day(dtype: pl.DataType) -> pl.Expr:
    """Return a day; NULL for what is none, and for a time of day, which would have no meaning."""
    if dtype == pl.Date:
        return pl.col("date")
    if isinstance(dtype, pl.Datetime):
        moment = pl.col("date")
        if dtype.time_zone is not None:
            moment = moment.dt.convert_time_zone("UTC")
        return pl.when(moment.dt.time() == pl.time()).then(moment.dt.date())
    text = pl.col("date").cast(TEXT)
    written = text.str.contains(r"^\d{4}-\d{2}-\d{2}$")
    return pl.when(written).then(text).str.to_date("%Y-%m-%d", strict=False)


def _number(dtype: pl.DataType) -> list[pl.Expr]:
    """Return `number`, exact to 12 places, and `size`, roughly; NULL for what is no number."""
    if dtype != TEXT and not dtype.is_numeric():
        nothing = pl.lit(None)
        return [nothing.cast(MONEY).alias("number"), nothing.cast(pl.Float64).alias("size")]
    size = pl.col("value").cast(pl.Float64, strict=False)
    return [
        pl.col("value").cast(MONEY, strict=False).alias("number"),
        pl.when(size.is_finite()).then(size).alias("size"),
    ]


# ---------------------------------------------------------------------------------------------
# What is refused
# ---------------------------------------------------------------------------------------------


def _doubts() -> Iterator[_Doubt]:
    number, size = pl.col("number"), pl.col("size")
    missing = "a value is missing"
    for name in ("date", "cluster", "metric"):
        empty = pl.col(name).is_null() | (pl.col(name).cast(TEXT) == "")
        yield _Doubt(name, empty, missing, "a value in every row")
    day = pl.col("charge_date").is_null()
    yield _Doubt("date", day, "no day", "a date YYYY-MM-DD, a day of UTC")
    empty = pl.col("value").is_null() | (pl.col("value").cast(TEXT) == "")
    leave_out = "Leave a row out where nothing was measured: that is not 0."
    yield _Doubt("value", empty, missing, "a value in every row", leave_out)
    yield _Doubt("value", size.is_null(), "no number", "a number, 0 or more, with '.' and not ','")
    yield _Doubt("value", size < 0, "a negative value", "0 or more")
    too_large = number.is_null() | (size >= _LIMIT)
    too_much = "The values of a day and metric together must stay below 10^26: use a larger unit."
    yield _Doubt("value", too_large, "too large to weigh by", "less than 10^26", too_much)
    vanishing = (size > 0) & (number == 0)
    use_smaller = "It would count as 0: use a smaller unit."
    yield _Doubt("value", vanishing, "too small to weigh by", "12 decimal places", use_smaller)
    together = size.sum().over("charge_date", "metric") >= _LIMIT
    yield _Doubt("value", together, "too large to weigh by", "less than 10^26 in a day", too_much)


def _refuse(parsed: pl.DataFrame, doubt: _Doubt) -> None:
    """Raise InputError about the first row of a doubt."""
    bad = parsed.filter(doubt.rows)
    if bad.is_empty():
        return
    first = bad.row(0, named=True)
    more = f", and {bad.height - 1} more rows" if bad.height > 1 else ""
    raise InputError(
        doubt.what,
        where=f"row {first['row']}, column {doubt.column}",
        expected=doubt.expected,
        got=f"{_shown(first[doubt.column])}{more}",
        hint=doubt.hint,
    )


def _refuse_doubles(parsed: pl.DataFrame) -> None:
    """Raise InputError about the first row that another row says already."""
    again = parsed.filter(~pl.struct(_KEYS).is_first_distinct())
    if again.is_empty():
        return
    second = again.row(0, named=True)
    same = [pl.col(name).eq_missing(pl.lit(second[name])) for name in _KEYS]
    first = parsed.filter(*same).item(0, "row")
    raise InputError(
        "a value is there twice",
        where=f"row {second['row']}",
        expected="one row for a date, cluster, team and metric",
        got=f"{', '.join(_shown(second[name]) for name in _KEYS)} as in row {first}",
        hint="Add such rows up in the file, or remove one.",
    )


def _shown(value: object) -> str:
    return "nothing" if value is None or value == "" else str(value)
