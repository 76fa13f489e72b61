"""The month before the demo's: the same configuration and exports, and what was otherwise."""

import shlex
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from pipelines import month as months
from pipelines import two_months
from pipelines.lake import Lake
from tests.oracle import Books
from tests.small_month import said
from tests.test_month import FIXTURES, agree, expected, figures, lines, load
from transforms.schema import CAUSES

SEPTEMBER, OCTOBER = "2026-09", "2026-10"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which September was run, and October after it."""
    path = tmp_path_factory.mktemp("months") / "lake"
    for month in (SEPTEMBER, OCTOBER):
        outcome = months.run(load(path), month)
        assert (outcome.record.status, outcome.record.published) == ("ok", True)
    return path


def opened(lake: Path, month: str) -> duckdb.DuckDBPyConnection:
    whole = Lake(lake)
    return whole.connect(whole.newest(month))


def totals(lake: Path, month: str, cluster: str) -> Mapping[str | None, Decimal]:
    query = "SELECT team, total_rounded FROM statements WHERE cluster_id LIKE '%/' || $1"
    return dict(opened(lake, month).execute(query, [cluster]).fetchall())


def test_september_is_the_oracles(lake: Path) -> None:
    con, books = opened(lake, SEPTEMBER), Books.load(FIXTURES / "leerlauf.toml", SEPTEMBER)
    ours = figures(
        con,
        "SELECT cluster_id, billing_currency, row_kind, reason, resource_kind, sum(effective_cost) "
        "FROM normalised WHERE cluster_id IS NOT NULL GROUP BY ALL",
    )
    assert len(ours) > 50
    assert agree(con, ours, books.kinds("effective"))
    assert agree(con, lines(con, "statements"), expected(books.statements("effective")))


def test_an_invoice_that_reaches_into_the_next_month_changes_no_rule_back(lake: Path) -> None:
    changes = two_months.compared(Lake(lake), SEPTEMBER, OCTOBER).changes
    told = {(change.before, change.after) for some in changes.values() for change in some}
    assert any("egress" in after for _, after in told)
    assert not {(after, before) for before, after in told} & told


def test_both_months_have_the_same_clusters(lake: Path) -> None:
    query = "SELECT DISTINCT cluster_id FROM statements ORDER BY ALL"
    before, after = (opened(lake, month).sql(query).fetchall() for month in (SEPTEMBER, OCTOBER))
    assert before == after
    assert len(after) == 15


def test_a_team_of_the_worked_example_has_left(lake: Path) -> None:
    # 720 hours of 0.23: A 0.077403846154, B, C and D 0.02875 each, idle 0.066346153846.
    assert totals(lake, SEPTEMBER, "worked-example").keys() == {*"ABCD"}
    assert totals(lake, OCTOBER, "worked-example").keys() == {*"ABC"}
    idle = opened(lake, SEPTEMBER).sql(
        "SELECT round(sum(idle), 6) FROM statements WHERE cluster_id LIKE '%/worked-example'"
    )
    assert idle.fetchall() == [(Decimal("47.769231"),)]


def test_a_team_of_the_shop_has_left_and_its_nodes_cost_more(lake: Path) -> None:
    left = totals(lake, SEPTEMBER, "shop-eu").keys() - totals(lake, OCTOBER, "shop-eu").keys()
    assert left == {"reviews"}
    query = """
        SELECT DISTINCT round(sum(effective_cost), 6) FROM normalised
        WHERE resource_id = 'i-0a110000000000001' AND split_source IS NOT NULL
            AND charge_period_start = $1
    """
    # The second day's stay is six hours of a node, after the discount of a tenth.
    for month, price in ((SEPTEMBER, "0.21"), (OCTOBER, "0.23")):
        found = opened(lake, month).execute(query, [f"{month}-02"]).fetchall()
        assert found == [(6 * Decimal(price) * Decimal("0.9"),)]


def test_clusters_that_were_not_yet_split_are_unknown_not_zero(lake: Path) -> None:
    query = """
        SELECT cluster_id.regexp_extract('[^/]+$'), bool_or(idle IS NULL) AS unknown
        FROM statements GROUP BY ALL HAVING unknown ORDER BY ALL
    """
    found = [
        {cluster for cluster, _ in opened(lake, month).sql(query).fetchall()}
        for month in (SEPTEMBER, OCTOBER)
    ]
    assert found[0] - found[1] == {"data-eu", "data-lab"}


def test_the_demo_shows_every_cause_reserve_policy_and_method(lake: Path) -> None:
    con = opened(lake, OCTOBER)
    causes = con.sql("SELECT DISTINCT cause FROM normalised WHERE row_kind = 'idle'").fetchall()
    assert {cause for (cause,) in causes} == set(CAUSES)
    made = con.sql("""
        SELECT DISTINCT cluster_name, reason FROM normalised
        WHERE reason = 'policy' OR (reason = 'node_reserve' AND provider = 'aws')
    """)
    assert set(made.fetchall()) == {
        ("data-eu", "policy"),
        ("shop-eu", "policy"),
        *((name, "node_reserve") for name in ("dark", "data-eu", "data-lab", "ml", "shop-eu")),
    }
    methods = con.sql(
        "SELECT DISTINCT method, row_kind FROM postings WHERE method[1] IN ('f', 'm')"
    )
    assert set(methods.fetchall()) == {("fixed", "cluster_fee"), ("metric", "shared")}


def test_what_nodes_of_shop_eu_reserve(lake: Path) -> None:
    """On 2 October a node of 4 vCPU and 16 GiB ran six hours for 0.23 less a tenth.

    A unit is 0.207 / 52 an hour; CPU weighs nine. 4 - 3.92 vCPU and 16 - 14933720 KiB are kept.
    """
    query = """
        SELECT resource_kind, round(sum(effective_cost), 9) FROM normalised
        WHERE resource_id = 'i-0a110000000000001' AND reason = 'node_reserve'
            AND charge_period_start = DATE '2026-10-02'
        GROUP BY ALL
    """
    unit = 6 * Fraction("0.207") / 52
    kept = {"cpu": 9 * Fraction("0.08"), "memory": 16 - Fraction(14933720, 1024**2)}
    assert dict(opened(lake, OCTOBER).sql(query).fetchall()) == {
        kind: Decimal(round(unit * amount * 10**9)) / 10**9 for kind, amount in kept.items()
    }


def test_findings_that_compare_have_september_to_look_at(lake: Path) -> None:
    """In ml a job was raised to twice its size: less stood idle, and the bill is the same."""
    query = "SELECT cluster_id.regexp_extract('[^/]+$') FROM findings WHERE rule = $1"
    found = {
        (rule, month): {name for (name,) in opened(lake, month).execute(query, [rule]).fetchall()}
        for rule in ("idle_ratio_fell", "teams_not_comparable")
        for month in (SEPTEMBER, OCTOBER)
    }
    assert found["idle_ratio_fell", SEPTEMBER] == found["teams_not_comparable", SEPTEMBER] == set()
    assert found["idle_ratio_fell", OCTOBER] == {"ml"}
    assert {"shop-eu", "worked-example"} <= found["teams_not_comparable", OCTOBER]


def test_the_demo_says_how_to_compare_it_and_that_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    shown = [line.strip() for line in said(capsys, "demo").out.splitlines()]
    told = [line for line in shown if line.startswith("leerlauf ") and SEPTEMBER in line]
    assert len(told) == 2
    run, compare = (said(capsys, *shlex.split(command)[1:]) for command in told)
    assert (run.code, compare.code, compare.err) == (0, 0, "")
    assert "D: -29.30 USD, because it left cluster worked-example" in compare.out
