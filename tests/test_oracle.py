"""The oracle against figures worked out by hand, before anything is measured by it."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from fixtures import make
from tests.oracle import Books, _rounded_to
from tests.oracle_aws import source
from tests.oracle_aws_nodes import orphans
from tests.oracle_ledger import distribute
from tests.oracle_slices import divide, rounded

MONTH = "2026-10"
PROPORTIONAL = {"id": "p", "kinds": ["idle", "headroom"], "method": "proportional"}


def books(name: str, **tables: Any) -> Books:
    document = {
        "source": [{"id": name, "provider": "aws", "location": name}],
        "team_rule": [{"label": "team"}],
        "operator": [{"team": "platform"}],
        "allocation_rule": [PROPORTIONAL],
        **tables,
    }
    return Books(document, make.EXPORTS, MONTH)


def money(text: str) -> Fraction:
    return Fraction(Decimal(text))


def kinds(of: Books) -> dict[tuple[str, str | None, str], str]:
    return {
        (kind, reason, resource): str(Decimal(amount.numerator) / amount.denominator)
        for (_, _, kind, reason, resource), amount in of.kinds("effective").items()
    }


def totals(of: Books, method: str | None, by: str | None = None) -> dict[str | None, Fraction]:
    forced = None if method is None else (method, by)
    return {line[2]: amounts["total"] for line, amounts in of.teams("effective", forced).items()}


# ---------------------------------------------------------------------- the worked example


def test_the_worked_example_without_distribution() -> None:
    # Per hour: 0.23 / 52 = 0.004423076923 a GiB, nine times that a vCPU, cut to 12 places a row.
    assert totals(books("aws-example"), "none") == {
        "A": 730 * (money("0.059711538462") + money("0.017692307692")),
        "B": 730 * (money("0.019903846154") + money("0.008846153846")),
        "C": 730 * (money("0.019903846154") + money("0.008846153846")),
        "platform": 730 * money("0.23") - 730 * money("0.134903846154"),
    }


@pytest.mark.parametrize(
    ("method", "by", "published"),
    [
        ("none", None, {"A": "56.50", "B": "20.95", "platform": "69.42"}),
        ("even", None, {"A": "79.65", "B": "44.14"}),
        ("proportional", "total", {"A": "96.36", "B": "35.77"}),
        ("proportional", "resource", {"A": "95.57", "B": "36.16"}),
    ],
)
def test_the_worked_example_as_published(
    method: str, by: str | None, published: dict[str, str]
) -> None:
    found = totals(books("aws-example"), method, by)
    misses = {team: abs(found[team] - money(text)) for team, text in published.items()}
    assert {team: miss for team, miss in misses.items() if miss > money("0.04")} == {}


def test_the_worked_example_stands_idle_to_41_percent() -> None:
    (ratio,) = books("aws-example").idle_ratio("effective").values()
    assert ratio is not None
    assert round(float(ratio), 4) == 0.4135


# ------------------------------------------------------------------------ the sheet's sample

SHEET = {
    ("workload", None, "cpu"): "0.0675",
    ("workload", None, "memory"): "0.023",
    ("system_overhead", "system_namespace", "cpu"): "0.0045",
    ("system_overhead", "system_namespace", "memory"): "0.002",
    ("idle", "unrequested", "cpu"): "0.018",
    ("idle", "unrequested", "memory"): "0.015",
    # 0.13 by 9 x 2 vCPU : 8 GiB
    ("idle", "empty_node", "cpu"): "0.09",
    ("idle", "empty_node", "memory"): "0.04",
    ("cluster_fee", "control_plane", "other"): "0.1",
    ("unattributed", "unmounted_volume", "storage"): "0.004",
}


@pytest.mark.parametrize("name", ["sheet-sample-zero", "sheet-sample-null"])
def test_the_sheets_sample(name: str) -> None:
    sample = books(name)
    assert kinds(sample) == SHEET
    assert list(sample.bills("effective").values()) == [money("0.364")]
    workload = {line[2]: x["workload"] for line, x in sample.teams("effective").items()}
    assert (workload["alpha"], workload["beta"]) == (money("0.0325"), money("0.058"))
    (empty,) = sample.empty_nodes().values()
    assert empty == (money("1"), money("0.13"))


def test_the_sheets_sample_after_the_discount() -> None:
    sample = books("sheet-sample-net")
    assert kinds(sample) == {
        key: str(Decimal(text) * 9 / 10).rstrip("0") for key, text in SHEET.items()
    }
    assert list(sample.bills("billed").values()) == [money("0.364")]


def test_the_sheets_workload_idle_lies_inside_the_workload() -> None:
    slack = {line[2]: amount for line, amount in books("sheet-sample-zero").workload_idle().items()}
    assert {team: amount and round(float(amount), 9) for team, amount in slack.items()} == {
        "alpha": 0.016,
        "beta": 0.0,
    }


# ----------------------------------------------------------------------------- other samples


def test_the_published_example() -> None:
    teams = [{"team": f"Pod{n}", "namespace": [f"Namespace{2 - n % 2}"]} for n in (1, 2)]
    published = books("published-example", team_rule=teams, allocation_rule=[])
    # 0.218210 + 0.179749 and 0.383830 + 0.179749; the rest stood idle: 2 GiB at 1/52.
    assert {team: round(float(x), 6) for team, x in totals(published, None).items()} == {
        "Pod1": 0.397959,
        "Pod2": 0.563579,
        "platform": 0.038462,
    }
    assert sum(totals(published, None).values()) == 1


def test_orphans_enter_no_sum() -> None:
    orphaned = books("orphan")
    assert orphans(source({"id": "orphan", "location": "orphan"}, make.EXPORTS, MONTH)) == {
        "i-0fffffffffffffff9"
    }
    assert list(orphaned.bills("effective").values()) == [money("0.13")]


def test_a_daily_export_has_gaps_and_no_empty_nodes() -> None:
    # 24 and 18 of 24 hours at 0.13 are split.
    daily = books("daily")
    gaps = {key[1:]: text for key, text in kinds(daily).items() if key[1] == "split_gap"}
    assert gaps == {("split_gap", "compute"): "0.78"}
    assert daily.empty_nodes() == {}


def test_what_was_never_split_is_unknown_not_zero() -> None:
    unsplit = books("no-split")
    assert kinds(unsplit) == {("unattributed", "no_split_source", "compute"): "0.78"}
    (line,) = unsplit.teams("effective").values()
    assert (line["workload"], line["idle"], line["headroom"]) == (None, None, None)
    assert (line["shared"], line["total"]) == (0, money("0.78"))


# ------------------------------------------------------------------------------- arithmetic


def quanta(**counts: int) -> dict[str | None, Fraction]:
    return {name or None: Fraction(n, 10**12) for name, n in counts.items()}


@pytest.mark.parametrize(
    ("amount", "weights", "parts"),
    [
        (100, quanta(a=1, b=1, c=1), quanta(a=34, b=33, c=33)),
        (-100, quanta(a=1, b=1, c=1), quanta(a=-34, b=-33, c=-33)),
        (1, quanta(a=1, b=2), quanta(a=0, b=1)),
        (11, quanta(a=1, b=1, op=1), quanta(a=4, b=4, op=3)),
        (7, quanta(a=0, b=0), quanta(op=7)),
        (7, {}, quanta(op=7)),
        # A sum of 10^15 and more is divided by ten, and the small weight is gone.
        (10, quanta(a=10**15, b=9), quanta(a=10, b=0)),
    ],
)
def test_quanta_go_to_the_largest_remainders(
    amount: int, weights: dict[str | None, Fraction], parts: dict[str | None, Fraction]
) -> None:
    assert distribute(Fraction(amount, 10**12), weights, "op") == parts


def test_what_workload_without_a_team_would_bear_is_the_operators() -> None:
    weights = {None: Fraction(1), "a": Fraction(1)}
    assert distribute(Fraction(3, 10**12), weights, "op") == quanta(a=2, op=1)


def test_an_empty_node_is_divided_by_its_size() -> None:
    # 10 quanta by 36 : 16 is 6.92 : 3.08.
    parts = divide(Fraction(10, 10**12), {"cpu": Fraction(36), "memory": Fraction(16)})
    assert parts == quanta(cpu=7, memory=3)


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (Fraction(5, 10**13), Fraction(0)),
        (Fraction(15, 10**13), Fraction(2, 10**12)),
        (Fraction(0.1), Fraction(1, 10)),
        (None, Fraction(0)),
    ],
)
def test_an_amount_is_rounded_half_even_on_its_exact_value(
    value: Fraction | None, result: Fraction
) -> None:
    assert rounded(value) == result


def test_cents_go_to_the_largest_remainders_also_of_negative_amounts() -> None:
    amounts = {"a": money("1.004"), "b": money("1.006"), "c": money("-0.005")}
    assert _rounded_to(money("2.00"), amounts) == {
        "a": money("1.00"),
        "b": money("1.01"),
        "c": money("-0.01"),
    }
