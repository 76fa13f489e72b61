"""Ordered rules over charges: the first that matches says what a charge is."""

from collections.abc import Sequence

import polars as pl


def first_match(
    charges: pl.DataFrame,
    rules: Sequence[tuple[pl.Expr, *tuple[str | None, ...]]],
    columns: Sequence[str],
) -> pl.DataFrame:
    """Add `columns`: the words of the first rule that matches; NULL where none does.

    rules: what matches, then one word for each of `columns`. A charge keeps its place.
    """
    first = pl.coalesce(
        pl.when(matches).then(pl.lit(index)) for index, (matches, *_) in enumerate(rules)
    )
    words = pl.DataFrame(
        [(index, *words) for index, (_, *words) in enumerate(rules)],
        schema={"rule": pl.Int32, **dict.fromkeys(columns, pl.String)},
        orient="row",
    )
    ruled = charges.with_columns(rule=first)
    return ruled.join(words, on="rule", how="left", maintain_order="left").drop("rule")
