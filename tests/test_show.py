"""What people see: figures, bars, hostile names, narrow terminals, and no colour."""

import io
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from pipelines import show, show_clusters, show_explain, show_rows
from pipelines.explaining import Explained
from pipelines.figures import LOOKS, bar, clean, money, percent, rounded
from pipelines.reading import Month
from tests.ledger_cases import charge, idle, rule, workload
from tests.small_month import month_of, small_month
from transforms.schema import CLUSTER_KINDS


@pytest.fixture(scope="module")
def month() -> Month:
    """The small month."""
    return small_month()


def lines(page: RenderableType, width: int = 80, encoding: str = "utf-8") -> list[str]:
    """Return the lines a page has without colour, stripped on the right.

    The console reads markup, so that a name that reaches it as markup would show.
    """
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    Console(file=out, width=width, highlight=False).print(page)
    out.seek(0)
    return [line.rstrip() for line in out.read().splitlines()]


def between(shown: list[str], first: str, last: str) -> list[str]:
    """Return the lines from the one that starts with `first` to the next with `last`."""
    start = next(index for index, line in enumerate(shown) if line.startswith(first))
    end = next(index for index in range(start, len(shown)) if shown[index].startswith(last))
    return shown[start : end + 1]


# ---------------------------------------------------------------------------------------------
# Pages
# ---------------------------------------------------------------------------------------------


def test_a_cluster_is_a_bar_and_what_it_is_made_of(month: Month) -> None:
    assert between(lines(show.summary(month)), "shop  aws", "   bill") == [
        "shop  aws  arn:aws:eks:eu-central-1:111111111111:cluster/shop",
        "█████░░░▒▓" + "▄" * 68 + "╱╱",
        "█  workload          4.51   5.6 %  what the pods of the teams cost",
        "░  idle              2.25   2.8 %  capacity that nobody asked for",
        "▒  headroom          0.10   0.1 %  kept free on purpose, for peaks",
        "▓  system overhead   0.20   0.2 %  what nodes and system pods need",
        "▄  cluster fee      73.00  91.1 %  control plane and similar fees",
        "▀  shared           -0.30  -0.4 %  load balancers, network, logs",
        "╱  unattributed      0.40   0.5 %  nobody can say whose it is",
        "   bill             80.16     USD  idle ratio 31.9 % of what nodes cost",
    ]


def test_below_a_cluster_stands_why_there_was_idle(month: Month) -> None:
    told = "   idle: rest 88.9 %, empty node 11.1 %"
    assert [line for line in lines(show.summary(month)) if line.startswith("   idle:")] == [told]
    rows = [workload("a", "1"), idle("3", cause="scale_down_wait"), idle("0", cause="rest")]
    assert "   idle: scale down wait 100.0 %" in lines(show.summary(month_of(rows)))
    disk = idle("1", cause="rest", resource_kind="storage")
    told = "   idle: scale down wait 50.0 %, rest 33.3 %, rest of disks 16.7 %"
    assert told in lines(show.summary(month_of([*rows, idle("2", cause="rest"), disk])))
    for cost in ("-1", "0"):
        shown = lines(show.summary(month_of([workload("a", "1"), idle(cost)])))
        assert not any(line.startswith("   idle:") for line in shown)


def test_the_summary_says_which_command_tells_more_of_idle(month: Month) -> None:
    told = "Why capacity stood idle, where and when:  leerlauf idle 2026-10 --lake l"
    shown = lines(show.summary(month, "--lake l"))
    assert shown.index(told) < shown.index("What you should know")
    assert not any(
        "idle 2026" in line for line in lines(show.summary(month_of([workload("a", "1")])))
    )


def test_what_cannot_be_known_is_a_word(month: Month) -> None:
    shown = lines(show.summary(month))
    assert between(shown, "arn:aws:eks:eu-central-1:111111111111:cluster/dark", "   bill")[2:5] == [
        "█  workload           unknown           what the pods of the teams cost",
        "░  idle               unknown           capacity that nobody asked for",
        "▒  headroom           unknown           kept free on purpose, for peaks",
    ]
    assert "   bill             1,234,567      JPY  idle ratio unknown" in shown


def test_all_clusters_are_seen_at_once(month: Month) -> None:
    assert lines(show.summary(month))[:5] == [
        "October 2026   provisional, amortised cost, split as the provider charged it",
        "",
        "                                          bill          idle  idle ratio",
        "aws  dark  ╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱╱  1,234,567  JPY  unknown     unknown",
        "aws  shop  ██░░▒▓▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄╱      80.16  USD     2.25      31.9 %",
    ]


def test_the_head_says_by_what_workloads_are_charged(month: Month) -> None:
    report = {"report": {"cost_view": "effective", "charge_basis": "request"}}
    record = month.record.model_copy(update={"configuration": report})
    assert lines(show.head(replace(month, record=record))) == [
        "October 2026   provisional, amortised cost, charged by request alone"
    ]


def test_namesakes_are_told_apart_by_what_differs() -> None:
    ids = ("sub/rg-1/aks/shop", "sub/rg-2/aks/shop", "p/eu/shop", "arn:aws:eks:eu:1:cluster/dark")
    clusters = [
        {"provider": provider, "cluster_id": identity, "cluster_name": name}
        for identity, provider, name in zip(
            ids, ("azure", "azure", "gcp", "aws"), ("shop", "shop", "shop", None), strict=True
        )
    ]
    names = [show_clusters.short_name(cluster, clusters).plain for cluster in clusters]
    assert names == ["shop rg-1", "shop rg-2", "shop", "dark"]
    twice = [clusters[0], {**clusters[0], "billing_currency": "EUR"}]
    assert show_clusters.short_name(twice[0], twice).plain == "shop"


def test_a_long_id_is_shown_whole() -> None:
    identity = "/subscriptions/" + "5a0b0c0d-" * 8 + "/resourcegroups/rg-2/managedclusters/shop"
    rows = [workload("a", "1", cluster_name="shop", cluster_id=identity)]
    shown = lines(show.summary(month_of(rows)))
    first = shown.index("shop  aws")
    assert "".join(shown[first + 1 : first + 3]) == identity
    explained = {"provider": "azure", "cluster_id": identity, "billing_currency": "EUR"}
    kinds = {"row_kind": "workload", "reason": None, "resource_kind": "cpu", "method": "none"}
    money = {"allocation_rule": "default", "amount": Decimal(1), "pool_amount": Decimal(1)}
    row = {**explained, **kinds, **money, "pool_id": "p", "note": None, "source_file": ""}
    page = show_explain.explanation(Explained([row], []))
    assert identity in "".join(lines(page))


def test_without_node_cost_there_is_no_ratio_and_nothing_unknown() -> None:
    fee = charge("1", row_kind="cluster_fee", reason="control_plane", resource_kind="other")
    shown = lines(show.summary(month_of([fee])))
    assert "   bill             1.00      USD  idle ratio no node cost" in shown


def test_a_statement_keeps_the_biggest_kinds_on_a_narrow_terminal(month: Month) -> None:
    wide = lines(show.summary(month), width=110)
    assert between(wide, "who pays, in USD", "─")[1:] == [
        " " * 53 + "system   cluster",
        (
            "                      workload   idle   headroom   overhead       fee   shared   "
            "unattributed   total"
        ),
        "─" * 101,
    ]
    narrow = lines(show.summary(month), width=60)
    assert between(narrow, "who pays, in USD", "(no team)") == [
        "who pays, in USD",
        "                                        other",
        "                      workload   idle   kinds   total",
        "─────────────────────────────────────────────────────",
        "payments                  3.00   1.69    0.08    4.77",
        "platform (operator)       0.00   0.00   72.90   72.90",
        "search                    1.00   0.56    0.03    1.59",
        "(no team)                 0.50   0.00    0.40    0.90",
    ]


def test_methods_stand_side_by_side(month: Month) -> None:
    assert between(lines(show.comparison(month)), "who pays, in USD", "bill") == [
        "who pays, in USD, by the method for idle and headroom   * in force",
        "                                       proportional   proportional",
        "                       none    even   by resource *       by total",
        "──────────────────────────────────────────────────────────────────",
        "payments               3.01    3.79            4.77           4.58",
        "platform (operator)   75.25   73.68           72.90          73.16",
        "search                 1.00    1.79            1.59           1.52",
        "(no team)              0.90    0.90            0.90           0.90",
        "──────────────────────────────────────────────────────────────────",
        "bill                  80.16   80.16           80.16          80.16",
    ]


def test_a_bridge_reads_downwards(month: Month) -> None:
    assert between(lines(show.reconciliation(month)), "from the provider's own idle", "idle  ") == [
        "from the provider's own idle (unused_cost) to ours, in USD",
        "                                      cpu",
        "─────────────────────────────────────────",
        "idle the provider put on workloads   2.00",
        "node reserve                         0.00",
        "headroom by policy                   0.00",
        "usage above request                  0.00",
        "over-allocation                      0.00",
        "empty nodes                          0.25",
        "not time-based                       0.00",
        "rebased (rounding of the provider)   0.00",
        "─────────────────────────────────────────",
        "idle                                 2.25",
    ]


def test_a_bridge_has_a_column_for_each_resource() -> None:
    rows = [
        workload("a", "1", provider_idle_cost=Decimal("0.666")),
        idle("0.666"),
        workload("a", "1", resource_kind="memory", provider_idle_cost=Decimal("0.667")),
        idle("0.667", resource_kind="memory"),
    ]
    shown = lines(show.reconciliation(month_of(rows)))
    assert [line.split()[-3:] for line in shown if line.startswith("idle")][:2] == [
        ["0.67", "0.67", "1.33"],
        ["0.67", "0.67", "1.33"],
    ]


def test_the_whole_bill_adds_up(month: Month) -> None:
    shown = lines(show.summary(month))
    start = shown.index("in clusters   80.16")
    assert shown[start : start + 5] == [
        "in clusters   80.16",
        "discount      -0.25   outside",
        "tax           15.50   outside",
        "─────────────────────────────",
        "bill          95.41   USD",
    ]


def told(rule: str, severity: str, **parts: str) -> dict[str, str]:
    return {"billing_period": "2026-10", "rule": rule, "severity": severity, **parts}


def test_findings_are_told_once_per_rule_and_the_end_says_whether_it_is_well() -> None:
    same = {"expected": "a known type", "hint": "update leerlauf"}
    month = month_of(
        [workload("a", "1")],
        findings=[
            told("unknown_line_item_type", "error", where=f"file {n}", actual="Gift", **same)
            for n in range(7)
        ],
    )
    shown = lines(show.summary(month))
    assert between(shown, "error ", "        and 2 more") == [
        "error   unknown_line_item_type  7 times",
        "        where      file 0",
        "        expected   a known type",
        "        found      Gift",
        "        do         update leerlauf",
        "        where      file 1",
        "        where      file 2",
        "        where      file 3",
        "        where      file 4",
        '        and 2 more: leerlauf sql "FROM findings"',
    ]
    assert shown[-1] == "Published with 7 errors: see above."


def test_the_books_balance(month: Month) -> None:
    assert lines(show.summary(month))[-1] == (
        "The books balance: every row of the bill has one place."
    )


def test_a_run_that_published_nothing_says_so() -> None:
    empty = dict.fromkeys(("source", "cluster_id", "expected", "actual", "difference", "hint"))
    broken = [{**empty, "rule": "promise_2", "severity": "error", "where": "cluster x"}]
    assert lines(show.failure(broken)) == [
        "",
        "What you should know",
        "",
        "error   promise_2",
        "        where      cluster x",
        "",
        "Nothing was published: the books do not balance.",
    ]


def test_named_commands_find_the_same_lake() -> None:
    same = [told("x", "info", where=f"file {n}", hint="look") for n in range(2)]
    month = month_of([workload("it's me", "1")], findings=same)
    more = '        and 1 more: leerlauf sql "FROM findings" --lake l'
    assert more in lines(show.summary(month, "--lake l"))
    shown = lines(show.tour(month, Path("my file.toml"), Path("l")), width=120)
    assert more in shown
    explain = """  leerlauf explain 'it'"'"'s me' 2026-10 --lake l"""
    assert explain in shown
    assert "  leerlauf run 2026-10 --config 'my file.toml' --lake l" in shown


def test_the_demo_says_where_to_go_next(month: Month) -> None:
    file = Path("leerlauf-demo/leerlauf.toml")
    shown = lines(show.tour(month, file, None))
    assert shown[shown.index("Where to go next") + 1 :] == [
        "  leerlauf reconcile 2026-10 --config leerlauf-demo/leerlauf.toml",
        "    how the bill leads to the idle",
        "  leerlauf idle 2026-10 --config leerlauf-demo/leerlauf.toml",
        "    why there is idle, and which lever belongs to it",
        "  leerlauf explain payments 2026-10 --config leerlauf-demo/leerlauf.toml",
        "    where a team's figure comes from",
        "  leerlauf run 2026-09 --config leerlauf-demo/leerlauf.toml",
        "    the month before, from the same exports",
        "  leerlauf variance 2026-09 2026-10 --config leerlauf-demo/leerlauf.toml",
        "    then: why each team's figure moved",
        '  leerlauf sql "FROM idle_ratio" --config leerlauf-demo/leerlauf.toml',
        "    your own questions, in SQL",
        "  leerlauf run 2026-10 --config leerlauf-demo/leerlauf.toml",
        "    again, after a change of leerlauf-demo/leerlauf.toml",
    ]


# ---------------------------------------------------------------------------------------------
# Terminals
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [show.summary, show.reconciliation, show.comparison])
def test_every_page_fits_80_columns(month: Month, page: object) -> None:
    assert callable(page)
    assert max(len(line) for line in lines(page(month))) <= 80


def test_a_terminal_without_unicode_gets_letters(month: Month) -> None:
    shown = lines(show.summary(month), encoding="ascii")
    assert "#  workload          4.51   5.6 %  what the pods of the teams cost" in shown
    assert "#####...~o" + "$" * 68 + "??" in shown
    assert all(line.isascii() for line in shown)


def test_no_colour_where_none_is_wanted(
    month: Month, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    show.console().print(show.summary(month))
    assert "\x1b[33m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    show.console().print(show.summary(month))
    coloured = [f"\x1b[{code}" for code in range(30, 38)]
    out = capsys.readouterr().out
    assert not any(code in out for code in coloured)


# ---------------------------------------------------------------------------------------------
# Hostile names
# ---------------------------------------------------------------------------------------------

HOSTILE = {
    "[bold red]x[/]": "[bold red]x[/]",
    "\x1b[31mred\x1b[0m": "\N{REPLACEMENT CHARACTER}[31mred\N{REPLACEMENT CHARACTER}[0m",
    "a\nb\r\tc": "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}c",
    "\N{RIGHT-TO-LEFT OVERRIDE}evil": "\N{REPLACEMENT CHARACTER}evil",
    "zero\N{ZERO WIDTH SPACE}width": "zero\N{REPLACEMENT CHARACTER}width",
    "\x9b31m": "\N{REPLACEMENT CHARACTER}31m",
    ":smile:": ":smile:",
    "团队": "团队",
    "x" * 500: "x" * 39 + "…",
    "团" * 500: "团" * 19 + " …",
}


@pytest.mark.parametrize(("name", "shown"), HOSTILE.items(), ids=range(len(HOSTILE)))
def test_a_name_is_shown_on_one_line_and_moves_nothing(name: str, shown: str) -> None:
    assert clean(name) == shown


def test_marks_that_pile_up_are_cut() -> None:
    assert len(clean("a" + "\N{COMBINING TILDE}" * 10_000)) <= 80


def test_a_team_cannot_draw_on_the_page() -> None:
    name = "[blink]a[/]\x1b[2J\nbill  0.00"
    shown = lines(show.summary(month_of([workload(name, "1"), idle("1")], rule("r", "none"))))
    assert "[blink]a[/]�[2J�bill  0…       1.00   0.00    1.00" in shown


def test_a_cluster_cannot_draw_on_the_page() -> None:
    rows = [workload("a", "1", cluster_name="[red]\x1b[2J", cluster_id="x\ny")]
    shown = lines(show.summary(month_of([*rows, workload("a", "1")])))
    assert "[red]�[2J  aws  x�y" in shown
    assert any(line.startswith("aws  [red]�[2J  ███") for line in shown)


def test_a_column_cannot_draw_on_the_page() -> None:
    assert answered(Given(["[red]x", "y"], ("[b]", "[/]")))[0] == "[red]x  y"


# ---------------------------------------------------------------------------------------------
# Figures
# ---------------------------------------------------------------------------------------------

SUMS = [
    (["0.005", "0.005"], 2, ["0.01", "0.00"]),
    (["1.005"], 2, ["1.00"]),
    (["0.015"], 2, ["0.02"]),
    (["1", "0", "0.004", "-0.004"], 2, ["1.00", "0.00", "0.00", "0.00"]),
    (["33.333", "33.333", "33.334"], 2, ["33.33", "33.33", "33.34"]),
    (["-1.5", "0.4"], 0, ["-1", "0"]),
    ([], 2, []),
]


@pytest.mark.parametrize(("amounts", "places", "expected"), SUMS)
def test_rounded_amounts_add_up(amounts: list[str], places: int, expected: list[str]) -> None:
    shown = rounded([Decimal(amount) for amount in amounts], places)
    assert [f"{amount:.{places}f}" for amount in shown] == expected


def test_amounts_have_their_thousands_apart() -> None:
    assert money(Decimal("-1234567.5"), 2).plain == "-1,234,567.50"
    assert money(Decimal(1234567), 0).plain == "1,234,567"
    assert money(None, 2).plain == "unknown"
    assert money(Decimal("-0.00"), 2).plain == "0.00"


def test_percent_is_silent_where_it_has_no_meaning() -> None:
    assert percent(Decimal(1), Decimal(3)).plain == "33.3 %"
    assert percent(None, Decimal(3)).plain == ""
    assert percent(Decimal(1), Decimal(0)).plain == ""


def drawn(**kinds: str | None) -> str:
    amounts = {kind: None if text is None else Decimal(text) for kind, text in kinds.items()}
    return bar(amounts, 10, ascii_only=True).plain


def test_a_bar_is_proportional_and_hides_nothing() -> None:
    assert drawn(workload="6", idle="4") == "######...."
    assert drawn(workload="1000000", idle="0.01") == "#########."
    assert drawn(workload="1", idle="0", headroom=None, shared="-5") == "##########"
    assert drawn(workload="0") == ""


def test_every_kind_has_a_look_of_its_own() -> None:
    assert tuple(LOOKS) == CLUSTER_KINDS
    for part in ("style", "block", "letter", "words"):
        assert len({getattr(look, part) for look in LOOKS.values()}) == len(CLUSTER_KINDS)


# ---------------------------------------------------------------------------------------------
# Rows
# ---------------------------------------------------------------------------------------------


class Given:
    """An answer that is there already."""

    def __init__(self, names: list[str], *rows: tuple[object, ...]) -> None:
        self.names, self._rows = names, list(rows)

    def batches(self) -> Iterator[list[tuple[object, ...]]]:
        yield self._rows


def answered(given: Given, width: int = 80) -> list[str]:
    return lines(show_rows.answer(given), width)  # type: ignore[arg-type]


def test_an_answer_is_a_table() -> None:
    assert answered(Given(["team", "amount"], ("a", Decimal("1.50")), (None, Decimal(10)))) == [
        "team  amount",
        "────────────",
        "a       1.50",
        "NULL      10",
        "2 rows",
    ]


def test_an_answer_that_is_too_wide_is_shown_row_by_row() -> None:
    assert answered(Given(["name", "text"], ("a", "x" * 30), ("b\n", None)), width=30) == [
        "name  a",
        "text  " + "x" * 24,
        "      " + "x" * 6,
        "",
        "name  b�",
        "text  NULL",
        "",
        "2 rows",
    ]


def test_a_long_answer_is_cut_and_says_so() -> None:
    shown = answered(Given(["n"], *((n,) for n in range(1001))))
    assert shown[-2:] == ["999", "the first 1000 rows; send the output to a file for all"]
