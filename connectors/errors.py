"""The one error a connector raises."""

WRONG_USE = 2
UNREADABLE = 3


class DeliveryError(Exception):
    """A delivery that cannot be found or fetched. The five parts of a message, as everywhere.

    `exit_code` is 2 where the person asked for something that is not there (no such folder, no
    files of the month) and 3 where something is there but damaged or out of reach.
    """

    def __init__(
        self,
        what: str,
        *,
        exit_code: int,
        where: str = "",
        expected: str = "",
        got: str = "",
        hint: str = "",
    ) -> None:
        self.what = what
        self.where = where
        self.expected = expected
        self.got = got
        self.hint = hint
        self.exit_code = exit_code
        super().__init__(what)
