"""The oracle's reading of metric files: what a team had of a metric, by day and cluster.

A file has the columns date, cluster, team, metric and value; CSV or Parquet. A cluster is named by
its id or its name.

Choices where the contract leaves room:

* A line without a team is about the workload without a team.
* A value is the decimal text of the file, rounded half-even to 12 places like an amount.
* Of a cluster named by id and by name in one file, both lines count as its own.
"""

import csv
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from tests.oracle_slices import ZERO, rounded


class Value(NamedTuple):
    """What one team had of a metric on a day."""

    day: date
    cluster: str
    team: str | None
    metric: str
    amount: Fraction


def read(file: Path) -> list[Value]:
    """Return the values of a file."""
    if file.suffix == ".parquet":
        rows = pq.read_table(file).to_pylist()
    else:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines))
    return [
        Value(
            date.fromisoformat(str(row["date"])[:10]),
            row["cluster"],
            row["team"] or None,
            row["metric"],
            rounded(Fraction(Decimal(str(row["value"])))),
        )
        for row in rows
    ]


def of_teams(
    values: Iterable[Value], metric: str | None, cluster: str, day: date
) -> dict[str | None, Fraction]:
    """Return the values of one metric (None: the only one) on a day, by team."""
    names = (cluster, cluster.rsplit("/", 1)[-1])
    found: dict[str | None, Fraction] = {}
    for value in values:
        if value.day == day and value.cluster in names and metric in (None, value.metric):
            found[value.team] = found.get(value.team, ZERO) + value.amount
    return found
