"""Node disks that the agent does not name, because they were replaced during the day.

Such a disk has the fractions of its node pool. A disk is used as far as its node is; what the
node keeps for its own system is no use of the disk, so it stands idle with the rest.
"""

from collections.abc import Sequence

import polars as pl

from transforms.sliced import joined_files

_DAY = ["cluster_id", "charge_date"]
_NAME = r"/([^/]+)$"
_SCALE_SET = r"-vmss$"


def by_pool(
    lost: pl.DataFrame, shares: pl.DataFrame, charges: pl.DataFrame, labels: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the lost node disks with their pool's `target`, and the fractions for them.

    lost: charges without split rows; shares: split rows by `target` and day; charges: all charges
    that a split may divide, whose node rows tell which scale set is which pool. A disk belongs to
    the pool that its tag names, else to the scale set whose name its own name begins with.
    """
    is_disk = (pl.col("category") == "Storage") & ~pl.col("is_volume")
    pools = _pools(shares, charges)
    disk_name = pl.col("resource_id").str.extract(_NAME, 1)
    by_tag = (pl.col("node_pool") == pl.col("pool")).fill_null(value=False)
    by_name = disk_name.str.starts_with(pl.col("stem")).fill_null(value=False)
    disks = (
        lost.filter(is_disk)
        .drop("target")
        .join(pools, on=_DAY, how="inner")
        .filter(by_tag | by_name)
        .with_columns(__by_tag=by_tag, __length=pl.col("stem").str.len_bytes())
        .sort(["charge", "__by_tag", "__length", "target"], descending=[False, True, True, False])
        .unique("charge", keep="first", maintain_order=True)
        .with_columns(node_pool=pl.coalesce("node_pool", "pool"))
        .drop("__by_tag", "__length", "pool", "stem")
    )
    return disks, _of_disks(shares, labels)


def _pools(shares: pl.DataFrame, charges: pl.DataFrame) -> pl.DataFrame:
    """The machines with fractions on a day: `target`, its `pool` and the `stem` of its disks."""
    tagged = (
        charges.filter(pl.col("node_resource").is_not_null())
        .group_by("cluster_id", target="node_resource")
        .agg(pool=pl.col("node_pool").drop_nulls().min())
    )
    machines = shares.filter(pl.col("category") == "Compute").select(*_DAY, "target").unique()
    stem = pl.col("target").str.extract(_NAME, 1).str.replace(_SCALE_SET, "")
    return machines.join(tagged, on=["cluster_id", "target"], how="left").with_columns(stem=stem)


def _of_disks(shares: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return fractions of machines as those of their disks: system is idle there."""
    is_system = pl.col("bucket") == "system"
    named = shares.with_columns(
        bucket=pl.when(is_system).then(pl.lit("idle")).otherwise("bucket"),
        provider_class=pl.when(is_system).then(pl.lit("idle")).otherwise("provider_class"),
    )
    keys = [*_DAY, "target", "bucket", "provider_class", "namespace", "workload_kind"]
    keys += ["workload_name", "is_foreign", "bill_currency", *(f"label:{key}" for key in labels)]
    return named.group_by(keys).agg(
        pl.col("row").min(), pl.col("weight", "amount").sum(), joined_files()
    )
