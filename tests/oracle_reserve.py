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
    known = _known(pieces, inventory)
    made: list[Slice] = []
    short: list[Short] = []
    wrong: list[Part] = []
    for part, rows in parts(pieces).items():
        billed, capacity = hours(part.at.node, part.at.day), capacity_of(rows)
        told = None if rows[0].cluster in reserved_by else known.get(part)
        if told is None or billed is None or capacity is None:
            continue
        if _contradicts(told, billed, capacity):
            wrong.append(part)
            continue
        found, missing = _reserve(rows, rounded(told.allocatable * billed), capacity)
        made += found
        if missing:
            short.append(Short(str(rows[0].cluster), part.resource_kind, missing))
    return made, short, wrong


def _reserve(
    rows: Sequence[Slice], could: Fraction, capacity: Fraction
) -> tuple[list[Slice], Fraction]:
    """Take what could not be allocated of one resource of a node and day."""
    for piece in idle_of(rows):
        piece.allocatable = could * (piece.capacity or ZERO) / capacity
    wanted = rounded(cost_of(rows) * max(capacity - could, ZERO) / capacity)
    return take(idle_of(rows), wanted, "system_overhead", "node_reserve")


def _known(pieces: Sequence[Slice], inventory: Inventory) -> dict[Part, Told]:
    """Return what the inventory tells of the node rows."""
    by_day = _names(pieces)
    spoiled = {
        node
        for names in by_day.values()
        for node, name in names.items()
        if inventory.contradicts_itself(node, name)
    }
    found: dict[Part, Told] = {}
    for part in parts(pieces):
        node, day = part.at.node, part.at.day
        told = inventory.told(node, by_day[day][node], day)
        if node not in spoiled and part.resource_kind in told:
            found[part] = told[part.resource_kind]
    return found


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
