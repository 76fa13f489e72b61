"""The oracle's Azure figures against the sheet's sample and rows worked out by hand."""

import json
from fractions import Fraction
from pathlib import Path

import pytest

from tests.oracle_azure_cases import (
    ANSWER,
    BALANCER,
    CLAIM,
    MANAGED,
    NODES,
    OS_DISK,
    SAMPLE,
    SUBSCRIPTION,
    SYS,
    USER,
    answered,
    books,
    line,
    measured,
    money,
    sums,
    written,
)
from tests.oracle_azure_files import files, rows
from tests.oracle_slices import Slice


def storage(piece: Slice) -> tuple[str | None, str, Fraction | None]:
    return piece.namespace, piece.row_kind, piece.effective


def test_the_sheets_sample(tmp_path: Path) -> None:
    written(tmp_path, SAMPLE)
    answered(tmp_path, ANSWER, "2026-10-14.json")
    sample = books(tmp_path)
    assert sample.bills("effective") == {(MANAGED.lower(), "EUR"): money("10.9572")}
    assert sample.outside("effective") == {("azure", "unused_commitment", "EUR"): money("2.4288")}
    assert [storage(piece) for piece in sample.slices if piece.resource_kind == "storage"] == [
        ("shop-api", "workload", money("0.184")),
        ("shop-api", "workload", money("0.22")),
        (None, "idle", money("0.1288")),
        ("shop-web", "workload", money("0.11")),
        ("kube-system", "workload", money("0.08")),
        (None, "unattributed", money("0.05")),
    ]
    others = {key: amount for key, amount in sums(sample).items() if key[2] != "storage"}
    # The answer counts bandwidth as Compute: 7.314 where the nodes cost 7.3048.
    assert others == {
        ("cluster_fee", "control_plane", "other"): money("2.208"),
        ("shared", "network", "network"): money("0.0092"),
        ("shared", "load_balancer", "network"): money("0.252"),
        ("system_overhead", "node_reserve", "network"): money("0.1104"),
        ("workload", None, "network"): money("0.3"),
        ("workload", None, "compute"): money("5.093584905661"),
        ("idle", "unrequested", "compute"): money("1.711844025157"),
        ("system_overhead", "node_reserve", "compute"): money("0.499371069182"),
    }


def test_the_bridge_of_a_query_begins_with_its_own_money(tmp_path: Path) -> None:
    written(tmp_path, SAMPLE)
    answered(tmp_path, ANSWER, "2026-10-14.json")
    lines = {key[2]: value for key, value in books(tmp_path).bridges().items()}
    names = ("provider_idle", "not_time_based", "rebased", "idle")
    assert {what: [value[name] for name in names] for what, value in lines.items()} == {
        "compute": [money(x) for x in ("1.714", "0", "-0.002155974843", "1.711844025157")],
        "storage": [money(x) for x in ("0.1288", "0", "0", "0.1288")],
        "network": [money(x) for x in ("0.252", "-0.252", "0", "0")],
    }


def test_an_answer_of_two_days_gives_both_the_same_ratios(tmp_path: Path) -> None:
    second = line(SYS, "2", Date="10/15/2026")
    written(tmp_path, [line(SYS, "1"), second])
    split = [("Compute", 3.0, "a"), ("Compute", 1.0, "#idle charges#")]
    answered(tmp_path, split, "2026-10-14_2026-10-15.json")
    pieces = books(tmp_path).slices
    parts = [(piece.row_kind, piece.effective, piece.provider_idle) for piece in pieces]
    # One of idle for both days, by their cost: 0.25 and 0.5.
    assert parts == [
        ("workload", money("0.75"), None),
        ("idle", money("0.25"), money("0.333333333333")),
        ("workload", money("1.5"), None),
        ("idle", money("0.5"), money("0.666666666667")),
    ]


def test_what_tags_took_on_all_days_leaves_an_answer_about_them(tmp_path: Path) -> None:
    lines = []
    for day in ("10/14/2026", "10/15/2026"):
        lines.append(line(OS_DISK, "3", "1/Month", Date=day))
        lines.append(line("Microsoft.Compute/disks/pvc-1", "1", "1/Month", Tags=CLAIM, Date=day))
    written(tmp_path, lines)
    split = [("Storage", 4.0, "shop-api"), ("Storage", 2.0, "b")]
    answered(tmp_path, split, "2026-10-14_2026-10-15.json")
    # Of shop-api's 4 two are the claim's, so half of each day's 3 is left to it.
    parts = [(piece.namespace, piece.effective) for piece in books(tmp_path).slices]
    claims, disks = [("shop-api", 1)] * 2, [("shop-api", money("1.5")), ("b", money("1.5"))] * 2
    assert parts == [*claims, *disks]


def test_a_second_answer_of_a_day_wins_whole_and_a_page_is_added(tmp_path: Path) -> None:
    written(tmp_path, [line(SYS, "1")])
    answered(tmp_path, [("Compute", 1.0, "a")], "2026-10-14/a.json")
    answered(tmp_path, [("Compute", 1.0, "b")], "2026-10-14/b.json")
    assert {piece.namespace for piece in books(tmp_path).slices} == {"a", "b"}
    answered(tmp_path, [("Compute", 1.0, "b"), ("Compute", 1.0, "c")], "2026-10-14/c.json")
    assert {piece.namespace for piece in books(tmp_path).slices} == {"b", "c"}


NODE = [(0.5, "usage", "a"), (0.3, "idle", ""), (0.2, "system", "")]


def test_an_agents_fractions_and_a_replaced_disk(tmp_path: Path) -> None:
    child = line(f"{USER}/virtualMachines/0", "0.1")
    written(tmp_path, [line(USER, "1"), child, line(OS_DISK, "0.5", "1/Month")])
    measured(tmp_path, {USER: NODE})
    found = books(tmp_path)
    assert sums(found) == {
        ("workload", None, "compute"): money("0.55"),
        ("idle", "unrequested", "compute"): money("0.33"),
        ("system_overhead", "node_reserve", "compute"): money("0.22"),
        ("workload", None, "storage"): money("0.25"),
        ("idle", "unrequested", "storage"): money("0.25"),
    }
    assert {piece.team for piece in found.slices if piece.row_kind == "workload"} == {"red"}
    assert {piece.node_pool for piece in found.slices} == {"user", None}
    assert {piece.node_name for piece in found.slices} == {None}
    assert {lines["rebased"] for lines in found.bridges().values()} == {0}


@pytest.mark.parametrize(
    ("fraction", "gap"), [(0.299999, None), (0.2, "0.1"), (0.5, None), (0.0, "0.3")]
)
def test_fractions_that_miss_one(tmp_path: Path, fraction: float, gap: str | None) -> None:
    written(tmp_path, [line(USER, "1")])
    measured(tmp_path, {USER: [NODE[0], (fraction, "idle", ""), NODE[2]]})
    found = sums(books(tmp_path))
    assert found.get(("unattributed", "split_gap", "compute")) == (money(gap) if gap else None)
    assert sum(found.values()) == 1


def test_what_an_answer_leaves_out_is_a_gap(tmp_path: Path) -> None:
    lost = "Microsoft.Compute/disks/pvc-1"
    written(tmp_path, [line(USER, "1"), line(SYS, "2"), line(lost, "3"), line(BALANCER, "4")])
    measured(tmp_path, {USER: [(1.0, "idle", "")]})
    assert sums(books(tmp_path)) == {
        ("idle", "unrequested", "compute"): 1,
        ("unattributed", "split_gap", "compute"): 2,
        ("unattributed", "unmounted_volume", "storage"): 3,
        ("shared", "load_balancer", "network"): 4,
    }


def test_without_a_split_capacity_is_unknown(tmp_path: Path) -> None:
    address = "microsoft.network/publicIPAddresses/1"
    mine = '{"k8s-azure-service": "shop-web/front"}'
    lines = [
        line(USER, "1"),
        line(OS_DISK, "2", "1/Month"),
        line(BALANCER, "3"),
        line(address, "4"),
        line(address, "5", Tags=mine),
        line(BALANCER, "6", "1 GB"),
        line(OS_DISK, "7", "10K"),
        line("Microsoft.Insights/components/x", "8"),
        line("", "9", ResourceGroup=NODES, SubscriptionId=SUBSCRIPTION.rsplit("/", 1)[-1]),
    ]
    written(tmp_path, lines)
    found = books(tmp_path)
    assert sums(found) == {
        ("unattributed", "no_split_source", "compute"): 1,
        ("unattributed", "no_split_source", "storage"): 2,
        ("shared", "load_balancer", "network"): 9,
        ("shared", "network", "network"): 4,
        ("workload", None, "network"): 5,
        ("shared", "storage", "storage"): 7,
        ("shared", "logging", "other"): 8,
        ("shared", "other", "other"): 9,
    }
    assert found.unknown_kinds(MANAGED.lower()) == ["idle", "headroom"]


@pytest.mark.parametrize(
    ("charge", "reason"),
    [
        ("Refund", "refund"),
        ("RoundingAdjustment", "rounding"),
        ("UnusedSavingsPlan", "unused_commitment"),
        ("UnusedBenefit", "unused_commitment"),
        ("Tax", "tax"),
        ("Credit", "credit"),
        ("Purchase", "other_service"),
        ("Purchase Correction", "refund"),
        ("Adjustment Correction", "refund"),
        ("Adjustment", "rounding"),
    ],
)
def test_charge_types_are_outside_whatever_their_group(
    tmp_path: Path, charge: str, reason: str
) -> None:
    kind, _, of_class = charge.partition(" ")
    written(tmp_path, [line(USER, "1", ChargeType=kind, ChargeClass=of_class)])
    assert books(tmp_path).outside("effective") == {("azure", reason, "EUR"): 1}


def test_fates_and_a_group_that_only_begins_alike(tmp_path: Path) -> None:
    alike = f"{SUBSCRIPTION}/resourceGroups/{NODES}2/providers/{USER}"
    lines = [
        line(alike, "1"),
        line(USER, "2", BillingPeriodStartDate="09/01/2026"),
        line(USER, "3", CostAllocationRuleName="hub"),
        line(USER, "4", ChargeType="Purchase", ReservationId="r"),
        line(USER, "5", ChargeType="Novelty"),
    ]
    written(tmp_path, lines)
    found = books(tmp_path, metric="actual")
    assert found.fates("billed") == {
        ("azure", "sliced", "EUR"): (3, money("10")),
        ("azure", "other_period", "EUR"): (1, money("2")),
        ("azure", "provider_reallocation", "EUR"): (1, money("3")),
    }
    assert found.outside("billed") == {
        ("azure", "other_service", "EUR"): 1,
        ("azure", "commitment_fee", "EUR"): 4,
    }
    assert sums(found, "billed") == {("unattributed", "unclassified", "compute"): 5}
    assert not found.fates("effective")
    assert not found.kinds("effective")


@pytest.mark.parametrize("day", ["2026-10-14", "14.10.2026", ""])
def test_dates_of_two_forms_in_a_file_are_refused(day: str) -> None:
    with pytest.raises(ValueError, match=r"date|day"):
        rows(iter([line(USER, "1"), line(USER, "1", Date=day)]), {"effective": "cost"})


def test_columns_are_known_without_case_and_in_brackets() -> None:
    german = {
        "Abrechnungszeitraum (BillingPeriodStart)": "2026-10-01T00:00Z",
        "chargeperiodstart": "2026-10-14T00:00Z",
        "BILLINGCURRENCY": "EUR",
        "ChargeCategory": "Usage",
        "BilledCost": "0",
        "EffectiveCost": "0.123456789012345678901",
    }
    columns = {"effective": "effective", "billed": "billed"}
    (found,) = rows(iter([german]), columns)
    assert found.amounts == {"effective": money("0.123456789012"), "billed": 0}
    assert (str(found.day), found.month) == ("2026-10-14", "2026-10")


def test_the_newest_complete_run_counts(tmp_path: Path) -> None:
    for name, submitted, size in (("a", "2026-10-20", 3), ("b", "2026-11-03", 4)):
        run = tmp_path / "month" / name
        run.mkdir(parents=True)
        (run / "part_0.csv").write_text("abc", encoding="utf-8")
        manifest = {
            "runInfo": {"startDate": "2026-10-01T00:00:00", "submittedTime": submitted},
            "blobs": [{"blobName": f"container/month/{name}/part_0.csv", "byteCount": size}],
        }
        (run / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    assert files(tmp_path, "2026-10") == [tmp_path / "month" / "a" / "part_0.csv"]
    with pytest.raises(ValueError, match="no complete run"):
        files(tmp_path, "2026-09")
