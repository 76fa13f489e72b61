"""Which rules are in force on a cluster and a day, and what they do.

Two rules that do the same are one here, whatever they are called and wherever they stand: only
what has an effect is compared. Clusters are matched by name or id, days are UTC days.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import NamedTuple

import duckdb

from pipelines import queries
from pipelines.charges import Charge, is_glob, normal_form
from pipelines.config import Config
from pipelines.decisions import AllocationRule
from pipelines.values import Dated
from transforms.labels import canonical
from transforms.rules import names_any
from transforms.schema import POOL_KINDS

ONE_DAY = timedelta(days=1)

Key = tuple[str, str]
"""Provider and id of a cluster."""


class Cluster(NamedTuple):
    """A cluster of a month; the name may be unknown.

    namespaces: those with workload; None where it is not known which there are.
    """

    provider: str
    cluster_id: str
    cluster_name: str | None
    namespaces: frozenset[str] | None = None

    @property
    def key(self) -> Key:
        """Return what tells it from all others."""
        return self.provider, self.cluster_id

    @property
    def label(self) -> str:
        """Return what people call it."""
        return self.cluster_name or self.cluster_id.rsplit("/", 1)[-1]


def clusters_of(con: duckdb.DuckDBPyConnection) -> list[Cluster]:
    """Return the clusters in the table `normalised` of `con`, by provider and id."""
    found = con.execute(queries.read("read/named_clusters")).fetchall()
    return [
        Cluster(provider, identity, name, frozenset(namespaces))
        for provider, identity, name, namespaces in found
    ]


class Effect(NamedTuple):
    """What an allocation rule does; what its method does not look at is left out."""

    method: str = "none"
    scope: str | None = None
    by: str | None = None
    metric: str | None = None
    fallback: str | None = None
    shares: tuple[tuple[str, Fraction], ...] = ()
    teams: tuple[str, ...] | None = None
    excepted: tuple[str, ...] = ()


NOTHING = Effect()
"""What happens without a rule: the operator keeps it."""


def allocation(config: Config, kind: str, cluster: Cluster, day: date) -> AllocationRule | None:
    """Return the first rule in file order for a row kind; None where none matches."""
    rules = (rule for rule in config.allocation_rules if kind in rule.kinds)
    return next(
        (rule for rule in rules if holds(rule, day) and matches(rule.cluster, cluster)), None
    )


def effect(rule: AllocationRule | None) -> Effect:
    """Return what a rule does to a pool."""
    if rule is None or rule.method == "none":
        return NOTHING
    weighted = "proportional" in (rule.method, rule.fallback)
    total = sum((rule.shares or {}).values())
    return Effect(
        method=rule.method,
        scope=rule.scope,
        by=rule.by if weighted else None,
        metric=rule.measure,
        fallback=rule.falls_back_to,
        shares=tuple(
            (team, Fraction(share) / Fraction(total))
            for team, share in sorted((rule.shares or {}).items())
        ),
        teams=rule.teams and tuple(sorted(set(rule.teams))),
        excepted=tuple(sorted(set(rule.except_ or ()))),
    )


def charges(config: Config, cluster: Cluster, day: date) -> tuple[Charge, ...]:
    """Return who is charged on a cluster, one charge for each namespace pattern, in file order.

    Patterns for namespaces that are not there decide nothing.
    """
    return tuple(
        Charge(namespace, canonical(rule.label or ""), rule.team or "")
        for rule in config.team_rules
        if holds(rule, day) and matches(rule.cluster, cluster)
        for namespace in rule.namespace
        if _is_there(namespace, cluster.namespaces)
    )


def _is_there(pattern: str, namespaces: frozenset[str] | None) -> bool:
    """Return whether a pattern matches a namespace of a cluster; `*` also what has none."""
    if namespaces is None or pattern == "*" or pattern in namespaces:
        return True
    return is_glob(pattern) and any(fnmatchcase(name, pattern) for name in namespaces)


def operator(config: Config, cluster: Cluster) -> str | None:
    """Return the team that operates a cluster."""
    found = (one.team for one in config.operators if matches(one.cluster, cluster))
    return next(found, None)


def holds(rule: Dated, day: date) -> bool:
    """Return whether a rule is valid on a day."""
    return (rule.valid_from or date.min) <= day < (rule.valid_to or date.max)


def matches(patterns: Iterable[str], cluster: Cluster) -> bool:
    """Return whether a pattern matches the name or the id of a cluster."""
    return names_any(patterns, (cluster.cluster_id, cluster.cluster_name))


# ---------------------------------------------------------------------------------------------
# In time
# ---------------------------------------------------------------------------------------------


def turns(config: Config, first: date, last: date) -> list[date]:
    """Return the days after `first`, up to `last`, on which a dated rule begins or ends."""
    rules: tuple[Dated, ...] = (*config.allocation_rules, *config.team_rules)
    days = {day for rule in rules for day in (rule.valid_from, rule.valid_to) if day}
    return sorted(day for day in days if first < day <= last)


def as_of(config: Config, day: date) -> Config:
    """Return the configuration with the rules of one day in force on every day."""
    return config.model_copy(
        update={
            name: tuple(
                rule.model_copy(update={"valid_from": None, "valid_to": None})
                for rule in getattr(config, name)
                if holds(rule, day)
            )
            for name in ("allocation_rules", "team_rules")
        }
    )


def alike(one: Config, other: Config, cluster: Cluster, day: date) -> bool:
    """Return whether two configurations do the same with a cluster's cost on a day."""
    return (
        operator(one, cluster) == operator(other, cluster)
        and same_charges(charges(one, cluster, day), charges(other, cluster, day))
        and all(
            effect(allocation(one, kind, cluster, day))
            == effect(allocation(other, kind, cluster, day))
            for kind in POOL_KINDS
        )
    )


def same_charges(one: tuple[Charge, ...], other: tuple[Charge, ...]) -> bool:
    """Return whether two orders of charges name the same team for whatever they meet."""
    return one == other or normal_form(one) == normal_form(other)
