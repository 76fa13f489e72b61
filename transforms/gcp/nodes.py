"""What the export tells of nodes beside their cost: billed hours, and what their pods request.

Google counts core-seconds, not hours, and never says how large a machine is. A machine that ran a
whole hour was charged for its full size in it, so its largest hour measures all the others.
"""

import polars as pl

from transforms.gcp import codes
from transforms.money import zero
from transforms.schema import MONEY
from transforms.sliced import NODE_DAYS, POD_REQUESTS

_MACHINE = ["resource_name", "resource_global_name", "sku_id", "sku"]
_WORKLOAD = [
    "cluster_id",
    "resource_name",
    "resource_global_name",
    "charge_date",
    "namespace",
    "workload_kind",
    "workload_name",
    "resource_kind",
]


def usage(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Return what was billed of the machines of clusters in each hour, in seconds of what they are.

    rows: as `identified` returns them. Columns: resource and SKU, `charge_date`, `hour` (0 to 23),
    `usage`. Corrections are left out: they charge an hour again, they do not make it longer.
    """
    counts = (
        (pl.col("fate") == "sliced")
        & pl.col("cluster_id").is_not_null()
        & ~pl.col("is_correction")
        & (pl.col("unit") == "seconds")
    )
    return (
        rows.filter(counts)
        .group_by(*_MACHINE, "charge_date", hour=pl.col("start").dt.hour())
        .agg(pl.col("usage").sum())
    )


def node_days(seconds: pl.DataFrame) -> pl.DataFrame:
    """Return the billed hours of each machine and day: NODE_DAYS.

    seconds: what `usage` returned for each file. A part of an hour counts as that part. Of several
    SKUs (cores, GPUs, licences) the longest counts; a machine that never ran a whole hour is taken
    to be as large as what its largest hour shows.
    """
    hour = [*_MACHINE, "charge_date", "hour"]
    whole = seconds.filter(pl.col("resource_name").str.contains(codes.INSTANCE))
    return (
        whole.group_by(hour)
        .agg(pl.col("usage").sum())
        .with_columns(size=pl.col("usage").max().over(_MACHINE))
        .filter(pl.col("size") > zero())
        .group_by(*_MACHINE, "charge_date")
        .agg(pl.col("usage").sum(), pl.col("size").first())
        .with_columns(hours=_quotient("usage", "size"), resource_id=resource_id())
        .group_by("resource_id", "charge_date")
        .agg(pl.col("hours").max())
        .filter(pl.col("hours") > zero())
        .select(*NODE_DAYS)
        .sort("resource_id", "charge_date")
    )


def pod_requests(charges: pl.DataFrame) -> pl.DataFrame:
    """Return what each workload requests on each node and day: POD_REQUESTS.

    charges: with their kinds, `requested_quantity` and `in_hours`. Google names workloads, not
    pods, so pods of one workload on one node count as one, over the hours that show it there.
    """
    is_daemon = (pl.col("workload_kind") == "DaemonSet").fill_null(value=False)
    of_pods = (
        (pl.col("row_kind") == "workload")
        & pl.col("node_name").is_not_null()
        & pl.col("resource_kind").is_in(["cpu", "memory", "gpu"])
        & ~is_daemon
    )
    return (
        charges.filter(of_pods)
        .group_by(_WORKLOAD)
        .agg(
            pl.col("requested_quantity").sum(),
            weight=pl.col("in_hours").bitwise_or().bitwise_count_ones().cast(MONEY),
        )
        .filter((pl.col("requested_quantity") > zero()) & (pl.col("weight") > zero()))
        .with_columns(quantity=_quotient("requested_quantity", "weight"))
        .group_by("cluster_id", "resource_kind", "quantity")
        .agg(pl.col("weight").sum())
        .select(*POD_REQUESTS)
        .sort("cluster_id", "resource_kind", "quantity")
    )


def resource_id() -> pl.Expr:
    """Return the global name of a resource, which holds its number, else its name."""
    return pl.coalesce("resource_global_name", "resource_name")


def in_hours() -> pl.Expr:
    """Return the hours of the day in which a charge has a row, one bit for each."""
    return pl.lit(2, dtype=pl.Int32).pow(pl.col("start").dt.hour()).bitwise_or().alias("in_hours")


def _quotient(quantity: str, by: str) -> pl.Expr:
    return (pl.col(quantity).cast(pl.Float64) / pl.col(by).cast(pl.Float64)).cast(MONEY)
