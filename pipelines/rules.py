"""Rules that can never apply: a promise is not kept by a rule that nothing reaches."""

from collections.abc import Iterable, Iterator
from datetime import date
from fnmatch import fnmatchcase
from itertools import product
from typing import NamedTuple

from pipelines.config import Config
from pipelines.decisions import AllocationRule, Headroom, NodePool, TeamRule
from pipelines.mistakes import choice
from pipelines.periods import first_day, next_month
from transforms.labels import canonical
from transforms.rules import names_any
from transforms.sliced import Finding, completed

RULE = "rule_never_applies"
SHOWN_CLUSTERS = 5


class _Reach(NamedTuple):
    """What a dated rule is for: one tuple of patterns for each thing it looks at."""

    where: str
    patterns: tuple[tuple[str, ...], ...]
    start: date
    end: date
    label: str | None = None


def unused_rules(
    config: Config, clusters: Iterable[tuple[str, str | None]], month: str
) -> list[Finding]:
    """Return a finding for each rule that can never apply, and for each that has no cluster.

    `clusters` are the ids and names of the clusters in `month` (YYYY-MM). A rule whose dates
    lie outside the month is history or plan, and no finding.
    """
    allocation = [_of_allocation(i, rule) for i, rule in enumerate(config.allocation_rules)]
    teams = [_of_teams(i, rule) for i, rule in enumerate(config.team_rules)]
    pools = [_of_pools(where, rule) for where, rule in _on_pools(config)]
    findings = [
        *_shadowed(allocation),
        *_shadowed(teams),
        *_shadowed([rule for rule in pools if rule.where.startswith("headroom")]),
        *_shadowed([rule for rule in pools if rule.where.startswith("node_pool")]),
        *_without_cluster(config, clusters, month),
    ]
    return [completed(finding, month) for finding in findings]


def unused_pools(
    config: Config, pools: Iterable[tuple[str, str | None, str | None]], month: str
) -> list[Finding]:
    """Return a finding for each rule on node pools of which its clusters have none.

    `pools` are ids and names of the clusters in `month` and the node pools of their nodes; NULL
    where a node is in none. A rule without any cluster is told by `unused_rules`.
    """
    known = set(pools)
    return [completed(finding, month) for finding in _without_pool(config, known, month)]


def _of_allocation(index: int, rule: AllocationRule) -> _Reach:
    where = f"allocation_rule[{index}] ({rule.id})"
    return _Reach(where, (rule.kinds, rule.cluster), *_dates(rule.valid_from, rule.valid_to))


def _of_teams(index: int, rule: TeamRule) -> _Reach:
    where, patterns = f"team_rule[{index}]", (rule.namespace, rule.cluster)
    return _Reach(where, patterns, *_dates(rule.valid_from, rule.valid_to), rule.label)


def _on_pools(config: Config) -> Iterator[tuple[str, Headroom | NodePool]]:
    """Yield the rules on node pools: policies that keep something free, and minimum sizes."""
    for index, headroom in enumerate(config.headroom):
        if headroom.keep_free is not None:
            yield f"headroom[{index}]", headroom
    for index, pool in enumerate(config.node_pools):
        yield f"node_pool[{index}]", pool


def _of_pools(where: str, rule: Headroom | NodePool) -> _Reach:
    kept = rule.keep_free if isinstance(rule, Headroom) else None
    kinds = tuple(kept.wanted) if kept else ("",)
    dates = _dates(rule.valid_from, rule.valid_to)
    return _Reach(where, (kinds, rule.cluster, rule.node_pool), *dates)


def _dates(start: date | None, end: date | None) -> tuple[date, date]:
    return start or date.min, end or date.max


# ---------------------------------------------------------------------------------------------
# Never, whatever the month
# ---------------------------------------------------------------------------------------------


def _shadowed(rules: list[_Reach]) -> Iterator[Finding]:
    for index, rule in enumerate(rules):
        if rule.start >= rule.end:
            yield _finding(
                rule.where,
                "valid_to after valid_from",
                f"valid from {rule.start} to {rule.end}, which is no day",
                "Correct the dates, or remove the rule.",
            )
            continue
        before = [other for other in rules[:index] if _takes(other, rule)]
        wider = {atom: _wider(before, atom) for atom in product(*rule.patterns)}
        if all(_covered(rule, others) for others in wider.values()):
            names = dict.fromkeys(other.where for others in wider.values() for other in others)
            yield _finding(
                rule.where,
                "a row that no earlier rule takes",
                f"all are taken by {', '.join(names)}",
                "The first match wins: move this rule up, or remove it.",
            )


def _takes(earlier: _Reach, rule: _Reach) -> bool:
    """Return whether `earlier` leaves nothing of what it matches: a label may be missing."""
    if earlier.label is None or rule.label is None:
        return earlier.label is None
    return canonical(earlier.label) == canonical(rule.label)


def _wider(rules: list[_Reach], atom: tuple[str, ...]) -> list[_Reach]:
    """Return the rules that take whatever the patterns in `atom` match."""
    return [
        rule
        for rule in rules
        if all(
            any(contains(wide, narrow) for wide in patterns)
            for patterns, narrow in zip(rule.patterns, atom, strict=True)
        )
    ]


def _covered(rule: _Reach, others: list[_Reach]) -> bool:
    """Return whether the dates of `others` leave no day of `rule`."""
    reached = rule.start
    for start, end in sorted((other.start, other.end) for other in others):
        if start <= reached:
            reached = max(reached, end)
    return reached >= rule.end


def contains(wide: str, narrow: str) -> bool:
    """Return whether `wide` surely matches everything that `narrow` matches.

    Patterns in `narrow` are read as plain text, which only a `*` may swallow; so a `wide` with
    `?` or `[..]` counts only against a plain name.
    """
    if wide == narrow:
        return True
    fixed = not any(sign in narrow for sign in "*?[")
    return (fixed or not any(sign in wide for sign in "?[")) and fnmatchcase(narrow, wide)


# ---------------------------------------------------------------------------------------------
# Not in this month
# ---------------------------------------------------------------------------------------------


def _without_cluster(
    config: Config, clusters: Iterable[tuple[str, str | None]], month: str
) -> Iterator[Finding]:
    known = set(clusters)
    names = {name for cluster in known for name in cluster}
    shown = sorted(cluster[1] or cluster[0] for cluster in known)
    for where, patterns, start, end in _on_clusters(config):
        if not _in_month(start, end, month):
            continue
        if not names_any(patterns, names):
            yield _finding(
                where,
                f"a cluster of {month}",
                f"no cluster matches {choice(patterns)}",
                f"Clusters of the month: {_few(shown) or 'none'}.",
            )


def _in_month(start: date, end: date, month: str) -> bool:
    return start < next_month(month) and end > first_day(month) and start < end


def _without_pool(
    config: Config, pools: set[tuple[str, str | None, str | None]], month: str
) -> Iterator[Finding]:
    for where, rule in _on_pools(config):
        held = [pool for *names, pool in pools if names_any(rule.cluster, names)]
        dates = _dates(rule.valid_from, rule.valid_to)
        if "*" in rule.node_pool or not held or not _in_month(*dates, month):
            continue
        if not names_any(rule.node_pool, held):
            yield _finding(
                where,
                f"a node pool of its clusters in {month}",
                f"no node pool matches {choice(rule.node_pool)}",
                f"Node pools there: {_few(sorted({pool for pool in held if pool})) or 'none'}.",
            )


def _on_clusters(config: Config) -> Iterator[tuple[str, tuple[str, ...], date, date]]:
    for index, rule in enumerate(config.allocation_rules):
        where = f"allocation_rule[{index}] ({rule.id})"
        yield where, rule.cluster, *_dates(rule.valid_from, rule.valid_to)
    for index, team_rule in enumerate(config.team_rules):
        dates = _dates(team_rule.valid_from, team_rule.valid_to)
        yield f"team_rule[{index}]", team_rule.cluster, *dates
    for index, headroom in enumerate(config.headroom):
        dates = _dates(headroom.valid_from, headroom.valid_to)
        yield f"headroom[{index}]", headroom.cluster, *dates
    for index, pool in enumerate(config.node_pools):
        yield f"node_pool[{index}]", pool.cluster, *_dates(pool.valid_from, pool.valid_to)
    for index, operator in enumerate(config.operators):
        yield f"operator[{index}]", operator.cluster, *_dates(None, None)
    for index, system in enumerate(config.system):
        yield f"system[{index}]", system.cluster, *_dates(None, None)


def _few(names: list[str]) -> str:
    more = len(names) - SHOWN_CLUSTERS
    return ", ".join(names[:SHOWN_CLUSTERS]) + (f" and {more} more" if more > 0 else "")


def _finding(where: str, expected: str, actual: str, hint: str) -> Finding:
    return {
        "rule": RULE,
        "severity": "warning",
        "where": where,
        "expected": expected,
        "actual": actual,
        "hint": hint,
    }
