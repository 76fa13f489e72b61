"""Days as Azure writes them. The form is that of the whole file, and it is never guessed.

`10/11/2026` is 11 October: Azure writes the month first, in whatever country. Newer files and
FOCUS write `2026-10-11`, with or without a time, which is UTC.
"""

import datetime as dt
import re
from collections.abc import Iterable

import polars as pl

from transforms.errors import InputError

_FORMS = {
    "MM/DD/YYYY": (re.compile(r"\d\d/\d\d/\d{4}"), "%m/%d/%Y"),
    "YYYY-MM-DD": (
        re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|\+00:?00)?)?"),
        "%Y-%m-%d",
    ),
}
_LENGTH = 10
ISO = "YYYY-MM-DD"


def form_of(values: Iterable[str]) -> str:
    """Return the one form all dates of a file have; the ISO one where there are none.

    Raises InputError where a value is no date, or where two forms are mixed.
    """
    found: dict[str, str] = {}
    for value in sorted(values):
        form = next((name for name in _FORMS if _is_date(value, name)), None)
        if form is None:
            raise _refused("a value is no date", repr(value))
        found.setdefault(form, value)
    if len(found) > 1:
        raise _refused("two forms of dates are mixed in one file", " and ".join(found.values()))
    return next(iter(found), ISO)


def day(value: pl.Expr, dtype: pl.DataType, form: str) -> pl.Expr:
    """Return the UTC day of a column: text in `form`, a day, or a time."""
    if dtype == pl.String:
        text = value.str.slice(0, _LENGTH)
        return text.replace("", None).str.to_date(_FORMS[form][1])
    if isinstance(dtype, pl.Datetime) and dtype.time_zone:
        value = value.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    return value.cast(pl.Date)


def _is_date(value: str, form: str) -> bool:
    pattern, written = _FORMS[form]
    if not pattern.fullmatch(value):
        return False
    try:
        dt.datetime.strptime(value[:_LENGTH], written)  # noqa: DTZ007 a day has no zone
    except ValueError:
        return False
    return True


def _refused(what: str, got: str) -> InputError:
    return InputError(
        what,
        expected=f"one form in the whole file, {' or '.join(_FORMS)}",
        got=got,
        hint="use the file as Azure wrote it, not one that a spreadsheet has saved",
    )
