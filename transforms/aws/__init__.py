"""AWS cost and usage reports with split cost allocation data.

`slice_file` reduces one raw file, on its own, to parts at the grain of a day; `combine` puts the
parts of all files of a month together, because parents and pods lie in different files.
"""

from collections.abc import Mapping

import polars as pl

from transforms import cells
from transforms.aws.charges import charges
from transforms.aws.columns import COSTS, canonical_names, divide, resolve
from transforms.aws.combine import combine
from transforms.aws.hours import hours
from transforms.aws.pod_requests import requests
from transforms.aws.split import pods
from transforms.aws.tags import discover
from transforms.schema import COST_VIEWS
from transforms.sliced import Context, NodeIds

__all__ = ["NODE_IDS", "VERSION", "bill_columns", "combine", "slice_file", "views"]

VERSION = 5
"""Raised when the parts of a file change, so that cached ones are not used again."""

NODE_IDS = NodeIds(r"^aws://.*/([^/]+)$", billed=pl.col("resource_id"))
"""`aws:///zone/i-...`: the bill has the instance alone."""

_BILL_COLUMNS = (
    "bill_billing_period_start_date",
    "line_item_line_item_type",
    "line_item_product_code",
    "line_item_operation",
    "line_item_currency_code",
    "line_item_unblended_cost",
    "reservation_reservation_a_r_n",
    *COSTS,
)


def views(_: Context) -> tuple[str, ...]:
    """Return the cost views an export has: every report has both."""
    return COST_VIEWS


def slice_file(raw: pl.LazyFrame, context: Context) -> dict[str, pl.LazyFrame]:
    """Return the parts of a raw file: `charges`, `pods`, `hours`, `requests`, `spellings`.

    raw: the columns of a CUR 2.0 or a legacy report, in Parquet types or as text.
    Raises InputError where a needed column is missing.
    """
    labels, billing_period = context.labels, context.billing_period
    billed, split = divide(raw)
    tags = discover(resolve(raw))
    return {
        "charges": charges(resolve(billed), tags, labels, billing_period),
        "pods": pods(resolve(split), tags, labels, billing_period),
        "hours": hours(resolve(split), tags, billing_period),
        "requests": requests(resolve(split), tags, billing_period),
        "spellings": tags.colliding(labels),
    }


def bill_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns `bill.sql` reads, each as SQL over the raw columns."""
    raw = {canonical: name for name, canonical in canonical_names(list(columns)).items()}
    return {
        name: cells.sql(raw[name], columns[raw[name]]) if name in raw else "NULL"
        for name in _BILL_COLUMNS
    }
