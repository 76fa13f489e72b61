"""What the rows of an export tell, so that a person who connects it need not type it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl


@dataclass(frozen=True)
class Seen:
    """What some files of one export hold.

    months: billing period, YYYY-MM -> number of rows; currencies: ISO 4217 codes; metric:
    `amortized` or `actual`, None where the rows do not tell; clusters: cluster id -> node
    resource group, both in lower case, as the rows say; guessed: the same, where only names
    suggest it.
    """

    months: Mapping[str, int] = field(default_factory=dict)
    currencies: frozenset[str] = frozenset()
    metric: str | None = None
    clusters: Mapping[str, str] = field(default_factory=dict)
    guessed: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, other: "Seen") -> "Seen":
        """Return what both hold together; what is said once is no longer a guess."""
        clusters = {**self.clusters, **other.clusters}
        guessed = {**self.guessed, **other.guessed}
        return Seen(
            months=dict(sorted((Counter(self.months) + Counter(other.months)).items())),
            currencies=self.currencies | other.currencies,
            metric=self.metric or other.metric,
            clusters=clusters,
            guessed={name: group for name, group in guessed.items() if name not in clusters},
        )


def months_and_currencies(raw: pl.LazyFrame, month: pl.Expr, currency: pl.Expr) -> Seen:
    """Return what two expressions over raw rows tell; `month` is YYYY-MM, NULL is left out."""
    rows = raw.select(month=month.cast(pl.String), currency=currency.cast(pl.String))
    found = rows.group_by("month", "currency").len().collect(engine="streaming")
    months = found.drop_nulls("month").group_by("month").agg(pl.col("len").sum()).sort("month")
    return Seen(
        months=dict(months.iter_rows()),
        currencies=frozenset(code for code in found.get_column("currency") if code),
    )
