"""The one error a transform raises, and what all providers say with it of a header."""

from collections.abc import Iterable, Sequence


class InputError(Exception):
    """Input that cannot be read without guessing. The five parts of a message, as everywhere."""

    exit_code = 3

    def __init__(
        self, what: str, *, where: str = "", expected: str = "", got: str = "", hint: str = ""
    ) -> None:
        self.what = what
        self.where = where
        self.expected = expected
        self.got = got
        self.hint = hint
        super().__init__(what)


def lacking(
    missing: Sequence[str], header: Iterable[str], *, expected: str, hint: str
) -> InputError:
    """Return the error about columns that the arithmetic needs and a header lacks."""
    names = list(header)
    return InputError(
        f"the export lacks the column {', '.join(missing)}",
        expected=expected,
        got=f"{len(names)} columns: {', '.join(names[:8])}, ...",
        hint=hint,
    )


def doubled(name: str, columns: Sequence[str], *, hint: str) -> InputError:
    """Return the error about columns that all bear one name, so that none can be chosen."""
    return InputError(
        f"two columns are both {name}",
        expected="one column of that name",
        got=", ".join(columns),
        hint=hint,
    )
