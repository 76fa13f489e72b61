"""Answers of the cost-analysis agent in the cluster: fractions of each resource's cost.

Two forms: the agent's own JSON, and the CSV file a day that Microsoft's example writes from it.
Nobody promises the case of their keys.
"""

import datetime as dt
import json
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from transforms.azure import dates
from transforms.azure.answers import Share, a_list, an_object, lowered, number, text
from transforms.azure.codes import AGENT_BUCKETS, AGENT_CATEGORY
from transforms.errors import InputError

_COLUMNS = ("date", "id", "kind", "fraction", "splitbucket", "splitkey")
_LABEL = "label_"


def is_answer(document: Mapping[str, Any]) -> bool:
    """Say whether a JSON object is an answer of the agent."""
    return "resources" in lowered(document)


def shares(document: Mapping[str, Any]) -> list[Share]:
    """Return the splits of one answer. The day is not in it."""
    listed = a_list(lowered(document)["resources"], "Resources of an answer")
    resources = [lowered(an_object(found, "a resource of an answer")) for found in listed]
    return [
        _share(None, resource, lowered(an_object(split, "a split of an answer")))
        for resource in resources
        for split in a_list(resource.get("splits"), "Splits of an answer")
    ]


def is_table(columns: Iterable[str]) -> bool:
    """Say whether a CSV header is that of the agent's daily file."""
    return set(_COLUMNS) <= set(map(_plain, columns))


def shares_of_table(table: pl.DataFrame) -> list[Share]:
    """Return the splits of a daily CSV file: one row a split, all columns text."""
    names = [_plain(name) for name in table.columns]
    twice = [name for name in _COLUMNS if names.count(name) > 1]
    if twice:
        raise InputError(
            f"a split file has twice the column {', '.join(twice)}",
            expected="each column once",
            got=", ".join(table.columns),
            hint="use the file as the exporter wrote it",
        )
    found = {name: table.columns[names.index(name)] for name in _COLUMNS}
    named = table.select(pl.col(raw).alias(name) for name, raw in found.items())
    form = dates.form_of(named.get_column("date").drop_nulls().unique())
    days = named.with_columns(dates.day(pl.col("date"), pl.String(), form))
    return [_share(row["date"], row, row | {"splitkey": _key(row)}) for row in days.to_dicts()]


def _share(day: dt.date | None, resource: Mapping[str, Any], split: Mapping[str, Any]) -> Share:
    written = an_object(split.get("splitkey") or {}, "a SplitKey of an answer")
    key = {name: text(value) for name, value in lowered(written).items()}
    word = text(split.get("splitbucket"))
    bucket = str(word).lower()
    kind = text(resource.get("kind"))
    known = bucket if bucket in AGENT_BUCKETS else None
    nobody = known == "usage" and not key.get("namespace")
    return Share(
        source="agent",
        day=day,
        target=text(resource.get("id")) or "",
        category=AGENT_CATEGORY.get(str(kind).lower(), kind),
        bucket="unallocated" if nobody else known,
        provider_class=word,
        namespace=key.get("namespace"),
        workload_kind=key.get("object_kind"),
        workload_name=key.get("object_name"),
        currency=None,
        amount=number(split.get("fraction"), "fraction"),
        labels={name.removeprefix(_LABEL): value for name, value in key.items() if value},
    )


def _key(row: Mapping[str, Any]) -> dict[str, Any]:
    written = row["splitkey"] or "{}"
    try:
        found = json.loads(written)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InputError(
            "a SplitKey of a split file is no JSON object",
            expected='{"namespace": "...", ...} or {}',
            got=written[:80],
            hint="use the file as the exporter wrote it",
        )
    return found


def _plain(header: str) -> str:
    return header.strip('\ufeff" ').lower()
