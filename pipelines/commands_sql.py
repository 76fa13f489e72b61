"""The command `sql`: ask the newest run, as a table on a terminal and as CSV elsewhere."""

import sys
from pathlib import Path

from pipelines import common, machine, show_rows


def sql(query: str, config: Path | None, lake: Path | None, *, as_json: bool) -> None:
    """Ask the tables of the newest run one question."""
    answer = common.asked(query, config, lake)
    if as_json or sys.stdout.isatty():
        common.answer(
            lambda: machine.answer(answer.rows()),
            lambda: show_rows.answer(answer),
            as_json=as_json,
        )
    else:
        answer.write_csv(sys.stdout)
