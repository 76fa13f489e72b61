"""Billing periods: months written YYYY-MM."""

import re
from datetime import date

from pipelines.errors import ConfigurationError


def parse(text: str, today: date) -> str:
    """Return `text` if it is a month that has begun; `today` is a UTC day.

    Raises ConfigurationError for anything else.
    """
    if not re.fullmatch(r"[0-9]{4}-(0[1-9]|1[0-2])", text) or text < "0001":
        raise ConfigurationError(
            "not a month", where="MONTH", expected="YYYY-MM, such as 2026-10", got=repr(text)
        )
    if first_day(text) > today:
        raise ConfigurationError(
            "a month in the future",
            where="MONTH",
            expected=f"{today:%Y-%m} or earlier",
            got=text,
            hint="A month can be run from its first day on; until it ends it is provisional.",
        )
    return text


def first_day(month: str) -> date:
    """Return the first day of `month`."""
    return date.fromisoformat(f"{month}-01")


def next_month(month: str) -> date:
    """Return the first day after `month`."""
    year, number = int(month[:4]), int(month[5:])
    return date(year + number // 12, number % 12 + 1, 1)


def month_before(month: str) -> str:
    """Return the month before `month`."""
    year, number = int(month[:4]), int(month[5:])
    return f"{year - (number == 1):04}-{(number - 2) % 12 + 1:02}"


def fiscal_year(day: date, start: int) -> tuple[date, date]:
    """Return first day and the day after the last of the fiscal year `day` lies in.

    `start` is the number of the month it starts with.
    """
    year = day.year - (day.month < start)
    return date(year, start, 1), date(year + 1, start, 1)
