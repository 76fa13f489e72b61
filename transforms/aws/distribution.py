"""AWS's own distribution of unused cost, reproduced: whether it comes out as AWS documents it.

Of each instance, hour and resource, what is unused is what the ratios of the pods leave of the
cost, and each pod bears it by what it was charged for. Checked before discounts, as every report
has these columns, and in hourly exports: a day's unused cost goes by no one rate.
"""

import datetime as dt
from collections.abc import Iterator

import polars as pl

from transforms.money import DUST_PER_ROW, zero
from transforms.notices import Notice
from transforms.schema import MONEY
from transforms.sliced import Context, finding

_RELATIVE = 1e-7
_KEYS = ("instance", "start", "end", "resource_kind", "billing_currency")


def rates() -> list[pl.Expr]:
    """Return the rates per charged unit that explain a row's unused cost, as far as dust goes.

    Rows agree on a rate where the greatest `rate_from` is not above the least `rate_to`: this
    can be put together over files and, unlike sums of doubles, in any order.
    """
    unused, charged = _double("gross_unused"), _double("charged_quantity")
    dust = float(DUST_PER_ROW) + _RELATIVE * unused.abs()
    # A row that was charged for nothing agrees with every rate, unless it bears something.
    per = charged.clip(lower_bound=1e-12)
    return [
        ((unused - dust) / per).alias("rate_from"),
        ((unused + dust) / per).alias("rate_to"),
    ]


def unlike(hours: pl.LazyFrame) -> pl.DataFrame:
    """Return the intervals that are not distributed as documented: _KEYS and `difference`.

    hours: the part of all files.
    """
    is_hour = (pl.col("end") - pl.col("start")) <= dt.timedelta(hours=1)
    is_ours = (pl.col("orchestrator") == "eks") & pl.col("resource_kind").is_not_null()
    return (
        hours.filter(is_ours & is_hour)
        .group_by(_KEYS)
        .agg(
            pl.col("gross_unused", "gross_split", "charged_quantity", "ratio").sum(),
            pl.col("ratios", "rows").sum(),
            pl.col("rate_from").max(),
            pl.col("rate_to").min(),
        )
        .select(*_KEYS, difference=pl.max_horizontal(_off_total(), _off_rate()).cast(MONEY))
        .filter(pl.col("difference") > zero())
        .collect(engine="streaming")
    )


def notices(hours: pl.LazyFrame, context: Context) -> Iterator[Notice]:
    """Say in how many hours AWS distributed otherwise than it documents."""
    found = unlike(hours)
    if found.is_empty():
        return
    order = ["difference", "instance", "start", "resource_kind"]
    worst = found.sort(order, descending=[True, False, False, False]).row(0, named=True)
    count = found.select("instance", "start").n_unique()
    where = f"{worst['instance']}, {worst['start']:%Y-%m-%d %H:%M}, {worst['resource_kind']}"
    yield finding(
        context,
        "unused_distribution",
        "warning",
        where=f"{context.source}: {where}",
        expected="unused_cost = cost x (1 - sum of split_usage_ratio), by split_usage",
        actual=f"{count} instance hours in which it is not; in the worst by at most the difference",
        difference=worst["difference"],
        hint="AWS distributes otherwise than it documents: the node's idle is still its sum, but "
        "ask AWS why, with this hour as the example",
    )


def _off_total() -> pl.Expr:
    """How far unused cost is from what the ratios leave, where every row tells its ratio."""
    unused, cost = _double("gross_unused"), _double("gross_unused") + _double("gross_split")
    off = (unused - cost * (1 - _double("ratio"))).abs()
    dust = pl.col("rows") * float(DUST_PER_ROW) + _RELATIVE * cost.abs()
    return pl.when((pl.col("ratios") == pl.col("rows")) & (off > dust)).then(off).otherwise(0.0)


def _off_rate() -> pl.Expr:
    """What the spread of the rates amounts to, at most all that is unused."""
    spread = (pl.col("rate_from") - pl.col("rate_to")) * _double("charged_quantity")
    return pl.min_horizontal(spread, _double("gross_unused").abs())


def _double(name: str) -> pl.Expr:
    return pl.col(name).fill_null(0).cast(pl.Float64)
