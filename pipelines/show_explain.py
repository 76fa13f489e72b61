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
from pipelines.figures import LOOKS, clean, count, money, percent, rounded, rounded_to
from pipelines.reading import Row
from pipelines.rule_words import listed
from pipelines.show_clusters import WIDEST_ID, sum_table

PLACES = 6
"""Decimal places of explained amounts: enough to see a day's pool, few enough to read."""
SHOWN_FILES = 10
SHOWN_NODES = 5
FEW_DAYS = 3
"""So many days of a note are named; more are counted."""
NOTHING = Decimal(0)
PLACE = itemgetter("provider", "cluster_id", "billing_currency")
NOT_KNOWN = "not known"
FROM_NODES = {"idle": ("cause", "stood idle"), "headroom": ("", "kept free")}
"""The kinds of which nodes are told, and the headings of what is told."""
WITHIN = {
    "node": "within each node",
    "node_pool": "within each node pool",
    "cluster": "within the cluster",
}

Place = tuple[str, str, str]
"""Provider, cluster and currency."""
Reason = tuple[str, str, str, str, str]
"""What postings of one kind have in common: kind, reason, resource, method, rule."""


def explanation(found: Explained) -> RenderableType:
    """Return the postings of a team, summed over the days, the nodes and the files behind them."""
    nodes, totals = _by_pool(found.idle), _totals(found.postings)
    parts: list[RenderableType] = []
    by_place = groupby(sorted(found.postings, key=PLACE), key=PLACE)
    for place, group in by_place:
        provider, cluster, currency = place
        known = (clean(cluster, WIDEST_ID), "bold")
        heading = Text.assemble(known, (f"  {provider}  {currency}", "dim"), overflow="fold")
        groups = _grouped(list(group))
        exact = [_sum(postings, "amount") for postings in groups.values()]
        shown = dict(zip(groups, rounded_to(totals[place], exact, PLACES), strict=True))
        parts += [heading, _reasons(groups, shown), *_origins(groups, shown, nodes), Text("")]
    return Group(*parts, *_notes(found.postings), *_files(found.postings), *_together(totals))


def _totals(postings: list[Row]) -> dict[Place, Decimal]:
    """Return what is borne on each cluster, rounded so that each currency adds up."""
    exact: dict[str, dict[Place, Decimal]] = defaultdict(lambda: defaultdict(Decimal))
    for posting in postings:
        exact[posting["billing_currency"]][PLACE(posting)] += posting["amount"]
    return {
        place: total
        for places in exact.values()
        for place, total in zip(places, rounded(places.values(), PLACES), strict=True)
    }


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


def _reasons(groups: dict[Reason, list[Row]], shown: dict[Reason, Decimal]) -> Table:
    table = sum_table()
    table.add_column("", footer="total", overflow="fold")
    table.add_column("method (rule)", style="dim", overflow="fold")
    table.add_column("of pools of", justify="right", no_wrap=True)
    table.add_column("part", justify="right", no_wrap=True)
    total = money(sum(shown.values(), NOTHING), PLACES, "bold")
    table.add_column("amount", footer=total, justify="right", no_wrap=True)
    for reason, postings in groups.items():
        pools = {posting["pool_id"]: posting for posting in postings}
        pool = _sum(pools.values(), "pool_amount")
        name = Text(_what(reason)).append(f"\n{_why(reason)}" if reason[1] else "", style="dim")
        share = percent(_sum(postings, "amount"), pool)
        amounts = money(pool, PLACES), share, money(shown[reason], PLACES)
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


def _origins(
    groups: dict[Reason, list[Row]], shown: dict[Reason, Decimal], nodes: dict[str, list[Row]]
) -> Iterator[RenderableType]:
    """Yield why the team bears idle and headroom, by which weight, and of which nodes they were.

    Postings that differ by reason alone are told together: their nodes say the cause.
    """
    alike: dict[Reason, list[Row]] = defaultdict(list)
    given: dict[Reason, Decimal] = defaultdict(Decimal)
    for reason, group in groups.items():
        kind, _, resource, method, rule = reason
        if kind in FROM_NODES:
            alike[kind, "", resource, method, rule] += group
            given[kind, "", resource, method, rule] += shown[reason]
    for reason, group in alike.items():
        pools = sorted({posting["pool_id"] for posting in group})
        rows = [row for pool in pools for row in nodes[pool]]
        if rows:
            yield Text(f"\n{_what(reason)}")
            yield from (Text(f"  {line}", style="dim") for line in _rule(reason, group))
            yield _nodes(rows, reason[0], given[reason])


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
    if not total:
        yield "nobody has weight: the operator bears it"
        return
    # Each share-out has weights of its own: their sums give none of the parts that are shown.
    summed = f" summed over {_share_outs(postings)}, each by itself" if weights[1:] else ""
    yield f"weight {money(weight, PLACES)} of {money(total, PLACES)}{summed}"


def _share_outs(postings: list[Row]) -> str:
    """Return how many days and scopes have weights of their own."""
    days = count(len({posting["charge_date"] for posting in postings}), "day")
    scopes = {(posting["scope"], posting["scope_key"]) for posting in postings}
    return f"{days} and {len(scopes)} scopes" if len(scopes) > 1 else days


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


def _nodes(rows: list[Row], kind: str, given: Decimal) -> Table:
    """Return the nodes with the largest parts, and all others as one line; given: all parts."""
    table = Table.grid(padding=(0, 2), pad_edge=False)
    table.add_column(overflow="fold")
    table.add_column(style="dim", overflow="fold")
    for _ in ("amount", "part"):
        table.add_column(justify="right", no_wrap=True)
    table.add_row("  from", *FROM_NODES[kind], "part", style="dim")
    groups = _by_node(rows)
    amounts = rounded((_sum(group, "amount") for group in groups), PLACES)
    parts = rounded_to(given, (_sum(group, "part") for group in groups), PLACES)
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
    """Yield each note, and of what it was made: cluster, kinds and days."""
    notes: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for posting in sorted(postings, key=PLACE):
        for note in (posting["note"] or "").split("; "):
            notes[note][posting["cluster_id"]].append(posting)
    for note in sorted(filter(None, notes)):
        yield Text(f"note: {clean(note, 300)}", style="dim")
        for cluster, group in notes[note].items():
            name = Text(f"  {clean(cluster, WIDEST_ID)}", overflow="fold")
            yield name.append(f"  {_kinds_and_days(group)}", style="dim")


def _kinds_and_days(postings: list[Row]) -> str:
    kinds = {posting["row_kind"] for posting in postings}
    days = sorted({str(posting["charge_date"]) for posting in postings})
    when = listed(days) if len(days) <= FEW_DAYS else count(len(days), "day")
    return f"{listed(look.words for kind, look in LOOKS.items() if kind in kinds)}, {when}"


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


# ---------------------------------------------------------------------------------------------
# All clusters
# ---------------------------------------------------------------------------------------------


def _together(totals: dict[Place, Decimal]) -> Iterator[RenderableType]:
    """Yield what is borne on all clusters, where there are several: a line per currency."""
    if len(totals) <= 1:
        return
    table = Table.grid(padding=(0, 2), pad_edge=False)
    for justify in ("left", "right", "left"):
        table.add_column(justify=justify, overflow="fold")
    for currency in sorted({place[2] for place in totals}):
        parts = [part for place, part in totals.items() if place[2] == currency]
        total, clusters = sum(parts, NOTHING), count(len(parts), "cluster")
        name = Text(f"All clusters in {currency}", style="bold")
        table.add_row(name, money(total, PLACES, "bold"), Text(f"of {clusters}", style="dim"))
    yield Text("")
    yield table
