"""Raw files that cannot be read: the message names file, column and value, and nothing else."""

import duckdb
import polars as pl
import pytest

from pipelines import exports
from transforms.errors import InputError


@pytest.mark.parametrize("value", ["nope", "a [b] c", "two\n\nlines"])
def test_a_wrong_value_is_shown_without_the_advice_of_the_engine(value: str) -> None:
    day = pl.col("day").str.to_datetime("%Y-%m-%d")
    frame = pl.DataFrame({"day": [value]}).lazy().select(day)
    with pytest.raises(InputError) as refused, exports.reading("a.csv"):
        frame.collect()
    told = refused.value
    assert (told.where, told.expected, told.got) == (
        "a.csv, column day",
        "a date and time such as 2026-10-01T00:00:00Z",
        f'["{value}"]',
    )


@pytest.mark.parametrize(
    "error", [pl.exceptions.ComputeError("no end"), duckdb.IOException("no end"), OSError("no end")]
)
def test_a_broken_file_is_wrong_input_whichever_engine_says_so(error: Exception) -> None:
    with pytest.raises(InputError) as refused, exports.reading("a.parquet"):
        raise error
    assert (refused.value.where, refused.value.got) == ("a.parquet", "no end")
