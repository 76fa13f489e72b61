"""The generated parts of README.md: `python -m pipelines.docs` writes them again.

Each part stands between two comments that name it. What is written there comes from the command
line, the schema, the headers of the SQL files and a run of the demo, so it cannot grow old.
"""

import atexit
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import dropwhile, groupby, takewhile
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from duckdb import DuckDBPyConnection
from rich.console import Console, RenderableType
from typer.main import get_command

from pipelines import config, demo, month, queries, reading, reference, show_idle
from pipelines.cli import app
from pipelines.lake import Lake
from pipelines.levers import DISKS, LEVERS
from pipelines.show_clusters import Block, overview
from pipelines.show_teams import comparisons
from transforms.schema import CAUSES

README = Path(__file__).resolve().parent.parent / "README.md"
COMMON = {"--config", "--lake", "--json", "--help"}
SHOWN_CLUSTER, SHOWN_IDLE = "worked-example", "data-eu"
IN_TURN = ("scale_down_wait", "minimum_size", "empty_node", "stranded", "fragment", "rest")
"""The causes of idle in the order in which they are tried."""

PART = re.compile(r"(<!-- begin (\w+) -->\n).*?(<!-- end \2 -->)", re.DOTALL)
COLUMNS = 80


def main() -> None:
    """Write the generated parts again and say whether anything changed."""
    before = README.read_text(encoding="utf-8")
    after = current(before)
    README.write_text(after, encoding="utf-8")
    sys.stderr.write(f"{README.name} {'is current' if after == before else 'written'}\n")


def current(text: str) -> str:
    """Return `text` with each generated part as it should be."""
    return PART.sub(lambda found: f"{found[1]}\n{PARTS[found[2]]()}\n\n{found[3]}", text)


def commands() -> str:
    """Return one row per command, with its arguments and the options of its own."""
    rows = ["| command | does |", "|---|---|"]
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        words = [f"leerlauf {name}", *_words(command)]
        rows.append(f"| `{' '.join(words)}` | {command.help.splitlines()[0]} |")
    return "\n".join(rows)


def methods() -> str:
    """Return one row per method, in the words of its file."""
    rows = ["| method | does | use it when | unfair when |", "|---|---|---|---|"]
    for header in reference.methods():
        fair, unfair = header.parts["use it when"], header.parts["unfair when"]
        rows.append(f"| `{header.name}` | {header.does} | {fair} | {unfair} |")
    return "\n".join(rows)


def tables() -> str:
    """Return every table with its columns, types and meanings."""
    parts = []
    for table, columns in groupby(reference.columns(), key=attrgetter("table")):
        rows = [f"#### {table}", "", "| column | type | meaning |", "|---|---|---|"]
        for column in columns:
            unit = f" ({column.unit})" if column.unit else ""
            rows.append(f"| `{column.column}` | {column.type} | {column.meaning}{unit} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def views() -> str:
    """Return one row per view that stands beside the tables."""
    rows = ["| view | holds |", "|---|---|"]
    rows += [f"| `{view.name}` | {view.does} |" for view in reference.views()]
    return "\n".join(rows)


def system_namespaces() -> str:
    """Return the namespaces that are shared operation unless the file says otherwise."""
    return ", ".join(f"`{name}`" for name in config.SYSTEM_NAMESPACES)


def causes() -> str:
    """Return one row per cause of idle, with its lever; rest of disks has one of its own."""
    rows = ["| cause | holds when | lever |", "|---|---|---|"]
    rows += [f"| `{cause}` | {CAUSES[cause]} | {LEVERS[cause]} |" for cause in IN_TURN]
    rows.append(f"| `rest` of disks | the same, of a disk; shown as *rest of disks* | {DISKS} |")
    return "\n".join(rows)


def idle() -> str:
    """Return what `leerlauf idle` shows of one cluster."""
    con, whole = _demo()
    page = show_idle.page(whole, reading.rows(con, queries.read("read/idle_parts")))
    lines = dropwhile(lambda line: not line.startswith(f"{SHOWN_IDLE}  "), _drawn(page))
    return _block(takewhile(bool, lines))


def picture() -> str:
    """Return what the demo shows of all clusters, and of the worked example."""
    _, whole = _demo()
    cluster = next(row for row in whole.clusters if row["cluster_name"] == SHOWN_CLUSTER)
    shown = (*overview(whole), "", Block(whole, cluster), *comparisons(whole, cluster))
    return _block(_drawn(*shown))


@cache
def _demo() -> tuple[DuckDBPyConnection, reading.Month]:
    """Run the demo, in a folder that is there until the end."""
    folder = TemporaryDirectory()
    atexit.register(folder.cleanup)
    read = config.load(demo.prepare(Path(folder.name)))
    outcome = month.run(read, demo.MONTH)
    con = Lake(read.lake.path).connect(outcome.record)
    return con, reading.month(con, outcome.record)


def _drawn(*shown: RenderableType) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=COLUMNS, markup=False, highlight=False, emoji=False)
    console.print(*shown, sep="\n")
    return [line.rstrip() for line in out.getvalue().splitlines()]


def _block(lines: Iterable[str]) -> str:
    return "```text\n" + "\n".join(lines).strip("\n") + "\n```"


PARTS: dict[str, Callable[[], str]] = {
    "picture": picture,
    "idle": idle,
    "causes": causes,
    "commands": commands,
    "methods": methods,
    "tables": tables,
    "views": views,
    "system_namespaces": system_namespaces,
}
"""The generated parts by name."""


def _words(command: Any) -> Iterator[str]:
    """Yield the arguments and the options of a command as a person types them."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            yield parameter.metavar if parameter.required else f"[{parameter.metavar}]"
        elif not COMMON & set(parameter.opts):
            yield f"[{parameter.opts[0]} {parameter.metavar}]"


if __name__ == "__main__":
    main()
