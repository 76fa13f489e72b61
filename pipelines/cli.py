"""The command line: `leerlauf`. Each command is a few lines; the work is done elsewhere.

Exit codes: 0 the books balance, 1 an error finding, 2 wrong use or configuration, 3 input that
cannot be read, network, disk or lock. Progress goes to stderr and only to a terminal.
"""

import sys
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from pipelines.options import (
    ConfigOption,
    JsonOption,
    JsonSchemaOption,
    LakeOption,
    MonthArgument,
    NewestArgument,
)

PIPE_CLOSED = 141

app = typer.Typer(
    name="leerlauf",
    help="Kubernetes chargeback from the cloud providers' billing exports.",
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line of this process."""
    sys.exit(call(sys.argv[1:]))


def call(arguments: list[str]) -> int:
    """Run one command and return its exit code; what goes wrong is told, not raised."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        return app(arguments or ["--help"], prog_name="leerlauf", standalone_mode=False) or 0
    except SystemExit:  # typer ends so where nobody reads on: `leerlauf sql ... | head`
        return PIPE_CLOSED
    except Exception as error:  # noqa: BLE001 whatever it is, a person is told what to do
        from pipelines import failing

        return failing.tell(error, arguments)


@app.command()
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Where the exports lie; else here.")
    ] = Path(),
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> None:
    """Write a commented leerlauf.toml for the exports in a folder.

    Example: leerlauf init exports
    """
    from pipelines import common

    common.init(folder, config, lake, as_json=json)


@app.command()
def demo(config: ConfigOption = None, lake: LakeOption = None, json: JsonOption = False) -> int:
    """Charge back a month of the bundled exports, in ./leerlauf-demo.

    Example: leerlauf demo
    """
    from pipelines import common

    return common.run_demo(config, lake, as_json=json)


@app.command()
def check(
    month: NewestArgument = None,
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> int:
    """Say what is there, what is missing, and the step that mends it; publish nothing.

    Example: leerlauf check 2026-10
    """
    from pipelines import common

    return common.check(month, config, lake, as_json=json)


@app.command()
def fetch(
    month: MonthArgument,
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> None:
    """Copy the newest delivery of each source into the lake, unless it is there.

    Example: leerlauf fetch 2026-10
    """
    from pipelines import common

    common.fetch(month, config, lake, as_json=json)


@app.command()
def run(
    month: MonthArgument,
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> int:
    """Charge back a month: fetch, slice, normalise, distribute, reconcile, write.

    Example: leerlauf run 2026-10
    """
    from pipelines import common

    return common.run(month, config, lake, as_json=json)


@app.command()
def reconcile(
    month: MonthArgument,
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> int:
    """Show the way from the bill to each cluster's idle, line by line.

    Example: leerlauf reconcile 2026-10
    """
    from pipelines import common, machine, show

    whole = common.published(month, config, lake)
    page = partial(show.reconciliation, at=common.at(config, lake))
    return common.tell(whole, machine.result, page, as_json=json)


@app.command()
def compare(
    month: MonthArgument,
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> int:
    """Show what each team would pay under each method for idle and headroom.

    Example: leerlauf compare 2026-10
    """
    from pipelines import common, machine, show

    whole = common.published(month, config, lake)
    page = partial(show.comparison, at=common.at(config, lake))
    return common.tell(whole, machine.comparison, page, as_json=json)


@app.command()
def idle(
    month: MonthArgument,
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> None:
    """Show why capacity stood idle, where and when, and which lever belongs to it.

    Example: leerlauf idle 2026-10
    """
    from pipelines import commands_idle

    commands_idle.idle(month, config, lake, as_json=json)


@app.command()
def efficiency(
    month: MonthArgument,
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> None:
    """Show what each team and workload requested, used and left unused, and what that cost.

    Example: leerlauf efficiency 2026-10
    """
    from pipelines import commands_efficiency

    commands_efficiency.efficiency(month, config, lake, as_json=json)


@app.command()
def variance(
    older: Annotated[str, typer.Argument(metavar="MONTH", help="The older month, YYYY-MM.")],
    newer: Annotated[str, typer.Argument(metavar="MONTH", help="The newer month, YYYY-MM.")],
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> None:
    """Say why each team's figure moved from one month to a later one.

    Example: leerlauf variance 2026-09 2026-10
    """
    from pipelines import commands_rules

    commands_rules.variance(older, newer, config, lake, as_json=json)


@app.command()
def explain(
    team: Annotated[str, typer.Argument(metavar="TEAM", help="A team, or - for (no team).")],
    month: MonthArgument,
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> None:
    """Explain a team's figures: pools, weights, rules, nodes and source files.

    Example: leerlauf explain payments 2026-10
    """
    from pipelines import commands_explain

    commands_explain.explain(team, month, config, lake, as_json=json)


@app.command()
def rules(config: ConfigOption = None, lake: LakeOption = None, json: JsonOption = False) -> None:
    """Show the calendar of the rules that apply.

    Example: leerlauf rules
    """
    from pipelines import commands_rules

    commands_rules.rules(config, lake, as_json=json)


@app.command()
def sql(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="One query in DuckDB's SQL.")],
    config: ConfigOption = None,
    lake: LakeOption = None,
    json: JsonOption = False,
) -> None:
    """Ask the tables of the newest run: a table on a terminal, CSV elsewhere.

    Example: leerlauf sql "SELECT team, sum(total) FROM statements GROUP BY team"
    """
    from pipelines import commands_sql

    commands_sql.sql(query, config, lake, as_json=json)


@app.command()
def methods(
    _config: ConfigOption = None, _lake: LakeOption = None, json: JsonOption = False
) -> None:
    """List the methods that distribute a cost, and what is fair and unfair in each.

    Example: leerlauf methods
    """
    from pipelines import common, machine, reference, show_rows

    headers = reference.methods()
    common.answer(
        lambda: machine.methods(headers), lambda: show_rows.methods(headers), as_json=json
    )


@app.command()
def schema(
    _config: ConfigOption = None,
    _lake: LakeOption = None,
    json: JsonOption = False,
    json_schema: JsonSchemaOption = None,
) -> None:
    """List the tables, their columns and the default system namespaces.

    Example: leerlauf schema --json-schema run
    """
    from pipelines import common, machine, reference, show_rows
    from pipelines.config import SYSTEM_NAMESPACES

    if json_schema is not None:
        machine.print_document(machine.json_schema(json_schema))
        return
    columns, views = reference.columns(), reference.views()
    common.answer(
        lambda: machine.schema(columns, SYSTEM_NAMESPACES),
        lambda: show_rows.schema(columns, views, SYSTEM_NAMESPACES),
        as_json=json,
    )
