"""The oracle's causes of idle: why capacity stood idle, slice by slice.

Choices where the contract leaves room:

* A node left on its last day with billed hours, else with any slice, when that lies before the
  last such day of its source.
* A pod is what has a namespace on a node, whatever its row kind; a node's pool is at its minimum
  by the nodes that have idle or pods on the day.
* Of a resource without any idle slice nothing is free. Without capacity, hours or a price `fits`
  is unknown: such a resource neither strands another one, nor has it a cause but `rest`.
* Of a resource whose typical request is unknown everything fits, unless free capacity is below 0.
* A slice that is not on a known node has no empty day: only its own reason or cause tells.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction

from tests.oracle_carving import (
    NodeDay,
    Part,
    capacity_of,
    cost_of,
    idle_of,
    is_node_row,
    node_day,
    parts,
)
from tests.oracle_rules import Entry, is_in_force, is_named, names_cluster
from tests.oracle_slices import ZERO, PodRequest, Read, Slice

AGENT = "DaemonSet"
TOLERANCE = 1 - Fraction(1, 10**6)
Typical = Mapping[tuple[str, str], Fraction]
"""What is usually requested in a cluster of a resource."""


def give_causes(reads: Mapping[str, Read], pieces: Sequence[Slice], pools: Sequence[Entry]) -> None:
    """Give each idle slice its cause; `pools` are the [[node_pool]] tables."""
    empty = _empty_days(pieces)
    last = {name: _last_days(name, read, pieces) for name, read in reads.items()}
    small = _smallest(pieces, pools)
    idle = idle_of(pieces)
    for piece in idle:
        is_empty = "empty_node" in (piece.reason, piece.cause) or (
            is_node_row(piece) and node_day(piece) in empty
        )
        if piece.cause == "scale_down_wait" or (
            is_empty
            and not piece.knows_hours
            and last[piece.source].get(str(piece.node)) == piece.day
        ):
            piece.cause = "scale_down_wait"
        elif _pool(piece) in small:
            piece.cause = "minimum_size"
        else:
            piece.cause = "empty_node" if is_empty else None
    for name, read in reads.items():
        _give_by_fit(read, [piece for piece in pieces if piece.source == name])
    for piece in idle:
        piece.cause = piece.cause or "rest"


# ------------------------------------------------------------------------------- whole nodes


def _is_pod(piece: Slice) -> bool:
    return piece.row_kind in ("workload", "headroom", "system_overhead") and piece.is_pod


def _empty_days(pieces: Iterable[Slice]) -> set[NodeDay]:
    rows = [piece for piece in pieces if is_node_row(piece)]
    busy = {node_day(row) for row in rows if _is_pod(row) and row.workload_kind != AGENT}
    return {node_day(row) for row in rows} - busy


def _last_days(source: str, read: Read, pieces: Iterable[Slice]) -> dict[str, date]:
    seen = list(read.hours) or [
        (str(piece.node), piece.day)
        for piece in pieces
        if piece.source == source and is_node_row(piece)
    ]
    last: dict[str, date] = {}
    for node, day in seen:
        last[node] = max(day, last.get(node, day))
    return {node: day for node, day in last.items() if day < max(last.values())}


def _pool(piece: Slice) -> tuple[str, str, date] | None:
    if piece.node_pool is None:
        return None
    return str(piece.cluster), piece.node_pool, piece.day


def _smallest(
    pieces: Iterable[Slice], entries: Sequence[Entry]
) -> set[tuple[str, str, date] | None]:
    """Return the pools and days with no more nodes than the pool must have."""
    nodes: dict[tuple[str, str, date], set[str]] = defaultdict(set)
    for piece in pieces:
        pool = _pool(piece)
        if pool and is_node_row(piece) and (piece.row_kind == "idle" or _is_pod(piece)):
            nodes[pool].add(str(piece.node))
    return {pool for pool, names in nodes.items() if len(names) <= _minimum(pool, entries)}


def _minimum(pool: tuple[str, str, date], entries: Sequence[Entry]) -> int:
    cluster, name, day = pool
    for entry in entries:
        globs = entry.get("node_pool", ["*"])
        if names_cluster(entry, cluster) and is_named(globs, [name]) and is_in_force(entry, day):
            return int(entry["min_nodes"])
    return -1


# --------------------------------------------------------------------------- what would fit


def _give_by_fit(read: Read, pieces: Sequence[Slice]) -> None:
    usual = typical(read.requests)
    free: dict[NodeDay, dict[str, Fraction]] = defaultdict(dict)
    undecided: dict[Part, list[Slice]] = {}
    own = [piece for piece in pieces if (str(piece.node), piece.day) in read.hours]
    for part, rows in parts(own).items():
        rate = _free(rows, read.hours[part.at.node, part.at.day])
        if rate is not None:
            free[part.at][part.resource_kind] = rate
            undecided[part] = [piece for piece in idle_of(rows) if piece.cause is None]
    for part, rows in undecided.items():
        for piece in rows:
            piece.cause = _by_fit(str(piece.cluster), part.resource_kind, free[part.at], usual)


def _free(rows: Sequence[Slice], hours: Fraction) -> Fraction | None:
    """Return how much of a resource is free while the node is in use, in cores, GiB or GPUs."""
    if not idle_of(rows):
        return ZERO
    undecided = [piece for piece in idle_of(rows) if piece.cause is None]
    capacity, own = capacity_of(rows), capacity_of(undecided)
    cost = cost_of(rows)
    if capacity is None or own is None or not cost or not hours:
        return None
    quantity = cost_of(undecided) / (cost / capacity)
    return quantity / (hours * own / capacity)


def _by_fit(cluster: str, kind: str, free: Mapping[str, Fraction], usual: Typical) -> str:
    def fits(other: str) -> bool:
        return free[other] >= usual.get((cluster, other), ZERO) * TOLERANCE

    if kind == "compute":
        return "rest"
    if not fits(kind):
        return "fragment"
    others = [other for other in free if other != kind and (cluster, other) in usual]
    return "stranded" if not all(fits(other) for other in others) else "rest"


def typical(requests: Iterable[PodRequest]) -> dict[tuple[str, str], Fraction]:
    """Return the lower weighted median of requests by cluster and resource."""
    found: dict[tuple[str, str], list[PodRequest]] = defaultdict(list)
    for request in requests:
        found[request.cluster, request.resource_kind].append(request)
    return {key: _median(of) for key, of in found.items()}


def _median(requests: Sequence[PodRequest]) -> Fraction:
    whole = sum((request.weight for request in requests), ZERO)
    seen = ZERO
    for request in sorted(requests, key=lambda request: request.quantity):
        seen += request.weight
        if seen * 2 >= whole:
            return request.quantity
    raise ValueError("no requests")
