"""`leerlauf variance`: why figures moved, in parts that add up; figures by hand for each part."""

import json
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines import machine_rules, two_months, variance
from pipelines.config import Config
from pipelines.errors import ConfigurationError
from pipelines.lake import Lake
from pipelines.two_months import Variance
from pipelines.variance import PARTS, PartsDoNotAddUpError
from pipelines.variance_figures import Line, Place, Statement, money
from pipelines.variance_words import sentence
from tests.ledger_cases import SHOP
from tests.small_month import said
from tests.strategies import months as random_months
from tests.two_months import (
    OCTOBER,
    SEPTEMBER,
    Row,
    config,
    correction,
    day,
    fee,
    idle,
    pods,
    publish,
    rule,
)

PLACE = Place("aws", "USD", SHOP)
SHARED = config(rule("idle", "proportional"))
BEFORE = [pods("a", "10", "10"), pods("b", "10", "10"), pods("c", "20", "20"), idle("40", "80")]
"""Each core hour costs 1; half of 80 stand idle. a and b bear 10 of it each, c bears 20."""


def compared(path: Path, before: Sequence[Row], after: Sequence[Row], *read: Config) -> Variance:
    """Publish September and October under the first and the last configuration; compare them."""
    configurations = read or (SHARED,)
    publish(path, SEPTEMBER, before, configurations[0])
    publish(path, OCTOBER, after, configurations[-1])
    return two_months.compared(Lake(path), SEPTEMBER, OCTOBER)


def parts(found: Variance, team: str | None, place: Place = PLACE) -> dict[str, str]:
    """Return the parts of a line that are not 0, as text."""
    move = found.moves[Line(place, team)]
    assert list(move.parts) == list(PARTS)
    return {part: f"{money(whole).normalize():f}" for part, whole in move.parts.items() if whole}


def why(found: Variance, team: str | None) -> str:
    """Return the sentence of a line."""
    return sentence(found, Line(PLACE, team))


# ---------------------------------------------------------------------------------------------
# Each part by hand
# ---------------------------------------------------------------------------------------------


def test_a_team_that_asks_for_more_pays_it_and_its_part_of_the_idle(tmp_path: Path) -> None:
    # a doubles: 20 of 50 instead of 10 of 40 are 2/5 instead of 1/4; of 40 idle 16 instead of 10.
    # October stands idle for 30: 2/5 of the 10 less.
    after = [pods("a", "20", "20"), *BEFORE[1:3], idle("30", "80")]
    found = compared(tmp_path, BEFORE, after)
    assert parts(found, "a") == {"own_requests": "16", "idle_volume": "-4"}
    assert why(found, "a") == (
        "+12.00 USD: +16.00 because its workload took 100.0 % more, "
        "-4.00 because the cluster stood idle for 10.00 less"
    )
    # b has 1/4 of 10 less, and 1/5 instead of 1/4 of 30
    assert parts(found, "b") == {"idle_volume": "-2.5", "others": "-1.5"}
    assert why(found, "b") == (
        "-4.00 USD, of which 2.50 because the cluster stood idle for 10.00 less"
    )


def test_a_dearer_unit_is_a_price_for_workload_and_idle(tmp_path: Path) -> None:
    after = [pods("a", "11", "10"), pods("b", "11", "10"), pods("c", "22", "20"), idle("44", "80")]
    found = compared(tmp_path, BEFORE, after)
    assert parts(found, "a") == {"unit_price": "2"}
    assert parts(found, "c") == {"unit_price": "4"}
    assert why(found, "a") == "+2.00 USD, because a vCPU-hour costs 10.0 % more"


def test_without_capacity_dearer_idle_is_volume(tmp_path: Path) -> None:
    before = [*BEFORE[:3], idle("40")]
    after = [pods("a", "11", "10"), pods("b", "11", "10"), pods("c", "22", "20"), idle("44")]
    found = compared(tmp_path, before, after)
    assert parts(found, "a") == {"unit_price": "1", "idle_volume": "1"}
    assert found.moves[Line(PLACE, "a")].around.prices == {}


def test_the_price_of_a_unit_counts_what_nodes_reserve(tmp_path: Path) -> None:
    kept = {"row_kind": "system_overhead", "reason": "node_reserve", "split_source": None}
    before = [pods("a", "10", "10"), idle("22", "40"), pods(None, "8", **kept)]
    after = [pods("a", "10", "10"), idle("24", "40"), pods(None, "16", **kept)]
    found = compared(tmp_path, before, after, config())
    # 40 core hours cost 50 instead of 40: 22 would be 27.50, and are 24
    assert parts(found, "platform") == {
        "unit_price": "5.5",
        "idle_volume": "-3.5",
        "headroom_and_overhead": "8",
    }


def test_without_quantities_all_of_a_workload_is_its_own(tmp_path: Path) -> None:
    before = [pods("a", "10"), pods("b", "30"), idle("40")]
    after = [pods("a", "20"), pods("b", "30"), idle("50")]
    found = compared(tmp_path, before, after)
    # 20 of 50 instead of 10 of 40: 16 of 40 idle instead of 10, and 2/5 of the 10 more
    assert parts(found, "a") == {"own_requests": "16", "idle_volume": "4"}


def test_more_idle_is_volume(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, [*BEFORE[:3], idle("60", "100")])
    assert parts(found, "a") == {"idle_volume": "5"}
    assert why(found, "a") == "+5.00 USD, because the cluster stood idle for 20.00 more"


def test_idle_of_each_resource_kind_moves_by_itself(tmp_path: Path) -> None:
    # a bears 3/4 of idle cpu and 1/4 of idle memory; nobody requests anything else
    memory = {"resource_kind": "memory", "quantity_unit": "GiB-Hours"}
    pairs = [pods("a", "30", "30"), pods("b", "10", "10")]
    pairs += [pods("a", "5", "50", **memory), pods("b", "15", "150", **memory)]
    before = [*pairs, idle("40", "80"), idle("20", "400", resource_kind="memory")]
    after = [*pairs, idle("60", "100"), idle("20", "400", resource_kind="memory")]
    found = compared(tmp_path, before, after)
    assert parts(found, "a") == {"idle_volume": "15"}
    assert parts(found, "b") == {"idle_volume": "5"}
    assert why(found, "b") == "+5.00 USD, because the cluster stood idle for 20.00 more"


def test_its_own_growth_of_one_resource_moves_the_idle_of_that_resource(tmp_path: Path) -> None:
    # a bears 3/5 instead of 1/3 of idle cpu, and 1/4 of idle memory as before
    memory = {"resource_kind": "memory", "quantity_unit": "GiB-Hours"}
    rest = [pods("b", "20", "20"), idle("20", "400", resource_kind="memory")]
    rest += [pods("a", "5", "50", **memory), pods("b", "15", "150", **memory)]
    before = [pods("a", "10", "10"), *rest, idle("60", "90")]
    after = [pods("a", "30", "30"), *rest, idle("40", "90")]
    found = compared(tmp_path, before, after)
    assert parts(found, "a") == {"own_requests": "36", "idle_volume": "-12"}
    # b has 2/3 of 20 less, and 2/5 instead of 2/3 of 40
    assert parts(found, "b") == {"idle_volume": "-13.333333333333", "others": "-10.666666666667"}


def test_idle_by_total_weighs_by_all_node_workload(tmp_path: Path) -> None:
    # a grows in cpu alone: 40 of 60 instead of 20 of 40, of idle cpu and of idle memory
    memory = {"resource_kind": "memory", "quantity_unit": "GiB-Hours"}
    rest = [pods("b", "20", "20"), idle("20", "400", resource_kind="memory")]
    rest += [pods("a", "10", "100", **memory)]
    before = [pods("a", "10", "10"), *rest, idle("60", "90")]
    after = [pods("a", "30", "30"), *rest, idle("60", "110")]
    found = compared(tmp_path, before, after, config(rule("idle", "proportional", by="total")))
    assert parts(found, "a") == {"own_requests": "33.333333333333"}
    assert parts(found, "b") == {"others": "-13.333333333333"}


def test_who_leaves_leaves_its_idle_to_the_others(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, [*BEFORE[:2], idle("60", "80")])
    assert parts(found, "a") == {"idle_volume": "5", "others": "15"}
    assert why(found, "a") == "+20.00 USD, of which 15.00 because team c left cluster shop"
    assert parts(found, "c") == {"own_requests": "-40"}
    assert why(found, "c") == "-40.00 USD, because it left cluster shop"


def test_who_joins_takes_idle_from_the_others(tmp_path: Path) -> None:
    after = [*BEFORE[:3], pods("d", "20", "20"), idle("20", "80")]
    found = compared(tmp_path, BEFORE, after)
    # 1/4 of 20 less, and 1/6 instead of 1/4 of 20
    assert parts(found, "a") == {"idle_volume": "-5", "others": "-1.666666666667"}
    # a third of 40, then of the 20 less
    assert parts(found, "d") == {
        "own_requests": "33.333333333334",
        "idle_volume": "-6.666666666667",
    }
    assert why(found, "a").startswith("-6.67 USD, of which 5.00 because the cluster stood idle")
    assert "because it came to cluster shop" in why(found, "d")


def test_others_that_ask_for_more_take_idle_too(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, [*BEFORE[:2], pods("c", "60", "60"), idle("40", "120")])
    assert parts(found, "a") == {"others": "-5"}
    assert why(found, "a") == "-5.00 USD, because other teams requested more"


def test_fees_overhead_and_headroom_are_one_part(tmp_path: Path) -> None:
    read = config(rule("fee", "even", "cluster_fee"), rule("room", "even", "headroom"))
    room = {"row_kind": "headroom", "reason": "placeholder_pods"}
    before = [pods("a", "10"), pods("b", "10"), fee("6"), pods("x", "4", **room)]
    after = [pods("a", "10"), pods("b", "10"), fee("16"), pods("x", "2", **room)]
    found = compared(tmp_path, before, after, read)
    assert parts(found, "a") == {"headroom_and_overhead": "4"}
    more = "its part of the cluster fee is 5.00 higher (of other kinds 1.00 lower)"
    assert why(found, "a") == f"+4.00 USD, because {more}"


def test_what_nobody_distributes_moves_the_operator_alone(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, [*BEFORE[:2], idle("60", "80")], config())
    assert parts(found, "platform") == {"idle_volume": "20"}
    assert parts(found, "a") == {}
    assert why(found, "a") == "+0.00 USD"


def test_workload_without_a_team_weighs_for_the_operator(tmp_path: Path) -> None:
    before = [pods("a", "10", "10"), pods("nobody", "10", "10"), idle("40", "60")]
    after = [pods("a", "10", "10"), pods("nobody", "30", "30"), idle("40", "80")]
    found = compared(tmp_path, before, after)
    assert parts(found, "platform") == {"own_requests": "10"}
    assert why(found, "platform") == "+10.00 USD, because workload without a team took more"
    assert parts(found, None) == {"own_requests": "20"}
    assert parts(found, "a") == {"others": "-10"}


def test_corrections_are_a_part_of_their_own(tmp_path: Path) -> None:
    read = config(rule("idle", "proportional"))
    after = [*BEFORE, correction(pods("a", "-3")), correction(fee("5"))]
    found = compared(tmp_path, BEFORE, after, read)
    assert parts(found, "platform") == {"corrections": "5"}
    # the correction weighs: a has 7 of 37 instead of 10 of 40, of 40 idle
    assert parts(found, "a") == {"others": "-2.432432432433", "corrections": "-3"}
    assert why(found, "platform") == "+5.00 USD, because corrections of earlier charges are higher"


def test_a_method_that_asks_nobody_what_it_took_has_no_own_part_of_idle(tmp_path: Path) -> None:
    after = [pods("a", "30", "30"), *BEFORE[1:3], idle("40", "100")]
    found = compared(tmp_path, BEFORE, after, config(rule("idle", "even")))
    assert parts(found, "a") == {"own_requests": "20"}
    gone = compared(tmp_path / "2", BEFORE, BEFORE[1:], config(rule("idle", "even")))
    assert parts(gone, "b")["others"] == "6.666666666667"
    assert why(gone, "b") == "+6.67 USD, because team a left cluster shop"


# ---------------------------------------------------------------------------------------------
# Rules
# ---------------------------------------------------------------------------------------------


def test_another_rule_is_a_part_of_its_own(tmp_path: Path) -> None:
    later = config(rule("even", "even"))
    found = compared(tmp_path, BEFORE, [*BEFORE[:3], idle("60", "100")], SHARED, later)
    # by September's rules 15 of 60; even 20
    assert parts(found, "a") == {"idle_volume": "5", "rule_change": "5"}
    assert parts(found, "c") == {"idle_volume": "10", "rule_change": "-10"}
    assert why(found, "a") == (
        "+10.00 USD, of which 5.00 because the cluster stood idle for 20.00 more"
    )
    assert why(found, "c") == (
        "+0.00 USD: +10.00 because the cluster stood idle for 20.00 more, "
        "-10.00 because idle is now even instead of proportional by resource"
    )


def test_a_rule_that_changes_inside_the_older_month_is_one_too(tmp_path: Path) -> None:
    read = config(
        rule("first", "none", valid_to="2026-09-16"), rule("then", "even", valid_from="2026-09-16")
    )
    found = compared(tmp_path, BEFORE, BEFORE, read)
    # September's rows are of the 1st, when the operator kept it; on its last day it was even
    assert parts(found, "platform") == {"rule_change": "-40"}
    assert parts(found, "a") == {"rule_change": "13.333333333334"}


def test_only_the_days_before_the_change_move_by_it(tmp_path: Path) -> None:
    read = config(
        rule("first", "none", valid_to="2026-09-16"), rule("then", "even", valid_from="2026-09-16")
    )
    later = [row | {"charge_period_start": day(SEPTEMBER, 20)} for row in BEFORE]
    found = compared(tmp_path, [*BEFORE, *later], BEFORE, read)
    assert parts(found, "platform") == {"rule_change": "-40"}


def test_another_team_rule_moves_all_that_follows_the_workload(tmp_path: Path) -> None:
    teams = [{"team": "a", "namespace": ["a", "b"]}, {"team": "c", "namespace": ["c"]}]
    later = config(rule("idle", "proportional"), teams=teams)
    found = compared(tmp_path, BEFORE, BEFORE, SHARED, later)
    assert parts(found, "a") == {"rule_change": "20"}
    assert parts(found, "b") == {"rule_change": "-20"}
    assert why(found, "b") == (
        "-20.00 USD, because workload is now charged to team a for namespace b instead of "
        "team b for namespace b"
    )


def test_another_operator_is_a_rule_change(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, BEFORE, config(), config(operator="sre"))
    assert parts(found, "sre") == {"rule_change": "40"}
    assert parts(found, "platform") == {"rule_change": "-40"}
    assert why(found, "sre") == (
        "+40.00 USD, because sre now operates the cluster instead of platform"
    )


# ---------------------------------------------------------------------------------------------
# Clusters and currencies
# ---------------------------------------------------------------------------------------------


def test_each_cluster_and_currency_has_its_own_lines(tmp_path: Path) -> None:
    data = {"cluster_id": "data", "cluster_name": "data"}
    before = [*BEFORE, pods("a", "5", **data)]
    after = [*BEFORE, pods("a", "9", billing_currency="JPY", **data), idle("3", **data)]
    found = compared(tmp_path, before, after)
    assert parts(found, "a") == {}
    assert parts(found, "a", Place("aws", "USD", "data")) == {"own_requests": "-5"}
    assert parts(found, "a", Place("aws", "JPY", "data")) == {"own_requests": "9"}
    assert sentence(found, Line(Place("aws", "JPY", "data"), "a")).startswith("+9 JPY, because it")
    assert parts(found, "platform", Place("aws", "USD", "data")) == {"idle_volume": "3"}


# ---------------------------------------------------------------------------------------------
# All of it, always
# ---------------------------------------------------------------------------------------------

READ = [
    SHARED,
    config(),
    config(rule("idle", "even", "idle", "headroom", "shared", scope="node")),
    config(
        rule("early", "proportional", by="total", valid_to="2026-09-01"),
        rule("late", "even", valid_to="2026-10-01"),
        rule("rest", "proportional", scope="node_pool"),
        rule("fixed", "fixed", "cluster_fee", "system_overhead", shares={"ads": 1, "web": 2}),
        operator=None,
    ),
]
NAMES = ["ads", "batch", "Zoo", "ärger", "platform", "web"]


def of_teams(rows: list[Row]) -> list[Row]:
    """Give workload the namespace of its team, some rows quantities, and make some corrections."""
    return [
        row
        | {"namespace": row.get("team") or "nobody"}
        | ({"charged_quantity": Decimal(index)} if index % 3 else {})
        | ({"capacity_quantity": Decimal(index + 1)} if row["row_kind"] == "idle" else {})
        | ({"charge_class": "Correction"} if index % 5 == 4 else {})
        for index, row in enumerate(rows)
    ]


def check_random(path: Path, before: list[Row], after: list[Row], older: int, newer: int) -> None:
    teams = [{"team": name, "namespace": [name]} for name in NAMES]
    read = [
        one.model_copy(update={"team_rules": config(teams=teams).team_rules})
        for one in (READ[older], READ[newer])
    ]
    found = compared(path, of_teams(before), of_teams(after), *read)
    totals = [
        {
            (row["team"], row["cluster_id"], row["billing_currency"]): Decimal(row["total"])
            for row in statements(path, month)
        }
        for month in (SEPTEMBER, OCTOBER)
    ]
    rows = machine_rules.variance(found).model_dump()["rows"]
    moved: dict[Any, Decimal] = {}
    for row in rows:
        key = (row["team"], row["cluster_id"], row["billing_currency"])
        moved[key] = moved.get(key, Decimal(0)) + Decimal(row["amount"])
    assert totals[0].keys() | totals[1].keys() <= moved.keys()
    assert {key: amount for key, amount in moved.items() if amount} == {
        key: change
        for key in moved
        if (change := totals[1].get(key, Decimal(0)) - totals[0].get(key, Decimal(0)))
    }


def statements(path: Path, month: str) -> list[dict[str, Any]]:
    """Return the statements of a month of a lake."""
    lake = Lake(path)
    answer = lake.connect(lake.newest(month)).execute("FROM statements")
    names = [column[0] for column in answer.description or ()]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


PAIRS = given(
    random_months, random_months, st.integers(0, len(READ) - 1), st.integers(0, len(READ) - 1)
)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@PAIRS
def test_parts_add_up_on_any_two_months(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[Row],
    after: list[Row],
    older: int,
    newer: int,
) -> None:
    check_random(tmp_path_factory.mktemp("pair"), before, after, older, newer)


@pytest.mark.soak
@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@PAIRS
def test_parts_add_up_on_many_pairs_of_months(
    tmp_path_factory: pytest.TempPathFactory,
    before: list[Row],
    after: list[Row],
    older: int,
    newer: int,
) -> None:
    check_random(tmp_path_factory.mktemp("pair"), before, after, older, newer)


def test_parts_that_do_not_add_up_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(tmp_path, SEPTEMBER, BEFORE, SHARED)
    publish(tmp_path, OCTOBER, BEFORE, SHARED)
    line = Line(PLACE, "a")
    moves = variance.moves

    def forgetful(pair: variance.Pair) -> Any:
        of_october = {**pair.statements[1], line: Statement(total=1)}
        return moves(replace(pair, statements=(pair.statements[0], of_october)))

    monkeypatch.setattr(two_months, "moves", forgetful)
    with pytest.raises(PartsDoNotAddUpError, match=r"for -?[0-9]+ quanta"):
        two_months.compared(Lake(tmp_path), SEPTEMBER, OCTOBER)


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake of September and October, in which c left and the rule changed."""
    path = tmp_path_factory.mktemp("variance") / "lake"
    compared(path, BEFORE, [*BEFORE[:2], idle("60", "80")], SHARED, config(rule("even", "even")))
    return path


def test_a_program_gets_every_part_and_both_months_restated(
    lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = said(capsys, "variance", SEPTEMBER, OCTOBER, "--lake", lake, "--json")
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    of_a = {"provider": "aws", "billing_currency": "USD", "team": "a", "cluster_id": SHOP}
    told = "+20.00 USD, of which 15.00 because team c left cluster shop"
    assert document["billing_period"] == OCTOBER
    assert document["rows"][:7] == [
        of_a | {"part": part, "amount": f"{amount}.000000000000", "sentence": told}
        for part, amount in zip(PARTS, (0, 0, 5, 15, 0, 0, 0), strict=True)
    ]
    assert len(document["rows"]) == 3 * len(PARTS)
    totals = [
        (row["team"], row["month"], row["total"][:5], row["total_under_other_rules"][:5])
        for row in document["restated"]
    ]
    assert totals == [
        ("a", SEPTEMBER, "20.00", "23.33"),
        ("b", SEPTEMBER, "20.00", "23.33"),
        ("c", SEPTEMBER, "40.00", "33.33"),
        ("a", OCTOBER, "40.00", "40.00"),
        ("b", OCTOBER, "40.00", "40.00"),
    ]
    assert {row["reason"] for row in document["restated"]} == {None}


@pytest.mark.parametrize(
    ("months", "what"),
    [
        ((OCTOBER, SEPTEMBER), "not an older month and a newer one"),
        ((OCTOBER, OCTOBER), "not an older month and a newer one"),
        (("2026-08", OCTOBER), "no run of 2026-08 is published in this lake"),
        ((SEPTEMBER, "2026-11"), "no run of 2026-11 is published in this lake"),
        ((SEPTEMBER, "october"), "not a month"),
        ((SEPTEMBER, "9998-01"), "a month in the future"),
    ],
)
def test_two_months_in_order_that_were_run_are_needed(
    lake: Path, capsys: pytest.CaptureFixture[str], months: tuple[str, str], what: str
) -> None:
    failed = said(capsys, "variance", *months, "--lake", lake)
    assert (failed.code, failed.out) == (2, "")
    assert f"error: {what}" in failed.err
    document = json.loads(said(capsys, "variance", *months, "--lake", lake, "--json").out)
    assert (document["status"], document["rows"]) == ("failed", [])
    named = [month for month in months if month != "october"]
    assert document["billing_period"] == named[-1]


@pytest.mark.parametrize(("key", "value"), [("cost_view", "billed"), ("charge_basis", "request")])
def test_months_that_count_something_else_are_not_compared(
    tmp_path: Path, key: str, value: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        compared(tmp_path, BEFORE, BEFORE, SHARED, config(report={key: value}))
    assert refused.value.where == key
    assert refused.value.hint == f"Run 2026-09 again with {key} = '{value}'."
