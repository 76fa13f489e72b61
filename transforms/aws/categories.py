"""How idle was bought: an instance's day in several pricing categories has idle in each.

A day can be part Spot and part on demand, or covered by a plan for some of its hours. Nothing
says which pods or which idle hours had which, so idle is divided as the parents' cost is.
"""

import polars as pl

from transforms.aws.node_days import KEY, pricing_category
from transforms.money import apportion, zero

_DIVIDED = ("effective_cost", "billed_cost", "list_cost", "capacity_quantity")


def by_category(slices: pl.DataFrame, parents: pl.DataFrame) -> pl.DataFrame:
    """Divide idle of days in several pricing categories; each row's parts add up to it exactly.

    slices: with KEY, `pricing_category` and the columns that are divided; parents: the rows of
    instances, with `effective`.
    """
    bought = (
        parents.group_by(*KEY, category=pricing_category())
        .agg(weight=pl.col("effective").sum())
        .filter(pl.col("weight") > zero())
    )
    is_mixed = (pl.col("row_kind") == "idle") & pl.col("pricing_category").is_null()
    numbered = slices.with_row_index("whole")
    pieces = numbered.filter(is_mixed).join(bought, on=KEY)
    kept = numbered.join(pieces.select("whole").unique(), on="whole", how="anti")
    divided = pieces.with_columns(*(_part(pieces, name) for name in _DIVIDED))
    divided = divided.with_columns(pricing_category="category").select(numbered.columns)
    return pl.concat([kept, divided]).drop("whole")


def _part(pieces: pl.DataFrame, name: str) -> pl.Series:
    return apportion(pieces, by=["whole"], total=name, weight="weight", order=["category"]).alias(
        name
    )
