"""Which node of the bill a node of an inventory is, and which snapshot of it holds on a day.

A provider id is compared as a whole, by the part of it that stands on the bill. A name counts only
where the inventory gives no id, and where one node of the bill alone bears it on that day. Of the
snapshots of a node the newest that is not after the day holds, else the earliest after it; one
without a date holds where no other does.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import polars as pl

from transforms.inventory import ALLOCATABLE, shown
from transforms.node_costs import is_node_row
from transforms.sliced import Finding, NodeIds, of_month

BILL_NODES = ("resource_id", "node_name", "charge_date")
"""A node of the bill on a day; `node_name` is NULL where the provider does not tell nodes."""

_PART = ["resource_id", "charge_date", "resource_kind"]


class Matched(NamedTuple):
    """ALLOCATABLE, one row a node, day and resource, and what a person must know."""

    allocatable: pl.DataFrame
    findings: list[Finding]


def bill_nodes(slices: pl.LazyFrame) -> pl.DataFrame:
    """Return BILL_NODES of one source."""
    rows = slices.filter(is_node_row() & pl.col("resource_id").is_not_null())
    named = rows.select("resource_id", "node_name", charge_date="charge_period_start")
    return named.unique().collect(engine="streaming")


def match(
    inventory: pl.DataFrame, bill: pl.DataFrame, month: str, node_ids: Sequence[NodeIds]
) -> Matched:
    """Find the nodes of the bill in the inventory.

    inventory: INVENTORY of all files; bill: BILL_NODES of all sources, because a name must be
    one node's alone; month: YYYY-MM; node_ids: those of every provider there is.
    """
    keyed = _keyed(inventory, node_ids)
    agreed, overlapping = _agreed(keyed)
    ids, names, doubled = _ids(bill, node_ids), *_names(bill)
    by_id, by_name = agreed.filter(~pl.col("by_name")), agreed.filter("by_name")
    held = _together(_held(by_id, ids), _held(by_name, names))
    contradicting = _contradicting(_of_nodes(by_id, ids), _of_nodes(by_name, names))
    # A name does not make up for an id of which several things are said.
    disputed = overlapping.filter(~pl.col("by_name")).join(ids, on="key")
    for doubted in (contradicting, disputed):
        held = held.join(doubted, on="resource_id", how="anti")
    found = [
        *_overlaps(overlapping, contradicting, month),
        *_ambiguous(keyed, doubled, month),
        *_unknown(keyed, ids, bill, month),
    ]
    return Matched(held.select(*ALLOCATABLE).sort(_PART), found)


# ---------------------------------------------------------------- who is who


def _keyed(inventory: pl.DataFrame, node_ids: Sequence[NodeIds]) -> pl.DataFrame:
    """Add `key`, the part of the provider id that stands on the bill or else the name.

    Nodes of a provider whose bill tells none are left out: they could only be unknown.
    """
    name = pl.col("provider_id")
    untold = [name.str.contains(ids.provider_id) for ids in node_ids if ids.billed is None]
    parts = [name.str.extract(ids.provider_id) for ids in node_ids if ids.billed is not None]
    is_untold = pl.any_horizontal(pl.lit(value=False), *untold).fill_null(value=False)
    return inventory.filter(~is_untold).with_columns(
        key=pl.coalesce(*parts, name, "node_name"), by_name=name.is_null()
    )


def _ids(bill: pl.DataFrame, node_ids: Sequence[NodeIds]) -> pl.DataFrame:
    """Return `key`, `resource_id`, `charge_date`: what an inventory may call a node of the bill."""
    keys = [pl.col("resource_id"), *(ids.billed for ids in node_ids if ids.billed is not None)]
    frames = [bill.select("resource_id", "charge_date", key=key) for key in keys]
    return pl.concat(frames).drop_nulls("key").unique()


def _names(bill: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the nodes that alone bear a name on a day as `_ids` does, and the names of others."""
    named = (
        bill.drop_nulls("node_name")
        .group_by("charge_date", key="node_name")
        .agg(pl.col("resource_id").min(), nodes=pl.col("resource_id").n_unique())
    )
    is_one = pl.col("nodes") == 1
    return named.filter(is_one), named.filter(~is_one)


def _agreed(keyed: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the snapshots of nodes that say one thing a day, and what the others say.

    A node with two sets of values on one day is not used at all: nobody knows which is right.
    """
    said = keyed.group_by("key", "by_name", "taken", "resource_kind").agg(
        pl.col("node_name", "file", "capacity").max(),
        pl.col("allocatable").min(),
        most=pl.col("allocatable").max(),
        files=pl.col("file").unique().sort().str.join(" and "),
    )
    overlapping = said.filter(pl.col("allocatable") != pl.col("most"))
    return said.join(overlapping, on=["key", "by_name"], how="anti"), overlapping


# ---------------------------------------------------------------- which snapshot


def _held(snapshots: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Return what holds for each node, day and resource: ALLOCATABLE and `taken`."""
    part = ["key", "resource_kind"]
    values = ["taken", "allocatable", "capacity", "file"]
    kinds = snapshots.select(part).unique()
    asked = nodes.select("key", "resource_id", "charge_date").join(kinds, on="key")
    dated = snapshots.drop_nulls("taken").select(*part, *values).sort("taken")
    undated = snapshots.filter(pl.col("taken").is_null()).select(*part, *values)
    frames = [_nearest(asked, dated, part, strategy) for strategy in _STRATEGIES]
    frames.append(asked.join(undated, on=part))
    turns = [frame.select(*_PART, *values, turn=turn) for turn, frame in enumerate(frames)]
    in_turn = pl.concat(turns).sort(*_PART, "turn", *values)
    return in_turn.unique(_PART, keep="first", maintain_order=True).drop("turn")


_STRATEGIES: tuple[Literal["backward", "forward"], ...] = ("backward", "forward")


def _nearest(
    asked: pl.DataFrame,
    dated: pl.DataFrame,
    part: list[str],
    strategy: Literal["backward", "forward"],
) -> pl.DataFrame:
    near = asked.sort("charge_date").join_asof(
        dated.with_columns(day="taken"),
        left_on="charge_date",
        right_on="day",
        by=part,
        strategy=strategy,
        check_sortedness=False,  # both are sorted; it cannot be checked within groups
    )
    return near.drop_nulls("taken")


def _together(by_id: pl.DataFrame, by_name: pl.DataFrame) -> pl.DataFrame:
    """Return what ids say, else names."""
    return pl.concat([by_id, by_name.join(by_id, on=_PART, how="anti")])


def _of_nodes(snapshots: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Add `resource_id`: which node of the bill a snapshot is of, on any day."""
    return snapshots.join(nodes.select("key", "resource_id").unique(), on="key")


def _contradicting(by_id: pl.DataFrame, by_name: pl.DataFrame) -> pl.DataFrame:
    """Return where ids and names say other things of one node and date."""
    same = ["resource_id", "taken", "resource_kind"]
    both = by_id.join(by_name, on=same, suffix=":named", nulls_equal=True)
    return both.filter(pl.col("allocatable") != pl.col("allocatable:named"))


# ---------------------------------------------------------------- findings


def _overlaps(
    overlapping: pl.DataFrame, contradicting: pl.DataFrame, month: str
) -> Iterator[Finding]:
    """Yield one error for all that say several things of one node and day."""
    part = ["taken", "resource_kind", "allocatable"]
    within = overlapping.select(*part, "files", other="most", name="key")
    between = contradicting.select(
        *part,
        files=pl.concat_str("file", pl.lit(" and "), "file:named"),
        other="allocatable:named",
        name="resource_id",
    )
    said = pl.concat([within, between]).sort("name", *part, "files")
    if said.is_empty():
        return
    names, first = said.get_column("name").unique(maintain_order=True), said.row(0, named=True)
    yield of_month(
        month,
        "inventory_overlaps",
        "error",
        where=f"{first['files']}: {shown(names.to_list())}",
        expected="one set of amounts a node and day",
        actual=f"{first['resource_kind']} {first['allocatable']} and {first['other']} "
        f"for {first['name']}, {first['taken'] or 'without a date'}",
        hint="these nodes were not used: what they reserve stands in idle; take one of the "
        "snapshots away, or date them",
    )


def _ambiguous(keyed: pl.DataFrame, doubled: pl.DataFrame, month: str) -> Iterator[Finding]:
    """Yield one warning for all names that several nodes of the bill bear on a day."""
    named = keyed.filter("by_name").select("key").unique()
    found = doubled.join(named, on="key", how="semi").sort("key", "charge_date")
    if found.is_empty():
        return
    names, first = found.get_column("key").unique(maintain_order=True), found.row(0, named=True)
    yield of_month(
        month,
        "inventory_ambiguous",
        "warning",
        where=shown(names.to_list()),
        expected="one node of the bill with that name, or a provider_id in the inventory",
        actual=f"{first['nodes']} nodes are named {first['key']} on {first['charge_date']}",
        hint="these nodes were not used: what they reserve stands in idle; take the inventory "
        "with its provider ids, as kubectl writes them",
    )


def _unknown(
    keyed: pl.DataFrame, ids: pl.DataFrame, bill: pl.DataFrame, month: str
) -> Iterator[Finding]:
    """Yield one warning for each file with nodes of this month that are not on the bill.

    Those of a snapshot without a date are of every month.
    """
    is_due = pl.col("taken").dt.to_string("%Y-%m") == month
    due = keyed.filter(is_due | pl.col("taken").is_null())
    by_id = due.filter(~pl.col("by_name")).join(ids, on="key", how="anti")
    names = bill.select(key="node_name").drop_nulls()
    by_name = due.filter("by_name").join(names, on="key", how="anti")
    unknown = pl.concat([by_id, by_name]).sort("file", "key")
    for (file,), rows in unknown.group_by("file", maintain_order=True):
        found = rows.get_column("key").unique(maintain_order=True).to_list()
        yield of_month(
            month,
            "inventory_unknown_node",
            "warning",
            where=f"{file}: {shown(found)}",
            expected=f"nodes that are on a bill of {month}",
            actual=f"{len(found)} are not",
            hint="nodes of clusters that no [[source]] bills, or of another account? add the "
            "source, date a snapshot of another month, or leave them out of the inventory",
        )
