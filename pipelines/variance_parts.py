"""The arithmetic of a variance: what of a change of workload and of idle has which cause.

What the words mean is in `pipelines.variance`. Amounts are quanta, shares and prices fractions;
each product is rounded half-even once, and the last part of a change takes what is left of it.
"""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from pipelines.variance_figures import Use, Work

NOBODY = Work(0, None)
BY_WORKLOAD = "proportional"
"""The method whose weights follow what workload costs."""
OWN_WEIGHTS = ("cpu", "memory", "gpu", "storage")
"""Resource kinds of which idle weighs by workload of that kind, where a rule says by resource."""


class Workload(NamedTuple):
    """A change of workload. own + price is all of it.

    before: what it cost; weight, new_weight: its node cost before, and afterwards at the older
    prices; kinds: the same two of each resource kind; prices: by use, what a new price adds, and
    how much dearer a unit is (a ratio - 1).
    """

    before: int
    own: int
    price: int
    weight: int
    new_weight: int
    kinds: Mapping[str, tuple[int, int]]
    prices: Mapping[Use, tuple[Fraction, Fraction]]

    def weighs(self, kind: str | None) -> tuple[int, int]:
        """Return both weights: of a resource kind, or of all node workload."""
        return (self.weight, self.new_weight) if kind is None else self.kinds.get(kind, (0, 0))


class Weights(NamedTuple):
    """Node workload of one claimant and of all others, before and afterwards at older prices."""

    own: int
    new_own: int
    others: int
    new_others: int


class Idle(NamedTuple):
    """The idle of a place before and afterwards, and what the older idle costs more by price."""

    before: int
    after: int
    dearer: Fraction

    @property
    def volume(self) -> Fraction:
        """Return how much more stood idle, what a new price adds apart."""
        return self.after - self.before - self.dearer


class IdleParts(NamedTuple):
    """A change of a team's idle; the four are all of it."""

    own: int
    price: int
    volume: int
    others: int


def workload(before: Mapping[Use, Work], after: Mapping[Use, Work]) -> Workload:
    """Return what of a change of workload is its own quantity, and what is the price of a unit."""
    own = price = weight = new_weight = 0
    was_kind, is_kind = Counter[str](), Counter[str]()
    prices: dict[Use, tuple[Fraction, Fraction]] = {}
    for use in sorted({*before, *after}, key=str):
        was, now = before.get(use, NOBODY), after.get(use, NOBODY)
        moved = _by_quantity(was, now)
        own += moved
        price += now.cost - was.cost - moved
        if use.is_node:
            weight += was.cost
            new_weight += was.cost + moved
        if use.is_node or use.resource_kind == "storage":
            was_kind[use.resource_kind] += was.cost
            is_kind[use.resource_kind] += was.cost + moved
        if was.cost and was.quantity and now.quantity:
            ratio = now.cost / now.quantity / (was.cost / was.quantity)
            prices[use] = (Fraction(now.cost - was.cost - moved), ratio - 1)
    cost = sum(work.cost for work in before.values())
    kinds = {kind: (was_kind[kind], is_kind[kind]) for kind in was_kind}
    return Workload(cost, own, price, weight, new_weight, kinds, prices)


def _by_quantity(was: Work, now: Work) -> int:
    """Return what the quantity moves at the older price; all, where one of the two is unknown."""
    if not (was.quantity and now.quantity):
        return now.cost - was.cost
    return round((now.quantity - was.quantity) * (was.cost / was.quantity))


def dearer(
    idle: Mapping[str, int], before: Mapping[str, Fraction], after: Mapping[str, Fraction]
) -> dict[str, tuple[Fraction, Fraction]]:
    """Return by resource kind what idle would cost more at other prices, and the ratio - 1.

    idle: quanta by resource kind. A kind whose price is unknown in either month is not there.
    """
    return {
        kind: (cost * (after[kind] / before[kind] - 1), after[kind] / before[kind] - 1)
        for kind, cost in idle.items()
        if before.get(kind) and kind in after
    }


def idle(place: Idle, before: int, after: int, weights: Weights, method: str) -> IdleParts:
    """Return what of a team's change of idle (from `before` to `after`) has which cause."""
    share = _own_share(place, before, after, weights, method)
    own = round(share * place.before) - before if place.before else 0
    price = round(share * place.dearer)
    volume = round(share * place.volume)
    return IdleParts(own, price, volume, after - before - own - price - volume)


def _own_share(place: Idle, before: int, after: int, weights: Weights, method: str) -> Fraction:
    """Return the part of a team, had nobody else changed; a part outside 0 to 1 stays as it is."""
    new = Fraction(after, place.after) if place.after else Fraction(0)
    if not place.before:
        return new
    old = Fraction(before, place.before)
    if method != BY_WORKLOAD or weights.own == weights.new_own:
        return old
    if weights.own <= 0:
        return _odds(new, weights.new_others, weights.others)
    return _odds(old, weights.new_own, weights.own)


def _odds(share: Fraction, wins: int, was: int) -> Fraction:
    """Return a share of which the odds are `wins` / `was` times as high."""
    mine, theirs = share * max(wins, 0), (1 - share) * max(was, 0)
    return mine / (mine + theirs) if 0 <= share <= 1 and mine + theirs > 0 else share
