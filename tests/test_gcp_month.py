"""A month of Google rows as a whole: identities that always hold, and what a person must know."""

import datetime as dt
import random
from collections import Counter
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.gcp_rows import (
    CLUSTER,
    IN_CLUSTER,
    KUBERNETES,
    NODE,
    START,
    Row,
    found,
    of_cluster,
    row,
    sliced,
)
from tests.gcp_rows import raw as one_file
from transforms.gcp.codes import COST_TYPES, NAMESPACE_KINDS, PAYMENT_CREDITS, PRICE_CREDITS
from transforms.sliced import Sliced

QUANTUM = Decimal("0.000000000001")

# ---------------------------------------------------------------- identities

amounts = st.one_of(
    st.floats(-20_000, 20_000),
    st.floats(-1e-9, 1e-9),
    st.sampled_from([0.0, 1e-12, -1e-12, 5e-13, 0.1, 123456.789]),
)
namespaces = st.sampled_from(
    [None, "", "checkout", "kube-system", "kube:new", "goog-k8s-mine", *NAMESPACE_KINDS]
)
skus = st.sampled_from(
    [
        "N2 Instance Core running in Americas",
        "Network Internet Egress",
        "Balanced PD Capacity",
        "Autopilot Pod Memory Requests (us-central1)",
        "Commitment v1: N2 Cpu in Americas for 1 Year",
        "Compute Flexible Committed Use Discounts - 1 Year",
        "Regional Kubernetes Clusters",
    ]
)
paid = st.lists(
    st.tuples(st.sampled_from([*PRICE_CREDITS, *PAYMENT_CREDITS, "NOVELTY", None]), amounts),
    max_size=4,
)


@st.composite
def bill_rows(draw: st.DrawFn) -> Row:
    description = draw(skus)
    cells: Row = {
        "cost": draw(amounts),
        "credits": draw(paid),
        "sku": {"id": description[:9], "description": description},
        "cost_type": draw(st.sampled_from([*COST_TYPES, "novelty", None])),
        "invoice": {"month": draw(st.sampled_from(["202610", "202611"]))},
        "usage_start_time": START + dt.timedelta(hours=draw(st.integers(-100, 700))),
        "usage": {"amount": 60.0, "unit": draw(st.sampled_from(["seconds", "bytes", None]))},
        "currency": draw(st.sampled_from(["USD", "EUR"])),
        "service": draw(st.sampled_from([KUBERNETES, {"description": "Compute Engine"}])),
        "resource": draw(st.sampled_from([None, {"name": NODE}])),
        "adjustment_info": draw(st.sampled_from([None, {"id": "a"}])),
    }
    if draw(st.booleans()):
        return of_cluster(draw(namespaces), **cells)
    return row(**cells)


DETAILED = row(cost=0.0, resource={"name": "disk-1"})
"""An export in which nothing has a resource is not the detailed one."""

months = st.lists(bill_rows(), max_size=12).map(lambda rows: [DETAILED, *rows])


def rounded(amount: float) -> Decimal:
    return Decimal(repr(amount)).quantize(QUANTUM, ROUND_HALF_EVEN)


def billed(rows: list[Row]) -> Counter[tuple[str, str]]:
    """Cost and all credits by invoice month and currency, each amount rounded by itself."""
    sums: Counter[tuple[str, str]] = Counter()
    for made in rows:
        own = [made["cost"], *(credit["amount"] for credit in made["credits"])]
        sums[made["invoice"]["month"], made["currency"]] += sum(map(rounded, own))  # type: ignore[assignment]
    return sums


def by_currency(frame: pl.DataFrame, column: str) -> dict[str, Decimal]:
    summed = frame.group_by("billing_currency").agg(pl.col(column).sum())
    return {currency: Decimal(str(amount)) for currency, amount in summed.iter_rows()}


@settings(deadline=None, max_examples=100)
@given(months, st.integers(1, 12))
def test_slices_are_cost_and_all_credits(rows: list[Row], cut: int) -> None:
    files = [one_file(*part) for part in (rows[:cut], rows[cut:]) if part]
    result = sliced(*files, labels=["team"])
    expected = {key[1]: amount for key, amount in billed(rows).items() if key[0] == "202610"}
    for view in ("effective", "billed"):
        assert by_currency(result.slices, f"{view}_cost") == expected
        totals = result.totals.filter(cost_view=view, fate="sliced")
        assert by_currency(totals, "amount") == expected
        in_clusters = result.slices.filter(pl.col("cluster_id").is_not_null())
        bills = result.cluster_bills.filter(cost_view=view)
        assert by_currency(bills, "amount") == by_currency(in_clusters, f"{view}_cost")
    assert result.totals.filter(cost_view="billed")["rows"].sum() == len(rows)


@settings(deadline=None, max_examples=100)
@given(months)
def test_every_slice_has_one_kind_and_idle_is_capacity(rows: list[Row]) -> None:
    slices = sliced(one_file(*rows)).slices
    assert slices.select(pl.col("row_kind", "resource_kind").null_count()).row(0) == (0, 0)
    is_outside = pl.col("row_kind") == "outside"
    assert slices.filter(is_outside == pl.col("cluster_id").is_not_null()).is_empty()
    idle = slices.filter(row_kind="idle")
    assert set(idle["resource_kind"]) <= {"cpu", "memory", "gpu", "compute", "storage"}
    assert idle["provider_class"].unique().to_list() in ([], ["kube:unallocated"])
    assert slices["workload_idle"].null_count() == len(slices)


def test_the_order_of_rows_and_files_changes_nothing() -> None:
    rows = [of_cluster(name, 0.1 * n) for n, name in enumerate(2 * [*NAMESPACE_KINDS, "checkout"])]
    rows += [row(cost=3.0, usage={"amount": float(n), "unit": "seconds"}) for n in range(5)]
    expected = _sorted(sliced(one_file(*rows)))
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        assert _sorted(sliced(one_file(*rows))).equals(expected)


def _sorted(result: Sliced) -> pl.DataFrame:
    return result.slices.drop("labels").sort(pl.all())


# ---------------------------------------------------------------- which month, which day


def test_the_invoice_month_decides_and_the_usage_day_stays() -> None:
    late = row(usage_start_time=dt.datetime(2026, 9, 30, 23, tzinfo=dt.UTC))
    early = row(invoice={"month": "202611"}, cost=2.0)
    result = sliced(one_file(late, early))
    assert result.slices.select("charge_period_start", "charge_period_end").rows() == [
        (dt.date(2026, 9, 30), dt.date(2026, 10, 1))
    ]
    assert result.totals.filter(cost_view="billed").select("fate", "rows").sort("fate").rows() == [
        ("other_period", 1),
        ("sliced", 1),
    ]


def test_equal_rows_are_two_rows() -> None:
    result = sliced(one_file(row(), row()))
    assert result.totals["rows"].to_list() == [2, 2]
    assert result.slices["effective_cost"].cast(pl.Float64).to_list() == [2.0]


# ---------------------------------------------------------------- findings


def test_the_share_of_a_cluster_that_has_namespaces() -> None:
    days = [START + dt.timedelta(days=day) for day in range(6)]
    rows = [of_cluster(None, 1.0, usage_start_time=day) for day in (*days[:3], days[4])]
    rows += [of_cluster("checkout", 3.0, usage_start_time=day) for day in days[4:]]
    fee = of_cluster(None, service=KUBERNETES, resource=None)
    result = sliced(one_file(*rows, fee, *(row(labels={}) for _ in range(3))))
    assert result.findings.select(
        "rule", "severity", "cluster_id", "actual", "difference"
    ).rows() == [
        (
            "split_coverage",
            "warning",
            CLUSTER,
            "60.0 % of the cost has one; days without any: 2026-10-05 to 2026-10-07",
            "4.000000000000",
        )
    ]
    assert "--enable-cost-allocation" in result.findings["hint"][0]


def test_a_cluster_with_negative_cost_has_an_unknown_share() -> None:
    result = sliced(one_file(of_cluster(None, -1.0)))
    assert found(result) == [
        (
            "split_coverage",
            "warning",
            "prod",
            "an unknown share of the cost has one; days without any: 2026-10-05",
        )
    ]


def test_a_new_word_of_google_is_a_warning() -> None:
    result = sliced(one_file(of_cluster("kube:default"), of_cluster("kube-default")))
    assert found(result) == [("unknown_namespace_value", "warning", "file-1", "kube:default")]


def test_fees_of_commitments_are_told_with_their_amount() -> None:
    fee = row("Commitment v1: N2 Cpu", 2.5, credits={"DISCOUNT": -0.25})
    assert found(sliced(one_file(fee, row("Commitment - dollar based v1: x", 1.0)))) == [
        (
            "commitment_fee_outside",
            "info",
            "prod",
            "commitment fees of 3.250000000000 USD are outside",
        )
    ]


def test_two_currencies_are_never_added() -> None:
    rows = [row(), row(), row(cost=8.0, currency="EUR")]
    error = ("second_currency", "error", "prod")
    assert found(sliced(one_file(*rows))) == [(*error, "EUR")]
    assert found(sliced(one_file(*rows), currency="EUR")) == [(*error, "USD")]
    assert by_currency(sliced(one_file(*rows)).slices, "effective_cost") == {"USD": 2, "EUR": 8}


def exported(hour: int, *costs: float, **cells: Any) -> list[Row]:
    time = START + dt.timedelta(hours=hour)
    return [row(cost=cost, export_time=time, **cells) for cost in costs]


def test_a_re_export_beside_the_first_is_an_error() -> None:
    first = [*exported(9, 1.0, 2.0), *exported(10, 4.0)]
    again = [*first, *exported(40, 8.0)]
    result = sliced(one_file(*first), one_file(*again))
    assert result.findings.select("rule", "severity", "where", "actual", "difference").rows() == [
        (
            "repeated_export",
            "error",
            "file-1; file-2",
            "2 runs with the same rows and cost in each: 3 rows are counted again",
            "7.000000000000",
        )
    ]
    assert result.totals["rows"].to_list() == [7, 7]


def test_one_run_of_the_export_in_two_files_is_no_copy() -> None:
    hourly = exported(9, 0.1, usage_start_time=START)
    other = exported(9, 0.1, usage_start_time=START + dt.timedelta(hours=1))
    more = exported(10, 1.0, 2.0)
    assert found(sliced(one_file(*hourly, *more), one_file(*other, *exported(10, 3.0)))) == []
    assert found(sliced(one_file(*hourly, *hourly, *more))) == []


def test_a_label_that_is_not_wanted_does_not_divide_a_workload() -> None:
    rows = [
        of_cluster("checkout", labels={"k8s-label/hash": str(number), **IN_CLUSTER})
        for number in range(4)
    ]
    assert sliced(one_file(*rows)).slices["effective_cost"].cast(pl.Float64).to_list() == [4.0]
