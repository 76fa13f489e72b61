"""What a team's figures are made of, for people: kinds, rules, weights, nodes and files."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from decimal import Decimal
from itertools import groupby
from operator import itemgetter

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipelines.explaining import Explained
from pipelines.figures import LOOKS, clean, count, money, percent, rounded
from pipelines.reading import Row
from pipelines.show_clusters import WIDEST_ID, sum_table

PLACES = 6
"""Decimal places of explained amounts: enough to see a day's pool, few enough to read."""
SHOWN_FILES = 10
SHOWN_NODES = 5
NOTHING = Decimal(0)
NOT_KNOWN = "not known"
FROM_NODES = {"idle": ("cause", "stood idle"), "headroom": ("", "kept free")}
"""The kinds of which nodes are told, and the headings of what is told."""
WITHIN = {
    "node": "within each node",
    "node_pool": "within each node pool",
    "cluster": "within the cluster",
}

Reason = tuple[str, str, str, str, str]
"""What postings of one kind have in common: kind, reason, resource, method, rule."""


def explanation(found: Explained) -> RenderableType:
    """Return the postings of a team, summed over the days, the nodes and the files behind them."""
    key = itemgetter("provider", "cluster_id", "billing_currency")
    nodes = _by_pool(found.idle)
    parts: list[RenderableType] = []
    for (provider, cluster, currency), group in groupby(sorted(found.postings, key=key), key=key):
        known = (clean(cluster, WIDEST_ID), "bold")
        heading = Text.assemble(known, (f"  {provider}  {currency}", "dim"), overflow="fold")
        postings = list(group)
        parts += [heading, _reasons(_grouped(postings)), *_origins(postings, nodes)]
        parts.append(Text(""))
    return Group(*parts, *_notes(found.postings), *_files(found.postings))


def _by_pool(rows: Iterable[Row]) -> dict[str, list[Row]]:
    pools: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        pools[row["pool_id"]].append(row)
    return pools


def _grouped(postings: list[Row]) -> dict[Reason, list[Row]]:
    groups: dict[Reason, list[Row]] = defaultdict(list)
    key = itemgetter("row_kind", "reason", "resource_kind", "method", "allocation_rule")
    for posting in postings:
        groups[tuple(part or "" for part in key(posting))].append(posting)  # type: ignore[index]
    order = list(LOOKS)
    return dict(sorted(groups.items(), key=lambda item: (order.index(item[0][0]), item[0])))


# ---------------------------------------------------------------------------------------------
# How much
# ---------------------------------------------------------------------------------------------


def _reasons(groups: dict[Reason, list[Row]]) -> Table:
    table = sum_table()
    table.add_column("", footer="total", overflow="fold")
    table.add_column("method (rule)", style="dim", overflow="fold")
    table.add_column("of pools of", justify="right", no_wrap=True)
    table.add_column("part", justify="right", no_wrap=True)
    total = sum((_sum(postings, "amount") for postings in groups.values()), NOTHING)
    table.add_column("amount", footer=money(total, PLACES, "bold"), justify="right", no_wrap=True)
    for reason, postings in groups.items():
        pools = {posting["pool_id"]: posting for posting in postings}
        given, pool = _sum(postings, "amount"), _sum(pools.values(), "pool_amount")
        name = Text(_what(reason)).append(f"\n{_why(reason)}" if reason[1] else "", style="dim")
        amounts = money(pool, PLACES), percent(given, pool), money(given, PLACES)
        table.add_row(name, _by(reason), *amounts)
    return table


def _sum(rows: Iterable[Row], column: str) -> Decimal:
    return sum((row[column] for row in rows if row[column] is not None), NOTHING)


def _what(reason: Reason) -> str:
    kind, _, resource, *_ = reason
    return " ".join(part.replace("_", " ") for part in (LOOKS[kind].words, resource) if part)


def _why(reason: Reason) -> str:
    return reason[1].replace("_", " ")


def _by(reason: Reason) -> str:
    *_, method, rule = reason
    return f"{method} ({rule})" if rule != "default" else method


# ---------------------------------------------------------------------------------------------
# From which nodes
# ---------------------------------------------------------------------------------------------


def _origins(postings: list[Row], nodes: dict[str, list[Row]]) -> Iterator[RenderableType]:
    """Yield why the team bears idle and headroom, by which weight, and of which nodes they were.

    Postings that differ by reason alone are told together: their nodes say the cause.
    """
    alike: dict[Reason, list[Row]] = defaultdict(list)
    for (kind, _, resource, method, rule), group in _grouped(postings).items():
        if kind in FROM_NODES:
            alike[kind, "", resource, method, rule] += group
    for reason, group in alike.items():
        pools = sorted({posting["pool_id"] for posting in group})
        rows = [row for pool in pools for row in nodes[pool]]
        if rows:
            yield Text(f"\n{_what(reason)}")
            yield from (Text(f"  {line}", style="dim") for line in _rule(reason, group))
            yield _nodes(rows, reason[0])


def _rule(reason: Reason, postings: list[Row]) -> Iterator[str]:
    """Say which rule gave it to the team, and by which weight of which total."""
    *_, method, rule = reason
    days = count(len({posting["charge_date"] for posting in postings}), "day")
    if method == "none":
        named = "no rule shares it out" if rule == "default" else f"rule {rule} shares nothing out"
        yield f"{named}: the operator bears it, {days}"
        return
    scopes = sorted({posting["scope"] for posting in postings})
    yield f"rule {rule}: {method} {' and '.join(WITHIN[scope] for scope in scopes)}, {days}"
    weights = _weights(postings)
    weight, total = (sum(column, NOTHING) for column in zip(*weights, strict=True))
    share = f"weight {money(weight, PLACES)} of {money(total, PLACES)}"
    yield share if total else "nobody has weight: the operator bears it"


def _weights(postings: list[Row]) -> list[tuple[Decimal, Decimal]]:
    """Return the team's weight and that of all, once for each day and scope.

    Pools of one day and scope that differ by reason alone have the same weights. An operator may
    have two postings in a pool: its own, and that of workload without a team.
    """
    pools: dict[str, list[Row]] = defaultdict(list)
    for posting in sorted(postings, key=itemgetter("pool_id")):
        pools[posting["pool_id"]].append(posting)
    key = itemgetter("charge_date", "scope", "scope_key")
    of_scopes = {key(pool[0]): pool for pool in pools.values()}
    return [
        (_sum(pool, "weight"), pool[0]["weight_total"] or NOTHING) for pool in of_scopes.values()
    ]


def _nodes(rows: list[Row], kind: str) -> Table:
    """Return the nodes with the largest parts, and all others as one line."""
    table = Table.grid(padding=(0, 2), pad_edge=False)
    table.add_column(overflow="fold")
    table.add_column(style="dim", overflow="fold")
    for _ in ("amount", "part"):
        table.add_column(justify="right", no_wrap=True)
    table.add_row("  from", *FROM_NODES[kind], "part", style="dim")
    groups = _by_node(rows)
    amounts = rounded((_sum(group, "amount") for group in groups), PLACES)
    parts = rounded((_sum(group, "part") for group in groups), PLACES)
    shown = SHOWN_NODES if len(groups) > SHOWN_NODES + 1 else len(groups)
    for group, amount, part in list(zip(groups, amounts, parts, strict=True))[:shown]:
        cause = "" if kind != "idle" else (group[0]["cause"] or NOT_KNOWN).replace("_", " ")
        table.add_row(_place(group[0]), cause, money(amount, PLACES), money(part, PLACES))
    if groups[shown:]:
        rest = sum(amounts[shown:], NOTHING), sum(parts[shown:], NOTHING)
        more = f"  and {len(groups) - shown} more"
        table.add_row(more, "", *(money(amount, PLACES) for amount in rest))
    return table


def _by_node(rows: list[Row]) -> list[list[Row]]:
    """Return rows by node and cause, the largest part first."""
    groups: dict[tuple[str | None, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[row["node_pool"], row["node_name"], row["cause"]].append(row)
    return sorted(
        (groups[key] for key in sorted(groups, key=lambda key: [part or "" for part in key])),
        key=lambda group: -abs(_sum(group, "part")),
    )


def _place(row: Row) -> Text:
    """Return a node and its pool, as far as they are known."""
    node, pool = row["node_name"], row["node_pool"]
    text = Text("  ").append(clean(node) if node else "no node is named")
    return text.append(f" {clean(pool)}" if pool else "", style="dim")


# ---------------------------------------------------------------------------------------------
# Notes and files
# ---------------------------------------------------------------------------------------------


def _notes(postings: list[Row]) -> Iterator[RenderableType]:
    for note in sorted({posting["note"] for posting in postings if posting["note"]}):
        yield Text(f"note: {clean(note, 300)}", style="dim")


def _files(postings: list[Row]) -> Iterator[RenderableType]:
    names = sorted(
        {
            name
            for posting in postings
            for name in (posting["source_file"] or "").split("; ")
            if name
        }
    )
    if names:
        yield Text("from", style="dim")
    for name in names[:SHOWN_FILES]:
        yield Text(f"  {clean(name, 200)}", overflow="fold")
    if len(names) > SHOWN_FILES:
        yield Text(f"  and {len(names) - SHOWN_FILES} more files", style="dim")
