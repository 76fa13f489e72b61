"""How a command fails: what is wrong, where, expected, got, what to do next; then an exit code.

A mistake of the person or the data is told in these parts and never as a traceback. A traceback
is printed only for a defect of leerlauf itself.
"""

import re
import traceback
from collections.abc import Sequence
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from connectors.errors import DeliveryError
from pipelines import demo, machine
from pipelines.errors import (
    UNREADABLE,
    WRONG_USE,
    ConfigurationError,
    DefectError,
    LakeError,
    LeerlaufError,
    Problem,
    SeveralError,
)
from pipelines.figures import clean
from pipelines.objects import OBJECTS
from pipelines.reading import Row
from pipelines.show import console
from transforms.errors import InputError
from transforms.schema import TABLES

DEFECT = 70
MONTH = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")
WIDEST_VALUE = 2000


def tell(error: Exception, arguments: Sequence[str]) -> int:
    """Print what went wrong, as JSON where `arguments` ask for it, and return the exit code."""
    problems, code = _problems(error)
    if code == DEFECT:
        traceback.print_exception(error)
    if "--json" in arguments:
        machine.print_document(_failed(problems, arguments).model_dump(mode="json"))
    else:
        for problem in problems:
            _print(problem)
    return code


def _problems(error: Exception) -> tuple[Sequence[Problem], int]:
    match error:
        case SeveralError():
            return error.problems, error.exit_code
        case LeerlaufError() | DeliveryError() | InputError():
            return (error,), error.exit_code
        case typer.TyperException():
            said = error.format_message().rstrip(".")
            problem = ConfigurationError(said, hint="`leerlauf COMMAND --help` shows how to ask.")
            return (problem,), WRONG_USE
        case OSError():
            return (_of_disk(error),), UNREADABLE
    what = f"a defect of leerlauf: {type(error).__name__}"
    return (DefectError(what, got=str(error), hint="Report it with the lines above."),), DEFECT


def _of_disk(error: OSError) -> LakeError:
    what = (error.strerror or type(error).__name__).lower()
    return LakeError(
        what,
        where=str(error.filename or ""),
        hint="Check the disk and the permissions, then run the command again.",
    )


def _failed(problems: Sequence[Problem], arguments: Sequence[str]) -> Any:
    """Return the object of the command in `arguments`, as far as they name one.

    Of two months it is about the second.
    """
    command = next((word for word in arguments if word in OBJECTS), "")
    named = [word for word in arguments if MONTH.fullmatch(word)]
    month = demo.MONTH if command == "demo" else next(reversed(named), None)
    return machine.failed(command, month, [_finding(problem, month) for problem in problems])


def _finding(problem: Problem, month: str | None) -> Row:
    got = f": {problem.got}" if problem.got else ""
    return dict.fromkeys(TABLES["findings"]) | {
        "billing_period": month,
        "rule": _rule(problem),
        "severity": "error",
        "where": problem.where or None,
        "expected": problem.expected or None,
        "actual": f"{problem.what}{got}",
        "hint": problem.hint or None,
    }


def _rule(problem: Problem) -> str:
    """Return what kind of problem it is: configuration, lake, delivery, input or defect."""
    return type(problem).__name__.removesuffix("Error").lower()


def _print(problem: Problem) -> None:
    table = Table.grid(padding=(0, 1), pad_edge=False)
    table.add_column(style="dim", width=10)
    table.add_column(overflow="fold")
    for label, value in (
        ("where", problem.where),
        ("expected", problem.expected),
        ("got", problem.got),
        ("do", problem.hint),
    ):
        if value:
            lines = "\n".join(clean(line, WIDEST_VALUE) for line in value.splitlines())
            table.add_row(f"  {label}", Text(lines))
    out = console(stderr=True)
    out.print(Text.assemble(("error: ", "bold red"), (clean(problem.what, WIDEST_VALUE), "bold")))
    out.print(table)
