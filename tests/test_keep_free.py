"""What a policy keeps free is headroom: by share or quantity, of a node, a pool or a cluster."""

import datetime as dt
import re
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from pipelines import rules
from pipelines.config import Config
from tests.node_rows import (
    DAY,
    allocatable,
    amounts,
    applied,
    charge,
    hours,
    idle,
    policy,
    workload,
)
from transforms.normalise import Normalised


def findings(found: Normalised) -> list[tuple[Any, ...]]:
    return found.findings.select("rule", "where", "expected", "difference").rows()


def headroom(found: Normalised, *columns: str) -> list[tuple[Any, ...]]:
    """The rows that a policy made: amount, and these columns."""
    made = amounts(found, "effective_cost", *columns)
    return [row[2:] for row in made if row[:2] == ("headroom", "policy")]


SPOT = {"node_pool": "spot"}
NODES = [workload(6), idle(4, 96), workload(2, "2", **SPOT), idle(3, 48, "2", **SPOT)]
"""10 USD for 4 vCPU, 5 USD for 2 vCPU, each for a day and in a pool of its own."""
ONE_POOL = [row | {"node_pool": "general"} for row in NODES]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10%", [(Decimal("0.5"), "i-2"), (1, "i-1")]),
        ("0%", []),
        ("12.5%", [(Decimal("0.625"), "i-2"), (Decimal("1.25"), "i-1")]),
        ("1", [(Decimal("2.5"), "i-1"), (Decimal("2.5"), "i-2")]),
        ("500m", [(Decimal("1.25"), "i-1"), (Decimal("1.25"), "i-2")]),
    ],
)
def test_a_share_or_a_quantity_of_each_node(text: str, expected: Any) -> None:
    found = applied(NODES, headroom=[policy(cpu=text)])
    assert headroom(found, "resource_id") == expected
    assert findings(found) == []


@pytest.mark.parametrize("text", ["1e10", "1e999999999", "9999999E", "-1", "NaN", "101%", "-1%"])
def test_what_nobody_can_keep_free(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text.rstrip("%"))):
        policy(cpu=text)


@pytest.mark.parametrize("text", ["4m", "512B", "1e-3k", "1023k", "0.5"])
def test_memory_of_a_few_bytes_has_lost_its_unit(text: str) -> None:
    with pytest.raises(ValueError, match=re.escape(text)):
        policy(memory=text)


@pytest.mark.parametrize("text", ["1e-30", "1e-999999", "0.0000000000001%"])
def test_what_is_less_than_a_quantum_is_nothing(text: str) -> None:
    found = applied(NODES, headroom=[policy(cpu=text)])
    assert headroom(found) == []
    assert findings(found) == []


def test_what_is_left_stays_idle_with_its_capacity() -> None:
    found = applied(NODES[:2], headroom=[policy(cpu="10%")])
    assert amounts(found, "effective_cost", "capacity_quantity", "node_pool") == [
        ("headroom", "policy", 1, None, "general"),
        ("idle", "unrequested", 3, 96, "general"),
    ]


def test_quantities_of_memory_are_gib() -> None:
    rows = [workload(2, kind="memory"), idle(2, 384, kind="memory")]
    found = applied(rows, headroom=[policy(memory="4GiB")])
    assert headroom(found) == [(1,)]  # 4 GiB for 24 hours at 4 USD for 384 GiB-hours


def test_the_node_reserve_comes_first_and_is_not_kept_free() -> None:
    """10 USD; 2.5 are reserved, so a tenth of what is left is 0.75."""
    found = applied(NODES[:2], known=[allocatable(3)], headroom=[policy(cpu="10%")])
    assert amounts(found, "effective_cost") == [
        ("headroom", "policy", Decimal("0.75")),
        ("idle", "unrequested", Decimal("0.75")),
        ("system_overhead", "node_reserve", Decimal("2.5")),
    ]


def test_the_reserve_of_the_provider_is_not_kept_free_either() -> None:
    own = charge(3, "system_overhead", reason="node_reserve", provider_class="system")
    found = applied([*NODES[:2], own], headroom=[policy(cpu="10%")])
    assert headroom(found) == [(1,)]


def test_a_node_pool_gives_where_it_is_idle() -> None:
    """Two nodes of one pool: 15 USD for 6 vCPU, of which 7 stand idle, 4 and 3."""
    found = applied(ONE_POOL, headroom=[policy("node_pool", cpu="20%")])
    assert headroom(found, "resource_id") == [
        (Decimal("1.285714285714"), "i-2"),
        (Decimal("1.714285714286"), "i-1"),
    ]


def test_a_cluster_counts_all_its_pools() -> None:
    found = applied(NODES, headroom=[policy("cluster", cpu="1")])
    assert headroom(found, "node_pool") == [
        (Decimal("1.071428571429"), "spot"),
        (Decimal("1.428571428571"), "general"),
    ]  # together 24 of the 144 vCPU-hours that cost 15 USD


def test_pools_are_units_of_their_own() -> None:
    found = applied(NODES, headroom=[policy("node_pool", cpu="20%")])
    assert headroom(found, "node_pool") == [(1, "spot"), (2, "general")]


def test_the_longest_hours_of_a_node_count() -> None:
    billed = pl.concat([hours("1", each=12), hours("2", each=6)])
    found = applied(NODES, headroom=[policy("cluster", cpu="1")], billed=billed)
    assert sum(row[0] for row in headroom(found)) == Decimal("1.25")  # 12 of 144 at 15


def test_the_first_policy_that_names_a_resource_decides_for_it() -> None:
    rows = [*NODES[:2], workload(2, kind="memory"), idle(2, 384, kind="memory")]
    rules = [
        policy(cpu="10%", cluster=("other",)),
        policy(cpu="20%", valid_to=DAY),
        policy(cpu="30%", node_pool=("spot",)),
        policy(memory="5%", cluster=("sh*",)),
        policy(cpu="40%", memory="50%"),
    ]
    found = applied(rows, headroom=rules)
    assert headroom(found, "resource_kind") == [(Decimal("0.2"), "memory"), (4, "cpu")]
    assert findings(found) == []


def test_dates_hold_day_by_day() -> None:
    later = DAY + dt.timedelta(1)
    rows = [*NODES[:2], *(row | {"charge_period_start": later} for row in NODES[:2])]
    billed = pl.concat([hours("1"), hours("1", day=later)])
    found = applied(rows, headroom=[policy(cpu="10%", valid_from=later)], billed=billed)
    assert headroom(found, "charge_period_start") == [(1, later)]


def test_no_more_is_kept_free_than_stood_idle() -> None:
    found = applied(NODES, headroom=[policy(cpu="50%")])
    assert headroom(found, "resource_id") == [(Decimal("2.5"), "i-2"), (4, "i-1")]
    assert findings(found) == [
        ("headroom_short", "headroom[0], cpu", "5.000000000000 USD kept free", "1.000000000000")
    ]


@pytest.mark.parametrize(
    ("rows", "billed"),
    [
        ([workload(6), idle(4, None)], hours("1")),
        ([workload(6), idle(4, 0)], hours("1")),
        ([workload(6), idle(4, 96)], hours("2")),
        ([workload(6), idle(4, 96, node_name=None, split_source="agent")], hours("1")),
    ],
)
def test_a_quantity_without_capacity_or_hours_moves_nothing(rows: Any, billed: Any) -> None:
    found = applied(rows, headroom=[policy("cluster", cpu="1")], billed=billed)
    assert headroom(found) == []
    assert [row[:2] for row in findings(found)] == [("headroom_unknown", "headroom[0], cpu")]


def test_one_node_without_capacity_makes_the_price_of_a_cluster_unknown() -> None:
    rows = [*NODES[:2], idle(4, None, node="2")]
    found = applied(rows, headroom=[policy("cluster", cpu="1")])
    assert headroom(found) == []
    assert [row[0] for row in findings(found)] == ["headroom_unknown"]


def test_a_share_needs_no_capacity() -> None:
    found = applied([workload(6), idle(4, None)], headroom=[policy(cpu="10%")], billed=hours("2"))
    assert headroom(found) == [(1,)]
    assert findings(found) == []


def compute(cost: Any, row_kind: str = "idle", **cells: Any) -> Any:
    """What an agent says of a node pool: neither node nor capacity."""
    told = {"node_name": None, "resource_id": "vmss", "kind": "compute", "node_pool": "spot"}
    return charge(cost, row_kind, **told | {"split_source": "agent"} | cells)


def test_node_cost_that_nobody_split_is_kept_free_by_share() -> None:
    own = {"reason": "node_reserve", "provider_class": "system"}
    rows = [compute(6, "workload"), compute(3), compute(1, "system_overhead", **own)]
    found = applied(rows, headroom=[policy("node_pool", compute="10%")])
    assert headroom(found, "resource_kind") == [(Decimal("0.9"), "compute")]
    assert findings(found) == []


def test_a_scope_that_nobody_tells_falls_to_the_next_coarser_one() -> None:
    rows = [compute(6, "workload"), compute(3), compute(1, node_pool=None)]
    found = applied(rows, headroom=[policy(compute="10%")])
    assert headroom(found) == [(Decimal("0.1"),), (Decimal("0.9"),)]
    columns = ["rule", "where", "expected", "actual"]
    assert found.findings.select(columns).rows() == [
        ("scope_unknown", "headroom[0], compute", "node", "cluster"),
        ("scope_unknown", "headroom[0], compute", "node", "node_pool"),
    ]


def test_node_cost_that_nobody_split_is_told_where_only_cpu_is_asked_for() -> None:
    found = applied([compute(6, "workload"), compute(3)], headroom=[policy(cpu="10%", memory="1%")])
    assert headroom(found) == []
    assert [row[:2] for row in findings(found)] == [("headroom_unknown", "headroom[0], compute")]


def test_disks_and_fees_are_no_node() -> None:
    disk = idle(5, None, kind="cpu", resource_kind="storage", split_source="agent")
    fargate = workload(7, split_source=None)
    found = applied([*NODES[:2], disk, fargate], headroom=[policy(cpu="10%")])
    assert headroom(found) == [(1,)]


def test_negative_idle_is_not_made_worse() -> None:
    rows = [workload(12), idle(-2, 96), idle(1, 0, reason="empty_node")]
    found = applied(rows, headroom=[policy(cpu="10%")])
    assert headroom(found) == []
    assert [row[0] for row in findings(found)] == ["headroom_short"]


# ---------------------------------------------------------------- rules that reach no node


POOLS = [("arn:shop", "shop-eu", "general"), ("arn:shop", "shop-eu", None), ("arn:ml", "ml", "gpu")]


def told(*tables: Any, **more: Any) -> list[tuple[Any, ...]]:
    """What is said of these [[headroom]] tables in October, and of [[node_pool]]."""
    source = {"id": "aws-prod", "provider": "aws", "dataset": "cur2", "location": "exports"}
    decided = Config.model_validate({"source": [source], "headroom": tables, **more})
    clusters = [(cluster, name) for cluster, name, _ in POOLS]
    found = [
        *rules.unused_rules(decided, clusters, "2026-10"),
        *rules.unused_pools(decided, POOLS, "2026-10"),
    ]
    return [(row["rule"], row["where"], row["actual"], row["hint"]) for row in found]


def kept_free(**cells: Any) -> dict[str, Any]:
    return {"keep_free": {"cpu": "10%"}} | cells


@pytest.mark.parametrize(
    "table",
    [
        kept_free(),
        kept_free(node_pool=["gen*"]),
        kept_free(node_pool=["gen*", "*"]),
        kept_free(cluster=["ml"], node_pool=["gpu"]),
        kept_free(cluster=["arn:ml"], node_pool=["g?u"]),
        kept_free(node_pool=["spot"], valid_to="2026-10-01"),
        kept_free(node_pool=["spot"], valid_from="2026-11-01"),
    ],
)
def test_a_policy_that_reaches_a_node_or_another_month_is_no_finding(table: Any) -> None:
    assert told(table) == []


def test_a_node_pool_that_no_node_is_in() -> None:
    shop = kept_free(cluster=["shop-*"], node_pool=["gpu", "spot"])
    gone = kept_free(cluster=["gone"], node_pool=["gpu"])
    sized = {"cluster": ["ml"], "node_pool": ["general"], "min_nodes": 2}
    assert told(shop, gone, node_pool=[sized]) == [
        (
            "rule_never_applies",
            "headroom[1]",
            "no cluster matches 'gone'",
            "Clusters of the month: ml, shop-eu.",
        ),
        (
            "rule_never_applies",
            "headroom[0]",
            "no node pool matches 'gpu' or 'spot'",
            "Node pools there: general.",
        ),
        (
            "rule_never_applies",
            "node_pool[0]",
            "no node pool matches 'general'",
            "Node pools there: gpu.",
        ),
    ]


def test_a_policy_behind_a_wider_one_for_the_same_resource() -> None:
    both = {"keep_free": {"cpu": "10%", "memory": "4GiB"}}
    narrow = kept_free(cluster=["shop-eu"], node_pool=["general"])
    pods = {"placeholder_pods": {"namespace": ["over*"]}}
    assert told(pods, narrow, both) == []
    assert [row[1:3] for row in told(both, narrow)] == [
        ("headroom[1]", "all are taken by headroom[0]")
    ]
    sizes = [{"min_nodes": 1}, {"min_nodes": 2, "cluster": ["shop-eu"]}]
    assert [row[1] for row in told(node_pool=sizes)] == ["node_pool[1]"]
