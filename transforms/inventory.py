"""What nodes can allocate, as Kubernetes says it."""

import polars as pl

from transforms.schema import DAY, MONEY, TEXT

ALLOCATABLE = {
    "resource_id": TEXT,
    "charge_date": DAY,
    "resource_kind": TEXT,
    "allocatable": MONEY,
    "capacity": MONEY,
    "file": TEXT,
}
"""What one node of the bill could allocate on a day (cores, GiB or GPUs), and what it had."""


def nothing_known() -> pl.DataFrame:
    """Return ALLOCATABLE without rows: nobody says what nodes can allocate."""
    return pl.DataFrame(schema=ALLOCATABLE)
