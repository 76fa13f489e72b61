"""Inventories: what they may look like, who their nodes are on the bill, and what is wrong."""

import datetime as dt
import gzip
import json
import os
import time
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pipelines import inventory as inventories
from pipelines.config import Config
from pipelines.errors import ConfigurationError
from pipelines.providers import PROVIDERS
from tests.node_rows import rows_frame, workload
from transforms.errors import InputError
from transforms.inventory import INVENTORY, typed
from transforms.sliced import Sliced
from transforms.snapshots import match

MONTH = "2026-10"
NODE_IDS = [provider.transform.NODE_IDS for provider in PROVIDERS.values()]
SIZES = {"cpu": "3920m", "memory": "14995456Ki", "ephemeral-storage": "18242267924", "pods": "58"}
DAY = dt.date(2026, 10, 5)


def node(name: str = "node-1", machine: str | None = "i-1", **status: Any) -> dict[str, Any]:
    """A node as kubectl writes it, as far as it is read."""
    spec = {} if machine is None else {"providerID": f"aws:///eu-central-1a/{machine}"}
    base: dict[str, Any] = {"allocatable": SIZES}
    return {"kind": "Node", "metadata": {"name": name}, "spec": spec, "status": base | status}


def listed(*nodes: Any) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": nodes})


def read(
    tmp_path: Path, *files: tuple[str, str | bytes], glob: str = "*"
) -> inventories.Inventories:
    """Write these files and read them by a pattern."""
    for name, content in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return inventories.read(config(str(tmp_path / glob)))


def config(*paths: str) -> Config:
    source = {"id": "aws-prod", "provider": "aws", "dataset": "cur2", "location": "exports"}
    return Config.model_validate({"source": [source], "nodes": [{"path": list(paths)}]})


def amounts(found: inventories.Inventories) -> list[tuple[Any, ...]]:
    columns = ("node_name", "taken", "resource_kind", "allocatable", "capacity")
    return found.rows.select(columns).sort(columns).rows()


# ---------------------------------------------------------------- documents


def test_a_list_of_kubectl(tmp_path: Path) -> None:
    capacity = {"cpu": "4", "memory": "15.5Gi", "nvidia.com/gpu": "1"}
    sized = node(capacity=capacity, allocatable=SIZES | {"nvidia.com/gpu": "1"})
    found = read(tmp_path, ("2026-10-05.json", listed(sized, node("node-2", None))))
    gib = Decimal("14.300781250000")
    assert amounts(found) == [
        ("node-1", DAY, "cpu", Decimal("3.92"), 4),
        ("node-1", DAY, "gpu", 1, 1),
        ("node-1", DAY, "memory", gib, Decimal("15.5")),
        ("node-2", DAY, "cpu", Decimal("3.92"), None),
        ("node-2", DAY, "memory", gib, None),
    ]
    assert found.rows["provider_id"].unique().sort().to_list() == [
        None,
        "aws:///eu-central-1a/i-1",
    ]
    assert (found.rows["file"].unique().to_list(), found.empty) == (["2026-10-05.json"], ())


def test_one_node_and_numbers_that_are_no_text(tmp_path: Path) -> None:
    found = read(tmp_path, ("n.json", json.dumps(node(allocatable={"cpu": 4, "memory": 2**33}))))
    assert amounts(found) == [("node-1", None, "cpu", 4, None), ("node-1", None, "memory", 8, None)]


@pytest.mark.parametrize(
    ("name", "beats", "day"),
    [
        ("nodes-2026-10-01-a.json", ["2026-10-05T12:00:00Z"], dt.date(2026, 10, 1)),
        ("nodes.json", ["2026-10-05T12:00:00Z", "2026-10-06T00:30:00+02:00", None], DAY),
        ("nodes.json", [], None),
        ("12026-10-01.json", [], None),
        ("2026-13-45.json", ["2026-10-05T12:00:00Z"], DAY),
    ],
)
def test_when_it_was_taken(tmp_path: Path, name: str, beats: Any, day: dt.date | None) -> None:
    conditions = [{"type": "Ready", "lastHeartbeatTime": beat} for beat in beats]
    found = read(tmp_path, (name, json.dumps(node(conditions=conditions))))
    assert found.rows["taken"].unique().to_list() == [day]


def test_what_is_no_machine_on_the_bill_is_left_out(tmp_path: Path) -> None:
    """Fargate bills pods; a node with slices of GPUs has no whole ones to allocate."""
    sliced = SIZES | {"nvidia.com/gpu": "0", "nvidia.com/mig-1g.5gb": "7"}
    nodes = [node("fargate-ip-10-0-1-5.eu-central-1.compute.internal"), node(allocatable=sliced)]
    found = read(tmp_path, ("nodes.json", listed(*nodes)))
    assert found.rows.select("node_name", "resource_kind").rows() == [
        ("node-1", "cpu"),
        ("node-1", "memory"),
    ]


@pytest.mark.parametrize("written", ["utf-8-sig", "utf-16", "gzip"])
def test_as_a_shell_may_have_written_it(tmp_path: Path, written: str) -> None:
    text = listed(node())
    content = gzip.compress(text.encode()) if written == "gzip" else text.encode(written)
    assert read(tmp_path, ("nodes.json", content)).rows.height == 2


# ---------------------------------------------------------------- tables

_LONG = """metric,node,resource,unit,value,provider_id,timestamp
kube_node_status_allocatable,node-1,cpu,core,3.92,aws:///eu-central-1a/i-1,1791158400
kube_node_status_allocatable,node-1,memory,byte,1.5032385536e+10,aws:///eu-central-1a/i-1,1791158400
kube_node_status_capacity,node-1,cpu,core,4,aws:///eu-central-1a/i-1,1791158400
kube_node_status_allocatable,node-1,pods,integer,58,aws:///eu-central-1a/i-1,1791158400
kube_node_status_allocatable,node-2,nvidia_com_gpu,integer,1,,1791158400
kube_node_info,node-1,,,1,aws:///eu-central-1a/i-1,1791158400
"""


def test_a_table_of_kube_state_metrics(tmp_path: Path) -> None:
    found = read(tmp_path, ("nodes.csv", _LONG))
    assert amounts(found) == [
        ("node-1", DAY, "cpu", Decimal("3.92"), 4),
        ("node-1", DAY, "memory", 14, None),
        ("node-2", DAY, "gpu", 1, None),
    ]


def test_metrics_that_bear_their_resource_in_the_name(tmp_path: Path) -> None:
    table = """__name__,node,value
kube_node_status_allocatable_cpu_cores,node-1,3.92
kube_node_status_allocatable_memory_bytes,node-1,15032385536
kube_node_status_capacity_memory_bytes,node-1,17179869184
kube_node_status_allocatable_pods,node-1,58
"""
    assert amounts(read(tmp_path, ("2026-10-05.csv", table))) == [
        ("node-1", DAY, "cpu", Decimal("3.92"), None),
        ("node-1", DAY, "memory", 14, 16),
    ]


def test_a_table_with_a_node_in_each_row(tmp_path: Path) -> None:
    table = """Name,CPU,memory,capacity_cpu,provider_id,date
node-1,3920m,14Gi,4,aws:///eu-central-1a/i-1,2026-10-05
node-2,2,8589934592,,,
"""
    assert amounts(read(tmp_path, ("2026-10-01.csv", table))) == [
        ("node-1", DAY, "cpu", Decimal("3.92"), 4),
        ("node-1", DAY, "memory", 14, None),
        ("node-2", dt.date(2026, 10, 1), "cpu", 2, None),
        ("node-2", dt.date(2026, 10, 1), "memory", 8, None),
    ]


@pytest.mark.parametrize(
    ("moment", "day"),
    [
        ("2026-10-05", DAY),
        ("2026-10-06T01:00:00+02:00", DAY),
        ("2026-10-05 23:59:59", DAY),
        ("1791158400", DAY),
        ("1791158400.123", DAY),
        ("1791158400123", DAY),
    ],
)
def test_moments(tmp_path: Path, moment: str, day: dt.date) -> None:
    table = f"node,cpu,time\nnode-1,2,{moment}\n"
    assert read(tmp_path, ("n.csv", table)).rows["taken"].to_list() == [day]


# ---------------------------------------------------------------- what is wrong


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "nothing"),
        ("  \n", "nothing"),
        (b"\x1f\x8b garbage", "no text"),
        (b"\x80\x81\xfe\x00\x00binary", "no text"),
        (b"PK\x03\x04\x14\x00\x00\x00", "PK"),
        (listed(node())[:-20], "Unterminated"),
        ("[" * 100_000, "recursion"),
        ("[1, 2]", "list"),
        ('{"kind": "List"}', "List"),
        ('{"kind": "List", "items": {}}', "List"),
        ('{"kind": "List", "items": [{"kind": "Pod"}]}', "a list of Pod"),
        ('{"kind": "List", "items": [7]}', "int"),
        (listed({"metadata": {"name": "node-1"}}), "no status"),
        (listed(node(allocatable={})), "nothing of them"),
        (listed(node(allocatable=None, capacity={"cpu": "4"})), "capacity alone"),
        (listed(node(allocatable={"cpu": "NaN"})), "'NaN'"),
        (listed(node(allocatable={"cpu": "-1"})), "'-1'"),
        (listed(node(allocatable={"cpu": ""})), "''"),
        (listed(node(allocatable={"cpu": None})), "'None'"),
        (listed(node(allocatable={"cpu": "1e999999999"})), "'1e999999999'"),
        (listed(node(allocatable={"memory": "9999Pi"})), "'9999Pi'"),
        (listed(node(allocatable={"memory": "14.3"})), "'14.3'"),
        (listed(node(allocatable={"memory": "14 GB"})), "'14 GB'"),
        (listed(node(conditions=[{"lastHeartbeatTime": "yesterday"}])), "'yesterday'"),
        ("node,cpu\nnode-1,+Inf\n", "'+Inf'"),
        ("node,cpu\nnode-1,4,5\n", "3: node-1, 4, 5"),
        ("node,cpu,date\nnode-1,4,05.10.2026\n", "'05.10.2026'"),
        ("node,cpu,date\nnode-1,4,99999999999999\n", "'99999999999999'"),
        ("node,cpu\n,4\n", "a row without either"),
        ("node,capacity_cpu\nnode-1,4\n", "capacity alone"),
        ("node,disk\nnode-1,4\n", "node, disk"),
        ("cpu,memory\n4,16Gi\n", "cpu, memory"),
        ("node,cpu,allocatable_cpu\nnode-1,4,4\n", "node, cpu, allocatable_cpu"),
        ("node,cpu, CPU\nnode-1,4,4\n", "node, cpu,  CPU"),
        ("node,cpu,cpu\nnode-1,4,3\n", "node, cpu, cpu"),
        (listed(node("\ud800")), "ud800"),
        (listed(node(allocatable={"cpu": "\ud800"})), "ud800"),
        ("metric,node,resource,unit,value\nallocatable,n,memory,KiB,14995456\n", "'KiB'"),
        ("metric,node,value\nkube_node_info,n,1\n", "nothing of them"),
        ("name,age\nnode-1,5d\n", "name, age"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, content: str | bytes, told: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, ("bad", content))
    error = caught.value
    assert error.exit_code == 3
    assert error.where.startswith("bad")
    assert told in error.got
    assert error.expected


DECIMALS = "',' between columns and '.' in numbers"


@pytest.mark.parametrize(
    ("name", "content", "what", "expected", "got"),
    [
        (
            *("n.csv", "node;cpu\nnode-1;4\n", "semicolons between the columns"),
            *(DECIMALS, "node;cpu"),
        ),
        (
            *("n.csv", "node;cpu\nnode-1;3,92\n", "semicolons between the columns"),
            *(DECIMALS, "node;cpu"),
        ),
        (
            *("n.csv", "node,cpu\nnode-1,3,92\n", "a row is longer than the header"),
            *("2 cells; " + DECIMALS, "3: node-1, 3, 92"),
        ),
        (
            *("n.csv", 'node,cpu\nnode-1,"3,92"\n', "an amount cannot be read"),
            *("cores such as 3.92 or 3920m, with '.' and not ','", "'3,92'"),
        ),
        *(
            (
                *("n.json", content, "an inventory in YAML"),
                *("JSON, as `kubectl get nodes -o json` writes it", "apiVersion: v1"),
            )
            for content in ("apiVersion: v1\nitems:\n- kind: Node\n", "---\napiVersion: v1\n")
        ),
    ],
)
def test_what_another_form_or_language_wrote_is_said(
    tmp_path: Path, name: str, content: str, what: str, expected: str, got: str
) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, (name, content))
    error = caught.value
    assert (error.what, error.expected, error.got) == (what, expected, got)
    assert error.where.startswith(name)


def test_what_is_expected_lists_the_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, ("n.csv", "hostname,size\na,b\n"))
    for column in ("metric", "__name__", "resource", "value", "node", "provider_id", "timestamp"):
        assert column in caught.value.expected


def test_a_path_without_a_file_is_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "nodes").mkdir()
    for pattern in ("nodes/*.json", "nodes", "."):
        with pytest.raises(ConfigurationError) as caught:
            read(tmp_path, glob=pattern)
        assert (caught.value.exit_code, caught.value.where) == (2, "nodes[0].path")
    with pytest.raises(ConfigurationError):
        inventories.read(config("/"))


@pytest.mark.parametrize("pattern", ["**.json", "nodes-**/*.json"])
def test_a_pattern_that_is_none_is_wrong_use(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, ("a.json", listed(node())), glob=pattern)
    error = caught.value
    assert (error.exit_code, error.what, error.where) == (2, "not a pattern", "nodes[0].path")
    assert error.got.startswith(str(tmp_path / pattern))


def test_a_file_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, (os.fsdecode(b"node-\xff.json"), listed(node())))
    error = caught.value
    assert (error.what, error.where) == (
        "the name of a file is no text",
        r"'node-\udcff.json'",
    )


def test_a_quoted_name_of_a_column_may_have_commas(tmp_path: Path) -> None:
    table = 'node,"a, b","a, c",cpu\nnode-1,x,y,4\n'
    assert amounts(read(tmp_path, ("a.csv", table))) == [("node-1", None, "cpu", 4, None)]


def test_files_are_read_once_and_named_below_their_folder(tmp_path: Path) -> None:
    for name in ("a/nodes.json", "b/nodes.json"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(listed(node()), encoding="utf-8")
    patterns = [str(tmp_path / pattern) for pattern in ("*/nodes.json", "**/*.json")]
    found = inventories.read(config(*patterns))
    assert [file.name for file in found.files] == [
        str(tmp_path / "a/nodes.json"),
        str(tmp_path / "b/nodes.json"),
    ]
    assert [file.size for file in found.files] == [len(listed(node()))] * 2
    assert len({file.sha256 for file in found.files}) == 1
    assert found.rows["file"].unique().sort().to_list() == ["a/nodes.json", "b/nodes.json"]


@pytest.mark.parametrize("content", [listed(), "node,cpu\n", '{"kind": "NodeList", "items": []}'])
def test_a_file_without_nodes_is_told(tmp_path: Path, content: str) -> None:
    found = inventories.matched(read(tmp_path, ("none.json", content)), [], MONTH)
    assert found.allocatable.is_empty()
    assert [(row["rule"], row["where"]) for row in found.findings] == [
        ("inventory_empty", "none.json")
    ]


# ---------------------------------------------------------------- which node, which snapshot


def snapshot(
    amount: Any,
    name: str | None = "node-1",
    machine: str | None = "i-1",
    taken: dt.date | None = DAY,
    **cells: Any,
) -> dict[str, Any]:
    base = {
        "provider_id": machine and f"aws:///eu-central-1a/{machine}",
        "node_name": name,
        "taken": taken,
        "resource_kind": "cpu",
        "allocatable": Decimal(str(amount)),
        "file": "nodes.json",
    }
    return base | cells


def day(number: int) -> dt.date:
    return dt.date(2026, 10, number)


def matched(
    snapshots: Iterable[dict[str, Any]], *nodes: tuple[str, str | None, int]
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """What holds on each day for `(resource_id, node_name, day)` of the bill, and the findings."""
    bill = pl.DataFrame(
        [(machine, name, day(number)) for machine, name, number in nodes],
        schema={"resource_id": pl.String, "node_name": pl.String, "charge_date": pl.Date},
        orient="row",
    )
    found = match(pl.DataFrame(list(snapshots), schema=INVENTORY), bill, MONTH, NODE_IDS)
    held = found.allocatable.select("resource_id", "charge_date", "allocatable").rows()
    findings = [(row["rule"], row["severity"], row["where"]) for row in found.findings]
    return [(who, when.day, float(amount)) for who, when, amount in held], findings


def test_the_newest_snapshot_that_is_not_after_the_day_holds() -> None:
    nodes = [("i-1", "node-1", number) for number in (1, 5, 6, 9, 10, 31)]
    snapshots = [snapshot(3, taken=day(5)), snapshot(2, taken=day(10)), snapshot(1, taken=None)]
    assert matched(snapshots, *nodes) == (
        [("i-1", n, a) for n, a in ((1, 3), (5, 3), (6, 3), (9, 3), (10, 2), (31, 2))],
        [],
    )


def test_one_without_a_date_holds_always() -> None:
    nodes = [("i-1", "node-1", 1), ("i-1", "node-1", 31)]
    assert matched([snapshot(3, taken=None)], *nodes) == ([("i-1", 1, 3), ("i-1", 31, 3)], [])


def test_a_snapshot_of_another_month_holds_too() -> None:
    early, late = dt.date(2026, 3, 1), dt.date(2026, 12, 1)
    nodes = [("i-1", "node-1", 1)]
    assert matched([snapshot(3, taken=early), snapshot(2, taken=late)], *nodes)[0] == [
        ("i-1", 1, 3)
    ]
    assert matched([snapshot(2, taken=late)], *nodes)[0] == [("i-1", 1, 2)]


@pytest.mark.parametrize(
    ("provider_id", "resource_id"),
    [
        ("aws:///eu-central-1a/i-1", "i-1"),
        ("i-1", "i-1"),
        ("gce://acme/us-central1-a/gke-n", "//compute/projects/7/zones/us-central1-a/instance/77"),
        ("kind://docker/kind/n", "kind://docker/kind/n"),
    ],
)
def test_a_provider_id_names_one_machine(provider_id: str, resource_id: str) -> None:
    node = (resource_id, "gke-n", 5)
    found = matched([snapshot(3, name="other", provider_id=provider_id)], node)
    assert found == ([(resource_id, 5, 3)], [])


@pytest.mark.parametrize("resource_id", ["i-11", "xi-1", "i-1/x", "eu-central-1a/i-1"])
def test_an_id_that_only_contains_it_is_another(resource_id: str) -> None:
    held, findings = matched([snapshot(3)], (resource_id, "node-1", 5))
    assert held == []
    assert findings == [("inventory_unknown_node", "warning", "nodes.json: i-1")]


def test_a_name_counts_only_without_an_id() -> None:
    by_name = snapshot(3, machine=None)
    assert matched([by_name], ("i-1", "node-1", 5)) == ([("i-1", 5, 3)], [])
    assert matched([by_name], ("i-1", "node-11", 5))[0] == []
    assert matched([snapshot(3, machine="i-2")], ("i-1", "node-1", 5))[0] == []


def test_a_name_that_two_nodes_have_is_not_used_on_that_day() -> None:
    nodes = [("i-1", "node-1", 5), ("i-2", "node-1", 5), ("i-2", "node-1", 6)]
    assert matched([snapshot(3, machine=None)], *nodes) == (
        [("i-2", 6, 3)],
        [("inventory_ambiguous", "warning", "node-1")],
    )


def test_an_id_goes_before_a_name() -> None:
    both = [snapshot(3), snapshot(2, machine=None, taken=day(4))]
    assert matched(both, ("i-1", "node-1", 5)) == ([("i-1", 5, 3)], [])


def test_the_same_node_twice_is_no_matter_while_it_says_the_same() -> None:
    twice = [snapshot(3), snapshot(3, file="again.json"), snapshot(3, machine=None)]
    assert matched(twice, ("i-1", "node-1", 5)) == ([("i-1", 5, 3)], [])


@pytest.mark.parametrize("taken", [DAY, None])
def test_the_same_node_twice_with_other_amounts_is_not_used(taken: dt.date | None) -> None:
    twice = [
        snapshot(3, taken=taken),
        snapshot(2, taken=taken, file="other.json"),
        snapshot(1, taken=day(1)),
        snapshot(8, resource_kind="memory", taken=taken),
        snapshot(4, "node-2", "i-2"),
    ]
    assert matched(twice, ("i-1", "node-1", 5), ("i-2", "node-2", 5)) == (
        [("i-2", 5, 4)],
        [("inventory_overlaps", "error", "nodes.json and other.json: i-1")],
    )


def test_an_id_and_a_name_that_say_other_amounts_of_one_day() -> None:
    twice = [snapshot(3), snapshot(2, machine=None, file="metrics.csv")]
    assert matched(twice, ("i-1", "node-1", 5), ("i-1", "node-1", 6)) == (
        [],
        [("inventory_overlaps", "error", "nodes.json and metrics.csv: i-1")],
    )


def test_a_name_does_not_make_up_for_an_id_of_which_several_things_are_said() -> None:
    said = [snapshot(3), snapshot(2), snapshot(1, machine=None, taken=day(4))]
    assert matched(said, ("i-1", "node-1", 5)) == (
        [],
        [("inventory_overlaps", "error", "nodes.json: i-1")],
    )


def test_nodes_that_no_bill_has_are_told_per_file() -> None:
    names = [f"i-{number:02}" for number in range(10, 17)]
    unknown = [snapshot(3, machine=machine) for machine in names]
    unknown += [snapshot(3, "gone", None, file="metrics.csv")]
    undated = [snapshot(3, machine="i-77", taken=None, file="always.json")]
    undated += [snapshot(3, "lost", None, None, file="always.json")]
    others = [dt.date(2026, 9, 30), dt.date(2026, 11, 1)]
    old = [snapshot(3, machine="i-78", taken=taken, file="old.json") for taken in others]
    assert matched([*unknown, *undated, *old], ("i-1", "node-1", 5)) == (
        [],
        [
            ("inventory_unknown_node", "warning", "always.json: i-77, lost"),
            ("inventory_unknown_node", "warning", "metrics.csv: gone"),
            (
                "inventory_unknown_node",
                "warning",
                "nodes.json: i-10, i-11, i-12, i-13, i-14 and 2 more",
            ),
        ],
    )


def test_nodes_of_a_provider_whose_bill_tells_none_are_not_unknown() -> None:
    machine = "azure:///subscriptions/s/virtualMachineScaleSets/vmss/virtualMachines/0"
    assert matched([snapshot(3, provider_id=machine)], ("vmss", None, 5)) == ([], [])


def test_names_are_compared_over_all_sources(tmp_path: Path) -> None:
    found = read(tmp_path, ("n.csv", "node,cpu\nnode-1,3\n"))
    nothing = pl.DataFrame()
    months = [
        Sliced(rows_frame([workload(1, resource_id=machine)]), nothing, nothing, nothing)
        for machine in ("i-1", "i-2")
    ]
    assert inventories.matched(found, months[:1], MONTH).allocatable.height == 1
    both = inventories.matched(found, months, MONTH)
    assert both.allocatable.is_empty()
    assert [row["rule"] for row in both.findings] == ["inventory_ambiguous"]


# ---------------------------------------------------------------- many


def test_fifty_thousand_nodes(tmp_path: Path) -> None:
    nodes = [node(f"node-{number}", f"i-{number}") for number in range(50_000)]
    start = time.monotonic()
    found = read(tmp_path, ("2026-10-05.json", listed(*nodes)))
    bill = pl.DataFrame({"number": range(50_000)}).select(
        resource_id=pl.concat_str(pl.lit("i-"), "number"),
        node_name=pl.concat_str(pl.lit("node-"), "number"),
        charge_date=pl.lit(DAY),
    )
    held = match(found.rows, bill, MONTH, NODE_IDS)
    assert (found.rows.height, held.allocatable.height, held.findings) == (100_000, 100_000, [])
    assert time.monotonic() - start < 60


def test_each_text_is_read_once() -> None:
    """A month of samples has few different amounts."""
    rows = [("aws:///z/i-1", "node-1", DAY, "allocatable", "cpu", "3920m")] * 200_000
    raw = pl.DataFrame(
        rows,
        schema=["provider_id", "node_name", "taken", "metric", "resource", "text"],
        orient="row",
    )
    start = time.monotonic()
    assert typed(raw, "n.csv").height == 1
    assert time.monotonic() - start < 20
