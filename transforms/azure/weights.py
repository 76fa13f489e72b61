"""How heavily each split row counts: money of a query less what tags already took, or fractions.

Both end as weights; only the bill has money.
"""

from typing import NamedTuple

import polars as pl

from transforms.azure.choose import Chosen
from transforms.money import quanta, zero
from transforms.schema import MONEY

TOLERANCE = 10**6
"""How far fractions written with six digits may miss 1, for each of them, in quanta."""

SPAN = ["cluster_id", "first_day", "last_day"]
_THING = ["cluster_id", "category", "namespace"]


class Weighed(NamedTuple):
    """Split rows of one source with their weights.

    rows: the rows with `weight`, never below 0; doubted: of a query the clusters whose answers
    are in another currency than the bill, of the agent the resources and days whose fractions do
    not add to 1.
    """

    rows: pl.DataFrame
    doubted: pl.DataFrame


def of_query(rows: pl.DataFrame, charges: pl.DataFrame, view: str) -> Weighed:
    """Weigh the rows of queries: their money, less what tags took out of it, not below 0.

    charges: the classified charges of the bill; view: the cost view that is compared with them.
    A query in another currency gives only ratios, so what tags took is put in its own scale.
    """
    known = _in_one_currency(rows, charges)
    taken = _taken(known, charges, view).join(_scales(known, charges, view), on=SPAN, how="left")
    scaled = (pl.col("taken").cast(pl.Float64) * pl.col("scale")).cast(MONEY)
    own = taken.select("row", less=pl.when("is_foreign").then(scaled).otherwise("taken"))
    rest = pl.col("amount") - pl.col("less").fill_null(zero())
    weighed = known.join(own, on="row", how="left", maintain_order="left").with_columns(
        weight=pl.max_horizontal(rest, zero())
    )
    foreign = known.filter("is_foreign").group_by("cluster_id", "currency", "bill_currency").len()
    return Weighed(weighed.drop("less"), foreign)


def of_agent(rows: pl.DataFrame) -> Weighed:
    """Weigh the rows of the agent: its fractions, and a row for what they leave over.

    Fractions that miss 1 by rounding are normalised; what is missing beyond is a row of its own
    with bucket `gap`.
    """
    asset = ["cluster_id", "target", "source_file", "first_day", "last_day"]
    fraction = pl.max_horizontal(pl.col("amount"), zero())
    weighed = rows.with_columns(
        weight=fraction, is_foreign=pl.lit(value=False), bill_currency="currency"
    )
    sums = weighed.group_by(asset).agg(
        pl.col("row").min(),
        pl.col("weight").sum(),
        pl.col("amount").min().alias("smallest"),
        pl.col("piece_count").sum(),
        *(pl.col(name).first() for name in ("source", "category")),
    )
    missing = pl.lit(1, dtype=MONEY) - pl.col("weight")
    is_far = quanta(missing.abs()) > pl.col("piece_count").cast(pl.Int128) * TOLERANCE
    is_uneven = is_far | (pl.col("smallest") < zero())
    uneven = sums.filter(is_uneven).with_columns(difference=-missing)
    gaps = uneven.filter(missing > zero()).with_columns(weight=missing, bucket=pl.lit("gap"))
    both = pl.concat(
        [weighed, gaps.select(*asset, "row", "weight", "bucket", "source", "category")],
        how="diagonal",
    )
    return Weighed(both, uneven)


def _in_one_currency(rows: pl.DataFrame, charges: pl.DataFrame) -> pl.DataFrame:
    """Keep the answers in the bill's currency, else those in the first other one.

    A cluster's bill is in the currency most of its charges have.
    """
    counted = charges.group_by("cluster_id", "billing_currency").agg(pl.col("rows").sum())
    ordered = counted.sort(
        ["cluster_id", "rows", "billing_currency"], descending=[False, True, False]
    )
    bill = ordered.group_by("cluster_id").agg(bill_currency=pl.col("billing_currency").first())
    known = rows.join(bill, on="cluster_id", how="left", maintain_order="left").with_columns(
        currency=pl.coalesce("currency", "bill_currency")
    )
    is_foreign = (pl.col("currency") != pl.col("bill_currency")).fill_null(value=False)
    order = pl.concat_str(is_foreign.cast(pl.Int8), "currency")
    return known.with_columns(is_foreign=is_foreign).filter(order == order.min().over(SPAN))


def _taken(rows: pl.DataFrame, charges: pl.DataFrame, view: str) -> pl.DataFrame:
    """What tags took of the money of each row: `row`, SPAN, `is_foreign`, `taken`."""
    tagged = (
        charges.filter((pl.col("row_kind") == "workload") & pl.col("namespace").is_not_null())
        .with_columns(
            category=pl.when(pl.col("resource_kind") == "storage")
            .then(pl.lit("Storage"))
            .otherwise(pl.lit("Networking"))
        )
        .group_by(*_THING, "charge_date", "billing_currency")
        .agg(taken=pl.col(view).sum())
    )
    in_span = pl.col("charge_date").is_between("first_day", "last_day")
    same = pl.col("billing_currency") == pl.col("bill_currency")
    return (
        rows.filter(pl.col("bucket") == "usage")
        .join(tagged, on=_THING)
        .filter(in_span & same)
        .group_by("row", *SPAN, "is_foreign")
        .agg(pl.col("taken").sum())
    )


def _scales(rows: pl.DataFrame, charges: pl.DataFrame, view: str) -> pl.DataFrame:
    """Money of the query for one unit of the bill, for each cluster and span of days."""
    spans = rows.group_by(SPAN).agg(asked=pl.col("amount").sum().cast(pl.Float64))
    bills = charges.group_by("cluster_id", "charge_date").agg(billed=pl.col(view).sum())
    in_span = pl.col("charge_date").is_between("first_day", "last_day")
    joined = spans.join(bills, on="cluster_id").filter(in_span)
    billed = pl.col("billed").sum().cast(pl.Float64)
    scale = pl.when(billed > 0).then(pl.col("asked").first() / billed).otherwise(0.0)
    return joined.group_by(SPAN).agg(scale=scale)


def in_force(weighed: pl.DataFrame, chosen: Chosen) -> pl.DataFrame:
    """Return the weighed rows on each day they hold for, as `charge_date`."""
    days = chosen.days.select("row", "charge_date")
    return weighed.join(days, on="row", how="inner", maintain_order="left")
