"""What the oracle's providers give to its ledger: slices, and exact money.

A provider is a module `tests/oracle_<provider>.py` with a function `read(entry, folder, month)`,
which takes one [[source]] of a `leerlauf.toml` and returns a `Read`. `Books` finds the module by
the name in the file, so that a new provider touches no line here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from typing import TypeVar

QUANTUM = Fraction(1, 10**12)
ZERO = Fraction(0)

K = TypeVar("K")
Kind = tuple[str, str | None, str]
"""Row kind, reason and resource kind."""


@dataclass
class Slice:
    """A part of the bill, before teams and rules; amounts in the source's currency.

    `effective` or `billed` is None where the source lacks the view. `provider_idle` is the idle
    the provider itself put on the row, None where it put none. `is_split` is false where the
    charge was billed directly to its workload, or nobody split it. `is_pod` tells a pod from a
    disk claim or a Service's address. `node` is known only with `node_name`.

    Quantities are core-hours, GiB-hours and GPU-hours; None is unknown. `capacity` and
    `allocatable` stand on idle. `uncarved` is what idle cost before reserve and headroom were
    taken from it; `is_carved` tells what was taken. `knows_hours`: the provider says in which
    hours pods ran, so that what it calls no waiting for scale-down is none.
    """

    source: str
    day: date
    currency: str
    row_kind: str
    reason: str | None
    resource_kind: str
    effective: Fraction | None
    billed: Fraction | None
    cluster: str | None = None
    charge_class: str | None = None
    node: str | None = None
    node_name: str | None = None
    node_pool: str | None = None
    namespace: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    team: str | None = None
    is_pod: bool = False
    is_split: bool = False
    provider_idle: Fraction | None = None
    workload_idle: Fraction | None = None
    empty_hours: Fraction = ZERO
    cause: str | None = None
    pricing_category: str | None = None
    workload_kind: str | None = None
    requested: Fraction | None = None
    used: Fraction | None = None
    charged: Fraction | None = None
    capacity: Fraction | None = None
    allocatable: Fraction | None = None
    uncarved: Fraction | None = None
    is_carved: bool = False
    knows_hours: bool = False


@dataclass(frozen=True)
class Fate:
    """What becomes of one row of a bill, and its amount in each view the source has."""

    name: str
    currency: str
    amounts: Mapping[str, Fraction]


@dataclass(frozen=True)
class PodRequest:
    """What one pod requests of a resource (cores, GiB, GPUs), and for how many pod-hours."""

    cluster: str
    resource_kind: str
    quantity: Fraction
    weight: Fraction


@dataclass(frozen=True)
class Read:
    """One month of one source: `views` it has, a fate for each row of the bill, its slices.

    `hours` are the billed hours of each node and day, `requests` those of pods that are no
    DaemonSet's and request more than 0; both are empty where the provider does not tell.
    """

    views: tuple[str, ...]
    fates: Sequence[Fate]
    slices: Sequence[Slice]
    hours: Mapping[tuple[str, date], Fraction] = field(default_factory=dict)
    requests: Sequence[PodRequest] = ()


def cost(piece: Slice, view: str) -> Fraction | None:
    """Return what a slice costs in a view; None where its source lacks the view."""
    return piece.effective if view == "effective" else piece.billed


def rounded(value: Fraction | None) -> Fraction:
    """Return an amount as the bill of a row: 12 places, half-even; NULL is 0."""
    return ZERO if value is None else round(value / QUANTUM) * QUANTUM


def divide(amount: Fraction, weights: Mapping[K, Fraction]) -> dict[K, Fraction]:
    """Divide an amount by largest remainder; equal ones in the order of `weights`.

    Quotients are rounded down, also those of a negative amount. The weights' sum must not be 0.
    """
    whole = sum(weights.values(), ZERO)
    exact = {name: amount * weight / whole / QUANTUM for name, weight in weights.items()}
    floors = {name: share.numerator // share.denominator for name, share in exact.items()}
    missing = int(amount / QUANTUM) - sum(floors.values())
    turns = sorted(exact, key=lambda name: floors[name] - exact[name])
    for name in turns[:missing]:
        floors[name] += 1
    return {name: floor * QUANTUM for name, floor in floors.items()}


def label_key(name: str) -> str:
    """Return one spelling for `a.b/c-d`, `A_b_c_d` and `a.b/c_d`: `a_b_c_d`."""
    return re.sub(r"[^a-z0-9]", "_", name.lower())


def labels(*levels: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return labels under one spelling; an earlier level wins, an empty value never counts."""
    found: dict[str, str] = {}
    for level in levels:
        for key, value in sorted(level):
            if value:
                found.setdefault(label_key(key), value)
    return found
