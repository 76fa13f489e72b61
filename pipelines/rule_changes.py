"""Rules that changed inside the fiscal year: figures before and after are not comparable.

A change is a day from which other rules apply than the day before, by the dates of the file, or a
file that says something else for this month than the one the month before was run with.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

import duckdb

from pipelines import loading, rule_words
from pipelines.charges import Charge
from pipelines.config import Config, from_document
from pipelines.errors import ConfigurationError
from pipelines.in_force import (
    ONE_DAY,
    Cluster,
    allocation,
    charges,
    clusters_of,
    effect,
    same_charges,
    turns,
)
from pipelines.lake import Lake
from pipelines.periods import first_day, fiscal_year, month_before, next_month
from pipelines.rule_words import OF_TEAMS
from transforms.schema import POOL_KINDS
from transforms.sliced import Finding, completed, findings_frame

RULE = "rule_changed_in_year"


def add_findings(con: duckdb.DuckDBPyConnection, config: Config, month: str, lake: Lake) -> None:
    """Add to `findings_in` of `con` what changed, for the clusters in its `normalised`."""
    found = findings(config, month, clusters_of(con), _last(config, month, lake))
    loading.append(con, "findings_in", findings_frame(found))


def _last(config: Config, month: str, lake: Lake) -> Config | None:
    """Return what the month before was run with, where it lies in the same fiscal year.

    What another version wrote, and this one cannot read, is not compared.
    """
    first = first_day(month)
    if first == fiscal_year(first, config.report.fiscal_year_start)[0]:
        return None
    try:
        return from_document(lake.newest(month_before(month)).configuration)
    except ConfigurationError:
        return None


class Change(NamedTuple):
    """What else is done from a day on, in words, where, and by which rules."""

    rules: tuple[str, ...]
    before: str
    after: str
    kind: str
    cluster: Cluster


def findings(
    config: Config, month: str, clusters: Sequence[Cluster], before: Config | None
) -> list[Finding]:
    """Return a warning for each change inside the fiscal year, up to the end of `month`.

    clusters: those of the month; no other counts. before: what the month before was run with;
    None where it was not run.
    """
    start, _ = fiscal_year(first_day(month), config.report.fiscal_year_start)
    first, last = first_day(month), next_month(month) - ONE_DAY
    told: list[Finding] = []
    edited: list[Change] = []
    if before is not None and first > start:
        edited = changes(before, first - ONE_DAY, config, first, clusters)
    for day in sorted({*turns(config, start, last), *([first] if edited else [])}):
        dated = changes(config, day - ONE_DAY, config, day, clusters)
        told += _told(day, f"from {day}", dated)
        if day == first:
            others = [change for change in edited if change[1:] not in {one[1:] for one in dated}]
            told += _told(day, f"edited since the run of {month_before(month)}", others)
    return [completed(one, month) for one in told]


def changes(
    old: Config, old_day: date, new: Config, new_day: date, clusters: Iterable[Cluster]
) -> list[Change]:
    """Return what else one configuration does on a day than another one on another day."""
    return [
        change
        for cluster in clusters
        for change in (
            *_of_allocation(old, old_day, new, new_day, cluster),
            *_of_teams(charges(old, cluster, old_day), charges(new, cluster, new_day), cluster),
        )
    ]


def _of_allocation(
    old: Config, old_day: date, new: Config, new_day: date, cluster: Cluster
) -> Iterator[Change]:
    for kind in POOL_KINDS:
        before = allocation(old, kind, cluster, old_day)
        after = allocation(new, kind, cluster, new_day)
        if effect(before) != effect(after):
            names = tuple(dict.fromkeys(rule_words.rule_id(rule) for rule in (before, after)))
            words = rule_words.allocation(before), rule_words.allocation(after)
            yield Change(names, *words, kind, cluster)


def _of_teams(
    old: tuple[Charge, ...], new: tuple[Charge, ...], cluster: Cluster
) -> Iterator[Change]:
    if same_charges(old, new):
        return
    gone: Sequence[Charge] = [charge for charge in old if charge not in new]
    come: Sequence[Charge] = [charge for charge in new if charge not in old]
    if not gone and not come:
        gone, come = _between(old, new)
    yield Change((), _teams(gone), _teams(come), OF_TEAMS, cluster)


def _between(
    old: Sequence[Charge], new: Sequence[Charge]
) -> tuple[Sequence[Charge], Sequence[Charge]]:
    """Return two orders of the same charges from the first to the last that changed places."""
    moved = [index for index, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1]]
    part = slice(moved[0], moved[-1] + 1)
    return old[part], new[part]


def _teams(charges: Sequence[Charge]) -> str:
    words = [rule_words.charge(charge) for charge in charges]
    return rule_words.listed(words, "then") if words else "no rule"


def _told(day: date, since: str, found: Iterable[Change]) -> Iterator[Finding]:
    """Yield a finding for all row kinds and clusters on which the same became of the same rule."""
    alike: dict[tuple[tuple[str, ...], str, str], list[Change]] = defaultdict(list)
    for change in found:
        alike[change[:3]].append(change)
    month = f"{day:%Y-%m}"
    for (rules, before, after), group in alike.items():
        kinds = rule_words.listed(dict.fromkeys(change.kind for change in group))
        clusters = list(dict.fromkeys(change.cluster for change in group))
        named = rule_words.listed(sorted({cluster.label for cluster in clusters}))
        ids = f", {since}, rule {' to '.join(rules)}" if rules else f", {since}"
        yield {
            "rule": RULE,
            "severity": "warning",
            "provider": _only(cluster.provider for cluster in clusters),
            "cluster_id": _only(cluster.cluster_id for cluster in clusters),
            "where": f"{kinds.replace('_', ' ')} on {named}{ids}",
            "expected": before,
            "actual": after,
            "hint": f"leerlauf variance {month_before(month)} {month} shows both months under "
            "both rules",
        }


def _only(names: Iterable[str]) -> str | None:
    """Return the name that all share, if they do."""
    found = set(names)
    return found.pop() if len(found) == 1 else None
