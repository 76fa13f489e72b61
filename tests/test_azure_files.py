"""One month in every form of export: the same slices, and the same bill by SQL of its own."""

import csv
import gzip
import io
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from pipelines.exports import scan
from tests.azure_rows import (
    POOL,
    SUBSCRIPTION,
    Row,
    billed_again,
    context,
    disk,
    ea,
    ea_old,
    fee,
    findings,
    focus,
    focus_12,
    focus_r2,
    frame,
    iso,
    kinds,
    mca,
    network,
    node,
    query,
    row,
    sliced,
    totals,
)
from transforms.azure import slice_file, views
from transforms.errors import InputError
from transforms.sliced import Context, Sliced

SAMPLES = Path(__file__).parents[2] / "shared" / "samples"
RESERVATION = "/providers/Microsoft.Capacity/reservationOrders/1/reservations/2"
PLAN = "/providers/Microsoft.BillingBenefits/savingsPlanOrders/3/savingsPlans/4"
NOWHERE: dict[str, Any] = {"subscription": None, "group": None, "location": None}
CLAIM = {
    "kubernetes.io-created-for-pvc-namespace": "shop",
    "kubernetes.io-created-for-pvc-name": "db",
    "Cost Center": "a 'quoted', {braced} value",
    "empty": "",
}

MONTH = [
    node(14, "4.416"),
    node(14, "-0.5", pricing="Spot", resource=POOL.upper().replace("/SUBSCR", "/subscr")),
    node(15, "0.123456789012345678901", pricing="Reservation", benefit=RESERVATION),
    node(14, "0.0092", unit="1 GB", category="Bandwidth", resource=POOL.lower()),
    node(14, "0.02", category="Microsoft Defender for Cloud", resource=f"{POOL}/virtualMachines/0"),
    disk("aks-user-1aks-user-1OS__1_ff", cost="0.5888", tags={"aks-managed-poolName": "user"}),
    disk("pvc-1", cost="0.184", tags=CLAIM),
    disk("pvc-1", cost="0.001", unit="10K", meter="Disk Operations", tags=CLAIM),
    network("loadBalancers/kubernetes", cost="0.552"),
    network("loadBalancers/kubernetes", cost="0.0005", unit="1 GB", meter="Data Processed"),
    network("publicIPAddresses/ip", cost="0.1104", tags={"k8s-azure-service": "shop/front"}),
    fee(cost="2.208"),
    fee(cost="1.1", meter="Standard Long Term Support"),
    fee(cost="0.3", category="Microsoft Defender for Cloud", meter="Standard vCore"),
    row(cost="7", resource=None, charge_type="Purchase", pricing="Reservation", **NOWHERE)
    | {"benefit": RESERVATION, "billed": "9"},
    row(cost="8", charge_type="Purchase", order="Compute savings plan, 3 Years", **NOWHERE),
    row(cost="3", charge_type="Purchase", category="SaaS", **NOWHERE),
    row(cost="-2", charge_type="Refund", **NOWHERE),
    row(cost="2.4288", charge_type="UnusedReservation", benefit=RESERVATION, **NOWHERE),
    row(cost="0.7", charge_type="UnusedSavingsPlan", benefit=PLAN, **NOWHERE),
    row(cost="0.0000000000004", charge_type="RoundingAdjustment", **NOWHERE),
    row(cost="19", charge_type="Tax", **NOWHERE),
    row(cost="-5", charge_type="Credit", **NOWHERE),
    row(
        cost="1.5", resource=f"/subscriptions/{SUBSCRIPTION}/resourceGroups/other/x", group="other"
    ),
    node(1, "6", period=node()["period"].replace(month=11)),
    node(14, "-4", rule="shared costs"),
    node(14, "4", rule="shared costs"),
]
ANSWER = [
    ("2", "shop", "Compute"),
    ("1", "#idle charges#", "Compute"),
    ("0.3", "shop", "Storage"),
    ("0.2", "#idle charges#", "Storage"),
    ("0.1", "web", "Networking"),
]
FORMS: dict[str, tuple[Callable[[Row], Row], str]] = {
    "MCA": (mca, "cost_export"),
    "MCA with ISO dates": (iso(mca), "cost_export"),
    "EA of 2024": (ea, "cost_export"),
    "EA with Cost": (ea_old, "cost_export"),
    "FOCUS 1.0": (focus, "focus_export"),
    "FOCUS 1.0r2": (focus_r2, "focus_export"),
    "FOCUS 1.2-preview": (focus_12, "focus_export"),
}
FORM_ONLY = ("source_dataset", "source_file", "billed_cost", "list_cost", "contracted_cost")


def _context(dataset: str, **parts: Any) -> Context:
    return context(dataset, **{"labels": ("cost-center",), "splits": ("query",), **parts})


def _sliced(raw: pl.DataFrame, dataset: str, **parts: Any) -> Sliced:
    return sliced(raw, splits={"2026-10-14.json": query(ANSWER)}, of=_context(dataset, **parts))


def _comparable(result: Sliced) -> pl.DataFrame:
    slices = result.slices.drop(FORM_ONLY).with_columns(pl.col("labels").map.get("cost-center"))
    return slices.sort("origin_id", "effective_cost", "namespace", "row_kind")


EXPECTED = {
    ("cluster_fee", "control_plane", "other"): "2.208",
    ("cluster_fee", "extended_support", "other"): "1.1",
    ("cluster_fee", "service_charge", "other"): "0.3",
    # day 14: 3.936 of compute, a third of it idle
    ("idle", "unrequested", "compute"): "1.312",
    # 0.2 of 0.315: the claim (0.185 with its operations) was taken out of the namespace's 0.3
    ("idle", "unrequested", "storage"): "0.373841269841",
    ("outside", "commitment_fee", "other"): "15",
    ("outside", "credit", "other"): "-5",
    ("outside", "other_service", "other"): "4.5",
    ("outside", "refund", "other"): "-2",
    ("outside", "tax", "other"): "19",
    ("outside", "unused_commitment", "other"): "3.1288",
    ("shared", "load_balancer", "network"): "0.0005",
    ("shared", "network", "network"): "0.0092",
    ("unattributed", "no_split_source", "compute"): "0.123456789012",
    ("workload", None, "compute"): "2.624",
    ("workload", None, "network"): "0.6624",
    ("workload", None, "storage"): "0.399958730159",
}


@pytest.mark.parametrize(("form", "dataset"), FORMS.values(), ids=FORMS)
def test_every_form_of_one_month_gives_the_same_slices(
    form: Callable[[Row], Row], dataset: str
) -> None:
    result = _sliced(frame(MONTH, form), dataset)
    assert kinds(result) == EXPECTED
    assert_frame_equal(
        _comparable(result), _comparable(_sliced(frame(MONTH), "cost_export")), check_exact=True
    )
    effective = {fate: sums for (fate, view), sums in totals(result).items() if view == "effective"}
    assert effective == {
        "sliced": (24, Decimal("43.742156789012")),
        "other_period": (1, Decimal(6)),
        "provider_reallocation": (2, Decimal(0)),
    }


def test_rows_and_findings_of_that_month() -> None:
    result = _sliced(frame(MONTH), "cost_export")
    assert findings(result) == [("metric_doubtful", "warning")]
    claimed = result.slices.filter(pl.col("workload_kind") == "PersistentVolumeClaim")
    assert claimed.select("namespace", "workload_name", "labels").unique().rows() == [
        ("shop", "db", {"cost-center": "a 'quoted', {braced} value"})
    ]
    front = result.slices.filter(pl.col("workload_kind") == "Service")
    assert front.select("namespace", "workload_name", "split_source").rows() == [
        ("shop", "front", None)
    ]


# ---------------------------------------------------------------- the second sum of the bill


def _write_csv(raw: pl.DataFrame, path: Path) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(raw.columns)
    writer.writerows(raw.iter_rows())
    content = ("\ufeff" + text.getvalue()).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def _typed(raw: pl.DataFrame) -> pl.DataFrame:
    """The same file as Parquet might store it: days as days, amounts as doubles."""
    amounts = [n for n in raw.columns if n.lower().endswith(("cost", "costinbillingcurrency"))]
    days = [n for n in raw.columns if n.lower() in ("date", "billingperiodstartdate")]
    times = [n for n in raw.columns if n in ("BillingPeriodStart", "ChargePeriodStart")]
    return raw.with_columns(
        pl.col(amounts).cast(pl.Float64),
        pl.col(days).str.to_date("%m/%d/%Y"),
        pl.col(times).str.slice(0, 10).str.to_date().cast(pl.Datetime("us", "UTC")),
    )


_FILES: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "export.csv": _write_csv,
    "export.csv.gz": _write_csv,
    "text.parquet": pl.DataFrame.write_parquet,
    "typed.parquet": lambda raw, path: _typed(raw).write_parquet(path),
}
_PLAIN = {name: form for name, form in FORMS.items() if "ISO" not in name}


@pytest.mark.parametrize("name", _FILES)
@pytest.mark.parametrize(("form", "dataset"), _PLAIN.values(), ids=_PLAIN)
def test_sql_sums_every_file_as_the_transform_does(
    form: Callable[[Row], Row], dataset: str, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    _FILES[name](frame(MONTH, form), path)
    lazy = scan(path)
    assert lazy is not None
    result = sliced(lazy.collect(), of=_context(dataset, splits=()))
    mine, theirs = totals(result), billed_again(path, result)
    assert {key: rows for key, (rows, _) in mine.items()} == {
        key: rows for key, (rows, _) in theirs.items()
    }
    for key, (rows, amount) in mine.items():
        assert abs(amount - theirs[key][1]) <= rows * Decimal("1e-12") + 60 * Decimal("1e-15")
    assert len(mine) == 3 * len(views(_context(dataset)))


@pytest.mark.parametrize("name", _FILES)
def test_the_form_of_a_file_does_not_change_its_slices(name: str, tmp_path: Path) -> None:
    raw = frame([r for r in MONTH if len(r["cost"]) < 12])
    _FILES[name](raw, tmp_path / name)
    lazy = scan(tmp_path / name)
    assert lazy is not None
    assert_frame_equal(
        _comparable(_sliced(lazy.collect(), "cost_export")),
        _comparable(_sliced(raw, "cost_export")),
        check_exact=True,
    )


def test_amounts_of_the_focus_export_keep_both_views() -> None:
    result = _sliced(frame(MONTH, focus), "focus_export")
    fees = result.slices.filter(pl.col("reason") == "commitment_fee")
    assert sorted(fees.select("effective_cost", "billed_cost").rows()) == [(7, 9), (8, 8)]
    assert result.bill_values == {"effective": True, "billed": True}
    assert set(result.cluster_bills["cost_view"]) == {"effective", "billed"}


@pytest.mark.parametrize(
    ("dataset", "metric", "has"),
    [
        ("cost_export", "amortized", ("effective",)),
        ("cost_export", "actual", ("billed",)),
        ("focus_export", None, ("effective", "billed")),
        ("focus_export", "actual", ("billed",)),
    ],
)
def test_a_source_has_the_views_its_export_has(
    dataset: str, metric: str | None, has: tuple[str, ...]
) -> None:
    form = mca if dataset == "cost_export" else focus
    of = context(dataset, metric=metric)
    result = sliced(frame([node(), fee()], form), of=of)
    assert views(of) == has
    assert tuple(result.totals["cost_view"].unique(maintain_order=True)) == has
    lacking = {"effective", "billed"} - set(has)
    assert all(result.slices[f"{view}_cost"].is_null().all() for view in lacking)
    assert all(result.slices[f"{view}_cost"].is_not_null().all() for view in has)


def test_a_cost_export_without_a_metric_is_refused() -> None:
    with pytest.raises(InputError, match="does not say which cost") as caught:
        views(context(metric=None))
    assert caught.value.expected == 'metric = "amortized" or metric = "actual"'


# ---------------------------------------------------------------- headers, dates, amounts


def test_localised_headers_are_read_by_the_name_in_brackets() -> None:
    raw = frame([node(), fee()])
    german = raw.rename({name: f"Deutsches Wort ({name})" for name in raw.columns})
    assert kinds(sliced(german)) == kinds(sliced(raw))


def test_headers_are_compared_without_case_and_bom() -> None:
    raw = frame([node(), fee()])
    loud = raw.rename({name: name.upper() for name in raw.columns})
    marked = loud.rename({loud.columns[0]: "\ufeff" + loud.columns[0]})
    assert kinds(sliced(marked)) == kinds(sliced(raw))


def test_two_columns_of_one_name_are_refused() -> None:
    raw = frame([node()]).with_columns(COSTINBILLINGCURRENCY=pl.lit("9"))
    with pytest.raises(InputError, match="two columns are both costinbillingcurrency"):
        sliced(raw)


@pytest.mark.parametrize(
    ("column", "named"),
    [
        ("chargeType", "ChargeType"),
        ("costInBillingCurrency", "CostInBillingCurrency or Cost"),
        ("billingPeriodStartDate", "BillingPeriodStartDate"),
        ("ResourceId", "ResourceId"),
    ],
)
def test_a_missing_column_is_named(column: str, named: str) -> None:
    with pytest.raises(InputError, match=f"lacks the column {named}$"):
        sliced(frame([node()]).drop(column))


def test_optional_columns_may_be_missing_and_unknown_ones_are_ignored() -> None:
    raw = frame([fee()]).drop(
        "tags", "reservationId", "costAllocationRuleName", "resourceGroupName"
    )
    result = sliced(raw.with_columns(newColumn=pl.lit("x")))
    assert kinds(result) == {("cluster_fee", "control_plane", "other"): "1"}


def _dated(*pairs: tuple[str, str]) -> pl.DataFrame:
    raw = frame([node() for _ in pairs])
    return raw.with_columns(
        date=pl.Series([day for day, _ in pairs]),
        billingPeriodStartDate=pl.Series([month for _, month in pairs]),
    )


def test_the_month_stands_first_in_a_date_with_slashes() -> None:
    result = sliced(_dated(("10/11/2026", "10/01/2026")))
    assert [str(day) for day in result.slices["charge_period_start"]] == ["2026-10-11"]


@pytest.mark.parametrize(
    "written",
    ["2026-10-11", "2026-10-11T00:00Z", "2026-10-11T23:59:59.000Z", "2026-10-11 00:00:00"],
)
def test_iso_dates_are_read_with_and_without_time(written: str) -> None:
    result = sliced(_dated((written, "2026-10-01")))
    assert [str(day) for day in result.slices["charge_period_start"]] == ["2026-10-11"]


@pytest.mark.parametrize(
    ("pairs", "what"),
    [
        ([("10/11/2026", "10/01/2026"), ("2026-10-12", "2026-10-01")], "two forms of dates"),
        ([("10/11/2026", "2026-10-01")], "two forms of dates"),
        ([("31/10/2026", "10/01/2026")], "a value is no date"),
        ([("11.10.2026", "10/01/2026")], "a value is no date"),
        ([("2026-10-11T00:00+02:00", "2026-10-01")], "a value is no date"),
        ([("2026-02-30", "2026-10-01")], "a value is no date"),
    ],
)
def test_dates_are_never_guessed(pairs: list[tuple[str, str]], what: str) -> None:
    with pytest.raises(InputError, match=what):
        sliced(_dated(*pairs))


@pytest.mark.parametrize(
    ("column", "named"),
    [
        ("date", "Date"),
        ("billingPeriodStartDate", "BillingPeriodStartDate"),
        ("billingCurrency", "BillingCurrencyCode or BillingCurrency"),
        ("costInBillingCurrency", "CostInBillingCurrency or Cost"),
    ],
)
def test_a_row_without_a_value_it_needs_is_refused(column: str, named: str) -> None:
    raw = frame([node(), node()])
    raw = raw.with_columns(pl.Series(column, [raw[column][0], None]))
    with pytest.raises(InputError, match="a value is missing") as caught:
        sliced(raw)
    assert caught.value.where == f"file-1.csv, column {named}"
    assert caught.value.got == "1 rows without one"


def test_an_amount_is_rounded_once_and_half_even_before_any_sum() -> None:
    costs = ["0.0000000000005", "0.0000000000015", "0.0000000000025", "1e-3"]
    result = sliced(frame([node(cost=cost) for cost in costs]))
    assert kinds(result) == {("unattributed", "no_split_source", "compute"): "0.001000000004"}


def test_rows_of_one_day_merge_within_a_file() -> None:
    raw = frame([node(cost="1"), node(cost="2"), node(15, cost="4")])
    parts = slice_file(raw.lazy(), context())
    assert isinstance(parts["charges"], pl.LazyFrame)
    made = parts["charges"].collect(engine="streaming").sort("charge_date")
    assert made.select("rows", "effective").rows() == [(2, 3), (1, 4)]


# ---------------------------------------------------------------- the real sample


def _sample() -> pl.DataFrame:
    path = SAMPLES / "azure_EA_AmortizedCost_Small.csv"
    if not path.exists():
        pytest.skip("the samples are not here")
    lazy = scan(path)
    assert lazy is not None
    return lazy.collect()


_SUB = "/subscriptions/83cd5873-7d9d-a5f6-d8fb-4c0fada15c71"
_AKS = "/providers/microsoft.containerservice/managedclusters"
ENGINE = f"{_SUB}/resourcegroups/analyticsengine{_AKS}/analyticsengine"
POC = f"{_SUB}/resourcegroups/aksccmextensibilitypoc{_AKS}/test-cluster"
SAMPLE_CLUSTERS = {
    ENGINE: "mc_analyticsengine_analyticsengine_eastus",
    f"{POC}-1": "mc_aksccmextensibilitypoc_test-cluster-1_eastus",
    f"{POC}-2": "mc_aksccmextensibilitypoc_test-cluster-2_eastus",
}


def _of_sample(**parts: Any) -> Context:
    of = {"clusters": SAMPLE_CLUSTERS, "metric": "amortized", "labels": ("env",), **parts}
    return Context("azure", "trey", "cost_export", "2023-09", **of)


def test_the_real_sample_is_read_without_a_wrong_figure() -> None:
    result = sliced(_sample(), of=_of_sample())
    in_clusters = result.slices.filter(pl.col("cluster_id").is_not_null())
    shown = in_clusters.select(
        *("cluster_id", "row_kind", "reason", "resource_kind", "namespace", "node_pool"),
        *("pricing_category", "charge_period_start", "effective_cost", "labels"),
    ).sort("effective_cost")
    assert [(*row[:-3], str(row[-3]), str(row[-2]), row[-1]) for row in shown.iter_rows()] == [
        (
            *(f"{POC}-2", "shared", "network", "network", None, "agentpool"),
            *("Standard", "2023-09-17", "0.000118866917", {"env": "prod"}),
        ),
        (
            *(ENGINE, "unattributed", "no_split_source", "compute", None, "secretagent"),
            *("Committed", "2023-09-03", "0.006000000468", {"env": "prod"}),
        ),
        (
            *(f"{POC}-1", "workload", None, "storage", "e2e-test-wi", None),
            *("Standard", "2023-09-17", "0.020001600000", {"env": "prod"}),
        ),
        (
            *(ENGINE, "unattributed", "no_split_source", "compute", None, "agentpool"),
            *("Committed", "2023-09-22", "0.493152000000", {"env": "prod"}),
        ),
    ]
    outside = result.slices.filter(pl.col("cluster_id").is_null())
    assert set(outside.select("row_kind", "reason").iter_rows()) == {("outside", "other_service")}
    assert len(outside) == 23  # 24 rows, of which two are one charge
    assert findings(result) == []


def test_the_real_sample_sums_to_itself() -> None:
    raw = _sample()
    result = sliced(raw, of=_of_sample())
    exact = sum(Decimal(cost).quantize(Decimal("1e-12")) for cost in raw["Cost"])
    assert totals(result) == {("sliced", "effective"): (28, exact)}
    assert result.slices["effective_cost"].sum() == exact


def test_the_real_sample_by_sql() -> None:
    result = sliced(_sample(), of=_of_sample())
    path = SAMPLES / "azure_EA_AmortizedCost_Small.csv"
    ((rows, amount),) = billed_again(path, result, "2023-09").values()
    assert rows == 28
    assert abs(amount - totals(result)["sliced", "effective"][1]) <= rows * Decimal("1e-12")


# ---------------------------------------------------------------- several layouts, old layouts


def test_files_of_two_layouts_in_one_month_are_each_read_by_their_own_header() -> None:
    result = sliced(frame([node(cost="1"), fee(cost="2")], ea), frame([node(15, "4")], mca))
    assert kinds(result, "row_kind", "source_file") == {
        ("unattributed", "file-1.csv"): "1",
        ("cluster_fee", "file-1.csv"): "2",
        ("unattributed", "file-2.csv"): "4",
    }


def test_a_usage_export_of_old_is_refused() -> None:
    old = ["SubscriptionGuid", "UsageDateTime", "MeterCategory", "PreTaxCost", "InstanceId"]
    with pytest.raises(InputError, match="lacks the column BillingPeriodStartDate, Date, Charge"):
        sliced(pl.DataFrame(schema=dict.fromkeys(old, pl.String)))


def test_prices_for_information_stand_on_whole_charges_only() -> None:
    """A part of a charge that repeated them would make them many times too large."""
    result = _sliced(frame([node(), fee()], focus), "focus_export")
    shown = result.slices.select("row_kind", "list_cost", "contracted_cost", "pricing_quantity")
    assert shown.sort("row_kind").rows() == [
        ("cluster_fee", 888, 777, 24),
        ("idle", None, None, None),
        ("workload", None, None, None),
    ]
