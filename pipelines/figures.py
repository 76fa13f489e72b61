"""Names, amounts and bars as a terminal shows them.

Names come from tags and labels that tenants write, so they are hostile text: control characters
are taken out, width is limited, and they never pass through rich's markup.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_FLOOR, ROUND_HALF_EVEN, Decimal

from rich.text import Text

WIDEST_NAME = 40
UNITS = ("bytes", "KB", "MB", "GB", "TB")
KILO = 1000
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Look:
    """How a row kind is drawn: in words, in colour, and without either."""

    words: str
    style: str
    block: str
    letter: str
    meaning: str


LOOKS = {
    "workload": Look("workload", "green", "█", "#", "what the pods of the teams cost"),
    "idle": Look("idle", "yellow", "░", ".", "capacity that nobody asked for"),
    "headroom": Look("headroom", "cyan", "▒", "~", "kept free on purpose, for peaks"),
    "system_overhead": Look("system overhead", "blue", "▓", "o", "what nodes and system pods need"),
    "cluster_fee": Look("cluster fee", "magenta", "▄", "$", "control plane and similar fees"),
    "shared": Look("shared", "bright_blue", "▀", "+", "load balancers, network, logs"),
    "unattributed": Look("unattributed", "red", "╱", "?", "nobody can say whose it is"),
}


def clean(text: str | None, width: int = WIDEST_NAME) -> str:
    """Return `text` on one line, without control characters, at most `width` cells wide."""
    short = (text or "")[: 2 * width]
    whole = Text("".join("\N{REPLACEMENT CHARACTER}" if _hides(sign) else sign for sign in short))
    whole.truncate(width, overflow="ellipsis")
    return whole.plain


def _hides(sign: str) -> bool:
    """Return whether a character would move the cursor, turn the line round or be invisible."""
    return unicodedata.category(sign) in {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def rounded(amounts: Iterable[Decimal], places: int) -> list[Decimal]:
    """Round amounts so that they add up to their own rounded sum; zero stays zero.

    Every amount is rounded down, then the units still missing go to the biggest remainders.
    """
    exact, unit = list(amounts), Decimal(1).scaleb(-places)
    shown = [amount.quantize(unit, ROUND_FLOOR) for amount in exact]
    missing = (sum(exact, Decimal(0)).quantize(unit, ROUND_HALF_EVEN) - sum(shown)) / unit
    by_remainder = sorted(range(len(exact)), key=lambda index: shown[index] - exact[index])
    for index in by_remainder[: int(missing)]:
        shown[index] += unit
    return shown


def rounded_to(whole: Decimal, amounts: Iterable[Decimal], places: int) -> list[Decimal]:
    """Round amounts so that they add up to `whole`, which was rounded elsewhere.

    What is left over goes to the largest amount.
    """
    exact = list(amounts)
    shown = rounded(exact, places)
    if exact:
        largest = max(range(len(exact)), key=lambda index: abs(exact[index]))
        shown[largest] += whole - sum(shown)
    return shown


def money(amount: Decimal | None, places: int, style: str = "") -> Text:
    """Return an amount with thousands apart; unknown is a word, and zero steps back."""
    if amount is None:
        return Text(UNKNOWN, style="dim")
    text = f"{amount or Decimal(0):,.{places}f}"
    return Text(text, style=style if amount else "dim")


def percent(part: Decimal | None, whole: Decimal) -> Text:
    """Return `part` of `whole` in percent, or nothing where that has no meaning."""
    if part is None or whole <= 0:
        return Text("")
    return Text(f"{100 * part / whole:.1f} %", style="" if part else "dim")


def bar(kinds: dict[str, Decimal | None], width: int, *, ascii_only: bool) -> Text:
    """Return the kinds as one line of blocks; what is negative or unknown has no block."""
    if width == 0:
        return Text()
    drawn = {kind: amount for kind, amount in kinds.items() if amount is not None and amount > 0}
    text = Text()
    for kind, cells in zip(drawn, _cells(list(drawn.values()), width), strict=True):
        text.append(sign(kind, ascii_only=ascii_only) * cells, style=LOOKS[kind].style)
    return text


def sign(kind: str, *, ascii_only: bool) -> str:
    """Return the character that stands for a row kind."""
    return LOOKS[kind].letter if ascii_only else LOOKS[kind].block


def _cells(parts: Sequence[Decimal], width: int) -> list[int]:
    """Share out `width` cells, at least one each, the rest by largest remainder."""
    spare, total = max(width - len(parts), 0), sum(parts)
    exact = [spare * part / total for part in parts]
    cells = [1 + int(share) for share in exact]
    by_remainder = sorted(range(len(parts)), key=lambda index: -(exact[index] % 1))
    for index in by_remainder[: len(parts) + spare - sum(cells)]:
        cells[index] += 1
    return cells


def of_files(files: int, size: int, written: datetime, now: datetime) -> str:
    """Return how many files there are, how big where that is known, and how old."""
    days = max((now - written).days, 0)
    moment = f"written {written:%Y-%m-%d %H:%M} UTC, {count(days, 'day')} old"
    return ", ".join([count(files, "file"), *([bytes_of(size)] if size else []), moment])


def count(number: int, thing: str) -> str:
    """Return a number of things."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def bytes_of(number: int) -> str:
    """Return a number of bytes as a person reads it."""
    size, unit = float(number), 0
    while size >= KILO and unit < len(UNITS) - 1:
        size, unit = size / KILO, unit + 1
    return f"{size:.1f} {UNITS[unit]}" if unit else f"{number} bytes"
