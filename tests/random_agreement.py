"""A published month beside the oracle's books: every figure in which the two differ.

What may differ, and why:

* Of equal remainders the oracle and the program may give the quantum to different slices of one
  node, so `cells` finer than a node, day, resource and kind may differ by a quantum a slice.
* In the view `billed` the oracle has exact fractions below a node and day; where next to nothing
  weighs in a pool, a quantum of it moves more than one.
* Which part of reserve and headroom was taken from empty nodes the program estimates: where any was
  taken, only the sum of the bridge's `empty_nodes`, `over_allocation` and `rebased` is compared,
  by the other lines and the bridge's own promise.
* `workload_idle` and quantities are sums of doubles in the program.
"""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import duckdb

from tests.oracle import COMPARED, KINDS, Books
from tests.oracle_carving import is_node_row
from tests.oracle_slices import QUANTUM, ZERO, Slice, cost

BELOW = Fraction(1, 10**6)
"""From how far below 0 idle is told of."""
Figures = dict[tuple[Any, ...], Fraction]

ESTIMATED = ("empty_nodes", "over_allocation", "rebased")
NODE = "if(node_name IS NULL, NULL, resource_id)"
CELL = (
    f"cluster_id, {NODE}, charge_period_start, row_kind, reason, cause, resource_kind, "
    "if(row_kind = 'idle', pricing_category, NULL)"
)


def differences(con: duckdb.DuckDBPyConnection, books: Books, view: str) -> list[str]:
    """Return every figure that differs, as a line a person can read."""
    found = [
        *_rows(con, books),
        *_quantities(con, books),
        *_lines(con, books, view),
        *_bridges(con, books, view),
        *_workload_idle(con, books),
        *_findings(con, books, view),
    ]
    return list(found)


def figures(con: duckdb.DuckDBPyConnection, query: str, *values: Any) -> Figures:
    """Return rows as key -> last column; amounts of 0 and NULL are left out."""
    rows = con.execute(query, list(values)).fetchall()
    return {row[:-1]: Fraction(row[-1]) for row in rows if row[-1]}


def unlike(name: str, ours: Figures, theirs: Figures, most: Fraction = ZERO) -> Iterator[str]:
    """Tell the keys whose figures differ by more than `most`."""
    for key in sorted({*ours, *theirs}, key=str):
        got, expected = ours.get(key, ZERO), theirs.get(key, ZERO)
        if abs(got - expected) > most:
            where = " ".join(map(str, key))
            yield f"{name}: {where}: expected {_text(expected)}, got {_text(got)}"


def _text(amount: Fraction) -> str:
    return f"{float(amount):.14f}"


def summed(pairs: Iterator[tuple[tuple[Any, ...], Fraction | None]]) -> Figures:
    """Add up amounts by key, without those that are 0 or unknown."""
    sums: Figures = {}
    for key, amount in pairs:
        if amount is not None:
            sums[key] = sums.get(key, ZERO) + amount
    return {key: amount for key, amount in sums.items() if amount}


# ------------------------------------------------------------------------------------- rows


def _cell(piece: Slice) -> tuple[Any, ...]:
    return (
        piece.cluster,
        piece.node,
        piece.day,
        piece.row_kind,
        piece.reason,
        piece.cause,
        piece.resource_kind,
        piece.pricing_category if piece.row_kind == "idle" else None,
    )


def _rows(con: duckdb.DuckDBPyConnection, books: Books) -> Iterator[str]:
    query = f"SELECT {CELL}, sum(effective_cost) FROM normalised GROUP BY ALL"
    mine = summed((_cell(piece), cost(piece, "effective")) for piece in books.slices)
    yield from unlike("cell", figures(con, query), mine)
    query = f"SELECT {NODE}, charge_period_start, row_kind, sum(billed_cost) "
    query += "FROM normalised GROUP BY ALL"
    by_kind = summed(
        ((piece.node, piece.day, piece.row_kind), cost(piece, "billed")) for piece in books.slices
    )
    yield from unlike("billed", figures(con, query), by_kind, 200 * QUANTUM)


QUANTITIES = {
    "capacity": "capacity_quantity",
    "allocatable": "allocatable_quantity",
    "requested": "requested_quantity",
    "charged": "charged_quantity",
    "used": "used_quantity",
}


def _quantities(con: duckdb.DuckDBPyConnection, books: Books) -> Iterator[str]:
    for name, column in QUANTITIES.items():
        query = (
            "SELECT resource_id, charge_period_start, resource_kind, row_kind, team, cause, "
            f"sum({column}) FROM normalised WHERE node_name IS NOT NULL GROUP BY ALL"
        )
        mine = summed(
            (
                (
                    piece.node,
                    piece.day,
                    piece.resource_kind,
                    piece.row_kind,
                    piece.team,
                    piece.cause,
                ),
                getattr(piece, name),
            )
            for piece in books.slices
            if is_node_row(piece)
        )
        yield from unlike(name, figures(con, query), mine, 1000 * QUANTUM)


# ------------------------------------------------------------------------------- statements


def _lines(con: duckdb.DuckDBPyConnection, books: Books, view: str) -> Iterator[str]:
    most = ZERO if view == "effective" else Fraction(1, 10**6)
    ours = _team_lines(con, "statements")
    yield from unlike("statement", ours, _expected(books.teams(view)), most)
    if view == "effective":
        rounded = _expected(books.statements(view), "_rounded")
        yield from unlike("rounded", _team_lines(con, "statements", end="_rounded"), rounded)
    for method in COMPARED:
        theirs = _expected(books.teams(view, method))
        ours = _team_lines(con, "comparison", *method)
        yield from unlike(f"compared {method}", ours, theirs, most)


def _team_lines(con: duckdb.DuckDBPyConnection, table: str, *method: Any, end: str = "") -> Figures:
    names = ", ".join(f"{kind}{end}" for kind in (*KINDS, "total"))
    chosen = 'WHERE method = $1 AND "by" IS NOT DISTINCT FROM $2' if method else ""
    return figures(
        con,
        f"UNPIVOT (SELECT cluster_id, billing_currency, team, {names} FROM {table} {chosen}) "
        f"ON {names}",
        *method,
    )


def _expected(lines: Mapping[Any, Mapping[str, Any]], end: str = "") -> Figures:
    names = {f"{kind}{end}" for kind in (*KINDS, "total")}
    return {
        (*line, name): amount
        for line, amounts in lines.items()
        for name, amount in amounts.items()
        if name in names and amount
    }


def _workload_idle(con: duckdb.DuckDBPyConnection, books: Books) -> Iterator[str]:
    query = "SELECT cluster_id, billing_currency, team, workload_idle FROM statements"
    theirs = {key: value for key, value in books.workload_idle().items() if value}
    yield from unlike("workload idle", figures(con, query), theirs, 1000 * QUANTUM)
    unknown = con.sql(
        "SELECT cluster_id, billing_currency, team FROM statements WHERE workload_idle IS NULL"
    ).fetchall()
    known = {key for key, value in books.workload_idle().items() if value is not None}
    for key in sorted(known.intersection(unknown), key=str):
        yield f"workload idle: {key}: unknown"


# ----------------------------------------------------------------------------------- bridge


def _bridges(con: duckdb.DuckDBPyConnection, books: Books, view: str) -> Iterator[str]:
    if view != "effective":
        return
    query = (
        "SELECT cluster_id, node_name, resource_kind, billing_currency, name, sum(amount) "
        "FROM reconciliation GROUP BY ALL"
    )
    theirs = {
        (*key, name): amount
        for key, lines in books.bridges().items()
        for name, amount in lines.items()
        if amount
    }
    ours = without_estimates(figures(con, query), books)
    yield from unlike("bridge", ours, without_estimates(theirs, books))


def without_estimates(lines: Figures, books: Books) -> Figures:
    """Return lines of bridges without those that the program estimates."""
    carved = {
        key
        for key, named in books.bridges().items()
        if named["node_reserve"] or named["policy_headroom"]
    }
    return {
        key: amount
        for key, amount in lines.items()
        if not (key[-1] in ESTIMATED and key[:-1] in carved)
    }


# --------------------------------------------------------------------------------- findings


KIND = "regexp_extract(\"where\", '^(headroom.[0-9]+., )?([a-z]+)', 2)"
"""The resource kind that a finding is about."""


def _findings(con: duckdb.DuckDBPyConnection, books: Books, view: str) -> Iterator[str]:
    """Compare what a person is told of money that could not move, or stands below 0."""
    query = (
        f"SELECT rule, cluster_id, {KIND}, sum(difference::DECIMAL(38, 12)) FROM findings "
        "WHERE rule IN ('reserve_short', 'reserve_large', 'headroom_short', 'negative_idle') "
        "GROUP BY ALL"
    )
    ours = figures(con, query)
    if view != "effective":
        ours = {key: amount for key, amount in ours.items() if key[0] != "negative_idle"}
    yield from unlike("finding", ours, summed(_told(books, view)))
    unknown = {one for one in books.headroom_short if one.amount is None}
    expected = {
        "inventory_contradicts_bill": {(str(piece.cluster),) for piece in books.contradicted()},
        "headroom_unknown": {(one.cluster, one.resource_kind) for one in unknown},
        "unused_distribution": set(),
        "bridge_closes": set(),
    }
    for rule, places in expected.items():
        columns = f"cluster_id, {KIND} AS kind" if rule == "headroom_unknown" else "cluster_id"
        named = f"SELECT DISTINCT {columns} FROM findings WHERE rule = $1"
        found = {row for row in con.execute(named, [rule]).fetchall() if "compute" not in row}
        if found != places:
            yield f"finding: {rule}: expected {places}, got {found}"


def _told(books: Books, view: str) -> Iterator[tuple[tuple[Any, ...], Fraction | None]]:
    for short in books.reserves.short:
        yield ("reserve_short", short.cluster, short.resource_kind), short.amount
    for large in books.reserves.large:
        yield ("reserve_large", large.cluster, large.resource_kind), large.amount
    for missing in books.headroom_short:
        yield ("headroom_short", missing.cluster, missing.resource_kind), missing.amount
    if view == "effective":
        for piece in books.clustered:
            amount = cost(piece, view)
            if piece.row_kind == "idle" and amount is not None and amount < -BELOW:
                yield ("negative_idle", piece.cluster, piece.resource_kind), amount
