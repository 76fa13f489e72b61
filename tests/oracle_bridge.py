"""The oracle's bridge: from the idle the provider shows to the idle that is reported.

Choices where the contract leaves room:

* Empty nodes are counted before reserve and headroom are taken from them: those lines stand for
  themselves.
* On charge basis `request` what pods requested and what they were charged for are amounts, each
  rounded once a node, day and resource; what that leaves is `rebased`.
* Only nodes whose pods were repriced have usage above request and over-allocation: those of a
  source that tells what its pods request, with a known capacity.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction

from tests.oracle_carving import Part, capacity_of, cost_of, idle_of, parts
from tests.oracle_slices import ZERO, Slice, cost, rounded

LINES = (
    "provider_idle",
    "node_reserve",
    "policy_headroom",
    "usage_above_request",
    "over_allocation",
    "empty_nodes",
    "not_time_based",
    "rebased",
    "idle",
)
Key = tuple[str, str | None, str, str]
"""Cluster, node name, resource kind and currency."""
Bridge = dict[str, Fraction]


def bridges(pieces: Sequence[Slice], basis: str) -> dict[Key, Bridge]:
    """Return the lines of each bridge, in the effective view; all but `idle` add up to `idle`."""
    found: dict[Key, Bridge] = defaultdict(lambda: dict.fromkeys(LINES, ZERO))
    for piece in pieces:
        if piece.row_kind == "idle" or piece.provider_idle is not None or piece.is_carved:
            _add(found[_key(piece)], piece)
    if basis == "request":
        for part, rows in parts(pieces).items():
            _add_requests(found[_key(rows[0])], part, rows)
    for lines in found.values():
        named = sum((lines[name] for name in LINES[:-2]), ZERO)
        lines["rebased"] = lines["idle"] - named
    return dict(found)


def _key(piece: Slice) -> Key:
    return str(piece.cluster), piece.node_name, piece.resource_kind, piece.currency


def _add(lines: Bridge, piece: Slice) -> None:
    amount = cost(piece, "effective") or ZERO
    idle = piece.provider_idle or ZERO
    lines["provider_idle"] += idle
    if piece.row_kind == "shared":
        lines["not_time_based"] -= idle
    if piece.row_kind == "idle":
        lines["idle"] += amount
    if piece.reason == "empty_node" and piece.uncarved is not None:
        lines["empty_nodes"] += piece.uncarved
    if piece.is_carved:
        names = {"node_reserve": "node_reserve", "policy": "policy_headroom"}
        lines[names[str(piece.reason)]] -= amount


def _add_requests(lines: Bridge, part: Part, rows: Sequence[Slice]) -> None:
    capacity = capacity_of(rows)
    pods = [row for row in rows if row.is_pod and row.requested is not None]
    if capacity is None or not pods:
        return
    price = cost_of(rows) / capacity
    charged = rounded(_total(pods, "charged") * price)
    empty = sum((row.uncarved or ZERO for row in idle_of(rows) if row.reason == "empty_node"), ZERO)
    split = cost_of(rows) - empty - _total(pods, "provider_idle")
    lines["usage_above_request"] += charged - rounded(_total(pods, "requested") * price)
    lines["over_allocation"] -= charged - split


def _total(rows: Iterable[Slice], name: str) -> Fraction:
    return sum((getattr(row, name) or ZERO for row in rows), ZERO)
