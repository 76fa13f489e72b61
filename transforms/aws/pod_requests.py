"""What one pod of a cluster requests: a histogram of requests, weighted by pod-hours.

DaemonSets run on every node, so what they request says nothing of the room a pod needs.
"""

import polars as pl

from transforms.aws.charges import in_period
from transforms.aws.split import is_daemon, orchestrator, resource_kind
from transforms.aws.tags import Tags
from transforms.schema import MONEY
from transforms.sliced import POD_REQUESTS

_HOUR = 3600
_DIGITS = 6
"""Significant digits of a request: pods of odd minutes would else be as many as rows."""


def requests(rows: pl.LazyFrame, tags: Tags, period: str) -> pl.LazyFrame:
    """Return requests by instance, because the cluster of an instance is known later.

    Columns: `orchestrator`, `instance`, `resource_kind`, `quantity` (requested in an hour of the
    interval: cores, GiB or GPUs) and `seconds` of pods; all of them can be added up over files.
    """
    requested = pl.col("split_line_item_reserved_usage").cast(pl.Float64)
    length = pl.col("line_item_usage_end_date") - pl.col("line_item_usage_start_date")
    seconds = length.dt.total_seconds().fill_null(_HOUR)
    is_wanted = in_period(period) & (requested > 0) & ~is_daemon(tags) & (seconds > 0)
    quantity = (requested * _HOUR / seconds).round_sig_figs(_DIGITS)
    # Filtered after the sum: a filter before it would have the file read once more.
    return (
        rows.select(
            operation="line_item_operation",
            instance="split_line_item_parent_resource_id",
            usage_type="line_item_usage_type",
            quantity=pl.when(is_wanted).then(quantity),
            seconds=seconds,
        )
        .group_by("operation", "instance", "usage_type", "quantity")
        .agg(pl.col("seconds").sum())
        .filter(pl.col("quantity").is_not_null())
        .select(
            orchestrator(pl.col("operation")),
            "instance",
            resource_kind(pl.col("usage_type")),
            pl.col("quantity").cast(MONEY),
            "seconds",
        )
    )


def pod_requests(part: pl.LazyFrame, pods: pl.DataFrame) -> pl.DataFrame:
    """Return POD_REQUESTS of the clusters. pods: `resource_id` and `cluster_id` of EKS pods."""
    clusters = pods.group_by(instance="resource_id").agg(pl.col("cluster_id").min())
    is_ours = (pl.col("orchestrator") == "eks") & pl.col("resource_kind").is_not_null()
    keys = ["cluster_id", "resource_kind", "quantity"]
    hours = (pl.col("seconds").sum() / _HOUR).cast(MONEY).alias("weight")
    return (
        part.filter(is_ours)
        .join(clusters.lazy(), on="instance")
        .group_by(keys)
        .agg(hours)
        .sort(keys)
        .select(*POD_REQUESTS)
        .collect(engine="streaming")
    )
