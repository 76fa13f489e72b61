"""What a person must know about a month of Azure data, as findings."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from transforms.azure.choose import Chosen
from transforms.azure.codes import AGENT_BUCKETS, CHARGE_TYPES, QUERY_BUCKET, SPLIT_CATEGORIES
from transforms.azure.shares import Shared
from transforms.money import zero
from transforms.notices import NAME_IT, Code, Notice, of_currencies, of_spellings, of_unknown
from transforms.sliced import Context, finding

_CODES = {"charge_type": Code("unknown_charge_type", ", ".join(CHARGE_TYPES))}
_GROUP = ["sub_account_id", "resource_group"]
_ADD = 'add to `clusters` of the source: "{}" = {{ node_resource_group = "{}" }}'
_ASK = "`az aks list --query '[].[id, nodeResourceGroup]'` shows it; add it to `clusters`"


def of_codes(charges: pl.DataFrame, view: str, context: Context) -> Iterator[Notice]:
    """Charge types that no list names: each with file and value."""
    unknown = charges.filter(pl.col("unknown").is_not_null())
    yield from of_unknown(unknown.with_columns(value="charge_type", amount=view), _CODES, context)


def of_clusters(charges: pl.DataFrame, view: str, context: Context) -> Iterator[Notice]:
    """Clusters on the bill that the configuration does not know, with the line that adds them."""
    tagged = charges.group_by(_GROUP).agg(
        pl.col("tag_cluster").drop_nulls().min(), pl.col("tag_cluster_group").drop_nulls().min()
    )
    is_lost = (pl.col("row_kind") == "outside") & pl.col("is_aks_node")
    lost = charges.filter(is_lost & pl.col("tagged_cluster").is_null())
    sums = lost.group_by(_GROUP).agg(pl.col(view).sum(), pl.col("billing_currency").min())
    named = set()
    for row in sums.join(tagged, on=_GROUP, how="left").sort(_GROUP).to_dicts():
        cluster = _tagged_id(row)
        named.add(cluster)
        group = row["resource_group"]
        yield _not_configured(
            context,
            where=f"resource group {group}, subscription {row['sub_account_id']}",
            actual=f"nodes for {row[view]} {row['billing_currency']} that belong to no cluster",
            hint=_ADD.format(cluster, group) if cluster else _ASK,
        )
    known = charges.filter(pl.col("row_kind") == "cluster_fee").get_column("cluster_id")
    for cluster in sorted(set(known) - set(context.clusters) - named):
        yield _not_configured(
            context, where=cluster, actual="a cluster with its fee alone, without nodes", hint=_ASK
        )


def _not_configured(context: Context, **parts: object) -> Notice:
    expected = "every cluster under `clusters`, with its node resource group"
    return finding(context, "cluster_not_configured", "warning", expected=expected, **parts)


def _tagged_id(row: dict[str, str | None]) -> str | None:
    if not row["tag_cluster"] or not row["tag_cluster_group"]:
        return None
    return (
        f"/subscriptions/{row['sub_account_id']}/resourcegroups/{row['tag_cluster_group']}"
        f"/providers/microsoft.containerservice/managedclusters/{row['tag_cluster']}"
    )


def of_splits(splits: pl.DataFrame, chosen: Chosen, context: Context) -> Iterator[Notice]:
    """Split files that name no day or say something again; words that no list names."""
    for name in chosen.undated:
        yield finding(
            context,
            "split_period_assumed",
            "warning",
            where=name,
            expected="a UsageDate or Date column, or the day in the file's name",
            actual=f"neither: its shares are used for the whole of {context.billing_period}",
            hint="name the file by its day, such as 2026-10-14.json, or by its first and last day",
        )
    repeats = chosen.repeated.group_by("source", "cluster_id", "source_file").len()
    for row in repeats.sort("source", "cluster_id", "source_file").to_dicts():
        yield finding(
            context,
            "split_answered_twice",
            "warning",
            cluster_id=row["cluster_id"],
            where=row["source_file"],
            expected=f"one {row['source']} answer for each day",
            actual=f"{row['len']} days that a later file answers too; the later one counts",
            hint="keep one answer for each day at split_location",
        )
    yield from _unknown_buckets(splits, context)
    yield from _unknown_categories(splits, context)


def _unknown_buckets(splits: pl.DataFrame, context: Context) -> Iterator[Notice]:
    unknown = splits.filter(pl.col("bucket").is_null())
    for name, word in _distinct(unknown, "source_file", "provider_class"):
        yield finding(
            context,
            "unknown_split_bucket",
            "error",
            where=name,
            expected=", ".join((*AGENT_BUCKETS, *QUERY_BUCKET)),
            actual=word or "no value",
            hint=NAME_IT,
        )


def _unknown_categories(splits: pl.DataFrame, context: Context) -> Iterator[Notice]:
    is_query = (pl.col("source") == "query") & pl.col("bucket").ne_missing("service")
    is_known = pl.col("category").is_in(list(SPLIT_CATEGORIES)).fill_null(value=False)
    for name, word in _distinct(splits.filter(is_query & ~is_known), "source_file", "category"):
        yield finding(
            context,
            "unknown_split_category",
            "warning",
            where=name,
            expected=", ".join(SPLIT_CATEGORIES),
            actual=word or "no value",
            hint="its shares divide nothing; tell us the value and which resources it means",
        )


def of_shares(shared: Shared, context: Context) -> Iterator[Notice]:
    """Answers in another currency, and fractions that do not add to 1."""
    for cluster, currency, bill in _distinct(
        shared.foreign, "cluster_id", "currency", "bill_currency"
    ):
        yield finding(
            context,
            "split_currency",
            "warning",
            cluster_id=cluster,
            where=context.source,
            expected=bill,
            actual=currency,
            hint="only the ratios of the answer are used; its idle cannot be compared with ours",
        )
    is_over = (pl.col("difference") > zero()) | (pl.col("smallest") < zero())
    uneven = shared.uneven.with_columns(is_over=is_over, size=pl.col("difference").abs())
    order = ["cluster_id", "source_file", "is_over", "size", "target", "first_day"]
    ranked = uneven.sort(order, descending=[False, False, False, True, False, False])
    worst = ranked.group_by(order[:3], maintain_order=True).agg(pl.all().first(), count=pl.len())
    for row in worst.to_dicts():
        yield _uneven(row, context)


def _uneven(row: dict[str, Any], context: Context) -> Notice:
    """One finding a file and cluster; it shows the farthest resource."""
    return finding(
        context,
        "split_fractions",
        "error" if row["is_over"] else "warning",
        cluster_id=row["cluster_id"],
        where=row["source_file"],
        expected="fractions from 0 that add to 1 for each resource",
        actual=f"{row['count']} that do not; {row['weight']} for {row['target']}",
        difference=row["difference"],
        hint="they are scaled down to 1" if row["is_over"] else "what is missing is unattributed",
    )


def of_source(
    charges: pl.DataFrame, spellings: pl.DataFrame, view: str, context: Context
) -> Iterator[Notice]:
    """Currencies, a metric that the rows contradict, spellings of labels."""
    yield from of_currencies(charges, view, context)
    yield from of_spellings(spellings, context)
    yield from _metric(charges, context)


def _metric(charges: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Fees of commitments stand in an actual export only, unused ones in an amortised only."""
    if context.dataset == "focus_export":
        return
    sign = {"amortized": "commitment_fee", "actual": "unused_commitment"}[str(context.metric)]
    if charges.get_column("reason").eq(sign).any():
        yield finding(
            context,
            "metric_doubtful",
            "warning",
            where=context.source,
            expected=f"an export of {context.metric} cost",
            actual=f"rows of {sign}, which the other metric has",
            hint="see which type the export has, and give `metric` that value",
        )


def _distinct(frame: pl.DataFrame, *names: str) -> Iterator[tuple[str | None, ...]]:
    """The values of some columns that occur together, each once and in order."""
    yield from frame.select(names).unique().sort(names).iter_rows()
