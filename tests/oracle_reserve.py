"""The oracle's node reserve: what of a node's capacity nobody could request.

Choices where the contract leaves room:

* A cluster has a reserve of its provider when any slice of it in the month is one.
* An inventory contradicts the bill when it says more than was billed, or that the node has less
  than half of that, by more than a millionth (quantities come from doubles), or more than it says
  itself that the node has. It moves nothing for that node, day and resource.
* A reserve is large where it is more than half of the capacity, by more than a millionth.
* What could be allocated on a day has 12 places.
* The amount is rounded half-even, once a node, day and resource.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction

from tests.oracle_carving import Part, capacity_of, cost_of, idle_of, parts, take
from tests.oracle_headroom import Hours
from tests.oracle_inventory import Inventory, Told
from tests.oracle_slices import ZERO, Slice, rounded

TOLERANCE = 1 + Fraction(1, 10**6)


@dataclass(frozen=True)
class Noted:
    """An amount that a person must know of, of a node, day and resource."""

    cluster: str
    resource_kind: str
    amount: Fraction


@dataclass
class Reserves:
    """What was made; what it costs beyond idle; what large ones took; which parts contradict."""

    made: list[Slice] = field(default_factory=list)
    short: list[Noted] = field(default_factory=list)
    large: list[Noted] = field(default_factory=list)
    wrong: list[Part] = field(default_factory=list)


def set_apart(pieces: Sequence[Slice], inventory: Inventory, hours: Hours) -> Reserves:
    """Take the reserve out of idle."""
    reserved_by = {piece.cluster for piece in pieces if piece.reason == "node_reserve"}
    known = _known(pieces, inventory)
    found = Reserves()
    for part, rows in parts(pieces).items():
        billed, capacity = hours(part.at.node, part.at.day), capacity_of(rows)
        told = None if rows[0].cluster in reserved_by else known.get(part)
        if told is None or billed is None or capacity is None:
            continue
        if _contradicts(told, billed, capacity):
            found.wrong.append(part)
            continue
        _reserve(found, rows, rounded(told.allocatable * billed), capacity)
    return found


def _reserve(found: Reserves, rows: Sequence[Slice], could: Fraction, capacity: Fraction) -> None:
    """Take what could not be allocated of one resource of a node and day."""
    for piece in idle_of(rows):
        piece.allocatable = could * (piece.capacity or ZERO) / capacity
    wanted = rounded(cost_of(rows) * max(capacity - could, ZERO) / capacity)
    made, missing = take(idle_of(rows), wanted, "system_overhead", "node_reserve")
    found.made += made
    of = str(rows[0].cluster), rows[0].resource_kind
    if missing:
        found.short.append(Noted(*of, missing))
    if 2 * (capacity - could) > capacity * TOLERANCE:
        found.large.append(Noted(*of, wanted - missing))


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
    if most > capacity * TOLERANCE:
        return True
    if told.capacity is None:
        return False
    is_of_smaller = 2 * told.capacity * billed * TOLERANCE < capacity
    return is_of_smaller or told.allocatable > told.capacity


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
