"""The oracle's way to divide Azure's capacity of a cluster and day by what an answer says.

Choices where the contract leaves room:

* Weights of a query are its own money less all that tags took out of the category, in the view
  `effective` where there is one; of an answer about several days what tags took on all of them.
  Both views of FOCUS are divided by the same weights.
* A query divides cluster, day and category as one amount; an agent divides the rows of a
  resource, day and set of tags. Of equal remainders the first part of the answer gets the quantum.
* A query's idle money counts once for each row of an answer, on the slices it became, in
  proportion to their cost. Where a category had no cost to divide it is in no bridge.
* A replaced disk is found by the name of the scale set without `-vmss` in its own name, else by
  its pool's tag.
* A rest of an agent's fractions, and what an answer leaves out, is split by nobody.
* Labels of an agent's workload: the answer's `label_<key>`, then the tags of the resource.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import TypeVar

from tests.oracle_azure_charges import (
    RESOURCE_KINDS,
    alone_kind,
    asset,
    category,
    pool,
    slice_of,
    tag,
    total,
)
from tests.oracle_azure_files import Row
from tests.oracle_azure_splits import Part
from tests.oracle_slices import ZERO, Kind, Slice, cost, divide, labels

LEFT_OVER = Fraction(1, 10**6)
"""How far an agent's fractions may miss 1 for each piece."""
WORDS = {"storage": "Storage", "network": "Networking", "networking": "Networking"}

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
Taken = dict[tuple[str, date, str, str], Fraction]
"""What tags took out, by cluster, day, category and namespace."""
Became = dict[Part, list[Slice]]
"""The slices that a query's idle money became."""


class Capacity:
    """The time-based rows of one cluster and day of a source, without what tags took out."""

    def __init__(
        self, source: str, cluster: str, rows: Sequence[Row], parts: Sequence[Part]
    ) -> None:
        self.source = source
        self.cluster = cluster
        self.rows = rows
        self.parts = parts
        self.by_owner = groups(parts, lambda part: asset(part.owner))

    def slices(self, taken: Taken, became: Became) -> Iterator[Slice]:
        """Yield all slices, and note in `became` those of a query's idle money."""
        divided = []
        for row in self.rows:
            is_named = asset(row.resource) in self.by_owner
            kind = alone_kind(row, is_named=is_named, is_answered=bool(self.parts))
            if kind is None:
                divided.append(row)
            else:
                yield slice_of(self.source, [row], row.amounts, kind, self.cluster)
        if self.parts and self.parts[0].source == "query":
            yield from self._by_query(divided, taken, became)
        else:
            yield from self._by_agent(divided)

    def _by_query(self, rows: Iterable[Row], taken: Taken, became: Became) -> Iterator[Slice]:
        by_money = groups(
            rows, lambda row: (str(category(row.resource)), row.currency, row.text("charge_class"))
        )
        for (what, *_), same in by_money.items():
            weights = _less([part for part in self.parts if part.category == what], taken)
            if what == "Networking" and not sum(weights.values(), ZERO):
                yield from self._untold(same)
                continue
            for part, amounts in _divided(total(same), _or_gap(weights)).items():
                piece = self._piece(same, amounts, _kind(part, what), part)
                piece.node_pool = None
                if part and part.bucket == "idle" and part.currency == piece.currency:
                    became.setdefault(part, []).append(piece)
                yield piece

    def _by_agent(self, rows: Iterable[Row]) -> Iterator[Slice]:
        by_resource = groups(
            rows,
            lambda row: (
                asset(row.resource),
                row.currency,
                row.text("charge_class"),
                tuple(sorted(row.tags.items())),
            ),
        )
        for (owner, *_), same in by_resource.items():
            parts = self.by_owner.get(owner, [])
            what = category(owner) or WORDS.get(parts[0].category, "Compute")
            is_replaced = not parts and what == "Storage"
            parts = self._of_node(same[0]) if is_replaced else parts
            if what == "Networking" and not parts:
                yield from self._untold(same)
                continue
            for part, amounts in _divided(total(same), _fractions(parts)).items():
                is_system = is_replaced and part is not None and part.bucket == "system"
                kind = _kind(part, what, "idle" if is_system else None)
                piece = self._piece(same, amounts, kind, part)
                if piece.row_kind == "workload" and part:
                    piece.labels = labels(part.labels, same[0].tags.items())
                if kind[0] in ("idle", "shared"):
                    piece.provider_idle = cost(piece, next(iter(amounts)))
                yield piece

    def _untold(self, rows: Iterable[Row]) -> Iterator[Slice]:
        """Yield network charges that no answer names: shared, as if there were none."""
        for row in rows:
            kind = alone_kind(row, is_named=False, is_answered=False)
            assert kind is not None
            yield slice_of(self.source, [row], row.amounts, kind, self.cluster)

    def _piece(
        self, rows: Sequence[Row], amounts: Mapping[str, Fraction], kind: Kind, part: Part | None
    ) -> Slice:
        piece = slice_of(self.source, rows, amounts, kind, self.cluster)
        piece.is_split = part is not None
        if part and kind[0] == "workload":
            piece.namespace, piece.is_pod = part.namespace, True
        return piece

    def _of_node(self, disk: Row) -> list[Part]:
        """Return the fractions of the scale set that a replaced disk belonged to."""
        name = disk.resource.rsplit("/", 1)[-1]
        mine = tag(disk, "aks-managed-poolName", "poolName")
        sets = [owner for owner in sorted(self.by_owner) if "/virtualmachinescalesets/" in owner]
        pools = {asset(row.resource): pool(row) for row in self.rows}
        for owner in sets:
            if owner.rsplit("/", 1)[-1].removesuffix("-vmss") in name:
                return self.by_owner[owner]
        found = (owner for owner in sets if mine and pools.get(owner) == mine)
        return self.by_owner.get(next(found, ""), [])


def tell_idle(became: Became) -> None:
    """Put a query's idle money on the slices it became."""
    for part, pieces in became.items():
        weights = {
            number: cost(piece, "effective") or cost(piece, "billed") or ZERO
            for number, piece in enumerate(pieces)
        }
        if not sum(weights.values(), ZERO):
            weights = dict.fromkeys(weights, Fraction(1))
        for number, idle in divide(part.weight, weights).items():
            pieces[number].provider_idle = idle


def _kind(part: Part | None, what: str, bucket: str | None = None) -> Kind:
    resource = RESOURCE_KINDS[what]
    if part is None:
        return "unattributed", "split_gap", resource
    idle = ("shared", "load_balancer") if what == "Networking" else ("idle", "unrequested")
    kinds: dict[str, tuple[str, str | None]] = {
        "usage": ("workload", None),
        "idle": idle,
        "system": ("system_overhead", "node_reserve"),
        "unallocated": ("unattributed", "unknown_owner"),
    }
    return *kinds.get(bucket or part.bucket, ("unattributed", "unclassified")), resource


def _less(parts: Sequence[Part], taken: Taken) -> dict[Part | None, Fraction]:
    """Return the money of an answer's rows without what tags have taken out."""
    weights: dict[Part | None, Fraction] = {}
    for part in parts:
        where = ((part.owner, day, part.category, part.namespace or "") for day in part.days)
        out = sum((taken.get(key, ZERO) for key in where), ZERO)
        if part.bucket != "service":
            weights[part] = max(part.weight - out, min(part.weight, ZERO))
    return weights


def _or_gap(weights: dict[Part | None, Fraction]) -> Mapping[Part | None, Fraction]:
    """Return weights, or one part for all where there is nothing to divide by."""
    return weights if sum(weights.values(), ZERO) else {None: Fraction(1)}


def _fractions(parts: Sequence[Part]) -> Mapping[Part | None, Fraction]:
    """Return an agent's fractions, and what they leave over where that is no rounding."""
    weights: dict[Part | None, Fraction] = {part: part.weight for part in parts}
    gap = 1 - sum(weights.values(), ZERO)
    return {**weights, None: gap} if gap > LEFT_OVER * len(parts) else weights


def _divided(
    amounts: Mapping[str, Fraction], weights: Mapping[K, Fraction]
) -> dict[K, dict[str, Fraction]]:
    parts = {view: divide(amount, weights) for view, amount in amounts.items()}
    return {name: {view: parts[view][name] for view in amounts} for name in weights}


def groups(values: Iterable[V], key: Callable[[V], K]) -> dict[K, list[V]]:
    """Return values by key, in their order."""
    found: dict[K, list[V]] = defaultdict(list)
    for value in values:
        found[key(value)].append(value)
    return dict(found)
