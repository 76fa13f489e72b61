"""What nodes reserve for kubelet, runtime and eviction: it leaves idle, where it is known."""

import polars as pl

from transforms.carve import Carved
from transforms.sliced import Sliced


def node_reserve(
    idle: pl.DataFrame, costs: pl.DataFrame, sliced: Sliced, allocatable: pl.DataFrame
) -> Carved:
    """Move what nodes cannot allocate from idle to system overhead.

    idle: rows of `normalised`; costs: of `node_costs`; allocatable: ALLOCATABLE of this month.
    """
    return Carved(idle, idle.clear(), [])
