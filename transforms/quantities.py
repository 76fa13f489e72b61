"""Quantities as Kubernetes writes them: `500m` CPUs, `4Gi` of memory, and `10%` of something."""

import re
from decimal import Decimal
from typing import NamedTuple

_NUMBER = re.compile(r"(\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)")
_SUFFIX = {
    "m": Decimal("0.001"),
    "": Decimal(1),
    **{sign: Decimal(1000) ** power for power, sign in enumerate("kMGTPE", start=1)},
    **{f"{sign}i": Decimal(1024) ** power for power, sign in enumerate("KMGTPE", start=1)},
}
_GIB = Decimal(1024**3)
LARGEST = 10**9
"""More cores, GiB or GPUs than a node or a cluster can have: a mistake, and no amount."""
LEAST_MEMORY = Decimal(1) / 1024
"""Less memory, in GiB, is none that is above 0: a unit was left out."""


class Kept(NamedTuple):
    """How much is kept free: a share (0 to 1) of what can be allocated, or a quantity of it."""

    share: Decimal | None
    quantity: Decimal | None


def parse(text: str) -> Decimal:
    """Return a Kubernetes quantity: `3920m` is 3.92, `2Ki` is 2048. Raises ValueError."""
    found = _NUMBER.fullmatch(text.strip())
    if found is None or found[2] not in _SUFFIX:
        raise ValueError(text)
    try:
        return Decimal(found[1]) * _SUFFIX[found[2]]
    except ArithmeticError:
        raise ValueError(text) from None


def gib(text: str) -> Decimal:
    """Return an amount of memory in GiB; `4GiB` is read like `4Gi`. Raises ValueError."""
    return parse(re.sub(r"(?<=i)B$", "", text.strip())) / _GIB


def kept(resource_kind: str, text: str) -> Kept:
    """Return how much of a resource is kept free: a share, cores, GiB or GPUs.

    Memory needs its unit, node cost as a whole (`compute`) has only shares. Raises ValueError.
    """
    if text.strip().endswith("%"):
        share = parse(text.strip()[:-1]) / 100
        if share > 1:
            raise ValueError(text)
        return Kept(share, None)
    if resource_kind == "compute" or (resource_kind == "memory" and text.strip()[-1:].isdigit()):
        raise ValueError(text)
    quantity = gib(text) if resource_kind == "memory" else parse(text)
    is_wrong = resource_kind == "memory" and 0 < quantity < LEAST_MEMORY
    if quantity > LARGEST or is_wrong:
        raise ValueError(text)
    return Kept(None, quantity)
