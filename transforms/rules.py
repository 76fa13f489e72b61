"""The shapes of the dated rules that decide who is charged and which pods are overhead.

The configuration's own models fit these shapes; transforms know nothing else of them.
"""

import datetime as dt
import fnmatch
from collections.abc import Sequence
from typing import Protocol

import polars as pl


class Dated(Protocol):
    """A rule that holds from a day (inclusive) to a day (exclusive) on some clusters."""

    @property
    def cluster(self) -> Sequence[str]: ...
    @property
    def valid_from(self) -> dt.date | None: ...
    @property
    def valid_to(self) -> dt.date | None: ...


class TeamRule(Dated, Protocol):
    """Charges the team a label names, or a fixed team by namespace."""

    @property
    def label(self) -> str | None: ...
    @property
    def team(self) -> str | None: ...
    @property
    def namespace(self) -> Sequence[str]: ...


class NamespaceRule(Dated, Protocol):
    """Holds for some namespaces: system namespaces, placeholder pods."""

    @property
    def namespace(self) -> Sequence[str]: ...


def holds(rule: Dated, values: "Vocabulary") -> pl.Expr:
    """Say for each row whether a rule holds on its cluster and day."""
    day = pl.col("charge_period_start")
    conditions = [values.cluster_matches(rule.cluster)]
    if rule.valid_from is not None:
        conditions.append(day >= rule.valid_from)
    if rule.valid_to is not None:
        conditions.append(day < rule.valid_to)
    return pl.all_horizontal(conditions)


class Vocabulary:
    """The names that occur in a month, so that globs are matched once a name, not once a row."""

    def __init__(self, slices: pl.LazyFrame) -> None:
        self._names = {
            column: slices.select(pl.col(column).unique().drop_nulls())
            .collect(engine="streaming")
            .to_series()
            .to_list()
            for column in ("cluster_id", "cluster_name", "namespace")
        }

    def cluster_matches(self, globs: Sequence[str]) -> pl.Expr:
        """Globs match a cluster's name or its id; a row without cluster matches nothing."""
        return self._matches("cluster_id", globs) | self._matches("cluster_name", globs)

    def namespace_matches(self, globs: Sequence[str]) -> pl.Expr:
        """Globs match a namespace; a row without namespace matches nothing."""
        return self._matches("namespace", globs)

    def _matches(self, column: str, globs: Sequence[str]) -> pl.Expr:
        names = [
            name
            for name in self._names[column]
            if any(fnmatch.fnmatchcase(name, glob) for glob in globs)
        ]
        return pl.col(column).is_in(names).fill_null(value=False)
