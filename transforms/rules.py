"""The shapes of the dated rules that decide who is charged and which pods are overhead.

The configuration's own models fit these shapes; transforms know nothing else of them.
"""

import datetime as dt
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import polars as pl

from transforms.quantities import Kept


def names_any(globs: Iterable[str], names: Iterable[str | None]) -> bool:
    """Say whether a glob matches one of the names a thing has; None is none."""
    known = [name for name in names if name]
    return any(fnmatch.fnmatchcase(name, glob) for glob in globs for name in known)


class Placed(Protocol):
    """A rule that holds on some clusters."""

    @property
    def cluster(self) -> Sequence[str]:
        """Globs of cluster names or ids."""


class Dated(Placed, Protocol):
    """A rule that also holds only from one day (inclusive) to another (exclusive)."""

    @property
    def valid_from(self) -> dt.date | None:
        """First day; None from the beginning."""

    @property
    def valid_to(self) -> dt.date | None:
        """The day after the last; None for ever."""


class Namespaces(Protocol):
    """A choice of namespaces."""

    @property
    def namespace(self) -> Sequence[str]:
        """Globs of namespaces."""


class Pooled(Protocol):
    """A choice of node pools."""

    @property
    def node_pool(self) -> Sequence[str]:
        """Globs of node pools."""


class TeamRule(Dated, Namespaces, Protocol):
    """Charges the team that a label names, or a fixed team, by namespace."""

    @property
    def label(self) -> str | None:
        """Label whose value is the team."""

    @property
    def team(self) -> str | None:
        """The team itself."""


class SystemRule(Placed, Namespaces, Protocol):
    """Namespaces that keep the cluster running."""


class HeadroomRule(Dated, Pooled, Protocol):
    """Holds capacity free on purpose: by placeholder pods, or by a policy."""

    @property
    def placeholder_pods(self) -> Namespaces | None:
        """Namespaces of the placeholder pods; None for a policy."""

    @property
    def keep_free(self) -> "KeepFree | None":
        """What a policy keeps free; None for placeholder pods."""

    @property
    def scope(self) -> str:
        """What a policy counts as one: node, node_pool or cluster."""


class KeepFree(Protocol):
    """How much of each resource a policy keeps free."""

    @property
    def wanted(self) -> Mapping[str, Kept]:
        """Resource kind -> how much of it."""


class NodePoolRule(Dated, Pooled, Protocol):
    """What keeps a node pool from getting smaller."""

    @property
    def min_nodes(self) -> int:
        """How many nodes the pool has at least."""


class Decisions(Protocol):
    """The dated decisions of a configuration that change what slices are, in file order."""

    @property
    def team_rules(self) -> Sequence[TeamRule]:
        """Who is charged."""

    @property
    def system(self) -> Sequence[SystemRule]:
        """Which namespaces are overhead."""

    @property
    def headroom(self) -> Sequence[HeadroomRule]:
        """What is held free."""

    @property
    def node_pools(self) -> Sequence[NodePoolRule]:
        """How small node pools can be."""


class Vocabulary:
    """The names that occur in a month, so that globs are matched once a name, not once a row."""

    def __init__(self, slices: pl.LazyFrame) -> None:
        self._names = {
            column: slices.select(pl.col(column).unique().drop_nulls())
            .collect(engine="streaming")
            .to_series()
            .to_list()
            for column in ("cluster_id", "cluster_name", "namespace", "node_pool")
        }

    def places(self, rule: Placed) -> pl.Expr:
        """Say for each row whether it is on one of the rule's clusters."""
        by_id = self._matches("cluster_id", rule.cluster)
        return by_id | self._matches("cluster_name", rule.cluster)

    def dates(self, rule: Dated) -> pl.Expr:
        """Say for each row whether the rule holds on its cluster and day."""
        day = pl.col("charge_period_start")
        conditions = [self.places(rule)]
        if rule.valid_from is not None:
            conditions.append(day >= rule.valid_from)
        if rule.valid_to is not None:
            conditions.append(day < rule.valid_to)
        return pl.all_horizontal(conditions)

    def pools(self, rule: Pooled) -> pl.Expr:
        """Say for each row whether it is in one of the rule's node pools."""
        return self._matches("node_pool", rule.node_pool)

    def names(self, rule: Namespaces) -> pl.Expr:
        """Say for each row whether it is in one of the rule's namespaces."""
        return self._matches("namespace", rule.namespace)

    def _matches(self, column: str, globs: Sequence[str]) -> pl.Expr:
        """`*` matches everything, also a row that has no such name; other globs only names."""
        if "*" in globs:
            return pl.lit(value=True)
        names = [name for name in self._names[column] if names_any(globs, [name])]
        return pl.col(column).is_in(names).fill_null(value=False)
