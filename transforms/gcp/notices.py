"""What a person must know about a month of Google data, as findings."""

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from itertools import groupby

import polars as pl

from transforms.gcp import codes
from transforms.notices import Code, Notice, of_currencies, of_spellings, of_unknown
from transforms.sliced import Context, finding

_CODES = {
    "cost_type": Code("unknown_cost_type", ", ".join(codes.COST_TYPES)),
    "credit_type": Code(
        "unknown_credit_type", ", ".join([*codes.PRICE_CREDITS, *codes.PAYMENT_CREDITS])
    ),
    "namespace": Code(
        "unknown_namespace_value", ", ".join(["a namespace", *codes.NAMESPACE_KINDS]), "warning"
    ),
}


def of_codes(charges: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Codes that no list names: each with file and value."""
    columns = {column: column for column in _CODES} | {"namespace": "raw_namespace"}
    value = pl.coalesce(pl.when(unknown=code).then(column) for code, column in columns.items())
    unknown = charges.filter(pl.col("unknown").is_not_null())
    yield from of_unknown(unknown.with_columns(value=value, amount="effective"), _CODES, context)


def of_split(charges: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Clusters of whose cost Google does not say whose it is."""
    in_cluster = pl.col("cluster_id").is_not_null() & (pl.col("row_kind") != "cluster_fee")
    is_known = pl.col("raw_namespace").is_not_null()
    own = charges.filter(in_cluster & pl.col("unknown").is_null())
    for (cluster, _), rows in sorted(own.group_by("cluster_id", "billing_currency")):
        missing = rows.filter(~is_known)
        if missing.is_empty():
            continue
        total, unknown = (_sum(frame) for frame in (rows, missing))
        share = f"{100 * (total - unknown) / total:.1f} %" if total > 0 else "an unknown share"
        days = set(rows["charge_date"]) - set(rows.filter(is_known)["charge_date"])
        yield finding(
            context,
            "split_coverage",
            "warning",
            cluster_id=cluster,
            where=context.source,
            expected="a namespace on every row of the cluster's nodes and disks",
            actual=f"{share} of the cost has one; days without any: {_spans(days) or 'none'}",
            difference=unknown,
            hint="gcloud container clusters update NAME --enable-cost-allocation; it works "
            "forward only and takes up to three days",
        )


def of_source(charges: pl.DataFrame, spellings: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Fees nobody spreads, currencies, spellings of labels."""
    yield from _fees(charges, context)
    yield from of_currencies(charges, "effective", context)
    yield from of_spellings(spellings, context)


def _fees(charges: pl.DataFrame, context: Context) -> Iterator[Notice]:
    fees = charges.filter(pl.col("reason") == "commitment_fee")
    for (currency,), rows in sorted(fees.group_by("billing_currency")):
        yield finding(
            context,
            "commitment_fee_outside",
            "info",
            where=context.source,
            actual=f"commitment fees of {_sum(rows)} {currency} are outside",
            difference=_sum(rows),
            hint="the discounts they buy are inside the clusters' cost; Google does not say "
            "which row a fee belongs to",
        )


def of_exports(exports: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Rows exported twice: no run of the export writes the same rows into two files.

    Google's rows have no id and equal rows may be right, so none is dropped.
    """
    counted_again = pl.col("source_file").list.len() - 1
    repeated = (
        exports.group_by("export_time", "rows", "cost", "print")
        .agg(pl.col("source_file").sort())
        .filter(counted_again > 0)
        .group_by("source_file")
        .agg((pl.col("rows", "cost") * counted_again).sum(), runs=pl.len())
        .sort(pl.col("source_file").list.join("; "))
    )
    for row in repeated.to_dicts():
        yield finding(
            context,
            "repeated_export",
            "error",
            where="; ".join(row["source_file"]),
            expected="each run of the export in one file",
            actual=f"{row['runs']} runs with the same rows and cost in each: {row['rows']} rows "
            "are counted again",
            difference=row["cost"],
            hint="remove the older export from the folder and run the month again",
        )


def _sum(charges: pl.DataFrame) -> Decimal:
    return Decimal(str(charges.get_column("effective").sum()))


def _spans(days: set[date]) -> str:
    """Return days as spans: `2026-10-01 to 2026-10-03, 2026-10-07`."""
    ordered = sorted(days)
    spans = []
    for _, run in groupby(enumerate(ordered), lambda item: item[1] - timedelta(days=item[0])):
        span = [day for _, day in run]
        spans.append(f"{span[0]} to {span[-1]}" if len(span) > 1 else f"{span[0]}")
    return ", ".join(spans)
