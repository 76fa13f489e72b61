"""Capacity that a policy keeps free for peaks: it leaves idle as headroom, never as waste.

A unit is what a rule counts as one, on a day: a node, a node pool or a cluster, of each resource.
    wanted = share x (node cost - node reserve), or
             quantity x the longest billed hours of a node x node cost / capacity, half-even
It is taken from the idle of the unit that the node reserve has left, never more than that.
"""

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal

import polars as pl

from transforms.carve import Carved, Target, carve
from transforms.money import QUANTUM, scaled, zero
from transforms.node_costs import NodeMonth, is_on_node
from transforms.quantities import Kept
from transforms.rules import HeadroomRule, Vocabulary
from transforms.schema import MONEY, TEXT
from transforms.sliced import Context, Finding, finding

UNIT = [
    *("rule", "resource_kind", "cluster_id", "charge_date", "billing_currency"),
    *("scope", "scope_key"),
]
_BECAME = ("charge_date", "reserve", "is_unsized")
_FOUND = ["rule", "cluster_id", "resource_kind", "billing_currency"]

Rules = Sequence[tuple[int, HeadroomRule]]
"""The policies, each with its place among all [[headroom]]."""


def policy_headroom(
    idle: pl.DataFrame,
    reserve: pl.DataFrame,
    month: NodeMonth,
    headroom: Sequence[HeadroomRule],
    names: Vocabulary,
) -> Carved:
    """Move what policies keep free from idle to headroom.

    idle: rows of `normalised`, the node reserve taken out; reserve: the rows it became.
    """
    rules = [(place, rule) for place, rule in enumerate(headroom) if rule.keep_free is not None]
    if not rules:
        return Carved(idle, idle.clear(), [])
    units = _units(month, reserve, rules, names)
    known = units.filter(pl.col("wanted").is_not_null())
    placed = _assigned(idle, rules, names).with_columns(charge_date="charge_period_start")
    placed = placed.join(
        known.select(*UNIT, "unit"), on=UNIT, how="left", nulls_equal=True, maintain_order="left"
    ).select(*idle.columns, "unit")
    target = Target("headroom", "policy", month.view)
    left, made, taken = carve(placed, known.select("unit", "wanted"), target)
    short = _short(known.join(taken, on="unit"), month.context)
    unknown = _unknown(units.filter(pl.col("wanted").is_null()), month.context)
    unnamed = _unnamed(month, rules, names)
    return Carved(left, made, [*short, *unknown, *unnamed, *_coarser(units, month.context)])


# ---------------------------------------------------------------- units


def _assigned(rows: pl.DataFrame, rules: Rules, names: Vocabulary) -> pl.DataFrame:
    """Add `rule`, `asked_scope`, `scope` and `scope_key`: which unit a row belongs to.

    The first policy that names the row's resource and holds for its pool and day decides. A scope
    that the provider does not tell falls to the next coarser one.
    """
    place = pl.coalesce(
        pl.when((pl.col("resource_kind") == kind) & names.dates(rule) & names.pools(rule)).then(
            pl.lit(place, dtype=pl.Int64)
        )
        for place, rule in rules
        for kind in (rule.keep_free.wanted if rule.keep_free else ())
    )
    scopes = {place: rule.scope for place, rule in rules}
    asked = pl.col("rule").replace_strict(scopes, default=None, return_dtype=pl.String)
    is_node = (pl.col("asked_scope") == "node") & is_on_node()
    is_pool = (pl.col("asked_scope") != "cluster") & pl.col("node_pool").is_not_null()
    scope = pl.when(is_node).then(pl.lit("node")).when(is_pool).then(pl.lit("node_pool"))
    key = pl.when(is_node).then("resource_id").when(is_pool).then("node_pool")
    return (
        rows.with_columns(rule=place)
        .with_columns(asked_scope=asked)
        .with_columns(scope=scope.otherwise(pl.lit("cluster")), scope_key=key)
    )


def _units(
    month: NodeMonth, reserve: pl.DataFrame, rules: Rules, names: Vocabulary
) -> pl.DataFrame:
    """Return UNIT, `unit`, `asked_scope`, `idle` and `wanted`: NULL where it cannot be known."""
    is_sized = pl.col("resource_id").is_not_null() & (pl.col("capacity") > zero())
    costs = month.costs.with_columns(
        charge_period_start="charge_date", is_unsized=~is_sized.fill_null(value=False)
    )
    became = reserve.with_columns(
        charge_date="charge_period_start", reserve=month.view, is_unsized=pl.lit(value=False)
    ).select(name for name in costs.columns if name in {*reserve.columns, *_BECAME})
    rows = _assigned(pl.concat([costs, became], how="diagonal"), rules, names)
    units = (
        rows.filter(pl.col("rule").is_not_null())
        .join(month.hours, on=["resource_id", "charge_date"], how="left")
        .group_by(*UNIT, "asked_scope")
        .agg(
            pl.col("cost", "reserve", "idle", "capacity").sum(),
            pl.col("is_unsized").any(),
            pl.col("hours").max(),
        )
        .sort(UNIT)
        .with_row_index("unit")
    )
    return units.join(_kept(rules), on=["rule", "resource_kind"]).pipe(_wanted)


def _kept(rules: Rules) -> pl.DataFrame:
    """Return `percent` and `quantity` of each policy and resource: one of them is NULL."""
    kept = [
        (place, kind, *_amounts(amount))
        for place, rule in rules
        for kind, amount in (rule.keep_free.wanted if rule.keep_free else {}).items()
    ]
    schema: dict[str, pl.DataType] = {"rule": pl.Int64(), "resource_kind": TEXT}
    schema |= {"percent": MONEY, "quantity": MONEY}
    return pl.DataFrame(kept, schema=schema, orient="row")


def _amounts(kept: Kept) -> tuple[Decimal | None, Decimal | None]:
    percent = None if kept.share is None else kept.share * 100
    return _places(percent), _places(kept.quantity)


def _places(number: Decimal | None) -> Decimal | None:
    return None if number is None else number.quantize(QUANTUM, ROUND_HALF_EVEN)


def _wanted(units: pl.DataFrame) -> pl.DataFrame:
    numbers = {"one": pl.lit(1).cast(MONEY), "hundred": pl.lit(100).cast(MONEY)}
    known = units.with_columns(
        **numbers,
        rest=pl.col("cost") - pl.col("reserve"),
        capacity=pl.when(~pl.col("is_unsized")).then("capacity"),
    )
    known = known.with_columns(needed=scaled(known, "quantity", by="hours", of="one"))
    wanted = pl.coalesce(
        scaled(known, "rest", by="percent", of="hundred"),
        scaled(known, "cost", by="needed", of="capacity"),
    )
    at_least = pl.when(wanted.is_not_null()).then(pl.max_horizontal(wanted, zero()))
    return known.with_columns(wanted=at_least)


# ---------------------------------------------------------------- findings


def _found(row: dict[str, object], rule: str, context: Context, **parts: object) -> Finding:
    where = f"headroom[{row['rule']}], {row['resource_kind']}"
    named = {"cluster_id": row["cluster_id"], "where": where}
    return finding(context, rule, "warning", **named | parts)


def _short(units: pl.DataFrame, context: Context) -> list[Finding]:
    """Tell where a policy wants more than what stood idle."""
    missing = pl.col("wanted") - pl.col("taken")
    short = (
        units.filter(missing > zero())
        .group_by(_FOUND)
        .agg(
            pl.col("wanted", "taken").sum(),
            missing=missing.sum(),
            days=pl.col("charge_date").n_unique(),
        )
    )
    return [
        _found(
            row,
            "headroom_short",
            context,
            expected=f"{row['wanted']:f} {row['billing_currency']} kept free",
            actual=f"{row['taken']:f}: less stood idle, days: {row['days']}",
            difference=row["missing"],
            hint="workloads used what was to be kept free; only what stood idle is headroom",
        )
        for row in short.sort(_FOUND).to_dicts()
    ]


def _unknown(units: pl.DataFrame, context: Context) -> list[Finding]:
    """Tell where nobody knows what a quantity would cost."""
    grouped = units.group_by(_FOUND).agg(
        pl.col("is_unsized").any(), days=pl.col("charge_date").n_unique()
    )
    return [
        _found(
            row,
            "headroom_unknown",
            context,
            expected="the capacity and the billed hours of every node",
            actual=f"{'capacity' if row['is_unsized'] else 'hours'} unknown, days: {row['days']}; "
            "nothing was moved",
            hint="ask for a percentage, which needs neither",
        )
        for row in grouped.sort(_FOUND).to_dicts()
    ]


def _unnamed(month: NodeMonth, rules: Rules, names: Vocabulary) -> list[Finding]:
    """Tell where node cost is not split by resource, and a policy only names resources."""
    undivided = month.costs.filter(
        pl.col("resource_kind") == "compute", pl.col("idle") != zero()
    ).with_columns(charge_period_start="charge_date")
    asked = _assigned(undivided, rules, names).filter(pl.col("rule").is_null())
    first = pl.coalesce(
        pl.when(names.dates(rule) & names.pools(rule)).then(pl.lit(place, dtype=pl.Int64))
        for place, rule in rules
    )
    grouped = (
        asked.with_columns(rule=first).drop_nulls("rule").group_by(_FOUND).agg(pl.col("idle").sum())
    )
    return [
        _found(
            row,
            "headroom_unknown",
            context=month.context,
            expected="a share of `compute`: this node cost is not split into cpu and memory",
            actual=f"{row['idle']:f} {row['billing_currency']} idle, of which nothing was moved",
            hint='add compute = "10%" or the like to keep_free',
        )
        for row in grouped.sort(_FOUND).to_dicts()
    ]


def _coarser(units: pl.DataFrame, context: Context) -> list[Finding]:
    """Tell where a policy asks for a finer scope than the provider tells."""
    other = units.filter(pl.col("scope") != pl.col("asked_scope"))
    keys = [*_FOUND, "asked_scope", "scope"]
    return [
        _found(
            row,
            "scope_unknown",
            context,
            expected=row["asked_scope"],
            actual=row["scope"],
            hint=f'give this [[headroom]] scope = "{row["scope"]}", or a table of its own to these '
            "clusters",
        )
        for row in other.select(keys).unique().sort(keys).to_dicts()
    ]
