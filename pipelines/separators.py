"""CSV with semicolons or decimal commas, as spreadsheets of some languages write it."""

import csv
from collections.abc import Iterable, Sequence

from transforms.errors import InputError

EXPECTED = "',' between columns and '.' in numbers"


def refuse_semicolons(header: Sequence[str], where: str) -> None:
    """Raise InputError about a header that is one column, because semicolons divide it."""
    if len(header) == 1 and ";" in header[0]:
        raise InputError(
            "semicolons between the columns",
            where=where,
            expected=EXPECTED,
            got=header[0],
            hint="write it again so; what a spreadsheet puts there follows its language",
        )


def refuse_longer_rows(lines: Iterable[str], columns: int, where: str) -> None:
    """Raise InputError about the first row that has more cells than the header."""
    for number, cells in enumerate(csv.reader(lines), start=1):
        if len(cells) > columns:
            raise InputError(
                "a row is longer than the header",
                where=f"{where}, row {number}",
                expected=f"{columns} cells; {EXPECTED}",
                got=f"{len(cells)}: {', '.join(cells)}",
                hint="text with a comma stands in quotes",
            )
