"""What `leerlauf check` says of a source: where it lies, its cost view, files and currency."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from connectors.base import Progress
from connectors.errors import DeliveryError
from pipelines import doctor_places, figures
from pipelines.checked import AN_ERROR, Checked, Status
from pipelines.config import Config
from pipelines.errors import WRONG_USE, LeerlaufError, Problem
from pipelines.fetching import Fetched, context_of, copy
from pipelines.lake import Lake
from pipelines.providers import PROVIDERS
from pipelines.slicing import slice_source
from pipelines.sources import Source
from transforms.errors import InputError
from transforms.sliced import Sliced

TOLD_ELSEWHERE = ("second_currency", "split_coverage")
"""Findings of the transforms that have a check of their own."""


def examine_source(
    source: Source, config: Config, month: str, lake: Lake, now: datetime, copying: Progress
) -> tuple[list[Checked], Sliced | None]:
    """Return the answers about a source, and its slices where it can be sliced.

    The caller holds the lake; nothing is written but raw copies and the cache.
    """
    answers = [*doctor_places.folders(source), _view(source, config, month)]
    if any(answer.check.endswith("location") and answer.status == "error" for answer in answers):
        return answers, None
    told, found = doctor_places.deliveries(source, month, now)
    answers += told
    if not found:
        return answers, None
    try:
        fetched = copy(found, source, config, month, lake, copying)
        sliced = slice_source(fetched.provider, fetched.files, fetched.context, lake.path / "cache")
    except (DeliveryError, InputError, LeerlaufError) as error:
        return [*answers, doctor_places.problem(source, "files", error)], None
    return [*answers, _files(source, fetched, sliced), *_content(source, sliced)], sliced


def _files(source: Source, fetched: Fetched, sliced: Sliced) -> Checked:
    return Checked(
        check="files",
        status="ok",
        actual=f"{figures.count(len(fetched.files), 'file')}, {sliced.slices.height} rows of a day",
        expected="files with the needed columns",
        provider=source.provider,
        source=source.id,
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
# Content
# ---------------------------------------------------------------------------------------------


def _content(source: Source, sliced: Sliced) -> Iterator[Checked]:
    yield from _currency(source, sliced)
    yield from _findings(sliced)


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
    """Yield what the transform says of the month, but for what has a check of its own."""
    told = sliced.findings.to_dicts()
    yield from of_findings([row for row in told if row["rule"] not in TOLD_ELSEWHERE])


def of_findings(rows: Sequence[Mapping[str, str | None]]) -> Iterator[Checked]:
    """Yield errors and warnings among finding rows as answers, the worst first."""
    severities: tuple[Status, ...] = ("error", "warning")
    for severity in severities:
        for row in rows:
            if row["severity"] == severity:
                where = f"{row['where']}: " if row["where"] else ""
                yield Checked(
                    check=row["rule"] or "",
                    status=severity,
                    actual=where + (row["actual"] or row["difference"] or "see the hint"),
                    expected=row["expected"],
                    hint=row["hint"],
                    provider=row["provider"],
                    source=row["source"],
                    cluster_id=row["cluster_id"],
                    exit_code=AN_ERROR if severity == "error" else 0,
                )


def of_problem(check: str, error: Problem) -> Checked:
    """Return what a run would end with, where no source is at fault, as an answer."""
    return Checked(
        check=check,
        status="error",
        actual=": ".join(part for part in (error.where, error.what, error.got) if part),
        expected=error.expected or None,
        hint=error.hint or None,
        exit_code=error.exit_code,
    )
