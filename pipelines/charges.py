"""Who is charged, as an order of small decisions, and when two such orders decide alike.

A charge that an earlier one leaves nothing to decide is no decision; two charges that never meet
on one namespace may change places. What remains, in its one sorted order, is the normal form.
"""

import heapq
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import NamedTuple

from pipelines.rules import contains

_WILD = re.compile(r"[*?\[]")


class Charge(NamedTuple):
    """Who pays for the namespaces of a pattern: a team, or whoever a label names ("": not so)."""

    namespace: str
    label: str
    team: str


@lru_cache(maxsize=256)
def normal_form(charges: tuple[Charge, ...]) -> tuple[Charge, ...]:
    """Return the charges that decide anything, in an order that equal decisions share."""
    needed: list[Charge] = []
    for charge in charges:
        if not any(_takes(earlier, charge) for earlier in needed):
            needed.append(charge)
    return tuple(_sorted([c for i, c in enumerate(needed) if not _said_again(c, needed[i + 1 :])]))


def _takes(earlier: Charge, charge: Charge) -> bool:
    """Return whether `earlier` decides all that `charge` could: a label may be missing."""
    always = not earlier.label or earlier.label == charge.label
    return always and contains(earlier.namespace, charge.namespace)


def _said_again(charge: Charge, later: Sequence[Charge]) -> bool:
    """Return whether the next charge that could meet this one says the same of all it is for."""
    for other in later:
        if other[1:] == charge[1:] and contains(other.namespace, charge.namespace):
            return True
        if not _may_change_places(charge, other):
            return False
    return False


def _may_change_places(one: Charge, other: Charge) -> bool:
    return one[1:] == other[1:] or apart(one.namespace, other.namespace)


def is_glob(pattern: str) -> bool:
    """Return whether a pattern may match more than its own text."""
    return _WILD.search(pattern) is not None


def apart(one: str, other: str) -> bool:
    """Return whether two patterns surely match no name in common."""
    if not is_glob(one):
        return not fnmatchcase(one, other)
    if not is_glob(other):
        return not fnmatchcase(other, one)
    starts = _WILD.split(one)[0], _WILD.split(other)[0]
    return not (starts[0].startswith(starts[1]) or starts[1].startswith(starts[0]))


def _sorted(charges: Sequence[Charge]) -> list[Charge]:
    """Sort by what may change places: always the smallest charge that no earlier one holds up."""
    waits: list[list[int]] = [[] for _ in charges]
    held = [0] * len(charges)
    for later, charge in enumerate(charges):
        for earlier in range(later):
            if not _may_change_places(charges[earlier], charge):
                waits[earlier].append(later)
                held[later] += 1
    free = [(charges[index], index) for index, count in enumerate(held) if count == 0]
    heapq.heapify(free)
    done = []
    while free:
        charge, index = heapq.heappop(free)
        done.append(charge)
        for later in waits[index]:
            held[later] -= 1
            if held[later] == 0:
                heapq.heappush(free, (charges[later], later))
    return done
