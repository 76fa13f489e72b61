"""The forms of one export: Parquet with nested columns, JSON lines, CSV.

CSV either has a column for each nested field (`service.id`) or the whole nested value in one cell,
as JSON or as the text Python prints. All become nested columns, or stay dotted ones.
"""

import ast
import json
from functools import partial

import polars as pl

from transforms.gcp.lines import decoded_lines
from transforms.gcp.others import refuse_others, standard_export

PAIRS = pl.List(pl.Struct({"key": pl.String(), "value": pl.String()}))
CREDITS = pl.List(pl.Struct({"type": pl.String(), "amount": pl.String()}))
RECORDS = {
    "service": ("id", "description"),
    "sku": ("id", "description"),
    "project": ("id", "number"),
    "location": ("location", "region"),
    "resource": ("name", "global_name"),
    "usage": ("amount", "unit", "amount_in_pricing_units", "pricing_unit"),
    "invoice": ("month",),
    "consumption_model": ("id", "description"),
    "adjustment_info": ("id", "description", "mode", "type"),
}
"""Nested columns -> the fields that are read."""

_NESTED: dict[str, pl.DataType] = {
    **{name: pl.Struct(dict.fromkeys(fields, pl.String())) for name, fields in RECORDS.items()},
    "labels": PAIRS,
    "system_labels": PAIRS,
    "credits": CREDITS,
}
_PLAIN = (
    "billing_account_id",
    "usage_start_time",
    "export_time",
    "cost",
    "cost_at_list",
    "currency",
    "cost_type",
)
_ROW = {**_NESTED, **dict.fromkeys(_PLAIN, pl.String())}
_OBJECT = pl.Map(pl.String(), pl.String())
_PYTHON = r"^\s*[\[{][\s\[{]*'"
_CONSTANTS = {"None": "null", "True": "true", "False": "false"}


def nested(raw: pl.LazyFrame) -> pl.LazyFrame:
    """Return a raw file with its nested columns as such, whatever its form.

    Raises InputError where the file is another export than the detailed one.
    """
    if raw.collect_schema().names() == ["line"]:
        raw = decoded_lines(raw, _ROW)
    else:
        _refuse_header(raw.collect_schema().names())
    schema = raw.collect_schema()
    text = [name for name in _NESTED if schema.get(name) == pl.String]
    return raw.with_columns(decoded(name, _NESTED[name]) for name in text)


def _refuse_header(names: list[str]) -> None:
    refuse_others(names)
    if not any(name.split(".")[0] == "resource" for name in names):
        raise standard_export("no column resource")


def decoded(name: str, dtype: pl.DataType) -> pl.Expr:
    """Return a column of JSON or Python text as nested values; an empty cell is NULL."""
    return pl.col(name).map_batches(
        partial(_decoded, dtype=dtype), return_dtype=dtype, is_elementwise=True
    )


def _decoded(cells: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Labels repeat every hour: each different text is decoded once."""
    every = pl.DataFrame({"cell": cells.cast(pl.String)})
    different = every.unique().with_columns(text=as_json(pl.col("cell").str.strip_chars()))
    values = different.select("cell", value=_value(pl.col("text"), dtype))
    return every.join(
        values, on="cell", how="left", nulls_equal=True, maintain_order="left"
    ).get_column("value")


def _value(text: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Labels may also be one plain object."""
    if dtype != PAIRS:
        return text.str.json_decode(dtype)
    is_object = text.str.starts_with("{")
    listed = pl.when(~is_object).then(text).str.json_decode(PAIRS)
    return pl.coalesce(listed, pl.when(is_object).then(text).str.json_decode(_OBJECT).cast(PAIRS))


def as_json(cell: pl.Expr) -> pl.Expr:
    """Return a cell as JSON text; what Python printed is translated, an empty cell is NULL.

    Python quotes with ' unless a text holds one: cells without ", backslash and calls such as
    `Decimal('1')` are translated by replacing, the others are read by Python. NumPy puts a new
    line between the entries of a list where Python and JSON put a comma.
    """
    listed = cell.str.replace_all(r"\}\s*\n\s*\{", "}, {")
    is_python = listed.str.contains(_PYTHON)
    is_hard = is_python & listed.str.contains(r'["\\]|\w\(')
    easy = listed.str.replace_all("'", '"', literal=True)
    for theirs, ours in _CONSTANTS.items():
        easy = easy.str.replace_all(rf": {theirs}([,}}])", f": {ours}${{1}}")
    hard = pl.when(is_hard).then(listed).map_elements(_translated, return_dtype=pl.String)
    is_empty = listed.str.to_lowercase().is_in(["", "none", "null", "nan"])
    return pl.when(is_hard).then(hard).when(is_python).then(easy).when(~is_empty).then(listed)


class _Plain(ast.NodeTransformer):
    """Makes what Python prints as a call plain: `Decimal('1')` its text, a date its source."""

    def visit_Call(self, node: ast.Call) -> ast.Constant:
        match node.args:
            case [ast.Constant(value=str(text))]:
                return ast.Constant(text)
        return ast.Constant(ast.unparse(node))


def _translated(cell: str) -> str:
    """What Python cannot read either stays as it is, and JSON says what is wrong with it."""
    try:
        tree = _Plain().visit(ast.parse(cell, mode="eval"))
        return json.dumps(ast.literal_eval(tree))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return cell
