"""The oracle's node reserve: what of a node's capacity nobody could request.

Choices where the contract leaves room:

* A cluster has a reserve of its provider when any slice of it in the month is one.
* An inventory that contradicts the bill moves nothing for that node, day and resource.
* The amount is rounded half-even, once a node, day and resource.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from tests.oracle_carving import Part, capacity_of, cost_of, idle_of, parts, take
from tests.oracle_headroom import Hours
from tests.oracle_inventory import Inventory
from tests.oracle_slices import ZERO, Slice, rounded


@dataclass(frozen=True)
class Short:
    """How much the reserve of a node, day and resource costs beyond what stood idle."""

    cluster: str
    resource_kind: str
    amount: Fraction


def set_apart(
    pieces: Sequence[Slice], inventory: Inventory, hours: Hours
) -> tuple[list[Slice], list[Short], list[Part]]:
    """Take the reserve out of idle; return it, what was missing, and which parts contradict."""
    told = {piece.cluster for piece in pieces if piece.reason == "node_reserve"}
    ours = [piece for piece in pieces if piece.cluster not in told]
    by_day = _names(ours)
    made: list[Slice] = []
    short: list[Short] = []
    wrong: list[Part] = []
    for part, rows in parts(ours).items():
        allocatable = _allocatable(part, rows[0], inventory, by_day)
        billed, capacity = hours(part.at.node, part.at.day), capacity_of(rows)
        if allocatable is None or billed is None or capacity is None:
            continue
        if allocatable[0] * billed > capacity or allocatable[1] * billed > capacity:
            wrong.append(part)
            continue
        for piece in idle_of(rows):
            piece.allocatable = allocatable[0] * billed * (piece.capacity or ZERO) / capacity
        reserved = capacity - allocatable[0] * billed
        wanted = rounded(cost_of(rows) * reserved / capacity)
        found, missing = take(idle_of(rows), wanted, "system_overhead", "node_reserve")
        made += found
        if missing:
            short.append(Short(str(rows[0].cluster), part.resource_kind, missing))
    return made, short, wrong


def _names(pieces: Iterable[Slice]) -> dict[date, dict[str, str]]:
    """Return the node names of each day by node."""
    found: dict[date, dict[str, str]] = defaultdict(dict)
    for part, rows in parts(pieces).items():
        found[part.at.day][part.at.node] = str(rows[0].node_name)
    return found


def _allocatable(
    part: Part, row: Slice, inventory: Inventory, by_day: dict[date, dict[str, str]]
) -> tuple[Fraction, Fraction] | None:
    """Return allocatable and, where told, capacity of one resource (else 0)."""
    names = list(by_day[part.at.day].values())
    node = inventory.snapshot([part.at.node], names, row)
    found = dict(node.allocatable).get(part.resource_kind) if node else None
    if node is None or found is None:
        return None
    return found, dict(node.capacity).get(part.resource_kind, ZERO)
