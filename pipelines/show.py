"""What people see: a month as bars, sums that read downwards, and findings in plain words.

Everything is built from rich's Text, never from markup, so that a tenant's label cannot pose as
formatting. What was rounded for the statements is shown as it was rounded there.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from shlex import quote

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from pipelines.figures import clean, count
from pipelines.periods import month_before
from pipelines.reading import Month, Row
from pipelines.show_clusters import Block, bridges, outside, overview
from pipelines.show_teams import comparisons, statements

Detail = Callable[[Month, Row], Iterator[RenderableType]]
COST_VIEW = {"effective": "amortised cost", "billed": "cost as invoiced"}
CHARGE_BASIS = {
    "provider": "split as the provider charged it",
    "request": "charged by request alone",
}
SEVERITIES = {"error": "bold red", "warning": "yellow", "info": "blue"}
FINDING = {
    "source": "source",
    "cluster_id": "cluster",
    "where": "where",
    "expected": "expected",
    "actual": "found",
    "difference": "difference",
    "hint": "do",
}
SHOWN_PER_RULE = {"error": 5, "warning": 3, "info": 1}
WIDEST_VALUE = 300
ALL_FINDINGS = 'leerlauf sql "FROM findings"'


def console(*, stderr: bool = False) -> Console:
    """Return a console that takes text as it is."""
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


# ---------------------------------------------------------------------------------------------
# Pages
# ---------------------------------------------------------------------------------------------


# `at` is how the commands that a page names find its lake: `--config FILE`, `--lake FOLDER`.


def summary(month: Month, at: str = "") -> RenderableType:
    """Return a month by the rules in force: clusters, statements, the rest of the bill."""
    return _page(month, statements, [*outside(month), *_why(month, at)], at)


def reconciliation(month: Month, at: str = "") -> RenderableType:
    """Return the way from the bill to the idle: clusters, bridges, the rest of the bill."""
    return _page(month, bridges, outside(month), at)


def comparison(month: Month, at: str = "") -> RenderableType:
    """Return what each team would pay under each method, and the rest of the bill."""
    return _page(month, comparisons, outside(month), at)


def tour(month: Month, file: Path, lake: Path | None) -> RenderableType:
    """Return what the demo shows: methods side by side, and where to go from there."""
    period, config = month.record.billing_period, f"--config {quote(str(file))}"
    before = month_before(period)
    at = config if lake is None else f"--lake {quote(str(lake))}"
    again = config if lake is None else f"{config} {at}"
    team = next((clean(row["team"]) for row in month.teams if row["team"]), "TEAM")
    steps = Table.grid(padding=(0, 2), pad_edge=False)
    steps.add_column(overflow="fold")
    for command, why in (
        (f"leerlauf reconcile {period} {at}", "how the bill leads to the idle"),
        (f"leerlauf idle {period} {at}", "why there is idle, and which lever belongs to it"),
        (f"leerlauf explain {quote(team)} {period} {at}", "where a team's figure comes from"),
        (f"leerlauf run {before} {again}", "the month before, from the same exports"),
        (f"leerlauf variance {before} {period} {at}", "then: why each team's figure moved"),
        (f'leerlauf sql "FROM idle_ratio" {at}', "your own questions, in SQL"),
        (f"leerlauf run {period} {again}", f"again, after a change of {file}"),
    ):
        steps.add_row(Text(f"  {command}").append(f"\n    {why}", style="dim"))
    next_steps = (Text(""), Text("Where to go next", style="bold"), steps)
    return Group(comparison(month, at), *next_steps)


def failure(findings: list[Row]) -> RenderableType:
    """Return the findings of a run that published nothing."""
    end = Text("Nothing was published: the books do not balance.", style="bold red")
    return Group(*_findings(findings, ""), Text(""), end)


def _page(month: Month, detail: Detail, rest: Iterable[RenderableType], at: str) -> RenderableType:
    """Return a page: each cluster with its detail, then what is not part of a cluster."""
    lines: list[RenderableType] = [head(month), *overview(month)]
    for cluster in month.clusters:
        lines += [Text(""), Block(month, cluster), *detail(month, cluster)]
    return Group(*lines, *rest, *_findings(month.findings, at), Text(""), _foot(month))


def head(month: Month) -> Text:
    """Return which month it is, how final, and which cost and charge are counted."""
    first = date.fromisoformat(f"{month.record.billing_period}-01")
    report = month.record.configuration["report"]
    view, basis = COST_VIEW[report["cost_view"]], CHARGE_BASIS[report["charge_basis"]]
    how = f"   {month.record.month_status}, {view}, {basis}"
    return Text.assemble((f"{first:%B %Y}", "bold"), (how, "dim"))


def _why(month: Month, at: str) -> Iterator[Text]:
    """Yield which command tells more of the idle, where there is any."""
    if month.causes:
        told = f"leerlauf idle {month.record.billing_period} {at}".rstrip()
        yield Text("")
        yield Text.assemble("Why capacity stood idle, where and when:  ", (told, "bold"))


def _foot(month: Month) -> Text:
    errors = sum(finding["severity"] == "error" for finding in month.findings)
    if errors:
        return Text(f"Published with {count(errors, 'error')}: see above.", style="bold red")
    return Text("The books balance: every row of the bill has one place.", style="bold green")


# ---------------------------------------------------------------------------------------------
# Findings
# ---------------------------------------------------------------------------------------------


def _findings(rows: list[Row], at: str) -> Iterator[RenderableType]:
    if not rows:
        return
    yield Text("")
    yield Text("What you should know", style="bold")
    for (severity, rule), group in groupby(rows, key=itemgetter("severity", "rule")):
        same, shown = list(group), SHOWN_PER_RULE[severity]
        yield Text("")
        heading = Text.assemble((f"{severity:<8}", SEVERITIES[severity]), (clean(rule), "bold"))
        yield heading.append(f"  {len(same)} times" if len(same) > 1 else "", style="dim")
        for index, row in enumerate(same[:shown]):
            yield _finding(row, told=same[0] if index else {})
        if len(same) > shown:
            more = f"and {len(same) - shown} more: {ALL_FINDINGS} {at}".rstrip()
            yield Text(" " * 8 + more, style="dim")


def _finding(row: Row, told: Row) -> RenderableType:
    """Return what a finding says, but for what the first of its kind has told already."""
    table = Table.grid(padding=(0, 1), pad_edge=False)
    table.add_column(width=7)
    table.add_column(style="dim", width=10)
    table.add_column(overflow="fold")
    for name, label in FINDING.items():
        value = row[name]
        if value is not None and value != told.get(name):
            table.add_row("", label, Text(clean(value, WIDEST_VALUE)))
    return table
