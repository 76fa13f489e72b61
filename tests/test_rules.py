"""`leerlauf rules`: the calendar of rules, for machines and as a page."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pipelines import show_rules
from pipelines.calendar_of_rules import Entry, entries
from pipelines.config import Config, from_document, to_document
from tests.small_month import said
from tests.test_show import lines
from tests.two_months import OCTOBER, Row, config, pods, publish, rule

TODAY = date(2026, 11, 30)
HALF = date(2026, 10, 16)
TOML = """
[lake]
path = "lake"

[report]
fiscal_year_start = 10

[[source]]
id = "aws-test"
provider = "aws"
dataset = "cur2"
location = "exports"

[[allocation_rule]]
id = "idle-2026"
kinds = ["idle"]
method = "even"
valid_from = 2026-01-01
"""


def periods(kind: str, *rules: Row) -> list[tuple[Any, ...]]:
    """Return cluster, days, rule and turns of a row kind's calendar."""
    return [
        (one.cluster, one.valid_from, one.valid_to, one.rule, one.turns)
        for one in entries(config(*rules))
        if one.row_kind == kind and one.kind == "allocation_rule"
    ]


# ---------------------------------------------------------------------------------------------
# The calendar
# ---------------------------------------------------------------------------------------------


def test_a_kind_without_a_rule_has_the_default() -> None:
    assert periods("shared", rule("idle", "even")) == [("*", None, None, "default", ())]


def test_a_rule_holds_from_its_first_day_until_another_one_comes_first() -> None:
    rules = [
        rule("spring", "proportional", valid_from="2026-03-01", valid_to="2026-06-01"),
        rule("year", "even", valid_from="2026-01-01", valid_to="2027-01-01"),
    ]
    spring, summer = date(2026, 3, 1), date(2026, 6, 1)
    first, last = date(2026, 1, 1), date(2027, 1, 1)
    assert periods("idle", *rules) == [
        ("*", None, first, "default", ()),
        ("*", first, spring, "year", (first,)),
        ("*", spring, summer, "spring", (spring,)),
        ("*", summer, last, "year", (summer,)),
        ("*", last, None, "default", (last,)),
    ]


def test_the_first_in_the_file_hides_a_later_one_and_its_days() -> None:
    rules = [rule("all", "even"), rule("never", "none", valid_from="2026-03-01")]
    assert periods("idle", *rules) == [("*", None, None, "all", ())]


def test_another_name_for_the_same_is_no_turn() -> None:
    rules = [rule("old", "even", valid_to="2026-10-16"), rule("new", "even")]
    assert periods("idle", *rules) == [
        ("*", None, HALF, "old", ()),
        ("*", HALF, None, "new", ()),
    ]


def test_each_pattern_has_its_own_line_unless_it_is_like_the_rest() -> None:
    rules = [
        rule("shop", "even", cluster=["shop-*"], valid_to="2026-10-16"),
        rule("late", "none", cluster=["data"]),
        rule("all", "proportional"),
        rule("hidden", "even", cluster=["lab"]),
    ]
    assert [(one[0], one[3]) for one in periods("idle", *rules)] == [
        ("shop-*", "shop"),
        ("shop-*", "all"),
        ("data", "late"),
        ("*", "all"),
    ]


def test_a_pattern_follows_rules_of_wider_patterns() -> None:
    rules = [
        rule("prod", "even", cluster=["*-prod"]),
        rule("shop", "none", cluster=["shop-prod", "shop-*"]),
    ]
    assert [(one[0], one[3]) for one in periods("idle", *rules)] == [
        ("*-prod", "prod"),
        ("shop-prod", "prod"),
        ("shop-*", "shop"),
        ("*", "default"),
    ]


OTHERS: Row = {
    "team_rule": [
        {"label": "team", "cluster": ["shop", "data-*"]},
        {"team": "pay", "namespace": ["pay-*"], "valid_from": "2026-10-16"},
    ],
    "headroom": [
        {"placeholder_pods": {"namespace": ["spare"]}},
        {"keep_free": {"cpu": "10%", "memory": "4GiB"}, "node_pool": ["web"], "scope": "node_pool"},
    ],
    "node_pool": [{"node_pool": ["web"], "min_nodes": 1}, {"min_nodes": 3}],
    "operator": [{"team": "platform"}],
    "system": [{"namespace": ["kube-system", "gmp-system"]}],
}


def with_all() -> Config:
    """Return a configuration with a rule of every kind."""
    return from_document(to_document(config(rule("idle", "even", by="total"))) | OTHERS)


def test_every_kind_of_rule_is_in_it_in_words() -> None:
    others = [one for one in entries(with_all()) if one.kind != "allocation_rule"]
    assert [(one.kind, one.row_kind, one.cluster, one.rule, one.what) for one in others] == [
        (
            *("team_rule", "workload", "shop, data-*", "team_rule[0]"),
            "whoever label team names",
        ),
        ("team_rule", "workload", "*", "team_rule[1]", "team pay for namespace pay-*"),
        ("headroom", "headroom", "*", "headroom[0]", "pods of namespace spare hold it free"),
        (
            *("headroom", "headroom", "*", "headroom[1]"),
            "cpu 10% and memory 4GiB kept free per node pool of node pool web",
        ),
        ("node_pool", None, "*", "node_pool[0]", "node pool web has at least 1 node"),
        ("node_pool", None, "*", "node_pool[1]", "every node pool has at least 3 nodes"),
        ("operator", None, "*", "operator[0]", "team platform bears what is not distributed"),
        (
            *("system", "system_overhead", "*", "system[0]"),
            "namespace kube-system or gmp-system is shared operation",
        ),
    ]


# ---------------------------------------------------------------------------------------------
# The page
# ---------------------------------------------------------------------------------------------


def page(*rules: Row, start: int = 1, today: date = TODAY, **console: Any) -> list[str]:
    """Return the page of these rules, as lines."""
    shown = show_rules.calendar(entries(config(*rules)), "leerlauf.toml", today, start)
    return lines(shown, **console)


RULES = (
    rule("shop", "proportional", scope="node_pool", cluster=["shop"], valid_to="2026-10-16"),
    rule("all", "proportional", valid_from="2026-01-01"),
)


def test_a_page_shows_the_year_what_holds_today_and_what_changed() -> None:
    shown = page(*RULES, width=81)
    assert shown[:10] == [
        "Rules   of leerlauf.toml",
        "",
        "who bears idle",
        "  shop",
        "    █████████▌·· until 2026-10-15 proportional by resource, per node pool  shop",
        "  ▶ ·········▐██ from 2026-10-16  proportional by resource, per cluster  all",
        "                                  changed 2026-10-16",
        "  all other clusters",
        "    ············ until 2025-12-31 none: the operator keeps it",
        "  ▶ ████████████ from 2026-01-01  proportional by resource, per cluster  all",
    ]
    assert shown[-3:] == [
        "▶ holds today, 2026-11-30; one sign a month of the fiscal year 2026-01 to 2026-12",
        "changed inside it: 2026-10-16",
        "figures before and after differ by rule: leerlauf variance 2026-09 2026-10",
    ]
    assert "  ▶ none: the operator keeps it" in shown


def test_each_kind_of_change_names_the_command_that_shows_it() -> None:
    free = {"cpu": "10%"}
    dated = {
        "team_rule": [{"label": "team", "valid_from": "2026-03-01"}],
        "headroom": [
            {"keep_free": free, "valid_from": "2026-05-01", "valid_to": "2026-07-05"},
            {"keep_free": free, "valid_from": "2027-01-01"},
        ],
        "node_pool": [{"min_nodes": 1, "valid_from": "2026-09-02"}],
    }

    def foot(*kinds: str) -> list[str]:
        own = {kind: dated[kind] for kind in kinds}
        read = from_document(to_document(config(teams=[])) | own)
        shown = lines(show_rules.calendar(entries(read), "x", TODAY, 1, "--lake l"), width=300)
        legend = next(number for number, line in enumerate(shown) if line.startswith("▶"))
        return shown[legend + 1 :]

    restated = "figures before and after differ by rule: leerlauf variance 2026-02 2026-03 --lake l"
    free_of = (
        "what is kept free is not restated: its change shows in the part headroom, overhead, and "
        "in the one it came from (idle volume or own requests): "
        "leerlauf variance 2026-06 2026-07 --lake l"
    )
    causes = (
        "the minimum of a node pool moves no figure of a team, only the causes of idle: "
        "leerlauf idle 2026-09 --lake l"
    )
    changed = "changed inside it: 2026-03-01, 2026-05-01, 2026-07-05 and 2026-09-02"
    assert foot(*dated) == [changed, restated, free_of, causes]
    assert foot("team_rule")[1:] == [restated]
    assert foot("headroom")[1:] == [free_of]
    assert foot("node_pool")[1:] == [causes]
    assert foot() == []


def test_today_decides_which_period_is_marked() -> None:
    shown = page(*RULES, today=date(2026, 10, 15))
    assert shown[4].startswith("  ▶ █████████▌·· until 2026-10-15")
    assert shown[5].startswith("    ·········▐██ from 2026-10-16")


def test_the_year_is_the_fiscal_one() -> None:
    shown = page(*RULES, start=11)
    assert shown[5].startswith("  ▶ ████████████ from 2026-10-16")
    assert not any("changed" in line for line in shown)


def test_a_plain_terminal_shows_it_in_ascii() -> None:
    shown = page(*RULES, encoding="ascii")
    assert shown[4].startswith("    #########+.. until 2026-10-15")
    assert shown[5].startswith("  > .........+## from 2026-10-16")
    assert not any("?" in line for line in shown)


def entry(start: date | None, end: date | None) -> Entry:
    """Return a period."""
    return Entry("headroom", "headroom", "*", start, end, "r", None, None, None, "what")


@pytest.mark.parametrize(
    ("start", "end", "expected", "words"),
    [
        (None, None, "████", "always"),
        (date(2026, 2, 1), None, "·███", "from 2026-02-01"),
        (None, date(2026, 2, 1), "█···", "until 2026-01-31"),
        (date(2026, 1, 2), date(2026, 3, 2), "▐█▌·", "2026-01-02 to 2026-03-01"),
        (date(2026, 2, 2), date(2026, 2, 3), "·▐··", "2026-02-02 to 2026-02-02"),
        (date(2027, 2, 2), None, "····", "from 2027-02-02"),
    ],
)
def test_a_month_is_a_sign(start: date | None, end: date | None, expected: str, words: str) -> None:
    months = show_rules.strip(
        entry(start, end), (date(2026, 1, 1), date(2026, 5, 1)), ascii_only=False
    )
    assert (months, show_rules.period(entry(start, end))) == (expected, words)


# ---------------------------------------------------------------------------------------------
# The command
# ---------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_the_file_says_what_rules_apply(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "leerlauf.toml").write_text(TOML)
    done = said(capsys, "rules", "--json")
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    assert document["billing_period"] is None
    nothing = {"provider": None, "billing_currency": None, "kind": "allocation_rule"}
    idle = nothing | {"row_kind": "idle", "cluster": "*"}
    assert document["rows"][:2] == [
        idle
        | {"valid_from": None, "valid_to": "2026-01-01", "rule": "default", "method": "none"}
        | {"scope": None, "by": None, "what": "none: the operator keeps it"},
        idle
        | {"valid_from": "2026-01-01", "valid_to": None, "rule": "idle-2026", "method": "even"}
        | {"scope": "cluster", "by": None, "what": "even, per cluster"},
    ]
    assert {row["kind"] for row in document["rows"]} == {"allocation_rule", "system"}
    assert "Rules   of leerlauf.toml" in said(capsys, "rules").out


def test_a_named_file_comes_first(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "leerlauf.toml").write_text(TOML)
    (folder / "other.toml").write_text(TOML.replace("idle-2026", "other"))
    shown = said(capsys, "rules", "--config", "other.toml")
    assert "Rules   of other.toml" in shown.out
    assert "other" in shown.out
    assert said(capsys, "rules", "--config", "none.toml").code == 2


def test_without_a_file_the_newest_run_says_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    publish(folder / "lake", OCTOBER, [pods("a", "1")], config(rule("of-the-run", "even")))
    shown = said(capsys, "rules", "--lake", "lake")
    assert "Rules   of the newest run, of 2026-10" in shown.out
    assert "of-the-run" in shown.out
    assert said(capsys, "rules").code == 0


def test_without_either_there_are_no_rules(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = said(capsys, "rules")
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "no lake here" in nowhere.err
    assert folder.exists()
