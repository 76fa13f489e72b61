"""The oracle's node costs: what a node and day cost by resource, and how parts of idle are taken.

Choices where the contract leaves room:

* The amounts that count are effective, those of a source without that view billed. The other view
  follows in the ratio of each idle slice, as an exact fraction.
* A part is taken by largest remainder. Of equal ones the slice that comes first gets the quantum:
  by day, pricing category, node, reason and cause, without a category or cause last.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import NamedTuple

from tests.oracle_slices import ZERO, Slice, divide

NODE_RESOURCES = ("cpu", "memory", "gpu", "compute")
NODE_KINDS = ("workload", "idle", "headroom", "system_overhead")


class NodeDay(NamedTuple):
    """A node, day and currency."""

    node: str
    day: date
    currency: str


class Part(NamedTuple):
    """One resource of a node and day."""

    at: NodeDay
    resource_kind: str


def is_node_row(piece: Slice) -> bool:
    """Whether a slice is a part of what a known node cost."""
    return (
        piece.row_kind in NODE_KINDS
        and piece.resource_kind in NODE_RESOURCES
        and piece.node is not None
        and piece.node_name is not None
        and (piece.row_kind == "idle" or piece.is_split)
    )


def node_day(piece: Slice) -> NodeDay:
    """Return the node, day and currency of a node row."""
    return NodeDay(str(piece.node), piece.day, piece.currency)


def parts(pieces: Iterable[Slice]) -> dict[Part, list[Slice]]:
    """Return the node rows by node, day, currency and resource."""
    found: dict[Part, list[Slice]] = defaultdict(list)
    for piece in pieces:
        if is_node_row(piece):
            found[Part(node_day(piece), piece.resource_kind)].append(piece)
    return found


def counted(piece: Slice) -> Fraction:
    """Return the amount that counts."""
    amount = piece.billed if piece.effective is None else piece.effective
    if amount is None:
        raise ValueError(f"{piece.source}: a slice without any amount")
    return amount


def cost_of(pieces: Iterable[Slice]) -> Fraction:
    """Return what slices cost."""
    return sum((counted(piece) for piece in pieces), ZERO)


def idle_of(pieces: Iterable[Slice]) -> list[Slice]:
    """Return the idle slices."""
    return [piece for piece in pieces if piece.row_kind == "idle"]


def capacity_of(pieces: Iterable[Slice]) -> Fraction | None:
    """Return the capacity that stands on idle slices; None where none does, or nothing."""
    known = [piece.capacity for piece in idle_of(pieces) if piece.capacity is not None]
    return sum(known, ZERO) or None


def take(
    idle: Sequence[Slice], amount: Fraction, row_kind: str, reason: str
) -> tuple[list[Slice], Fraction]:
    """Take an amount from idle slices by what they cost; return what was made and what missed.

    Slices below 0 give nothing, and no more is taken than they cost together.
    """
    positive = sorted((piece for piece in idle if counted(piece) > 0), key=_order)
    there = max(min(cost_of(idle), cost_of(positive)), ZERO)
    taken = min(amount, there)
    if taken <= 0:
        return [], amount - max(taken, ZERO)
    weights = {number: counted(piece) for number, piece in enumerate(positive)}
    shares = divide(taken, weights)
    made = [_taken(positive[n], share, (row_kind, reason)) for n, share in shares.items() if share]
    return made, amount - taken


def _order(piece: Slice) -> tuple[object, ...]:
    texts = (piece.pricing_category, piece.node, piece.reason, piece.cause)
    return piece.day, *((text is None, text or "") for text in texts)


def _taken(idle: Slice, amount: Fraction, kind: tuple[str, str]) -> Slice:
    share = amount / counted(idle)
    effective, billed = _part(idle.effective, share), _part(idle.billed, share)
    idle.effective, idle.billed = _rest(idle.effective, effective), _rest(idle.billed, billed)
    return replace(
        idle,
        row_kind=kind[0],
        reason=kind[1],
        effective=effective,
        billed=billed,
        cause=None,
        provider_idle=None,
        capacity=None,
        allocatable=None,
        uncarved=None,
        is_carved=True,
    )


def _part(amount: Fraction | None, share: Fraction) -> Fraction | None:
    return None if amount is None else amount * share


def _rest(amount: Fraction | None, part: Fraction | None) -> Fraction | None:
    return None if amount is None or part is None else amount - part
