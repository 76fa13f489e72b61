"""The oracle's reading of one Azure source: the export is the money, split files only divide it.

`oracle_azure_files` reads the bill, `oracle_azure_splits` the answers; `oracle_azure_charges`
judges what nobody divides, `oracle_azure_parts` divides the rest. A row of another billing month
is `other_period` also where a cost-allocation rule made it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests import oracle_azure_files
from tests.oracle_azure_charges import (
    MANAGED,
    Clusters,
    category,
    fee_kind,
    fixed_kind,
    is_time_based,
    resource_type,
    slice_of,
    tagged_namespace,
    usage_kind,
)
from tests.oracle_azure_files import Row
from tests.oracle_azure_parts import Became, Capacity, Taken, tell_idle
from tests.oracle_azure_splits import Answers, Part, answers
from tests.oracle_slices import Fate, Kind, Read, Slice, labels

VIEWS = {"amortized": ("effective",), "actual": ("billed",), None: ("effective", "billed")}

Day = tuple[str, date]
"""Cluster and day."""


def read(entry: dict[str, Any], folder: Path, month: str) -> Read:
    """Return one month of a source."""
    clusters, views = Clusters.of(entry), VIEWS[entry.get("metric")]
    is_focus = entry["dataset"] == "focus_export"
    rows = oracle_azure_files.read(folder / entry["location"], month, views, focus=is_focus)
    found: Answers = {}
    if "split_location" in entry:
        found = answers(folder / entry["split_location"], month, clusters.of_resource)
    fates = [Fate(_fate(row, month), row.currency, row.amounts) for row in rows]
    inside = [row for row in rows if _fate(row, month) == "sliced"]
    return Read(views, fates, slices(entry, clusters, inside, found))


def _fate(row: Row, month: str) -> str:
    if row.month != month:
        return "other_period"
    return "provider_reallocation" if row.text("rule") else "sliced"


def slices(
    entry: Mapping[str, Any], clusters: Clusters, rows: Iterable[Row], found: Answers
) -> list[Slice]:
    """Return all slices of rows."""
    pieces: list[Slice] = []
    capacity: dict[Day, list[Row]] = defaultdict(list)
    taken: Taken = defaultdict(Fraction)
    for row in rows:
        cluster = clusters.of_row(row)
        piece = _direct(entry["id"], row, cluster)
        if piece is None:
            capacity[str(cluster), row.day].append(row)
            continue
        pieces.append(piece)
        if piece.row_kind == "workload":
            where = (str(cluster), row.day, str(category(row.resource)), str(piece.namespace))
            taken[where] += next(iter(row.amounts.values()))
    became: Became = {}
    for day, same in capacity.items():
        parts = _answer(entry, day, found)
        pieces += Capacity(entry["id"], day[0], same, parts).slices(taken, became)
    tell_idle(became)
    return pieces


def _answer(entry: Mapping[str, Any], day: Day, found: Answers) -> Sequence[Part]:
    """Return what the first split source with rows for a cluster and day says."""
    answered = (found.get((name, *day), ()) for name in entry.get("splits", ()))
    return next((parts for parts in answered if parts), ())


def _direct(source: str, row: Row, cluster: str | None) -> Slice | None:
    """Return the slice of a row that no fraction is applied to."""
    kind: Kind | None = fixed_kind(row, cluster)
    namespace = None
    if kind is None and resource_type(row.resource) == MANAGED:
        kind = fee_kind(row)
    if kind is None and (namespace := tagged_namespace(row)):
        what = "storage" if category(row.resource) == "Storage" else "network"
        kind = ("workload", None, what)
    if kind is None and not is_time_based(row):
        kind = usage_kind(row)
    if kind is None:
        return None
    piece = slice_of(source, [row], row.amounts, kind, None if kind[0] == "outside" else cluster)
    if namespace:
        piece.namespace, piece.labels = namespace, labels(row.tags.items())
    return piece
