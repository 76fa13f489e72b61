"""What people see of `init` and `check`: what was found, what is missing, what to do next."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipelines.checked import Checked, Examination
from pipelines.fetching import Copied, Fetched
from pipelines.figures import bytes_of, clean, count, of_files
from pipelines.inspecting import Found, Inspection
from pipelines.starting import relative

WIDEST_VALUE = 300
WIDEST_STEP = 10_000
SHOWN_ALIKE = 5
MARKS = {"ok": ("ok", "green"), "warning": ("warning", "yellow"), "error": ("error", "bold red")}
ENDS = {
    "error": ("Something is wrong: see above.", "bold red"),
    "warning": ("It can be run; what a warning names is missing in the figures.", "yellow"),
    "ok": ("All is there.", "bold green"),
}


def inspection(found: Inspection, file: Path, go_on: str) -> RenderableType:
    """Return the exports that were found, and where to go from there."""
    parts: list[RenderableType] = []
    for source in found.sources:
        parts += [_source(source, file, unused=found.unused.get(source.id)), Text("")]
    parts += [
        Text(f"not used: {clean(relative(path, file), WIDEST_VALUE)}: {reason}", style="yellow")
        for path, reason in found.refused.items()
    ]
    written = Text.assemble(("written: ", "dim"), (clean(str(file), WIDEST_VALUE), "bold"))
    advice = "read it and correct it, then: "
    return Group(*parts, written, Text.assemble((advice, "dim"), (go_on, "bold")))


def _source(source: Found, file: Path, *, unused: str | None) -> RenderableType:
    table = _grid()
    table.add_row("", "location", Text(clean(relative(source.location, file), WIDEST_VALUE)))
    table.add_row("", "months", Text(", ".join(source.months) or "none"))
    table.add_row("", "currency", Text(", ".join(sorted(source.seen.currencies)) or "unknown"))
    if source.metric is not None:
        told = "" if source.metric_told else " (a guess: neither manifest nor rows tell)"
        table.add_row("", "metric", Text(source.metric + told))
    if source.split_location is not None:
        place = clean(relative(source.split_location, file), WIDEST_VALUE)
        table.add_row("", "splits", Text(f"{', '.join(source.splits)} in {place}"))
    for cluster in (*source.seen.clusters, *source.seen.guessed):
        told = " (a guess, commented out)" if cluster in source.seen.guessed else ""
        table.add_row("", "cluster", Text(clean(cluster, WIDEST_VALUE) + told))
    if source.problem is not None:
        problem = Text(clean(source.problem, WIDEST_VALUE), style="yellow")
        table.add_row("", "problem", problem)
    if unused:
        table.add_row("", "used", Text(f"no, commented out: {clean(unused, WIDEST_VALUE)}"))
    heading = Text.assemble((source.id, "bold"), (f"  {source.provider} {source.dataset}", "dim"))
    return Group(heading, table)


def examination(checked: Examination) -> RenderableType:
    """Return every answer: the configuration, the sources, the clusters."""
    parts: list[RenderableType] = [Text(checked.billing_period, style="bold")]
    told = _Told()
    for (source, cluster), group in groupby(_ordered(checked.rows), key=_place):
        heading = Text(clean(cluster or source or "configuration", WIDEST_VALUE), style="bold")
        parts += [Text(""), heading, *_by_source(list(group), told)]
    worst = next(status for status in ENDS if status in {row.status for row in checked.rows})
    return Group(*parts, Text(""), Text(*ENDS[worst]))


def fetched(month: str, sources: Sequence[Fetched], now: datetime) -> RenderableType:
    """Return what lies in the lake now, and what copying it took."""
    table = Table.grid(padding=(0, 2), pad_edge=False)
    for name in ("status", "source", "told"):
        table.add_column(name, overflow="fold")
    for one in sources:
        for copied in one.deliveries:
            status, style = ("new", "green") if copied.is_new else ("unchanged", "dim")
            told = of_files(len(copied.files), copied.size, copied.written, now)
            name = one.context.source + (" splits" if copied.is_split else "")
            table.add_row(Text(status, style=style), name, Text(told))
            if copied.is_new:
                table.add_row("", "", Text(_took(copied), style="dim"))
    return Group(Text(month, style="bold"), Text(""), table)


def _took(copied: Copied) -> str:
    took = copied.took
    calls = f" in {count(took.calls, 'call')}" if took.calls else ""
    again = f", {took.retries} tried again" if took.retries else ""
    return f"copied {bytes_of(took.bytes)}{calls}{again}"


def _ordered(rows: Sequence[Checked]) -> list[Checked]:
    """Put what is said of one thing together, without changing the order otherwise."""
    places = list(dict.fromkeys(_place(row) for row in rows))
    return sorted(rows, key=lambda row: places.index(_place(row)))


def _place(row: Checked) -> tuple[str | None, str | None]:
    return (None if row.cluster_id else row.source), row.cluster_id


class _Told:
    """The steps told so far, each with the check and the place it was told of first."""

    def __init__(self) -> None:
        self.first: dict[str, tuple[str, str]] = {}
        self.last: str | None = None

    def before(self, row: Checked) -> str | None:
        """Return where the step of this row was told; None where it is new, and note it."""
        hint, check = row.hint or "", row.check.replace("_", " ")
        place = (row.cluster_id or row.source or "").rsplit("/", 1)[-1]
        just_now, self.last = self.last == hint, hint
        if hint not in self.first:
            self.first[hint] = (check, place)
            return None
        first_check, first_place = self.first[hint]
        of_place = f" of {first_place}" if first_place else ""
        return "as above" if just_now else f"as for {first_check}{of_place}"


def _by_source(rows: Sequence[Checked], told: _Told) -> Iterator[RenderableType]:
    """Yield the answers about one thing; where several sources tell of it, each by its name."""
    sources = {row.source for row in rows if row.source}
    ordered = sorted(rows, key=lambda row: row.source or "")
    for source, group in groupby(ordered, key=lambda row: row.source):
        if len(sources) > 1 and source:
            yield Text(f"  by {clean(source, WIDEST_VALUE)}", style="dim")
        yield from _answers(list(group), told)


def _answers(rows: Sequence[Checked], told: _Told) -> Iterator[RenderableType]:
    for _, group in groupby(rows, key=lambda row: (row.check, row.status)):
        alike = list(group)
        for row in alike[:SHOWN_ALIKE]:
            yield _answer(row, told)
        if len(alike) > SHOWN_ALIKE:
            yield Text(f"  and {len(alike) - SHOWN_ALIKE} more: --json shows all", style="dim")


def _answer(row: Checked, told: _Told) -> RenderableType:
    """Return one answer; a step that was told further up is not told again, but where it was."""
    table = _grid()
    mark, style = MARKS[row.status]
    check = row.check.replace("_", " ")
    table.add_row(Text(mark, style=style), check, Text(clean(row.actual, WIDEST_VALUE)))
    if row.status == "ok" or row.hint is None:
        return table
    if before := told.before(row):
        table.add_row("", "", Text(f"do: {clean(before, WIDEST_VALUE)}", style="dim"))
    else:
        if row.expected:
            table.add_row("", "", Text(f"expected: {clean(row.expected, WIDEST_VALUE)}", "dim"))
        steps = [clean(line, WIDEST_STEP) for line in row.hint.splitlines()]
        table.add_row("", "", Text("do: " + "\n".join(steps), "dim"))
    return table


def _grid() -> Table:
    table = Table.grid(padding=(0, 1), pad_edge=False)
    table.add_column(width=8)
    table.add_column(width=16, style="dim", overflow="fold")
    table.add_column(overflow="fold")
    return table
