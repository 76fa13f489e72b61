"""What a raw file tells of itself before it is read: the form of its dates, its tags."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from transforms.azure import dates
from transforms.azure.columns import DAYS
from transforms.azure.tags import Tags, decoded
from transforms.cells import text


class Survey(NamedTuple):
    """form: that of all dates in the file; tags: the keys it has, and what is no JSON object."""

    form: str
    tags: Tags


def survey(raw: pl.LazyFrame, found: Mapping[str, tuple[str, ...]]) -> Survey:
    """Return what a raw file tells of itself. Reads only the columns of dates and tags.

    Raises InputError where a value is no date, or where two forms are mixed.
    """
    schema = raw.collect_schema()
    days = [name for ours in DAYS for name in found[ours] if schema[name] == pl.String]
    dated = [raw.select(value=text(pl.col(name))).unique() for name in days]
    values = [
        value
        for frame in pl.collect_all(dated, engine="streaming")
        for value in frame.to_series().drop_nulls()
    ]
    return Survey(dates.form_of(values), _tags(raw, found["tags"]))


def _tags(raw: pl.LazyFrame, columns: tuple[str, ...]) -> Tags:
    if not columns:
        return Tags.of(())
    values = raw.select(value=text(pl.col(columns[0]))).unique()
    try:
        return Tags.of(_keys(values))
    except pl.exceptions.ComputeError:
        texts = values.collect(engine="streaming").to_series().sort()
    unreadable = list(_unreadable(texts))
    readable = texts.filter(~texts.is_in(unreadable)).to_frame().lazy()
    return Tags.of(_keys(readable), unreadable)


def _keys(values: pl.LazyFrame) -> list[str]:
    keys = values.select(decoded(pl.col("value")).map.keys().explode()).unique()
    return keys.collect(engine="streaming").to_series().drop_nulls().sort().to_list()


def _unreadable(texts: pl.Series) -> Iterator[str]:
    """Yield the texts that are no JSON object of texts, found by halves."""
    try:
        texts.to_frame().select(decoded(pl.col(texts.name)))
    except pl.exceptions.ComputeError:
        half = texts.len() // 2
        if half == 0:
            yield texts[0]
            return
        yield from _unreadable(texts[:half])
        yield from _unreadable(texts[half:])
