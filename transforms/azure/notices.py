"""What a person must know about a month of Azure data, as findings."""

from collections.abc import Iterator, Mapping

import polars as pl

from transforms.azure.charges import AMOUNTS, GROUP
from transforms.azure.codes import CHARGE_TYPES
from transforms.money import zero
from transforms.notices import Code, Notice, of_currencies, of_spellings, of_unknown
from transforms.sliced import Context, finding

_CODES = {"charge_type": Code("unknown_charge_type", ", ".join(CHARGE_TYPES))}
_BY_CHANCE = 3
_GROUP = ["sub_account_id", "resource_group"]
_ADD = 'add to `clusters` of the source: "{}" = {{ node_resource_group = "{}" }}'
_ASK = "`az aks list --query '[].[id, nodeResourceGroup]'` shows it; add it to `clusters`"
_OTHER = (
    "their tags name {}, whose nodes stand in {} by `clusters`: "
    "`az aks list --query '[].[id, nodeResourceGroup]'` shows which is right"
)


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
            hint=_mend(cluster, group, context),
        )
    billed = charges.filter(pl.col("row_kind") == "cluster_fee").get_column("cluster_id")
    for cluster in sorted(set(billed) - set(context.clusters) - named):
        yield _not_configured(
            context, where=cluster, actual="a cluster with its fee alone, without nodes", hint=_ASK
        )


def _mend(cluster: str | None, group: str, context: Context) -> str:
    if cluster is None:
        return _ASK
    configured = context.clusters.get(cluster)
    return _OTHER.format(cluster, configured) if configured else _ADD.format(cluster, group)


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


def of_source(
    charges: pl.DataFrame, parts: Mapping[str, pl.LazyFrame], view: str, context: Context
) -> Iterator[Notice]:
    """Currencies, a metric that the rows contradict, files that repeat, labels and tags.

    parts: the parts of the files, of which `spellings` and `unread_tags` are read.
    """
    yield from of_currencies(charges, view, context)
    yield from of_spellings(parts["spellings"].collect(), context)
    yield from _metric(charges, view, context)
    yield from _repeated(charges, view, context)
    yield from _unread(parts["unread_tags"].collect(), context)


def _metric(charges: pl.DataFrame, view: str, context: Context) -> Iterator[Notice]:
    """Fees of commitments stand in an actual export only, unused ones in an amortised only.

    And what a commitment covers has a price in an amortised export only.
    """
    if context.dataset == "focus_export":
        return
    is_amortized = context.metric == "amortized"
    reason = "commitment_fee" if is_amortized else "unused_commitment"
    is_covered = (pl.col("charge_type") == "Usage") & (pl.col("pricing_category") == "Committed")
    costs = charges.filter(is_covered).get_column(view) != 0
    signs = {
        f"rows of {reason}": charges.get_column("reason").eq(reason).any(),
        "no price for what commitments cover": is_amortized and len(costs) > 0 and not costs.any(),
        "a price for what commitments cover": not is_amortized and costs.any(),
    }
    for sign in (name for name, is_there in signs.items() if is_there):
        yield finding(
            context,
            "metric_doubtful",
            "warning",
            where=context.source,
            expected=f"an export of {context.metric} cost",
            actual=f"{sign}, as the other metric has it",
            hint="see which type the export has, and give `metric` that value",
        )


def _repeated(charges: pl.DataFrame, view: str, context: Context) -> Iterator[Notice]:
    """Files most of whose charges stand in another one too: a month-to-date run beside a later.

    What lies on the border of two parts of one run can agree by chance; most of a file cannot.
    """
    priced = charges.filter(pl.col(view) != zero())
    sizes = dict(priced.group_by("source_file").len().iter_rows())
    shared = priced.filter(pl.col("source_file").n_unique().over(*GROUP, *AMOUNTS, "rows") > 1)
    said = shared.select(*GROUP, *AMOUNTS, "rows", "source_file")
    both = said.join(said, on=[*GROUP, *AMOUNTS, "rows"], nulls_equal=True, suffix="__later")
    pairs = both.filter(pl.col("source_file") < pl.col("source_file__later")).group_by(
        "source_file", "source_file__later"
    )
    sums = pairs.agg(pl.col(view).sum(), pl.col("rows").sum(), count=pl.len())
    for row in sums.sort("source_file", "source_file__later").to_dicts():
        files = [row["source_file"], row["source_file__later"]]
        smallest, largest = sorted(sizes[name] for name in files)
        if 2 * row["count"] < smallest or (row["count"] < _BY_CHANCE and largest > row["count"]):
            continue
        yield finding(
            context,
            "repeated_export",
            "error",
            where="; ".join(files),
            expected="each run of the export in one place",
            actual=f"{row['rows']} rows with the same cost in each are counted again",
            difference=row[view],
            hint="keep the newest run of the export in the folder, and run the month again",
        )


def _unread(cells: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Tags that are no JSON object of texts: their rows are read as if they had none."""
    sums = cells.group_by("source_file").agg(pl.len(), pl.col("unread_tags").min())
    for name, count, first in sums.sort("source_file").iter_rows():
        yield finding(
            context,
            "unread_tags",
            "warning",
            where=f"{name}, column Tags",
            expected='a JSON object such as {"team": "shop"}, with or without its braces',
            actual=f"{count} that are none, such as {first[:80]}",
            hint="their rows are read without tags; let the provider deliver the month again",
        )
