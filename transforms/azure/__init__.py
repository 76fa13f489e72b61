"""Azure cost exports and FOCUS exports, and the split of AKS clusters from other sources.

`slice_file` reduces one bill file to charges of a day, `slice_split` one split file to its
shares; `combine` puts the parts of a month together. The export is the money, and only it.
"""

from collections.abc import Mapping

import polars as pl

from transforms.azure.charges import charges
from transforms.azure.columns import dataset_of, located, require, require_types, resolve, views_of
from transforms.azure.combine import combine
from transforms.azure.splits import slice_split
from transforms.azure.survey import survey
from transforms.cells import quoted, sql
from transforms.sliced import Context, NodeIds

__all__ = ["NODE_IDS", "VERSION", "bill_columns", "combine", "slice_file", "slice_split", "views"]

VERSION = 3
"""Raised when the parts of a file change, so that cached ones are not used again."""

NODE_IDS = NodeIds(r"^azure://", billed=None)
"""The bill names the scale set of a node and not the node."""

_BILL_COLUMNS = ("period_start", "charge_type", "rule_name", "meter_category", "billing_currency")


def views(context: Context) -> tuple[str, ...]:
    """Return the cost views an export has: a cost export has one, a FOCUS export both."""
    return views_of(context.dataset, context.metric)


def slice_file(raw: pl.LazyFrame, context: Context) -> dict[str, pl.LazyFrame]:
    """Return the parts of one raw bill file: `charges`, `spellings` and `unread_tags`.

    raw: the columns of a cost or FOCUS export, in Parquet types or as text.
    Raises InputError where a needed column is missing or of a type that has no such values, or
    where dates cannot be read.
    """
    header = raw.collect_schema()
    found = located(header, context.dataset)
    require(found, header, context.dataset)
    require_types(found, header)
    form, tags = survey(raw, found)
    rows = resolve(raw, found, views(context), form)
    return {
        "charges": charges(rows, tags, context, views(context)),
        "spellings": tags.colliding(context.labels),
        "unread_tags": tags.unread(),
    }


def bill_columns(columns: Mapping[str, str]) -> dict[str, str]:
    """Return the columns `bill.sql` reads, each as SQL over the raw columns."""
    dataset = dataset_of(columns)
    found = located(columns, dataset)
    amounts = {view: found.get(view) or found.get("cost", ()) for view in ("effective", "billed")}
    named = {name: found[name] for name in _BILL_COLUMNS} | amounts
    return {name: _sql(raw, columns) for name, raw in named.items()}


def _sql(raw: tuple[str, ...], columns: Mapping[str, str]) -> str:
    """The first filled of some raw columns; a time with a zone is told in UTC.

    A number of single precision is made a double first, as in the transform.
    """
    if not raw:
        return "NULL"
    cells = [
        f"{quoted(name)} AT TIME ZONE 'UTC'"
        if columns[name] == "TIMESTAMP WITH TIME ZONE"
        else f"{quoted(name)}::DOUBLE"
        if columns[name] == "FLOAT"
        else sql(name, columns[name])
        for name in raw
    ]
    return f"coalesce({', '.join(cells)})" if len(cells) > 1 else cells[0]
