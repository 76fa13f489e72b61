"""A part of idle becomes a row of another kind; whatever is taken from one row is on the other."""

from typing import NamedTuple

import polars as pl


class Carved(NamedTuple):
    """Idle rows with less cost, the rows their cost moved to, and what a person must know."""

    idle: pl.DataFrame
    moved: pl.DataFrame
    findings: list[dict[str, str | None]]
