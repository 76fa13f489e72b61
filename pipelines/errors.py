"""What a person is told when something is wrong, and the exit code that goes with it.

Every message has the same five parts: what is wrong, where, what was expected, what was found,
and what to do next. `connectors` and `transforms` raise their own errors of this shape; the
command line prints all of them alike and never shows a traceback for a user's mistake.
"""

WRONG_USE = 2
UNREADABLE = 3


class LeerlaufError(Exception):
    """A problem with five parts; empty parts are left out of the message."""

    exit_code = UNREADABLE

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
