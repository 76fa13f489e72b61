"""What each team pays: by the rules in force, and under each method."""

from collections.abc import Iterator
from decimal import Decimal

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from pipelines import reading
from pipelines.figures import LOOKS, clean, money
from pipelines.reading import Month, Row
from pipelines.show_clusters import of_cluster, places, sum_table, total
from transforms.rules import names_any
from transforms.schema import CLUSTER_KINDS

Method = tuple[str, str | None]
"""A method and what it is by."""
Totals = dict[str | None, Decimal]
"""Rounded totals by team."""

NO_TEAM = "(no team)"
OPERATOR = " (operator)"
IN_FORCE = "*"
ALWAYS = ("workload", "idle")
METHODS = {
    ("none", None): "none",
    ("even", None): "even",
    ("proportional", "resource"): "proportional\nby resource",
    ("proportional", "total"): "proportional\nby total",
}
"""The methods in the order in which they are compared: (method, by) -> heading."""


# ---------------------------------------------------------------------------------------------
# By the rules in force
# ---------------------------------------------------------------------------------------------


def statements(month: Month, cluster: Row) -> Iterator[RenderableType]:
    """Yield a cluster's statements: a line per team, a column per kind."""
    lines = [line for line in month.teams if of_cluster(line) == of_cluster(cluster)]
    yield Text("")
    yield Text(f"who pays, in {cluster['billing_currency']}", style="dim")
    yield _Statements(lines, operator(month, cluster), places(month, cluster))


class _Statements:
    """Statements as wide as the terminal allows, without the kinds in which nobody has any."""

    def __init__(self, lines: list[Row], operator: str | None, digits: int) -> None:
        self.lines, self.operator, self.digits = lines, operator, digits

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        kinds = [kind for kind in (*CLUSTER_KINDS, "corrections") if self._matters(kind)]
        by_size = sorted(kinds, key=lambda kind: (kind not in ALWAYS, -self._size(kind)))
        for columns in range(len(kinds), len(ALWAYS) - 1, -1):
            shown = [kind for kind in kinds if kind in by_size[:columns]]
            table = self._table(shown, by_size[columns:])
            if _width(table, console, options) <= options.max_width or columns == len(ALWAYS):
                yield table
                return

    def _size(self, kind: str) -> Decimal:
        return abs(total(self.lines, f"{kind}_rounded"))

    def _matters(self, kind: str) -> bool:
        return kind in ALWAYS or any(line[f"{kind}_rounded"] != 0 for line in self.lines)

    def _table(self, kinds: list[str], rest: list[str]) -> Table:
        """Return the table with a column for each of `kinds` and one for the sum of `rest`."""
        columns = {_heading(kind): [kind] for kind in kinds} | (
            {"other\nkinds": rest} if rest else {}
        )
        table = sum_table()
        table.add_column("", footer="bill", overflow="ellipsis", no_wrap=True)
        for heading in columns:
            table.add_column(heading, justify="right", no_wrap=True)
        bill = money(total(self.lines, "total_rounded"), self.digits, "bold")
        table.add_column("total", footer=bill, justify="right", no_wrap=True)
        for line in self.lines:
            cells = [self._figure([line], summed) for summed in columns.values()]
            whole = money(line["total_rounded"], self.digits, "bold")
            table.add_row(team(line["team"], self.operator), *cells, whole)
        return table

    def _figure(self, lines: list[Row], kinds: list[str]) -> Text:
        known = [line[f"{kind}_rounded"] for line in lines for kind in kinds]
        amounts = [amount for amount in known if amount is not None]
        return money(sum(amounts, Decimal(0)) if amounts else None, self.digits)


def _width(table: Table, console: Console, options: ConsoleOptions) -> int:
    """Return how wide a table would like to be."""
    return console.measure(table, options=options.update(width=10 * options.max_width)).maximum


def _heading(kind: str) -> str:
    return (LOOKS[kind].words if kind in LOOKS else kind).replace(" ", "\n")


# ---------------------------------------------------------------------------------------------
# Under each method
# ---------------------------------------------------------------------------------------------


def comparisons(month: Month, cluster: Row) -> Iterator[RenderableType]:
    """Yield what each team of a cluster would pay: a column per method."""
    lines = [line for line in month.comparison if of_cluster(line) == of_cluster(cluster)]
    now = [line for line in month.teams if of_cluster(line) == of_cluster(cluster)]
    by_method = {
        method: {line["team"]: line["total_rounded"] for line in lines if _method(line) == method}
        for method in METHODS
    }
    current = {line["team"]: line["total_rounded"] for line in now}
    same = [method for method, totals in by_method.items() if totals == current]
    in_force = same[0] if len(same) == 1 else None
    mark = f"   {IN_FORCE} in force" if in_force else ""
    yield Text("")
    yield Text(
        f"who pays, in {cluster['billing_currency']}, by the method for idle and headroom",
        style="dim",
    ).append(mark)
    yield _comparison(by_method, in_force, operator(month, cluster), places(month, cluster))


def _comparison(
    by_method: dict[Method, Totals], in_force: Method | None, operator: str | None, digits: int
) -> Table:
    table = sum_table()
    table.add_column("", footer="bill", overflow="ellipsis", no_wrap=True)
    for method, heading in METHODS.items():
        bill = money(sum(by_method[method].values(), Decimal(0)), digits, "bold")
        mark = f" {IN_FORCE}" if method == in_force else ""
        table.add_column(heading + mark, footer=bill, justify="right", no_wrap=True)
    names = {name for totals in by_method.values() for name in totals}
    for name in sorted(names, key=lambda name: (name is None, name)):
        figures = (totals.get(name, Decimal(0)) for totals in by_method.values())
        table.add_row(team(name, operator), *(money(figure, digits) for figure in figures))
    return table


def _method(line: Row) -> Method:
    return line["method"], line["by"]


# ---------------------------------------------------------------------------------------------
# Names
# ---------------------------------------------------------------------------------------------


def operator(month: Month, cluster: Row) -> str | None:
    """Return the team that operates a cluster: the first in the file whose globs match."""
    names = cluster["cluster_id"], cluster["cluster_name"]
    for entry in month.record.configuration["operator"]:
        if names_any(entry["cluster"], names):
            return str(entry["team"])
    return None


def team(name: str | None, operator: str | None) -> Text:
    """Return a team as it is shown; the operator and money without team are marked."""
    if name is None:
        return Text(NO_TEAM, style="dim")
    mark = OPERATOR if name == operator else ""
    return Text(clean(name, 24)).append(mark, style="dim")


def name_of(shown: str) -> str:
    """Return what `explain` calls a team that somebody copied from a page."""
    return reading.NO_TEAM if shown == NO_TEAM else shown.removesuffix(OPERATOR)
