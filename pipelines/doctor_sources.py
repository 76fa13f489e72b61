"""What `leerlauf check` says of a source: its location, its delivery, its files, its currency."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, time
from functools import partial
from pathlib import Path

from connectors.base import Delivery
from connectors.errors import DeliveryError
from pipelines.checked import AN_ERROR, Checked, Status
from pipelines.config import Config
from pipelines.errors import WRONG_USE, LeerlaufError
from pipelines.fetching import context_of, export_of, fetch, split_of
from pipelines.guides import guide
from pipelines.lake import Lake
from pipelines.periods import next_month
from pipelines.providers import PROVIDERS
from pipelines.slicing import slice_source
from pipelines.sources import Source, is_remote
from transforms.errors import InputError
from transforms.sliced import Sliced

TOLD_ELSEWHERE = ("second_currency", "split_coverage")
"""Findings of the transforms that have a check of their own."""

UNITS = ("bytes", "KB", "MB", "GB", "TB")
KILO = 1000


def examine_source(
    source: Source, config: Config, month: str, lake: Lake, now: datetime
) -> tuple[list[Checked], Sliced | None]:
    """Return the answers about a source, and its slices where it can be sliced.

    The caller holds the lake; nothing is written but raw copies and the cache.
    """
    answers = [*_location(source), _view(source, config, month)]
    if any(answer.check.endswith("location") and answer.status == "error" for answer in answers):
        return answers, None
    say = partial(Checked, provider=source.provider, source=source.id)
    try:
        answers += _deliveries(source, month, now)
        fetched = fetch(source, config, month, lake)
    except DeliveryError as error:
        return [*answers, _problem(source, "delivery", error)], None
    try:
        sliced = slice_source(fetched.provider, fetched.files, fetched.context, lake.path / "cache")
    except (InputError, LeerlaufError) as error:
        return [*answers, _problem(source, "files", error)], None
    count = f"{_count(len(fetched.files))}, {sliced.slices.height} rows of a day"
    answers.append(say("files", "ok", count, "files with the needed columns"))
    return [*answers, *_currency(source, sliced), *_findings(sliced)], sliced


def _location(source: Source) -> Iterator[Checked]:
    """Yield whether the folders are there; of a remote place only its connector knows."""
    yield _folder(source, "location", source.location, "the export")
    if source.split_location is not None:
        yield _folder(source, "split_location", source.split_location, "the saved answers")


def _folder(source: Source, key: str, place: str, what: str) -> Checked:
    there = is_remote(place) or Path(place).is_dir()
    return Checked(
        check=key,
        status="ok" if there else "error",
        actual=place if there else f"{place}: no such folder",
        expected=f"a folder with {what}",
        hint=None if there else f"correct `{key}` of the source, or copy {what} there",
        provider=source.provider,
        source=source.id,
        exit_code=0 if there else WRONG_USE,
    )


def _view(source: Source, config: Config, month: str) -> Checked:
    provider, view = PROVIDERS[source.provider], config.report.cost_view
    views = provider.transform.views(context_of(source, config, month))
    has, held = view in views, " and ".join(views)
    hint = f'set cost_view = "{views[0]}" under [report], or give this source its {view} cost'
    hint += f'; or correct metric = "{source.metric}"' if source.metric else ""
    return Checked(
        check="cost_view",
        status="ok" if has else "error",
        actual=held if has else f"no {view} cost: it holds {held} cost only",
        expected=view,
        hint=None if has else hint,
        provider=source.provider,
        source=source.id,
        exit_code=0 if has else WRONG_USE,
    )


# ---------------------------------------------------------------------------------------------
# Deliveries
# ---------------------------------------------------------------------------------------------


def _deliveries(source: Source, month: str, now: datetime) -> Iterator[Checked]:
    provider = PROVIDERS[source.provider]
    newest, *older = provider.connector.discover(export_of(source), month)
    yield _delivery(source, newest, len(older), now)
    if provider.splits:
        yield _splits(source, month, now)


def _delivery(source: Source, newest: Delivery, older: int, now: datetime) -> Checked:
    ended = datetime.combine(next_month(newest.month), time(), UTC)
    early = _written(newest) < ended <= now
    told = _told(newest, now) + (f"; {older} older" if older else "")
    return Checked(
        check="delivery",
        status="warning" if early else "ok",
        actual=told,
        expected=f"a delivery written after the end of {newest.month}"
        if ended <= now
        else f"a delivery of {newest.month}, which has not ended",
        hint="fetch the month again: days at its end may be missing" if early else None,
        provider=source.provider,
        source=source.id,
    )


def _splits(source: Source, month: str, now: datetime) -> Checked:
    """Say whether somebody splits the cost of the clusters, where the export does not."""
    provider, apart = PROVIDERS[source.provider], split_of(source)
    found = provider.split_connector.discover_splits(apart, month) if apart is not None else None
    named = " and ".join(source.splits)
    return Checked(
        check="split_files",
        status="ok" if found else "warning",
        actual=f"{named}: {_told(found, now)}" if found else f"no file of {month}",
        expected="the split of every cluster and day",
        hint=None if found else guide(source.provider).STEPS["split_coverage"],
        provider=source.provider,
        source=source.id,
    )


def _told(delivery: Delivery, now: datetime) -> str:
    written = _written(delivery)
    days = max((now - written).days, 0)
    size = _size(sum(file.size for file in delivery.files))
    age = f"{days} day{'' if days == 1 else 's'} old"
    return f"{_count(len(delivery.files))}, {size}, written {written:%Y-%m-%d %H:%M} UTC, {age}"


def _count(files: int) -> str:
    return "1 file" if files == 1 else f"{files} files"


def _written(delivery: Delivery) -> datetime:
    return max(file.modified for file in delivery.everything)


def _size(number: int) -> str:
    """Return a number of bytes as a person reads it."""
    size, unit = float(number), 0
    while size >= KILO and unit < len(UNITS) - 1:
        size, unit = size / KILO, unit + 1
    return f"{size:.1f} {UNITS[unit]}" if unit else f"{number} bytes"


# ---------------------------------------------------------------------------------------------
# Content
# ---------------------------------------------------------------------------------------------


def _currency(source: Source, sliced: Sliced) -> Iterator[Checked]:
    found = sorted(sliced.slices.get_column("billing_currency").unique())
    promised = source.currency
    as_promised = found == [promised]
    hint = "amounts are kept apart and never added; give each currency its own source"
    if not as_promised and promised is None and len(found) == 1:
        hint = f'write currency = "{found[0]}" to be told when another one appears'
    wrong = len(found) > 1 or (promised is not None and not as_promised)
    status: Status = "error" if wrong else "ok" if as_promised else "warning"
    yield Checked(
        check="currency",
        status=status,
        actual=" and ".join(found),
        expected=promised or "one currency, and `currency` to promise it",
        hint=None if as_promised else hint,
        provider=source.provider,
        source=source.id,
        billing_currency=found[0] if len(found) == 1 else None,
        exit_code=AN_ERROR if wrong else 0,
    )


def _findings(sliced: Sliced) -> Iterator[Checked]:
    """Yield what the transform says of the month: errors and warnings, the worst first."""
    wanted = [row for row in sliced.findings.to_dicts() if row["rule"] not in TOLD_ELSEWHERE]
    severities: tuple[Status, ...] = ("error", "warning")
    for severity in severities:
        for row in wanted:
            if row["severity"] == severity:
                where = f"{row['where']}: " if row["where"] else ""
                yield Checked(
                    check=row["rule"],
                    status=severity,
                    actual=where + (row["actual"] or row["difference"] or "see the hint"),
                    expected=row["expected"],
                    hint=row["hint"],
                    provider=row["provider"],
                    source=row["source"],
                    cluster_id=row["cluster_id"],
                    exit_code=AN_ERROR if severity == "error" else 0,
                )


def _problem(
    source: Source, check: str, error: DeliveryError | InputError | LeerlaufError
) -> Checked:
    """Return an error of the layers below as an answer."""
    told = ": ".join(part for part in (error.where, error.what, error.got) if part)
    return Checked(
        check=check,
        status="error",
        actual=told.replace(os.linesep, "; "),
        expected=error.expected or None,
        hint=error.hint or None,
        provider=source.provider,
        source=source.id,
        exit_code=error.exit_code,
    )
