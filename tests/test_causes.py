"""Why capacity stood idle: a literal case for each cause, and for their order."""

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from transforms.causes import Nodes, typical, with_causes
from transforms.node_costs import node_month
from transforms.rules import Vocabulary
from transforms.schema import CAUSES, polars_schema
from transforms.sliced import NODE_DAYS, POD_REQUESTS, Sliced

DAY = dt.date(2026, 10, 5)
NEXT = DAY + dt.timedelta(1)
SHOP = "arn:cluster/shop"
DAEMON = {"workload_kind": "DaemonSet"}

Row = dict[str, Any]


def row(kind: str, cost: str | None, resource: str = "cpu", **cells: Any) -> Row:
    """A row of node n1, which has 4 cores and 16 GiB for 24 hours, on DAY."""
    base: Row = {
        "row_kind": kind,
        "resource_kind": resource,
        "cluster_id": SHOP,
        "cluster_name": "shop",
        "node_pool": "general",
        "node_name": "n1",
        "resource_id": "i-1",
        "charge_period_start": DAY,
        "billing_currency": "USD",
        "split_source": "scad",
        "effective_cost": None if cost is None else Decimal(cost),
        "workload_kind": "Deployment" if kind == "workload" else None,
    }
    return base | cells


def idle(cost: str | None, resource: str = "cpu", **cells: Any) -> Row:
    """An idle row; a node costs 1 a core-hour, 0.1 a GiB-hour: 96 and 38.4 a day."""
    capacity = {"cpu": "96", "memory": "384", "gpu": "24"}.get(resource)
    own = {"reason": "unrequested", "split_source": None, "capacity_quantity": capacity} | cells
    own["capacity_quantity"] = None if (c := own["capacity_quantity"]) is None else Decimal(c)
    return row("idle", cost, resource, **own)


def pod(cost: str, resource: str = "cpu", **cells: Any) -> Row:
    return row("workload", cost, resource, **cells)


def node(cpu: str, memory: str, **cells: Any) -> list[Row]:
    """A node with so much idle; pods cost the rest of 96 and 38.4."""
    return [
        idle(cpu, **cells),
        idle(memory, "memory", **cells),
        pod(f"{96 - Decimal(cpu)}", **cells),
        pod(f"{Decimal('38.4') - Decimal(memory)}", "memory", **cells),
    ]


def other(number: int = 2, **cells: Any) -> Row:
    """What makes a row one of another node."""
    return {"resource_id": f"i-{number}", "node_name": f"n{number}"} | cells


REQUESTS = [(SHOP, "cpu", "1", "24"), (SHOP, "memory", "4", "24")]
"""The usual pod of the cluster."""


def pool(least: int, **cells: Any) -> Any:
    base = {"cluster": ("*",), "node_pool": ("*",), "valid_from": None, "valid_to": None}
    return SimpleNamespace(**(base | {"min_nodes": least} | cells))


def _money(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [[Decimal(v) if isinstance(v, str) and v[:1].isdigit() else v for v in r] for r in rows]


def found(
    rows: Sequence[Row],
    *pools: Any,
    hours: Iterable[Sequence[Any]] | None = None,
    requests: Iterable[Sequence[Any]] = REQUESTS,
) -> list[str]:
    """The causes of the idle rows, in their order; each node has 24 hours on each of its days."""
    frame = pl.DataFrame(rows, schema=polars_schema("normalised"))
    if hours is None:
        hours = sorted({(r["resource_id"], r["charge_period_start"], "24") for r in rows})
    empty = pl.DataFrame()
    sliced = Sliced(
        *(frame, empty, empty, empty, {}),
        node_days=pl.DataFrame(_money(hours), schema=NODE_DAYS, orient="row"),
        pod_requests=pl.DataFrame(_money(requests), schema=POD_REQUESTS, orient="row"),
    )
    lazy = frame.lazy()
    nodes = Nodes(lazy, node_month(sliced, lazy), sliced.pod_requests)
    stood = frame.filter(pl.col("row_kind") == "idle")
    told = with_causes(stood, nodes, pools, Vocabulary(lazy))
    assert told.columns == frame.columns
    assert told.drop("cause").equals(stood.drop("cause"))
    assert set(told["cause"]) <= set(CAUSES)
    return told["cause"].to_list()


# ---------------------------------------------------------------- whole nodes


def test_a_node_without_pods_is_empty() -> None:
    assert found([idle("96"), idle("38.4", "memory")]) == ["empty_node"] * 2


@pytest.mark.parametrize(
    ("pods", "cause"),
    [
        (pod("1", **DAEMON), "empty_node"),
        (row("system_overhead", "1", reason="system_namespace", **DAEMON), "empty_node"),
        (row("system_overhead", "1", reason="node_reserve"), "empty_node"),
        (row("headroom", "1", reason="policy"), "empty_node"),
        (pod("1", split_source=None), "empty_node"),
        (pod("1", "storage"), "empty_node"),
        (pod("1", **other()), "empty_node"),
        (pod("1", charge_period_start=NEXT), "empty_node"),
        (pod("1"), "rest"),
        (pod("1", "memory"), "rest"),
        (pod("1", workload_kind=None), "rest"),
        (row("system_overhead", "1", reason="system_namespace"), "rest"),
        (row("headroom", "1", reason="placeholder_pods"), "rest"),
    ],
)
def test_only_pods_that_could_run_elsewhere_keep_a_node_in_use(pods: Row, cause: str) -> None:
    later = idle("96", charge_period_start=NEXT)
    assert found([idle("95"), later, pods], requests=())[0] == cause


def test_an_empty_node_waits_on_its_last_day_if_others_stay() -> None:
    rows = [idle("96"), idle("96", charge_period_start=NEXT)]
    stays = idle("96", **other(charge_period_start=NEXT + dt.timedelta(1)))
    assert found([*rows, stays]) == ["empty_node", "scale_down_wait", "empty_node"]
    assert found(rows) == ["empty_node"] * 2


def test_days_are_those_that_were_billed() -> None:
    hours = [("i-1", DAY, "24"), ("i-1", NEXT, "1"), ("i-9", NEXT, "24")]
    assert found([idle("96")], hours=hours) == ["empty_node"]
    assert found([idle("96")], hours=hours[::2]) == ["scale_down_wait"]


def test_without_billed_hours_the_lazytell_the_days() -> None:
    rows = [idle("96"), idle("96", **other(charge_period_start=NEXT))]
    assert found(rows, hours=()) == ["scale_down_wait", "empty_node"]


def test_a_node_in_use_does_not_wait() -> None:
    assert found([*node("95", "30"), idle("96", **other(charge_period_start=NEXT))])[0] == "rest"


def test_a_provider_that_knows_hours_decides_which_of_them_wait() -> None:
    given = [
        idle("8", cause="scale_down_wait", capacity_quantity="8"),
        idle("4", cause="empty_node", capacity_quantity="4"),
        idle("4", reason="empty_node", capacity_quantity="4"),
        idle("80", capacity_quantity="80"),
    ]
    stays = idle("96", **other(charge_period_start=NEXT))
    assert found([*given, stays])[:4] == ["scale_down_wait", *["empty_node"] * 3]
    assert found([*given, pod("1"), stays], requests=())[:4] == [
        "scale_down_wait",
        "empty_node",
        "empty_node",
        "rest",
    ]
    assert found([given[2], pod("1"), stays])[0] == "scale_down_wait"


# ---------------------------------------------------------------- node pools


def test_a_pool_at_its_minimum_cannot_get_smaller() -> None:
    rows = [*node("95", "30"), idle("96", **other()), pod("1", **other(3))]
    assert found(rows, pool(3)) == ["minimum_size"] * 3
    assert found(rows, pool(2)) == ["rest", "rest", "empty_node"]


def test_every_resource_of_a_pool_is_at_the_minimum() -> None:
    disk = {"resource_id": "disk-1", "node_name": None, "capacity_quantity": None}
    rows = [idle("9"), idle("5", "compute"), idle("1", "storage", **disk), idle("1", node_pool="b")]
    assert found(rows, pool(1, node_pool=("general",))) == ["minimum_size"] * 3 + ["empty_node"]


def test_a_pool_is_counted_by_day() -> None:
    rows = [idle("96"), idle("96", **other()), idle("96", charge_period_start=NEXT)]
    assert found(rows, pool(1)) == ["empty_node", "scale_down_wait", "minimum_size"]


def test_a_node_that_leaves_is_not_held_by_the_minimum() -> None:
    rows = [idle("96"), idle("96", **other(charge_period_start=NEXT))]
    assert found(rows, pool(9)) == ["scale_down_wait", "minimum_size"]


@pytest.mark.parametrize(
    ("cells", "holds"),
    [
        ({}, True),
        ({"node_pool": ("gen*",)}, True),
        ({"node_pool": ("batch",)}, False),
        ({"cluster": ("shop",)}, True),
        ({"cluster": (SHOP,)}, True),
        ({"cluster": ("lab",)}, False),
        ({"valid_from": DAY}, True),
        ({"valid_from": NEXT}, False),
        ({"valid_to": DAY}, False),
        ({"valid_to": NEXT}, True),
    ],
)
def test_a_minimum_holds_where_its_rule_does(cells: Row, holds: bool) -> None:
    expected = "minimum_size" if holds else "rest"
    assert found(node("95", "30"), pool(1, **cells)) == [expected] * 2


def test_the_first_minimum_counts() -> None:
    assert found(node("95", "30"), pool(0), pool(9)) == ["rest"] * 2
    assert found(node("95", "30"), pool(9), pool(0)) == ["minimum_size"] * 2


@pytest.mark.parametrize("cells", [{"node_pool": None}, {"node_name": None}])
def test_without_a_pool_or_without_nodes_there_is_no_minimum(cells: Row) -> None:
    assert found([idle("95", **cells), pod("1", **cells)], pool(9), requests=()) == ["rest"]


# ---------------------------------------------------------------- what would fit


@pytest.mark.parametrize(
    ("cpu", "memory", "causes"),
    [
        ("24", "9.6", ["rest", "rest"]),
        ("48", "9.59", ["stranded", "fragment"]),
        ("23.9", "30", ["fragment", "stranded"]),
        ("23.9", "9.59", ["fragment", "fragment"]),
        ("0", "30", ["fragment", "stranded"]),
        ("-5", "30", ["fragment", "stranded"]),
    ],
)
def test_a_usual_pod_fits_or_not(cpu: str, memory: str, causes: list[str]) -> None:
    assert found(node(cpu, memory)) == causes


@pytest.mark.parametrize(
    ("cpu", "cause"),
    [("24", "rest"), ("23.9999761", "rest"), ("23.9999759", "fragment")],
)
def test_a_millionth_of_a_request_decides_nothing(cpu: str, cause: str) -> None:
    assert found(node(cpu, "30"))[0] == cause


def test_of_an_unknown_request_everything_fits_that_is_not_missing() -> None:
    only_cpu = REQUESTS[:1]
    assert found(node("48", "0"), requests=only_cpu) == ["rest", "rest"]
    assert found(node("48", "-1"), requests=only_cpu) == ["rest", "fragment"]
    assert found(node("48", "-1"), requests=()) == ["rest", "fragment"]
    assert found(node("12", "30"), requests=[("another", *REQUESTS[0][1:])]) == ["rest", "rest"]


def test_what_has_no_idle_row_is_full() -> None:
    rows = [idle("48"), pod("48"), pod("38.4", "memory")]
    assert found(rows) == ["stranded"]


def test_full_gpus_strand_the_rest_of_their_node_alone() -> None:
    rows = [*node("48", "20"), idle("0", "gpu"), pod("100", "gpu"), *node("48", "20", **other())]
    gpu = (SHOP, "gpu", "1", "5")
    assert found(rows, requests=[*REQUESTS, gpu]) == [
        *("stranded", "stranded", "fragment"),
        *("rest", "rest"),
    ]


def test_days_and_currencies_are_looked_at_by_themselves() -> None:
    full = node("48", "0")
    assert found([*full, *node("48", "20", charge_period_start=NEXT)])[2:] == ["rest", "rest"]
    assert found([*full, *node("48", "20", billing_currency="EUR")])[2:] == ["rest", "rest"]


def test_hours_are_those_the_node_was_billed() -> None:
    assert found(node("12", "5"), hours=[("i-1", DAY, "12")]) == ["rest", "rest"]
    assert found(node("12", "5"), hours=[("i-1", DAY, "13")]) == ["fragment", "fragment"]


def test_hours_that_the_node_was_empty_do_not_count() -> None:
    rows = [
        idle("48", cause="empty_node", capacity_quantity="48"),
        idle("12", capacity_quantity="48"),
        pod("36"),
    ]
    assert found(rows, requests=REQUESTS[:1]) == ["empty_node", "rest"]
    rows[1]["effective_cost"] = Decimal("11.9")
    assert found(rows, requests=REQUESTS[:1]) == ["empty_node", "fragment"]


def test_one_capacity_may_stand_on_one_of_several_rows() -> None:
    rows = [idle("20"), idle("4", capacity_quantity=None, pricing_category="Dynamic"), pod("72")]
    assert found(rows, requests=REQUESTS[:1]) == ["rest", "rest"]
    rows[1]["effective_cost"] = Decimal("3.9")
    assert found(rows, requests=REQUESTS[:1]) == ["fragment", "fragment"]


def test_what_was_carved_away_is_not_free() -> None:
    held = row("headroom", "12", reason="policy")
    rows = [idle("12.1"), pod("71.9"), held]
    assert found(rows, requests=REQUESTS[:1]) == ["fragment"]


def test_the_view_that_a_source_has_counts() -> None:
    rows = [
        r | {"billed_cost": r["effective_cost"], "effective_cost": None} for r in node("9", "9")
    ]
    assert found(rows) == ["fragment", "fragment"]


@pytest.mark.parametrize(
    "rows",
    [
        [idle("1", node_name=None), pod("95", node_name=None)],
        [idle("1", resource_id=None), pod("95", resource_id=None)],
        [idle("1", capacity_quantity=None), pod("95")],
        [idle("1", capacity_quantity="0"), pod("95")],
        [idle("1"), pod("-1")],
        [idle("-1", "compute", capacity_quantity="96"), pod("95", "compute")],
        [idle("1", "storage", node_name=None)],
        [idle("1", "storage")],
    ],
    ids=[
        *("no name", "no id", "no capacity", "capacity 0", "no price", "compute"),
        *("a disk", "a disk of a node"),
    ],
)
def test_what_is_not_known_is_the_rest(rows: list[Row]) -> None:
    assert found(rows, hours=[("i-1", DAY, "24")]) == ["rest"]


def test_an_unknown_price_is_not_plenty() -> None:
    full = [idle("0", "memory"), pod("38.4", "memory")]
    free = [idle("1"), pod("-1")], [idle("1", capacity_quantity="0"), pod("95")]
    for rows in free:
        assert found([*rows, *full]) == ["rest", "fragment"]
    empty = idle("48", cause="empty_node")
    unknown = [empty, idle("1", capacity_quantity=None), pod("47"), *full]
    assert found(unknown) == ["empty_node", "rest", "fragment"]
    assert found(node("48", "-1"), hours=[("i-1", DAY, "0")]) == ["rest", "rest"]


def test_a_disk_does_not_share_what_its_node_is() -> None:
    assert found([idle("96"), idle("1", "storage")]) == ["empty_node", "rest"]


def test_without_hours_nothing_is_said_of_fit() -> None:
    assert found(node("1", "1"), hours=[("i-2", DAY, "24")]) == ["rest", "rest"]


def test_no_idle_no_cause() -> None:
    assert found([pod("1")]) == []


# ---------------------------------------------------------------- the usual request


@pytest.mark.parametrize(
    ("requests", "usual"),
    [
        ([("0.5", "10")], 0.5),
        ([("0.5", "10"), ("2", "10")], 0.5),
        ([("2", "10.000000000001"), ("0.5", "10")], 2.0),
        ([("1", "1"), ("4", "1"), ("2", "1")], 2.0),
        ([("8", "1"), ("1", "2"), ("8", "2")], 8.0),
    ],
)
def test_the_usual_request_is_the_lower_median_by_pod_hours(
    requests: list[tuple[str, str]], usual: float
) -> None:
    frame = pl.DataFrame(
        _money([(SHOP, "cpu", *one) for one in requests] + [("lab", "cpu", "99", "99")]),
        schema=POD_REQUESTS,
        orient="row",
    )
    assert typical(frame).filter(cluster_id=SHOP).rows() == [(SHOP, "cpu", usual)]
