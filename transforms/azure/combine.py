"""The parts of all files of a month, put together into slices.

Order: find each charge's cluster, classify it, choose the split in force for each cluster and
day, divide what a split may divide, report what a person must know.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from transforms.azure import notices, split_notices
from transforms.azure.answers import SPLITS
from transforms.azure.choose import choose
from transforms.azure.classify import classify
from transforms.azure.clusters import name_of, require_places, with_clusters
from transforms.azure.codes import CHARGE_CATEGORY, SERVICE_CATEGORY
from transforms.azure.columns import DATASETS, views_of
from transforms.azure.shares import share
from transforms.errors import InputError
from transforms.schema import TEXT
from transforms.sliced import (
    Context,
    Sliced,
    as_slices,
    cluster_bills,
    findings_frame,
    require_values,
    totals,
)

_NEVER_EMPTY = {
    "fate": "period_start",
    "charge_date": "date",
    "billing_currency": "billing_currency",
}


def combine(parts: Mapping[str, pl.LazyFrame], context: Context) -> Sliced:
    """Return one month of one source, sliced.

    parts: what `slice_file` and `slice_split` returned for each file, concatenated, with
    `source_file` added; without split files there is no part `splits`.
    Raises InputError where a row lacks its month, its day, its currency or its amount, or where
    there is no row; ConfigurationError where the configuration places a cluster where none can be.
    """
    views = views_of(context.dataset, context.metric)
    require_places(context.clusters, context.source)
    raw = _charges(parts)
    _require(raw, views, context)
    found = with_clusters(raw.filter(fate="sliced"), context.clusters)
    charges = classify(found).with_row_index("charge")
    splits = _splits(parts, context)
    chosen = choose(splits, context)
    shared = share(charges, chosen, views, context.labels)
    return Sliced(
        slices=as_slices(_finish(shared.slices, views), context),
        totals=totals(raw, views, context),
        cluster_bills=cluster_bills(charges, views, context),
        findings=findings_frame(
            [
                *notices.of_codes(charges, views[0], context),
                *notices.of_clusters(charges, views[0], context),
                *split_notices.of_splits(splits, chosen, charges, context),
                *split_notices.of_shares(shared, context),
                *notices.of_source(charges, parts, views[0], context),
            ]
        ),
        bill_values={view: view in views for view in ("effective", "billed")},
    )


def _charges(parts: Mapping[str, pl.LazyFrame]) -> pl.DataFrame:
    if "charges" not in parts:
        raise InputError(
            "no file of the bill holds a row",
            expected="an export with a header and rows",
            got="empty files",
            hint="run the export again, and copy its files whole",
        )
    return parts["charges"].collect(engine="streaming")


def _require(charges: pl.DataFrame, views: Sequence[str], context: Context) -> None:
    names = DATASETS[context.dataset]
    columns = {name: " or ".join(names[ours]) for name, ours in _NEVER_EMPTY.items()}
    amounts = {view: " or ".join(names.get(view) or names["cost"]) for view in views}
    require_values(charges, columns | amounts)


def _splits(parts: Mapping[str, pl.LazyFrame], context: Context) -> pl.DataFrame:
    if "splits" in parts:
        return parts["splits"].collect()
    labels = {f"label:{key}": TEXT for key in context.labels}
    return pl.DataFrame(schema={**SPLITS, **labels, "source_file": TEXT})


def _finish(slices: pl.DataFrame, views: Sequence[str]) -> pl.DataFrame:
    """Fill the columns of `normalised` that a slice knows by itself."""
    is_usage = pl.col("charge_type") == "Usage"
    word = pl.when(is_usage).then("meter_category").otherwise("charge_type")
    is_whole = pl.col("bucket").is_null() & pl.col("row").is_null()
    whole = {name: pl.when(is_whole).then(name) for name in ("list_cost", "contracted_cost")}
    costs = {f"{view}_cost": pl.col(view) for view in views}
    return slices.with_columns(
        **costs,
        **whole,
        cluster_name=name_of(pl.col("cluster_id")),
        service_name="meter_category",
        service_category=pl.col("meter_category").replace_strict(SERVICE_CATEGORY, default="Other"),
        charge_category=pl.col("charge_type").replace_strict(CHARGE_CATEGORY, default=None),
        provider_class=pl.coalesce("provider_class", word),
        pricing_quantity=pl.when(is_whole).then("quantity"),
        pricing_unit=pl.when(is_whole).then("unit"),
        origin_id=_origin(),
    )


def _origin() -> pl.Expr:
    """The charge of a day: of a resource, or of a category where a query divided it."""
    by_query = pl.col("split_source").eq_missing("query") & pl.col("resource_id").is_null()
    own = ("charge_type", "sku_id", "resource_id")
    parts = (
        pl.when(by_query)
        .then(
            pl.concat_str(
                "cluster_id", "category", "meter_category", separator="/", ignore_nulls=True
            )
        )
        .otherwise(pl.concat_str(*(pl.col(name).fill_null("-") for name in own), separator="/"))
    )
    return pl.concat_str(parts, pl.col("charge_date").cast(pl.String), separator="/")
