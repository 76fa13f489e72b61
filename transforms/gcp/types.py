"""The types in which a column may arrive; others are refused by name."""

from collections.abc import Iterable

import polars as pl

from transforms.errors import InputError

_LISTS = {
    "labels": ("key", "value"),
    "system_labels": ("key", "value"),
    "credits": ("type", "amount"),
}
"""Column of lists -> the fields of an entry."""


def is_empty(dtype: pl.DataType) -> bool:
    """Say whether nothing can stand in such a column: writers give one without values any type."""
    return dtype == pl.Null or (isinstance(dtype, pl.List) and dtype.inner == pl.Null)


def refuse_types(schema: pl.Schema, texts: Iterable[str]) -> None:
    """Raise InputError where a column of lists is none, or one of `texts` holds bytes."""
    for name, fields in _LISTS.items():
        if name in schema and not _is_list(schema[name], name, fields):
            raise _of_type(name, f"a list of {{{', '.join(fields)}}}", schema[name])
    for path in texts:
        head, _, field = path.partition(".")
        dtype = schema.get(path, schema.get(head))
        if isinstance(dtype, pl.Struct):
            dtype = dict(pl.Schema(dtype.to_schema())).get(field)
        if dtype == pl.Binary:
            raise _of_type(path, "text", pl.Binary())


def _is_list(dtype: pl.DataType, name: str, fields: Iterable[str]) -> bool:
    if is_empty(dtype) or (isinstance(dtype, pl.Map) and name != "credits"):
        return True
    inner = dtype.inner if isinstance(dtype, pl.List) else None
    return isinstance(inner, pl.Struct) and set(fields) <= set(inner.to_schema())


def _of_type(column: str, expected: str, got: pl.DataType) -> InputError:
    return InputError(
        f"the column {column} has another type",
        expected=expected,
        got=str(got)[:200],
        hint="export the table as it is, with EXPORT DATA in Parquet or JSON",
    )
