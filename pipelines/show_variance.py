"""What people see of `variance`: who moved, by which parts, and why, cluster by cluster."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import groupby

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from pipelines.figures import clean, money, rounded
from pipelines.in_force import Cluster
from pipelines.periods import first_day, next_month
from pipelines.rule_words import became
from pipelines.show_clusters import sum_table, title
from pipelines.show_teams import team
from pipelines.two_months import Variance
from pipelines.variance import PARTS
from pipelines.variance_figures import Line, Place, Statement, key_of
from pipelines.variance_words import places, rounded_parts, sentence

HEADINGS = {
    "own_requests": "own\nrequests",
    "unit_price": "unit\nprice",
    "idle_volume": "idle\nvolume",
    "others": "others",
    "headroom_and_overhead": "headroom,\noverhead",
    "rule_change": "rule\nchange",
    "corrections": "correc-\ntions",
}
WIDEST_SENTENCE = 600


def page(variance: Variance) -> RenderableType:
    """Return a table and sentences for each cluster, and both months under both rules."""
    parts: list[RenderableType] = [_head(variance)]
    for place, lines in groupby(variance.moves, key=lambda line: line.place):
        parts += [Text(""), *_cluster(variance, place, list(lines))]
    return Group(*parts, Text(""), *_foot(variance))


def _head(variance: Variance) -> Text:
    older, newer = (first_day(month) for month in variance.months)
    return Text.assemble(
        (f"{older:%B %Y} to {newer:%B %Y}", "bold"), ("   why figures moved", "dim")
    )


def _cluster(variance: Variance, place: Place, lines: list[Line]) -> Iterator[RenderableType]:
    cluster = variance.clusters[place.provider, place.cluster_id]
    operator, moved = variance.operators[cluster.key], _Moves(variance, lines)
    yield _Title(cluster)
    yield Text(f"who moved, in {place.billing_currency}", style="dim")
    yield moved
    for line in lines:
        if any(moved.parts[line].values()):
            told = clean(sentence(variance, line), WIDEST_SENTENCE)
            yield Text.assemble(team(line.team, operator), ": ", told)
    for change in variance.changes.get(cluster.key, ()):
        words = became(change.kind, change.before, change.after)
        yield Text(f"rules: {clean(words, WIDEST_SENTENCE)}", style="yellow")
    yield from _restated(variance, lines)


class _Title:
    """The name of a cluster, as wide as the terminal allows."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield title(self.cluster._asdict(), options.max_width)


class _Moves:
    """A line per team: what it was, the parts that moved it, what it is; and the sums."""

    def __init__(self, variance: Variance, lines: list[Line]) -> None:
        self.variance, self.lines = variance, lines
        self.parts = {line: rounded_parts(variance, line) for line in lines}
        self.digits = places(variance, lines[0])

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        sizes = {part: sum(abs(self.parts[line][part]) for line in self.lines) for part in PARTS}
        by_size = sorted((part for part in PARTS if sizes[part]), key=lambda part: -sizes[part])
        for apart in range(len(by_size), -1, -1):
            table = self._table(by_size[:apart], by_size[apart:])
            room = console.measure(table, options=options.update(width=10 * options.max_width))
            if room.maximum <= options.max_width or apart == 0:
                yield table
                return

    def _table(self, apart: Sequence[str], rest: Sequence[str]) -> Table:
        """Return the table with a column for each part in `apart`, and one for all of `rest`."""
        columns = {HEADINGS[part]: [part] for part in PARTS if part in apart}
        columns |= {"other\nparts" if apart else "moved": list(rest)} if rest else {}
        operator = self.variance.operators[key_of(self.lines[0])]
        table = sum_table()
        table.add_column("", footer="all", overflow="fold")
        older, newer = (self._totals(index) for index in (0, 1))
        self._column(table, self.variance.months[0], older)
        for heading, parts in columns.items():
            self._column(table, heading, [self._moved(line, parts) for line in self.lines])
        self._column(table, self.variance.months[1], newer)
        for index, line in enumerate(self.lines):
            cells = [self._moved(line, parts) for parts in columns.values()]
            row = (older[index], *cells, newer[index])
            table.add_row(team(line.team, operator), *(money(cell, self.digits) for cell in row))
        return table

    def _column(self, table: Table, heading: str, amounts: list[Decimal]) -> None:
        footer = money(sum(amounts, Decimal(0)), self.digits, "bold")
        table.add_column(heading, footer=footer, justify="right", no_wrap=True)

    def _totals(self, month: int) -> list[Decimal]:
        found = self.variance.statements[month]
        return [found.get(line, Statement()).rounded for line in self.lines]

    def _moved(self, line: Line, parts: Sequence[str]) -> Decimal:
        return sum((self.parts[line][part] for part in parts), Decimal(0))


# ---------------------------------------------------------------------------------------------
# Both months under both rules
# ---------------------------------------------------------------------------------------------


def _restated(variance: Variance, lines: list[Line]) -> Iterator[RenderableType]:
    found = [one for one in variance.totals if one.line in set(lines)]
    reasons = dict.fromkeys(one.reason for one in found if one.reason)
    if not reasons and all(one.other == one.total for one in found):
        return
    yield Text("")
    yield Text(f"restated, in {lines[0].place.billing_currency}", style="dim")
    yield _Restated(variance, lines)
    for reason in reasons:
        yield Text(f"unknown: {clean(reason, WIDEST_SENTENCE)}", style="yellow")


class _Restated:
    """Both months by their own rules, where there is room, and by those of the other month."""

    def __init__(self, variance: Variance, lines: list[Line]) -> None:
        self.variance, self.lines = variance, lines
        self.digits = places(variance, lines[0])
        self.others = {(one.month, one.line): one.other for one in variance.totals}

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = self._table(with_own=True)
        room = console.measure(whole, options=options.update(width=10 * options.max_width))
        yield whole if room.maximum <= options.max_width else self._table(with_own=False)

    def _table(self, *, with_own: bool) -> Table:
        table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False)
        table.add_column("", overflow="fold")
        columns: list[list[Decimal | None]] = []
        for heading, column in self._columns(with_own=with_own):
            table.add_column(heading, justify="right", no_wrap=True)
            columns.append(column)
        operator = self.variance.operators[key_of(self.lines[0])]
        for line, *row in zip(self.lines, *columns, strict=True):
            table.add_row(team(line.team, operator), *(money(cell, self.digits) for cell in row))
        return table

    def _columns(self, *, with_own: bool) -> Iterator[tuple[str, list[Decimal | None]]]:
        months = self.variance.months
        for month, other, found in zip(months, months[::-1], self.variance.statements, strict=True):
            if with_own:
                yield month, [found.get(line, Statement()).rounded for line in self.lines]
            restated = [self.others.get((month, line), Decimal(0)) for line in self.lines]
            yield f"{month} by\nrules of\n{other}", _rounded(restated, self.digits)


def _rounded(amounts: Iterable[Decimal | None], digits: int) -> list[Decimal | None]:
    """Round what is known of a column so that it adds up to its own rounded sum."""
    every = list(amounts)
    known = iter(rounded((amount for amount in every if amount is not None), digits))
    return [None if amount is None else next(known) for amount in every]


def _foot(variance: Variance) -> Iterator[Text]:
    days = [(next_month(month) - first_day(month)).days for month in variance.months]
    if days[0] != days[1]:
        longer = 100 * days[1] / days[0] - 100
        told = f"{variance.months[1]} has {days[1]} days, {variance.months[0]} {days[0]}"
        yield Text(f"{told}: {longer:+.1f} % of whatever runs all month.", style="dim")
    yield Text("The parts of each line add up to its change.", style="bold green")
