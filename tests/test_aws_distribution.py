"""AWS's own distribution of unused cost: where it comes out as documented, and where not."""

import datetime as dt
from itertools import permutations
from typing import Any

import pytest

from tests.aws_rows import START, node, pod, raw, sliced

Row = dict[str, Any]


def share(name: str, charged: float, split: float, unused: float, ratio: float | None) -> Row:
    quantities: Row = {
        "split_line_item_reserved_usage": charged,
        "split_line_item_split_usage": charged,
        "split_line_item_split_usage_ratio": ratio,
    }
    return pod(0, "cpu", split, unused, name=name, **quantities)


def three(ratio: float | None = 0.25) -> list[Row]:
    """Three pods on 4 vCPU of 0.1 an hour each: 1 + 1 + 0.5 charged, 0.15 unused."""
    half = None if ratio is None else ratio / 2
    return [
        share("a", 1.0, 0.1, 0.06, ratio),
        share("b", 1.0, 0.1, 0.06, ratio),
        share("c", 0.5, 0.05, 0.03, half),
    ]


def told(*rows: Row, **cells: Any) -> list[tuple[str, str]]:
    """What is told of an hour that costs what its pods cost."""
    cost = sum(it["split_line_item_split_cost"] + it["split_line_item_unused_cost"] for it in rows)
    parent = node(cost=cost, **cells)
    findings = sliced(raw(parent, *({**it, **cells} for it in rows))).findings
    assert set(findings["rule"]) <= {"unused_distribution"}
    return findings.select("severity", "difference").rows()


@pytest.mark.parametrize("ratio", [0.25, None])
def test_as_documented_with_and_without_ratios(ratio: float | None) -> None:
    assert told(*three(ratio)) == []


def test_more_unused_than_the_ratios_leave() -> None:
    # A quarter each leaves a quarter of 0.4, and 0.15 is unused.
    rows = [*three()[:2], share("c", 0.5, 0.05, 0.03, 0.25)]
    assert told(*rows) == [("warning", "0.050000000000")]


def test_ratios_that_some_rows_lack_tell_nothing() -> None:
    assert told(*three()[:2], share("c", 0.5, 0.05, 0.03, None)) == []


def test_unused_cost_by_anything_but_the_charged_usage() -> None:
    # Evenly: 0.05 each. Rates 0.05 and 0.1 a unit, so 0.05 x 2.5 lies between them.
    even = [
        share("a", 1.0, 0.1, 0.05, 0.25),
        share("b", 1.0, 0.1, 0.05, 0.25),
        share("c", 0.5, 0.05, 0.05, 0.125),
    ]
    ((severity, difference),) = told(*even)
    assert severity == "warning"
    assert float(difference) == pytest.approx(0.125, rel=1e-5)


def test_a_pod_that_was_charged_for_nothing_bears_nothing() -> None:
    idler = share("d", 0.0, 0.0, 0.0, 0.0)
    assert told(*three(), idler) == []
    bearer = {**idler, "split_line_item_unused_cost": 0.01}
    assert [severity for severity, _ in told(*three(), bearer)] == ["warning"]


def test_hours_in_which_nobody_was_charged_say_nothing() -> None:
    assert told(share("a", 0.0, 0.0, 0.1, None)) == []


def test_dust_is_no_difference() -> None:
    rows = three()
    rows[0]["split_line_item_unused_cost"] += 9e-10
    assert told(*rows) == []
    rows[0]["split_line_item_unused_cost"] += 9e-8
    assert [severity for severity, _ in told(*rows)] == ["warning"]


def test_a_days_unused_cost_goes_by_no_one_rate() -> None:
    even = [share("a", 1.0, 0.1, 0.05, None), share("c", 0.5, 0.05, 0.05, None)]
    end = START + dt.timedelta(days=1)
    assert told(*even, usage_amount=24.0, line_item_usage_end_date=end) == []


def test_the_worst_hour_is_the_example_in_every_cut_of_the_files() -> None:
    worse = [{**it, "line_item_usage_start_date": START + dt.timedelta(hours=2)} for it in three()]
    worse = [it | {"line_item_usage_end_date": START + dt.timedelta(hours=3)} for it in worse]
    worse[2]["split_line_item_unused_cost"] = 0.05
    bad = three()
    bad[2]["split_line_item_unused_cost"] = 0.04
    rows = [node(0, cost=0.41), node(2, cost=0.42), *bad, *worse]
    whole = sliced(raw(*rows)).findings
    assert whole.select("rule", "where", "actual", "expected").rows() == [
        (
            "unused_distribution",
            "prod: i-0aaaaaaaaaaaaaaa1, 2026-10-01 02:00, cpu",
            "2 instance hours in which it is not; in the worst by at most the difference",
            "unused_cost = cost x (1 - sum of split_usage_ratio), by split_usage",
        )
    ]
    for order in list(permutations(range(3)))[1:]:
        files = [raw(*rows[:2]), *(raw(bad[at], worse[at]) for at in order)]
        assert sliced(*files).findings.equals(whole)


def test_what_ecs_splits_is_not_judged() -> None:
    odd = share("a", 1.0, 0.1, 0.05, 0.9)
    task = odd | {"line_item_operation": "ECSTask-EC2", "line_item_product_code": "AmazonECS"}
    findings = sliced(raw(node(cost=0.4), *three(), task)).findings
    assert set(findings["rule"]) == {"ecs_split_rows"}


def test_before_discounts_only() -> None:
    net = [it | {"split_line_item_net_unused_cost": 0.01} for it in three()]
    net = [it | {"split_line_item_net_split_cost": 0.01} for it in net]
    findings = sliced(raw(node(cost=0.4, net_unblended_cost=0.06), *net)).findings
    assert findings.is_empty()
