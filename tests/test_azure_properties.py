"""Whatever the bill and whatever the split: every quantum of a charge goes to one slice."""

from decimal import Decimal
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.azure_rows import (
    NODE_GROUP,
    POOL,
    Row,
    agent,
    context,
    disk,
    fee,
    focus,
    frame,
    network,
    node,
    query,
    row,
    sliced,
)
from transforms.schema import REASONS, RESOURCE_KINDS
from transforms.sliced import Sliced

CLAIM = {"kubernetes.io-created-for-pvc-namespace": "shop"}
OTHER_POOL = POOL.replace("aks-user-1", "aks-gpu-1")
BALANCER = f"{NODE_GROUP}/providers/Microsoft.Network/loadBalancers/kubernetes"
DISK = f"{NODE_GROUP}/providers/Microsoft.Compute/disks/os"

costs = st.one_of(
    st.integers(-(10**15), 10**15).map(lambda quanta: f"{Decimal(quanta).scaleb(-12):f}"),
    st.sampled_from(["0", "1", "-1", "0.000000000001", "-0.000000000001", "1e-7"]),
    st.decimals(-1000, 1000, places=21).map(str),
)
days = st.integers(13, 16)


def _charge(cost: str, billed: str, day: int, kind: int) -> Row:
    made: list[Row] = [
        node(day, cost),
        node(day, cost, resource=OTHER_POOL, tags={}),
        node(day, cost, resource=f"{POOL}/virtualMachines/0", category="Defender"),
        node(day, cost, category="Bandwidth", unit="1 GB"),
        disk("os", day, cost),
        disk("aks-user-1OS__1_ff", day, cost, tags={"aks-managed-poolName": "user"}),
        disk("pvc-1", day, cost, tags=CLAIM),
        disk("pvc-2", day, cost),
        network("loadBalancers/kubernetes", day, cost),
        network("publicIPAddresses/ip", day, cost, tags={"service": "shop/front"}),
        fee(day, cost),
        row(day, cost=cost, charge_type="UnusedReservation"),
        node(day, cost, charge_type="Surprise"),
        node(day, cost, rule="rule"),
        node(day, cost, period=node()["period"].replace(month=9)),
    ]
    return made[kind] | {"billed": billed}


charges = st.lists(
    st.builds(_charge, costs, costs, days, st.integers(0, 14)), min_size=1, max_size=14
)
namespaces = st.sampled_from(["shop", "web", "kube-system"])
pseudo = st.sampled_from(
    ["#idle charges#", "#system charges#", "#unallocated charges#", "#service charges#", "#new#"]
)
answers = st.lists(
    st.tuples(
        costs,
        st.one_of(namespaces, pseudo),
        st.sampled_from(["Compute", "Storage", "Networking", "Service"]),
    ),
    max_size=8,
).map(query)
fractions = st.one_of(
    st.decimals(0, 2, places=6), st.floats(-0.1, 1.5, allow_nan=False), st.sampled_from([0, 1])
).map(str)
told = st.lists(
    st.tuples(
        fractions,
        st.one_of(st.just(""), namespaces),
        st.sampled_from(["usage", "idle", "system", "new"]),
    ),
    max_size=5,
)
fraction_answers = st.fixed_dictionaries(
    {}, optional=dict.fromkeys((POOL, OTHER_POOL, DISK, BALANCER), told)
).map(agent)
names = st.sampled_from(
    ["2026-10-14.json", "b/2026-10-14.json", "2026-10-13_2026-10-15.json", "october.json"]
)
splits = st.dictionaries(names, st.one_of(answers, fraction_answers), max_size=4)
orders = st.sampled_from([("query", "agent"), ("agent", "query"), ("agent",), ("query",), ()])


def _sum(frame: pl.DataFrame, view: str) -> Decimal:
    return Decimal(str(frame[view].sum() or 0))


def _assert_exact(result: Sliced, view: str) -> None:
    column = f"{view}_cost"
    of_view = result.totals.filter(cost_view=view)
    assert _sum(result.slices, column) == _sum(of_view.filter(fate="sliced"), "amount")
    clusters = result.slices.filter(pl.col("cluster_id").is_not_null())
    bills = result.cluster_bills.filter(cost_view=view)
    assert _sum(clusters, column) == _sum(bills, "amount")


@settings(max_examples=150, deadline=None)
@given(rows=charges, files=splits, order=orders)
def test_every_quantum_goes_to_one_slice(
    rows: list[Row], files: dict[str, pl.DataFrame], order: tuple[str, ...]
) -> None:
    of = context("focus_export", splits=order, labels=("team",))
    half = len(rows) // 2
    raws = [frame(part, focus) for part in (rows[:half], rows[half:]) if part]
    result = sliced(*raws, splits=files, of=of)
    for view in ("effective", "billed"):
        _assert_exact(result, view)
    assert result.totals.filter(cost_view="billed")["rows"].sum() == len(rows)
    _assert_words(result)


def _assert_words(result: Sliced) -> None:
    for kind, reason, resource_kind in result.slices.select(
        "row_kind", "reason", "resource_kind"
    ).iter_rows():
        assert reason in (REASONS[kind] or (None,))
        assert resource_kind in RESOURCE_KINDS
        assert kind != "idle" or resource_kind in ("compute", "storage")
    outside = result.slices.filter(row_kind="outside")
    assert outside["cluster_id"].null_count() == len(outside)


@settings(max_examples=60, deadline=None)
@given(rows=charges, files=splits, order=orders)
def test_the_order_of_rows_does_not_matter(
    rows: list[Row], files: dict[str, pl.DataFrame], order: tuple[str, ...]
) -> None:
    of = context("focus_export", splits=order, labels=("team",))
    forth = sliced(frame(rows, focus), splits=files, of=of)
    back = sliced(frame(rows[::-1], focus), splits=files, of=of)
    assert _told(forth) == _told(back)


def _told(result: Sliced) -> list[tuple[Any, ...]]:
    slices = result.slices.with_columns(pl.col("labels").map.get("team"))
    return sorted(slices.iter_rows(), key=str)


@settings(max_examples=60, deadline=None)
@given(parts=st.lists(st.tuples(fractions, namespaces, st.just("usage")), min_size=1, max_size=9))
def test_fractions_of_any_size_divide_one_charge_whole(parts: list[tuple[str, str, str]]) -> None:
    result = sliced(
        frame([node(cost="100.000000000001")]),
        splits={"2026-10-14.json": agent({POOL: parts})},
        of=context(splits=("agent",)),
    )
    _assert_exact(result, "effective")
    assert (result.slices["effective_cost"] >= 0).all()


@settings(max_examples=60, deadline=None)
@given(money=st.lists(st.tuples(costs, namespaces, st.just("Compute")), min_size=1, max_size=6))
def test_money_of_a_query_is_never_the_money_of_a_slice(money: list[tuple[str, str, str]]) -> None:
    """Whatever the query says of its own money, the slices sum to the bill."""
    result = sliced(
        frame([node(cost="7")]),
        splits={"2026-10-14.json": query([*money, ("1", "#idle charges#", "Compute")])},
        of=context(splits=("query",)),
    )
    _assert_exact(result, "effective")
    idle = result.slices.filter(row_kind="idle")
    assert _sum(idle, "provider_idle_cost") == 1
