"""Findings that look for the classic mistakes: each fires where it must, and nowhere else."""

from collections.abc import Sequence
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines import config, ledger, month, queries
from pipelines.lake import Lake
from tests.conftest import ROOT
from tests.ledger_cases import DAY, Row, book, charge, idle, insert, rule, workload
from tests.ledger_cases import ledger as prepared

Told = list[tuple[Any, ...]]
HOURS = Decimal(96)
"""Four cores for a day."""
BY_COST = rule("idle-2026", "proportional")
LATER = DAY + timedelta(days=1)


def told(con: duckdb.DuckDBPyConnection, name: str) -> Told:
    """Return severity, where, expected, actual, difference of the findings of one rule."""
    return con.execute(
        'SELECT severity, "where", expected, actual, difference FROM findings '
        "WHERE rule = $name ORDER BY ALL",
        {"name": name},
    ).fetchall()


def actual(con: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """Return what was found, in words."""
    return [finding[3] for finding in told(con, name)]


def pod(team: str, cost: str, requested: str | None, used: str | None = None, **more: Any) -> Row:
    """Return a workload row with quantities; it is charged for the larger of both."""
    quantities = [None if text is None else Decimal(text) for text in (requested, used)]
    charged = max((quantity for quantity in quantities if quantity is not None), default=None)
    names = ("requested_quantity", "used_quantity", "charged_quantity")
    return workload(team, cost, **dict(zip(names, (*quantities, charged), strict=True)), **more)


def after(
    before: Sequence[Row],
    now: Sequence[Row],
    *,
    rules: tuple[Row, ...] = (BY_COST,),
    rules_before: tuple[Row, ...] = (BY_COST,),
    settings_before: dict[str, str] | None = None,
) -> duckdb.DuckDBPyConnection:
    """Return the ledger of a month that came after another one."""
    last = book(before, *rules_before, billing_period="2026-09", **(settings_before or {}))
    con = prepared(now, *rules)
    for relation, query in (
        ("last_clusters", "FROM cluster_months"),
        ("last_teams", queries.read("read/last_teams")),
    ):
        found = last.sql(query)
        rows = [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]
        insert(con, relation, rows)
    ledger.build(con)
    return con


# ----------------------------------------------------------------------- negative idle


def test_negative_idle_names_the_cause_of_each_part() -> None:
    rows = [
        pod("ads", "10.8", "108", provider_idle_cost=Decimal(0)),
        idle("-1.2", capacity_quantity=HOURS),
        idle("-0.5", resource_id="i-2", node_name="node-2", charge_class="Correction"),
        idle("-0.25", resource_id="i-3", node_name="node-3", provider_idle_cost=Decimal("-0.25")),
        idle("7", resource_id="i-4", node_name="node-4"),
    ]
    assert told(book(rows, charge_basis="request"), "negative_idle") == [
        (
            "warning",
            "cpu, days of nodes: 3",
            "idle of 0 or more",
            (
                "-0.500000000000 USD: a correction of the provider; "
                "-1.200000000000 USD: pods request more than their nodes have; "
                "-0.250000000000 USD: the provider itself shows it so"
            ),
            "-1.950000000000",
        )
    ]


def test_on_the_providers_basis_nothing_is_blamed_on_requests() -> None:
    rows = [pod("ads", "10.8", "108", provider_idle_cost=Decimal(0)), idle("-1.2")]
    assert actual(book(rows), "negative_idle") == [
        "-1.200000000000 USD: the provider itself shows it so"
    ]


@pytest.mark.parametrize("cost", ["0", "1", "-0.000001"])
def test_rounding_below_0_is_no_negative_idle(cost: str) -> None:
    assert told(book([workload("ads", "1"), idle(cost)]), "negative_idle") == []


# ----------------------------------------------------------------------- idle that is hidden


HALF = pod("ads", "9.6", "48")
"""A pod that is charged all of a node of which it asked half."""
NO_IDLE = idle("0", capacity_quantity=HOURS)


def test_idle_that_was_spread_over_workloads_is_missed() -> None:
    con = book([HALF, NO_IDLE, workload("web", "3", resource_kind="memory")])
    assert told(con, "idle_hidden") == [
        (
            "warning",
            "cpu, nodes: 1",
            "idle of about 4.80 USD: pods were charged for 50.0 % of the capacity",
            "0.00 USD",
            "-4.80",
        )
    ]


GAP = {"row_kind": "unattributed", "reason": "split_gap", "resource_kind": "compute"}
SEEN: dict[str, list[Row]] = {
    "idle is shown": [pod("ads", "4.8", "48"), idle("4.8", capacity_quantity=HOURS)],
    "headroom took all of it": [
        pod("ads", "4.8", "48"),
        charge("4.8", row_kind="headroom", reason="policy"),
        NO_IDLE,
    ],
    "the provider's own reserve": [
        pod("ads", "4.8", "48"),
        charge("4.8", row_kind="system_overhead", reason="node_reserve", provider_class="x"),
        NO_IDLE,
    ],
    "nodes are nearly full": [pod("ads", "9.6", "86.4"), NO_IDLE],
    "capacity is unknown": [HALF, idle("0")],
    "what a pod was charged for is unknown": [HALF, pod("web", "0", None), NO_IDLE],
    "the split is known to miss something": [HALF, NO_IDLE, charge("5", **GAP)],
    "a single node of many": [
        HALF,
        NO_IDLE,
        pod("ads", "990.4", "9504", resource_id="i-2", node_name="node-2"),
        idle("96", capacity_quantity=100 * HOURS, resource_id="i-2", node_name="node-2"),
    ],
}


@pytest.mark.parametrize("case", SEEN)
def test_no_idle_is_missed_where(case: str) -> None:
    assert told(book(SEEN[case]), "idle_hidden") == []


# ----------------------------------------------------------------------- idle ratio fell


BEFORE = [pod("ads", "4", "40", "30"), idle("6")]
RAISED = [pod("ads", "7", "70", "30.5"), idle("3")]


def test_requests_that_were_raised_save_nothing() -> None:
    assert told(after(BEFORE, RAISED), "idle_ratio_fell") == [
        (
            "warning",
            "cluster as a whole, since 2026-09",
            "an idle ratio of 60.0 %, or a smaller bill",
            (
                "30.0 % for 10.00 USD a day (before 10.00); "
                "requests a day: cpu 70.0 (before 40.0), used 30.5 (before 30.0)"
            ),
            "-30.0 points",
        )
    ]


def test_months_of_different_length_are_compared_by_the_day() -> None:
    twice = [row | {"charge_period_start": day} for row in RAISED for day in (DAY, LATER)]
    assert len(told(after(BEFORE, twice), "idle_ratio_fell")) == 1
    again = [row | {"charge_period_start": day} for row in BEFORE for day in (DAY, LATER)]
    assert told(after(again, RAISED[:1]), "idle_ratio_fell") == []


FELL: dict[str, tuple[list[Row], list[Row]]] = {
    "there was no month before": ([], RAISED),
    "the bill fell too": (BEFORE, [pod("ads", "5", "70"), idle("2")]),
    "the ratio fell by less than two points": (BEFORE, [pod("ads", "4.1", "41"), idle("5.9")]),
    "the ratio rose": (RAISED, BEFORE),
    "no more is requested": (BEFORE, [pod("ads", "7", "40", "70"), idle("3")]),
    "requests are unknown": (BEFORE, [pod("ads", "7", None), idle("3")]),
    "requests were unknown": ([pod("ads", "4", None), idle("6")], RAISED),
}


@pytest.mark.parametrize("case", FELL)
def test_a_ratio_may_fall_where(case: str) -> None:
    assert told(after(*FELL[case]), "idle_ratio_fell") == []


@pytest.mark.parametrize("other", [{"charge_basis": "request"}, {"cost_view": "billed"}])
def test_what_was_counted_otherwise_is_not_compared(other: dict[str, str]) -> None:
    assert told(after(BEFORE, RAISED, settings_before=other), "idle_ratio_fell") == []


# ----------------------------------------------------------------------- headroom as waste


PLACEHOLDERS = [
    ("overprovisioning", "pause"),
    ("kube-ops", "cluster-overprovisioner"),
    ("infra", "capacity-placeholder"),
    ("balloon", "any"),
    ("default", "balloon-deploy"),
    ("infra", "spare-capacity-8xlarge"),
    ("Over-Provision", None),
]


@pytest.mark.parametrize(("namespace", "name"), PLACEHOLDERS)
def test_pods_that_look_like_placeholders_are_no_workload(namespace: str, name: str | None) -> None:
    named = {"namespace": namespace, "workload_name": name}
    rows = [pod("ads", "2.5", "10", "0.1", **named), workload("web", "1"), idle("1")]
    place = f"{namespace}/{name}" if name else namespace
    assert told(book(rows), "headroom_as_waste") == [
        (
            "warning",
            place,
            "headroom: capacity kept free on purpose",
            "2.500000000000 USD charged as workload; these pods look like placeholders",
            "2.500000000000",
        )
    ]


def test_the_hint_is_the_line_to_add() -> None:
    rows = [
        pod("ads", "2", "10", namespace=namespace, workload_name=name)
        for namespace, name in (("b", "pause"), ("a", "headroom"), ("a", "headroom-2"))
    ]
    [(where, hint)] = (
        book(rows)
        .sql("SELECT \"where\", hint FROM findings WHERE rule = 'headroom_as_waste'")
        .fetchall()
    )
    assert where == "a/headroom, a/headroom-2, b/pause"
    assert hint.endswith('[[headroom]] placeholder_pods = { namespace = ["a", "b"] }')


WORKING: dict[str, Row] = {
    "it does work": pod("ads", "2", "10", "1", namespace="overprovisioning"),
    "headroom names it": charge(
        "2", row_kind="headroom", reason="placeholder_pods", namespace="overprovisioning"
    ),
    "it is a part of a word": pod("ads", "2", "10", namespace="hot-air-balloons-shop"),
    "it is a disk": pod("ads", "2", "10", namespace="headroom", resource_kind="storage"),
    "it cost nothing": pod("ads", "0", "10", namespace="headroom"),
    "other names": pod("ads", "2", "10", namespace="provisioning", workload_name="pauses-app"),
}


@pytest.mark.parametrize("case", WORKING)
def test_workload_is_workload_where(case: str) -> None:
    assert told(book([WORKING[case], workload("web", "1")]), "headroom_as_waste") == []


# ----------------------------------------------------------------------- usage-based idle


def test_cost_of_use_that_the_provider_calls_idle_is_told_with_its_figure() -> None:
    own = {"provider_class": "#idle#", "provider_idle_cost": Decimal(2)}
    network = charge("3", row_kind="shared", reason="load_balancer", resource_kind="network", **own)
    assert told(book([workload("ads", "1"), idle("2", **own), network]), "usage_based_idle") == [
        (
            "info",
            "network, called #idle#",
            "idle of capacity that is paid by time",
            "2.000000000000 USD paid by use, which the provider calls idle",
            "2.000000000000",
        )
    ]
    assert told(book([workload("ads", "1"), idle("2", **own)]), "usage_based_idle") == []
    words = [network | {"provider_class": word} for word in ("z", "#idle#", "m", "a")]
    [(_, where, *_)] = told(book([workload("ads", "1"), *words]), "usage_based_idle")
    assert where == "network, called #idle#, a, m, z"


# ----------------------------------------------------------------------- teams not comparable


TWO = [workload("ads", "3"), workload("web", "1"), idle("4")]
THREE = [workload("ads", "3"), workload("web", "1"), workload("new", "1"), idle("5")]
EVEN = rule("idle-2026", "even")
KEPT = rule("idle-2026", "none")


def test_a_team_that_joined_makes_the_others_cheaper() -> None:
    assert told(after(TWO, THREE), "teams_not_comparable") == [
        (
            "warning",
            "teams' figures against 2026-09",
            "the same teams and the same way of sharing idle",
            "joined: new",
            "0.000000000000",
        )
    ]


def test_a_team_that_left_and_workload_without_team_are_named() -> None:
    nobody = [*TWO, workload(None, "1")]
    assert actual(after(THREE, nobody), "teams_not_comparable") == ["joined: (no team); left: new"]
    [finding] = told(after(THREE, TWO), "teams_not_comparable")
    assert finding[3:] == ("left: new", "0.000000000000")


def test_another_rule_is_named_before_and_after() -> None:
    con = after(TWO, TWO, rules=(EVEN,))
    assert [finding[3:] for finding in told(con, "teams_not_comparable")] == [
        (
            "idle by even in each cluster, before by proportional by resource in each cluster",
            "0.000000000000",
        )
    ]
    by_total = rule("idle-2026", "proportional", by="total", scope="node")
    assert actual(after(TWO, TWO, rules_before=(by_total,)), "teams_not_comparable") == [
        (
            "idle by proportional by resource in each cluster, "
            "before by proportional by total in each node"
        )
    ]
    [finding] = told(after(TWO, TWO, rules=(KEPT,)), "teams_not_comparable")
    assert finding[4] == "-4.000000000000"


def test_another_view_or_basis_is_named_and_amounts_of_two_views_are_not_subtracted() -> None:
    for other, difference in (
        ({"charge_basis": "request"}, "0.000000000000"),
        ({"cost_view": "billed"}, None),
    ):
        [finding] = told(after(TWO, TWO, settings_before=other), "teams_not_comparable")
        words = "counted in view effective and charged by provider, before not so"
        assert finding[3:] == (words, difference)


SMALL = [*TWO, workload("new", "0.04")]


def test_a_team_below_a_hundredth_counts_only_where_heads_count() -> None:
    assert told(after(TWO, SMALL), "teams_not_comparable") == []
    con = after(TWO, SMALL, rules=(EVEN,), rules_before=(EVEN,))
    assert actual(con, "teams_not_comparable") == ["joined: new"]


def test_teams_compare_where_nothing_changed_or_nothing_is_shared() -> None:
    assert told(after(TWO, TWO), "teams_not_comparable") == []
    assert told(after([], THREE), "teams_not_comparable") == []
    assert told(after(TWO, THREE, rules=(), rules_before=()), "teams_not_comparable") == []
    renamed = rule("idle-2027", "proportional")
    assert told(after(TWO, TWO, rules=(renamed,)), "teams_not_comparable") == []


# ----------------------------------------------------------------------- the demo


def test_the_clusters_of_the_demo_are_honest(tmp_path: Path) -> None:
    """Two of the providers do call cost of use idle, and one corrects an earlier month."""
    demo = config.load(ROOT / "fixtures" / "leerlauf.toml")
    moved = demo.model_copy(update={"lake": demo.lake.model_copy(update={"path": tmp_path})})
    outcome = month.run(moved, "2026-10")
    with Lake(tmp_path).connect(outcome.record) as con:
        for name in ("idle_hidden", "idle_ratio_fell", "headroom_as_waste", "teams_not_comparable"):
            assert told(con, name) == [], name
        called = con.sql(
            "SELECT DISTINCT provider FROM findings WHERE rule = 'usage_based_idle' ORDER BY ALL"
        ).fetchall()
        assert called == [("azure",), ("gcp",)]
        assert actual(con, "negative_idle") == ["-0.003789000000 USD: a correction of the provider"]
