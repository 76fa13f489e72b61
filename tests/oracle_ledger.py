"""The oracle's ledger: pools of a day, who takes part in them, and each one's part.

Choices where the contract leaves room:

* A provider's corrections are pools of their own, because a posting has one charge class. They
  count in the weights of their day like any workload.
* A node is known for node cost only: a disk's idle falls to the next coarser scope.
* Of equal remainders the team that comes first by code point gets the quantum; the operator's own
  team comes after all others, workload without a team after that.
* `teams` and `except` narrow who takes part under the rules and in the comparison alike.
* A pool whose rule is `metric` falls back when none of its participants has a value above 0.
* Shares of method `fixed` are divided among those of their teams that take part.
* In the view `billed` the parts of an AWS node are exact fractions, and so are the weights: parts
  of a pool are then exact fractions too, where the pipeline has whole quanta.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from tests import oracle_metrics
from tests.oracle_rules import Rule, Rules
from tests.oracle_slices import QUANTUM, ZERO, Slice, cost

POOLED = ("idle", "headroom", "system_overhead", "cluster_fee", "shared")
NODE_RESOURCES = ("cpu", "memory", "gpu", "compute")
WEIGHT_LIMIT = 10**15

Method = tuple[str, str | None]
"""A method and what it goes by: resource, total, or None."""
Place = tuple[str, str]
"""Cluster and currency."""


@dataclass(frozen=True)
class Pool:
    """What is distributed as one; `scope` is its level and the node, pool or cluster."""

    day: date
    place: Place
    charge_class: str | None
    row_kind: str
    reason: str | None
    resource_kind: str
    scope: tuple[str, str]
    rule: Rule

    @property
    def is_node_cost(self) -> bool:
        """Whether only workload charged through nodes takes part."""
        return self.resource_kind in NODE_RESOURCES


@dataclass(frozen=True)
class Posting:
    """One team's part of one pool; workload and what is unattributed have no pool."""

    day: date
    place: Place
    team: str | None
    row_kind: str
    amount: Fraction
    pool: Pool | None = None


def place(piece: Slice) -> Place:
    """Return cluster and currency."""
    return str(piece.cluster), piece.currency


def post(
    slices: Sequence[Slice], rules: Rules, view: str, forced: Method | None = None
) -> list[Posting]:
    """Return the postings of slices that belong to clusters and have an amount in the view.

    `forced` is the method for idle and headroom instead of that of their rules.
    """
    pools: dict[Pool, list[Slice]] = defaultdict(list)
    workload: dict[tuple[date, Place], list[Slice]] = defaultdict(list)
    found = []
    for piece in slices:
        if piece.row_kind in POOLED:
            pools[_pool(piece, rules, forced)].append(piece)
            continue
        own = (piece.team, piece.row_kind, _known(piece, view))
        found.append(Posting(piece.day, place(piece), *own))
        if piece.row_kind == "workload":
            workload[piece.day, place(piece)].append(piece)
    for pool, pieces in pools.items():
        amount = sum((_known(piece, view) for piece in pieces), ZERO)
        operator = rules.operator(pieces[0])
        weights = _weights(pool, workload[pool.day, pool.place], view, rules)
        for team, part in distribute(amount, weights, operator, exact=view == "billed").items():
            found.append(Posting(pool.day, pool.place, team, pool.row_kind, part, pool))
    return found


def _known(piece: Slice, view: str) -> Fraction:
    """Return the cost of a slice whose source has the view."""
    amount = cost(piece, view)
    if amount is None:
        raise ValueError(f"{piece.source} has no view {view}")
    return amount


def is_node_cost(piece: Slice) -> bool:
    """Whether a slice is the cost of a node's capacity."""
    return piece.resource_kind in NODE_RESOURCES


def _pool(piece: Slice, rules: Rules, forced: Method | None) -> Pool:
    rule = rules.allocation(piece)
    if forced and piece.row_kind in ("idle", "headroom"):
        rule = replace(rule, method=forced[0], by=forced[1])
    kind = (piece.charge_class, piece.row_kind, piece.reason, piece.resource_kind)
    return Pool(piece.day, place(piece), *kind, _scope(piece, rule.scope), rule)


def _scope(piece: Slice, level: str) -> tuple[str, str]:
    """Return the level a slice can be put in and its key; a missing key falls to the next."""
    if level == "node" and piece.node and piece.node_name and is_node_cost(piece):
        return "node", piece.node
    if level in ("node", "node_pool") and piece.node_pool:
        return "node_pool", piece.node_pool
    return "cluster", str(piece.cluster)


# ----------------------------------------------------------------------------------- weights


def _weights(
    pool: Pool, workload: Iterable[Slice], view: str, rules: Rules
) -> dict[str | None, Fraction]:
    """Return the weight of each claimant; None is all workload without a team."""
    inside = [
        piece
        for piece in workload
        if pool.rule.admits(piece.team)
        and _scope(piece, pool.scope[0]) == pool.scope
        and (not pool.is_node_cost or (piece.is_split and is_node_cost(piece)))
    ]
    whole = _by_team(inside, view, lambda _: True)
    present = [team for team, amount in whole.items() if amount > 0]
    given = _given(pool, rules)
    if given is not None:
        weights = {team: given.get(team, ZERO) for team in present}
        if any(weights.values()) or pool.rule.method == "fixed":
            return weights
    return _by_cost(pool, inside, view, present)


def _given(pool: Pool, rules: Rules) -> dict[str | None, Fraction] | None:
    """Return the weights that are told from outside; None for methods that need none."""
    if pool.rule.method == "fixed":
        return dict(pool.rule.shares)
    if pool.rule.method == "metric":
        values = rules.metrics(pool.rule)
        return oracle_metrics.of_teams(values, pool.rule.metric, pool.place[0], pool.day)
    return None


def _by_cost(
    pool: Pool, inside: Sequence[Slice], view: str, present: Sequence[str | None]
) -> dict[str | None, Fraction]:
    method = pool.rule.fallback if pool.rule.method == "metric" else pool.rule.method
    if method == "none":
        return {}
    if method == "even":
        return dict.fromkeys(present, QUANTUM)
    counted = _by_team(inside, view, lambda piece: _counts(pool, piece))
    return {team: max(counted.get(team, ZERO), ZERO) for team in present}


def _counts(pool: Pool, piece: Slice) -> bool:
    """Whether a workload slice weighs in a proportional pool."""
    if pool.rule.by == "total":
        return True
    if pool.resource_kind in ("cpu", "memory", "gpu"):
        return piece.resource_kind == pool.resource_kind
    if pool.resource_kind == "storage" and pool.row_kind in ("idle", "headroom"):
        return piece.resource_kind == "storage"
    return True


def _by_team(
    pieces: Iterable[Slice], view: str, counts: Callable[[Slice], bool]
) -> dict[str | None, Fraction]:
    sums: dict[str | None, Fraction] = defaultdict(Fraction)
    for piece in pieces:
        if counts(piece):
            sums[piece.team] += _known(piece, view)
    return sums


# --------------------------------------------------------------------------------- arithmetic


def distribute(
    amount: Fraction,
    weights: dict[str | None, Fraction],
    operator: str | None,
    *,
    exact: bool = False,
) -> dict[str | None, Fraction]:
    """Return each payer's part of `amount`; the part of workload without a team is the operator's.

    Without any weight all goes to the operator. Parts are whole quanta unless `exact`.
    """
    if not any(weights.values()):
        return {operator: amount}
    if exact:
        whole = sum(weights.values(), ZERO)
        parts = {team: amount * weight / whole for team, weight in weights.items()}
    else:
        parts = _in_quanta(amount, weights, operator)
    paid: dict[str | None, Fraction] = defaultdict(Fraction)
    for team, part in parts.items():
        paid[operator if team is None else team] += part
    return dict(paid)


def _in_quanta(
    amount: Fraction, weights: dict[str | None, Fraction], operator: str | None
) -> dict[str | None, Fraction]:
    quanta = abs(amount) / QUANTUM
    scaled = _scaled({team: int(weight / QUANTUM) for team, weight in weights.items()})
    whole = sum(scaled.values())
    turn = {team: divmod(int(quanta) * weight, whole) for team, weight in scaled.items()}
    missing = int(quanta) - sum(part for part, _ in turn.values())
    order = sorted(
        turn, key=lambda team: (-turn[team][1], team is None, team == operator, team or "")
    )
    sign = -1 if amount < 0 else 1
    return {
        team: sign * (turn[team][0] + (place < missing)) * QUANTUM
        for place, team in enumerate(order)
    }


def _scaled(weights: dict[str | None, int]) -> dict[str | None, int]:
    """Divide weights by the smallest power of ten that brings their sum below the limit."""
    power = 1
    while sum(weights.values()) // power >= WEIGHT_LIMIT:
        power *= 10
    return {team: weight // power for team, weight in weights.items()}
