"""The days that the name of a file, or of its folders, tells."""

import os
import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path, PurePosixPath

from connectors.base import RemoteFile

_DAY = re.compile(r"(?<!\d)(20\d\d)(-?)(\d\d)\2(\d\d)(?!\d)")
_FOLDERS = re.compile(
    r"(?<![^/])(?:y(?:ear)?=)?(20\d\d)/(?:m(?:onth)?=)?(\d\d)(?:/(?:d(?:ay)?=)?(\d\d))?(?=/)"
)
_MONTH = re.compile(r"(?<!\d)(20\d\d)-?(0[1-9]|1[0-2])(?![0-9A-Za-z])")


def days_of(location: str, file: RemoteFile) -> tuple[date, date] | None:
    """Return the first and the last day that a file's name tells, else its innermost folder.

    2026-10-14 and 20261014 are days, 2026-10 and 202610 all days of a month; folders of year,
    month and day (2026/10/14, year=2026/month=10) are one name; the location's own name counts
    last. None where nothing is told.
    """
    own_name = Path(os.path.realpath(location)).name
    path = _FOLDERS.sub(lambda found: "-".join(filter(None, found.groups())), file.path)
    for name in reversed([own_name, *PurePosixPath(path).parts]):
        if days := sorted(_days(name)) or sorted(_months(name)):
            return days[0], days[-1]
    return None


def month_days(month: str) -> tuple[date, date]:
    """Return the first and the last day of a month (YYYY-MM)."""
    first = date.fromisoformat(f"{month}-01")
    return first, (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _days(name: str) -> Iterator[date]:
    for year, _, month, day in _DAY.findall(name):
        try:
            yield date(int(year), int(month), int(day))
        except ValueError:
            continue


def _months(name: str) -> Iterator[date]:
    """Yield the first and the last day of each month."""
    for year, month in _MONTH.findall(name):
        yield from month_days(f"{year}-{month}")
