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
from typing import Any

from tests.oracle_slices import Slice, label_key

Entry = dict[str, Any]
"""One table of the file."""


@dataclass(frozen=True)
class Rule:
    """The decision in force for a row kind, cluster and day."""

    id: str
    method: str
    scope: str
    by: str | None


NO_RULE = Rule("default", "none", "cluster", None)


class Rules:
    """The rules of one configuration; first match in file order wins."""

    def __init__(self, document: Entry) -> None:
        self._teams: list[Entry] = document.get("team_rule", [])
        self._headroom: list[Entry] = document.get("headroom", [])
        self._system: list[Entry] = document.get("system", [{"namespace": ["kube-system"]}])
        self._operators: list[Entry] = document.get("operator", [])
        self._allocation: list[Entry] = document.get("allocation_rule", [])

    def apply(self, piece: Slice) -> None:
        """Give a slice its final row kind and reason, and a workload its team."""
        if piece.row_kind == "workload" and piece.is_pod:
            for entry in self._headroom:
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
                by = entry.get("by", "resource") if entry["method"] == "proportional" else None
                return Rule(entry["id"], entry["method"], entry.get("scope", "cluster"), by)
        return NO_RULE

    def operator(self, piece: Slice) -> str | None:
        """Return who runs the cluster of a slice."""
        found = (entry["team"] for entry in self._operators if _matches(entry, piece))
        return next(found, None)


def _matches(entry: Entry, piece: Slice) -> bool:
    return (
        _in_force(entry, piece.day)
        and _is_named(entry.get("cluster", ["*"]), cluster_names(piece))
        and _is_named(entry.get("namespace", ["*"]), [piece.namespace or ""])
    )


def cluster_names(piece: Slice) -> list[str]:
    """Return the id and the name of a slice's cluster."""
    cluster = str(piece.cluster)
    return [cluster, cluster.rsplit("/", 1)[-1]]


def _in_force(entry: Entry, day: date) -> bool:
    begins, ends = entry.get("valid_from"), entry.get("valid_to")
    return (begins is None or begins <= day) and (ends is None or day < ends)


def _is_named(globs: Sequence[str] | str, names: Sequence[str]) -> bool:
    globs = [globs] if isinstance(globs, str) else globs
    return any(fnmatchcase(name, glob) for glob in globs for name in names)
