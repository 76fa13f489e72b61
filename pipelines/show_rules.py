"""The calendar of rules as people see it: a year of months, what holds today, what changed."""

from collections.abc import Collection, Iterable, Iterator
from datetime import date
from itertools import groupby, pairwise

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from pipelines.calendar_of_rules import EVERY, Entry
from pipelines.figures import LOOKS, clean
from pipelines.in_force import ONE_DAY
from pipelines.periods import fiscal_year, month_before, next_month
from pipelines.rule_words import NO_RULE, listed

HEADINGS = {
    "allocation_rule": "who bears {}",
    "team_rule": "who is charged for {}",
    "headroom": "what is kept free",
    "node_pool": "what keeps node pools from getting smaller",
    "operator": "who operates clusters",
    "system": "what is shared operation",
}
RESTATED = "figures before and after differ by rule"
KEPT_FREE = (
    "what is kept free is not restated: its change shows in the part headroom, overhead, and in "
    "the one it came from (idle volume or own requests)"
)
CAUSES_ONLY = "the minimum of a node pool moves no figure of a team, only the causes of idle"
AFTER = (
    (("allocation_rule", "team_rule"), RESTATED, "leerlauf variance {older} {newer}"),
    (("headroom",), KEPT_FREE, "leerlauf variance {older} {newer}"),
    (("node_pool",), CAUSES_ONLY, "leerlauf idle {newer}"),
)
"""What a change of such rules moves, and the command that shows it."""
WORDS = {kind: look.words for kind, look in LOOKS.items()} | {"shared": "shared cost"}
WIDEST_VALUE = 300
TODAY = ("▶", ">")
CELLS = {"all": ("█", "#"), "end": ("▐", "+"), "start": ("▌", "+"), "none": ("·", ".")}
"""How much of a month a rule holds: a sign, and one for terminals that know ASCII alone."""

Year = tuple[date, date]
"""The first day of a fiscal year and the day after its last."""


def calendar(
    entries: Iterable[Entry], origin: str, today: date, fiscal_start: int, at: str = ""
) -> RenderableType:
    """Return the calendar; origin: where the rules come from; at: how commands find the lake."""
    year, every = fiscal_year(today, fiscal_start), list(entries)
    head = Text.assemble(("Rules", "bold"), (f"   of {clean(origin, WIDEST_VALUE)}", "dim"))
    parts: list[RenderableType] = [head]
    for (kind, row_kind), group in groupby(every, key=lambda one: (one.kind, one.row_kind)):
        words = HEADINGS[kind].format(WORDS.get(row_kind or ""))
        parts += [Text(""), Text(words, style="bold"), *_section(list(group), year, today)]
    return Group(*parts, Text(""), *_foot(every, year, today, at))


def _section(entries: list[Entry], year: Year, today: date) -> Iterator[RenderableType]:
    alone = entries[0].kind != "allocation_rule" or {one.cluster for one in entries} == {EVERY}
    for cluster, group in groupby(entries, key=lambda one: one.cluster):
        others = "every cluster" if alone else "all other clusters"
        yield Text(f"  {others if cluster == EVERY else clean(cluster, WIDEST_VALUE)}", "dim")
        yield _Periods(list(group), year, today)


class _Periods:
    """A line per period: its months of the year, its days, what is done, by which rule."""

    def __init__(self, entries: list[Entry], year: Year, today: date) -> None:
        self.entries, self.year, self.today = entries, year, today
        self.with_months = any(one.valid_from or one.valid_to for one in entries)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 1), pad_edge=False)
        table.add_column(width=3, justify="right")
        for _ in ("months", "period") if self.with_months else ():
            table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for entry in self.entries:
            now = holds(entry, self.today)
            mark = Text(TODAY[options.ascii_only] if now else "", style="bold green")
            table.add_row(mark, *self._when(entry, options), self._what(entry, now=now))
        yield table

    def _when(self, entry: Entry, options: ConsoleOptions) -> list[Text]:
        if not self.with_months:
            return []
        months = Text(strip(entry, self.year, ascii_only=options.ascii_only), style="green")
        return [months, Text(period(entry))]

    def _what(self, entry: Entry, *, now: bool) -> Text:
        told = Text(clean(entry.what, WIDEST_VALUE), style="" if now else "dim")
        if entry.rule != NO_RULE:
            told.append(f"  {clean(entry.rule)}", style="dim")
        for day in turns_inside(entry, self.year):
            told.append(f"  changed {day}", style="yellow")
        return told


def holds(entry: Entry, day: date) -> bool:
    """Return whether a period has a day in it."""
    return (entry.valid_from or date.min) <= day < (entry.valid_to or date.max)


def turns_inside(entry: Entry, year: Year) -> list[date]:
    """Return the days inside a fiscal year, its first apart, on which a rule begins to hold."""
    return [day for day in entry.turns if year[0] < day < year[1]]


def strip(entry: Entry, year: Year, *, ascii_only: bool) -> str:
    """Return a sign for each month of the year: how much of it a period takes."""
    firsts = [year[0]]
    while firsts[-1] < year[1]:
        firsts.append(next_month(f"{firsts[-1]:%Y-%m}"))
    return "".join(CELLS[_cell(entry, *month)][ascii_only] for month in pairwise(firsts))


def _cell(entry: Entry, first: date, after: date) -> str:
    start, end = entry.valid_from or date.min, entry.valid_to or date.max
    if end <= first or start >= after:
        return "none"
    if start <= first:
        return "all" if end >= after else "start"
    return "end"


def period(entry: Entry) -> str:
    """Return the days of a period, the last one included."""
    last = entry.valid_to and entry.valid_to - ONE_DAY
    if entry.valid_from and last:
        return f"{entry.valid_from} to {last}"
    if entry.valid_from:
        return f"from {entry.valid_from}"
    return f"until {last}" if last else "always"


class _Legend:
    """What the signs mean."""

    def __init__(self, year: Year, today: date) -> None:
        self.months = f"the fiscal year {year[0]:%Y-%m} to {year[1] - ONE_DAY:%Y-%m}"
        self.today = today

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        mark = TODAY[options.ascii_only]
        yield Text(f"{mark} holds today, {self.today}; one sign a month of {self.months}", "dim")


def _foot(entries: list[Entry], year: Year, today: date, at: str) -> Iterator[RenderableType]:
    yield _Legend(year, today)
    days = _turns(entries, year, {entry.kind for entry in entries})
    if days:
        yield Text(f"changed inside it: {listed(str(day) for day in days)}", style="yellow")
    for kinds, told, command in AFTER:
        if days := _turns(entries, year, kinds):
            month = f"{days[-1]:%Y-%m}"
            named = command.format(older=month_before(month), newer=month)
            yield Text(f"{told}: {f'{named} {at}'.rstrip()}", style="dim")


def _turns(entries: list[Entry], year: Year, kinds: Collection[str]) -> list[date]:
    """Return the days inside a year on which rules of these kinds began to hold, each once."""
    own = (entry for entry in entries if entry.kind in kinds)
    return sorted({day for entry in own for day in turns_inside(entry, year)})
