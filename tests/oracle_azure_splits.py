"""The oracle's reading of split files: answers of the query and of the cost-analysis agent.

Choices where the contract leaves room:

* Files count in the order of their paths. A file that repeats a key of an earlier one for a
  cluster and day replaces all of that cluster and day; else it is another page.
* The dates of a file are those in its name, else those of the nearest folder that has any.
"""

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.oracle_slices import rounded

PSEUDO = {
    "#idle charges#": "idle",
    "#system charges#": "system",
    "#unallocated charges#": "unallocated",
    "#service charges#": "service",
}
_FILE = re.compile(r"\.(json|csv)(\.gz)?$")
_DATE = re.compile(r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?!\d)")


@dataclass(frozen=True, eq=False)
class Part:
    """One row of an answer: `weight` is money (query) or a fraction (agent).

    `owner` is the cluster (query) or the resource (agent), in lower case; `category` is Compute,
    Storage, Networking or Service, or the agent's word for it. `bucket` is usage, idle, system,
    unallocated, service or an unknown word.
    """

    source: str
    owner: str
    days: tuple[date, ...]
    category: str
    bucket: str
    namespace: str | None
    weight: Fraction
    currency: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    controller: str = ""

    def key(self) -> tuple[Any, ...]:
        """Return what a page of the same answer never repeats."""
        return self.owner, self.category, self.bucket, self.namespace, self.controller


Answers = Mapping[tuple[str, str, date], Sequence[Part]]
"""Parts by source, cluster and day."""


def answers(location: Path, month: str, cluster_of: Callable[[str], str | None]) -> Answers:
    """Return all splits of a month; `cluster_of` gives the cluster of a resource."""
    found: dict[tuple[str, str, date], list[Part]] = {}
    for file in sorted(path for path in location.rglob("*") if _FILE.search(path.name)):
        if "manifest" not in file.name:
            for key, parts in _by_day(read(file, location, month), cluster_of).items():
                known = {part.key() for part in found.get(key, [])}
                repeats = any(part.key() in known for part in parts)
                found[key] = parts if repeats else [*found.get(key, []), *parts]
    return found


def _by_day(
    parts: Sequence[Part], cluster_of: Callable[[str], str | None]
) -> dict[tuple[str, str, date], list[Part]]:
    found: dict[tuple[str, str, date], list[Part]] = {}
    for part in parts:
        cluster = part.owner if part.source == "query" else cluster_of(part.owner)
        for day in part.days if cluster else ():
            found.setdefault((part.source, str(cluster), day), []).append(part)
    return found


def read(file: Path, location: Path, month: str) -> list[Part]:
    """Return the parts of one file."""
    opened = gzip.open if file.suffix == ".gz" else open
    with opened(file, "rt", encoding="utf-8-sig", newline="") as stream:
        text = stream.read()
    days = _days(file.relative_to(location), month)
    if ".csv" in file.suffixes:
        lines = csv.DictReader(io.StringIO(text))
        return [_agent({"id": line["ID"], "kind": line["Kind"]}, line, days) for line in lines]
    document = _lower(json.loads(text, parse_float=Decimal))
    if "resources" in document:
        return [
            _agent(resource, split, days)
            for resource in document["resources"]
            for split in resource.get("splits") or []
        ]
    answer = document.get("properties", document)
    if "columns" not in answer:
        raise ValueError(f"{file}: no answer: {document}")
    names = [column["name"].lower() for column in answer["columns"]]
    return [_query(dict(zip(names, row, strict=True)), days) for row in answer["rows"]]


def _lower(value: Any) -> Any:
    """Put the keys of objects in lower case, except those of labels."""
    if isinstance(value, list):
        return [_lower(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        key.lower(): one if key.lower() == "splitkey" else _lower(one) for key, one in value.items()
    }


def _query(row: Mapping[str, Any], days: tuple[date, ...]) -> Part:
    namespace = str(row["namespace"])
    bucket = "usage"
    if namespace.startswith("#"):
        bucket = PSEUDO.get(namespace.lower(), namespace)
    return Part(
        source="query",
        owner=row["cluster"].lower().rstrip("/"),
        days=tuple(_dates(str(row["usagedate"]))) if row.get("usagedate") else days,
        category=row["servicecategory"],
        bucket=bucket,
        namespace=namespace if bucket == "usage" else None,
        weight=rounded(Fraction(row["cost"])),
        currency=row["currency"],
    )


def _agent(resource: Mapping[str, Any], split: Mapping[str, Any], days: tuple[date, ...]) -> Part:
    named = {key.lower(): value for key, value in split.items()}
    key = named.get("splitkey") or {}
    key = json.loads(key) if isinstance(key, str) else key
    own = ((name[6:], text) for name, text in key.items() if name.startswith("label_"))
    return Part(
        source="agent",
        owner=resource["id"].lower().rstrip("/"),
        days=tuple(_dates(named["date"])) if named.get("date") else days,
        category=str(resource.get("kind") or "").lower(),
        bucket=named["splitbucket"].lower(),
        namespace=key.get("namespace"),
        weight=Fraction(Decimal(named["fraction"])),
        labels=tuple(sorted(own)),
        controller=json.dumps(key, sort_keys=True),
    )


def _dates(text: str) -> Iterator[date]:
    for year, month, day in _DATE.findall(text):
        yield date(int(year), int(month), int(day))


def _days(path: Path, month: str) -> tuple[date, ...]:
    """Return the days a file is about: one, from the first to the second, or the whole month."""
    for part in reversed(path.parts):
        dates = sorted(_dates(part))
        if dates:
            return _from_to(dates[0], dates[-1])
    first = date.fromisoformat(f"{month}-01")
    next_month = (first + timedelta(days=31)).replace(day=1)
    return _from_to(first, next_month - timedelta(days=1))


def _from_to(first: date, last: date) -> tuple[date, ...]:
    return tuple(first + timedelta(days=n) for n in range((last - first).days + 1))
