"""`leerlauf idle`: how much stood idle, why, where, when, how it was bought, and what moves it."""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any

import pytest

from pipelines import commands_idle, machine, queries, reading, show_idle
from pipelines.levers import DISKS, LEVERS, lever
from pipelines.objects_idle import Idle, IdlePart
from tests.ledger_cases import SHOP, Row, book, charge, idle, outside, workload
from tests.small_month import DARK, DIRECT, month_in, month_of
from tests.test_show import lines
from transforms.schema import CAUSES, COLUMNS

LAB = "arn:aws:eks:eu-central-1:111111111111:cluster/lab"
OF_LAB = {"cluster_id": LAB, "cluster_name": "lab"}
SECOND = {"resource_id": "i-2", "node_name": "node-2", "node_pool": "batch"}
DISK = {"resource_id": "vol-1", "node_name": None, "resource_kind": "storage"}
DARK_ROW = charge(
    "5",
    row_kind="unattributed",
    reason="no_split_source",
    cluster_id=DARK,
    cluster_name=None,
    resource_kind="compute",
    split_source=None,
)


def stood(cost: str, **cells: Any) -> Row:
    """An idle row of a node of which nobody says what it can allocate."""
    return idle(cost, **{"allocatable_quantity": None} | cells)


MONTH = [
    workload("a", "10", node_pool="general"),
    stood("4", cause="stranded", node_pool="general", pricing_category="Standard"),
    stood("2", cause="fragment", resource_kind="memory", pricing_category="Dynamic"),
    stood("1.5", cause="empty_node", pricing_category="Committed", reason="empty_node", **SECOND),
    stood("1", cause="empty_node", charge_period_start=date(2026, 10, 3), **SECOND),
    stood("0.5", cause="rest", charge_period_start=date(2026, 9, 30), **DISK),
    idle("3", cause="rest", **OF_LAB),
    workload("a", "1", **OF_LAB),
    charge("7", row_kind="cluster_fee", reason="control_plane", **DIRECT),
    outside("9", "tax"),
    DARK_ROW,
]


def page(rows: Sequence[Row], **options: Any) -> list[str]:
    """The page of these rows, without colour."""
    con = book(rows)
    parts = reading.rows(con, queries.read("read/idle_parts"))
    return lines(show_idle.page(month_in(con), parts, "--lake l"), **options)


def printed(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows that `--json` prints."""
    found = reading.rows(book(rows), queries.read("read/idle"))
    answer = commands_idle.answer("2026-10", found).model_dump(mode="json")
    assert list(answer) == ["billing_period", "rows"]
    assert answer["billing_period"] == "2026-10"
    return list(answer["rows"])


def of_cluster(shown: list[str], name: str) -> list[str]:
    """The lines about one cluster."""
    blocks = [list(block) for filled, block in groupby(shown, key=bool) if filled]
    (found,) = [block for block in blocks if block[0].startswith(f"{name}  aws")]
    return found


@pytest.fixture(scope="module")
def whole() -> list[str]:
    """The page of MONTH."""
    return page(MONTH)


# ---------------------------------------------------------------- the page


def test_a_cluster_says_why_where_and_when(whole: list[str]) -> None:
    assert of_cluster(whole, "shop") == [
        "shop  aws  arn:aws:eks:eu-central-1:111111111111:cluster/shop",
        "idle 9.00 USD   idle ratio 45.9 % of what nodes cost",
        "why",
        "stranded       4.00  44.4 %  Choose node shapes with the ratio of CPU to memory",
        "                             that pods request.",
        "empty node     2.50  27.8 %  Let the autoscaler consolidate: loosen its",
        "                             scale-down settings.",
        "fragment       2.00  22.2 %  Take larger nodes or smaller pods, so that less is",
        "                             left over on each.",
        "rest of disks  0.50   5.6 %  Delete disks that no pod mounts, and shrink those",
        "                             that are too large.",
        "where, and how it was bought",
        "node pool  general            4.00  44.4 %",
        "           batch              2.50  27.8 %",
        "           not known          2.50  27.8 %",
        "node       node-1             6.00  66.7 %",
        "           node-2             2.50  27.8 %",
        "           not known          0.50   5.6 %",
        "resource   cpu                6.50  72.2 %",
        "           memory             2.00  22.2 %",
        "           storage            0.50   5.6 %",
        "bought     on demand          4.00  44.4 %",
        "           on Spot            2.00  22.2 %",
        "           under commitments  1.50  16.7 %",
        "           not known          1.50  16.7 %",
        "day        █ ▂                              1 to 31; most on day 1: 7.50",
        "           in days of other months: 0.50",
        "reserve    still in this idle, of 2 nodes: nobody says what they can allocate",
    ]
    assert of_cluster(whole, "lab")[-1] == (
        "reserve    what nodes keep for themselves is not in this idle"
    )


def test_all_clusters_of_a_currency_stand_together(whole: list[str]) -> None:
    start = whole.index("All clusters in USD  idle 12.00")
    first = [line.split("  ")[0] for line in whole[start + 2 : start + 12]]
    assert [word for word in first if word] == [
        *("stranded", "rest", "empty node", "fragment", "rest of disks")
    ]
    assert not any(line.startswith("All clusters") for line in page(MONTH[:6]))


def test_currencies_are_never_added() -> None:
    euros = [idle("3", cluster_id=name, billing_currency="EUR") for name in ("x", "y")]
    shown = page([*MONTH, *euros])
    assert [line for line in shown if line.startswith("All clusters")] == [
        "All clusters in EUR  idle 6.00",
        "All clusters in USD  idle 12.00",
    ]


def test_unknown_idle_and_no_idle_are_told_apart() -> None:
    shown = page([workload("a", "1"), DARK_ROW])
    assert of_cluster(shown, "shop")[1:] == ["nothing stood idle"]
    assert of_cluster(shown, DARK)[1:] == ["idle unknown: nobody says how its nodes were split"]


def test_a_known_reserve_is_not_in_idle() -> None:
    known = {"allocatable_quantity": Decimal(4), "capacity_quantity": Decimal(4)}
    shown = page([workload("a", "1"), idle("1", **known), idle("1", **known, **OF_LAB)])
    assert [line for line in shown if line.startswith("reserve")] == [
        "reserve    what nodes keep for themselves is not in this idle"
    ] * 2


def test_what_the_causes_mean_is_said_of_those_that_are_there() -> None:
    shown = page([workload("a", "1"), idle("1", cause="scale_down_wait")])
    start = shown.index("What the causes mean")
    assert shown[start + 1 :] == [
        "scale down wait  the node was empty and about to leave",
        "",
        "leerlauf reconcile 2026-10 --lake l",
        "  how the bill leads to this idle",
        "leerlauf compare 2026-10 --lake l",
        "  who pays it under each method",
    ]
    assert "What the causes mean" not in page([workload("a", "1")])


def test_figures_add_up_to_the_idle_that_is_shown() -> None:
    rows = [workload("a", "0.004"), charge("0.003", row_kind="headroom", reason="policy")]
    rows += [idle("0.00075", cause=cause, node_name=cause, node_pool=cause) for cause in CAUSES]
    shown = of_cluster(page(rows), "shop")
    assert shown[1].startswith("idle 0.01 USD")
    for first, last in (("why", "where"), ("node pool", "node  "), ("node  ", "resource")):
        start = next(n for n, line in enumerate(shown) if line.startswith(first))
        end = next(n for n, line in enumerate(shown) if n > start and line.startswith(last))
        amounts = [
            Decimal(word)
            for line in shown[start:end]
            for word in line.split()
            if word in ("0.00", "0.01")
        ]
        assert sum(amounts) == Decimal("0.01")


def test_only_the_worst_nodes_are_named() -> None:
    rows = [idle(str(n), node_name=f"n{n}", resource_id=f"i-{n}") for n in range(1, 9)]
    shown = of_cluster(page(rows), "shop")
    start = next(n for n, line in enumerate(shown) if line.startswith("node  "))
    assert [line.split()[-4:][:2] for line in shown[start : start + 6]] == [
        *([f"n{n}", f"{n}.00"] for n in range(8, 3, -1)),
        ["others", "6.00"],
    ]
    assert "           3 others" in shown[start + 5]
    shown = of_cluster(page(rows[2:]), "shop")
    assert not any("other" in line for line in shown)


def test_a_day_below_nothing_is_at_the_bottom() -> None:
    days = {1: "8", 2: "4", 3: "-1", 5: "7.999"}
    rows = [idle(cost, charge_period_start=date(2026, 10, day)) for day, cost in days.items()]
    (line,) = [line for line in page(rows) if line.startswith("day")]
    assert line[11:20] == "█▅▁ █    "
    (line,) = [line for line in page(rows, encoding="ascii") if line.startswith("day")]
    assert line[11:20] == "#=. #    "


def test_idle_of_other_months_alone_has_no_best_day() -> None:
    shown = page([idle("1", charge_period_start=date(2026, 9, 1)), workload("a", "1")])
    start = next(n for n, line in enumerate(shown) if line.startswith("day"))
    assert shown[start : start + 2] == [
        "day" + " " * 41 + "1 to 31",
        "           in days of other months: 1.00",
    ]


def test_negative_idle_is_shown_as_it_is() -> None:
    shown = of_cluster(page([workload("a", "5"), idle("-2", cause="fragment")]), "shop")
    assert shown[1].startswith("idle -2.00 USD")
    assert shown[3].startswith("fragment  -2.00")


def test_a_month_of_an_earlier_version_has_no_causes() -> None:
    rows = [workload("a", "1"), idle("2", cause=None)]
    assert of_cluster(page(rows), "shop")[3] == "not known  2.00  100.0 %"
    assert [(row["cause"], row["lever"]) for row in printed(rows)] == [(None, None)]


def test_the_page_fits_and_has_letters(whole: list[str]) -> None:
    assert max(map(len, whole)) <= 80
    assert max(map(len, page(MONTH, width=60))) <= 60
    assert all(line.isascii() for line in page(MONTH, encoding="ascii"))


def test_a_name_cannot_draw_on_the_page() -> None:
    hostile = {"node_name": "[red]\x1b[2J", "node_pool": "\x1b]0;x\x07", "cluster_name": "[b]x"}
    shown = page([workload("a", "1", **hostile), idle("1", **hostile)])
    assert not set("".join(shown)) & {"\x1b", "\x07"}
    assert any("[red]\N{REPLACEMENT CHARACTER}[2J" in line for line in shown)
    assert any(line.startswith("[b]x") for line in shown)


# ---------------------------------------------------------------- rows


def test_a_row_says_what_where_when_why_and_what_moves_it() -> None:
    rows = printed(MONTH)
    assert list(rows[0]) == list(IdlePart.model_fields)
    assert {tuple(row.values()) for row in rows} >= {
        (
            *("aws", "USD", SHOP, "batch", "node-2", "cpu", "2026-10-01", "empty_node"),
            *("empty_node", LEVERS["empty_node"], "Committed", "1.500000000000"),
        ),
        (
            *("aws", "USD", SHOP, None, None, "storage", "2026-09-30", "unrequested", "rest"),
            *(DISKS, None, "0.500000000000"),
        ),
    }


def test_rows_add_up_to_the_idle_of_each_cluster() -> None:
    rows = [*MONTH, idle("0.000000000001"), idle("-0.3", cause="stranded")]
    clusters = machine.result(month_of(rows)).clusters
    known = {one.cluster_id: Decimal(one.idle) for one in clusters if one.idle is not None}
    key = itemgetter("cluster_id")
    sums = {
        cluster: sum(Decimal(row["amount"]) for row in group)
        for cluster, group in groupby(sorted(printed(rows), key=key), key)
    }
    assert sums == known == {SHOP: Decimal("8.700000000001"), LAB: Decimal(3)}


def test_rows_of_one_kind_are_one_and_stand_in_one_order() -> None:
    rows = printed([idle("1"), idle("2"), idle("4", cause="stranded"), idle("8", node_pool="a")])
    assert [(row["node_pool"], row["cause"], row["amount"][0]) for row in rows] == [
        ("a", "rest", "8"),
        (None, "rest", "3"),
        (None, "stranded", "4"),
    ]
    assert printed(MONTH[::-1]) == printed(MONTH)


def test_no_idle_is_no_row() -> None:
    assert printed([workload("a", "1")]) == []


# ---------------------------------------------------------------- levers


def test_every_cause_has_one_lever_and_no_two_the_same() -> None:
    assert list(LEVERS) == list(CAUSES)
    assert len({*LEVERS.values(), DISKS}) == len(CAUSES) + 1
    assert all(text.endswith(".") and text.count(".") == 1 for text in (*LEVERS.values(), DISKS))


@pytest.mark.parametrize(
    ("cause", "kind", "told"),
    [
        ("rest", "cpu", LEVERS["rest"]),
        ("rest", "storage", DISKS),
        ("minimum_size", "storage", LEVERS["minimum_size"]),
        ("stranded", "memory", LEVERS["stranded"]),
        (None, "storage", None),
    ],
)
def test_disks_have_a_lever_of_their_own(cause: str | None, kind: str, told: str | None) -> None:
    assert lever(cause, kind) == told


def test_the_causes_of_the_object_are_those_of_the_schema() -> None:
    schema = Idle.model_json_schema()
    (text, nothing) = schema["$defs"]["IdlePart"]["properties"]["cause"]["anyOf"]
    assert (text["enum"], nothing) == (list(CAUSES), {"type": "null"})
    assert all(cause in COLUMNS["cause"].meaning for cause in CAUSES)
