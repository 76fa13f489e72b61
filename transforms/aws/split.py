"""Split rows: what AWS says each pod cost of its instance, at the grain of workload and day.

A split row adds nothing to the bill; its money stands on its parent. Rows are summed per pod
first, then the pod's ARN is taken apart once and pods are merged into workloads.
"""

from collections.abc import Sequence

import polars as pl

from transforms.aws.charges import fate, workload_idle
from transforms.aws.codes import POD_ARN, SPLIT_OPERATIONS, SPLIT_SUFFIX
from transforms.aws.tags import POD_KEYS, Tags
from transforms.money import known_sum, zero

SUMS = (
    "gross_split",
    "gross_unused",
    "net_split",
    "net_unused",
    "list_split",
    "list_unused",
    "gross_workload_idle",
    "net_workload_idle",
    "requested_quantity",
    "used_quantity",
    "charged_quantity",
    "slack_quantity",
)
_UNKNOWN_WHEN_MISSING = (
    "gross_workload_idle",
    "net_workload_idle",
    "requested_quantity",
    "used_quantity",
    "slack_quantity",
)
DAEMON = "DaemonSet"
"""Workload type of pods that run on every node, and keep none busy."""

IDENTITY = (
    "fate",
    "orchestrator",
    "charge_date",
    "instance",
    "cluster_arn",
    "tag_cluster",
    "sub_account_id",
    "region_id",
    "namespace",
    "workload_kind",
    "workload_name",
    "node_name",
    "resource_kind",
    "usage_type",
    "billing_currency",
)
"""What two pods must share to be one workload on one node and day."""


def pods(rows: pl.LazyFrame, tags: Tags, labels: Sequence[str], period: str) -> pl.LazyFrame:
    """Return split rows as workloads of a node and day.

    Columns: IDENTITY, one `label:<key>` for each wanted label, the sums SUMS (money; NULL where
    nothing was measured), `rows` and `net_filled` (rows with a net amount).
    `resource_kind` is NULL where AWS's usage type ends in something unknown; only then
    `usage_type` is kept.
    """
    label_names = [f"label:{key}" for key in labels]
    split = rows.select(*_columns(tags, labels, period))
    keys = [name for name in split.collect_schema() if name not in SUMS]
    per_pod = split.group_by(keys).agg(*_sums(), *_counts())
    return (
        per_pod.with_columns(*_identity())
        .group_by([*IDENTITY, *label_names])
        .agg(*_sums(), pl.col("rows").sum(), pl.col("net_filled").sum())
    )


def orchestrator(operation: pl.Expr) -> pl.Expr:
    """Return who runs the pods of a split row: `eks` or `ecs`."""
    found = operation.replace_strict(SPLIT_OPERATIONS, return_dtype=pl.String)
    return found.alias("orchestrator")


def resource_kind(usage_type: pl.Expr) -> pl.Expr:
    """Return what a split row splits; NULL where its usage type ends in something unknown."""
    found = pl.lit(None, dtype=pl.String)
    for suffix, kind in SPLIT_SUFFIX.items():
        ends = usage_type.str.ends_with(suffix)
        found = pl.when(ends).then(pl.lit(kind)).otherwise(found)
    return found.alias("resource_kind")


def is_daemon(tags: Tags) -> pl.Expr:
    """Say whether a split row is of a DaemonSet's pod; a pod without tags is not."""
    return (tags.value(POD_KEYS["workload_type"]) == DAEMON).fill_null(value=False)


def _columns(tags: Tags, labels: Sequence[str], period: str) -> list[pl.Expr]:
    return [
        fate("split_information", period).alias("fate"),
        orchestrator(pl.col("line_item_operation")),
        pl.col("line_item_usage_start_date").dt.date().alias("charge_date"),
        pl.col("split_line_item_parent_resource_id").alias("instance"),
        pl.col("line_item_resource_id").alias("pod"),
        pl.col("line_item_usage_type").alias("usage_type"),
        pl.col("line_item_currency_code").alias("billing_currency"),
        pl.col("line_item_usage_account_id").alias("sub_account_id"),
        pl.coalesce("product_region_code", "product_region").alias("region_id"),
        *(tags.value(key).alias(name) for name, key in POD_KEYS.items()),
        *(tags.value(key).alias(f"label:{key}") for key in labels),
        *_amounts(),
    ]


def _amounts() -> list[pl.Expr]:
    def column(name: str) -> pl.Expr:
        return pl.col(f"split_line_item_{name}")

    return [
        column("split_cost").alias("gross_split"),
        column("unused_cost").alias("gross_unused"),
        column("net_split_cost").alias("net_split"),
        column("net_unused_cost").alias("net_unused"),
        column("public_on_demand_split_cost").alias("list_split"),
        column("public_on_demand_unused_cost").alias("list_unused"),
        _slack_of("split_cost").alias("gross_workload_idle"),
        _slack_of("net_split_cost").alias("net_workload_idle"),
        column("reserved_usage").alias("requested_quantity"),
        column("actual_usage").alias("used_quantity"),
        column("split_usage").alias("charged_quantity"),
        _slack().alias("slack_quantity"),
    ]


def _slack() -> pl.Expr:
    """What was requested and not used, in AWS's own interval; NULL where one is not known."""
    slack = pl.col("split_line_item_reserved_usage") - pl.col("split_line_item_actual_usage")
    return pl.when(slack < zero()).then(zero()).otherwise(slack)


def _slack_of(cost: str) -> pl.Expr:
    return workload_idle(
        pl.col(f"split_line_item_{cost}"),
        pl.col("split_line_item_reserved_usage"),
        "split_line_item_split_usage",
    )


def _sums() -> list[pl.Expr]:
    known = [name for name in SUMS if name not in _UNKNOWN_WHEN_MISSING]
    unmeasured = [known_sum(name) for name in _UNKNOWN_WHEN_MISSING]
    return [*(pl.col(name).sum() for name in known), *unmeasured]


def _counts() -> list[pl.Expr]:
    net = pl.coalesce("net_split", "net_unused")
    return [
        pl.len().cast(pl.Int64).alias("rows"),
        net.count().cast(pl.Int64).alias("net_filled"),
    ]


def _identity() -> list[pl.Expr]:
    """Identity from the pod's ARN first, from the tags second."""
    arn = [pl.col("pod").str.extract(POD_ARN.pattern, group) for group in range(1, 5)]
    kind = resource_kind(pl.col("usage_type"))
    is_deployed = pl.col("deployment").is_not_null()
    return [
        pl.concat_str(arn[0], pl.lit("cluster/"), arn[1]).alias("cluster_arn"),
        pl.coalesce(arn[2], pl.col("tag_namespace")).alias("namespace"),
        pl.when(is_deployed)
        .then(pl.lit("Deployment"))
        .otherwise(pl.col("workload_type"))
        .alias("workload_kind"),
        pl.coalesce("deployment", "workload_name", arn[3]).alias("workload_name"),
        kind,
        pl.when(kind.is_null()).then(pl.col("usage_type")).alias("usage_type"),
    ]
