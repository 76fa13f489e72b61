"""JSON lines: one row a line, as nested columns.

JSON has no header. What the first lines hold says what all lines are.
"""

import json
from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.errors import InputError
from transforms.gcp.others import refuse_others

FIRST_LINES = 100
_OBJECT = pl.Map(pl.String(), pl.String())


def decoded_lines(raw: pl.LazyFrame, columns: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """Return the lines of `raw` as columns; blank lines are left out.

    columns: column -> type. A column of lists that holds objects instead becomes one of maps.
    Raises InputError where the first lines are no rows of the detailed export.
    """
    line = pl.col("line")
    filled = raw.filter(line.str.strip_chars() != "")
    first = filled.head(FIRST_LINES).collect(engine="streaming").to_series().to_list()
    values: dict[str, Any] = {}
    for text in first:
        values = _row(text) | values
    if first:
        refuse_others(values)
    types = {name: _type(values.get(name), dtype) for name, dtype in columns.items()}
    return filled.select(line.str.json_decode(pl.Struct(types))).unnest("line")


def _row(text: str) -> dict[str, Any]:
    """Return one line as a row; NULL is as good as absent."""
    try:
        row = json.loads(text)
    except ValueError:
        row = text
    if not isinstance(row, dict):
        raise InputError(
            "a line is not a row",
            expected="one row a line, as a JSON object, in UTF-8 without a byte order mark",
            got=text[:80],
            hint="write the rows with EXPORT DATA and format='JSON'; of one JSON document "
            "`jq -c '.[]'` makes lines",
        )
    return {name: value for name, value in row.items() if value is not None}


def _type(value: Any, dtype: pl.DataType) -> pl.DataType:
    is_object = isinstance(dtype, pl.List) and isinstance(value, dict)
    return _OBJECT if is_object else dtype
