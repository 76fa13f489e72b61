"""What `leerlauf check` says of where a source lies: its place, its settings, its deliveries."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from connectors.base import Delivery, ExportSource, Inspected
from connectors.errors import DeliveryError
from pipelines import figures
from pipelines.checked import OK, Checked
from pipelines.errors import WRONG_USE, Problem
from pipelines.fetching import Found, export_of, find, find_split
from pipelines.guides import guide
from pipelines.periods import next_month
from pipelines.providers import PROVIDERS
from pipelines.sources import Source, is_remote

PARTS = ("check", "status", "actual", "expected", "hint", "exit_code")
Inspect = Callable[[ExportSource, str], Sequence[Inspected]]


def folders(source: Source) -> Iterator[Checked]:
    """Yield whether the folders are there; of a remote place only its connector knows."""
    if not is_remote(source.location):
        yield _folder(source, "location", source.location, "the export")
    if source.split_location is not None and not is_remote(source.split_location):
        yield _folder(source, "split_location", source.split_location, "the saved answers")


def deliveries(source: Source, month: str, now: datetime) -> tuple[list[Checked], list[Found]]:
    """Return the answers about the deliveries of a month, and those to be copied.

    There is nothing to be copied where the bill cannot be found.
    """
    try:
        bill = find(source, month)
    except DeliveryError as error:
        return [problem(source, "delivery", error), *_inspected(source, month)], []
    answers = [_reached(source)] if is_remote(source.location) else []
    answers += [_delivery(source, bill.deliveries, now), *_inspected(source, month)]
    if not PROVIDERS[source.provider].splits:
        return answers, [bill]
    try:
        split = find_split(source, month)
    except DeliveryError as error:
        return [*answers, problem(source, "split_files", error)], [bill]
    found = [bill] if split is None else [bill, split]
    return [*answers, _splits(source, split, month, now)], found


def problem(source: Source, check: str, error: Problem) -> Checked:
    """Return an error of the layers below as an answer."""
    told = ": ".join(part for part in (error.where, error.what, error.got) if part)
    return _say(
        source,
        check=check,
        status="error",
        actual=told.replace(os.linesep, "; "),
        expected=error.expected or None,
        hint=error.hint or None,
        exit_code=error.exit_code,
    )


# ---------------------------------------------------------------------------------------------
# Places
# ---------------------------------------------------------------------------------------------


def _folder(source: Source, key: str, place: str, what: str) -> Checked:
    there = Path(place).is_dir()
    return _say(
        source,
        check=key,
        status="ok" if there else "error",
        actual=place if there else f"{place}: no such folder",
        expected=f"a folder with {what}",
        hint=None if there else f"correct `{key}` of the source, or copy {what} there",
        exit_code=OK if there else WRONG_USE,
    )


def _reached(source: Source) -> Checked:
    return _say(
        source,
        check="location",
        status="ok",
        actual=f"{source.location}: reached, and it lists what it has",
        expected="a place that can be read with the credentials at hand",
    )


def _inspected(source: Source, month: str) -> Iterator[Checked]:
    """Yield what the connector says of the settings, where it can ask for them."""
    inspect: Inspect | None = getattr(PROVIDERS[source.provider].connector, "inspect", None)
    if inspect is None:
        return
    try:
        answers = inspect(export_of(source), month)
    except ImportError:  # what is not installed, `delivery` has told
        return
    except DeliveryError as error:
        told = problem(source, "settings", error)
        yield _say(source, **_parts(told) | {"status": "warning", "exit_code": OK})
        return
    for answer in answers:
        yield _say(source, **_parts(answer))


def _parts(answer: Checked | Inspected) -> dict[str, Any]:
    return {name: value for name, value in asdict(answer).items() if name in PARTS}


def _say(source: Source, **parts: Any) -> Checked:
    return Checked(provider=source.provider, source=source.id, **parts)


# ---------------------------------------------------------------------------------------------
# Deliveries
# ---------------------------------------------------------------------------------------------


def _delivery(source: Source, found: Sequence[Delivery], now: datetime) -> Checked:
    newest, *older = found
    ended = datetime.combine(next_month(newest.month), time(), UTC)
    early = _written(newest) < ended <= now
    return _say(
        source,
        check="delivery",
        status="warning" if early else "ok",
        actual=_told(newest, now) + (f"; {len(older)} older" if older else ""),
        expected=f"a delivery written after the end of {newest.month}"
        if ended <= now
        else f"a delivery of {newest.month}, which has not ended",
        hint="fetch the month again: days at its end may be missing" if early else None,
    )


def _splits(source: Source, found: Found | None, month: str, now: datetime) -> Checked:
    """Say whether somebody splits the cost of the clusters, where the export does not."""
    named = " and ".join(source.splits)
    return _say(
        source,
        check="split_files",
        status="ok" if found else "warning",
        actual=f"{named}: {_told(found.deliveries[0], now)}" if found else f"no file of {month}",
        expected="the split of every cluster and day",
        hint=None if found else guide(source.provider).STEPS["split_coverage"],
    )


def _told(delivery: Delivery, now: datetime) -> str:
    size = sum(file.size for file in delivery.files)
    return figures.of_files(len(delivery.files), size, _written(delivery), now)


def _written(delivery: Delivery) -> datetime:
    return max(file.modified for file in delivery.everything)
