"""A month with inventories: the worked example, whose node can allocate 3.92 CPUs and 14.3 GiB.

4 vCPU and 16 GiB for 0.23 USD an hour and 730 hours; CPU and memory weigh 9 to 1. So its CPU costs
0.23 x 730 x 36/52 and its memory 0.23 x 730 x 16/52, and it reserves 0.08/4 and 1.7/16 of that.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pipelines import config as configuration
from pipelines import month as months
from pipelines.lake import Lake
from pipelines.month import Outcome
from pipelines.record import RunRecord, read_record
from tests.conftest import ROOT
from tests.small_month import said

MONTH = "2026-10"
MACHINE = "i-0e0e0e0e0e0e0e0e1"
NAME = "ip-10-9-0-1.ec2.internal"
SIZES = {"cpu": "3920m", "memory": "14.3Gi"}
TEXT = f"""
[[source]]
id = "aws-example"
provider = "aws"
dataset = "cur2"
location = "{ROOT}/fixtures/exports/aws-example"
[[team_rule]]
label = "team"
[[operator]]
team = "platform"
[[nodes]]
path = "nodes/*"
"""
RESERVE = {"cpu": Decimal("2.324769230769"), "memory": Decimal("5.489038461538")}
DOUBLES = Decimal("0.000000001")
"""What the export's own numbers miss."""


def snapshot(
    sizes: Mapping[str, str] = SIZES, machine: str | None = MACHINE, name: str = NAME
) -> str:
    spec = {} if machine is None else {"providerID": f"aws:///us-east-1a/{machine}"}
    node = {"metadata": {"name": name}, "spec": spec, "status": {"allocatable": sizes}}
    return json.dumps({"kind": "List", "items": [node]})


def run(folder: Path, files: Mapping[str, str], more: str = "") -> Outcome:
    """Run October with these inventories, in a folder of its own."""
    (folder / "nodes").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / "nodes" / name).write_text(content, encoding="utf-8")
    (folder / "leerlauf.toml").write_text(TEXT + more, encoding="utf-8")
    return months.run(configuration.load(folder / "leerlauf.toml"), MONTH)


def connected(folder: Path) -> duckdb.DuckDBPyConnection:
    lake = Lake(folder / "lake")
    return lake.connect(lake.newest(MONTH))


def kinds(con: duckdb.DuckDBPyConnection, view: str = "effective_cost") -> dict[Any, Decimal]:
    rows = con.sql(
        f"SELECT row_kind, reason, resource_kind, sum({view}) FROM normalised GROUP BY ALL"
    )
    return {row[:3]: row[3] for row in rows.fetchall()}


def findings(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    return con.sql('SELECT rule, severity, "where" FROM findings ORDER BY ALL').fetchall()


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """The month whose inventory says nothing of the node."""
    folder = tmp_path_factory.mktemp("without")
    run(folder, {"a.csv": "node,cpu,date\nanother,2,2026-09-01\n"})
    return connected(folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("known")
    outcome = run(folder, {"2026-10-01.json": snapshot()})
    assert (outcome.record.status, outcome.record.published) == ("ok", True)
    return folder


@pytest.fixture(scope="module")
def known(folder: Path) -> duckdb.DuckDBPyConnection:
    return connected(folder)


def test_the_reserve_of_the_worked_example(
    without: duckdb.DuckDBPyConnection, known: duckdb.DuckDBPyConnection
) -> None:
    for view in ("effective_cost", "billed_cost"):
        before, after = kinds(without, view), kinds(known, view)
        for kind, reserve in RESERVE.items():
            made = after.pop(("system_overhead", "node_reserve", kind))
            assert abs(made - reserve) < DOUBLES
            assert after["idle", "unrequested", kind] + made == before["idle", "unrequested", kind]
            before.pop(("idle", "unrequested", kind))
            after.pop(("idle", "unrequested", kind))
        assert after == before


def test_the_statement_shows_it_and_nothing_is_unknown(
    without: duckdb.DuckDBPyConnection, known: duckdb.DuckDBPyConnection
) -> None:
    line = "SELECT idle_rounded, system_overhead_rounded, total_rounded FROM statements"
    ours = f"{line} WHERE team = 'platform'"
    assert without.sql(ours).fetchall() == [(Decimal("69.42"), 0, Decimal("69.42"))]
    assert known.sql(ours).fetchall() == [
        (Decimal("61.61"), Decimal("7.81"), Decimal("69.42")),
    ]
    assert [row[0] for row in findings(without)] == ["reserve_unknown"]
    assert findings(known) == []
    note = "includes what the nodes reserve for themselves, which is unknown"
    told = "SELECT count(*) FROM postings WHERE contains(note, $1)"
    assert without.execute(told, [note]).fetchall() == [(62,)]
    assert known.execute(told, [note]).fetchall() == [(0,)]


def test_prices_stay_and_the_idle_ratio_falls(
    without: duckdb.DuckDBPyConnection, known: duckdb.DuckDBPyConnection
) -> None:
    prices = "SELECT DISTINCT resource_kind, price, quantity_unit FROM unit_prices ORDER BY ALL"
    assert known.sql(prices).fetchall() == without.sql(prices).fetchall()
    assert known.sql(prices).fetchall() == [
        ("cpu", Decimal("0.039807692308"), "Core-Hours"),
        ("memory", Decimal("0.004423076923"), "GiB-Hours"),
    ]
    ratio = "SELECT resource_kind, round(idle_ratio, 6) FROM idle_ratio ORDER BY ALL"
    assert without.sql(ratio).fetchall() == [("cpu", 0.375), ("memory", 0.5)]
    assert known.sql(ratio).fetchall() == [("cpu", 0.355), ("memory", 0.39375)]


def test_the_bridge_has_the_reserve(known: duckdb.DuckDBPyConnection) -> None:
    lines = known.sql(
        "SELECT name, round(sum(amount), 6) FROM reconciliation WHERE amount <> 0 GROUP BY ALL"
    ).fetchall()
    amounts = {name: float(amount) for name, amount in lines}
    rebased = amounts.pop("rebased", 0)
    assert abs(rebased) < 1e-6
    assert amounts == {"provider_idle": 69.420192, "node_reserve": -7.813808, "idle": 61.606385}


def test_quantities_stand_on_idle(known: duckdb.DuckDBPyConnection) -> None:
    rows = known.sql(
        "SELECT row_kind, resource_kind, sum(capacity_quantity), sum(allocatable_quantity) "
        "FROM normalised WHERE row_kind IN ('idle', 'system_overhead') GROUP BY ALL ORDER BY ALL"
    )
    assert rows.fetchall() == [
        ("idle", "cpu", 2920, Decimal("2861.6")),
        ("idle", "memory", 11680, Decimal("10439.0")),
        ("system_overhead", "cpu", None, None),
        ("system_overhead", "memory", None, None),
    ]


def test_the_record_names_what_was_read(folder: Path) -> None:
    record = Lake(folder / "lake").newest(MONTH)
    (file,) = record.side_files
    assert (file.name, file.size) == (str(folder / "nodes/2026-10-01.json"), len(snapshot()))
    path = folder / "lake" / "runs" / f"{record.run}.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    del document["side_files"]
    older = folder / "older.json"
    older.write_text(json.dumps(document), encoding="utf-8")
    assert read_record(older) == record.model_copy(update={"side_files": ()})


def test_policy_headroom_comes_out_of_what_the_reserve_leaves(tmp_path: Path) -> None:
    """A tenth of (167.90 less the reserve): CPU 11.391369, memory 4.617250."""
    policy = '[[headroom]]\nkeep_free = { cpu = "10%", memory = "10%" }\n'
    outcome = run(tmp_path, {"2026-10-01.json": snapshot()}, policy)
    assert outcome.record.status == "ok"
    found = kinds(connected(tmp_path))
    assert round(found["headroom", "policy", "cpu"], 6) == Decimal("11.391369")
    assert round(found["headroom", "policy", "memory"], 6) == Decimal("4.617250")
    assert round(found["idle", "unrequested", "cpu"], 6) == Decimal("29.873285")
    assert findings(connected(tmp_path)) == []


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"a.json": snapshot({"cpu": "4100m"})},
            [("inventory_contradicts_bill", "error", f"a.json, cpu of {NAME}")],
        ),
        (
            {"a-2026-10-02.json": snapshot(), "b-2026-10-02.json": snapshot({"cpu": "3"})},
            [
                (
                    "inventory_overlaps",
                    "error",
                    f"a-2026-10-02.json and b-2026-10-02.json: {MACHINE}",
                )
            ],
        ),
        (
            {"2026-10-02.json": snapshot(machine="i-0ffffffffffffffff")},
            [("inventory_unknown_node", "warning", "2026-10-02.json: i-0ffffffffffffffff")],
        ),
        (
            {"2026-10-02.json": snapshot(machine=None, name=NAME[1:])},
            [("inventory_unknown_node", "warning", f"2026-10-02.json: {NAME[1:]}")],
        ),
        ({"a.json": '{"kind": "List", "items": []}'}, [("inventory_empty", "warning", "a.json")]),
    ],
)
def test_a_bad_inventory_moves_nothing_and_is_told(
    tmp_path: Path, without: duckdb.DuckDBPyConnection, files: Mapping[str, str], expected: Any
) -> None:
    outcome = run(tmp_path, files)
    con = connected(tmp_path)
    is_error = any(severity == "error" for _, severity, _ in expected)
    assert outcome.record.status == ("findings" if is_error else "ok")
    assert kinds(con) == kinds(without)
    assert findings(con) == [*expected, ("reserve_unknown", "info", "1 node")]


def test_a_name_that_the_bill_has_will_do(tmp_path: Path) -> None:
    run(tmp_path, {"n.csv": f"node,cpu,memory,date\n{NAME},3920m,14.3Gi,2026-11-20\n"})
    made = kinds(connected(tmp_path))
    assert abs(made["system_overhead", "node_reserve", "cpu"] - RESERVE["cpu"]) < DOUBLES


def test_the_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file, a file that cannot be read, one above the bill, a good one."""
    (tmp_path / "leerlauf.toml").write_text(TEXT, encoding="utf-8")
    command = ("run", MONTH, "--config", tmp_path / "leerlauf.toml")
    answer = said(capsys, *command)
    assert (answer.code, "no inventory" in answer.err) == (2, True)
    (tmp_path / "nodes").mkdir()
    path = tmp_path / "nodes" / "a.json"
    for content, code in (
        (snapshot()[:-9], 3),
        (snapshot({"cpu": "NaN"}), 3),
        (snapshot({"cpu": "8"}), 1),
        (snapshot(), 0),
    ):
        path.write_text(content, encoding="utf-8")
        assert said(capsys, *command).code == code
        assert (tmp_path / "lake" / "normalised").exists() == (code < 2)


def test_the_order_of_snapshots_makes_no_difference(folder: Path, tmp_path: Path) -> None:
    """Same bytes: what holds is the same, whichever file says it and however often."""
    run(
        tmp_path,
        {"z.json": snapshot(), "2026-10-01.json": snapshot(), "2026-10-31.json": snapshot()},
    )
    assert hashes(tmp_path) == hashes(folder)


def hashes(folder: Path) -> dict[str, str]:
    record: RunRecord = Lake(folder / "lake").newest(MONTH)
    return {file.path: file.sha256 for files in record.tables.values() for file in files}
