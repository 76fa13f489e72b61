"""What clusters say themselves has kubectl's form, and is about nodes that are on the bill."""

import csv
import json
from datetime import date
from typing import Any

from fixtures import make
from tests import oracle_aws_files

NODES = make.EXPORTS / "nodes"
METRICS = make.EXPORTS / "metrics"
ON_THE_BILL = {
    row.get("line_item_resource_id", "")
    for name in ("aws-prod", "aws-data")
    for row in oracle_aws_files.read(make.EXPORTS / name, "2026-10")
}


def items(name: str) -> list[dict[str, Any]]:
    document = json.loads((NODES / f"{name}.json").read_text(encoding="utf-8"))
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    found: list[dict[str, Any]] = document["items"]
    return found


def named(name: str, node: str) -> dict[str, Any]:
    return next(item for item in items(name) if item["metadata"]["name"] == node)


def test_every_cluster_has_the_inventories_it_should() -> None:
    assert sorted(path.name for path in NODES.iterdir()) == [
        "dark-2026-10-06.json",
        "data-eu.csv",
        "data-lab-2026-10-03.json",
        "ml-2026-10-05.json",
        "shop-eu-2026-10-07.json",
        "shop-eu-2026-10-16.json",
    ]


def test_every_node_is_on_the_bill_by_its_provider_id() -> None:
    found = {
        item["spec"]["providerID"] for path in NODES.glob("*.json") for item in items(path.stem)
    }
    assert len(found) == 11
    assert all(
        text.startswith(("aws:///eu-central-1a/i-", "aws:///us-east-1a/i-")) for text in found
    )
    assert {text.rsplit("/", 1)[1] for text in found} <= ON_THE_BILL


def test_a_node_has_what_kubectl_shows() -> None:
    node = named("data-lab-2026-10-03", "ip-10-5-1-1")
    assert {*node} == {"apiVersion", "kind", "metadata", "spec", "status"}
    assert node["status"]["capacity"] == {
        "cpu": "2",
        "ephemeral-storage": "20959212Ki",
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
        "memory": "7862308Ki",
        "pods": "29",
    }
    # 2 cores less 60 m and 10 m; memory less 255 + 11 x 29 + 100 MiB.
    allocatable = node["status"]["allocatable"]
    assert (allocatable["cpu"], allocatable["memory"]) == ("1930m", "7172132Ki")
    beats = {condition["lastHeartbeatTime"] for condition in node["status"]["conditions"]}
    assert beats == {"2026-10-03T08:57:00Z"}


def test_accelerators_are_allocatable_as_a_whole() -> None:
    status = named("ml-2026-10-05", "ip-10-3-0-1")["status"]
    # 48 cores less 60, 10, 5, 5 and 44 x 2.5 millicores.
    assert status["allocatable"]["cpu"] == "47810m"
    assert {status[name]["nvidia.com/gpu"] for name in ("capacity", "allocatable")} == {"4"}


def test_the_kubelets_of_the_shop_keep_more_from_the_second_snapshot_on() -> None:
    def could(name: str, node: str) -> tuple[str, str]:
        status = named(name, node)["status"]["allocatable"]
        return status["cpu"], status["memory"]

    assert could("shop-eu-2026-10-07", "ip-10-1-0-1") == ("3920m", "14933720Ki")
    assert could("shop-eu-2026-10-16", "ip-10-1-0-1") == ("3820m", "14671576Ki")
    assert could("shop-eu-2026-10-07", "ip-10-1-2-1") == could("shop-eu-2026-10-16", "ip-10-1-2-1")


def test_the_table_is_one_of_kube_state_metrics() -> None:
    with (NODES / "data-eu.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert {row["__name__"] for row in rows} == {
        "kube_node_status_allocatable",
        "kube_node_status_capacity",
    }
    found = {
        row["resource"]: row["Value"] for row in rows if row["__name__"].endswith("allocatable")
    }
    assert found == {"cpu": "3.92", "memory": str(31391296 * 1024), "pods": "58"}


def test_a_day_of_the_metric_is_missing_and_a_team_changes_its_name() -> None:
    with (METRICS / "egress.csv").open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    days = {date.fromisoformat(row["date"]) for row in rows}
    assert {date(2026, 10, day) for day in range(1, 32)} - days == {date(2026, 10, 12)}
    assert {row["team"] for row in rows} == {"checkout", "search", "payments", "money", ""}
    assert max(row["date"] for row in rows if row["team"] == "payments") == "2026-10-15"
    assert min(row["date"] for row in rows if row["team"] == "money") == "2026-10-16"
    assert all(float(row["value"]) > 0 for row in rows)
