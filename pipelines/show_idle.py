"""Why capacity stood idle, for people: how much, why, where, when, and how it was bought."""

from calendar import monthrange
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from pipelines import show
from pipelines.figures import LOOKS, clean, count, money, percent, rounded, rounded_to
from pipelines.levers import lever
from pipelines.reading import Month, Row
from pipelines.show_clusters import (
    USUAL_PLACES,
    of_cluster,
    overview,
    places,
    ratio,
    shares,
    title,
)
from transforms.schema import CAUSES

LABELS = {
    "node_pool": "node pool",
    "node_name": "node",
    "resource_kind": "resource",
    "pricing_category": "bought",
}
BOUGHT = {
    "Standard": "on demand",
    "Dynamic": "on Spot",
    "Committed": "under commitments",
    "Other": "otherwise",
}
OF_DISKS = " of disks"
NOT_KNOWN = "not known"
SHOWN = {"node_pool": 6, "node_name": 5}
LEVELS, LETTERS = "▁▂▃▄▅▆▇█", ".,:-=+*#"
RESERVE = "reserve_unknown"
NEXT = {
    "reconcile": "how the bill leads to this idle",
    "compare": "who pays it under each method",
}


class Part(NamedTuple):
    """What stood idle of one cause, node, day, ...; `word` is None where nobody says which."""

    word: str | None
    amount: Decimal


def page(month: Month, parts: list[Row], at: str = "") -> RenderableType:
    """Return why capacity stood idle: all clusters, then each by itself.

    parts: of each cluster its idle by cause, node pool, node, resource kind, price and day.
    """
    blocks = [part for cluster in month.clusters for part in _cluster(month, cluster, parts)]
    return Group(
        *(show.head(month), *overview(month), *_together(month, parts), *blocks),
        *_meanings(parts),
        *_next_steps(month, at),
    )


def _meanings(parts: list[Row]) -> Iterator[RenderableType]:
    """Yield what the causes that were found mean."""
    found = {_cause_of(row["word"])[0] for row in parts if row["part"] == "cause"}
    table = Table.grid(padding=(0, 2), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    for cause, meaning in CAUSES.items():
        if cause in found:
            table.add_row(_word("cause", cause), meaning)
    if table.row_count:
        yield Text("")
        yield Text("What the causes mean", style="bold")
        yield table


def _next_steps(month: Month, at: str) -> Iterator[RenderableType]:
    yield Text("")
    for command, why in NEXT.items():
        yield Text(f"leerlauf {command} {month.record.billing_period} {at}".rstrip())
        yield Text(f"  {why}", style="dim")


def _cluster(month: Month, cluster: Row, parts: list[Row]) -> Iterator[RenderableType]:
    own = [row for row in parts if of_cluster(row) == of_cluster(cluster)]
    yield Text("")
    yield _Cluster(month, cluster, _by_part(own))


def _by_part(rows: list[Row]) -> dict[str, list[Part]]:
    by_part: dict[str, list[Part]] = {}
    for row in rows:
        by_part.setdefault(row["part"], []).append(Part(row["word"], row["amount"]))
    return by_part


# ---------------------------------------------------------------------------------------------
# All clusters
# ---------------------------------------------------------------------------------------------


def _together(month: Month, parts: list[Row]) -> Iterator[RenderableType]:
    """Yield the causes of all clusters, a table per currency, where a currency has several."""
    causes = sorted(
        (row for row in parts if row["part"] == "cause"), key=itemgetter("billing_currency")
    )
    for currency, group in groupby(causes, key=itemgetter("billing_currency")):
        rows = list(group)
        if len({of_cluster(row) for row in rows}) > 1:
            digits = month.places.get(currency, USUAL_PLACES)
            whole = sum((row["amount"] for row in rows), Decimal(0))
            yield Text("")
            amount = money(whole, digits, "bold")
            yield Text.assemble((f"All clusters in {currency}", "bold"), "  idle ", amount)
            yield Text("why", style="dim")
            yield _causes(_summed(rows), digits, None)


def _summed(rows: list[Row]) -> list[Part]:
    sums: dict[str | None, Decimal] = {}
    for row in rows:
        sums[row["word"]] = sums.get(row["word"], Decimal(0)) + row["amount"]
    return sorted((Part(*item) for item in sums.items()), key=lambda part: -part.amount)


# ---------------------------------------------------------------------------------------------
# One cluster
# ---------------------------------------------------------------------------------------------


class _Cluster:
    """A cluster: how much stood idle, then why, where, how it was bought, and when."""

    def __init__(self, month: Month, cluster: Row, parts: dict[str, list[Part]]) -> None:
        self.month, self.cluster, self.parts = month, cluster, parts
        self.digits = places(month, cluster)
        self.idle = shares(month, cluster)["idle"]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield title(self.cluster, options.max_width)
        if not self.parts or self.idle is None:
            yield Text(
                "idle unknown: nobody says how its nodes were split"
                if self.idle is None
                else "nothing stood idle",
                style="dim",
            )
            return
        amount = money(self.idle, self.digits, "bold")
        of_nodes = Text.assemble("idle ratio ", ratio(self.cluster))
        if self.cluster["idle_ratio"] is not None:
            of_nodes.append(" of what nodes cost", style="dim")
        yield Text.assemble("idle ", amount, f" {self.cluster['billing_currency']}   ", of_nodes)
        yield Text("why", style="dim")
        yield _causes(self.parts["cause"], self.digits, self.idle)
        yield Text("where, and how it was bought", style="dim")
        yield self._places()
        yield self._when(ascii_only=options.ascii_only)
        yield self._reserve()

    def _places(self) -> Table:
        table = Table.grid(padding=(0, 2), pad_edge=False)
        for justify in ("left", "left", "right", "right"):
            table.add_column(justify=justify, overflow="fold")
        for name, label in LABELS.items():
            parts, first = self.parts[name], label
            total = sum((part.amount for part in parts), Decimal(0))
            for part, shown in _rounded(_shortened(parts, name), self.digits, self.idle):
                amounts = money(shown, self.digits), percent(part.amount, total)
                table.add_row(Text(first, style="dim"), _word(name, part.word), *amounts)
                first = ""
        return table

    def _when(self, *, ascii_only: bool) -> Text:
        """Return a sign for each day of the month, and what lies in other months."""
        days = {
            date.fromisoformat(str(part.word)): part.amount for part in self.parts["charge_date"]
        }
        first = date.fromisoformat(f"{self.month.record.billing_period}-01")
        last = monthrange(first.year, first.month)[1]
        inside = [days.get(first.replace(day=number)) for number in range(1, last + 1)]
        drawn = _levels(inside, LETTERS if ascii_only else LEVELS)
        text = Text.assemble(("day        ", "dim"), (drawn, LOOKS["idle"].style), f"  1 to {last}")
        known = {number: amount for number, amount in enumerate(inside, 1) if amount is not None}
        if known:
            most = max(known, key=lambda number: known[number])
            text.append(f"; most on day {most}: ").append(money(known[most], self.digits))
        others = [amount for day, amount in days.items() if day.replace(day=1) != first]
        if others:
            elsewhere = money(sum(others, Decimal(0)), self.digits)
            text.append("\n           in days of other months: ").append(elsewhere)
        return text

    def _reserve(self) -> Text:
        """Say whether what nodes keep for themselves still stands in idle."""
        unknown = [
            row
            for row in self.month.findings
            if row["rule"] == RESERVE and row["cluster_id"] == self.cluster["cluster_id"]
        ]
        label = ("reserve    ", "dim")
        if not unknown:
            return Text.assemble(label, "what nodes keep for themselves is not in this idle")
        nodes = clean(unknown[0]["where"])
        return Text.assemble(
            label,
            (f"still in this idle, of {nodes}: nobody says what they can allocate", "yellow"),
        )


def _causes(parts: list[Part], digits: int, whole: Decimal | None) -> Table:
    """Return a line per cause: its amount, its part of the idle, its lever."""
    table = Table.grid(padding=(0, 2), pad_edge=False)
    for justify in ("left", "right", "right"):
        table.add_column(justify=justify, no_wrap=True)
    table.add_column(style="dim", overflow="fold")
    total = sum((part.amount for part in parts), Decimal(0))
    for part, shown in _rounded(parts, digits, whole):
        amounts = money(shown, digits), percent(part.amount, total)
        table.add_row(_word("cause", part.word), *amounts, lever(*_cause_of(part.word)))
    return table


def _rounded(
    parts: list[Part], digits: int, whole: Decimal | None
) -> Iterator[tuple[Part, Decimal]]:
    """Yield each part with its amount rounded, so that they add up to `whole` as it is shown."""
    exact = [part.amount for part in parts]
    shown = rounded(exact, digits) if whole is None else rounded_to(whole, exact, digits)
    yield from zip(parts, shown, strict=True)


def _shortened(parts: list[Part], name: str) -> list[Part]:
    """Return the largest parts, and the others as one."""
    shown = SHOWN.get(name, len(parts))
    rest = parts[shown:]
    if len(rest) <= 1:
        return parts
    more = f"{count(len(rest), 'other')}"
    return [*parts[:shown], Part(more, sum((part.amount for part in rest), Decimal(0)))]


def _cause_of(word: str | None) -> tuple[str | None, str]:
    """Return a cause, and the resource kind as far as a lever depends on it."""
    if word is not None and word.endswith(OF_DISKS):
        return word.removesuffix(OF_DISKS), "storage"
    return word, ""


def _word(name: str, word: str | None) -> Text:
    if word is None:
        return Text(NOT_KNOWN, style="dim")
    known = BOUGHT.get(word, word) if name == "pricing_category" else word
    return Text(known.replace("_", " ") if name == "cause" else clean(known))


def _levels(amounts: list[Decimal | None], signs: str) -> str:
    """Return one sign a day, higher for more; a day without idle has none."""
    highest = max((amount for amount in amounts if amount is not None), default=Decimal(0))
    return "".join(" " if amount is None else _level(amount, highest, signs) for amount in amounts)


def _level(amount: Decimal, highest: Decimal, signs: str) -> str:
    if amount <= 0:
        return signs[0]
    return signs[min(int(len(signs) * amount / highest), len(signs) - 1)]
