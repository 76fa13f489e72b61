"""AWS cost and usage reports with split cost allocation data.

`slice_file` reduces one raw file, on its own, to parts at the grain of a day; `combine` puts the
parts of all files of a month together, because parents and pods lie in different files.
"""

from collections.abc import Sequence

import polars as pl

from transforms.aws.charges import charges
from transforms.aws.columns import resolve
from transforms.aws.combine import combine
from transforms.aws.split import hours, pods
from transforms.aws.tags import discover

__all__ = ["VERSION", "combine", "slice_file"]

VERSION = 1
"""Raised when the parts of a file change, so that cached ones are not used again."""


def slice_file(
    raw: pl.LazyFrame, *, labels: Sequence[str], billing_period: str
) -> dict[str, pl.LazyFrame]:
    """Return the parts of one raw file: `charges`, `pods`, `hours` and `spellings`.

    raw: the columns of a CUR 2.0 or a legacy report, in Parquet types or as text.
    Raises InputError where a needed column is missing.
    """
    rows = resolve(raw)
    tags = discover(rows)
    spellings = [(key, ", ".join(raws)) for key, raws in tags.colliding(labels).items()]
    return {
        "charges": charges(rows, tags, labels, billing_period),
        "pods": pods(rows, tags, labels, billing_period),
        "hours": hours(rows, billing_period),
        "spellings": pl.LazyFrame(
            spellings, schema={"label": pl.String, "spellings": pl.String}, orient="row"
        ),
    }
