"""The oracle's reading of the pods of one AWS instance and day.

Choices where the contract leaves room:

* Pods are one workload of a node and day when they share namespace, kind and name of their owner
  and all their tags. What a part of a workload did not measure is unknown for the whole.
* A pod is a DaemonSet's when its tag says so. An hour is a split interval: it is the agents' alone
  when every pod with a split row in it is a DaemonSet's. Hours before the last one with another
  pod are no waiting for scale-down, also on the last day.
* What one pod requests is read from each of its rows, over the whole interval: hours of a node that
  came or went within them count like whole ones.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from datetime import datetime, timedelta
from fractions import Fraction

from tests.oracle_aws_charges import AwsSlice, slice_of
from tests.oracle_aws_files import Row
from tests.oracle_aws_source import Source, start, tag
from tests.oracle_slices import ZERO, PodRequest, rounded

SUFFIXES = {"vCPU-Hours": "cpu", "GB-Hours": "memory", "Accelerator-Hours": "gpu"}
AGENT = "DaemonSet"

Owner = tuple[Hashable, ...]
"""What pods of one workload and resource share."""


def resource_kind(row: Row) -> str:
    """Return what a split row splits."""
    return next(k for suffix, k in SUFFIXES.items() if row["line_item_usage_type"].endswith(suffix))


def workloads(source: Source, rows: Iterable[Row], where: dict[str, object]) -> list[AwsSlice]:
    """Return a slice for each workload and resource of a node and day."""
    found: dict[Owner, list[AwsSlice]] = defaultdict(list)
    for row in rows:
        found[_owner(row)].append(_workload(source, row, where))
    return [_joined(pieces) for pieces in found.values()]


def _owner(row: Row) -> Owner:
    return (
        resource_kind(row),
        row["line_item_resource_id"].split("/")[2],
        _kind(row),
        _name(row),
        tuple(sorted(row["tags"].items())),
    )


def _kind(row: Row) -> str | None:
    return "Deployment" if tag(row, "aws:eks:deployment") else tag(row, "aws:eks:workload-type")


def _name(row: Row) -> str:
    named = tag(row, "aws:eks:deployment") or tag(row, "aws:eks:workload-name")
    return named or row["line_item_resource_id"].split("/")[3]


def _workload(source: Source, row: Row, where: dict[str, object]) -> AwsSlice:
    cost, unused = source.split_amounts(row)
    return slice_of(
        source,
        row,
        ("workload", None, resource_kind(row)),
        **where,
        effective=cost,
        billed=ZERO,
        gross=rounded(row["split_line_item_split_cost"]),
        namespace=row["line_item_resource_id"].split("/")[2],
        labels=row["tags"],
        workload_kind=_kind(row),
        is_pod=True,
        provider_idle=unused,
        provider_idle_gross=rounded(row["split_line_item_unused_cost"]),
        workload_idle=_slack_cost(row, cost),
        slack=_slack(row),
        requested=rounded(row.get("split_line_item_reserved_usage")),
        used=_measured(row),
        charged=rounded(row["split_line_item_split_usage"]),
    )


def _measured(row: Row) -> Fraction | None:
    used = row.get("split_line_item_actual_usage")
    return None if used is None else rounded(used)


def _slack(row: Row) -> Fraction | None:
    """Return what a split row requested and did not use; None where not measured."""
    used = row.get("split_line_item_actual_usage")
    reserved: Fraction = row.get("split_line_item_reserved_usage") or ZERO
    return None if used is None else max(reserved - used, ZERO)


def _slack_cost(row: Row, cost: Fraction) -> Fraction | None:
    slack, charged = _slack(row), row["split_line_item_split_usage"]
    if slack is None:
        return None
    return cost * slack / charged if charged else ZERO


def _joined(pieces: Sequence[AwsSlice]) -> AwsSlice:
    whole = pieces[0]
    for piece in pieces[1:]:
        whole.effective += piece.effective
        whole.gross += piece.gross
        whole.provider_idle_gross += piece.provider_idle_gross
        for name in ("provider_idle", "workload_idle", "slack", "requested", "used", "charged"):
            parts = getattr(whole, name), getattr(piece, name)
            setattr(whole, name, None if None in parts else sum(parts, ZERO))
    return whole


# ------------------------------------------------------------------------------------ hours


def agents_hours(rows: Sequence[Row], *, is_last_day: bool) -> dict[datetime, str]:
    """Return the cause of each hour in which only agents ran.

    `is_last_day`: of an instance that left.
    """
    hours = {start(row) for row in rows}
    busy = {start(row) for row in rows if tag(row, "aws:eks:workload-type") != AGENT}
    last = max(busy, default=None)
    return {
        hour: "scale_down_wait" if is_last_day and (last is None or hour > last) else "empty_node"
        for hour in sorted(hours - busy)
    }


def requests(source: Source) -> list[PodRequest]:
    """Return what each pod requests in each interval, without agents and requests of 0."""
    found = []
    for row in source.splits:
        reserved = rounded(row.get("split_line_item_reserved_usage"))
        if reserved > 0 and tag(row, "aws:eks:workload-type") != AGENT:
            cluster = source.instances[row["split_line_item_parent_resource_id"]]
            length = row["line_item_usage_end_date"] - start(row)
            hours = Fraction(length // timedelta(seconds=1), 3600)
            found.append(PodRequest(cluster, resource_kind(row), reserved / hours, hours))
    return found
