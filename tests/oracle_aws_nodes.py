"""The oracle's second opinion on AWS nodes: an instance's day against its pods.

Choices where the contract leaves room:

* Empty hours x the highest price is rounded half-even before it caps the residual. What is left
  over after that is dust when it is at most 1e-9 x (parent rows + split rows) of the instance and
  day; only an instance and day with split rows has dust.
* Dust goes to the largest idle slice above 0, empty or not, else to the largest workload slice;
  of equal ones to the first by resource kind, unrequested before empty, then by the label `team`
  and namespace, none first.
* The empty-node amount is divided by largest remainder, equal ones by name of the resource kind.
* Idle of hours with agents alone is a slice of its own, without a change of its reason. Where a
  node was billed for parts of hours, its capacity is divided by the number of split hours.
* Hours of a node are counted as its capacity is: from the source's first split row on.
* Idle of a day bought in several pricing categories is divided last, dust and prices included.
* `billed` of a node's slices is an exact fraction: the contract does not fix which slice gets the
  last quantum. The sum per instance and day is exact.
* In a daily export no residual is idle, also on a day without any split row, and no hour is the
  agents' alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction

from tests.oracle_aws_charges import POOL_TAGS, AwsSlice, charge_slices, plan_offset, slice_of
from tests.oracle_aws_day import Day, hours_of
from tests.oracle_aws_files import Row
from tests.oracle_aws_pods import agents_hours, resource_kind, workloads
from tests.oracle_aws_prices import by_category, by_request
from tests.oracle_aws_source import Source, billed, is_parent, start, tag
from tests.oracle_slices import ZERO, divide, rounded

DUST_PER_ROW = Fraction(1, 10**9)
WEIGHTS = {"cpu": Fraction(9), "memory": Fraction(1)}
GPU_WEIGHTS = {"gpu": Fraction(9), "cpu": Fraction(9, 10), "memory": Fraction(1, 10)}

Key = tuple[str, date, str]
"""Instance, day and currency."""


def slices(source: Source, basis: str) -> list[AwsSlice]:
    """Return every slice of a source's month; split rows without a parent are in none."""
    found: list[AwsSlice] = []
    for row in source.charges:
        if not _is_node(source, row):
            found += charge_slices(source, row)
            continue
        if row["line_item_line_item_type"] == "SavingsPlanCoveredUsage":
            found.append(plan_offset(source, row))
        if _is_before(source, row):
            kind = ("unattributed", "no_split_source", "compute")
            found.append(slice_of(source, row, kind, billed=_invoiced(row), **_where(source, row)))
    for day in days(source):
        found += _node_day(day, basis)
    return found


def days(source: Source) -> list[Day]:
    """Return the instances' days from the first split row on."""
    parents: dict[Key, list[Row]] = defaultdict(list)
    pods: dict[Key, list[Row]] = defaultdict(list)
    for row in source.charges:
        if _is_node(source, row) and not _is_before(source, row):
            parents[_key(row, row["line_item_resource_id"])].append(row)
    for row in source.splits:
        pods[_key(row, row["split_line_item_parent_resource_id"])].append(row)
    left = last_days(source)
    return [
        Day(
            source,
            rows,
            pods.get(key, []),
            {**_where(source, rows[0]), "is_split": True},
            left.get(key[0]) == key[1],
        )
        for key, rows in parents.items()
    ]


def billed_hours(source: Source) -> dict[tuple[str, date], Fraction]:
    """Return the billed hours of each instance and day, from the first split row on."""
    rows: dict[tuple[str, date], list[Row]] = defaultdict(list)
    for row in source.charges:
        if _is_node(source, row) and not _is_before(source, row):
            rows[row["line_item_resource_id"], start(row).date()].append(row)
    return {key: hours_of(parents) for key, parents in rows.items()}


def last_days(source: Source) -> dict[str, date]:
    """Return the last day of each instance that left before the last day of the source."""
    last: dict[str, date] = {}
    for row in source.charges:
        if _is_node(source, row):
            node, day = row["line_item_resource_id"], start(row).date()
            last[node] = max(day, last.get(node, day))
    return {node: day for node, day in last.items() if day < max(last.values())}


def orphans(source: Source) -> set[str]:
    """Return the instances whose split rows have no parent in the delivery."""
    parents = {row["line_item_resource_id"] for row in source.charges if is_parent(row)}
    return {row["split_line_item_parent_resource_id"] for row in source.splits} - parents


def _is_node(source: Source, row: Row) -> bool:
    return is_parent(row) and source.cluster(row) is not None


def _is_before(source: Source, row: Row) -> bool:
    return source.first_split is None or start(row) < source.first_split


def _key(row: Row, instance: str) -> Key:
    return instance, start(row).date(), row["line_item_currency_code"]


def _invoiced(row: Row) -> Fraction:
    """What the invoice says; usage under a plan is 0 inside the cluster."""
    covered = row["line_item_line_item_type"] == "SavingsPlanCoveredUsage"
    return ZERO if covered else billed(row)


def _where(source: Source, row: Row) -> dict[str, object]:
    instance = row["line_item_resource_id"]
    return {
        "cluster": source.cluster(row),
        "node": instance,
        "node_name": source.node_names.get(instance, instance),
        "node_pool": tag(row, *POOL_TAGS),
    }


def _node_day(day: Day, basis: str) -> list[AwsSlice]:
    """Return the slices of one instance and day, whose sum is the sum of its parent rows."""
    pods = workloads(day.source, day.pods, day.where)
    residual = day.cost - sum((pod.effective + (pod.provider_idle or ZERO) for pod in pods), ZERO)
    most = rounded(day.empty_hours * _highest_price(day))
    empty = min(max(residual, ZERO), most)
    pieces = pods + _unrequested(day, is_partly_empty=empty > 0) + _empty(day, empty)
    split = {kind: _sum_of(pieces, kind) for kind in {piece.resource_kind for piece in pieces}}
    rest = residual - empty
    if day.pods and abs(rest) <= DUST_PER_ROW * (len(day.parents) + len(day.pods)):
        _settle(pieces, rest)
        rest = ZERO
    if basis == "request":
        by_request(pieces, split)
    pieces += _gap(day, rest, ZERO)
    pieces = by_category(day.source, day.parents, pieces)
    return pieces + _share_invoice(day, pieces)


def _sum_of(pieces: Iterable[AwsSlice], kind: str) -> Fraction:
    return sum((piece.effective for piece in pieces if piece.resource_kind == kind), ZERO)


def _unrequested(day: Day, *, is_partly_empty: bool) -> list[AwsSlice]:
    """Take what AWS spread over the pods back, by resource and by who ran in an hour."""
    causes = agents_hours([] if day.source.is_daily else day.pods, is_last_day=day.is_last)
    used = day.hours - (day.empty_hours if is_partly_empty else ZERO)
    found: dict[tuple[str, str | None], AwsSlice] = {}
    for row in day.pods:
        kind, cause = resource_kind(row), causes.get(start(row))
        if (kind, cause) not in found:
            size, share = day.size.get(kind), _share_of_hours(day, causes, cause)
            found[kind, cause] = day.slice(
                "idle",
                "unrequested",
                kind,
                cause=cause,
                effective=ZERO,
                capacity=None if size is None else size * used * share,
                knows_hours=not day.source.is_daily,
            )
        idle = found[kind, cause]
        idle.effective += day.source.split_amounts(row)[1]
        idle.gross += rounded(row["split_line_item_unused_cost"])
        idle.asked += rounded(row.get("split_line_item_reserved_usage"))
    return list(found.values())


def _share_of_hours(day: Day, causes: Mapping[datetime, str], cause: str | None) -> Fraction:
    """Return the part of the hours with pods that have a cause, or none."""
    hours = {start(row) for row in day.pods}
    return Fraction(sum(causes.get(hour) == cause for hour in hours), len(hours))


def _highest_price(day: Day) -> Fraction:
    costs = [
        (day.source.effective(row), rounded(row["line_item_usage_amount"])) for row in day.parents
    ]
    return max((cost / hours for cost, hours in costs if hours), default=ZERO)


def _empty(day: Day, amount: Fraction) -> list[AwsSlice]:
    """Divide the amount of the empty hours over the resources of the instance."""
    if not amount:
        return []
    size = day.size
    parts = {"compute": amount}
    if {"cpu", "memory"} <= set(size):
        per_unit = GPU_WEIGHTS if size.get("gpu") else WEIGHTS
        parts = divide(amount, {kind: per_unit[kind] * size[kind] for kind in sorted(per_unit)})
    return [
        day.slice(
            "idle",
            "empty_node",
            kind,
            cause="scale_down_wait" if day.is_last else "empty_node",
            effective=part,
            empty_hours=day.empty_hours,
            capacity=size[kind] * day.empty_hours if kind in size else None,
            knows_hours=not day.source.is_daily,
        )
        for kind, part in parts.items()
    ]


def _settle(pieces: Sequence[AwsSlice], dust: Fraction) -> None:
    """Give dust to the largest idle slice, else to the largest."""
    idle = [piece for piece in pieces if piece.row_kind == "idle" and piece.effective > 0]
    order = {"unrequested": 0, "empty_node": 1, None: 2}
    largest = min(
        idle or pieces,
        key=lambda piece: (
            -piece.effective,
            piece.resource_kind,
            order[piece.reason],
            piece.cause or "",
            piece.labels.get("team", ""),
            piece.namespace or "",
        ),
    )
    largest.effective += dust


def _gap(day: Day, effective: Fraction, invoice: Fraction) -> list[AwsSlice]:
    if not effective and not invoice:
        return []
    gap = day.slice("unattributed", "split_gap", "compute", effective=effective)
    gap.billed = invoice
    return [gap]


def _share_invoice(day: Day, pieces: Sequence[AwsSlice]) -> list[AwsSlice]:
    """Set `billed` of the slices in the ratio of their amortised cost; return what has no ratio."""
    invoice = sum((_invoiced(row) for row in day.parents), ZERO)
    total = sum((piece.effective for piece in pieces), ZERO)
    gross = sum((piece.gross for piece in pieces), ZERO)
    if not total and not gross:
        return _gap(day, ZERO, invoice)
    for piece in pieces:
        share = piece.effective / total if total else piece.gross / gross
        piece.billed = invoice * share
    return []
