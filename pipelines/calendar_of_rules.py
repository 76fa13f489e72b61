"""The calendar of rules: for each thing a rule decides, from when until when it does.

For allocation rules each row kind and cluster pattern of the file has a line of periods, in each
of which one rule is the first that matches. A cluster that several patterns match follows the one
whose rule stands first in the file. `*` stands for the clusters no other pattern names.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from itertools import pairwise
from typing import NamedTuple, TypeVar

from pipelines import rule_words
from pipelines.config import Config
from pipelines.decisions import AllocationRule
from pipelines.in_force import effect, holds
from pipelines.rules import contains
from transforms.rules import Dated, Placed
from transforms.schema import POOL_KINDS

EVERY = "*"

Rule = TypeVar("Rule", bound=Placed)
DatedRule = TypeVar("DatedRule", bound=Dated)


class Entry(NamedTuple):
    """What one rule decides in one period; open ends are None, and so is what a rule has not.

    rule: its id, or its place in the file where rules have none; turns: the days on which it
    begins or ends to be what happens.
    """

    kind: str
    row_kind: str | None
    cluster: str
    valid_from: date | None
    valid_to: date | None
    rule: str
    method: str | None
    scope: str | None
    by: str | None
    what: str
    turns: tuple[date, ...] = ()


def entries(config: Config) -> list[Entry]:
    """Return the calendar of a configuration, in the order in which it is read."""
    return [
        *_allocation(config),
        *_dated("team_rule", "workload", config.team_rules, rule_words.team_rule),
        *_dated("headroom", "headroom", config.headroom, rule_words.headroom),
        *_dated("node_pool", None, config.node_pools, rule_words.node_pool),
        *_always("operator", None, config.operators, rule_words.operator),
        *_always("system", "system_overhead", config.system, rule_words.system),
    ]


# ---------------------------------------------------------------------------------------------
# Allocation rules
# ---------------------------------------------------------------------------------------------


def _allocation(config: Config) -> Iterator[Entry]:
    for kind in POOL_KINDS:
        rules = [rule for rule in config.allocation_rules if kind in rule.kinds]
        others = _periods(rules, EVERY)
        for pattern in dict.fromkeys(name for rule in rules for name in rule.cluster):
            periods = _periods(rules, pattern)
            if pattern != EVERY and periods != others:
                yield from _line(kind, pattern, periods)
        yield from _line(kind, EVERY, others)


Period = tuple[date | None, date | None, AllocationRule | None]


def _periods(rules: list[AllocationRule], pattern: str) -> list[Period]:
    """Return who decides for clusters of a pattern, period after period, without a gap."""
    reaching = [rule for rule in rules if any(contains(wide, pattern) for wide in rule.cluster)]
    days = {day for rule in reaching for day in (rule.valid_from, rule.valid_to) if day}
    periods: list[Period] = []
    for start, end in pairwise([None, *sorted(days), None]):
        first = next((rule for rule in reaching if holds(rule, start or date.min)), None)
        goes_on = bool(periods) and periods[-1][2] is first
        periods.append((periods.pop()[0] if goes_on else start, end, first))
    return periods


def _line(kind: str, pattern: str, periods: list[Period]) -> Iterator[Entry]:
    turns = [
        later[0]
        for earlier, later in pairwise(periods)
        if later[0] and effect(earlier[2]) != effect(later[2])
    ]
    for start, end, rule in periods:
        done = effect(rule)
        yield Entry(
            kind="allocation_rule",
            row_kind=kind,
            cluster=pattern,
            valid_from=start,
            valid_to=end,
            rule=rule_words.rule_id(rule),
            method=done.method,
            scope=done.scope,
            by=done.by,
            what=rule_words.allocation(rule),
            turns=tuple(day for day in turns if day == start),
        )


# ---------------------------------------------------------------------------------------------
# The other rules
# ---------------------------------------------------------------------------------------------


def _dated(
    kind: str, row_kind: str | None, rules: Sequence[DatedRule], words: Callable[[DatedRule], str]
) -> Iterator[Entry]:
    for entry, rule in zip(_always(kind, row_kind, rules, words), rules, strict=True):
        days = tuple(day for day in (rule.valid_from, rule.valid_to) if day)
        yield entry._replace(valid_from=rule.valid_from, valid_to=rule.valid_to, turns=days)


def _always(
    kind: str, row_kind: str | None, rules: Sequence[Rule], words: Callable[[Rule], str]
) -> Iterator[Entry]:
    for index, rule in enumerate(rules):
        cluster, name = ", ".join(rule.cluster), f"{kind}[{index}]"
        yield Entry(kind, row_kind, cluster, None, None, name, None, None, None, words(rule))
