"""Times and months of the export, in all spellings."""

import polars as pl

from transforms.cells import text

UTC = pl.Datetime("us", "UTC")
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_LARGEST_SECONDS = 10**11
"""Numbers below are seconds: they reach the year 5138, as anything finer only 1973."""

_WHOLE = r"^-?\d+(?:\.\d+)?(?:[eE]\+?\d+)?$"


def utc(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return a moment in UTC, without zone; an empty cell is NULL.

    `2026-10-05 10:00:00 UTC`, `2026-10-05T10:00:00Z`, `2026-10-05 10:00:00+00:00` and the seconds
    (or a thousandth, millionth, billionth of them) since 1970 are the same.
    """
    if dtype == pl.String:
        return _of_text(text(value))
    if dtype.is_numeric():
        return _of_count(value)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone:
        value = value.dt.convert_time_zone("UTC")
    return value.cast(UTC).dt.replace_time_zone(None)


def _of_text(value: pl.Expr) -> pl.Expr:
    is_count = value.str.contains(_WHOLE)
    counted = _of_count(pl.when(is_count).then(value).cast(pl.Float64))
    zoned = (
        pl.when(~is_count)
        .then(value)
        .str.replace(r"^(\d{4}-\d\d-\d\d)(?:T|$)", "${1} ")
        .str.replace(r" ?(?:UTC|Z)$", "")
        .str.replace(r"^(.{10} )$", "${1}00:00:00")
        .str.replace(r"^(.{10} \d\d:\d\d)$", "${1}:00")
        .str.replace(r"^(.{10} [^+-]*)$", "${1}+00:00")
        .str.replace(r"( .*[+-]\d\d)$", "${1}:00")
    )
    read = zoned.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%:z", time_unit="us", strict=False)
    # A second, strict reading of those alone that failed: the error shows them as they came.
    failed = pl.when(read.is_null() & ~is_count).then(value)
    refused = failed.str.to_datetime("%Y-%m-%d %H:%M:%S%.f%:z", time_unit="us")
    return pl.coalesce(read.dt.replace_time_zone(None), refused.dt.replace_time_zone(None), counted)


def _of_count(value: pl.Expr) -> pl.Expr:
    """By its size: no two units reach the same years."""
    size = value.abs()
    scaled = pl.coalesce(
        pl.when(size < _LARGEST_SECONDS * parts).then(value.cast(pl.Float64) / parts)
        for parts in _PER_SECOND.values()
    )
    return (scaled * 1e6).round().cast(pl.Int64).cast(pl.Datetime("us"))


def month(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return an invoice month as YYYY-MM; an empty cell is NULL.

    `202610`, `2026-10`, `2026-10-01` and `202610.0` are the same. What is no month is refused: a
    row of a month that nobody knows is in no month's bill.
    """
    if dtype.is_temporal():
        return value.dt.strftime("%Y-%m")
    plain = text(value).str.strip_chars().str.replace(r"^(\d{6})\.0*$", "${1}")
    parts = plain.str.extract_groups(r"^(\d{4})-?(0[1-9]|1[0-2])(?:-\d\d)?$").struct.field
    known = pl.concat_str(parts("1"), parts("2"), separator="-")
    failed = pl.when(known.is_null()).then(text(value))
    return pl.coalesce(known, failed.str.to_date("%Y%m%d").dt.strftime("%Y-%m"))
