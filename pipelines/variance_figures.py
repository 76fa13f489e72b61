"""The figures of one month that a variance is made of, as whole quanta of 1e-12, read with SQL.

A line is one team on one cluster in one currency. `Figures` follow the rules they were made by;
`Bill` is what the month's nodes cost, which no rule changes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, TypeVar

import duckdb

from pipelines import queries, reading
from pipelines.in_force import Key
from pipelines.reading import Row

DIGITS = 12
PER_UNIT = 10**DIGITS
CORRECTIONS = "corrections"

Value = TypeVar("Value")


class Place(NamedTuple):
    """One cluster in one currency."""

    provider: str
    billing_currency: str
    cluster_id: str


class Line(NamedTuple):
    """One team in one place; None is money without a team."""

    place: Place
    team: str | None


class Use(NamedTuple):
    """What workload is charged for: prices are compared within one use."""

    resource_kind: str
    is_node: bool
    quantity_unit: str | None
    is_known: bool


class Work(NamedTuple):
    """What a use cost (quanta), and how much it was; the quantity is None where unknown."""

    cost: int
    quantity: Fraction | None


class Statement(NamedTuple):
    """What a line came to: exactly, as it was rounded, and what closed months carried into it."""

    total: int = 0
    rounded: Decimal = Decimal(0)
    carried: int = 0


@dataclass(frozen=True)
class Figures:
    """A month under some rules: what each line bore of each kind, and what its workload was.

    amounts: the seven kinds without corrections, and `corrections` for what has a charge class.
    idle: of its idle, what was of each resource kind.
    """

    amounts: Mapping[Line, Mapping[str, int]]
    idle: Mapping[Line, Mapping[str, int]]
    workloads: Mapping[Line, Mapping[Use, Work]]

    def kind(self, line: Line, kind: str) -> int:
        """Return what a line bore of one kind."""
        return self.amounts.get(line, {}).get(kind, 0)

    def replaced(self, other: "Figures", clusters: Iterable[Key]) -> "Figures":
        """Return these figures with those of some clusters (provider, id) taken from `other`."""
        taken = set(clusters)
        mine = {line for line in self.amounts if key_of(line) not in taken}
        theirs = {line for line in other.amounts if key_of(line) in taken}
        return Figures(
            {**_only(self.amounts, mine), **_only(other.amounts, theirs)},
            {**_only(self.idle, mine), **_only(other.idle, theirs)},
            {**_only(self.workloads, mine), **_only(other.workloads, theirs)},
        )


@dataclass(frozen=True)
class Bill:
    """What a month's nodes cost, whatever the rules.

    idle: quanta by place and resource kind; prices: quanta of a unit of capacity, where known.
    """

    idle: Mapping[Place, Mapping[str, int]]
    prices: Mapping[Place, Mapping[str, Fraction]]


def figures(con: duckdb.DuckDBPyConnection) -> Figures:
    """Read what `postings` and `charges` of `con` say."""
    amounts: dict[Line, Counter[str]] = defaultdict(Counter)
    idle: dict[Line, dict[str, int]] = defaultdict(dict)
    for row in reading.rows(con, queries.read("read/variance_amounts")):
        amounts[_line(row)][row["kind"]] += quanta(row["amount"])
        if row["kind"] == "idle":
            idle[_line(row)][row["resource_kind"]] = quanta(row["amount"])
    workloads: dict[Line, dict[Use, Work]] = defaultdict(dict)
    for row in reading.rows(con, queries.read("read/variance_workloads")):
        quantity = Fraction(row["quantity"]) if row["is_known"] else None
        use = Use(*(row[name] for name in Use._fields))
        workloads[_line(row)][use] = Work(quanta(row["cost"]), quantity)
    return Figures(dict(amounts), dict(idle), dict(workloads))


def bill(con: duckdb.DuckDBPyConnection) -> Bill:
    """Read what `charges` of `con` say of nodes."""
    idle: dict[Place, dict[str, int]] = defaultdict(dict)
    prices: dict[Place, dict[str, Fraction]] = defaultdict(dict)
    for row in reading.rows(con, queries.read("read/variance_capacity")):
        place, kind = _place(row), row["resource_kind"]
        idle[place][kind] = quanta(row["idle"])
        if row["capacity"]:
            prices[place][kind] = quanta(row["node_cost"]) / Fraction(row["capacity"])
    return Bill(dict(idle), dict(prices))


def statements(con: duckdb.DuckDBPyConnection) -> dict[Line, Statement]:
    """Read what each line came to."""
    found = reading.rows(con, "FROM statements")
    return {
        _line(row): Statement(
            quanta(row["total"]), row["total_rounded"], quanta(row["corrections"] or Decimal(0))
        )
        for row in found
    }


def quanta(amount: Decimal) -> int:
    """Return an amount of at most twelve places as whole quanta."""
    return int(Fraction(amount) * PER_UNIT)


def money(whole: int) -> Decimal:
    """Return quanta as the amount they are, whatever the precision of the context."""
    return Decimal(f"{whole}e-{DIGITS}")


def in_order(lines: Iterable[Line]) -> list[Line]:
    """Return lines by place and team, money without a team last."""
    return sorted(lines, key=lambda line: (line.place, line.team is None, line.team or ""))


def _line(row: Row) -> Line:
    return Line(_place(row), row["team"])


def _place(row: Row) -> Place:
    return Place(*(row[name] for name in Place._fields))


def key_of(line: Line) -> Key:
    """Return the cluster of a line."""
    return line.place.provider, line.place.cluster_id


def _only(found: Mapping[Line, Value], lines: set[Line]) -> dict[Line, Value]:
    return {line: found[line] for line in lines if line in found}
