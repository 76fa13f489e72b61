"""Trying again what may succeed the next time.

The providers' own clients do some of this, but none waits as long as the server asked for, and
none goes on in the middle of a body that broke off. So it is done here, and only here.
"""

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from connectors.base import Meter
from connectors.errors import UNREADABLE, DeliveryError

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
PATIENCE = 300.0
"""No server is waited for longer than this, in seconds."""

T = TypeVar("T")


class Transient(Exception):  # noqa: N818
    """Worth another try. `wait` is what the server asked for, in seconds."""

    def __init__(self, cause: str, wait: float | None = None) -> None:
        super().__init__(cause)
        self.cause = cause
        self.wait = wait


class UnansweredError(DeliveryError):
    """Given up: what was asked for may well be there."""


def seconds(asked: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks to wait; None where it says nothing."""
    text = (asked or "").strip()
    if text.isdigit():
        return float(text)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max((moment.astimezone(UTC) - datetime.now(UTC)).total_seconds(), 0.0)


def persist(
    call: Callable[[], T],
    *,
    meter: Meter,
    what: str,
    tries: int = 8,
    sleep: Callable[[float], object] = time.sleep,
) -> T:
    """Return what `call` returns, called again while it raises `Transient`.

    Raise `UnansweredError` (exit code 3) that names `what` and the last cause after `tries`, or
    where the server asks for more patience than there is.
    """
    for attempt in range(tries):
        try:
            return call()
        except Transient as error:
            last = error
        if attempt == tries - 1 or (last.wait or 0) > PATIENCE:
            break
        meter.add(retries=1)
        sleep(_wait(attempt, last.wait))
    raise _given_up(what, attempt + 1, last)


def _wait(attempt: int, asked: float | None) -> float:
    """Return the seconds to wait: as long as asked for, and by chance longer each time."""
    chance = random.uniform(0, min(LONGEST_WAIT, FIRST_WAIT * 2**attempt))  # noqa: S311
    return chance if asked is None else asked + min(chance, 1.0)


def _given_up(what: str, tries: int, last: Transient) -> UnansweredError:
    asked = f"; the server asks to wait {last.wait:.0f} s" if last.wait else ""
    return UnansweredError(
        "the provider's service does not answer",
        exit_code=UNREADABLE,
        where=what,
        expected="an answer",
        got=f"{last.cause} ({tries} {'try' if tries == 1 else 'tries'}){asked}",
        hint="run the command again later: it continues where it stopped",
    )
