"""The columns of an AWS cost and usage report, whatever the export calls them.

CUR 2.0 and legacy Parquet write snake case, legacy CSV writes `lineItem/UnblendedCost`. All
become the CUR 2.0 names. Optional columns that an export lacks are NULL; a missing column that
the arithmetic needs is an error that names it.
"""

import re

import polars as pl

from transforms import cells
from transforms.aws.codes import SPLIT_OPERATIONS
from transforms.errors import doubled, lacking
from transforms.schema import MONEY

REQUIRED_TEXT = (
    "line_item_line_item_type",
    "line_item_product_code",
    "line_item_usage_type",
    "line_item_operation",
    "line_item_resource_id",
    "line_item_currency_code",
)
REQUIRED_TIME = ("bill_billing_period_start_date", "line_item_usage_start_date")
REQUIRED_AMOUNT = ("line_item_unblended_cost", "line_item_usage_amount")

OPTIONAL_TEXT = (
    "bill_payer_account_id",
    "bill_invoice_id",
    "line_item_usage_account_id",
    "line_item_availability_zone",
    "pricing_term",
    "pricing_unit",
    "product_product_family",
    "product_region_code",
    "product_region",
    "product_sku",
    "product_vcpu",
    "product_memory",
    "product_gpu",
    "reservation_reservation_a_r_n",
    "split_line_item_parent_resource_id",
)
OPTIONAL_TIME = ("line_item_usage_end_date",)
COSTS = (
    "line_item_net_unblended_cost",
    "reservation_effective_cost",
    "reservation_net_effective_cost",
    "reservation_unused_amortized_upfront_fee_for_billing_period",
    "reservation_unused_recurring_fee",
    "reservation_net_unused_amortized_upfront_fee_for_billing_period",
    "reservation_net_unused_recurring_fee",
    "savings_plan_savings_plan_effective_cost",
    "savings_plan_net_savings_plan_effective_cost",
    "savings_plan_total_commitment_to_date",
    "savings_plan_used_commitment",
)
"""What amortised amounts are made of, beside the unblended cost."""

OPTIONAL_AMOUNT = (*COSTS, "pricing_public_on_demand_cost")
SPLIT_REQUIRED = (
    "split_line_item_split_usage",
    "split_line_item_reserved_usage",
    "split_line_item_split_cost",
    "split_line_item_unused_cost",
)
SPLIT_OPTIONAL = (
    "split_line_item_actual_usage",
    "split_line_item_split_usage_ratio",
    "split_line_item_net_split_cost",
    "split_line_item_net_unused_cost",
    "split_line_item_public_on_demand_split_cost",
    "split_line_item_public_on_demand_unused_cost",
)
_READ = {
    *(*REQUIRED_TEXT, *REQUIRED_TIME, *REQUIRED_AMOUNT),
    *(*OPTIONAL_TIME, *OPTIONAL_AMOUNT, *SPLIT_REQUIRED, *SPLIT_OPTIONAL),
}
MAPS = ("resource_tags", "tags", "product")
_TAG_COLUMN = re.compile(r"^resource_?tags[/_](?P<key>.+)$", re.IGNORECASE)
_CAMEL = re.compile(r"(?<=[a-z0-9A-Z])(?=[A-Z])")
_OTHER_SPELLING = {"reservation_reservation_arn": "reservation_reservation_a_r_n"}
_PRODUCT_KEYS = {"product_vcpu": "vcpu", "product_memory": "memory", "product_gpu": "gpu"}


def canonical_names(header: list[str]) -> dict[str, str]:
    """Return the CUR 2.0 name of each column in `header`; tag columns are left out.

    `reservation/ReservationARN` becomes `reservation_reservation_a_r_n`, as AWS spells it.
    """
    snake = {
        name: _CAMEL.sub("_", name.replace("/", "_")).replace("__", "_").lower()
        for name in header
        if not _TAG_COLUMN.match(name) or name in MAPS
    }
    return {name: _OTHER_SPELLING.get(canonical, canonical) for name, canonical in snake.items()}


def tag_columns(header: list[str]) -> dict[str, str]:
    """Return column -> tag key for exports that give every tag a column of its own."""
    found = ((name, _TAG_COLUMN.match(name)) for name in header if name not in MAPS)
    return {name: match["key"] for name, match in found if match}


def divide(raw: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return the billed rows of a raw file, and the rows that only split the cost of others.

    The raw column is compared, so that whole row groups are skipped unread.
    """
    schema = raw.collect_schema()
    names = _by_canonical(schema)
    _require(names, schema)
    operation = pl.col(names["line_item_operation"])
    is_split = operation.is_in(list(SPLIT_OPERATIONS))
    return raw.filter(~is_split | operation.is_null()), raw.filter(is_split)


def resolve(raw: pl.LazyFrame) -> pl.LazyFrame:
    """Return `raw` with the columns named above, typed, and the tag columns as they came.

    Shape: one row for each raw row. Money and quantities become exact decimals here, once.
    Raises InputError where a needed column is missing, or there twice.
    """
    schema = raw.collect_schema()
    names = _by_canonical(schema)
    _require(names, schema)
    return raw.select(
        *(_text(names, n) for n in (*REQUIRED_TEXT, *OPTIONAL_TEXT)),
        *(_time(names, schema, n) for n in (*REQUIRED_TIME, *OPTIONAL_TIME)),
        *(_amount(names, schema, n) for n in (*REQUIRED_AMOUNT, *OPTIONAL_AMOUNT)),
        *(_amount(names, schema, n) for n in (*SPLIT_REQUIRED, *SPLIT_OPTIONAL)),
        *(_map(schema, n) for n in MAPS if n in schema),
        *(pl.col(n).cast(pl.String) for n in tag_columns(list(schema))),
    ).with_columns(_product_size(schema))


def _by_canonical(schema: pl.Schema) -> dict[str, str]:
    """Return canonical name -> raw name; of two raw names for one amount neither is chosen."""
    names: dict[str, str] = {}
    for raw_name, canonical in canonical_names(list(schema)).items():
        if canonical in names and canonical in _READ:
            columns = names[canonical], raw_name
            raise doubled(canonical, columns, hint="name the column once in the export's query")
        names[canonical] = raw_name
    return names


def _require(names: dict[str, str], schema: pl.Schema) -> None:
    needed = [*REQUIRED_TEXT, *REQUIRED_TIME, *REQUIRED_AMOUNT]
    if "split_line_item_parent_resource_id" in names:
        needed += SPLIT_REQUIRED
    missing = [name for name in needed if name not in names]
    if missing:
        expected = "a CUR with resource ids and split cost allocation data"
        raise lacking(missing, schema, expected=expected, hint=_mend(missing))


def _mend(missing: list[str]) -> str:
    if any(name.startswith("split_line_item") for name in missing):
        return "name all eleven split_line_item columns in the export's query"
    if "line_item_resource_id" in missing:
        return "switch on resource ids (INCLUDE_RESOURCES) in the export"
    return "add the column to the export's query and let AWS deliver the month again"


def _text(names: dict[str, str], name: str) -> pl.Expr:
    if name not in names:
        return pl.lit(None, dtype=pl.String).alias(name)
    return cells.text(pl.col(names[name])).alias(name)


def _time(names: dict[str, str], schema: pl.Schema, name: str) -> pl.Expr:
    if name not in names:
        return pl.lit(None, dtype=pl.Datetime("us")).alias(name)
    value = pl.col(names[name])
    dtype = schema[names[name]]
    if dtype == pl.String:
        plain = value.str.replace("T", " ", literal=True).str.strip_chars_end("Z")
        value = plain.replace("", None).str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us")
    elif isinstance(dtype, pl.Datetime) and dtype.time_zone:
        value = value.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return value.cast(pl.Datetime("us")).alias(name)


def _amount(names: dict[str, str], schema: pl.Schema, name: str) -> pl.Expr:
    if name not in names:
        return pl.lit(None, dtype=MONEY).alias(name)
    return cells.amount(pl.col(names[name]), schema[names[name]]).alias(name)


def _map(schema: pl.Schema, name: str) -> pl.Expr:
    """CSV writes a map as a JSON object; some writers store a list of pairs."""
    labels = pl.Map(pl.String(), pl.String())
    if schema[name] == pl.String:
        return pl.col(name).replace("", None).str.json_decode(labels)
    return pl.col(name).cast(labels)


def _product_size(schema: pl.Schema) -> list[pl.Expr]:
    """CUR 2.0 keeps the size of an instance in the `product` map, the legacy report in columns."""
    if "product" not in schema:
        return []
    return [
        pl.coalesce(pl.col(column), pl.col("product").map.get(key)).alias(column)
        for column, key in _PRODUCT_KEYS.items()
    ]
