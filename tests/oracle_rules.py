"""The oracle's reading of `leerlauf.toml`: teams, system and placeholder pods, allocation rules.

Choices where the contract leaves room:

* A namespace that is both a placeholder's and the system's is a placeholder's. Both concern pods
  only: a disk claim stays `workload` whatever its namespace.
* Without a [[system]] table in the file only `kube-system` is a system namespace.
* A label counts for a team rule when it is not empty.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests import oracle_metrics
from tests.oracle_slices import Slice, label_key

Entry = dict[str, Any]
"""One table of the file."""


@dataclass(frozen=True)
class Rule:
    """The decision in force for a row kind, cluster and day.

    `teams` are those that may take part (None: all), `excluded` those that may not; `shares` are
    those of method fixed; `metric_file`, `metric` and `fallback` are for method metric.
    """

    id: str
    method: str
    scope: str
    by: str | None
    teams: tuple[str, ...] | None = None
    excluded: tuple[str, ...] = ()
    shares: tuple[tuple[str, Fraction], ...] = ()
    metric_file: str | None = None
    metric: str | None = None
    fallback: str = "none"

    def admits(self, team: str | None) -> bool:
        """Whether workload of a team, or without one, may take part."""
        return (self.teams is None or team in self.teams) and team not in self.excluded


NO_RULE = Rule("default", "none", "cluster", None)


class Rules:
    """The rules of one configuration; first match in file order wins."""

    def __init__(self, document: Entry, folder: Path = Path()) -> None:
        self._folder = folder
        self._metrics: dict[str, list[oracle_metrics.Value]] = {}
        self._teams: list[Entry] = document.get("team_rule", [])
        headroom: list[Entry] = document.get("headroom", [])
        self._placeholders = [entry for entry in headroom if "placeholder_pods" in entry]
        self._system: list[Entry] = document.get("system", [{"namespace": ["kube-system"]}])
        self._operators: list[Entry] = document.get("operator", [])
        self._allocation: list[Entry] = document.get("allocation_rule", [])

    def apply(self, piece: Slice) -> None:
        """Give a slice its final row kind and reason, and a workload its team."""
        if piece.row_kind == "workload" and piece.is_pod:
            for entry in self._placeholders:
                inner = {**entry, "namespace": entry["placeholder_pods"]["namespace"]}
                if _matches(inner, piece):
                    piece.row_kind, piece.reason = "headroom", "placeholder_pods"
                    return
            if any(_matches(entry, piece) for entry in self._system):
                piece.row_kind, piece.reason = "system_overhead", "system_namespace"
        if piece.row_kind == "workload":
            piece.team = self._team(piece)

    def _team(self, piece: Slice) -> str | None:
        labels = {label_key(key): value for key, value in piece.labels.items()}
        for entry in self._teams:
            named = labels.get(label_key(entry["label"])) if "label" in entry else entry["team"]
            if named and _matches(entry, piece):
                return str(named)
        return None

    def allocation(self, piece: Slice) -> Rule:
        """Return the allocation rule for a slice."""
        for entry in self._allocation:
            if piece.row_kind in entry["kinds"] and _matches(entry, piece):
                return _rule(entry)
        return NO_RULE

    def metrics(self, rule: Rule) -> list[oracle_metrics.Value]:
        """Return what the metric file of a rule holds."""
        name = str(rule.metric_file)
        if name not in self._metrics:
            self._metrics[name] = oracle_metrics.read(self._folder / name)
        return self._metrics[name]

    def operator(self, piece: Slice) -> str | None:
        """Return who runs the cluster of a slice."""
        found = (entry["team"] for entry in self._operators if _matches(entry, piece))
        return next(found, None)


def _rule(entry: Entry) -> Rule:
    weighs_cost = "proportional" in (entry["method"], entry.get("fallback"))
    shares = entry.get("shares", {})
    return Rule(
        entry["id"],
        entry["method"],
        entry.get("scope", "cluster"),
        entry.get("by", "resource") if weighs_cost else None,
        tuple(names(entry["teams"])) if "teams" in entry else None,
        tuple(names(entry.get("except", ()))),
        tuple((team, Fraction(str(share))) for team, share in shares.items()),
        entry.get("metric_file"),
        entry.get("metric"),
        entry.get("fallback", "none"),
    )


def _matches(entry: Entry, piece: Slice) -> bool:
    return (
        is_in_force(entry, piece.day)
        and names_cluster(entry, str(piece.cluster))
        and is_named(entry.get("namespace", ["*"]), [piece.namespace or ""])
    )


def names_cluster(entry: Entry, cluster: str) -> bool:
    """Whether a table is about a cluster, by its id or its name."""
    return is_named(entry.get("cluster", ["*"]), [cluster, cluster.rsplit("/", 1)[-1]])


def is_in_force(entry: Entry, day: date) -> bool:
    """Whether a table holds on a day; the end is exclusive."""
    begins, ends = entry.get("valid_from"), entry.get("valid_to")
    return (begins is None or begins <= day) and (ends is None or day < ends)


def is_named(globs: Sequence[str] | str, of: Sequence[str]) -> bool:
    """Whether one of the names fits one of the patterns."""
    return any(fnmatchcase(name, glob) for glob in names(globs) for name in of)


def names(value: Sequence[str] | str) -> Sequence[str]:
    """Return a list of one for a single word."""
    return [value] if isinstance(value, str) else value
