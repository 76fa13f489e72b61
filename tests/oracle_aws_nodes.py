"""The oracle's second opinion on AWS nodes: an instance's day against its pods.

Choices where the contract leaves room:

* Empty hours x the highest price is rounded half-even before it caps the residual. What is left
  over after that is dust when it is at most 1e-9 x (parent rows + split rows) of the instance and
  day; only an instance and day with split rows has dust.
* Dust goes to the largest idle slice above 0, empty or not, else to the largest workload slice;
  of equal ones to the first by resource kind, unrequested before empty.
* The empty-node amount is divided by largest remainder, equal ones by name of the resource kind.
* `billed` of a node's slices is an exact fraction: the contract does not fix which slice gets the
  last quantum. The sum per instance and day is exact.
* In a daily export no residual is idle, also on a day without any split row.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date
from fractions import Fraction

from tests.oracle_aws_charges import POOL_TAGS, AwsSlice, charge_slices, plan_offset, slice_of
from tests.oracle_aws_files import Row
from tests.oracle_aws_source import Source, billed, is_parent, start, tag
from tests.oracle_slices import ZERO, divide, rounded

DUST_PER_ROW = Fraction(1, 10**9)
SUFFIXES = {"vCPU-Hours": "cpu", "GB-Hours": "memory", "Accelerator-Hours": "gpu"}
SIZES = {"vcpu": "cpu", "memory": "memory", "gpu": "gpu"}
WEIGHTS = {"cpu": Fraction(9), "memory": Fraction(1)}
GPU_WEIGHTS = {"gpu": Fraction(9), "cpu": Fraction(9, 10), "memory": Fraction(1, 10)}

Key = tuple[str, date, str]
"""Instance, day and currency."""


def slices(source: Source) -> list[AwsSlice]:
    """Return every slice of a source's month; split rows without a parent are in none."""
    found: list[AwsSlice] = []
    parents: dict[Key, list[Row]] = defaultdict(list)
    for row in source.charges:
        if not (is_parent(row) and source.cluster(row)):
            found += charge_slices(source, row)
            continue
        if row["line_item_line_item_type"] == "SavingsPlanCoveredUsage":
            found.append(plan_offset(source, row))
        if source.first_split is None or start(row) < source.first_split:
            kind = ("unattributed", "no_split_source", "compute")
            found.append(slice_of(source, row, kind, billed=_invoiced(row), **_where(source, row)))
        else:
            parents[_key(row, row["line_item_resource_id"])].append(row)
    pods: dict[Key, list[Row]] = defaultdict(list)
    for row in source.splits:
        pods[_key(row, row["split_line_item_parent_resource_id"])].append(row)
    for key, rows in parents.items():
        found += _node_day(source, rows, pods.get(key, []))
    return found


def orphans(source: Source) -> set[str]:
    """Return the instances whose split rows have no parent in the delivery."""
    parents = {row["line_item_resource_id"] for row in source.charges if is_parent(row)}
    return {row["split_line_item_parent_resource_id"] for row in source.splits} - parents


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


def _node_day(source: Source, parents: Sequence[Row], pods: Sequence[Row]) -> list[AwsSlice]:
    """Return the slices of one instance and day, whose sum is the sum of its parent rows."""
    first = parents[0]
    where = {**_where(source, first), "is_split": True}
    total = sum((source.effective(row) for row in parents), ZERO)
    pieces = [_workload(source, row, where) for row in pods]
    pieces += _unrequested(source, first, pieces, where)
    residual = total - sum((piece.effective for piece in pieces), ZERO)
    hours = _empty_hours(source, parents, pods)
    empty = min(max(residual, ZERO), rounded(hours * _highest_price(source, parents)))
    pieces += _empty(source, first, (empty, hours), where)
    rest = residual - empty
    if pods and abs(rest) <= DUST_PER_ROW * (len(parents) + len(pods)):
        _settle(pieces, rest)
    else:
        pieces += _gap(source, first, (rest, ZERO), where)
    invoice = sum((_invoiced(row) for row in parents), ZERO)
    return pieces + _share_invoice(source, first, pieces, invoice)


def _workload(source: Source, row: Row, where: dict[str, object]) -> AwsSlice:
    kind = next(k for suffix, k in SUFFIXES.items() if row["line_item_usage_type"].endswith(suffix))
    cost, unused = source.split_amounts(row)
    return slice_of(
        source,
        row,
        ("workload", None, kind),
        **where,
        effective=cost,
        billed=ZERO,
        gross=rounded(row["split_line_item_split_cost"]),
        namespace=row["line_item_resource_id"].split("/")[2],
        labels=row["tags"],
        is_pod=True,
        provider_idle=unused,
        provider_idle_gross=rounded(row["split_line_item_unused_cost"]),
        workload_idle=_slack(row, cost),
    )


def _slack(row: Row, cost: Fraction) -> Fraction | None:
    """Return the requested but unused part of a split row's cost; None where not measured."""
    if "split_line_item_actual_usage" not in row:
        return None
    reserved, used, charged = (
        row[f"split_line_item_{name}"] for name in ("reserved_usage", "actual_usage", "split_usage")
    )
    return cost * max(reserved - used, ZERO) / charged if charged else ZERO


def _unrequested(
    source: Source, row: Row, pieces: Iterable[AwsSlice], where: dict[str, object]
) -> list[AwsSlice]:
    """Take what AWS spread over the pods back into one slice per resource kind."""
    found: dict[str, AwsSlice] = {}
    for piece in pieces:
        kind = piece.resource_kind
        if kind not in found:
            idle = ("idle", "unrequested", kind)
            found[kind] = slice_of(source, row, idle, **where, effective=ZERO, billed=ZERO)
        found[kind].effective += piece.provider_idle or ZERO
        found[kind].gross += piece.provider_idle_gross
    return list(found.values())


def _empty_hours(source: Source, parents: Iterable[Row], pods: Iterable[Row]) -> Fraction:
    if source.is_daily:
        return ZERO
    hours = sum((rounded(row["line_item_usage_amount"]) for row in parents), ZERO)
    return max(hours - len({start(row) for row in pods}), ZERO)


def _highest_price(source: Source, parents: Iterable[Row]) -> Fraction:
    amounts = [(source.effective(row), rounded(row["line_item_usage_amount"])) for row in parents]
    return max((cost / hours for cost, hours in amounts if hours), default=ZERO)


def _empty(
    source: Source, row: Row, empty: tuple[Fraction, Fraction], where: dict[str, object]
) -> list[AwsSlice]:
    """Divide the amount of the empty hours over the resources of the instance."""
    amount, hours = empty
    if not amount:
        return []
    parts = _by_size(row, amount) or {"compute": amount}
    return [
        slice_of(
            source,
            row,
            ("idle", "empty_node", kind),
            **where,
            effective=part,
            billed=ZERO,
            empty_hours=hours,
        )
        for kind, part in parts.items()
    ]


def _by_size(row: Row, amount: Fraction) -> dict[str, Fraction]:
    size = {
        kind: Fraction(row["product"][name].split()[0].replace(",", ""))
        for name, kind in SIZES.items()
        if row["product"].get(name)
    }
    if not {"cpu", "memory"} <= set(size):
        return {}
    per_unit = GPU_WEIGHTS if size.get("gpu") else WEIGHTS
    return divide(amount, {kind: per_unit[kind] * size[kind] for kind in sorted(per_unit)})


def _settle(pieces: Sequence[AwsSlice], dust: Fraction) -> None:
    """Give dust to the largest idle slice, else to the largest."""
    idle = [piece for piece in pieces if piece.row_kind == "idle" and piece.effective > 0]
    order = {"unrequested": 0, "empty_node": 1, None: 2}
    largest = min(
        idle or pieces,
        key=lambda piece: (-piece.effective, piece.resource_kind, order[piece.reason]),
    )
    largest.effective += dust


def _gap(
    source: Source, row: Row, amounts: tuple[Fraction, Fraction], where: dict[str, object]
) -> list[AwsSlice]:
    effective, invoice = amounts
    if not effective and not invoice:
        return []
    kind = ("unattributed", "split_gap", "compute")
    return [slice_of(source, row, kind, **where, effective=effective, billed=invoice)]


def _share_invoice(
    source: Source, row: Row, pieces: Sequence[AwsSlice], invoice: Fraction
) -> list[AwsSlice]:
    """Set `billed` of the slices in the ratio of their amortised cost; return what has no ratio."""
    total = sum((piece.effective for piece in pieces), ZERO)
    gross = sum((piece.gross for piece in pieces), ZERO)
    if not total and not gross:
        return _gap(source, row, (ZERO, invoice), {**_where(source, row), "is_split": True})
    for piece in pieces:
        share = piece.effective / total if total else piece.gross / gross
        piece.billed = invoice * share
    return []
