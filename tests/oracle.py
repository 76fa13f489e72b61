"""An independent second opinion on the money: a whole month in exact fractions.

It shares no code with the pipeline. `oracle_files` reads the exports; `oracle_source`,
`oracle_charges` and `oracle_nodes` slice them; `oracle_rules` reads the configuration;
`oracle_ledger` distributes; this page adds up. Where the contract leaves room the literal reading
was taken, and each module lists its choices. Those made here:

* Of a cluster with `no_split_source` rows whose nodes nobody ever split, the kinds `workload`,
  `idle` and `headroom` are unknown (None), each where it has no rows at all.
* Rounding: the cluster's total to the cent, half-even; then lines to that total, then the kinds of
  a line to its own, each by largest remainder of the amounts rounded down. Of equal remainders
  the first team (no team last) or the first kind gets the cent.
* `workload_idle` counts `workload` rows, not those that became headroom or system overhead.
* In the view `billed` the parts of a node are exact fractions: compare figures below the cluster
  within a few quanta there. Everything else is exact to the quantum.
"""

import tomllib
from collections import defaultdict
from collections.abc import Hashable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

from tests import oracle_files, oracle_nodes
from tests.oracle_charges import Slice
from tests.oracle_ledger import NODE_RESOURCES, Method, Place, Posting, cost, place, post
from tests.oracle_rules import Rules
from tests.oracle_source import ZERO, Source, billed

KINDS = (
    "workload",
    "idle",
    "headroom",
    "system_overhead",
    "cluster_fee",
    "shared",
    "unattributed",
)
COMPARED: tuple[Method, ...] = (
    ("none", None),
    ("even", None),
    ("proportional", "resource"),
    ("proportional", "total"),
)
CENT = Fraction(1, 100)

Line = tuple[str, str, str | None]
"""Cluster, currency and team; None is money without a team."""
K = TypeVar("K", bound=Hashable)


class Books:
    """One month of the sources of a configuration.

    Amounts are fractions of the billing currency. A `view` is `effective` or `billed`.
    """

    def __init__(self, document: dict[str, Any], folder: Path, month: str) -> None:
        self.rules = Rules(document)
        self.sources = [
            Source(entry["id"], month, oracle_files.read(folder / entry["location"], month))
            for entry in document["source"]
        ]
        self.slices = [piece for source in self.sources for piece in oracle_nodes.slices(source)]
        for piece in self.slices:
            self.rules.apply(piece)
        self.clustered = [piece for piece in self.slices if piece.row_kind != "outside"]

    @classmethod
    def load(cls, file: Path, month: str) -> "Books":
        """Return the books of a `leerlauf.toml`; locations are relative to its folder."""
        return cls(tomllib.loads(file.read_text(encoding="utf-8")), file.parent, month)

    # --------------------------------------------------------------------------- the bill

    def fates(self, view: str) -> dict[tuple[str, str, str], tuple[int, Fraction]]:
        """Return rows and amount by source, fate and currency, straight from the rows."""
        found: dict[tuple[str, str, str], list[Fraction]] = defaultdict(list)
        for source in self.sources:
            for fate, rows in source.by_fate().items():
                for row in rows:
                    key = (source.id, fate, row["line_item_currency_code"])
                    found[key].append(_raw_amount(source, row, view))
        return {key: (len(values), sum(values, ZERO)) for key, values in found.items()}

    def bills(self, view: str) -> dict[Place, Fraction]:
        """Return the bill of each cluster and currency."""
        return _sums((place(piece), cost(piece, view)) for piece in self.clustered)

    def kinds(self, view: str) -> dict[tuple[str, str, str, str | None, str], Fraction]:
        """Return amounts by cluster, currency, row kind, reason and resource kind."""
        return _sums(
            ((*place(piece), piece.row_kind, piece.reason, piece.resource_kind), cost(piece, view))
            for piece in self.clustered
        )

    def outside(self, view: str) -> dict[tuple[str, str | None, str], Fraction]:
        """Return what belongs to no cluster by source, reason and currency."""
        return _sums(
            ((piece.source, piece.reason, piece.currency), cost(piece, view))
            for piece in self.slices
            if piece.row_kind == "outside"
        )

    def idle_ratio(self, view: str) -> dict[Place, Fraction | None]:
        """Return idle over node cost of each cluster; None where there is no such cost."""
        on_nodes = [piece for piece in self.clustered if _is_node_row(piece)]
        whole = _sums((place(piece), cost(piece, view)) for piece in on_nodes)
        idle = _sums(
            (place(piece), cost(piece, view)) for piece in on_nodes if piece.row_kind == "idle"
        )
        return {
            key: idle.get(key, ZERO) / whole[key] if whole.get(key) else None
            for key in self.bills(view)
        }

    # ------------------------------------------------------------------------- statements

    def postings(self, view: str, forced: Method | None = None) -> list[Posting]:
        """Return all postings, under the rules or with one method for idle and headroom."""
        return post(self.clustered, self.rules, view, forced)

    def teams(self, view: str, forced: Method | None = None) -> dict[Line, dict[str, Any]]:
        """Return each line's amount per kind (None: unknown) and its `total`, not rounded."""
        sums: dict[Line, dict[str, Fraction]] = defaultdict(lambda: dict.fromkeys(KINDS, ZERO))
        for posting in self.postings(view, forced):
            line = (*posting.place, posting.team)
            sums[line][posting.row_kind] += posting.amount
        lines: dict[Line, dict[str, Any]] = {}
        for line, kinds in sums.items():
            unknown = dict.fromkeys(self.unknown_kinds(line[0]))
            lines[line] = {**kinds, **unknown, "total": sum(kinds.values(), ZERO)}
        return lines

    def unknown_kinds(self, cluster: str) -> list[str]:
        """Return the kinds nobody can know for a cluster."""
        rows = [piece for piece in self.clustered if piece.cluster == cluster]
        is_split = any(piece.is_split for piece in rows)
        if is_split or all(piece.reason != "no_split_source" for piece in rows):
            return []
        known = {piece.row_kind for piece in rows}
        return [kind for kind in ("workload", "idle", "headroom") if kind not in known]

    def statements(self, view: str, forced: Method | None = None) -> dict[Line, dict[str, Any]]:
        """Return the lines with `<kind>_rounded` and `total_rounded` beside every amount."""
        lines = self.teams(view, forced)
        for key in self.bills(view):
            own = {line: lines[line] for line in sorted(lines, key=_team_order) if line[:2] == key}
            whole = _to_cent(sum((line["total"] for line in own.values()), ZERO))
            totals = _rounded_to(whole, {line: own[line]["total"] for line in own})
            for line, total in totals.items():
                known = {kind: own[line][kind] for kind in KINDS if own[line][kind] is not None}
                kinds = _rounded_to(total, known)
                own[line] |= {f"{kind}_rounded": kinds.get(kind) for kind in KINDS}
                own[line]["total_rounded"] = total
        return lines

    def workload_idle(self) -> dict[Line, Fraction | None]:
        """Return requested but unused cost by line; None where nothing was measured."""
        found: dict[Line, Fraction | None] = {}
        for piece in self.clustered:
            if piece.row_kind == "workload":
                line = (*place(piece), piece.team)
                before = found.setdefault(line, None)
                if piece.workload_idle is not None:
                    found[line] = (before or ZERO) + piece.workload_idle
        return found

    # ----------------------------------------------------------------------------- bridge

    def bridges(self) -> dict[tuple[str, str | None, str, str], dict[str, Fraction]]:
        """Return by cluster, node name, resource kind and currency the lines of the bridge.

        `provider_idle` + `empty_nodes` + `rebased` = `idle`, in the effective view; the other lines
        are 0 on charge basis `provider`.
        """
        found: dict[tuple[str, str | None, str, str], dict[str, Fraction]] = {}
        for piece in self.clustered:
            if not _is_node_row(piece):
                continue
            key = (str(piece.cluster), piece.node_name, piece.resource_kind, piece.currency)
            lines = found.setdefault(
                key, dict.fromkeys(("provider_idle", "empty_nodes", "rebased", "idle"), ZERO)
            )
            lines["provider_idle"] += piece.provider_idle
            if piece.row_kind == "idle":
                lines["idle"] += piece.effective
            if piece.reason == "empty_node":
                lines["empty_nodes"] += piece.effective
        for lines in found.values():
            lines["rebased"] = lines["idle"] - lines["provider_idle"] - lines["empty_nodes"]
        return found

    def empty_nodes(self) -> dict[tuple[str, Any], tuple[Fraction, Fraction]]:
        """Return hours and amount of empty nodes by instance and day."""
        rows = [piece for piece in self.clustered if piece.reason == "empty_node"]
        amounts = _sums(((str(piece.node), piece.day), piece.effective) for piece in rows)
        hours = {(str(piece.node), piece.day): piece.empty_hours for piece in rows}
        return {key: (hours[key], amounts[key]) for key in amounts}


def _raw_amount(source: Source, row: oracle_files.Row, view: str) -> Fraction:
    """A split row's money is on its parent: only its ordinary cost counts, which is 0."""
    if view == "billed" or source.is_split(row):
        return billed(row)
    return source.effective(row)


def _is_node_row(piece: Slice) -> bool:
    has_node_cost = piece.resource_kind in NODE_RESOURCES
    is_counted = piece.row_kind in ("workload", "idle", "headroom", "system_overhead")
    return has_node_cost and is_counted and piece.is_split


def _sums(pairs: Iterable[tuple[K, Fraction]]) -> dict[K, Fraction]:
    sums: dict[K, Fraction] = defaultdict(Fraction)
    for key, amount in pairs:
        sums[key] += amount
    return dict(sums)


def _team_order(line: Line) -> tuple[bool, str]:
    return line[2] is None, line[2] or ""


def _to_cent(amount: Fraction) -> Fraction:
    return round(amount / CENT) * CENT


def _rounded_to(whole: Fraction, amounts: dict[K, Fraction]) -> dict[K, Fraction]:
    """Return amounts in cents that add up to `whole`, by largest remainder."""
    floors = {key: amount // CENT * CENT for key, amount in amounts.items()}
    missing = int((whole - sum(floors.values(), ZERO)) / CENT)
    turns = sorted(amounts, key=lambda key: floors[key] - amounts[key])
    return {key: floors[key] + CENT * (key in turns[:missing]) for key in amounts}
