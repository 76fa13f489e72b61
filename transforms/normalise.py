"""Slices with rules applied: placeholder pods, system namespaces, teams.

Row kinds never depend on team rules. Amounts are not touched here: what leaves `workload`
arrives in `headroom` or `system_overhead` whole.
"""

from collections.abc import Sequence

import polars as pl

from transforms.rules import NamespaceRule, TeamRule, Vocabulary, holds


def normalise(
    slices: pl.LazyFrame,
    *,
    team_rules: Sequence[TeamRule],
    system: Sequence[NamespaceRule],
    placeholder_pods: Sequence[NamespaceRule],
) -> pl.LazyFrame:
    """Return the rows of `normalised`: as many rows as `slices`, with the same amounts.

    The first rule in file order that holds for a row's cluster, day and namespace decides.
    """
    values = Vocabulary(slices)
    is_headroom = _any(placeholder_pods, values)
    is_system = _any(system, values)
    is_workload = pl.col("row_kind") == "workload"
    kinds = slices.with_columns(
        row_kind=pl.when(is_workload & is_headroom)
        .then(pl.lit("headroom"))
        .when(is_workload & is_system)
        .then(pl.lit("system_overhead"))
        .otherwise("row_kind"),
        reason=pl.when(is_workload & is_headroom)
        .then(pl.lit("placeholder_pods"))
        .when(is_workload & is_system)
        .then(pl.lit("system_namespace"))
        .otherwise("reason"),
    )
    return kinds.with_columns(_team(team_rules, values)).select(slices.collect_schema().names())


def _any(rules: Sequence[NamespaceRule], values: Vocabulary) -> pl.Expr:
    matches = [holds(rule, values) & values.namespace_matches(rule.namespace) for rule in rules]
    return pl.any_horizontal(matches) if matches else pl.lit(value=False)


def _team(rules: Sequence[TeamRule], values: Vocabulary) -> list[pl.Expr]:
    """The first rule that gives a workload a team, and which rule that was."""
    is_workload = pl.col("row_kind") == "workload"
    found = [pl.when(is_workload & holds(rule, values)).then(_named(rule, values)) for rule in rules]
    names = [
        pl.when(team.is_not_null()).then(pl.lit(f"team_rule[{index}]"))
        for index, team in enumerate(found)
    ]
    nobody = pl.lit(None, dtype=pl.String)
    return [
        pl.coalesce(*found, nobody).alias("team"),
        pl.coalesce(*names, nobody).alias("team_rule"),
    ]


def _named(rule: TeamRule, values: Vocabulary) -> pl.Expr:
    """The team a rule names: by label, or by namespace, or both together."""
    named = pl.lit(rule.team, dtype=pl.String)
    if rule.label is not None:
        label = pl.col("labels").map.get(rule.label)
        named = pl.when(label.is_not_null()).then(named if rule.team else label)
    if rule.namespace:
        named = pl.when(values.namespace_matches(rule.namespace)).then(named)
    return named
