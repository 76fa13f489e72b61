"""What a provider's transform hands on: one month of one source, sliced."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from transforms.schema import DAY, MONEY, TABLES, TEXT, polars_schema

TOTALS = {
    "provider": TEXT,
    "source": TEXT,
    "fate": TEXT,
    "billing_currency": TEXT,
    "cost_view": TEXT,
    "rows": pl.Int64(),
    "amount": MONEY,
    "amount_abs": MONEY,
}
CLUSTER_BILLS = {
    "provider": TEXT,
    "source": TEXT,
    "cluster_id": TEXT,
    "billing_currency": TEXT,
    "cost_view": TEXT,
    "amount": MONEY,
}


@dataclass(frozen=True)
class Context:
    """Which month of which source is being sliced, and which labels are wanted."""

    provider: str
    source: str
    dataset: str
    billing_period: str
    labels: tuple[str, ...] = ()
    currency: str | None = None


@dataclass(frozen=True)
class Sliced:
    """One month of one source.

    slices: the columns of `normalised` except team and team_rule, which rules fill later;
    totals: what each fate of the raw rows adds up to, summed before anything was sliced;
    cluster_bills: each cluster's bill, summed before anything was split;
    findings: what a person must know;
    net: whether amortised amounts are net of all discounts.
    """

    slices: pl.DataFrame
    totals: pl.DataFrame
    cluster_bills: pl.DataFrame
    findings: pl.DataFrame
    net: bool


def as_slices(frame: pl.DataFrame, context: Context) -> pl.DataFrame:
    """Complete a frame to all columns of `normalised`; what it does not know is NULL."""
    same = {
        "billing_period": context.billing_period,
        "provider": context.provider,
        "source": context.source,
        "source_dataset": context.dataset,
    }
    schema = polars_schema("normalised")
    filled = frame.with_columns(
        **{name: pl.lit(value) for name, value in same.items()},
        charge_period_start=pl.col("charge_date"),
        charge_period_end=pl.col("charge_date").dt.offset_by("1d").cast(DAY),
        labels=label_map(context.labels),
    )
    return filled.select(
        (pl.col(name) if name in filled.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in schema.items()
    )


def label_map(labels: Sequence[str]) -> pl.Expr:
    """Gather the columns `label:<key>` into one map; a label that is not set has no entry."""
    if not labels:
        return pl.lit(None, dtype=pl.Map(TEXT, TEXT))
    entries = pl.concat_list(
        pl.struct(key=pl.lit(key), value=pl.col(f"label:{key}")) for key in sorted(labels)
    )
    filled = entries.list.filter(pl.element().struct.field("value").is_not_null())
    return pl.when(filled.list.len() > 0).then(filled.cast(pl.Map(TEXT, TEXT)))


def joined_files() -> pl.Expr:
    """The files a merged row came from, in a fixed order."""
    return pl.col("source_file").unique().sort().str.join("; ").alias("source_file")


def finding(context: Context, rule: str, severity: str, **parts: object) -> dict[str, str | None]:
    """Return one row of the findings table; parts that are not given are NULL."""
    row: dict[str, str | None] = dict.fromkeys(TABLES["findings"])
    row |= {"billing_period": context.billing_period, "provider": context.provider}
    row |= {"source": context.source, "rule": rule, "severity": severity}
    return row | {name: None if value is None else str(value) for name, value in parts.items()}


def findings_frame(rows: Sequence[dict[str, str | None]]) -> pl.DataFrame:
    """Return finding rows as a table, also when there are none."""
    return pl.DataFrame(list(rows), schema=polars_schema("findings"))
