"""The oracle's node reserve: what of a node's capacity nobody could request.

Choices where the contract leaves room:

* A cluster has a reserve of its provider when any slice of it in the month is one.
* An inventory contradicts the bill when it says more than was billed, by more than a millionth
  (quantities come from doubles), or more than it says itself that the node has. It moves nothing
  for that node, day and resource.
* What could be allocated on a day has 12 places.
* The amount is rounded half-even, once a node, day and resource.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

from tests.oracle_carving import Part, capacity_of, cost_of, idle_of, parts, take
from tests.oracle_headroom import Hours
from tests.oracle_inventory import Inventory, Told
from tests.oracle_slices import ZERO, Slice, rounded

TOLERANCE = 1 + Fraction(1, 10**6)


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
    reserved_by = {piece.cluster for piece in pieces if piece.reason == "node_reserve"}
    by_day = _names(pieces)
    spoiled = {
        node
        for names in by_day.values()
        for node, name in names.items()
        if inventory.contradicts_itself(node, name)
    }
    made: list[Slice] = []
    short: list[Short] = []
    wrong: list[Part] = []
    for part, rows in parts(pieces).items():
        if part.at.node in spoiled:
            continue
        name = by_day[part.at.day][part.at.node]
        told = inventory.told(part.at.node, name, part.at.day).get(part.resource_kind)
        billed, capacity = hours(part.at.node, part.at.day), capacity_of(rows)
        if told is None or billed is None or capacity is None or rows[0].cluster in reserved_by:
            continue
        could = rounded(told.allocatable * billed)
        if _contradicts(told, billed, capacity):
            wrong.append(part)
            continue
        for piece in idle_of(rows):
            piece.allocatable = could * (piece.capacity or ZERO) / capacity
        wanted = rounded(cost_of(rows) * max(capacity - could, ZERO) / capacity)
        found, missing = take(idle_of(rows), wanted, "system_overhead", "node_reserve")
        made += found
        if missing:
            short.append(Short(str(rows[0].cluster), part.resource_kind, missing))
    return made, short, wrong


def _contradicts(told: Told, billed: Fraction, capacity: Fraction) -> bool:
    most = max(told.allocatable, told.capacity or ZERO) * billed
    is_above_itself = told.capacity is not None and told.allocatable > told.capacity
    return most > capacity * TOLERANCE or is_above_itself


def _names(pieces: Iterable[Slice]) -> dict[date, dict[str, str | None]]:
    """Return the names of each day's nodes; None where several nodes have one name."""
    found: dict[date, dict[str, str]] = defaultdict(dict)
    for part, rows in parts(pieces).items():
        found[part.at.day][part.at.node] = str(rows[0].node_name)
    counts = {day: Counter(names.values()) for day, names in found.items()}
    return {
        day: {node: name if counts[day][name] == 1 else None for node, name in names.items()}
        for day, names in found.items()
    }
