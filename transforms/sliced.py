"""What a provider's transform hands on: one month of one source, sliced."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from transforms.errors import InputError
from transforms.schema import DAY, MONEY, TABLES, TEXT, polars_schema

Finding = dict[str, str | None]
"""One row of the table `findings`."""

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
NODE_DAYS = {"resource_id": TEXT, "charge_date": DAY, "hours": MONEY}
POD_REQUESTS = {"cluster_id": TEXT, "resource_kind": TEXT, "quantity": MONEY, "weight": MONEY}


class NodeIds(NamedTuple):
    """How the nodes that Kubernetes knows are found on a provider's bill.

    provider_id: a pattern of what Kubernetes calls them; its group is what the bill tells of it;
    billed: the same of a node of the bill, from its `resource_id` and `node_name`; None where the
    bill tells no nodes, and the pattern has no group. A provider id that is the `resource_id` as
    a whole is found without either.
    """

    provider_id: str
    billed: pl.Expr | None


@dataclass(frozen=True)
class Context:
    """Which month of which source is being sliced, and what its configuration says.

    labels: the labels that are wanted; currency: the one that is promised;
    metric: which cost the export holds, `amortized` or `actual`; None where it may hold both;
    clusters: cluster id -> node resource group, both in lower case;
    splits: who may split a cluster's cost, the preferred first;
    charge_basis: `provider` charges what the provider split, `request` what was requested.
    """

    provider: str
    source: str
    dataset: str
    billing_period: str
    labels: tuple[str, ...] = ()
    currency: str | None = None
    metric: str | None = None
    clusters: Mapping[str, str] = field(default_factory=dict)
    splits: tuple[str, ...] = ()
    charge_basis: str = "provider"


@dataclass(frozen=True)
class Sliced:
    """One month of one source.

    slices: the columns of `normalised` except team and team_rule, which rules fill later;
    totals: what each fate of the raw rows adds up to, summed before anything was sliced;
    cluster_bills: each cluster's bill, summed before anything was split;
    findings: what a person must know;
    bill_values: what the bill query must know beside the billing period, by parameter name;
    node_days: NODE_DAYS, billed hours of each node and day, where they are known;
    pod_requests: POD_REQUESTS, what one pod requests (cores, GiB or GPUs) and for how many
    pod-hours; without DaemonSets and without requests of 0.
    """

    slices: pl.DataFrame
    totals: pl.DataFrame
    cluster_bills: pl.DataFrame
    findings: pl.DataFrame
    bill_values: Mapping[str, object] = field(default_factory=dict)
    node_days: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=NODE_DAYS))
    pod_requests: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=POD_REQUESTS))


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


def totals(rows: pl.DataFrame, views: Sequence[str], context: Context) -> pl.DataFrame:
    """Return what each fate of the raw rows adds up to, in each view.

    rows: `fate`, `billing_currency`, `rows`, and for each view its amount and `<view>_abs`.
    """
    keys = ["fate", "billing_currency"]
    sums = [
        rows.group_by(keys).agg(
            pl.col("rows").sum(),
            amount=pl.col(view).sum(),
            amount_abs=pl.col(f"{view}_abs").sum(),
            cost_view=pl.lit(view),
        )
        for view in views
    ]
    return _typed(pl.concat(sums), TOTALS, context)


def cluster_bills(charges: pl.DataFrame, views: Sequence[str], context: Context) -> pl.DataFrame:
    """Return each cluster's bill, in each view: to be summed before any charge is split.

    charges: `cluster_id` (NULL outside), `billing_currency`, and for each view its amount.
    """
    inside = charges.filter(pl.col("cluster_id").is_not_null())
    sums = [
        inside.group_by("cluster_id", "billing_currency").agg(
            amount=pl.col(view).sum(), cost_view=pl.lit(view)
        )
        for view in views
    ]
    return _typed(pl.concat(sums), CLUSTER_BILLS, context)


def _typed(
    frame: pl.DataFrame, schema: Mapping[str, pl.DataType], context: Context
) -> pl.DataFrame:
    named = frame.with_columns(provider=pl.lit(context.provider), source=pl.lit(context.source))
    return named.select(pl.col(name).cast(dtype) for name, dtype in schema.items())


def require_values(part: pl.DataFrame, columns: Mapping[str, str]) -> None:
    """Refuse a part in which a value is missing that every row needs.

    columns: column of `part` -> the raw column it came from. `part` also has `source_file` and
    `rows`. Without such a value a row would be lost, or stand in no sum.
    Raises InputError.
    """
    for name, column in columns.items():
        empty = part.filter(pl.col(name).is_null())
        if not empty.is_empty():
            raise InputError(
                "a value is missing",
                where=f"{empty.get_column('source_file').sort()[0]}, column {column}",
                expected="a value in every row",
                got=f"{empty.get_column('rows').sum()} rows without one",
                hint="let the provider deliver the month again; nothing was changed",
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


def finding(context: Context, rule: str, severity: str, **parts: object) -> Finding:
    """Return a finding about one source; parts that are not given are NULL."""
    about = {"provider": context.provider, "source": context.source}
    return of_month(context.billing_period, rule, severity, **about, **parts)


def of_month(month: str, rule: str, severity: str, **parts: object) -> Finding:
    """Return a finding about a month and none of its sources; parts not given are NULL."""
    told = {name: None if value is None else str(value) for name, value in parts.items()}
    return completed({"rule": rule, "severity": severity, **told}, month)


def completed(found: Finding, month: str) -> Finding:
    """Return a finding of a month with all columns of the table."""
    return {**dict.fromkeys(TABLES["findings"]), **found, "billing_period": month}


def findings_frame(rows: Sequence[Finding]) -> pl.DataFrame:
    """Return finding rows as a table, also when there are none."""
    return pl.DataFrame(list(rows), schema=polars_schema("findings"))
