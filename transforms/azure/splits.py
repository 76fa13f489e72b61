"""Split files, whatever source they come from: the part `splits`, and the days it is about."""

import calendar
import datetime as dt
import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from transforms.azure import agent, query
from transforms.azure.answers import Share, documents, frame_of
from transforms.errors import InputError
from transforms.schema import DAY
from transforms.sliced import Context

_DATE = re.compile(r"(?<!\d)(20\d\d)(-?)(\d\d)\2(\d\d)(?!\d)")
_FOLDERS = re.compile(
    r"(?<![^/])(?:y(?:ear)?=)?(20\d\d)/(?:m(?:onth)?=)?(\d\d)/(?:d(?:ay)?=)?(\d\d)/"
)
_EDGES = 2


def slice_split(raw: pl.LazyFrame, context: Context) -> dict[str, pl.LazyFrame]:
    """Return the part `splits` of one split file; its columns are in `answers.SPLITS`.

    raw: JSON as one column `line`, or the columns of the agent's daily CSV as text.
    Raises InputError where the file is neither, or holds an error instead of an answer.
    """
    table = raw.collect()
    if table.columns == ["line"]:
        lines = table.get_column("line").fill_null("")
        shares = [share for found in documents("\n".join(lines)) for share in _shares(found)]
    elif agent.is_table(table.columns):
        shares = agent.shares_of_table(table)
    else:
        raise _unknown(", ".join(table.columns))
    return {"splits": frame_of(shares, context.labels).lazy()}


def with_days(splits: pl.DataFrame, period: str) -> tuple[pl.DataFrame, list[str]]:
    """Add `first_day` and `last_day`, the days each row is about; return the files that told none.

    A row's own day counts, else the dates in the file's name, else those in its folders: one is
    that day, two are the first and the last. A file that tells no day is about the whole month.
    """
    undated = splits.filter(pl.col("day").is_null()).get_column("source_file").unique().sort()
    known = [(name, days_in(name)) for name in undated]
    whole = _month(period)
    spans = pl.DataFrame(
        [(name, *(days or whole)) for name, days in known],
        schema={"source_file": pl.String, "__first": DAY, "__last": DAY},
        orient="row",
    )
    dated = splits.join(spans, on="source_file", how="left", maintain_order="left").with_columns(
        first_day=pl.coalesce("day", "__first"), last_day=pl.coalesce("day", "__last")
    )
    return dated.drop("__first", "__last"), [name for name, days in known if days is None]


def days_in(name: str) -> tuple[dt.date, dt.date] | None:
    """Return the first and the last day a path names; None where it names none.

    The innermost name with a date counts; folders of year, month and day are one name.
    Raises InputError where it has more than two, or the later one first.
    """
    for part in reversed(_FOLDERS.sub(r"\1-\2-\3/", name).split("/")):
        found = list(dict.fromkeys(day for match in _DATE.finditer(part) if (day := _day(match))))
        if len(found) > _EDGES or found != sorted(found):
            raise InputError(
                "the days of a split file cannot be told from its name",
                where=name,
                expected="one date, or the first and the last day",
                got=", ".join(map(str, found)),
                hint="name the file by its day, such as 2026-10-14.json",
            )
        if found:
            return found[0], found[-1]
    return None


def _shares(document: Mapping[str, Any]) -> list[Share]:
    if agent.is_answer(document):
        return agent.shares(document)
    if query.is_answer(document):
        return query.shares(document)
    raise _unknown(", ".join(document))


def _day(match: re.Match[str]) -> dt.date | None:
    try:
        return dt.date(int(match[1]), int(match[3]), int(match[4]))
    except ValueError:
        return None


def _month(period: str) -> tuple[dt.date, dt.date]:
    first = dt.date.fromisoformat(f"{period}-01")
    return first, first.replace(day=calendar.monthrange(first.year, first.month)[1])


def _unknown(got: str) -> InputError:
    return InputError(
        "a file at split_location is no split",
        expected="an answer of the Kubernetes query (columns, rows), of the cost-analysis agent "
        "(Resources), or the agent's daily CSV",
        got=got[:200] or "nothing",
        hint="keep other files out of split_location",
    )
