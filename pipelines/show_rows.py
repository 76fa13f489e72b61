"""Rows for people: answers of SQL, methods and tables."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from operator import itemgetter

from rich import box
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from pipelines.asking import Answer
from pipelines.figures import clean
from pipelines.reference import Column, Header

SHOWN_ROWS = 1000
WIDEST_VALUE = 200


# ---------------------------------------------------------------------------------------------
# Answers of SQL
# ---------------------------------------------------------------------------------------------


class _Rows:
    """Rows as a table, or, where that is too wide, one below the other."""

    def __init__(self, names: list[str], rows: list[tuple[object, ...]]) -> None:
        self.names, self.rows = [Text(clean(name)) for name in names], rows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table(box=box.SIMPLE, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for position, name in enumerate(self.names):
            numbers = any(isinstance(row[position], int | float | Decimal) for row in self.rows)
            table.add_column(name, justify="right" if numbers else "left", overflow="fold")
        for row in self.rows:
            table.add_row(*(_value(value) for value in row))
        room = console.measure(table, options=options.update(width=10 * options.max_width))
        if room.maximum <= options.max_width:
            yield table
        else:
            yield from self._one_below_the_other()

    def _one_below_the_other(self) -> Iterator[RenderableType]:
        for row in self.rows:
            table = Table.grid(padding=(0, 2), pad_edge=False)
            table.add_column(style="dim", no_wrap=True)
            table.add_column(overflow="fold")
            for name, value in zip(self.names, row, strict=True):
                table.add_row(name, _value(value))
            yield table
            yield Text("")


def answer(rows: Answer) -> RenderableType:
    """Return the first rows of an answer; numbers stand right, NULL is dim."""
    shown: list[tuple[object, ...]] = []
    more = False
    for batch in rows.batches():
        room = SHOWN_ROWS - len(shown)
        shown += batch[:room]
        more = len(batch) > room
        if more:
            break
    end = f"the first {len(shown)} rows; send the output to a file for all" if more else ""
    return Group(_Rows(rows.names, shown), Text(end or _count(len(shown)), style="dim"))


def _value(value: object) -> Text:
    if value is None:
        return Text("NULL", style="dim")
    return Text(clean(f"{value:f}" if isinstance(value, Decimal) else str(value), WIDEST_VALUE))


def _count(rows: int) -> str:
    return "1 row" if rows == 1 else f"{rows} rows"


# ---------------------------------------------------------------------------------------------
# Methods and tables
# ---------------------------------------------------------------------------------------------


def methods(headers: list[Header]) -> RenderableType:
    """Return the methods with what speaks for and against each."""
    table = Table.grid(padding=(0, 2), pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for header in headers:
        table.add_row(Text(header.name, style="bold"), "does", header.does)
        for label in ("use it when", "unfair when"):
            table.add_row("", label, header.parts[label])
        table.add_row("", "", "")
    return table


def schema(columns: list[Column], views: list[Header], system: tuple[str, ...]) -> RenderableType:
    """Return the tables with their columns, the views, and the default system namespaces."""
    parts: list[RenderableType] = []
    for name, group in groupby(columns, key=itemgetter(0)):
        table = Table.grid(padding=(0, 2), pad_edge=False)
        for style in ("", "dim", ""):
            table.add_column(style=style, overflow="fold")
        for column in group:
            unit = f" ({column.unit})" if column.unit else ""
            table.add_row(f"  {column.column}", column.type, column.meaning + unit)
        parts += [Text(name, style="bold"), table, Text("")]
    parts.append(Text("views", style="bold"))
    parts += [Text(f"  {view.name}: {view.does}") for view in views]
    parts += [Text(""), Text("system namespaces, unless [[system]] says otherwise", style="bold")]
    return Group(*parts, Text("  " + ", ".join(system)))
