"""The one error a transform raises."""


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
