"""A big synthetic CUR 2.0 month, written by DuckDB: one cluster, every node full of equal days.

`python -m tests.benchmarks.bill FOLDER NODES PODS_PER_NODE`
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import duckdb

from fixtures.aws.columns import CUR2

MONTH = "2026-10"
HOURS = 744
POD_FILES = 8
ROW_GROUP = 250_000
DUCKDB_TYPES = {
    "string": "VARCHAR",
    "double": "DOUBLE",
    "timestamp": "TIMESTAMP",
    "map<string,string>": "MAP(VARCHAR, VARCHAR)",
    "map<string,double>": "MAP(VARCHAR, DOUBLE)",
}


@dataclass(frozen=True)
class Size:
    """How big the month is."""

    nodes: int
    pods_per_node: int

    @property
    def rows(self) -> int:
        """One row for each node and hour, two (CPU and memory) for each pod and hour."""
        return self.nodes * HOURS * (1 + 2 * self.pods_per_node)


BASE = {
    "identity_time_interval": "strftime(TIMESTAMP '2026-10-01' + to_hours(hour), '%xT%XZ')",
    "bill_payer_account_id": "'111122223333'",
    "bill_billing_period_start_date": "TIMESTAMP '2026-10-01'",
    "bill_billing_period_end_date": "TIMESTAMP '2026-11-01'",
    "line_item_usage_account_id": "'111122223333'",
    "line_item_line_item_type": "'Usage'",
    "line_item_currency_code": "'USD'",
    "line_item_usage_start_date": "TIMESTAMP '2026-10-01' + to_hours(hour)",
    "line_item_usage_end_date": "TIMESTAMP '2026-10-01' + to_hours(hour + 1)",
    "product_region_code": "'us-east-1'",
}
NODES = BASE | {
    "identity_line_item_id": "md5('node' || node || '/' || hour)",
    "line_item_product_code": "'AmazonEC2'",
    "line_item_operation": "'RunInstances'",
    "line_item_usage_type": "'BoxUsage:demo.xlarge'",
    "line_item_resource_id": "format('i-{:017x}', node)",
    "line_item_usage_amount": "1.0",
    "line_item_unblended_cost": "0.23",
    "pricing_unit": "'Hrs'",
    "product": "MAP {'vcpu': '4', 'memory': '16 GiB', 'product_family': 'Compute Instance'}",
    "product_product_family": "'Compute Instance'",
    "resource_tags": "MAP {'aws_eks_cluster_name': 'bench', 'user_env': 'prod'}",
}
PODS = BASE | {
    "identity_line_item_id": "md5(unit || pod || '/' || hour)",
    "line_item_product_code": "'AmazonEKS'",
    "line_item_operation": "'EKSPod-EC2'",
    "line_item_usage_type": "'USE1-EKS-EC2-' || unit || '-Hours'",
    "line_item_resource_id": "format('arn:aws:eks:us-east-1:111122223333:pod/bench/ns-{}/app-{}-{}/"
    "{}', pod % 20, pod % 200, pod, pod)",
    "line_item_usage_amount": "charged",
    "line_item_unblended_cost": "0.0",
    "split_line_item_parent_resource_id": "format('i-{:017x}', node)",
    "split_line_item_reserved_usage": "charged",
    "split_line_item_actual_usage": "charged * (hash(unit, pod, hour) % 1000) / 1000",
    "split_line_item_split_usage": "charged",
    "split_line_item_split_usage_ratio": "charged / capacity",
    "split_line_item_split_cost": "charged * rate",
    "split_line_item_unused_cost": "(capacity - requested) * rate * share",
    "resource_tags": """MAP {
        'aws_eks_cluster_name': 'bench',
        'aws_eks_namespace': 'ns-' || pod % 20,
        'aws_eks_node': 'node-' || node,
        'aws_eks_workload_type': 'ReplicaSet',
        'aws_eks_workload_name': 'app-' || pod % 200,
        'aws_eks_deployment': 'app-' || pod % 200,
        'user_team': 'team-' || pod % 12,
        'user_app_kubernetes_io_name': 'app-' || pod % 200
    }""",
}
"""Expressions for the columns that are not NULL. A node has 4 vCPU and 16 GiB for 0.23 an hour;
its pods request eight tenths of the CPU and three quarters of the memory, one two, three parts
each in turn."""

NODE_ROWS = "range({nodes}) AS nodes(node), range({hours}) AS hours(hour)"
POD_ROWS = """
    (
        SELECT
            node,
            node * {pods} + slot AS pod,
            (1 + slot % 3) / sum(1 + slot % 3) OVER (PARTITION BY node) AS share
        FROM range({nodes}) AS nodes(node), range({pods}) AS slots(slot)
        WHERE node % {files} = {file}
    ) AS pods,
    (VALUES
        ('vCPU', 4.0, 3.2, 9 * 0.23 / 52),
        ('GB', 16.0, 12.0, 0.23 / 52)
    ) AS units(unit, capacity, requested, rate),
    range({hours}) AS hours(hour),
    LATERAL (SELECT requested * share) AS charges(charged)
"""


def write(folder: Path, size: Size) -> None:
    """Write the export; `folder` stands for its bucket."""
    data = folder / f"billing/bench/data/BILLING_PERIOD={MONTH}"
    metadata = folder / f"billing/bench/metadata/BILLING_PERIOD={MONTH}"
    for place in (data, metadata):
        place.mkdir(parents=True)
    sources = [(NODES, NODE_ROWS.format(nodes=size.nodes, hours=HOURS))]
    for file in range(POD_FILES):
        numbers = {"nodes": size.nodes, "pods": size.pods_per_node, "hours": HOURS}
        sources.append((PODS, POD_ROWS.format(**numbers, files=POD_FILES, file=file)))
    names = [f"bench-{number:05d}.snappy.parquet" for number in range(1, len(sources) + 1)]
    for name, (columns, rows) in zip(names, sources, strict=True):
        _copy(data / name, columns, rows)
    uris = [f"s3://bucket/billing/bench/data/BILLING_PERIOD={MONTH}/{name}" for name in names]
    text = json.dumps({"executionId": "bench", "dataFiles": uris})
    (metadata / "bench-Manifest.json").write_text(text, encoding="utf-8")


def _copy(path: Path, columns: dict[str, str], rows: str) -> None:
    """Write one file with every column of a CUR 2.0 export."""
    values = ", ".join(
        f"({columns.get(name, 'NULL')})::{DUCKDB_TYPES[kind]} AS {name}"
        for name, kind in CUR2.items()
    )
    with duckdb.connect() as con:
        con.execute("SET enable_progress_bar = false")
        con.execute(
            f"COPY (SELECT {values} FROM {rows}) TO '{path}' "
            f"(FORMAT parquet, COMPRESSION snappy, ROW_GROUP_SIZE {ROW_GROUP})"
        )


if __name__ == "__main__":
    write(Path(sys.argv[1]), Size(int(sys.argv[2]), int(sys.argv[3])))
