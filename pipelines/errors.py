"""What a person is told when something is wrong, and the exit code that goes with it.

Every message has the same five parts: what is wrong, where, what was expected, what was found,
and what to do next. `connectors` and `transforms` raise their own errors of this shape; the
command line prints all of them alike and never shows a traceback for a user's mistake.
"""

from collections.abc import Sequence
from typing import Protocol

WRONG_USE = 2
UNREADABLE = 3


class Problem(Protocol):
    """What the errors of the three layers have in common."""

    what: str
    where: str
    expected: str
    got: str
    hint: str
    exit_code: int


class LeerlaufError(Exception):
    """A problem with five parts; empty parts are left out of the message."""

    exit_code: int = UNREADABLE

    def __init__(
        self, what: str, *, where: str = "", expected: str = "", got: str = "", hint: str = ""
    ) -> None:
        self.what = what
        self.where = where
        self.expected = expected
        self.got = got
        self.hint = hint
        super().__init__(what)


class ConfigurationError(LeerlaufError):
    """Wrong use or wrong configuration."""

    exit_code = WRONG_USE


class DefectError(LeerlaufError):
    """A defect of leerlauf itself; nobody raises it, it is only told."""


class LakeError(LeerlaufError):
    """The lake cannot be used: locked, damaged, or written by a newer version."""


class SeveralError(LeerlaufError):
    """Several problems, told one by one; the worst decides the exit code."""

    def __init__(self, what: str, problems: Sequence[Problem], *, where: str = "") -> None:
        super().__init__(what, where=where)
        self.problems = tuple(problems)
        self.exit_code = max(problem.exit_code for problem in problems)
