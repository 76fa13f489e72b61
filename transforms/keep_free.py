"""Capacity that a policy keeps free for peaks: it leaves idle as headroom, never as waste."""

from collections.abc import Sequence

import polars as pl

from transforms.carve import Carved
from transforms.rules import HeadroomRule, Vocabulary
from transforms.sliced import Sliced


def policy_headroom(
    idle: pl.DataFrame,
    costs: pl.DataFrame,
    sliced: Sliced,
    rules: Sequence[HeadroomRule],
    names: Vocabulary,
) -> Carved:
    """Move what policies keep free from idle to headroom.

    idle: rows of `normalised`, the node reserve taken out; costs: of `node_costs`.
    """
    return Carved(idle, idle.clear(), [])
