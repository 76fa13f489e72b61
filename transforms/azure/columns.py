"""The columns of Azure's exports, whatever the agreement, version or language calls them.

EA and MCA cost exports and the FOCUS export become one set of names. Headers are compared in
lower case; of a localised header, `Deutsches Wort (EnglishName)`, the name in brackets counts.
"""

import re
from collections.abc import Iterable, Mapping

import polars as pl

from transforms import cells
from transforms.azure import dates
from transforms.errors import InputError, doubled, lacking
from transforms.schema import MONEY

DAYS = ("period_start", "date")
AMOUNTS = ("effective", "billed", "list_cost", "contracted_cost", "quantity")
_NUMBERS = (*AMOUNTS, "cost")

COST_EXPORT: dict[str, tuple[str, ...]] = {
    "period_start": ("BillingPeriodStartDate",),
    "date": ("Date",),
    "charge_type": ("ChargeType",),
    "cost": ("CostInBillingCurrency", "Cost"),
    "billing_currency": ("BillingCurrencyCode", "BillingCurrency"),
    "meter_category": ("MeterCategory",),
    "meter_name": ("MeterName",),
    "unit": ("UnitOfMeasure",),
    "resource_id": ("ResourceId",),
    "sub_account_id": ("SubscriptionId",),
    "resource_group": ("ResourceGroupName", "ResourceGroup"),
    "billing_account_id": ("BillingAccountId",),
    "invoice_id": ("InvoiceId",),
    "region_id": ("ResourceLocationNormalized", "ResourceLocation"),
    "sku_id": ("MeterId",),
    "pricing_model": ("PricingModel",),
    "commitment": ("BenefitId", "ReservationId"),
    "order_name": ("ProductOrderName",),
    "rule_name": ("CostAllocationRuleName",),
    "list_cost": ("PaygCostInBillingCurrency",),
    "quantity": ("Quantity",),
    "tags": ("Tags",),
    "details": ("AdditionalInfo",),
}
"""Our name -> names in a cost export, EA and MCA. Of an amount the first that is there counts."""

FOCUS_EXPORT: dict[str, tuple[str, ...]] = {
    "period_start": ("BillingPeriodStart",),
    "date": ("ChargePeriodStart",),
    "charge_type": ("ChargeCategory",),
    "charge_class": ("ChargeClass",),
    "commitment_status": ("CommitmentDiscountStatus",),
    "commitment_type": ("CommitmentDiscountType",),
    "effective": ("EffectiveCost",),
    "billed": ("BilledCost",),
    "billing_currency": ("BillingCurrency",),
    "meter_category": ("x_SkuMeterCategory", "ServiceName"),
    "meter_name": ("SkuMeter", "x_SkuMeterName"),
    "unit": ("x_PricingUnitDescription", "PricingUnit"),
    "resource_id": ("ResourceId",),
    "sub_account_id": ("SubAccountId",),
    "resource_group": ("x_ResourceGroupName",),
    "billing_account_id": ("x_BillingAccountId", "BillingAccountId"),
    "invoice_id": ("InvoiceId", "x_InvoiceId"),
    "region_id": ("RegionId",),
    "sku_id": ("x_SkuMeterId", "SkuId"),
    "pricing_model": ("PricingCategory",),
    "commitment": ("CommitmentDiscountId",),
    "order_name": ("x_SkuOrderName",),
    "rule_name": ("x_CostAllocationRuleName",),
    "list_cost": ("ListCost",),
    "contracted_cost": ("ContractedCost",),
    "quantity": ("PricingQuantity",),
    "tags": ("Tags",),
    "details": ("x_SkuDetails",),
}
"""Our name -> names in a FOCUS export, 1.0, 1.0r2 and 1.2-preview."""

DATASETS = {"cost_export": COST_EXPORT, "focus_export": FOCUS_EXPORT}
_NEEDED = (
    *("period_start", "date", "charge_type", "cost", "effective", "billed"),
    *("billing_currency", "meter_category", "unit", "resource_id", "sub_account_id"),
)
_TEXT = tuple(
    dict.fromkeys(
        name
        for dataset in DATASETS.values()
        for name in dataset
        if name not in (*DAYS, *AMOUNTS, "cost", "tags")
    )
)
_IN_BRACKETS = re.compile(r"\((\w+)\)\s*$")
_METRIC_VIEW = {"amortized": "effective", "actual": "billed"}


def plain(header: str) -> str:
    """Return a header in the form in which all languages and agreements agree."""
    bracket = _IN_BRACKETS.search(header)
    return (bracket[1] if bracket else header.strip('\ufeff" ')).lower()


def dataset_of(header: Iterable[str]) -> str:
    """Return whether a header is that of a FOCUS or of a cost export."""
    return "focus_export" if "billedcost" in map(plain, header) else "cost_export"


def views_of(dataset: str, metric: str | None) -> tuple[str, ...]:
    """Return the cost views a source has. Raises InputError where nobody said which."""
    if metric is not None:
        return (_METRIC_VIEW[metric],)
    if dataset == "focus_export":
        return tuple(_METRIC_VIEW.values())
    raise InputError(
        "the source does not say which cost its export holds",
        expected='metric = "amortized" or metric = "actual"',
        got="no metric",
        hint="a cost export holds one of the two, and its rows do not tell which",
    )


def located(header: Iterable[str], dataset: str) -> dict[str, tuple[str, ...]]:
    """Return our name -> the raw columns that hold it, the one that counts first.

    Raises InputError where two raw columns bear one name that is read.
    """
    wanted = {name.lower() for names in DATASETS[dataset].values() for name in names}
    raw: dict[str, str] = {}
    for column in header:
        name = plain(column)
        if name in raw and name in wanted:
            raise doubled(name, (raw[name], column), hint="use the file as Azure wrote it")
        raw[name] = column
    return {
        ours: tuple(raw[name.lower()] for name in names if name.lower() in raw)
        for ours, names in DATASETS[dataset].items()
    }


def require(found: Mapping[str, tuple[str, ...]], header: Iterable[str], dataset: str) -> None:
    """Raise InputError where a column is missing that the arithmetic needs."""
    names = DATASETS[dataset]
    missing = [
        " or ".join(names[ours]) for ours in _NEEDED if ours in names and not found.get(ours)
    ]
    if missing:
        raise lacking(
            missing,
            header,
            expected=f"the columns of dataset {dataset}",
            hint=_why(header, dataset),
        )


def _why(header: Iterable[str], dataset: str) -> str:
    first, *others = [*header, ""]
    if "\0" in first:
        return "the file is UTF-16, as spreadsheets save it: use the file as Azure wrote it"
    if others == [""] and re.search(r"[;\t|]", first):
        return "no comma separates its cells, as spreadsheets save it: use the file of Azure"
    if (other := dataset_of(header)) != dataset:
        return f'its header is that of another export: set `dataset = "{other}"` for its source'
    return (
        "cost_export is ActualCost or AmortizedCost of an EA or MCA account, focus_export "
        "is FOCUS 1.0 to 1.2; name the dataset of the source, or choose all columns"
    )


def require_types(found: Mapping[str, tuple[str, ...]], schema: Mapping[str, pl.DataType]) -> None:
    """Raise InputError where a column is read whose type cannot hold such values."""
    for ours, names in found.items():
        wrong = next((name for name in names if not _fits(ours, schema[name])), None)
        if wrong is not None:
            raise InputError(
                f"the column {wrong} is of a type that cannot be read",
                expected="days or times, or text"
                if ours in DAYS
                else "numbers, or text"
                if ours in _NUMBERS
                else "text",
                got=str(schema[wrong]),
                hint="use the file as Azure wrote it",
            )


def _fits(ours: str, dtype: pl.DataType) -> bool:
    if dtype in (pl.String, pl.Null):
        return True
    if ours in DAYS:
        return dtype.is_temporal() and dtype not in (pl.Time, pl.Duration)
    return dtype.is_numeric() if ours in _NUMBERS else not dtype.is_nested()


def resolve(
    raw: pl.LazyFrame,
    found: Mapping[str, tuple[str, ...]],
    views: tuple[str, ...],
    form: str,
) -> pl.LazyFrame:
    """Return `raw` under our names, typed; a view the source lacks is NULL.

    Shape: one row for each raw row, columns DAYS, AMOUNTS, `tags` and the texts, all of them.
    Money and quantities become exact decimals here, once.
    """
    schema = raw.collect_schema()
    sources = {**found, **{view: found.get(view) or found.get("cost", ()) for view in views}}
    for view in set(_METRIC_VIEW.values()) - set(views):
        sources[view] = ()
    return raw.select(
        *(dates.day(pl.col(c), schema[c], form).alias(n) for n in DAYS for c in found[n][:1]),
        *(_amount(sources.get(n, ()), schema).alias(n) for n in AMOUNTS),
        *(_text(found.get(n, ())).alias(n) for n in (*_TEXT, "tags")),
    )


def _text(columns: tuple[str, ...]) -> pl.Expr:
    nothing = pl.lit(None, dtype=pl.String)
    return pl.coalesce(*(cells.text(pl.col(name)) for name in columns), nothing)


def _amount(columns: tuple[str, ...], schema: pl.Schema) -> pl.Expr:
    if not columns:
        return pl.lit(None, dtype=MONEY)
    value, dtype = pl.col(columns[0]), schema[columns[0]]
    return cells.amount(value.cast(pl.Float64) if dtype == pl.Float32 else value, dtype)
