"""The oracle's repricing of an AWS node: charge by request, and idle by pricing category.

Choices where the contract leaves room:

* The unit price of a resource is what its pods and empty hours cost before dust, over all its
  capacity; a pod's amount is rounded once a workload, node and day.
* What the repriced pods leave is the idle of all hours with pods. That of hours with agents alone
  is what their capacity costs at the unit price less what the agents request in them, rounded;
  the other hours, or the first cause where there are none, have the rest.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tests.oracle_aws_charges import AwsSlice
from tests.oracle_aws_files import Row
from tests.oracle_aws_source import Source
from tests.oracle_slices import ZERO, divide, rounded


def by_request(pieces: list[AwsSlice], split: Mapping[str, Fraction]) -> None:
    """Charge pods of a node and day what they request, and leave the rest idle.

    `split` is what each resource costs, before dust. A node of which a size is unknown keeps the
    provider's split.
    """
    capacity: dict[str, Fraction] = defaultdict(Fraction)
    for piece in pieces:
        if piece.row_kind == "idle" and piece.capacity is None:
            return
        capacity[piece.resource_kind] += piece.capacity or ZERO
    for kind, cost in split.items():
        own = [piece for piece in pieces if piece.resource_kind == kind]
        if capacity[kind] and any(piece.is_pod for piece in own):
            _reprice(own, cost / capacity[kind])


def _reprice(pieces: Sequence[AwsSlice], price: Fraction) -> None:
    whole = sum((piece.effective for piece in pieces), ZERO)
    pods = [piece for piece in pieces if piece.is_pod]
    for pod in pods:
        pod.effective = rounded((pod.requested or ZERO) * price)
        pod.workload_idle = None if pod.slack is None else pod.slack * price
    idle = [piece for piece in pieces if piece.reason == "unrequested"]
    rest, *alone = sorted(idle, key=lambda piece: piece.cause or "")
    for piece in alone:
        piece.effective = rounded(((piece.capacity or ZERO) - piece.asked) * price)
    rest.effective += whole - sum((piece.effective for piece in pieces), ZERO)


def by_category(
    source: Source, parents: Sequence[Row], pieces: Sequence[AwsSlice]
) -> list[AwsSlice]:
    """Divide idle over the pricing categories of the node and day, by what the parents cost."""
    costs: dict[str | None, Fraction] = defaultdict(Fraction)
    for row in parents:
        costs[category(row)] += source.effective(row)
    found: list[AwsSlice] = []
    for piece in pieces:
        found += _divided(piece, costs) if piece.row_kind == "idle" else [piece]
    return found


def category(row: Row) -> str | None:
    """Return how an instance's row was bought."""
    if row["line_item_line_item_type"] in ("SavingsPlanCoveredUsage", "DiscountedUsage"):
        return "Committed"
    if "SpotUsage" in row["line_item_usage_type"]:
        return "Dynamic"
    terms = {"OnDemand": "Standard", "Spot": "Dynamic", "Reserved": "Committed"}
    return terms.get(row.get("pricing_term") or "")


def _divided(piece: AwsSlice, costs: Mapping[str | None, Fraction]) -> list[AwsSlice]:
    weights = {name: costs[name] for name in sorted(costs, key=str) if costs[name] > 0}
    if len(costs) == 1 or not weights:
        name = next(iter(costs)) if len(costs) == 1 else None
        return [replace(piece, pricing_category=name)]
    whole = sum(weights.values(), ZERO)
    parts = divide(piece.effective, weights)
    return [
        replace(
            piece,
            pricing_category=name,
            effective=part,
            gross=piece.gross * weights[name] / whole,
            capacity=None if piece.capacity is None else piece.capacity * weights[name] / whole,
        )
        for name, part in parts.items()
    ]
