"""What a person must know about a month of AWS data, as findings."""

from collections.abc import Iterator
from decimal import Decimal

import polars as pl

from transforms.aws.codes import CLUSTER_FEE, LINE_ITEM_TYPES, SPLIT_OPERATIONS, SPLIT_SUFFIX
from transforms.aws.hours import Intervals
from transforms.aws.node_days import KEY
from transforms.money import DUST_PER_ROW, zero
from transforms.notices import Code, Notice, of_currencies, of_spellings, of_unknown
from transforms.sliced import Context, finding

_CODES = {
    "line_item_type": Code("unknown_line_item_type", ", ".join(LINE_ITEM_TYPES)),
    "usage_type": Code("unknown_usage_type", ", ".join([*SPLIT_SUFFIX, *CLUSTER_FEE.values()])),
    "operation": Code("unknown_operation", ", ".join(SPLIT_OPERATIONS)),
}


def lacks_net_split(pods: pl.DataFrame) -> bool:
    """Say whether pods have cost but none of it net."""
    has_cost = pods.filter((pl.col("gross_split") + pl.col("gross_unused")) != zero())
    return not has_cost.is_empty() and has_cost.get_column("net_filled").sum() == 0


def of_basis(
    charges: pl.DataFrame, pods: pl.DataFrame, context: Context, *, net: bool
) -> Iterator[Notice]:
    """Amounts that should be there and are not."""
    if charges.get_column("net_filled").sum() and lacks_net_split(pods):
        yield finding(
            context,
            "net_split_missing",
            "warning",
            where=context.source,
            expected="net_split_cost and net_unused_cost wherever the account has net amounts",
            actual="no split row has a net amount; the month is reckoned before discounts",
            hint="name split_line_item_net_split_cost and ..._net_unused_cost in the query",
        )
    column = "net_missing" if net else "gross_missing"
    missing = charges.filter((pl.col(column) > 0) & (pl.col("fate") == "sliced"))
    for row in _summed(missing, ["line_item_type", "source_file"], column):
        yield finding(
            context,
            "cost_missing",
            "error",
            where=row["source_file"],
            expected=f"an amortised amount on every {row['line_item_type']} row",
            actual=f"{row['count']} rows without one, counted as 0",
            hint="add the missing cost columns to the export and let AWS deliver the month again",
        )


def of_codes(others: pl.DataFrame, pods: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Codes that no list names: each with file and value."""
    value = pl.coalesce(pl.when(pl.col("unknown") == column).then(column) for column in _CODES)
    unknown = others.filter(pl.col("unknown").is_not_null()).select(
        "source_file", "cluster_id", "unknown", value=value, amount="effective"
    )
    suffix = pods.filter(pl.col("resource_kind").is_null()).select(
        "source_file",
        "cluster_id",
        unknown=pl.lit("usage_type"),
        value="usage_type",
        amount=pl.col("effective_split") + pl.col("effective_unused"),
    )
    both = pl.concat([unknown, suffix], how="vertical_relaxed")
    yield from of_unknown(both, _CODES, context)


def of_split(
    parents: pl.DataFrame,
    pods: pl.DataFrame,
    eks: pl.DataFrame,
    nodes: pl.DataFrame,
    when: Intervals,
    context: Context,
) -> Iterator[Notice]:
    """Split rows that cannot be used, or do not come out as AWS says."""
    yield from _orphans(parents, eks, context)
    yield from _provider_idle(eks.join(parents.select(KEY).unique(), on=KEY), nodes, context)
    yield from _coarse(nodes, when, context)
    other = pods.filter(pl.col("orchestrator") != "eks")
    if not other.is_empty():
        yield finding(
            context,
            "ecs_split_rows",
            "info",
            where=context.source,
            actual=f"{other.get_column('rows').sum()} split rows of ECS or Batch",
            hint="they are kept apart: their instances are outside the clusters",
        )


def _orphans(parents: pl.DataFrame, eks: pl.DataFrame, context: Context) -> Iterator[Notice]:
    cost = pl.col("effective_split") + pl.col("effective_unused")
    orphans = eks.join(parents.select(KEY).unique(), on=KEY, how="anti")
    keys = ["resource_id", "cluster_id", "source_file"]
    summed = orphans.group_by(keys).agg(cost.sum().alias("cost"), pl.col("rows").sum()).sort(keys)
    for row in summed.filter(pl.col("cost") != zero()).to_dicts():
        yield finding(
            context,
            "orphan_split",
            "error",
            cluster_id=row["cluster_id"],
            where=row["source_file"],
            expected=f"rows of the instance {row['resource_id'] or '(none named)'} on the same day",
            actual=f"{row['rows']} split rows without a parent",
            difference=row["cost"],
            hint="export the account and service of the instance too, without row filters",
        )


def _provider_idle(eks: pl.DataFrame, nodes: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """What AWS put on pods as unused is our idle again, instance by instance.

    Charged by request, pods and idle together are what AWS split.
    """
    unused, is_ours = pl.col("effective_unused"), pl.col("reason") == "unrequested"
    if context.charge_basis == "request":
        unused += pl.col("effective_split")
        is_ours |= pl.col("row_kind") == "workload"
    theirs = (
        eks.filter(pl.col("resource_kind").is_not_null())
        .group_by("resource_id")
        .agg(theirs=unused.sum(), rows=pl.col("rows").sum())
    )
    ours = nodes.filter(is_ours).group_by("resource_id").agg(ours=pl.col("effective_cost").sum())
    both = theirs.join(ours, on="resource_id", how="full", coalesce=True)
    difference = pl.col("ours").fill_null(zero()) - pl.col("theirs").fill_null(zero())
    # Parents have fewer rows than pods, so twice the split rows bounds the rows that took part.
    bound = pl.col("rows").fill_null(0).cast(pl.Float64) * float(2 * DUST_PER_ROW)
    for row in (
        both.filter(difference.abs().cast(pl.Float64) > bound).sort("resource_id").to_dicts()
    ):
        yield finding(
            context,
            "provider_idle_differs",
            "error",
            where=row["resource_id"],
            expected=row["theirs"],
            actual=row["ours"],
            difference=(row["ours"] or Decimal(0)) - (row["theirs"] or Decimal(0)),
            hint="this is a defect of leerlauf: please report it with the month's findings",
        )


def _coarse(nodes: pl.DataFrame, when: Intervals, context: Context) -> Iterator[Notice]:
    gaps = nodes.filter(pl.col("reason") == "split_gap")
    if when.daily and not gaps.is_empty():
        yield finding(
            context,
            "daily_granularity",
            "warning",
            where=context.source,
            expected="hourly split rows",
            actual="daily split rows: empty hours of a node cannot be told from a gap",
            difference=gaps.get_column("effective_cost").sum(),
            hint="create the export with TIME_GRANULARITY = HOURLY",
        )


def of_source(
    sliced: pl.DataFrame, others: pl.DataFrame, spellings: pl.DataFrame, context: Context
) -> Iterator[Notice]:
    """Currencies, spellings of labels, volumes whose cluster nobody names."""
    yield from of_currencies(sliced, "effective", context)
    yield from of_spellings(spellings, context)
    yield from _lost_volumes(others, context)


def _lost_volumes(others: pl.DataFrame, context: Context) -> Iterator[Notice]:
    is_lost = (pl.col("row_kind") == "outside") & pl.col("claim_namespace").is_not_null()
    lost = others.filter(is_lost)
    if not lost.is_empty():
        yield finding(
            context,
            "volume_without_cluster",
            "warning",
            where=context.source,
            actual=f"{lost['resource_id'].n_unique()} claimed volumes whose tags name no cluster",
            difference=lost["effective"].sum(),
            hint="activate the cost allocation tag KubernetesCluster",
        )


def _summed(frame: pl.DataFrame, keys: list[str], column: str) -> list[dict[str, object]]:
    return frame.group_by(keys).agg(count=pl.col(column).sum()).sort(keys).to_dicts()
