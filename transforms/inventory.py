"""What nodes can allocate, as Kubernetes says it."""

from collections.abc import Sequence

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


_SHOWN = 5


def nothing_known() -> pl.DataFrame:
    """Return ALLOCATABLE without rows: nobody says what nodes can allocate."""
    return pl.DataFrame(schema=ALLOCATABLE)


def shown(names: Sequence[str]) -> str:
    """Return how many there are, and the first few of them."""
    few = ", ".join(names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return few + more
