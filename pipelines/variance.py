"""Why a team's figure moved from one month to a later one, as seven parts that add up exactly.

Both months are looked at under one set of rules, those of the older month's last day: A is the
older month under them, B the newer one. The parts, in the order in which they are taken:

1. own_requests: the workload's quantity times the older price, for each use of a resource. Where
   a quantity is unknown, or a use is new or gone, all of its change. Of idle: what the team's part
   of the older idle would have gained, had its own node workload alone changed (older prices).
2. unit_price: the rest of the change of workload; of idle, the team's part of what the older idle
   would cost more at the newer prices of a unit of capacity (node cost / capacity, where known).
3. idle_volume: the team's part of how much more the cluster stood idle, that price apart.
4. others: the rest of the change of idle: others requested more or less, joined or left.
5. headroom_and_overhead: the change of headroom, overhead, fees, shared and unattributed.
6. rule_change: what the older month moves by when the rules of its last day held all month, and
   the newer one when its own rules take their place.
7. corrections: the change of corrections, which are in no other part.

Idle of each resource kind is looked at by itself, and its parts are added. The team's part s of
idle I is its idle / I. With weights that follow workload cost (method proportional) its own part is
s' = s k / (s k + 1 - s), where k is its own node workload in B, at older prices, / that in A (of
that resource kind, where the rule says by resource); for a team that joined, its part in B against
the others as they were: the odds of its part in B times the others' node workload in B, at older
prices, / that in A. Under other methods it is s, and where nothing stood idle before, the part in
B. Workload without a team weighs for the operator, who bears its idle. Products are exact
fractions, rounded half-even to quanta once; what rounding leaves is in the rest.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from pipelines.variance_figures import CORRECTIONS, Bill, Figures, Line, Place, Statement, in_order
from pipelines.variance_parts import (
    OWN_WEIGHTS,
    Idle,
    IdleParts,
    Weights,
    Workload,
    dearer,
    idle,
    workload,
)
from transforms.schema import CLUSTER_KINDS

PARTS = (
    "own_requests",
    "unit_price",
    "idle_volume",
    "others",
    "headroom_and_overhead",
    "rule_change",
    "corrections",
)
OTHER_KINDS = ("headroom", "system_overhead", "cluster_fee", "shared", "unattributed")
NOTHING = Statement()

Weighing = Mapping[str | None, Weights]
"""What weighs by the workload of each resource kind; under None, by all node workload."""


class Terms(NamedTuple):
    """What the rules of the older month's last day say of a cluster."""

    operator: str | None
    idle_method: str
    idle_by: str | None

    def weighed_by(self, kind: str) -> str | None:
        """Return the resource kind whose workload weighs for idle of `kind`; None is all."""
        return kind if self.idle_by == "resource" and kind in OWN_WEIGHTS else None


@dataclass(frozen=True)
class Pair:
    """Two months under their own rules, and both under the rules of the older one's last day.

    terms: by (provider, cluster_id), for every cluster of either month.
    """

    older: Figures
    newer: Figures
    fixed: Figures
    moved: Figures
    bills: tuple[Bill, Bill]
    statements: tuple[Mapping[Line, Statement], Mapping[Line, Statement]]
    terms: Mapping[tuple[str, str], Terms]


@dataclass(frozen=True)
class Around:
    """What the lines of a place have in common, under the rules of the older month's last day.

    idle: by resource kind. prices: by resource kind, what new prices of capacity add to the older
    idle (quanta), and how much dearer a unit is (a ratio - 1). joined, left: teams whose workload
    came or went, and what of their node workload weighs (quanta).
    """

    terms: Terms
    idle: Mapping[str, Idle]
    prices: Mapping[str, tuple[Fraction, Fraction]]
    joined: Mapping[str, int]
    left: Mapping[str, int]

    @property
    def volume(self) -> Fraction:
        """Return how much more the place stood idle, what new prices add apart."""
        return sum((one.volume for one in self.idle.values()), Fraction(0))


@dataclass(frozen=True)
class Move:
    """The seven parts of one line, in quanta, and what they were made from.

    weights: by all node workload. idle: by resource kind. kinds: the change of each of
    OTHER_KINDS. by_rules: the rule change, by kind.
    """

    parts: Mapping[str, int]
    workload: Workload
    weights: Weights
    idle: Mapping[str, IdleParts]
    kinds: Mapping[str, int]
    by_rules: Mapping[str, int]
    around: Around


class PartsDoNotAddUpError(ArithmeticError):
    """The parts of a line are not its change: a defect, whatever the input."""


def moves(pair: Pair) -> dict[Line, Move]:
    """Return the parts of every line that either month has, under any of the rules.

    Raises PartsDoNotAddUpError.
    """
    places: dict[Place, set[Line]] = defaultdict(set)
    figures = (pair.older, pair.fixed, pair.moved, pair.newer)
    for lines in (*(one.amounts for one in figures), *pair.statements):
        for line in lines:
            places[line.place].add(line)
    return {
        line: move
        for place in sorted(places)
        for line, move in _of_place(pair, place, in_order(places[place])).items()
    }


def _of_place(pair: Pair, place: Place, lines: list[Line]) -> dict[Line, Move]:
    works = {
        line: workload(pair.fixed.workloads.get(line, {}), pair.moved.workloads.get(line, {}))
        for line in lines
    }
    around = _around(pair, place, works)
    weighing = {None, *(around.terms.weighed_by(kind) for kind in around.idle)}
    weights = {kind: _weights(works, around.terms.operator, kind) for kind in weighing}
    return {
        line: _move(
            pair, line, works[line], {kind: one[line] for kind, one in weights.items()}, around
        )
        for line in lines
    }


def _around(pair: Pair, place: Place, works: Mapping[Line, Workload]) -> Around:
    were, are = (
        {line for line in works if line.team and figures.workloads.get(line)}
        for figures in (pair.fixed, pair.moved)
    )
    older, newer = pair.bills
    prices = dearer(
        older.idle.get(place, {}), older.prices.get(place, {}), newer.prices.get(place, {})
    )
    return Around(
        terms=pair.terms[place.provider, place.cluster_id],
        idle=_idle(pair, works, prices),
        prices=prices,
        joined={str(line.team): works[line].new_weight for line in in_order(are - were)},
        left={str(line.team): works[line].weight for line in in_order(were - are)},
    )


def _idle(
    pair: Pair, lines: Collection[Line], prices: Mapping[str, tuple[Fraction, Fraction]]
) -> dict[str, Idle]:
    """Return the idle of a place, by resource kind."""
    totals = Counter[str](), Counter[str]()
    for total, figures in zip(totals, (pair.fixed, pair.moved), strict=True):
        for line in lines:
            total.update(figures.idle.get(line, {}))
    nothing = Fraction(0), Fraction(0)
    before, after = totals
    return {
        kind: Idle(before[kind], after[kind], prices.get(kind, nothing)[0])
        for kind in sorted({*before, *after, *prices})
    }


def _weights(
    works: Mapping[Line, Workload], operator: str | None, kind: str | None
) -> dict[Line, Weights]:
    """Return what weighs for each line; for the operator also workload without a team.

    kind: of workload of one resource kind; None is all node workload.
    """
    own: dict[str | None, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for line, work in works.items():
        bearer = operator if line.team is None else line.team
        was, now = own[bearer]
        weight, new_weight = work.weighs(kind)
        own[bearer] = (was + weight, now + new_weight)
    was, now = (sum(column) for column in zip(*own.values(), strict=True))
    return {
        line: Weights(*own[line.team], was - own[line.team][0], now - own[line.team][1])
        for line in works
    }


def _move(pair: Pair, line: Line, work: Workload, weights: Weighing, around: Around) -> Move:
    shared = _shared(pair, line, weights, around)
    kinds = {
        kind: pair.moved.kind(line, kind) - pair.fixed.kind(line, kind) for kind in OTHER_KINDS
    }
    by_rules = {kind: _by_rules(pair, line, kind) for kind in CLUSTER_KINDS}
    was, now = (statements.get(line, NOTHING) for statements in pair.statements)
    parts = {
        "own_requests": work.own + sum(one.own for one in shared.values()),
        "unit_price": work.price + sum(one.price for one in shared.values()),
        "idle_volume": sum(one.volume for one in shared.values()),
        "others": sum(one.others for one in shared.values()),
        "headroom_and_overhead": sum(kinds.values()),
        "rule_change": sum(by_rules.values()),
        "corrections": _corrections(pair.newer, line, now) - _corrections(pair.older, line, was),
    }
    if sum(parts.values()) != now.total - was.total:
        raise PartsDoNotAddUpError(f"{line}: {parts} for {now.total - was.total} quanta")
    return Move(parts, work, weights[None], shared, kinds, by_rules, around)


def _shared(pair: Pair, line: Line, weights: Weighing, around: Around) -> dict[str, IdleParts]:
    """Return the parts of a line's change of idle, by resource kind."""
    terms = around.terms
    before, after = (figures.idle.get(line, {}) for figures in (pair.fixed, pair.moved))
    return {
        kind: idle(
            place,
            before.get(kind, 0),
            after.get(kind, 0),
            weights[terms.weighed_by(kind)],
            terms.idle_method,
        )
        for kind, place in around.idle.items()
    }


def _by_rules(pair: Pair, line: Line, kind: str) -> int:
    older, fixed, moved, newer = (
        figures.kind(line, kind) for figures in (pair.older, pair.fixed, pair.moved, pair.newer)
    )
    return fixed - older + newer - moved


def _corrections(figures: Figures, line: Line, statement: Statement) -> int:
    return statement.carried + figures.kind(line, CORRECTIONS)
