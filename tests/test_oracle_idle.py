"""Months worked out by hand: reserve, headroom, causes, requests, categories and methods.

The literal figures hold for the oracle and for the program, so that both cannot share a mistake.
Unless a case says otherwise a node has 4 vCPU and 16 GiB and costs 0.26 an hour, so 0.045 a vCPU
and 0.005 a GiB.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fixtures.aws.commitments import covered
from fixtures.aws.nodes import Cluster, Node, NodeHour, Pod, parent
from fixtures.aws.rows import DAY, HOUR, PERIOD_START, Place, Row
from fixtures.aws.stays import Bill, Stay, rows_of
from fixtures.aws.writers import Export, cur2_parquet, write_json
from pipelines import config as configuration
from pipelines import month as months
from pipelines.lake import Lake
from tests.oracle import Books
from tests.random_agreement import differences
from tests.random_months import MONTH, toml

SHOP = Cluster("shop", Place("999900001111", "111122223333", "acme", "us-east-1"))
NODE = Node("i-0a0000000000000a1", "m5.xlarge", {"cpu": 4, "memory": 16}, 0.26, "node-1")
SECOND = replace(NODE, instance="i-0b0000000000000b2", name="node-2")
THIRD = replace(
    NODE, instance="i-0c0000000000000c3", name="node-3", tags={"user:eks:nodegroup-name": "small"}
)
Cells = dict[tuple[str | None, ...], str]


def pod(
    team: str, cpu: float, memory: float, used: Mapping[str, float] | None = None, gpu: float = 0.0
) -> Pod:
    """A pod of a StatefulSet in a namespace of its team."""
    requests = {"cpu": cpu, "memory": memory} | ({"gpu": gpu} if gpu else {})
    measured = None if used is None else dict(used)
    return Pod(team, f"{team}-0", requests, measured, "StatefulSet", team, {"team": team})


AGENT = Pod("kube-system", "agent-x", {"cpu": 0.5, "memory": 1.0}, None, "DaemonSet", "agent")


@dataclass(frozen=True)
class Told:
    """One month, told by the program and by the oracle."""

    con: duckdb.DuckDBPyConnection
    books: Books

    def cells(self, *columns: str) -> tuple[Cells, Cells]:
        """Return amounts of node rows by node name, row kind and `columns`, of both."""
        named = ("node_name", "row_kind", *columns)
        program = self.con.execute(
            f"SELECT {', '.join(named)}, sum(effective_cost) FROM normalised "
            "WHERE node_name IS NOT NULL GROUP BY ALL HAVING sum(effective_cost) <> 0"
        ).fetchall()
        ours: dict[tuple[str | None, ...], Fraction] = {}
        for piece in self.books.slices:
            if piece.node_name is not None and piece.effective is not None:
                key = tuple(getattr(piece, name) for name in named)
                ours[key] = ours.get(key, Fraction(0)) + piece.effective
        oracle = {key: text(amount) for key, amount in ours.items() if amount}
        return {row[:-1]: text(row[-1]) for row in program}, oracle


def text(amount: Fraction | Decimal) -> str:
    """Return an exact amount without zeros at its end."""
    exact = Fraction(amount)
    return f"{(Decimal(exact.numerator) / exact.denominator).normalize():f}"


def told(
    folder: Path, bill: Bill, documents: Mapping[str, Any] | None = None, **tables: Any
) -> Told:
    """Write a bill and a configuration, run the month, and read the books."""
    cur2_parquet(Export(folder / "exports", "b", "e", "0d9f3c6e"), [bill.charges, bill.splits])
    for name, document in (documents or {}).items():
        write_json(folder / name, document)
    source = {"id": "aws", "provider": "aws", "dataset": "cur2", "location": "exports"}
    document = {
        "source": [source],
        "team_rule": [{"label": "team"}],
        "operator": [{"team": "platform"}],
        **tables,
    }
    file = folder / "leerlauf.toml"
    file.write_text(toml(document), encoding="utf-8")
    config = configuration.load(file)
    outcome = months.run(config, MONTH)
    assert outcome.record.published, outcome.broken
    found = Told(Lake(config.lake.path).connect(outcome.record), Books.load(file, MONTH))
    assert differences(found.con, found.books, "effective") == []
    return found


def stay(node: Node, hours: Sequence[Sequence[Pod]], day: int = 1, buy: Any = None) -> Bill:
    """Return a node's rows from midnight of a day: what runs on it in each hour."""
    start = PERIOD_START + (day - 1) * DAY
    running = {start + n * HOUR: pods for n, pods in enumerate(hours)}
    chosen = {} if buy is None else {"buy": buy}
    return rows_of((SHOP, node), Stay(start, len(hours)), lambda at: running[at], **chosen)


def together(*bills: Bill) -> Bill:
    """Return several bills as one."""
    whole = Bill()
    for bill in bills:
        whole.add(bill)
    return whole


def says(found: tuple[Cells, Cells], expected: Cells) -> None:
    """Hold program and oracle to literal figures."""
    program, oracle = found
    assert program == expected
    assert oracle == expected


# -------------------------------------------------------------------- reserve and headroom

RESERVED: dict[str, list[dict[str, Any]]] = {
    "items": [
        {
            "metadata": {"name": "node-1"},
            "spec": {"providerID": "aws:///us-east-1a/i-0a0000000000000a1"},
            "status": {
                "allocatable": {"cpu": "3920m", "memory": "14.3Gi"},
                "capacity": {"cpu": "4", "memory": "16Gi"},
            },
        }
    ]
}
TEAMS = (pod("A", 1.5, 4.0), pod("B", 0.5, 2.0), pod("C", 0.5, 2.0))


def test_a_month_of_the_worked_example_with_reserve_and_headroom(tmp_path: Path) -> None:
    """31 whole days at 0.23 an hour; AWS rounds 12 places a row, so an hour misses 10^-12.

    A day: cpu costs 24 x 0.159230769231 + 24 x 10^-12 = 3.821538461568, idle 1.433076923088.
    Reserve (4 - 3.92) / 4 = 2 % of it, headroom a tenth of the rest. Memory costs
    1.698461538432, idle 0.849230769216; reserve (16 - 14.3) / 16 = 10.625 %.
    """
    node = replace(NODE, price=0.23)
    bill = together(*(stay(node, [TEAMS] * 24, day=day) for day in range(1, 32)))
    found = told(
        tmp_path,
        bill,
        {"nodes/2026-10-01.json": RESERVED},
        nodes=[{"path": ["nodes/*.json"]}],
        headroom=[{"keep_free": {"cpu": "10%", "memory": "10%"}}],
    )
    says(
        found.cells("reason", "cause", "resource_kind"),
        {
            # 744 x 0.059711538462, 744 x 0.019903846154 twice; 744 x 0.017692307692 and so on
            ("node-1", "workload", None, None, "cpu"): "74.04230769288",
            ("node-1", "workload", None, None, "memory"): "26.326153845696",
            ("node-1", "system_overhead", "node_reserve", None, "cpu"): "2.369353846161",
            ("node-1", "system_overhead", "node_reserve", None, "memory"): "5.594307692198",
            ("node-1", "headroom", "policy", None, "cpu"): "11.609833846254",
            ("node-1", "headroom", "policy", None, "memory"): "4.705799999907",
            ("node-1", "idle", "unrequested", "rest", "cpu"): "30.446196923313",
            ("node-1", "idle", "unrequested", "rest", "memory"): "16.026046153591",
        },
    )
    assert sum(found.books.bills("effective").values()) == Fraction("0.23") * 744


def test_a_node_of_which_two_things_are_said_keeps_its_reserve_in_idle(tmp_path: Path) -> None:
    """Its name, which says one of the two again, does not make up for that."""
    [item] = RESERVED["items"]
    other = {**item, "status": {"allocatable": {"cpu": "3"}}}
    named = {**item, "spec": {}}
    found = told(
        tmp_path,
        stay(NODE, [TEAMS] * 24),
        {"nodes/2026-10-01.json": {"items": [item, other, named]}},
        nodes=[{"path": "nodes/*"}],
    )
    program, oracle = found.cells("reason", "resource_kind")
    idle = {
        ("node-1", "idle", "unrequested", "cpu"): "1.62",
        ("node-1", "idle", "unrequested", "memory"): "0.96",
    }
    assert {key: cost for key, cost in program.items() if key[1] != "workload"} == idle
    assert {key: cost for key, cost in oracle.items() if key[1] != "workload"} == idle
    rules = found.con.sql("SELECT rule FROM findings WHERE severity = 'error'").fetchall()
    assert rules == [("inventory_overlaps",)]


def test_what_a_policy_wants_beyond_idle_is_told_and_not_made(tmp_path: Path) -> None:
    """One day. 3 vCPU kept free cost 3 x 0.045 x 24 = 3.24, idle is 1.5 x 0.045 x 24 = 1.62.

    Over the whole cluster 4 GiB a node cost 4 x 0.005 x 24 = 0.48 of 0.96 that stand idle.
    """
    found = told(
        tmp_path,
        stay(NODE, [TEAMS] * 24),
        headroom=[
            {"keep_free": {"cpu": "3"}, "valid_to": PERIOD_START.date() + DAY},
            {"keep_free": {"cpu": "1", "memory": "4GiB"}, "scope": "cluster"},
        ],
    )
    says(
        found.cells("reason", "resource_kind"),
        {
            ("node-1", "workload", None, "cpu"): "2.7",
            ("node-1", "workload", None, "memory"): "0.96",
            ("node-1", "headroom", "policy", "cpu"): "1.62",
            ("node-1", "headroom", "policy", "memory"): "0.48",
            ("node-1", "idle", "unrequested", "memory"): "0.48",
        },
    )
    short = found.con.sql(
        "SELECT \"where\", difference FROM findings WHERE rule = 'headroom_short'"
    ).fetchall()
    assert short == [("headroom[0], cpu", "1.620000000000")]


# ------------------------------------------------------------------------------------ causes


def test_the_causes_of_a_small_month(tmp_path: Path) -> None:
    """Two days; node-1 is gone on the second, pool `small` may not get smaller than one node.

    Usual requests by pod-hours: 2 vCPU (1 for 2 hours, 2 for 3, 4 for 4) and 4 GiB (2 for 2 hours,
    4 for 4, 8 for 3).
    """
    worker, full, tiny = pod("A", 2.0, 8.0), pod("B", 4.0, 4.0), pod("C", 1.0, 2.0)
    busy, alone = [worker, AGENT], [AGENT]
    bill = together(
        stay(NODE, [busy, busy, alone, busy, alone, []]),
        stay(SECOND, [[full]] * 4, day=2),
        stay(THIRD, [[tiny]] * 2, day=2),
    )
    found = told(tmp_path, bill, node_pool=[{"node_pool": ["small"], "min_nodes": 1}])
    program, oracle = found.cells("reason", "cause", "resource_kind")
    expected = {
        # In use 1.5 vCPU and 7 GiB are free: no room for 2 vCPU, so the memory is stranded.
        ("node-1", "idle", "unrequested", "fragment", "cpu"): "0.2025",
        ("node-1", "idle", "unrequested", "stranded", "memory"): "0.105",
        # The agent alone, before the last other pod and after it; then nothing at all.
        ("node-1", "idle", "unrequested", "empty_node", "cpu"): "0.1575",
        ("node-1", "idle", "unrequested", "empty_node", "memory"): "0.075",
        ("node-1", "idle", "unrequested", "scale_down_wait", "cpu"): "0.1575",
        ("node-1", "idle", "unrequested", "scale_down_wait", "memory"): "0.075",
        ("node-1", "idle", "empty_node", "scale_down_wait", "cpu"): "0.18",
        ("node-1", "idle", "empty_node", "scale_down_wait", "memory"): "0.08",
        # All 4 vCPU are requested; 12 GiB x 0.005 x 4 hours lie fallow.
        ("node-2", "idle", "unrequested", "stranded", "memory"): "0.24",
        ("node-3", "idle", "unrequested", "minimum_size", "cpu"): "0.27",
        ("node-3", "idle", "unrequested", "minimum_size", "memory"): "0.14",
    }
    assert {key: cost for key, cost in program.items() if key[1] == "idle"} == expected
    assert {key: cost for key, cost in oracle.items() if key[1] == "idle"} == expected


def test_room_that_is_too_small_on_every_resource_is_a_fragment(tmp_path: Path) -> None:
    # Usual: 3 vCPU and 12 GiB. A vCPU and 4 GiB are left, each too little.
    says(
        told(tmp_path, stay(NODE, [[pod("A", 3.0, 12.0)]] * 2)).cells("cause", "resource_kind"),
        {
            ("node-1", "workload", None, "cpu"): "0.27",
            ("node-1", "workload", None, "memory"): "0.12",
            ("node-1", "idle", "fragment", "cpu"): "0.09",
            ("node-1", "idle", "fragment", "memory"): "0.04",
        },
    )


def test_idle_is_divided_by_how_the_hours_were_bought(tmp_path: Path) -> None:
    """A node of 4 vCPU, 16 GiB and a GPU: 0.9 a GPU, 0.09 a vCPU, 0.01 a GiB, so 1.42 an hour.

    The second hour is under a plan at half of that: idle of the day is 2 : 1.
    """
    machine = replace(NODE, size={"cpu": 4, "memory": 16, "gpu": 1}, price=1.42)

    def buy(at: NodeHour) -> list[Row]:
        line = parent(at)
        return covered(SHOP.place, line, 0.5) if at.start.hour else [line]

    running = [pod("A", 2.0, 8.0, gpu=1.0)]
    program, oracle = told(tmp_path, stay(machine, [running] * 2, buy=buy)).cells(
        "pricing_category", "resource_kind"
    )
    expected = {
        ("node-1", "idle", "Standard", "cpu"): "0.18",
        ("node-1", "idle", "Committed", "cpu"): "0.09",
        ("node-1", "idle", "Standard", "memory"): "0.08",
        ("node-1", "idle", "Committed", "memory"): "0.04",
    }
    assert {key: cost for key, cost in program.items() if key[1] == "idle"} == expected
    assert {key: cost for key, cost in oracle.items() if key[1] == "idle"} == expected


# ----------------------------------------------------------------------------------- request

CROWD = (
    pod("A", 3.0, 4.0, {"cpu": 4.0, "memory": 4.0}),
    pod("B", 2.0, 4.0, {"cpu": 1.0, "memory": 2.0}),
)
"""6 vCPU are charged where there are 4, so AWS gives A 4/6 and B 2/6 of 0.18 an hour."""


def test_charged_as_the_provider_split_it(tmp_path: Path) -> None:
    says(
        told(tmp_path, stay(NODE, [CROWD] * 24)).cells("team", "resource_kind"),
        {
            ("node-1", "workload", "A", "cpu"): "2.88",
            ("node-1", "workload", "B", "cpu"): "1.44",
            ("node-1", "workload", "A", "memory"): "0.48",
            ("node-1", "workload", "B", "memory"): "0.48",
            ("node-1", "idle", None, "memory"): "0.96",
        },
    )


def test_charged_by_request_where_pods_request_more_than_there_is(tmp_path: Path) -> None:
    """5 vCPU at 0.045 are 0.045 an hour more than the node's CPU: idle is below 0."""
    found = told(tmp_path, stay(NODE, [CROWD] * 24), report={"charge_basis": "request"})
    says(
        found.cells("team", "resource_kind"),
        {
            ("node-1", "workload", "A", "cpu"): "3.24",
            ("node-1", "workload", "B", "cpu"): "2.16",
            ("node-1", "idle", None, "cpu"): "-1.08",
            ("node-1", "workload", "A", "memory"): "0.48",
            ("node-1", "workload", "B", "memory"): "0.48",
            ("node-1", "idle", None, "memory"): "0.96",
        },
    )
    bridge = found.con.sql(
        "SELECT resource_kind, name, amount FROM reconciliation WHERE amount <> 0 "
        "ORDER BY resource_kind, position"
    ).fetchall()
    assert [(kind, name, text(amount)) for kind, name, amount in bridge] == [
        ("cpu", "usage_above_request", "1.08"),  # (6 - 5) vCPU x 0.045 x 24
        ("cpu", "over_allocation", "-2.16"),  # 6 x 0.045 x 24 - 4.32
        ("cpu", "idle", "-1.08"),
        ("memory", "provider_idle", "0.96"),
        ("memory", "idle", "0.96"),
    ]
    # B requests 2 vCPU and 4 GiB and uses half: 24 x (0.045 + 2 x 0.005).
    assert {
        team: None if amount is None else text(amount)
        for team, amount in found.con.sql("SELECT team, workload_idle FROM statements").fetchall()
    } == {"A": "0", "B": "1.32", "platform": None}


# ----------------------------------------------------------------------------------- methods


MEASURED = """date,cluster,team,metric,value
2026-10-01,shop,A,gib,1.5
2026-10-01,shop,C,gib,4.5
"""


@pytest.mark.parametrize(
    ("rule", "shares"),
    [
        # 1.62 of CPU and 0.96 of memory stand idle: 2.58.
        (
            {"method": "fixed", "shares": {"A": 60, "B": 20, "nobody": 100}},
            {"A": "1.935", "B": "0.645"},
        ),
        ({"method": "fixed", "shares": {"A": 60, "B": 20}, "except": ["A"]}, {"B": "2.58"}),
        ({"method": "metric", "metric_file": "m.csv"}, {"A": "0.645", "C": "1.935"}),
        (
            {"method": "metric", "metric_file": "m.csv", "teams": ["B"], "fallback": "even"},
            {"B": "2.58"},
        ),
        ({"method": "metric", "metric_file": "m.csv", "teams": ["B"]}, {"platform": "2.58"}),
        ({"method": "even", "except": ["A"]}, {"B": "1.29", "C": "1.29"}),
    ],
    ids=["fixed", "fixed but for one", "metric", "fallback", "no fallback", "even but for one"],
)
def test_who_bears_idle(tmp_path: Path, rule: dict[str, Any], shares: dict[str, str]) -> None:
    (tmp_path / "m.csv").write_text(MEASURED, encoding="utf-8")
    found = told(
        tmp_path,
        stay(NODE, [TEAMS] * 24),
        allocation_rule=[{"id": "r", "kinds": ["idle"], **rule}],
    )
    rows = found.con.sql("SELECT team, idle FROM statements WHERE idle <> 0").fetchall()
    assert {team: text(amount) for team, amount in rows} == shares
    lines = found.books.teams("effective").items()
    assert {line[2]: text(kinds["idle"]) for line, kinds in lines if kinds["idle"]} == shares
