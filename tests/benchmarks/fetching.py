"""`make bench`: what a fetch costs in time and memory, against boto3's own download of the same.

Both read one file from a real S3 on this machine, in turn, each in a process of its own; the best
of each counts. A fetch also hashes, notes how far it is, and is on disk when it ends.
"""

import argparse
import os
import random
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.month import Cost, measure, show
from tests.services import seaweedfs

BUCKET = "bench"
WHOLE, PART = "whole.parquet", "part.parquet"
MIB = 1 << 20
ALLOWED = 1.3
"""How many times as long as boto3 a fetch may take."""
GROWTH = 48.0
"""How many MiB a fetch may take more for the whole file than for a fraction of it."""
MEMORY = Path("/dev/shm")  # noqa: S108 - a disk would be measured twice
PLAIN = """
import os, sys, time, boto3

endpoint, key, into, took = sys.argv[1:]
start = time.monotonic()
boto3.client("s3", endpoint_url=endpoint).download_file("bench", key, into)
open(took, "w").write(str(time.monotonic() - start))
os.remove(into)
"""
FETCH = """
import shutil, sys, time, boto3, botocore.credentials
from pathlib import Path
from connectors import raw, s3
from connectors.base import Delivery, ExportSource, silent
from connectors.places import open_store

endpoint, key, into, took = sys.argv[1:]
start = time.monotonic()
store = open_store(ExportSource("s3://bench", "cur2", endpoint=endpoint))
files = tuple(file for file in store.listing() if file.path == key)
raw.fetch(store, Delivery(store.location, "2026-10", files), Path(into), silent)
Path(took).write_text(str(time.monotonic() - start))
shutil.rmtree(into)
"""


def main() -> None:
    """Fetch a file both ways in turn, and fail where ours takes too long or too much memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    place = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="leerlauf-bench-", dir=place) as name:
        folder = Path(name)
        with seaweedfs.running(folder) as s3:
            os.environ.update(s3.env)
            upload(s3, folder / "rows", PART, asked.mebibytes // 8)
            upload(s3, folder / "rows", WHOLE, asked.mebibytes)
            part = [fetch(FETCH, s3, PART, folder)]
            plain, ours = list[Cost](), list[Cost]()
            for _ in range(asked.rounds):
                plain.append(fetch(PLAIN, s3, WHOLE, folder))
                ours.append(fetch(FETCH, s3, WHOLE, folder))
    print(f"{asked.mebibytes:,} MiB, the best of {asked.rounds}")
    show("boto3 download", best(plain), best(plain))
    show("leerlauf fetch", best(ours), best(plain))
    show("an eighth of it", best(part), best(plain))
    if best(ours).seconds > ALLOWED * best(plain).seconds:
        sys.exit(f"a fetch takes more than {ALLOWED} times as long as boto3")
    if best(ours).memory > best(part).memory + GROWTH:
        sys.exit("the memory of a fetch grows with the file")


def upload(s3: seaweedfs.S3, path: Path, key: str, mebibytes: int) -> None:
    """Put a file that cannot be packed into the bucket."""
    block = random.Random(mebibytes).randbytes(MIB)
    with path.open("wb") as stream:
        for index in range(mebibytes):
            stream.write(block[index:] + block[:index])
    s3.bucket(BUCKET).upload_file(str(path), BUCKET, key)
    path.unlink()


def fetch(code: str, s3: seaweedfs.S3, key: str, folder: Path) -> Cost:
    """Return what a process takes that fetches the file, without the time it takes to import."""
    os.sync()
    into, took = folder / "into", folder / "took"
    cost = measure("-c", code, s3.endpoint, key, str(into), str(took), folder=folder)
    return Cost(float(took.read_text()), cost.memory)


def best(costs: list[Cost]) -> Cost:
    """Return the shortest time, and the most memory of any."""
    return Cost(min(cost.seconds for cost in costs), max(cost.memory for cost in costs))


if __name__ == "__main__":
    main()
