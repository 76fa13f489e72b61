"""`leerlauf efficiency`: requested against used, priced; what was not measured stays unknown."""

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from pipelines import queries, reading, show_efficiency
from pipelines.objects_efficiency import Efficiency
from tests.ledger_cases import DAY, SHOP, Row, book, charge, idle, workload
from tests.small_month import month_of, said
from tests.strategies import months
from tests.test_show import lines
from tests.two_months import OCTOBER, config, pods, publish

NAMES = ("team", "namespace", "workload_name", "resource_kind", "quantity_unit")
FIGURES = ("requested_quantity", "used_quantity", "workload", "workload_idle")


def used(
    team: str | None,
    name: str,
    cost: str,
    *quantities: str | None,
    unused: str | None = None,
    **columns: Any,
) -> Row:
    """Return a workload row: requested and used core-hours, and what of its cost was unused."""
    requested, taken = (None if text is None else Decimal(text) for text in quantities)
    own = {
        "namespace": "shop",
        "workload_name": name,
        "quantity_unit": "Core-Hours",
        "requested_quantity": requested,
        "used_quantity": taken,
        "workload_idle": None if unused is None else Decimal(unused),
    }
    return workload(team, cost, **(own | columns))


MEMORY = {"resource_kind": "memory", "quantity_unit": "GiB-Hours"}
MONTH = [
    used("ads", "web", "6", "60", "20", unused="4"),
    used("ads", "web", "3", "30", "25", unused="0.5", charge_period_start=DAY.replace(day=2)),
    used("ads", "web", "1", "40", "30", unused="0.25", **MEMORY),
    used("ads", "cron", "2", "20", None),
    used("ads", "cron", "1", "10", "1", unused="0.9", node_name="node-2", resource_id="i-2"),
    used(None, "stray", "0.5", "5", "5", unused="0"),
    used("web", "disk", "0.7", None, None, resource_kind="storage", quantity_unit=None),
    idle("4"),
    charge("2", row_kind="headroom", reason="placeholder_pods", workload_idle=Decimal(1)),
]


def rows_of(month: list[Row], **settings: str) -> list[dict[str, Any]]:
    """Return the rows of a month, as the command reads them."""
    return reading.rows(book(month, **settings), queries.read("read/efficiency"))


def figures(month: list[Row], **settings: str) -> list[tuple[Any, ...]]:
    """Return names and figures of the rows."""
    return [tuple(row[name] for name in (*NAMES, *FIGURES)) for row in rows_of(month, **settings)]


def amount(text: str | None) -> Decimal | None:
    return None if text is None else Decimal(text)


def test_each_workload_and_resource_is_one_row_and_a_part_unknown_makes_all_of_it_unknown() -> None:
    assert figures(MONTH) == [
        (*names, *map(amount, numbers))
        for names, numbers in (
            (("ads", "shop", "cron", "cpu", "Core-Hours"), ("30", None, "3", None)),
            (("ads", "shop", "web", "cpu", "Core-Hours"), ("90", "45", "9", "4.5")),
            (("ads", "shop", "web", "memory", "GiB-Hours"), ("40", "30", "1", "0.25")),
            (("web", "shop", "disk", "storage", None), (None, None, "0.7", None)),
            ((None, "shop", "stray", "cpu", "Core-Hours"), ("5", "5", "0.5", "0")),
        )
    ]


def test_quantities_of_two_units_are_not_added() -> None:
    other = used("ads", "web", "1", "7", "7", unused="0", quantity_unit="Pod-Hours")
    found = figures([MONTH[0], other])
    assert [(row[4], row[5]) for row in found] == [("Core-Hours", 60), ("Pod-Hours", 7)]


def test_the_invoice_view_knows_no_unused_part() -> None:
    found = figures(MONTH, cost_view="billed")
    assert {row[-1] for row in found} == {None}
    assert found[1][5:8] == (90, 45, 9)


@settings(max_examples=10, deadline=None)
@given(month=months)
def test_workload_adds_up_to_that_of_the_teams(month: list[Row]) -> None:
    con = book(month)
    read = reading.rows(con, queries.read("read/efficiency"))
    statements = reading.rows(con, "SELECT sum(workload) AS workload FROM statements")
    assert sum(row["workload"] for row in read) == (statements[0]["workload"] or 0)


# ----------------------------------------------------------------------- the object


def test_the_object_has_its_keys_in_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"requested_quantity": Decimal(2), "used_quantity": Decimal("0.5")}
    row = pods("a", "3", "2", workload_name="web", workload_idle=Decimal("1.5"), **asked)
    publish(tmp_path, OCTOBER, [row], config())
    answered = json.loads(said(capsys, "efficiency", OCTOBER, "--lake", tmp_path, "--json").out)
    assert answered == {
        "billing_period": OCTOBER,
        "rows": [
            {
                "provider": "aws",
                "billing_currency": "USD",
                "cluster_id": SHOP,
                "team": "a",
                "namespace": "a",
                "workload_name": "web",
                "resource_kind": "cpu",
                "quantity_unit": "Core-Hours",
                "requested_quantity": "2.000000000000",
                "used_quantity": "0.500000000000",
                "workload": "3.000000000000",
                "workload_idle": "1.500000000000",
            }
        ],
    }
    assert list(answered["rows"][0]) == list(
        Efficiency.model_json_schema()["$defs"]["Use"]["properties"]
    )


def test_unknown_is_null(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(tmp_path, OCTOBER, [pods(None, "3")], config())
    [row] = json.loads(said(capsys, "efficiency", OCTOBER, "--lake", tmp_path, "--json").out)[
        "rows"
    ]
    assert [name for name, value in row.items() if value is None] == [
        *("team", "namespace", "workload_name", "quantity_unit"),
        *("requested_quantity", "used_quantity", "workload_idle"),
    ]


# ----------------------------------------------------------------------- the page


def shown(month: list[Row], read: list[dict[str, Any]] | None = None, **options: Any) -> list[str]:
    """Return what a page says of its only cluster, from the line after the cluster's name."""
    page = lines(show_efficiency.page(month_of(month), read or rows_of(month)), **options)
    end = next((n for n, line in enumerate(page) if line.startswith("Unused is")), len(page) + 1)
    return page[page.index("in USD") : end - 1]


def test_a_page_shows_the_largest_unused_part_first_and_says_what_is_unknown() -> None:
    assert shown(MONTH) == [
        "in USD",
        "                    requested     used            cost   unused  of cost",
        "ads                                              13.00   ≥ 4.75   36.5 %",
        "  cpu Core-Hours        120.0  in part           12.00   ≥ 4.50   37.5 %",
        "  memory GiB-Hours       40.0     30.0   75.0 %   1.00     0.25   25.0 %",
        "web                                               0.70  unknown",
        "  storage             unknown  unknown            0.70  unknown",
        "(no team)                                         0.50     0.00    0.0 %",
        "  cpu Core-Hours          5.0      5.0  100.0 %   0.50     0.00    0.0 %",
        "workloads, the largest unused part first",
        "workload  team  resource  unused  of cost",
        "shop/web  ads   cpu         4.50   50.0 %",
        "shop/web  ads   memory      0.25   25.0 %",
        "Nobody knows how much of 3.70 (cpu, storage) was unused: its use was not",
        "measured. Where used is in part, some was measured: unused is of that alone.",
    ]


def test_where_nothing_was_measured_nothing_is_guessed() -> None:
    assert shown([used("ads", "web", "6", "60", None)]) == [
        "in USD",
        "                  requested     used    cost   unused  of cost",
        "ads                                     6.00  unknown",
        "  cpu Core-Hours       60.0  unknown    6.00  unknown",
        "Nobody knows how much of this was unused: its use was not measured.",
    ]


def test_where_all_was_measured_it_says_so() -> None:
    assert shown([used("ads", "web", "6", "60", "20", unused="4")])[-2:] == [
        "shop/web  ads   cpu         4.00   66.7 %",
        "All of it was measured.",
    ]


def test_a_page_says_once_why_used_and_unused_need_not_add_up() -> None:
    above = [
        used("ads", "web", "6", "60", "20", unused="4"),
        used("ads", "web", "9", "60", "90", unused="0"),
    ]
    told = " ".join(lines(show_efficiency.page(month_of(above), rows_of(above)))[-3:])
    assert told.startswith("Unused is counted in each hour, or day, of the bill by itself: ")
    assert told.endswith("so used and unused need not add up to 100 %.")
    none = [used("ads", "web", "6", "60", None)]
    assert not any("add up" in line for line in lines(show_efficiency.page(month_of(none), [])))
    unmeasured = lines(show_efficiency.page(month_of(none), rows_of(none)))
    assert unmeasured[-1].startswith("Nobody knows")


def test_a_use_that_was_measured_all_or_not_at_all_is_not_in_part() -> None:
    month = [
        used("ads", "web", "6", "60", "20", unused="4"),
        used("ads", "disk", "1", "5", None, resource_kind="storage"),
    ]
    assert not any("in part" in line for line in shown(month))


def test_a_month_that_counts_what_was_invoiced_says_why_nothing_is_known() -> None:
    month = [used("ads", "web", "6", "60", "20", unused="4")]
    whole = month_of(month)
    report = {"report": {"cost_view": "billed", "charge_basis": "provider"}}
    configuration = whole.record.configuration | report
    told = whole.record.model_copy(update={"configuration": configuration})
    page = show_efficiency.page(replace(whole, record=told), rows_of(month, cost_view="billed"))
    assert " ".join(lines(page)[-2:]) == (
        "Nobody knows how much of this was unused: it is a part of amortised cost, and "
        "this month counts what was invoiced."
    )


def test_only_the_largest_are_listed_and_the_rest_is_counted() -> None:
    month = [used("ads", f"job-{n:02}", "6", "60", "20", unused=f"4.{n:02}") for n in range(1, 13)]
    page = shown(month)
    first = page.index("workloads, the largest unused part first")
    assert page[first + 1].split() == ["workload", "team", "resource", "unused", "of", "cost"]
    assert page[first + 2].split() == ["shop/job-12", "ads", "cpu", "4.12", "68.7", "%"]
    assert page[first + 12 :] == ["and 2 more", "All of it was measured."]


def test_a_page_fits_80_columns_and_a_terminal_without_unicode() -> None:
    long, team = {"namespace": "n" * 60}, "[red]" + "t" * 60
    month = [
        used(team, "w" * 60, "1234567", "7654321", "20", unused="1234000", **long),
        used(team, "[v]", "1234567", "7654321", None, **long),
    ]
    assert max(len(line) for line in shown(month)) <= 80
    plain = shown(month, encoding="ascii")
    assert any(">= 1,234,000.00" in line for line in plain)
    assert any(line.startswith("[red]ttt") for line in plain)
