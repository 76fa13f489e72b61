"""`leerlauf explain`: every posting, and of which nodes, causes and weights its idle was made."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines import show_explain
from pipelines.explaining import Explained, explained
from pipelines.objects import IdleOfNode, Posting
from tests.ledger_cases import DAY, Row, book, charge, idle, rule, workload
from tests.small_month import said
from tests.strategies import months
from tests.test_show import between, lines
from tests.two_months import OCTOBER, SEPTEMBER, config, pods, publish
from tests.two_months import idle as stood_idle
from tests.two_months import rule as allocation_rule
from transforms.schema import TABLES

Found = list[tuple[Any, ...]]
NEXT = {"charge_period_start": DAY.replace(day=2)}


def node(number: int, **columns: Any) -> Row:
    """Return where a row is: on a node of the pool m5."""
    name = {"resource_id": f"i-{number}", "node_name": f"node-{number}"}
    return name | {"node_pool": "m5"} | columns


MONTH = [
    workload("ads", "3", **node(1)),
    workload("web", "1", **node(2)),
    idle("4", **node(1, cause="stranded")),
    idle("2", **node(2, cause="fragment")),
    idle("1", **node(2, cause="empty_node", reason="empty_node", provider_class=None)),
    charge("0.4", row_kind="headroom", reason="policy", **node(1)),
    charge("0.2", row_kind="system_overhead", reason="node_reserve", **node(1)),
    workload("ads", "1", **node(1), **NEXT),
    idle("8", **node(3, cause="rest"), **NEXT),
]
SHARED = rule("idle-2026", "proportional", "idle", "headroom")


def made_of(con: duckdb.DuckDBPyConnection, team: str) -> Found:
    """Return node, cause, amount and part of what a team's idle is made of, without the pool."""
    return [
        (row["node_name"], row["cause"], row["amount"], row["part"])
        for row in explained(con, team).idle
    ]


# ----------------------------------------------------------------------- the nodes


def test_idle_and_headroom_are_told_by_node_and_cause() -> None:
    found = explained(book(MONTH, SHARED), "ads").idle
    assert {(row["provider"], row["billing_currency"], row["node_pool"]) for row in found} == {
        ("aws", "USD", "m5")
    }
    shown = [
        (row["pool_id"].split("/")[0], row["node_name"], row["cause"], row["amount"], row["part"])
        for row in found
    ]
    assert shown == [
        ("2026-10-01", "node-1", None, Decimal("0.4"), Decimal("0.3")),
        ("2026-10-01", "node-2", "empty_node", 1, Decimal("0.75")),
        ("2026-10-01", "node-1", "stranded", 4, 3),
        ("2026-10-01", "node-2", "fragment", 2, Decimal("1.5")),
        ("2026-10-02", "node-3", "rest", 8, 8),
    ]


def test_of_a_node_the_rows_are_one_and_what_cost_nothing_is_none() -> None:
    rows = [
        workload("ads", "1", **node(1)),
        idle("1", **node(1)),
        idle("2", **node(1), pricing_category="Dynamic"),
        idle("0", **node(2)),
    ]
    assert made_of(book(rows, SHARED), "ads") == [("node-1", "rest", 3, 3)]


def test_parts_add_up_to_the_posting_by_largest_remainder() -> None:
    cost = Decimal("0.000000000010")
    rows = [
        workload("ads", "1", **node(1)),
        workload("web", "1", **node(1)),
        *(idle(cost, **node(number)) for number in (1, 2, 3)),
    ]
    con = book(rows, SHARED)
    parts = {team: [part for *_, part in made_of(con, team)] for team in ("ads", "web")}
    quantum = Decimal("0.000000000001")
    assert parts == {team: [5 * quantum] * 3 for team in parts}
    odd = book([*rows, idle("0.000000000001", **node(4))], SHARED)
    assert [part / quantum for *_, part in made_of(odd, "ads")] == [5, 5, 5, 1]
    assert [part / quantum for *_, part in made_of(odd, "web")] == [5, 5, 5, 0]


def test_negative_idle_lowers_the_part() -> None:
    rows = [
        workload("ads", "1", **node(1)),
        workload("web", "1", **node(1)),
        idle("6", **node(1)),
        idle("-2", **node(2)),
    ]
    assert made_of(book(rows, SHARED), "ads") == [
        ("node-1", "rest", 6, 3),
        ("node-2", "rest", -2, -1),
    ]
    below = book([*rows[:2], idle("-6", **node(1)), idle("2", **node(2))], SHARED)
    assert made_of(below, "web") == [("node-1", "rest", -6, -3), ("node-2", "rest", 2, 1)]


def test_idle_that_cancels_is_told_and_nobody_bears_any() -> None:
    rows = [workload("ads", "1", **node(1)), idle("2", **node(1)), idle("-2", **node(2))]
    assert made_of(book(rows, SHARED), "ads") == [
        ("node-1", "rest", 2, 0),
        ("node-2", "rest", -2, 0),
    ]


@pytest.mark.parametrize(
    ("scope", "of_ads"),
    [("node", {"node-1"}), ("node_pool", {"node-1", "node-2"}), ("cluster", {"node-1", "node-2"})],
)
def test_a_team_bears_only_what_lies_in_its_scope(scope: str, of_ads: set[str]) -> None:
    con = book(MONTH[:4], rule("r", "proportional", scope=scope))
    assert {name for name, *_ in made_of(con, "ads")} == of_ads


def test_what_has_no_node_lies_in_the_next_coarser_pool() -> None:
    nowhere = {"resource_id": None, "node_name": None}
    rows = [
        *MONTH[:4],
        idle("6", **nowhere, node_pool="m5"),
        idle("8", **nowhere, node_pool=None),
    ]
    con = book(rows, rule("r", "proportional", scope="node"))
    assert made_of(con, "ads") == [
        (None, "rest", 8, 6),
        ("node-1", "stranded", 4, 4),
        (None, "rest", 6, Decimal("4.5")),
    ]


def test_an_operator_with_two_postings_in_a_pool_has_one_part_of_each_node() -> None:
    rows = [
        workload("platform", "1", **node(1)),
        workload(None, "1", **node(1)),
        workload("ads", "2", **node(1)),
        idle("8", **node(1)),
    ]
    con = book(rows, SHARED)
    found = explained(con, "platform")
    given = [row["amount"] for row in found.postings if row["row_kind"] == "idle"]
    assert (given, [row["part"] for row in found.idle]) == ([2, 2], [4])


def test_amounts_too_large_for_a_product_are_still_divided_without_a_rest() -> None:
    rows = [
        workload("ads", "3", **node(1)),
        workload("web", "1", **node(1)),
        idle("50000000000.000000000001", **node(1)),
        idle("100000000000.000000000001", **node(2)),
    ]
    con = book(rows, SHARED)
    posting = [row["amount"] for row in explained(con, "ads").postings if row["reason"]]
    parts = [part for *_, part in made_of(con, "ads")]
    assert sum(parts) == sum(posting)
    assert [round(part) for part in parts] == [37500000000, 75000000000]


def teams_of(con: duckdb.DuckDBPyConnection) -> list[str]:
    return [
        "-" if team is None else team
        for (team,) in con.sql("SELECT DISTINCT team FROM postings ORDER BY ALL").fetchall()
    ]


@settings(max_examples=15, deadline=None)
@given(rows=months, scope=st.sampled_from(["node", "node_pool", "cluster"]))
def test_nodes_add_up_to_pools_and_parts_to_postings(rows: list[Row], scope: str) -> None:
    con = book(rows, rule("r", "proportional", "idle", "headroom", scope=scope))
    for team in teams_of(con):
        found = explained(con, team)
        for kind in ("amount", "part"):
            expected: dict[str, Decimal] = {}
            for row in found.postings:
                if row["row_kind"] in {"idle", "headroom"}:
                    pool, before = row["pool_id"], expected.get(row["pool_id"], Decimal(0))
                    whole = row["pool_amount"] if kind == "amount" else before + row["amount"]
                    expected[pool] = whole
            shown = {pool: Decimal(0) for pool in expected}
            for row in found.idle:
                shown[row["pool_id"]] += row[kind]
            assert shown == expected


# ----------------------------------------------------------------------- the object


def test_the_object_has_postings_and_beside_them_the_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [pods("a", "3"), pods("b", "1"), stood_idle("4", node_pool="m5", cause="rest")]
    publish(tmp_path, OCTOBER, rows, config(allocation_rule("idle", "proportional")))
    answered = json.loads(said(capsys, "explain", "a", OCTOBER, "--lake", tmp_path, "--json").out)
    assert list(answered) == ["billing_period", "rows", "idle"]
    [idle_row, workload_row] = answered["rows"]
    assert list(idle_row) == [*TABLES["postings"], "source_file"] == list(Posting.model_fields)
    assert (idle_row["row_kind"], workload_row["row_kind"]) == ("idle", "workload")
    assert answered["idle"] == [
        {
            "provider": "aws",
            "billing_currency": "USD",
            "pool_id": idle_row["pool_id"],
            "node_pool": "m5",
            "node_name": "node-1",
            "cause": "rest",
            "amount": "4.000000000000",
            "part": "3.000000000000",
        }
    ]
    assert list(IdleOfNode.model_fields) == list(answered["idle"][0])


def test_an_unknown_team_has_neither(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(tmp_path, OCTOBER, [pods("a", "3")], config())
    told = said(capsys, "explain", "aa", OCTOBER, "--lake", tmp_path)
    assert (told.code, told.out) == (2, "")
    assert told.err.splitlines()[-1].split() == ["do", "Did", "you", "mean", "`a`?"]


def test_a_team_of_other_months_is_told_in_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for month, teams in (("2026-08", "b"), (SEPTEMBER, "abc"), (OCTOBER, "ac"), (OCTOBER, "a")):
        publish(tmp_path, month, [pods(team, "3") for team in teams], config())

    def hint(team: str) -> str:
        return said(capsys, "explain", team, OCTOBER, "--lake", tmp_path).err.splitlines()[-1]

    assert hint("b").split(maxsplit=1)[1] == "It has a statement in 2026-09 and 2026-08."
    assert hint("b (operator)") == hint("b")
    assert hint("c").endswith("It has a statement in 2026-09.")
    assert hint("d").split() == ["got", "'d'"]
    assert hint("-").split() == ["got", "'-'"]


# ----------------------------------------------------------------------- the page


def page(rows: list[Row], team: str, *rules: Row, width: int = 80) -> list[str]:
    """Return the page of a team."""
    return lines(show_explain.explanation(explained(book(rows, *rules), team)), width)


def from_nodes(shown: list[str]) -> list[str]:
    """Return the page after the sum, without the files."""
    total = next(number for number, line in enumerate(shown) if line.startswith("total"))
    return shown[total + 1 : shown.index("from")]


def test_a_page_says_how_much_then_by_which_rule_and_weight_and_from_which_nodes() -> None:
    shown = page(MONTH, "ads", SHARED, rule("overhead", "even", "system_overhead"))
    assert shown == [
        "arn:aws:eks:eu-central-1:111111111111:cluster/shop  aws  USD",
        "                      method (rule)            of pools of      part      amount",
        "─" * 80,
        "workload cpu          none                        4.000000   100.0 %    4.000000",
        "idle cpu              proportional                1.000000    75.0 %    0.750000",
        "empty node            (idle-2026)",
        "idle cpu              proportional               14.000000    89.3 %   12.500000",
        "unrequested           (idle-2026)",
        "headroom cpu          proportional                0.400000    75.0 %    0.300000",
        "policy                (idle-2026)",
        "system overhead cpu   even (overhead)             0.200000    50.0 %    0.100000",
        "node reserve",
        "─" * 80,
        "total                                                                  17.650000",
        "",
        "idle cpu",
        "  rule idle-2026: proportional within the cluster, 2 days",
        "  weight 4.000000 of 5.000000 summed over 2 days, each by itself",
        "  from       cause       stood idle      part",
        "  node-3 m5  rest          8.000000  8.000000",
        "  node-1 m5  stranded      4.000000  3.000000",
        "  node-2 m5  fragment      2.000000  1.500000",
        "  node-2 m5  empty node    1.000000  0.750000",
        "",
        "headroom cpu",
        "  rule idle-2026: proportional within the cluster, 1 day",
        "  weight 3.000000 of 4.000000",
        "  from         kept free      part",
        "  node-1 m5     0.400000  0.300000",
        "",
        "from",
        "  part-1.parquet",
    ]


def test_an_operator_is_told_that_nothing_is_shared_out() -> None:
    assert from_nodes(page(MONTH[:3], "platform")) == [
        "",
        "idle cpu",
        "  no rule shares it out: the operator bears it, 1 day",
        "  from       cause     stood idle      part",
        "  node-1 m5  stranded    4.000000  4.000000",
        "",
    ]
    kept = page(MONTH[:3], "platform", rule("keep", "none"))
    assert "  rule keep shares nothing out: the operator bears it, 1 day" in kept


def test_without_weights_the_operator_bears_it() -> None:
    shown = from_nodes(page([idle("4", **node(1))], "platform", SHARED))
    assert shown[2:4] == [
        "  rule idle-2026: proportional within the cluster, 1 day",
        "  nobody has weight: the operator bears it",
    ]


def test_weights_count_once_a_day_and_scope_whatever_the_reasons() -> None:
    rows = [
        *MONTH[:5],
        workload("platform", "1", **node(2)),
        workload(None, "3", **node(2)),
    ]
    shown = from_nodes(page(rows, "platform", SHARED))
    assert shown[2:4] == [
        "  rule idle-2026: proportional within the cluster, 1 day",
        "  weight 4.000000 of 8.000000",
    ]


def test_scopes_are_named_and_only_the_largest_nodes_are_listed() -> None:
    rows = [
        *(workload("ads", "1", **node(number)) for number in range(1, 9)),
        *(idle(f"{number}.5", **node(number)) for number in range(1, 9)),
        idle("3", resource_id=None, node_name=None, node_pool=None, cause=None),
    ]
    by_node = rule("r", "proportional", scope="node")
    assert from_nodes(page(rows, "ads", by_node)) == [
        "",
        "idle cpu",
        "  rule r: proportional within the cluster and within each node, 1 day",
        "  weight 16.000000 of 16.000000 summed over 1 day and 9 scopes, each by itself",
        "  from        cause  stood idle       part",
        "  node-8 m5   rest     8.500000   8.500000",
        "  node-7 m5   rest     7.500000   7.500000",
        "  node-6 m5   rest     6.500000   6.500000",
        "  node-5 m5   rest     5.500000   5.500000",
        "  node-4 m5   rest     4.500000   4.500000",
        "  and 4 more          10.500000  10.500000",
        "",
    ]
    few = page([rows[0], rows[8], rows[16]], "ads", by_node)
    assert from_nodes(few)[5:7] == [
        "  no node is named  not known    3.000000  3.000000",
        "  node-1 m5         rest         1.500000  1.500000",
    ]


def test_names_of_nodes_draw_nothing() -> None:
    name = "[red]x[/]\x1b[2J" + "n" * 60
    rows = [workload("ads", "1"), idle("1", node_name=name, node_pool="[b]p")]
    shown = page(rows, "ads", SHARED)
    assert any("[red]x[/]�[2J" in line for line in shown)
    assert max(len(line) for line in shown) <= 80


def test_a_page_ends_with_all_clusters_a_total_for_each_currency() -> None:
    third = "0.333333400000"
    rows = [
        workload("ads", third),
        workload("ads", third, cluster_id="lab", cluster_name="lab"),
        workload("ads", third, cluster_id="lab", resource_kind="memory"),
        workload("ads", "2", cluster_id="rhein", billing_currency="EUR"),
        workload("web", "9"),
    ]
    shown = page(rows, "ads")
    assert shown[-3:] == [
        "",
        "All clusters in EUR  2.000000  of 1 cluster",
        "All clusters in USD  1.000000  of 2 clusters",
    ]
    totals = [Decimal(line.split()[-1]) for line in shown if line.startswith("total")]
    assert totals == [Decimal(text) for text in ("0.333333", "0.666667", "2.000000")]
    parts = [Decimal(line.split()[-1]) for line in shown if line.startswith("workload")]
    assert sum(parts[1:3]) == totals[1]
    assert page(rows, "web")[-2:] == ["from", "  part-1.parquet"]


def test_lines_and_nodes_add_up_to_the_totals_that_are_shown() -> None:
    rows = [
        workload("ads", "0.0000014"),
        workload("ads", "0.0000014", resource_kind="memory"),
        *(idle("0.0000004", **node(number)) for number in (1, 2, 3)),
    ]
    shown = page(rows, "ads", SHARED)
    table = between(shown, "workload cpu", "total")
    *lines_of, total = (Decimal(line.split()[-1]) for line in table if line[-1].isdigit())
    assert (sum(lines_of), total) == (Decimal("0.000004"), Decimal("0.000004"))
    nodes = [Decimal(line.split()[-1]) for line in shown if line.startswith("  node-")]
    assert sum(nodes) == lines_of[-1]


def test_a_note_names_its_clusters_its_kinds_and_few_days() -> None:
    def days(kind: str, *numbers: int, **columns: Any) -> list[Row]:
        cells = {"row_kind": kind, "reason": "network", "team": None} | columns
        return [charge("1", **cells, charge_period_start=DAY.replace(day=n)) for n in numbers]

    lab = {"cluster_id": "lab", "cluster_name": "lab"}
    rows = [
        *days("shared", 2, 5, 9),
        *days("cluster_fee", 5, reason="control_plane"),
        *days("shared", 1, 2, 3, 4, **lab),
        *days("workload", 7, **lab, reason=None),
    ]
    even = rule("even", "even", "shared", "cluster_fee")
    assert between(page(rows, "platform", even), "note:", "from")[:-1] == [
        "note: nobody has weight in this pool: it stays with the operator",
        "  arn:aws:eks:eu-central-1:111111111111:cluster/shop  cluster fee and shared,",
        "2026-10-02, 2026-10-05 and 2026-10-09",
        "  lab  shared, 4 days",
    ]
    assert between(page(rows, "-", even), "note:", "from")[:-1] == [
        "note: no team rule matches this workload",
        "  lab  workload, 2026-10-07",
    ]


def test_a_month_without_idle_has_no_nodes() -> None:
    assert from_nodes(page([workload("ads", "1")], "ads")) == [""]
    assert lines(show_explain.explanation(Explained([], []))) == []
