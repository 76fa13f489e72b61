"""Requested against used, for people: what it cost, what nobody used, and what nobody measured."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import itemgetter
from typing import TypeVar

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from pipelines import show
from pipelines.figures import UNKNOWN, clean, money, percent, rounded, rounded_to
from pipelines.reading import Month, Row
from pipelines.show_clusters import of_cluster, places, title
from pipelines.show_teams import NO_TEAM
from transforms.schema import RESOURCE_KINDS

Key = TypeVar("Key")

LARGEST = 10
IN_PART = "in part"
BY_ITSELF = (
    "Unused is counted in each hour, or day, of the bill by itself: use above the request at "
    "another time makes up for none of it, so used and unused need not add up to 100 %."
)
NOT_AMORTISED = "it is a part of amortised cost, and this month counts what was invoiced"
NOTHING = Decimal(0)
WIDEST_TEAM = 24
WIDEST_WORKLOAD = 34


@dataclass(frozen=True)
class Use:
    """What rows have in common: quantities of one unit, cost, and what of it nobody used.

    A quantity is None as soon as one row's is. unused is that of the rows where it was measured,
    None where it was measured nowhere; unknown is how many others there are.
    """

    cost: Decimal
    unused: Decimal | None
    unknown: int
    requested: Decimal | None
    used: Decimal | None

    @property
    def in_part(self) -> bool:
        """Whether the use of some rows was measured, and that of others not."""
        return self.used is None and self.unused is not None

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Use":
        """Return the sum of rows."""
        known = [row["workload_idle"] for row in rows if row["workload_idle"] is not None]
        return cls(
            cost=_cost(rows),
            unused=sum(known, NOTHING) if known else None,
            unknown=len(rows) - len(known),
            requested=_whole(rows, "requested_quantity"),
            used=_whole(rows, "used_quantity"),
        )


def page(month: Month, rows: list[Row]) -> RenderableType:
    """Return requested against used, for each cluster with workload.

    rows: of `sql/read/efficiency.sql`.
    """
    parts: list[RenderableType] = [show.head(month)]
    for cluster in month.clusters:
        own = [row for row in rows if of_cluster(row) == of_cluster(cluster)]
        if own:
            parts += [Text(""), _Cluster(month, cluster, own)]
    if any(row["workload_idle"] is not None for row in rows):
        parts += [Text(""), Text(BY_ITSELF, style="dim")]
    return Group(*parts)


class _Cluster:
    """A cluster: its teams and their resources, the largest unused parts, what is unknown."""

    def __init__(self, month: Month, cluster: Row, rows: list[Row]) -> None:
        self.cluster, self.rows, self.digits = cluster, rows, places(month, cluster)
        self.is_amortised = month.record.configuration["report"]["cost_view"] == "effective"
        self.paid = {
            line["team"]: line["workload_rounded"]
            for line in month.teams
            if of_cluster(line) == of_cluster(cluster)
        }

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield title(self.cluster, options.max_width)
        yield Text(f"in {self.cluster['billing_currency']}", style="dim")
        yield self._teams(">= " if options.ascii_only else "≥ ")
        yield from self._largest()
        yield self._unknown()

    def _teams(self, at_least: str) -> Table:
        """Return a line per team and one for each of its resources, the most unused first."""
        table = Table.grid(padding=(0, 2), pad_edge=False)
        table.add_column(overflow="fold")
        headings = ("requested", "used", "", "cost", "unused", "of cost")
        for _ in headings:
            table.add_column(justify="right", no_wrap=True)
        table.add_row("", *headings, style="dim")
        for team, rows in _grouped(self.rows, itemgetter("team")):
            name = Text(NO_TEAM if team is None else clean(team, WIDEST_TEAM), style="bold")
            whole = self.paid.get(team) or rounded([_cost(rows)], self.digits)[0]
            table.add_row(name, "", "", "", *self._price(Use.of(rows), whole, at_least))
            groups = _grouped(rows, itemgetter("resource_kind", "quantity_unit"))
            costs = rounded_to(whole, (_cost(own) for _, own in groups), self.digits)
            for ((kind, unit), own), cost in zip(groups, costs, strict=True):
                label = Text(f"  {kind}").append(f" {unit}" if unit else "", style="dim")
                use = Use.of(own)
                table.add_row(label, *_quantities(use), *self._price(use, cost, at_least))
        return table

    def _price(self, use: Use, cost: Decimal, at_least: str) -> tuple[Text, Text, Text]:
        """Return what it cost, and what nobody used; where a part is unknown, at least that."""
        if use.unused is None:
            return money(cost, self.digits), Text(UNKNOWN, style="dim"), Text("")
        mark = at_least if use.unknown else ""
        unused = Text(mark).append(money(use.unused, self.digits))
        return money(cost, self.digits), unused, percent(use.unused, use.cost)

    def _largest(self) -> Iterator[RenderableType]:
        """Yield the workloads and resources of which most was not used."""
        known = [row for row in self.rows if row["workload_idle"]]
        if not known:
            return
        known.sort(key=itemgetter("workload_idle"), reverse=True)
        yield Text("workloads, the largest unused part first", style="dim")
        table = Table.grid(padding=(0, 2), pad_edge=False)
        for justify in ("left", "left", "left", "right", "right"):
            table.add_column(justify=justify, overflow="fold")
        table.add_row("workload", "team", "resource", "unused", "of cost", style="dim")
        for row in known[:LARGEST]:
            table.add_row(*self._line(row))
        yield table
        if len(known) > LARGEST:
            yield Text(f"and {len(known) - LARGEST} more", style="dim")

    def _line(self, row: Row) -> Iterator[Text]:
        """Yield the cells of a workload and resource that was measured."""
        names = [row[name] for name in ("namespace", "workload_name") if row[name]]
        yield Text(clean("/".join(names) or UNKNOWN, WIDEST_WORKLOAD))
        yield Text(NO_TEAM if row["team"] is None else clean(row["team"], WIDEST_TEAM), style="dim")
        yield Text(row["resource_kind"])
        yield money(row["workload_idle"], self.digits)
        yield percent(row["workload_idle"], row["workload"])

    def _unknown(self) -> Text:
        """Say what nobody measured: it is counted neither as used nor as unused."""
        unknown = [row for row in self.rows if row["workload_idle"] is None]
        if not unknown:
            return Text("All of it was measured.", style="dim")
        why = "its use was not measured" if self.is_amortised else NOT_AMORTISED
        found = {row["resource_kind"] for row in unknown}
        kinds = ", ".join(kind for kind in RESOURCE_KINDS if kind in found)
        part = f"of {money(_cost(unknown), self.digits)} ({kinds})"
        which = "of this" if len(unknown) == len(self.rows) else part
        told = f"Nobody knows how much {which} was unused: {why}."
        if any(use.in_part for use in self._uses()):
            told += f" Where used is {IN_PART}, some was measured: unused is of that alone."
        return Text(told, "yellow")

    def _uses(self) -> Iterator[Use]:
        """Yield what stands in the lines of resources."""
        for _, rows in _grouped(self.rows, itemgetter("team", "resource_kind", "quantity_unit")):
            yield Use.of(rows)


def _grouped(rows: Sequence[Row], key: Callable[[Row], Key]) -> list[tuple[Key, list[Row]]]:
    """Return rows by key: the most unused first, then what cost most."""
    groups: dict[Key, list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return sorted(groups.items(), key=lambda group: _by_size(Use.of(group[1])))


def _by_size(use: Use) -> tuple[Decimal, Decimal]:
    return -(use.unused or NOTHING), -use.cost


def _quantities(use: Use) -> tuple[Text, Text, Text]:
    """Return what was requested, what was used, and that in percent."""
    share = percent(use.used, use.requested or NOTHING)
    used = Text(IN_PART, style="dim") if use.in_part else _quantity(use.used)
    return _quantity(use.requested), used, share


def _quantity(quantity: Decimal | None) -> Text:
    return Text(UNKNOWN, style="dim") if quantity is None else Text(f"{quantity:,.1f}")


def _cost(rows: Sequence[Row]) -> Decimal:
    return sum((row["workload"] for row in rows), NOTHING)


def _whole(rows: Sequence[Row], column: str) -> Decimal | None:
    """Return a sum; None as soon as one part is."""
    known = [row[column] for row in rows if row[column] is not None]
    return sum(known, NOTHING) if len(known) == len(rows) else None
