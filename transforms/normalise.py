"""Slices with the dated decisions applied: from what a provider split to rows with a meaning.

1. Row kinds: placeholder pods become headroom, system namespaces overhead. Rows stay whole.
2. Teams. Row kinds never depend on them.
3. Node reserve: the part of idle that nodes cannot allocate becomes overhead.
4. Policy headroom: the part of the rest that is kept free on purpose.
5. Causes: why what is left stood idle.

From step 3 on only idle rows change; what leaves one arrives in a new row, in both views.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import polars as pl

from transforms.causes import Nodes, with_causes
from transforms.keep_free import policy_headroom
from transforms.node_costs import node_month
from transforms.reserve import node_reserve
from transforms.rules import Decisions, TeamRule, Vocabulary
from transforms.sliced import Sliced, findings_frame


class Normalised(NamedTuple):
    """Rows of the table `normalised`, in no order, and what a person must know about them."""

    rows: pl.LazyFrame
    findings: pl.DataFrame


def normalise(sliced: Sliced, decisions: Decisions, allocatable: pl.DataFrame) -> Normalised:
    """Return the rows of `normalised`: the amounts of the slices, under the decisions.

    allocatable: ALLOCATABLE, what nodes can allocate; without rows where nobody says it.
    The first decision in file order that holds for a row decides.
    """
    slices = sliced.slices.lazy()
    names = Vocabulary(slices)
    rows = _with_kinds(slices, decisions, names)
    is_idle = pl.col("row_kind") == "idle"
    idle = rows.filter(is_idle).collect(engine="streaming")
    month = node_month(sliced, rows)
    reserved = node_reserve(idle, month, allocatable)
    held = policy_headroom(reserved.idle, reserved.moved, month, decisions.headroom, names)
    nodes = Nodes(rows, month, sliced.pod_requests)
    stood = with_causes(held.idle, nodes, decisions.node_pools, names)
    whole = rows.filter(~is_idle).with_columns(team_columns(decisions.team_rules, names))
    carved = pl.concat([stood, reserved.moved, held.moved])
    columns = sliced.slices.columns
    return Normalised(
        pl.concat([whole.select(columns), carved.lazy().select(columns)]),
        findings_frame([*reserved.findings, *held.findings]),
    )


def _with_kinds(slices: pl.LazyFrame, decisions: Decisions, names: Vocabulary) -> pl.LazyFrame:
    """Give placeholder pods and pods of system namespaces their kinds."""
    held = _any(
        names.dates(rule) & names.names(rule.placeholder_pods)
        for rule in decisions.headroom
        if rule.placeholder_pods is not None
    )
    overhead = _any(names.places(rule) & names.names(rule) for rule in decisions.system)
    is_workload = pl.col("row_kind") == "workload"
    kind = pl.when(is_workload & held).then(pl.lit("headroom"))
    reason = pl.when(is_workload & held).then(pl.lit("placeholder_pods"))
    return slices.with_columns(
        row_kind=kind.when(is_workload & overhead)
        .then(pl.lit("system_overhead"))
        .otherwise("row_kind"),
        reason=reason.when(is_workload & overhead)
        .then(pl.lit("system_namespace"))
        .otherwise("reason"),
    )


def _any(matches: Iterable[pl.Expr]) -> pl.Expr:
    return pl.any_horizontal(pl.lit(value=False), *matches)


def team_columns(rules: Sequence[TeamRule], values: Vocabulary) -> list[pl.Expr]:
    """Columns `team` and `team_rule`: the first rule that gives a workload a team, and its name."""
    is_workload = pl.col("row_kind") == "workload"
    nobody = pl.lit(None, dtype=pl.String)
    found = [
        pl.when(is_workload & values.dates(rule) & values.names(rule)).then(_named(rule))
        for rule in rules
    ]
    names = [
        pl.when(team.is_not_null()).then(pl.lit(f"team_rule[{index}]"))
        for index, team in enumerate(found)
    ]
    return [
        pl.coalesce(*found, nobody).alias("team"),
        pl.coalesce(*names, nobody).alias("team_rule"),
    ]


def _named(rule: TeamRule) -> pl.Expr:
    """The value of the rule's label, or the rule's own team."""
    if rule.label is None:
        return pl.lit(rule.team, dtype=pl.String)
    return pl.col("labels").map.get(rule.label)
