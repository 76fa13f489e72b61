"""Slices with rules applied: placeholder pods, system namespaces, teams.

Row kinds never depend on team rules. Amounts are not touched here: what leaves `workload`
arrives in `headroom` or `system_overhead` whole.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from transforms.rules import HeadroomRule, SystemRule, TeamRule, Vocabulary


def normalise(
    slices: pl.LazyFrame,
    *,
    team_rules: Sequence[TeamRule],
    system: Sequence[SystemRule],
    headroom: Sequence[HeadroomRule],
) -> pl.LazyFrame:
    """Return the rows of `normalised`: as many rows as `slices`, with the same amounts.

    The first rule in file order that holds for a row's cluster, day and namespace decides.
    """
    values = Vocabulary(slices)
    held = _any(
        values.dates(rule) & values.names(rule.placeholder_pods)
        for rule in headroom
        if rule.placeholder_pods is not None
    )
    overhead = _any(values.places(rule) & values.names(rule) for rule in system)
    is_workload = pl.col("row_kind") == "workload"
    kind = pl.when(is_workload & held).then(pl.lit("headroom"))
    reason = pl.when(is_workload & held).then(pl.lit("placeholder_pods"))
    return (
        slices.with_columns(
            row_kind=kind.when(is_workload & overhead)
            .then(pl.lit("system_overhead"))
            .otherwise("row_kind"),
            reason=reason.when(is_workload & overhead)
            .then(pl.lit("system_namespace"))
            .otherwise("reason"),
        )
        .with_columns(team_columns(team_rules, values))
        .select(slices.collect_schema().names())
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
