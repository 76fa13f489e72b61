"""The oracle's policy headroom: what a rule keeps free of the idle that the reserve has left.

Choices where the contract leaves room:

* Each resource has the first rule that matches the node and names the resource.
* A unit is the nodes of one rule, day and currency: one node, those of one pool, or all of a
  cluster. Nodes without a pool are one pool; only `*` is for them.
* What is wanted is rounded half-even, once a unit and resource.
* With the capacity of one node of the unit unknown, an absolute quantity is unknown. Hours are the
  largest that are known.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from tests.oracle_carving import Part, capacity_of, cost_of, idle_of, parts, take
from tests.oracle_rules import Entry, is_in_force, is_named, names_cluster
from tests.oracle_slices import ZERO, Slice, rounded

Hours = Callable[[str, date], Fraction | None]
"""Billed hours of a node and day; None where nobody knows."""

_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}
_DECIMAL = {"m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12}


class Unit(NamedTuple):
    """What counts as one for a rule: its nodes, its pool's or its cluster's, by resource."""

    rule: int
    resource_kind: str
    cluster: str
    scope: str | None
    day: date
    currency: str


@dataclass(frozen=True)
class Missing:
    """How much a rule wanted beyond what stood idle; `amount` is None where it is unknown."""

    rule: int
    cluster: str
    resource_kind: str
    amount: Fraction | None


def keep_free(
    pieces: Iterable[Slice], rules: Sequence[Entry], hours: Hours
) -> tuple[list[Slice], list[Missing]]:
    """Take the headroom of the [[headroom]] tables out of idle; return it, and what was missing."""
    units: dict[Unit, dict[Part, list[Slice]]] = defaultdict(dict)
    for part, rows in parts(pieces).items():
        unit = _unit(part, rows[0], rules)
        if unit is not None:
            units[unit][part] = rows
    made: list[Slice] = []
    missing: list[Missing] = []
    for unit, nodes in units.items():
        text = rules[unit.rule]["keep_free"][unit.resource_kind]
        wanted = _wanted(text, unit.resource_kind, nodes, hours)
        short: Fraction | None = None
        if wanted is not None:
            idle = [row for rows in nodes.values() for row in idle_of(rows)]
            found, short = take(idle, wanted, "headroom", "policy")
            made += found
        missing.append(Missing(unit.rule, unit.cluster, unit.resource_kind, short))
    return made, [one for one in missing if one.amount != 0]


def _unit(part: Part, row: Slice, rules: Sequence[Entry]) -> Unit | None:
    for number, rule in enumerate(rules):
        if (
            part.resource_kind in rule.get("keep_free", {})
            and names_cluster(rule, str(row.cluster))
            and is_named(rule.get("node_pool", ["*"]), [row.node_pool or ""])
            and is_in_force(rule, row.day)
        ):
            names = {"node": row.node, "node_pool": row.node_pool, "cluster": None}
            scope = names[rule.get("scope", "node")]
            kind = part.resource_kind
            return Unit(number, kind, str(row.cluster), scope, row.day, row.currency)
    return None


def _wanted(
    text: str, kind: str, nodes: Mapping[Part, Sequence[Slice]], hours: Hours
) -> Fraction | None:
    """Return the amount a rule wants of a unit; None where it cannot be known."""
    rows = [row for of_node in nodes.values() for row in of_node]
    cost = cost_of(rows)
    if text.endswith("%"):
        reserve = cost_of(row for row in rows if row.reason == "node_reserve")
        return rounded(Fraction(text[:-1]) / 100 * (cost - reserve))
    capacity = [capacity_of(of_node) for of_node in nodes.values()]
    known = [found for part in nodes if (found := hours(part.at.node, part.at.day)) is not None]
    if None in capacity or not known:
        return None
    whole = sum((one for one in capacity if one is not None), ZERO)
    return rounded(quantity(text, kind) * max(known) * cost / whole)


def quantity(text: str, kind: str) -> Fraction:
    """Return a Kubernetes quantity in cores, GiB or GPUs."""
    found = re.fullmatch(r"([0-9.]+)([A-Za-z]*)", text)
    if found is None:
        raise ValueError(text)
    number, unit = Fraction(found[1]), found[2]
    scale = Fraction(2) ** _BINARY[unit] if unit in _BINARY else Fraction(10) ** _DECIMAL[unit]
    return number * scale / (2**30 if kind == "memory" else 1)
