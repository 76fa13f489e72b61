"""Charges divided by the split rows in force; every quantum of a charge goes to one slice.

Only cost of time is divided, and what tags name was taken out before. Node cost that the answer
in force does not name is a gap; all else that it does not name keeps its own kinds, as everything
does where no answer is in force. A part names both its files: the bill's and the answer's.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from transforms.azure.choose import Chosen
from transforms.azure.codes import SPLIT_CATEGORIES
from transforms.azure.disks import by_pool
from transforms.azure.weights import Weighed, in_force, of_agent, of_query
from transforms.money import apportion, zero
from transforms.schema import MONEY
from transforms.sliced import joined_files

_OF_QUERY = (
    "cluster_id",
    "charge_date",
    "category",
    "meter_category",
    "billing_currency",
    "charge_class",
)
"""What the charges share that a query divides together: it knows categories, no resources."""

_SOLE = ("billing_account_id", "sub_account_id", "invoice_id", "region_id", "pricing_category")
_OWN = ("charge_type", "resource_kind", "split_source")
ORDER = ("bucket", "namespace", "workload_kind", "workload_name", "provider_class", "row")
_OF_SPLIT = (*ORDER, "amount", "weight", "is_foreign", "bill_currency")
_KINDS = {
    "usage": ("workload", None),
    "idle": ("idle", "unrequested"),
    "system": ("system_overhead", "node_reserve"),
    "unallocated": ("unattributed", "unknown_owner"),
    "gap": ("unattributed", "split_gap"),
}
_UNKNOWN = ("unattributed", "unclassified")


class Shared(NamedTuple):
    """slices: every charge or its parts; foreign, uneven: what `Weighed` doubts of each source."""

    slices: pl.DataFrame
    foreign: pl.DataFrame
    uneven: pl.DataFrame


def share(
    charges: pl.DataFrame, chosen: Chosen, views: Sequence[str], labels: Sequence[str]
) -> Shared:
    """Return classified charges as slices; the sum of each view is that of `charges`, exactly.

    charges: what `classify` returns. A divided charge has the kinds, names and the source of its
    split row, and `provider_idle_cost` where the provider calls the part idle.
    """
    sources = chosen.days.select("cluster_id", "charge_date", split_source="source").unique(
        ["cluster_id", "charge_date"]
    )
    marked = charges.join(
        sources, on=["cluster_id", "charge_date"], how="left", maintain_order="left"
    )
    is_open = pl.col("category").is_not_null() & pl.col("split_source").is_not_null()
    closed = marked.filter(~is_open).with_columns(split_source=pl.lit(None, dtype=pl.String))
    at = {name: chosen.rows.filter(pl.col("source") == name) for name in ("query", "agent")}
    in_cluster = charges.filter(pl.col("cluster_id").is_not_null())
    asked, told = of_query(at["query"], in_cluster, views[0]), of_agent(at["agent"])
    slices = [
        closed,
        *_by_query(marked.filter(is_open, split_source="query"), asked, chosen, views, labels),
        *_by_agent(marked.filter(is_open, split_source="agent"), told, chosen, views, labels),
    ]
    return Shared(pl.concat(slices, how="diagonal_relaxed"), asked.doubted, told.doubted)


def _by_query(
    charges: pl.DataFrame,
    weighed: Weighed,
    chosen: Chosen,
    views: Sequence[str],
    labels: Sequence[str],
) -> list[pl.DataFrame]:
    """Divide by cluster, day and category. The slices name no node: a query knows none."""
    on = ["cluster_id", "charge_date", "category"]
    shares = _with_weight(in_force(weighed.rows, chosen), on)
    is_named = pl.col("category").is_in(list(SPLIT_CATEGORIES))
    named = charges.filter(is_named).join(shares, on=on, how="semi", maintain_order="left")
    sole = (*_SOLE, *(f"label:{key}" for key in labels))
    merged = named.group_by(_OF_QUERY).agg(
        *(pl.col(name).sum() for name in views),
        *(_sole(name) for name in sole),
        *(pl.col(name).first() for name in _OWN),
        joined_files(),
        pl.col("rows").sum(),
    )
    pieces = _divided(merged.sort(_OF_QUERY), shares, on, views, labels)
    unnamed = charges.filter(is_named).join(shares, on=on, how="anti", maintain_order="left")
    others = charges.filter(~is_named)
    return [_query_idle(pieces, views[0]), _unnamed(unnamed), _undivided(others)]


def _by_agent(
    charges: pl.DataFrame,
    weighed: Weighed,
    chosen: Chosen,
    views: Sequence[str],
    labels: Sequence[str],
) -> list[pl.DataFrame]:
    """Divide by resource and day. What lies below a node has the node's fractions."""
    on = ["cluster_id", "charge_date", "target"]
    shares = _with_weight(in_force(weighed.rows, chosen), on)
    asset = pl.coalesce("node_resource", "resource_id")
    named = charges.with_columns(target=asset, resource_id=asset)
    found = named.join(shares, on=on, how="semi", maintain_order="left")
    lost = named.join(shares, on=on, how="anti", maintain_order="left")
    disks, pool_shares = by_pool(lost, shares, charges, labels)
    pieces = [
        _agent_idle(_divided(frame, by, on, views, labels), views[0])
        for frame, by in ((found, shares), (disks, pool_shares))
    ]
    left = lost.join(disks, on="charge", how="anti", maintain_order="left")
    return [*pieces, _unnamed(left)]


def _with_weight(shares: pl.DataFrame, on: Sequence[str]) -> pl.DataFrame:
    """Nothing can be divided by weights that are all 0; such an answer names the asset not."""
    return shares.filter(pl.col("weight").sum().over(on) > zero())


def _divided(
    charges: pl.DataFrame,
    shares: pl.DataFrame,
    on: Sequence[str],
    views: Sequence[str],
    labels: Sequence[str],
) -> pl.DataFrame:
    """Return one row for each charge and split row of its key, with its part of each view."""
    tags = [f"label:{key}" for key in labels]
    names = [name for name in (*_OF_SPLIT, *tags) if name not in on]
    left = charges.drop(name for name in _OF_SPLIT if name in charges.columns)
    pieces = left.with_row_index("__charge").join(
        shares.select(*on, *names, split_file="source_file"),
        on=list(on),
        how="inner",
        suffix="__split",
    )
    pieces = pieces.with_columns(pl.coalesce(f"{tag}__split", tag).alias(tag) for tag in tags)
    parts = {
        view: apportion(pieces, by=["__charge"], total=view, weight="weight", order=ORDER)
        for view in views
    }
    files = pl.concat_str("source_file", "split_file", separator="; ")
    return pieces.with_columns(*_kinds(), **parts, source_file=files).drop("__charge")


def _kinds() -> list[pl.Expr]:
    """The kinds of a part, by its bucket; idle that is no time-based capacity is shared."""
    bucket, category = pl.col("bucket"), pl.col("category")
    is_idle_elsewhere = (bucket == "idle") & ~category.is_in(["Compute", "Storage"])
    is_network = category == "Networking"
    kind, reason = (
        bucket.replace_strict(
            {name: kinds[index] for name, kinds in _KINDS.items()},
            default=_UNKNOWN[index],
            return_dtype=pl.String,
        )
        for index in (0, 1)
    )
    elsewhere = pl.when(is_network).then(pl.lit("load_balancer")).otherwise(pl.lit("other"))
    return [
        pl.when(is_idle_elsewhere).then(pl.lit("shared")).otherwise(kind).alias("row_kind"),
        pl.when(is_idle_elsewhere).then(elsewhere).otherwise(reason).alias("reason"),
    ]


def _query_idle(pieces: pl.DataFrame, view: str) -> pl.DataFrame:
    """Put the query's own money for idle on the slices it became; a foreign one says nothing."""
    counts = (
        (pl.col("bucket") == "idle")
        & ~pl.col("is_foreign")
        & (pl.col("bill_currency") == pl.col("billing_currency"))
    )
    idle = pieces.filter(counts).with_columns(__size=pl.col(view).abs())
    nothing = pl.col("__size").sum().over("row") == zero()
    idle = idle.with_columns(
        __size=pl.when(nothing).then(pl.lit(1, dtype=MONEY)).otherwise("__size")
    )
    order = ["charge_date", *_OF_QUERY]
    amounts = apportion(idle, by=["row"], total="amount", weight="__size", order=order)
    rest = pieces.filter(~counts.fill_null(value=False))
    told = idle.drop("__size").with_columns(provider_idle_cost=amounts)
    return pl.concat([told, rest], how="diagonal")


def _agent_idle(pieces: pl.DataFrame, view: str) -> pl.DataFrame:
    """The agent has no money of its own: its idle is the slice's cost."""
    return pieces.with_columns(provider_idle_cost=pl.when(bucket="idle").then(view))


def _unnamed(charges: pl.DataFrame) -> pl.DataFrame:
    """Charges that the answer in force does not name: node cost is a gap, all else is itself."""
    is_gap = (pl.col("reason") == "no_split_source").fill_null(value=False)
    return charges.with_columns(
        reason=pl.when(is_gap).then(pl.lit("split_gap")).otherwise("reason"),
        split_source=pl.when(is_gap).then("split_source"),
    )


def _undivided(charges: pl.DataFrame) -> pl.DataFrame:
    return charges.with_columns(split_source=pl.lit(None, dtype=pl.String))


def _sole(name: str) -> pl.Expr:
    """Return the value all rows share; NULL where they differ."""
    return pl.when(pl.col(name).n_unique() == 1).then(pl.col(name).first()).alias(name)
