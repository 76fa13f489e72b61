"""What people see of `variance`: tables whose parts add up, sentences, both months restated."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from pipelines import show_variance, two_months
from pipelines.config import Config
from pipelines.lake import Lake
from pipelines.two_months import Variance
from pipelines.variance_figures import Line
from pipelines.variance_words import percent, rounded_change, rounded_parts, sentence
from tests.test_show import between, lines
from tests.test_variance import BEFORE, PLACE, SHARED, compared
from tests.two_months import OCTOBER, SEPTEMBER, Row, config, day, fee, idle, pods, publish, rule

LATER = config(rule("even", "even"), rule("fee", "even", "cluster_fee"))
AFTER = [pods("a", "11", "10"), pods("b", "11", "10"), idle("60.01", "80"), fee("3.33")]


@pytest.fixture(scope="module")
def variance(tmp_path_factory: pytest.TempPathFactory) -> Variance:
    """Two months: c left, prices rose, the idle became even, a fee came."""
    return compared(tmp_path_factory.mktemp("page"), BEFORE, AFTER, SHARED, LATER)


PAGE = """
September 2026 to October 2026   why figures moved

shop  aws  arn:aws:eks:eu-central-1:111111111111:cluster/shop
who moved, in USD
                                     own    unit     idle            headroom,     rule
                      2026-09   requests   price   volume   others    overhead   change   2026-10
─────────────────────────────────────────────────────────────────────────────────────────────────
a                       20.00       0.00    1.25     4.75    15.00        0.00     1.67     42.67
b                       20.00       0.00    1.25     4.75    15.00        0.00     1.67     42.67
c                       40.00     -40.00    0.00     0.00     0.00        0.00     0.00      0.00
platform (operator)      0.00       0.00    0.00     0.00     0.00        3.33    -3.33      0.00
─────────────────────────────────────────────────────────────────────────────────────────────────
all                     80.00     -40.00    2.50     9.50    30.00        3.33     0.01     85.34
a: +22.67 USD, of which 15.00 because team c left cluster shop
b: +22.67 USD, of which 15.00 because team c left cluster shop
c: -40.00 USD, because it left cluster shop
platform (operator): +0.00 USD: +3.33 because its part of the cluster fee is 3.33 higher, -3.33
because cluster fee is now even, per cluster instead of none: the operator keeps it
rules: idle is now even instead of proportional by resource
rules: cluster fee is now even, per cluster instead of none: the operator keeps it

restated, in USD
                                2026-09 by             2026-10 by
                                  rules of               rules of
                      2026-09      2026-10   2026-10      2026-09
─────────────────────────────────────────────────────────────────
a                       20.00        23.34     42.67        41.01
b                       20.00        23.33     42.67        41.00
c                       40.00        33.33      0.00         0.00
platform (operator)      0.00         0.00      0.00         3.33

2026-10 has 31 days, 2026-09 30: +3.3 % of whatever runs all month.
The parts of each line add up to its change.
"""


def test_a_page_shows_the_parts_the_sentences_and_both_rules(variance: Variance) -> None:
    assert lines(show_variance.page(variance), width=98) == PAGE.strip().splitlines()


@pytest.mark.parametrize("width", [45, 60, 80, 110, 200])
def test_every_line_and_sum_adds_up_as_shown(variance: Variance, width: int) -> None:
    shown = lines(show_variance.page(variance), width=width)
    names = ("a ", "b ", "c ", "platform ", "all ")
    table = between(shown, "who moved", "all")
    rows = [line.split()[-10:] for line in table if line.startswith(names)]
    figures = [[Decimal(cell) for cell in row if cell[-1].isdigit()] for row in rows]
    assert len(figures) == len(names)
    for before, *parts, after in figures:
        assert parts
        assert before + sum(parts) == after
    assert all(sum(column[:-1]) == column[-1] for column in zip(*figures, strict=True))


def test_a_narrow_terminal_sums_the_smaller_parts(variance: Variance) -> None:
    headings = {
        width: between(lines(show_variance.page(variance), width=width), "who moved", "─")[-2]
        for width in (60, 45)
    }
    assert headings == {
        60: "                      2026-09   requests   parts   2026-10",
        45: "                   2026-09    moved   2026-10",
    }
    narrow = lines(show_variance.page(variance), width=45)
    assert "a                          23.34        41.01" in narrow


def test_where_nothing_changed_by_rules_nothing_is_restated(tmp_path: Path) -> None:
    found = compared(tmp_path, BEFORE, BEFORE)
    shown = lines(show_variance.page(found))
    assert not any("restated" in line for line in shown)
    assert "a       20.00     20.00" in shown
    assert not any("USD," in line for line in shown[4:])


def test_what_cannot_be_known_is_said(tmp_path: Path) -> None:
    label: list[Row] = [{"label": "owner"}]
    publish(tmp_path, SEPTEMBER, [pods("a", "1", labels={"owner": "x"})], config(teams=label))
    publish(tmp_path, OCTOBER, [pods("a", "1")], config())
    found = two_months.compared(Lake(tmp_path), SEPTEMBER, OCTOBER)
    shown = lines(show_variance.page(found), width=100)
    assert "unknown: label owner was not kept in 2026-10" in shown
    assert any("what changed rules moved is not known" in line for line in shown)
    assert any(line.split() == ["a", "0.00", "1.00", "1.00", "unknown"] for line in shown)


def test_a_name_cannot_pose_as_formatting(tmp_path: Path) -> None:
    teams: list[Row] = [{"team": "[red]x[/red]\x1b[1m", "namespace": ["a"]}]
    found = compared(tmp_path, BEFORE, BEFORE[1:], config(teams=teams))
    shown = "\n".join(lines(show_variance.page(found), width=200))
    assert "[red]x[/red]" in shown
    assert "\x1b" not in shown


def test_another_number_of_days_is_told(tmp_path: Path) -> None:
    publish(tmp_path, "2026-01", BEFORE, SHARED)
    publish(tmp_path, "2026-02", BEFORE, SHARED)
    publish(tmp_path, "2026-03", BEFORE, SHARED)
    publish(tmp_path, "2026-07", BEFORE, SHARED)
    publish(tmp_path, "2026-08", BEFORE, SHARED)

    def end(*months: str) -> list[str]:
        return lines(show_variance.page(two_months.compared(Lake(tmp_path), *months)))[-2:]

    assert end("2026-02", "2026-03")[0] == (
        "2026-03 has 31 days, 2026-02 28: +10.7 % of whatever runs all month."
    )
    assert end("2026-07", "2026-08") == ["", "The parts of each line add up to its change."]


# ---------------------------------------------------------------------------------------------
# Sentences
# ---------------------------------------------------------------------------------------------


def why(path: Path, team: str, before: Sequence[Row], after: Sequence[Row], *read: Config) -> str:
    """Return the sentence of a team between two months."""
    return sentence(compared(path, before, after, *read), Line(PLACE, team))


def test_two_parts_are_told_where_one_is_less_than_half(tmp_path: Path) -> None:
    before = [pods("a", "10"), pods("b", "10"), fee("4"), idle("4")]
    after = [pods("a", "12"), pods("b", "12"), fee("8"), idle("8")]
    read = config(rule("all", "even", "idle", "cluster_fee"))
    assert why(tmp_path, "a", before, after, read) == (
        "+6.00 USD, of which 2.00 because its workload took 20.0 % more and 2.00 because the "
        "cluster stood idle for 4.00 more"
    )


def test_several_that_left_are_named_but_not_all_of_many(tmp_path: Path) -> None:
    after = [BEFORE[0], BEFORE[3]]
    assert why(tmp_path, "a", BEFORE, after).endswith("because teams b and c left cluster shop")
    names = [f"t{number}" for number in range(7)]
    teams: list[Row] = [{"team": name, "namespace": [name]} for name in ("a", *names)]
    read = config(rule("idle", "proportional"), teams=teams)
    before = [BEFORE[0], *(pods(name, "10") for name in names), idle("40")]
    assert why(tmp_path / "many", "a", before, [BEFORE[0], idle("40")], read).endswith(
        "because teams t0, t1, t2, t3, t4 and 2 more left cluster shop"
    )


def test_a_small_team_that_left_is_not_the_reason_when_another_shrank(tmp_path: Path) -> None:
    before = [pods("a", "10"), pods("b", "100"), pods("c", "1"), idle("40")]
    after = [pods("a", "10"), pods("b", "50"), idle("40")]
    assert why(tmp_path, "a", before, after).endswith("because other teams requested less")


@pytest.mark.parametrize(
    ("method", "keys", "expected"),
    [
        ("even", {}, "more teams share the idle"),
        ("fixed", {"shares": {"a": 1, "b": 1}}, "it bears a smaller part of the idle"),
    ],
)
def test_each_method_has_its_words(tmp_path: Path, method: str, keys: Any, expected: str) -> None:
    """In September b took part on another day, so that a bore the idle of the first alone."""
    before = [pods("a", "10"), pods("b", "10", charge_period_start=day(SEPTEMBER, 2)), idle("40")]
    after = [pods("a", "10"), pods("b", "10"), idle("40")]
    assert why(tmp_path, "a", before, after, config(rule("idle", method, **keys))).endswith(
        f"because {expected}"
    )


@pytest.mark.parametrize(
    ("rise", "expected"),
    [
        (Fraction(31, 1000), "3.1 % more"),
        (Fraction(-1, 2), "50.0 % less"),
        (Fraction(1, 10**6), "less than 0.1 % more"),
        (Fraction(20), "2,000.0 % more"),
    ],
)
def test_percentages(rise: Fraction, expected: str) -> None:
    assert percent(rise) == expected


def test_rounded_parts_add_up_to_the_change_of_rounded_statements(tmp_path: Path) -> None:
    before = [pods("a", "0.004"), pods("b", "0.004"), pods("c", "0.004")]
    after = [pods("a", "0.004"), pods("b", "0.004"), pods("c", "0.0059")]
    found = compared(tmp_path, before, after)
    shown = {line.team: rounded_parts(found, line) for line in found.moves}
    for line in found.moves:
        assert sum(shown[line.team].values()) == rounded_change(found, line)
    # of 1.39 cents one is a's before and c's after: a moved by nothing but rounding
    a = Line(PLACE, "a")
    assert (rounded_change(found, a), set(found.moves[a].parts.values())) == (Decimal("-0.01"), {0})
    assert sentence(found, a) == "-0.01 USD, because of rounding"
