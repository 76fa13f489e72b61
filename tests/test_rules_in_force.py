"""Which rule is in force, what it does, and which orders of team rules decide alike."""

from datetime import date
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import in_force
from pipelines.charges import Charge, apart, normal_form
from pipelines.in_force import Cluster, Effect
from tests.two_months import Row, config, rule

SHOP = Cluster("aws", "arn:aws:eks:eu-central-1:111111111111:cluster/shop", "shop")
OCTOBER = date(2026, 10, 1)


def effect(**keys: Any) -> Effect:
    """Return what one rule for idle does."""
    read = config(rule("r", **keys))
    return in_force.effect(in_force.allocation(read, "idle", SHOP, OCTOBER))


# ---------------------------------------------------------------------------------------------
# Allocation rules
# ---------------------------------------------------------------------------------------------


def test_the_first_rule_that_matches_kind_cluster_and_day_is_in_force() -> None:
    read = config(
        rule("fees", "even", "cluster_fee"),
        rule("other", "even", cluster=["data-*"]),
        rule("past", "even", valid_to="2026-10-01"),
        rule("now", "proportional", cluster=["sh?p"]),
        rule("later", "even"),
    )
    found = [
        in_force.allocation(read, kind, SHOP, OCTOBER) for kind in ("idle", "cluster_fee", "shared")
    ]
    assert [one.id if one else None for one in found] == ["now", "fees", None]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"method": "none"}, {"method": "none", "scope": "node", "by": "total"}),
        ({"method": "even", "by": "total"}, {"method": "even"}),
        (
            {"method": "fixed", "shares": {"a": 60, "b": 40}},
            {"method": "fixed", "shares": {"b": 2, "a": 3}},
        ),
        (
            {"method": "metric", "metric_file": "old/egress.csv"},
            {"method": "metric", "metric_file": "new/egress.csv", "fallback": "none"},
        ),
        (
            {"method": "metric", "metric_file": "m.csv", "metric": "egress"},
            {"method": "metric", "metric_file": "n.csv", "metric": "egress", "by": "total"},
        ),
        ({"method": "even", "teams": ["b", "a"]}, {"method": "even", "teams": ["a", "b", "a"]}),
    ],
)
def test_rules_that_do_the_same_are_one(one: Row, other: Row) -> None:
    assert effect(**one) == effect(**other)


PLAIN = {"method": "proportional"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (PLAIN, {"method": "even"}),
        (PLAIN, PLAIN | {"scope": "node"}),
        (PLAIN, PLAIN | {"by": "total"}),
        (PLAIN, PLAIN | {"teams": ["a"]}),
        (PLAIN, PLAIN | {"except": ["a"]}),
        (
            {"method": "fixed", "shares": {"a": 60, "b": 40}},
            {"method": "fixed", "shares": {"a": 50, "b": 50}},
        ),
        (
            {"method": "metric", "metric_file": "m.csv", "metric": "egress"},
            {"method": "metric", "metric_file": "m.csv", "metric": "requests"},
        ),
        (
            {"method": "metric", "metric_file": "m.csv"},
            {"method": "metric", "metric_file": "m.csv", "fallback": "even"},
        ),
        (
            {"method": "metric", "metric_file": "m.csv", "fallback": "proportional"},
            {"method": "metric", "metric_file": "m.csv", "fallback": "proportional", "by": "total"},
        ),
    ],
)
def test_rules_that_do_something_else_are_told_apart(one: Row, other: Row) -> None:
    assert effect(**one) != effect(**other)


def test_the_rules_of_one_day_hold_on_every_day() -> None:
    read = config(
        rule("old", "even", valid_to="2026-10-16"),
        rule("new", "none", valid_from="2026-10-16"),
        teams=[{"team": "x", "valid_from": "2026-11-01"}, {"team": "y"}],
    )
    fixed = in_force.as_of(read, OCTOBER)
    assert [(one.id, one.valid_to) for one in fixed.allocation_rules] == [("old", None)]
    assert [one.team for one in fixed.team_rules] == ["y"]
    assert in_force.turns(read, OCTOBER, date(2026, 11, 1)) == [
        date(2026, 10, 16),
        date(2026, 11, 1),
    ]
    assert in_force.turns(read, date(2026, 10, 16), date(2026, 10, 31)) == []


# ---------------------------------------------------------------------------------------------
# Team rules
# ---------------------------------------------------------------------------------------------


def same_teams(one: list[Row], other: list[Row], cluster: Cluster = SHOP) -> bool:
    """Say whether two lists of team rules charge the same."""
    found = [in_force.charges(config(teams=rules), cluster, OCTOBER) for rules in (one, other)]
    return in_force.same_charges(*found)


A = {"team": "a", "namespace": ["pay-*"]}
B = {"team": "b", "namespace": ["web"]}
ALL = {"team": "rest"}
LABEL = {"label": "acme.io/owner"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([A, B, ALL], [B, A, ALL]),
        ([A, ALL], [A, ALL, B]),
        ([A, ALL], [A, {"team": "x", "cluster": ["data-*"]}, ALL]),
        ([LABEL, ALL], [{"label": "acme_io_owner"}, ALL]),
        ([LABEL, ALL], [LABEL, LABEL | {"namespace": ["web"]}, ALL]),
        ([{"team": "a", "namespace": ["x", "y"]}], [{"team": "a", "namespace": [n]} for n in "yx"]),
        ([A, ALL], [A | {"namespace": ["pay-1", "pay-*"]}, ALL]),
        ([A, ALL], [A | {"namespace": ["pay-1"]}, A, ALL]),
        ([A], [A | {"valid_to": "2026-12-01"}]),
    ],
)
def test_orders_that_charge_the_same_are_one(one: list[Row], other: list[Row]) -> None:
    assert same_teams(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([A, B], [A]),
        ([A, ALL], [ALL, A]),
        ([LABEL, A], [A, LABEL]),
        ([A], [A | {"team": "x"}]),
        ([A], [A | {"namespace": ["pay-*", "buy"]}]),
        ([LABEL], [{"label": "team"}]),
        ([A], [A | {"valid_to": "2026-10-01"}]),
        (
            [{"team": "x", "namespace": ["pay-1"]}, A],
            [A, {"team": "x", "namespace": ["pay-1"]}],
        ),
    ],
)
def test_orders_that_charge_somebody_else_are_told_apart(one: list[Row], other: list[Row]) -> None:
    assert not same_teams(one, other)


def test_a_namespace_that_is_not_there_decides_nothing() -> None:
    there = SHOP._replace(namespaces=frozenset({"web"}))
    assert same_teams([A, B], [A | {"team": "x"}, B], there)
    assert not same_teams([A, B], [A, B | {"team": "x"}], there)
    assert not same_teams([A], [A | {"team": "x"}], SHOP._replace(namespaces=frozenset({"pay-1"})))
    assert not same_teams([ALL], [ALL | {"team": "x"}], SHOP._replace(namespaces=frozenset()))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("pay", "web", True),
        ("pay", "pay", False),
        ("pay-*", "web", True),
        ("pay-*", "pay-1", False),
        ("pay-*", "web-*", True),
        ("pay-*", "pa*", False),
        ("*-a", "*-b", False),
        ("*", "web", False),
    ],
)
def test_patterns_that_meet_on_no_name_are_apart(one: str, other: str, expected: bool) -> None:
    assert (apart(one, other), apart(other, one)) == (expected, expected)


NAMES = ("pay", "pay-1", "web")
CHARGES = st.builds(
    Charge,
    st.sampled_from(["pay", "pay-1", "pay*", "web", "*"]),
    st.sampled_from(["", "owner"]),
    st.sampled_from(["a", "b"]),
).map(lambda one: one._replace(team="" if one.label else one.team))


def decided(charges: tuple[Charge, ...], namespace: str, owner: str) -> str:
    """Say who pays, as the rules are read: the first that names somebody."""
    for one in charges:
        meets = one.namespace in {namespace, "*"} or (
            one.namespace == "pay*" and namespace.startswith("pay")
        )
        named = owner if one.label else one.team
        if meets and named:
            return named
    return ""


@given(st.lists(CHARGES, max_size=6).map(tuple))
def test_the_normal_form_charges_the_same(charges: tuple[Charge, ...]) -> None:
    short = normal_form(charges)
    assert len(short) <= len(charges)
    for name in NAMES:
        for owner in ("", "somebody"):
            assert decided(short, name, owner) == decided(charges, name, owner)


@settings(deadline=None)  # all orders at once
@given(st.lists(CHARGES, max_size=4, unique=True).map(tuple))
def test_orders_with_one_normal_form_charge_the_same(charges: tuple[Charge, ...]) -> None:
    forms: dict[tuple[Charge, ...], set[tuple[str, ...]]] = {}
    for order in permutations(charges):
        who = tuple(decided(order, name, owner) for name in NAMES for owner in ("", "x"))
        forms.setdefault(normal_form(order), set()).add(who)
    assert all(len(who) == 1 for who in forms.values())
