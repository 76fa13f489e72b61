"""The columns of the detailed export, typed, as flat rows.

Optional columns that an export lacks are NULL; a missing column that the arithmetic needs is an
error that names it. Columns nobody knows are ignored: Google adds some every year.
"""

import polars as pl

from transforms import cells
from transforms.cells import text
from transforms.errors import lacking
from transforms.gcp.forms import CREDITS, PAIRS, RECORDS, nested
from transforms.gcp.others import DETAILED
from transforms.gcp.times import month, utc
from transforms.gcp.types import is_empty, refuse_types
from transforms.schema import MONEY

TEXT = {
    "billing_account_id": "billing_account_id",
    "billing_currency": "currency",
    "cost_type": "cost_type",
    "service_id": "service.id",
    "service_name": "service.description",
    "sku_id": "sku.id",
    "sku": "sku.description",
    "project_id": "project.id",
    "project_number": "project.number",
    "location": "location.location",
    "region_id": "location.region",
    "resource_name": "resource.name",
    "resource_global_name": "resource.global_name",
    "unit": "usage.unit",
    "pricing_unit": "usage.pricing_unit",
    "consumption_model": "consumption_model.description",
}
"""Our name -> theirs."""

MONTH = "invoice.month"
AMOUNTS = {
    "cost": "cost",
    "list_cost": "cost_at_list",
    "usage": "usage.amount",
    "pricing_quantity": "usage.amount_in_pricing_units",
}
TIMES = {"start": "usage_start_time", "export_time": "export_time"}
_CORRECTION = [f"adjustment_info.{field}" for field in ("id", "mode", "type")]
_NEEDED = (
    ("invoice.month",),
    ("cost",),
    ("currency",),
    ("cost_type",),
    ("usage_start_time",),
    ("service.id", "service.description"),
    ("sku.description",),
    ("project.id",),
    ("resource.name", "resource.global_name"),
    ("labels",),
    ("credits",),
)
"""One of each must be there."""


def resolve(raw: pl.LazyFrame) -> pl.LazyFrame:
    """Return one row for each raw row.

    Columns: `month` (YYYY-MM), TEXT (empty is NULL), AMOUNTS (exact decimals, made here, once),
    TIMES (UTC), `is_correction`, and `labels`, `system_labels`, `credits` as lists.
    Raises InputError where a needed column is missing, or the export is not the detailed one.
    """
    rows = nested(raw)
    schema = rows.collect_schema()
    _require(schema)
    refuse_types(schema, TEXT.values())
    adjusted = [text(_at(schema, path)).is_not_null() for path in _CORRECTION]
    return rows.select(
        month(_at(schema, MONTH), _dtype(schema, MONTH)).alias("month"),
        *(text(_at(schema, path)).alias(name) for name, path in TEXT.items()),
        *(
            amount(_at(schema, path), _dtype(schema, path)).alias(name)
            for name, path in AMOUNTS.items()
        ),
        *(utc(_at(schema, path), _dtype(schema, path)).alias(n) for n, path in TIMES.items()),
        pl.any_horizontal(*adjusted).fill_null(value=False).alias("is_correction"),
        _pairs(schema, "labels"),
        _pairs(schema, "system_labels"),
        _credits(schema),
    )


def amount(value: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Return money, rounded half-even to 12 places; an empty cell is NULL.

    A double is read by its shortest text, which is what JSON and CSV hold: the forms of one
    export give the same amounts.
    """
    if dtype.is_float():
        return value.cast(pl.String).cast(MONEY)
    return cells.amount(value, dtype)


def _dtype(schema: pl.Schema, path: str) -> pl.DataType:
    if path in schema:
        return schema[path]
    head, _, field = path.partition(".")
    fields = _fields(schema, head)
    return fields.get(field, pl.Null())


def _fields(schema: pl.Schema, head: str) -> dict[str, pl.DataType]:
    dtype = schema.get(head)
    return dict(pl.Schema(dtype.to_schema())) if isinstance(dtype, pl.Struct) else {}


def _has(schema: pl.Schema, path: str) -> bool:
    head, _, field = path.partition(".")
    return path in schema or (head in RECORDS and field in _fields(schema, head))


def _at(schema: pl.Schema, path: str) -> pl.Expr:
    """Return the value under a dotted path, of a column or of a field; NULL where there is none."""
    if path in schema:
        return pl.col(path)
    head, _, field = path.partition(".")
    if _has(schema, path):
        return pl.col(head).struct.field(field).alias(path)
    return pl.lit(None)


def _pairs(schema: pl.Schema, name: str) -> pl.Expr:
    """Some writers store labels as a map."""
    dtype = schema.get(name, pl.Null())
    if is_empty(dtype):
        return pl.lit(None, dtype=PAIRS).alias(name)
    return pl.col(name).cast(PAIRS) if isinstance(dtype, pl.Map) else pl.col(name)


def _credits(schema: pl.Schema) -> pl.Expr:
    if is_empty(schema["credits"]):
        return pl.lit(None, dtype=CREDITS).alias("credits")
    return pl.col("credits")


def _require(schema: pl.Schema) -> None:
    missing = [one[0] for one in _NEEDED if not any(_has(schema, path) for path in one)]
    if missing:
        raise lacking(
            missing,
            schema,
            expected=f"all columns of {DETAILED}",
            hint="add the column to the query that writes the export",
        )
