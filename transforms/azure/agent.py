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
from transforms.azure.answers import Share, lowered, number, text
from transforms.azure.codes import AGENT_BUCKETS, AGENT_CATEGORY
from transforms.errors import InputError

_COLUMNS = ("date", "id", "kind", "fraction", "splitbucket", "splitkey")
_LABEL = "label_"


def is_answer(document: Mapping[str, Any]) -> bool:
    """Say whether a JSON object is an answer of the agent."""
    return "resources" in lowered(document)


def shares(document: Mapping[str, Any]) -> list[Share]:
    """Return the splits of one answer. The day is not in it."""
    resources = map(lowered, lowered(document)["resources"] or ())
    return [
        _share(None, resource, lowered(split))
        for resource in resources
        for split in resource.get("splits") or ()
    ]


def is_table(columns: Iterable[str]) -> bool:
    """Say whether a CSV header is that of the agent's daily file."""
    return set(_COLUMNS) <= {name.strip("\ufeff").lower() for name in columns}


def shares_of_table(table: pl.DataFrame) -> list[Share]:
    """Return the splits of a daily CSV file: one row a split, all columns text."""
    named = table.rename(lambda name: name.strip("\ufeff").lower()).select(_COLUMNS)
    form = dates.form_of(named.get_column("date").drop_nulls().unique())
    days = named.with_columns(dates.day(pl.col("date"), pl.String(), form))
    return [_share(row["date"], row, row | {"splitkey": _key(row)}) for row in days.to_dicts()]


def _share(day: dt.date | None, resource: Mapping[str, Any], split: Mapping[str, Any]) -> Share:
    key = {name: text(value) for name, value in lowered(split.get("splitkey") or {}).items()}
    word = text(split.get("splitbucket"))
    bucket = str(word).lower()
    kind = text(resource.get("kind"))
    known = bucket if bucket in AGENT_BUCKETS else None
    nobody = known == "usage" and not key.get("namespace")
    return Share(
        source="agent",
        day=day,
        target=str(resource.get("id") or "").lower(),
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
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(
            "a SplitKey of a split file is no JSON object",
            expected='{"namespace": "...", ...} or {}',
            got=written[:80],
        )
    return found
