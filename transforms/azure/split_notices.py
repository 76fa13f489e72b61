"""What a person must know about the split files of a month, as findings."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from transforms.azure.choose import Chosen
from transforms.azure.codes import AGENT_BUCKETS, QUERY_BUCKET, SPLIT_CATEGORIES
from transforms.azure.shares import Shared
from transforms.money import zero
from transforms.notices import NAME_IT, Notice
from transforms.sliced import Context, finding


def of_splits(
    splits: pl.DataFrame, chosen: Chosen, charges: pl.DataFrame, context: Context
) -> Iterator[Notice]:
    """Split files that name no day or say something again; what they name and nobody knows."""
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
    yield from _twice(chosen, context)
    yield from _unknown_buckets(splits, context)
    yield from _unknown_categories(splits, context)
    used = splits.filter(pl.col("source").is_in(context.splits))
    yield from _strangers(used, charges, context)
    yield from _negative(used, context)


def _twice(chosen: Chosen, context: Context) -> Iterator[Notice]:
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


def _strangers(splits: pl.DataFrame, charges: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Clusters and resource groups of an answer that are neither configured nor on the bill."""
    group = pl.col("target").str.extract(r"^(/subscriptions/[^/]+/resourcegroups/[^/]+)", 1)
    is_query = pl.col("source") == "query"
    named = splits.with_columns(place=pl.when(is_query).then("target").otherwise(group))
    strange = named.filter(~pl.col("place").is_in(_known(charges, context)).fill_null(value=False))
    sums = strange.group_by("source", "place").agg(
        pl.col("source_file").min(), files=pl.col("source_file").n_unique()
    )
    for source, place, name, files in sums.sort("source", "place").iter_rows():
        yield finding(
            context,
            "split_of_stranger",
            "warning",
            where=name,
            expected=f"{source} answers for the clusters under `clusters`",
            actual=f"{place or 'no id'} in {files} files, which is neither there nor on the bill",
            hint="its shares divide nothing; add the cluster, or see that the export covers it",
        )


def _known(charges: pl.DataFrame, context: Context) -> list[str]:
    """The clusters and resource groups that are configured or on the bill."""
    configured = {(name.split("/")[2], group) for name, group in context.clusters.items()}
    billed = charges.select("sub_account_id", "resource_group").unique().iter_rows()
    groups = {
        f"/subscriptions/{subscription}/resourcegroups/{group}"
        for subscription, group in {*configured, *billed}
    }
    return sorted({*context.clusters, *charges.get_column("cluster_id").drop_nulls()} | groups)


def _negative(splits: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Money below 0 cannot be a share. Fractions below 0 are told with those that miss 1."""
    below = splits.filter(source="query").filter(pl.col("amount") < zero())
    sums = below.group_by("source_file").agg(pl.len(), pl.col("amount").sum())
    for name, count, amount in sums.sort("source_file").iter_rows():
        yield finding(
            context,
            "split_negative",
            "warning",
            where=name,
            expected="money of 0 or more for each namespace",
            actual=f"{count} below 0",
            difference=amount,
            hint="they count as 0, so the others divide the whole bill of their category",
        )


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
            "error",
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


def _distinct(frame: pl.DataFrame, *names: str) -> Iterator[tuple[str | None, ...]]:
    """The values of some columns that occur together, each once and in order."""
    yield from frame.select(names).unique().sort(names).iter_rows()
