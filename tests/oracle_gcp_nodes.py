"""The oracle's reading of Google's nodes: their hours and capacity, and what pods request.

Choices where the contract leaves room:

* Capacity of a node, day and resource is all that was billed of it and split, in hours; it stands
  on one idle row.
* Google bills seconds of cores, not of nodes. The largest hour of a machine and SKU in the month
  is a whole one: billed hours of a day are its seconds by that, of several SKUs the longest.
  Corrections make no hour longer.
* Google names workloads, not pods: what a workload requests on a node and day, by the hours of the
  day in which it has a row there, is a request of so many pod-hours.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from fractions import Fraction

from tests.oracle_gcp_files import Row
from tests.oracle_slices import ZERO, PodRequest, Slice

UNITS = {
    ("cpu", "seconds"): Fraction(3600),
    ("memory", "byte-seconds"): Fraction(3600 * 2**30),
    ("gpu", "seconds"): Fraction(3600),
}
AGENT = "DaemonSet"

Charge = tuple[Row, Slice]


def _hours_of(charge: Charge) -> Fraction | None:
    """Return core-hours, GiB-hours or GPU-hours of a charge."""
    row, piece = charge
    unit = UNITS.get((piece.resource_kind, row.unit or ""))
    return None if unit is None or row.usage is None else row.usage / unit


def give_capacity(charges: Sequence[Charge]) -> None:
    """Put the capacity of each node, day and resource on one of its idle slices."""
    had: dict[tuple[object, ...], Fraction] = defaultdict(Fraction)
    bears: dict[tuple[object, ...], Slice] = {}
    for row, piece in charges:
        hours = _hours_of((row, piece))
        if piece.node_name is None or "k8s-namespace" not in row.labels or hours is None:
            continue
        key: tuple[object, ...] = (
            piece.cluster,
            piece.node_name,
            piece.day,
            piece.resource_kind,
        )
        had[key] += hours
        if piece.row_kind == "idle":
            bears.setdefault(key, piece)
    for key, piece in bears.items():
        piece.capacity = had[key]


def hours(charges: Iterable[Charge]) -> dict[tuple[str, date], Fraction]:
    """Return the billed hours of each machine and day."""
    seconds: dict[tuple[object, ...], dict[tuple[date, int], Fraction]] = defaultdict(
        lambda: defaultdict(Fraction)
    )
    for row, piece in charges:
        is_machine = re.fullmatch(r"projects/[^/]+/instances/[^/]+", row.resource or "")
        if is_machine and piece.cluster and not row.is_correction and row.unit == "seconds":
            part = (row.resource_id, row.sku_id, row.sku)
            seconds[part][row.start.date(), row.start.hour] += row.usage or ZERO
    found: dict[tuple[str, date], Fraction] = {}
    for (node, *_), by_hour in seconds.items():
        size = max(by_hour.values())
        days: dict[date, Fraction] = defaultdict(Fraction)
        for (day, _), amount in by_hour.items():
            days[day] += amount
        for day, amount in days.items():
            if size > 0 and amount > 0:
                at = (str(node), day)
                found[at] = max(amount / size, found.get(at, ZERO))
    return found


def requests(charges: Iterable[Charge]) -> list[PodRequest]:
    """Return what workloads request on each node and day, without agents."""
    asked: dict[tuple[str, str, object], Fraction] = defaultdict(Fraction)
    seen: dict[tuple[str, str, object], set[int]] = defaultdict(set)
    for row, piece in charges:
        amount = _hours_of((row, piece))
        is_pod = piece.row_kind == "workload" and piece.workload_kind != AGENT
        if not is_pod or piece.node_name is None or amount is None:
            continue
        owner = row.labels.get("k8s-workload-type"), row.labels.get("k8s-workload-name")
        who = (piece.node, piece.day, piece.namespace, owner)
        key = (str(piece.cluster), piece.resource_kind, who)
        asked[key] += amount
        seen[key].add(row.start.hour)
    return [
        PodRequest(
            cluster,
            kind,
            amount / len(seen[cluster, kind, who]),
            Fraction(len(seen[cluster, kind, who])),
        )
        for (cluster, kind, who), amount in asked.items()
        if amount > 0
    ]
