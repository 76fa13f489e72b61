"""An independent second opinion on the money: a whole month in exact fractions.

It shares no code with the pipeline. `oracle_<provider>` reads and slices the exports of one
provider into what `oracle_slices` describes; `oracle_rules` reads the configuration;
`oracle_ledger` distributes; this page adds up. Where the contract leaves room the literal reading
was taken, and each module lists its choices. Those made here:

* Of a cluster with unattributed node cost that nobody split, and not one split row in the month,
  the kinds `workload`, `idle` and `headroom` are unknown (None), each where it has no rows at all.
* Rounding: the cluster's total to the cent, half-even; then lines to that total, then the kinds of
  a line to its own, each by largest remainder of the amounts rounded down. Of equal remainders
  the first team (no team last) or the first kind gets the cent.
* `workload_idle` counts `workload` rows, not those that became headroom or system overhead.
* In the view `billed` the parts of an AWS node are exact fractions: compare figures below the
  cluster within a few quanta there. On Azure equal remainders, and which bill rows are divided as
  one, are the oracle's own choice: compare below cluster and category within a quantum a slice.
  Everything else is exact to the quantum.
"""

import tomllib
from collections import defaultdict
from collections.abc import Hashable, Iterable
from datetime import date
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from tests import oracle_bridge, oracle_headroom, oracle_reserve
from tests.oracle_carving import Part, counted, is_node_row, node_day
from tests.oracle_causes import give_causes
from tests.oracle_inventory import Inventory
from tests.oracle_ledger import Method, Place, Posting, is_node_cost, place, post
from tests.oracle_rules import Rules
from tests.oracle_slices import ZERO, Read, Slice, cost

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
        self.rules = Rules(document, folder)
        self.basis: str = document.get("report", {}).get("charge_basis", "provider")
        self.sources: dict[str, Read] = {
            entry["id"]: import_module(f"tests.oracle_{entry['provider']}").read(
                {**entry, "charge_basis": self.basis}, folder, month
            )
            for entry in document["source"]
        }
        self.slices = [piece for source in self.sources.values() for piece in source.slices]
        for piece in self.slices:
            self.rules.apply(piece)
        self.clustered = [piece for piece in self.slices if piece.row_kind != "outside"]
        self._explain_idle(document, folder)

    def _explain_idle(self, document: dict[str, Any], folder: Path) -> None:
        """Take reserve, then headroom out of idle, and give what is left its causes."""
        for piece in self.clustered:
            if piece.row_kind == "idle":
                piece.uncarved = counted(piece)
        inventory = Inventory(document.get("nodes", []), folder)
        self.reserves = oracle_reserve.set_apart(self.clustered, inventory, self.hours)
        self._add(self.reserves.made)
        kept, self.headroom_short = oracle_headroom.keep_free(
            self.clustered, document.get("headroom", []), self.hours
        )
        self._add(kept)
        give_causes(self.sources, self.clustered, document.get("node_pool", []))

    def contradicted(self) -> list[Slice]:
        """Return the node rows whose inventory contradicts the bill."""
        wrong = set(self.reserves.wrong)
        return [
            piece
            for piece in self.clustered
            if is_node_row(piece) and Part(node_day(piece), piece.resource_kind) in wrong
        ]

    def _add(self, pieces: list[Slice]) -> None:
        self.slices += pieces
        self.clustered += pieces

    def hours(self, node: str, day: date) -> Fraction | None:
        """Return the billed hours of a node and day; None where nobody knows."""
        found = [
            read.hours[node, day] for read in self.sources.values() if (node, day) in read.hours
        ]
        return sum(found, ZERO) if found else None

    @classmethod
    def load(cls, file: Path, month: str) -> "Books":
        """Return the books of a `leerlauf.toml`; locations are relative to its folder."""
        return cls(tomllib.loads(file.read_text(encoding="utf-8")), file.parent, month)

    # --------------------------------------------------------------------------- the bill

    def fates(self, view: str) -> dict[tuple[str, str, str], tuple[int, Fraction]]:
        """Return rows and amount by source, fate and currency, straight from the rows."""
        found: dict[tuple[str, str, str], list[Fraction]] = defaultdict(list)
        for name, source in self.sources.items():
            for fate in source.fates:
                if view in source.views:
                    found[name, fate.name, fate.currency].append(fate.amounts[view])
        return {key: (len(values), sum(values, ZERO)) for key, values in found.items()}

    def priced(self, view: str) -> list[tuple[Slice, Fraction]]:
        """Return the slices of clusters whose source has the view, with their amounts."""
        pairs = ((piece, cost(piece, view)) for piece in self.clustered)
        return [(piece, amount) for piece, amount in pairs if amount is not None]

    def bills(self, view: str) -> dict[Place, Fraction]:
        """Return the bill of each cluster and currency."""
        return _sums((place(piece), amount) for piece, amount in self.priced(view))

    def kinds(self, view: str) -> dict[tuple[str, str, str, str | None, str], Fraction]:
        """Return amounts by cluster, currency, row kind, reason and resource kind."""
        return _sums(
            ((*place(piece), piece.row_kind, piece.reason, piece.resource_kind), amount)
            for piece, amount in self.priced(view)
        )

    def outside(self, view: str) -> dict[tuple[str, str | None, str], Fraction]:
        """Return what belongs to no cluster by source, reason and currency."""
        return _sums(
            ((piece.source, piece.reason, piece.currency), amount)
            for piece in self.slices
            if piece.row_kind == "outside" and (amount := cost(piece, view)) is not None
        )

    def idle_ratio(self, view: str) -> dict[Place, Fraction | None]:
        """Return idle over node cost of each cluster; None where there is no such cost."""
        on_nodes = [pair for pair in self.priced(view) if _is_node_row(pair[0])]
        whole = _sums((place(piece), amount) for piece, amount in on_nodes)
        idle = _sums(
            (place(piece), amount) for piece, amount in on_nodes if piece.row_kind == "idle"
        )
        return {
            key: idle.get(key, ZERO) / whole[key] if whole.get(key) else None
            for key in self.bills(view)
        }

    # ------------------------------------------------------------------------- statements

    def postings(self, view: str, forced: Method | None = None) -> list[Posting]:
        """Return all postings, under the rules or with one method for idle and headroom."""
        return post([piece for piece, _ in self.priced(view)], self.rules, view, forced)

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
        is_blind = any(
            piece.row_kind == "unattributed"
            and is_node_cost(piece)
            and not (piece.is_split or piece.is_pod)
            for piece in rows
        )
        if not is_blind or any(piece.is_split for piece in rows):
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

    def bridges(self) -> dict[tuple[str, str | None, str, str], oracle_bridge.Bridge]:
        """Return by cluster, node name, resource kind and currency the lines of the bridge.

        All lines but `idle` add up to `idle`, in the effective view.
        """
        seen = [piece for piece, _ in self.priced("effective")]
        return oracle_bridge.bridges(seen, self.basis)

    def empty_nodes(self) -> dict[tuple[str, Any], tuple[Fraction, Fraction]]:
        """Return hours and amount of empty nodes by instance and day."""
        rows = [piece for piece in self.clustered if piece.reason == "empty_node"]
        amounts = _sums(
            ((str(piece.node), piece.day), amount)
            for piece, amount in self.priced("effective")
            if piece.reason == "empty_node"
        )
        hours = {(str(piece.node), piece.day): piece.empty_hours for piece in rows}
        return {key: (hours[key], amounts[key]) for key in amounts}


def _is_node_row(piece: Slice) -> bool:
    is_counted = piece.row_kind in ("workload", "idle", "headroom", "system_overhead")
    return is_node_cost(piece) and is_counted and piece.is_split


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
