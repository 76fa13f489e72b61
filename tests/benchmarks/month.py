"""`make bench`: what a month costs in time and memory, against a plain sum of the same files.

The plain sum is what nobody can do without: read the rows, take the tags out of their map, add
up exact decimals by day and workload, write the result. Seconds depend on the machine, the ratio
hardly does.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.bill import MONTH, Size

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = """
[[source]]
id = "bench"
provider = "aws"
dataset = "cur2"
location = "bucket"

[[team_rule]]
label = "team"

[[operator]]
team = "platform"
cluster = ["*"]

[[allocation_rule]]
id = "idle"
kinds = ["idle"]
method = "proportional"
"""
RUN = "import sys; from pipelines.cli import main; sys.exit(main())"
PLAIN = """
import duckdb, sys
con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
con.execute(f'''
    COPY (
        SELECT
            date_trunc('day', line_item_usage_start_date) AS day,
            line_item_usage_type,
            resource_tags['aws_eks_cluster_name'] AS cluster,
            resource_tags['aws_eks_namespace'] AS namespace,
            resource_tags['aws_eks_workload_name'] AS workload,
            resource_tags['user_team'] AS team,
            sum(line_item_unblended_cost::DECIMAL(38, 12)) AS cost,
            sum(split_line_item_split_cost::DECIMAL(38, 12)) AS split_cost,
            sum(split_line_item_unused_cost::DECIMAL(38, 12)) AS unused_cost,
            sum(split_line_item_reserved_usage::DECIMAL(38, 12)) AS requested,
            sum(split_line_item_actual_usage::DECIMAL(38, 12)) AS used,
            sum(split_line_item_split_usage::DECIMAL(38, 12)) AS charged
        FROM read_parquet('{sys.argv[1]}/billing/bench/data/**/*.parquet')
        GROUP BY ALL
        ORDER BY ALL
    ) TO '{sys.argv[2]}' (FORMAT parquet, COMPRESSION zstd)
''')
"""


@dataclass(frozen=True)
class Cost:
    """What a process took: seconds on the clock and its greatest memory in MiB."""

    seconds: float
    memory: float


def measure(*arguments: str, folder: Path) -> Cost:
    """Run Python in a process of its own and return what it took."""
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(arguments[-3:])}: exit code {process.returncode}")
    return Cost(time.monotonic() - start, usage.ru_maxrss / 1024)


def main() -> None:
    """Make the month, measure, and print one line for each way to read it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100)
    parser.add_argument("--pods-per-node", type=int, default=20)
    size = Size(**vars(parser.parse_args()))
    with tempfile.TemporaryDirectory(prefix="leerlauf-bench-") as name:
        folder = Path(name)
        bucket = folder / "bucket"
        # In a process of its own: a child inherits the memory peak of the process it comes from.
        sizes = (str(size.nodes), str(size.pods_per_node))
        measure("-m", "tests.benchmarks.bill", str(bucket), *sizes, folder=folder)
        (folder / "leerlauf.toml").write_text(CONFIGURATION, encoding="utf-8")
        stored = sum(path.stat().st_size for path in bucket.rglob("*.parquet")) / 2**20
        print(f"{size.rows:,} rows, {stored:,.0f} MiB", flush=True)
        plain = measure("-c", PLAIN, str(bucket), str(folder / "plain.parquet"), folder=folder)
        show("plain sum", plain, plain)
        for label in ("leerlauf run", "leerlauf run again"):
            show(label, measure("-c", RUN, "run", MONTH, folder=folder), plain)


def show(label: str, cost: Cost, plain: Cost) -> None:
    """Print one line."""
    print(
        f"{label:<20}{cost.seconds:8.1f} s {cost.seconds / plain.seconds:6.1f} x"
        f"{cost.memory:8.0f} MiB",
        flush=True,
    )


if __name__ == "__main__":
    main()
