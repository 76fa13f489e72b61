"""Clusters as bars, the way from the provider's idle to ours, and the rest of the bill."""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from operator import itemgetter

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from pipelines.figures import LOOKS, UNKNOWN, WIDEST_NAME, bar, clean, money, percent, rounded, sign
from pipelines.reading import Month, Row
from transforms.schema import CLUSTER_KINDS

USUAL_PLACES = 2
NO_NODES = "no node cost"
SHORT_BAR = 24
WIDEST_BAR = 100
WIDEST_SHORT = 20
WIDEST_ID = 300
BRIDGE = {
    "provider_idle": "idle the provider put on workloads",
    "node_reserve": "node reserve",
    "policy_headroom": "headroom by policy",
    "usage_above_request": "usage above request",
    "over_allocation": "over-allocation",
    "empty_nodes": "empty nodes",
    "not_time_based": "not time-based",
    "rebased": "rebased (rounding of the provider)",
    "idle": "idle",
}
of_cluster = itemgetter("provider", "cluster_id", "billing_currency")


def places(month: Month, row: Row) -> int:
    """Return the decimal places of the row's currency."""
    return month.places.get(row["billing_currency"], USUAL_PLACES)


def title(cluster: Row, width: int) -> Text:
    """Return the name of a cluster, and its whole id, below where it is too long for the line."""
    name, identity = cluster["cluster_name"], clean(cluster["cluster_id"], WIDEST_ID)
    heading = Text(clean(name, WIDEST_NAME) if name else identity, style="bold", overflow="fold")
    heading.append(f"  {cluster['provider']}", style="not bold dim")
    if name:
        fits = heading.cell_len + len("  ") + Text(identity).cell_len <= width
        heading.append(("  " if fits else "\n") + identity, style="not bold dim")
    return heading


def sum_table() -> Table:
    """Return an empty table whose last line, under a rule, is a sum."""
    return Table(box=box.SIMPLE, show_edge=False, pad_edge=False, show_footer=True, footer_style="")


def total(lines: list[Row], column: str) -> Decimal:
    """Return the sum of a column; unknown amounts are in no sum."""
    return sum((line[column] for line in lines if line[column] is not None), Decimal(0))


# ---------------------------------------------------------------------------------------------
# Clusters
# ---------------------------------------------------------------------------------------------


def overview(month: Month) -> Iterator[RenderableType]:
    """Yield all clusters in one table, where there are several."""
    if len(month.clusters) > 1:
        yield Text("")
        yield _Overview(month)


class _Overview:
    """A line per cluster: its bar, its bill and how much of it stood idle."""

    def __init__(self, month: Month) -> None:
        self.month = month

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        narrow = console.measure(self._table(0, options), options=options.update(width=1000))
        yield self._table(min(options.max_width - narrow.maximum, SHORT_BAR), options)

    def _table(self, width: int, options: ConsoleOptions) -> Table:
        table = Table.grid(padding=(0, 2), pad_edge=False)
        for _ in ("provider", "cluster", "bar"):
            table.add_column(no_wrap=True)
        for _ in ("bill", "currency", "idle", "idle ratio"):
            table.add_column(justify="right", no_wrap=True)
        table.add_row("", "", "", "bill", "", "idle", "idle ratio", style="dim")
        for cluster in self.month.clusters:
            digits, kinds = places(self.month, cluster), shares(self.month, cluster)
            blocks = bar(kinds, max(width, 0), ascii_only=options.ascii_only)
            bill, idle = money(total_of(kinds), digits), money(kinds["idle"], digits)
            currency = Text(cluster["billing_currency"], style="dim")
            provider = Text(cluster["provider"], style="dim")
            name = short_name(cluster, self.month.clusters)
            table.add_row(provider, name, blocks, bill, currency, idle, ratio(cluster))
        return table


def short_name(cluster: Row, clusters: list[Row]) -> Text:
    """Return the name of a cluster, with what tells it from its namesakes at this provider."""
    name, parts = _name(cluster), _parts(cluster)
    shown = Text(clean(name, WIDEST_SHORT))
    namesakes = [
        _parts(other)
        for other in clusters
        if (other["provider"], _name(other)) == (cluster["provider"], name)
    ]
    columns = zip(parts, *namesakes, strict=False)
    differing = "/".join(part for part, *others in columns if len(set(others)) > 1)
    return shown.append(f" {clean(differing, WIDEST_SHORT)}" if differing else "", style="dim")


def _name(cluster: Row) -> str:
    return str(cluster["cluster_name"] or cluster["cluster_id"].rsplit("/", 1)[-1])


def _parts(cluster: Row) -> list[str]:
    return re.split(r"[:/]", cluster["cluster_id"])


def shares(month: Month, cluster: Row) -> dict[str, Decimal | None]:
    """Return a cluster's kinds, rounded so that they add up to its rounded bill."""
    known = {kind: cluster[kind] for kind in CLUSTER_KINDS if cluster[kind] is not None}
    shown = dict(zip(known, rounded(known.values(), places(month, cluster)), strict=True))
    return {kind: shown.get(kind) for kind in CLUSTER_KINDS}


def total_of(kinds: dict[str, Decimal | None]) -> Decimal:
    """Return the sum of what is known."""
    return sum((amount for amount in kinds.values() if amount is not None), Decimal(0))


def ratio(cluster: Row) -> Text:
    """Return a cluster's idle ratio in percent; without node cost it has none."""
    known = cluster["idle_ratio"]
    if known is not None:
        return Text(f"{100 * known:.1f} %", "bold")
    return Text(UNKNOWN if cluster["idle"] is None else NO_NODES, style="dim")


class Block:
    """A cluster: its name, its bill as a bar, what the bar is made of, and why there is idle."""

    def __init__(self, month: Month, cluster: Row) -> None:
        self.cluster, self.places = cluster, places(month, cluster)
        self.kinds = shares(month, cluster)
        self.bill = total_of(self.kinds)
        self.causes = [row for row in month.causes if of_cluster(row) == of_cluster(cluster)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield title(self.cluster, options.max_width)
        yield bar(self.kinds, min(options.max_width, WIDEST_BAR), ascii_only=options.ascii_only)
        table = Table.grid(padding=(0, 2), pad_edge=False)
        for justify in ("left", "left", "right", "right", "left"):
            table.add_column(justify=justify, no_wrap=True)
        for kind, amount in self.kinds.items():
            mark = Text(sign(kind, ascii_only=options.ascii_only), style=LOOKS[kind].style)
            share = percent(amount, self.bill)
            meaning = Text(LOOKS[kind].meaning, style="dim")
            table.add_row(mark, LOOKS[kind].words, money(amount, self.places), share, meaning)
        bill = money(self.bill, self.places, "bold")
        currency = Text(self.cluster["billing_currency"], style="bold")
        idle_ratio = Text.assemble("idle ratio ", ratio(self.cluster))
        if self.cluster["idle_ratio"] is not None:
            idle_ratio.append(" of what nodes cost", style="dim")
        table.add_row("", Text("bill", style="bold"), bill, currency, idle_ratio)
        yield table
        yield from self._why()

    def _why(self) -> Iterator[Text]:
        """Yield why there was idle, where there was."""
        idle = sum((row["amount"] for row in self.causes), Decimal(0))
        parts = [
            f"{(row['word'] or UNKNOWN).replace('_', ' ')} {percent(row['amount'], idle)}"
            for row in self.causes
            if row["amount"]
        ]
        if idle > 0:
            yield Text(f"   idle: {', '.join(parts)}", style="dim")


# ---------------------------------------------------------------------------------------------
# Bridges
# ---------------------------------------------------------------------------------------------


def bridges(month: Month, cluster: Row) -> Iterator[RenderableType]:
    """Yield the sums that lead to a cluster's idle, a column per resource kind."""
    lines = [line for line in month.bridges if of_cluster(line) == of_cluster(cluster)]
    provider_class = itemgetter("provider_class")
    for word, group in groupby(
        sorted(lines, key=lambda x: x["provider_class"] or ""), provider_class
    ):
        said = f" ({clean(word)})" if word else ""
        yield Text("")
        yield Text(
            f"from the provider's own idle{said} to ours, in {cluster['billing_currency']}",
            style="dim",
        )
        yield _bridge(list(group), places(month, cluster))


def _bridge(lines: list[Row], digits: int) -> Table:
    columns = {
        kind: {line["name"]: line["amount"] for line in column}
        for kind, column in groupby(lines, key=itemgetter("resource_kind"))
    }
    if len(columns) > 1:
        columns["all"] = {name: sum(column[name] for column in columns.values()) for name in BRIDGE}
    table = sum_table()
    table.add_column("", footer=BRIDGE["idle"], no_wrap=True)
    shown = []
    for kind, column in columns.items():
        *steps, idle = column.values()
        shown.append(rounded(steps, digits))
        table.add_column(
            kind, footer=money(sum(shown[-1], idle * 0), digits), justify="right", no_wrap=True
        )
    for label, *amounts in zip(BRIDGE.values(), *shown, strict=False):
        table.add_row(label, *(money(amount, digits) for amount in amounts))
    return table


# ---------------------------------------------------------------------------------------------
# The rest of the bill
# ---------------------------------------------------------------------------------------------


def outside(month: Month) -> Iterator[RenderableType]:
    """Yield what leads from the clusters to the whole bill, per provider and currency."""
    key = itemgetter("provider", "billing_currency")
    for provider, currency in sorted({key(row) for row in (*month.clusters, *month.outside)}):
        clusters = [line for line in month.teams if key(line) == (provider, currency)]
        rest = [row for row in month.outside if key(row) == (provider, currency)]
        yield Text("")
        yield Text.assemble(("The whole bill", "bold"), (f"  {provider}", "dim"))
        yield _bill(clusters, rest, currency, month.places.get(currency, USUAL_PLACES))


def _bill(clusters: list[Row], rest: list[Row], currency: str, digits: int) -> Table:
    inside = total(clusters, "total_rounded") - total(clusters, "corrections_rounded")
    steps = rounded((inside, *(row["amount"] for row in rest)), digits)
    table = sum_table()
    table.show_header = False
    table.add_column(footer="bill")
    table.add_column(footer=money(sum(steps, Decimal(0)), digits, "bold"), justify="right")
    table.add_column(footer=currency)
    table.add_row("in clusters", money(steps[0], digits), "")
    for row, amount in zip(rest, steps[1:], strict=True):
        reason = row["reason"].replace("_", " ")
        table.add_row(reason, money(amount, digits), Text("outside", style="dim"))
    return table
