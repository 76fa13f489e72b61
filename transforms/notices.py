"""What a person must know about a month of any provider's data, as findings."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import polars as pl

from transforms.sliced import Context, Finding, finding

Notice = Finding

NAME_IT = "tell us the value and what it means; until then its cost stays unclassified"


class Code(NamedTuple):
    """What a finding says about a value of a code list that the list does not name."""

    rule: str
    expected: str
    severity: str = "error"


def of_unknown(
    unknown: pl.DataFrame, codes: Mapping[str, Code], context: Context
) -> Iterator[Notice]:
    """Codes that no list names: each with file, value and what it cost.

    unknown: `unknown` (a key of `codes`), `value`, `source_file`, `cluster_id` and `amount`.
    """
    keys = ["unknown", "value", "source_file", "cluster_id"]
    for row in unknown.group_by(keys).agg(pl.col("amount").sum()).sort(keys).to_dicts():
        code = codes[row["unknown"]]
        yield finding(
            context,
            code.rule,
            code.severity,
            cluster_id=row["cluster_id"],
            where=row["source_file"],
            expected=code.expected,
            actual=row["value"] or "no value",
            difference=row["amount"],
            hint=NAME_IT,
        )


def of_currencies(charges: pl.DataFrame, view: str, context: Context) -> Iterator[Notice]:
    """Currencies beside the promised one, else beside the one that most rows have.

    charges: `billing_currency`, `rows`, and `view`, the cost of a row.
    """
    sums = charges.group_by("billing_currency").agg(pl.col("rows", view).sum())
    order = [pl.col("rows").neg(), pl.col("billing_currency")]
    amounts = dict(sums.sort(order).select("billing_currency", view).iter_rows())
    expected = context.currency or next(iter(amounts), None)
    for currency, amount in amounts.items():
        if currency != expected:
            yield finding(
                context,
                "second_currency",
                "error",
                where=context.source,
                expected=expected,
                actual=currency,
                difference=amount,
                hint="amounts are kept apart and never added; give each currency its own source",
            )


def of_spellings(spellings: pl.DataFrame, context: Context) -> Iterator[Notice]:
    """Labels in several spellings. spellings: the part `spellings`, see `labels.collisions`."""
    distinct = spellings.select("label", "spellings").unique().sort("label", "spellings")
    for label, raws in distinct.iter_rows():
        yield finding(
            context,
            "label_spellings",
            "warning",
            where=context.source,
            expected=f"one spelling of the label {label}",
            actual=raws,
            hint="where a row carries several, the first in the order shown counts",
        )
