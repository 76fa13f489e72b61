"""Which split source, and which of its files, divides a cluster's cost on a day.

One source for each cluster and day: the first in the configured order that has rows for it.
Within a source, files whose rows complement each other are pages of one answer; a file that says
something again that a later one says too was answered twice, and the later one counts.
"""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from transforms.azure.clusters import of_resources
from transforms.azure.splits import with_days
from transforms.schema import DAY
from transforms.sliced import Context

CLUSTER_DAY = ["source", "cluster_id", "charge_date"]
KEY = ["target", "category", "provider_class", "namespace", "workload_kind", "workload_name"]
"""What a query says once of one day; the agent tells all of a resource (`target`) at once."""


class Chosen(NamedTuple):
    """The split rows in force.

    rows: one for each thing an answer says, with `row` (its number), `cluster_id`, `first_day`
    and `last_day`; days: which `row` is in force on which `charge_date`; undated: the files whose
    names tell no day; repeated: CLUSTER_DAY and the files that do not count.
    """

    rows: pl.DataFrame
    days: pl.DataFrame
    undated: list[str]
    repeated: pl.DataFrame


def choose(splits: pl.DataFrame, context: Context) -> Chosen:
    """Return the split rows in force, one source for each cluster and day.

    splits: the parts `splits` of all files, with `source_file`.
    """
    wanted = splits.filter(pl.col("source").is_in(context.splits))
    dated, undated = with_days(wanted, context.billing_period)
    rows = _summed(_with_clusters(dated, context))
    days = _without_repeats(_first_source(_by_day(rows), context.splits))
    used = rows.join(days.kept.select("row").unique(), on="row", how="semi")
    return Chosen(used, days.kept, undated, days.dropped)


def _with_clusters(splits: pl.DataFrame, context: Context) -> pl.DataFrame:
    """A query names the cluster, the agent a resource of it."""
    found = of_resources(splits.get_column("target"), context.clusters)
    by_resource = splits.join(
        found.rename({"resource_id": "target"}), on="target", how="left", maintain_order="left"
    )
    named = pl.when(pl.col("source") == "query").then("target").otherwise("cluster_id")
    return by_resource.with_columns(cluster_id=named).filter(pl.col("cluster_id").is_not_null())


def _summed(splits: pl.DataFrame) -> pl.DataFrame:
    """What one file says several times of one thing is one row; a cluster fee divides nothing."""
    keys = [name for name in splits.columns if name != "amount"]
    shares = splits.filter(pl.col("bucket").ne_missing("service"))
    summed = shares.group_by(keys).agg(pl.col("amount").sum(), piece_count=pl.len())
    return summed.sort(keys).with_row_index("row")


def _by_day(rows: pl.DataFrame) -> pl.DataFrame:
    days = rows.with_columns(charge_date=pl.date_ranges("first_day", "last_day"))
    exploded = days.explode("charge_date", empty_as_null=False, keep_nulls=False)
    is_whole = pl.col("source") == "agent"
    exploded = exploded.with_columns(pl.when(~is_whole).then(name).alias(name) for name in KEY[1:])
    return exploded.select("row", "source_file", *CLUSTER_DAY, *KEY).cast({"charge_date": DAY})


def _first_source(days: pl.DataFrame, order: Sequence[str]) -> pl.DataFrame:
    ranks = [pl.when(source=name).then(pl.lit(rank)) for rank, name in enumerate(order)]
    rank = pl.coalesce(*ranks, pl.lit(None, dtype=pl.Int32))
    first = rank.min().over("cluster_id", "charge_date")
    return days.filter(rank == first)


class _Days(NamedTuple):
    kept: pl.DataFrame
    dropped: pl.DataFrame


def _without_repeats(days: pl.DataFrame) -> _Days:
    """Drop the files that a later one repeats, cluster-day by cluster-day."""
    files = pl.col("source_file").n_unique().over([*CLUSTER_DAY, *KEY])
    doubted = days.filter(files > 1).select(CLUSTER_DAY).unique()
    shown = [*CLUSTER_DAY, "source_file"]
    dropped: list[tuple[object, ...]] = []
    for day in doubted.sort(CLUSTER_DAY).iter_rows(named=True):
        answers = days.filter(*(pl.col(name) == value for name, value in day.items()))
        dropped += [(*day.values(), name) for name in _repeated(answers)]
    schema = {name: days.schema[name] for name in shown}
    gone = pl.DataFrame(dropped, schema=schema, orient="row")
    kept = days.join(gone, on=shown, how="anti", maintain_order="left")
    return _Days(kept.select("row", *CLUSTER_DAY), gone)


def _repeated(answers: pl.DataFrame) -> list[str]:
    """The files that say something again which a file that counts says too."""
    said: set[tuple[object, ...]] = set()
    gone = []
    for (name,), rows in sorted(
        answers.group_by("source_file"), key=lambda found: str(found[0][0]), reverse=True
    ):
        keys = set(rows.select(KEY).iter_rows())
        if keys & said:
            gone.append(str(name))
        else:
            said |= keys
    return sorted(gone)
