"""Two published months of one lake, each under its own rules and under the other's."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from pipelines import in_force, queries, restating, rule_changes, variance_figures
from pipelines.config import Config
from pipelines.errors import ConfigurationError
from pipelines.in_force import ONE_DAY, Cluster, Key
from pipelines.lake import Lake
from pipelines.periods import next_month
from pipelines.restating import Published
from pipelines.rule_changes import Change
from pipelines.rule_words import OPERATOR
from pipelines.variance import Move, Pair, Terms, moves
from pipelines.variance_figures import Figures, Line, Statement, figures, in_order, key_of, money

FIGURES = {"cost_view": "cost", "charge_basis": "charge of workloads"}
"""What two months must have in common to be compared, in words."""


@dataclass(frozen=True)
class Total:
    """What a line came to in a month under its own rules, and under the other month's.

    other: None where it cannot be known; reason says why.
    """

    month: str
    line: Line
    total: Decimal
    other: Decimal | None
    reason: str | None


@dataclass(frozen=True)
class Variance:
    """Why every line moved from one month to a later one.

    operators: by the newer month's rules. statements: of both months. changes: which rules
    changed, by cluster. unknown: why what the rules of the older month would have made of the
    newer cannot be known. places: decimal places of the currencies that have not the usual two.
    """

    months: tuple[str, str]
    clusters: Mapping[Key, Cluster]
    operators: Mapping[Key, str | None]
    moves: Mapping[Line, Move]
    statements: tuple[Mapping[Line, Statement], Mapping[Line, Statement]]
    totals: tuple[Total, ...]
    changes: Mapping[Key, tuple[Change, ...]]
    unknown: Mapping[Key, str]
    places: Mapping[str, int]


def compared(lake: Lake, older_month: str, newer_month: str) -> Variance:
    """Compare two months of a lake.

    Raises ConfigurationError where they are not two, in order, run alike.
    """
    if older_month >= newer_month:
        raise ConfigurationError(
            "not an older month and a newer one",
            where="MONTH MONTH",
            expected="two months, the older one first",
            got=f"{older_month} {newer_month}",
        )
    months = restating.published(lake, older_month), restating.published(lake, newer_month)
    _refuse_other_figures(*months)
    return _compared(*months)


def _refuse_other_figures(older: Published, newer: Published) -> None:
    for name, words in FIGURES.items():
        was, now = (month.record.configuration["report"][name] for month in (older, newer))
        if was != now:
            raise ConfigurationError(
                f"the two months do not count the same {words}",
                where=name,
                expected=f"{now}, as in {newer.record.billing_period}",
                got=f"{was} in {older.record.billing_period}",
                hint=f"Run {older.record.billing_period} again with {name} = '{now}'.",
            )


def _compared(older: Published, newer: Published) -> Variance:
    rules, later = (in_force.as_of(month.config, _last_day(month)) for month in (older, newer))
    own = figures(older.con), figures(newer.con)
    fixed, unfixed = _under(older, rules, own[0])
    moved, unmoved = _under(newer, rules, own[1])
    other, unknown = _under(older, later, own[0])
    clusters = {cluster.key: cluster for cluster in (*older.clusters, *newer.clusters)}
    terms = {key: _terms(rules, cluster) for key, cluster in clusters.items()}
    statements = variance_figures.statements(older.con), variance_figures.statements(newer.con)
    bills = variance_figures.bill(older.con), variance_figures.bill(newer.con)
    return Variance(
        months=(older.record.billing_period, newer.record.billing_period),
        clusters=clusters,
        operators={key: in_force.operator(newer.config, one) for key, one in clusters.items()},
        moves=moves(Pair(*own, fixed, moved, bills, statements, terms)),
        statements=statements,
        totals=(
            *_totals(older, statements[0], other, unknown),
            *_totals(newer, statements[1], moved, unmoved),
        ),
        changes=_changes(older, rules, newer),
        unknown={**unfixed, **unmoved},
        places=dict(newer.con.sql(queries.read("statements/minor_units")).fetchall()),
    )


def _last_day(month: Published) -> date:
    return next_month(month.record.billing_period) - ONE_DAY


def _under(month: Published, rules: Config, own: Figures) -> tuple[Figures, Mapping[Key, str]]:
    """Return a month's figures under other rules, and why those of some clusters are not so."""
    with restating.restated(month, rules) as made:
        found = own.replaced(figures(made.con), made.made) if made.con else own
        return found, made.unknown


def _terms(rules: Config, cluster: Cluster) -> Terms:
    idle = in_force.effect(in_force.allocation(rules, "idle", cluster, date.min))
    return Terms(in_force.operator(rules, cluster), idle.method, idle.by)


def _totals(
    month: Published,
    statements: Mapping[Line, Statement],
    other: Figures,
    unknown: Mapping[Key, str],
) -> Iterator[Total]:
    for line in in_order({*statements, *other.amounts}):
        statement = statements.get(line, Statement())
        reason = unknown.get(key_of(line))
        restated = sum(other.amounts.get(line, {}).values()) + statement.carried
        yield Total(
            month=month.record.billing_period,
            line=line,
            total=money(statement.total),
            other=None if reason else money(restated),
            reason=reason,
        )


def _changes(older: Published, rules: Config, newer: Published) -> dict[Key, tuple[Change, ...]]:
    """Return what changed on each cluster from the older month's rules to the newer one's.

    An invoice may reach into the days after its month; those have the newer rules already.
    """
    found: dict[Key, dict[Change, None]] = defaultdict(dict)
    for month, is_older in ((older, True), (newer, False)):
        pair = (month.config, rules) if is_older else (rules, month.config)
        for day in (day for day in restating.days(month) if day <= _last_day(month)):
            for change in rule_changes.changes(pair[0], day, pair[1], day, month.clusters):
                found[change.cluster.key][change] = None
    for cluster in newer.clusters:
        was, now = (in_force.operator(config, cluster) for config in (rules, newer.config))
        if was != now:
            change = Change((), was or "nobody", now or "nobody", OPERATOR, cluster)
            found[cluster.key][change] = None
    return {key: tuple(changes) for key, changes in found.items()}
