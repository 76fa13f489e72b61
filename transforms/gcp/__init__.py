"""Google's detailed Cloud Billing export with GKE cost allocation.

The split is part of the bill: with cost allocation a node's row comes as one row for each owner.
So each row gets exactly one class, and what the classes add up to is the bill by construction.
"""

import polars as pl

from transforms.gcp.bill import bill_columns
from transforms.gcp.charges import charges, exports, identified, separate_credits
from transforms.gcp.columns import resolve
from transforms.gcp.combine import combine
from transforms.gcp.labels import colliding, found_keys
from transforms.gcp.nodes import usage
from transforms.schema import COST_VIEWS
from transforms.sliced import Context, NodeIds

__all__ = ["NODE_IDS", "VERSION", "bill_columns", "combine", "slice_file", "views"]

VERSION = 3
"""Raised when the parts of a file change, so that cached ones are not used again."""

_ZONE = pl.col("resource_id").str.extract(r"/zones/([^/]+)/")
NODE_IDS = NodeIds(
    r"^gce://[^/]+/([^/]+/[^/]+)$", billed=pl.concat_str(_ZONE, "node_name", separator="/")
)
"""`gce://project/zone/name`: the bill calls the machine by a number, and tells its name beside."""


def views(_: Context) -> tuple[str, ...]:
    """Return the cost views an export has: commitments are billed as they run, so both agree."""
    return COST_VIEWS


def slice_file(raw: pl.LazyFrame, context: Context) -> dict[str, pl.LazyFrame]:
    """Return the parts of one raw file: `charges`, `credits`, `exports`, `spellings`, `usage`.

    raw: the columns of the detailed export, nested or as text, or JSON in the column `line`.
    Raises InputError where a needed column is missing, or it is another export.
    """
    rows = identified(resolve(raw), context.billing_period)
    found = found_keys(rows) if context.labels else []
    return {
        "charges": charges(rows, found, context.labels),
        "credits": separate_credits(rows),
        "exports": exports(rows),
        "spellings": colliding(found, context.labels),
        "usage": usage(rows),
    }
