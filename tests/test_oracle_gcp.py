"""The oracle's Google figures against the sheet's sample and rows worked out by hand."""

import gzip
import json
from collections import defaultdict
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.oracle import Books
from tests.oracle_gcp_files import at, files, parsed, row
from tests.oracle_slices import Slice

Line = dict[str, Any]
CUD = "COMMITTED_USAGE_DISCOUNT"
CORE = "N2 Instance Core running in Americas"
ENGINE, KUBERNETES = "Compute Engine", "Kubernetes Engine"
VM = "projects/481516234200/instances/gke-shop-std-pool-a-0f1e2d3c-k9x2"
STD: dict[str, str] = {
    "goog-k8s-cluster-location": "us-central1",
    "goog-k8s-cluster-name": "shop-std",
    "goog-k8s-node-pool-name": "pool-a",
}
AUTO = {"goog-k8s-cluster-location": "us-central1", "goog-k8s-cluster-name": "shop-auto"}


def line(cost: str, sku: str, labels: dict[str, str], **more: Any) -> Line:
    """One row of an export; amounts are the text of the sheet."""
    credit = more.pop("credit", None)
    paid = [] if credit is None else [{"type": credit[0], "amount": Decimal(credit[1])}]
    return {
        "service": {"description": more.pop("service", ENGINE)},
        "sku": {"description": sku},
        "usage_start_time": "2026-10-05 10:00:00 UTC",
        "project": {"id": "acme-shop-prod"},
        "location": {"location": "us-central1-a"},
        "labels": [{"key": key, "value": value} for key, value in labels.items()],
        "credits": paid,
        "invoice": {"month": more.pop("month", "202610")},
        "usage": {"unit": more.pop("unit", "seconds")},
        "resource": {"name": more.pop("resource", VM)},
        "cost_type": "regular",
        "currency": "USD",
        "cost": Decimal(cost),
        **more,
    }


def core(cost: str, namespace: str, credit: str, **more: Any) -> Line:
    return line(cost, CORE, {**STD, "k8s-namespace": namespace}, credit=(CUD, credit), **more)


SAMPLE = [
    core("0.0474165", "checkout", "-0.02370825"),
    core("0.031611", "search", "-0.0158055"),
    core("0.0094833", "kube-system", "-0.00474165"),
    core("0.00252888", "kube:system-overhead", "-0.00126444"),
    core("0.03540432", "kube:unallocated", "-0.01770216"),
    line("0.01344086", "Balanced PD Capacity", {**STD, "k8s-namespace": "search"}, resource="pvc"),
    line("0.0055", "Example SKU", {**STD, "k8s-namespace": "goog-k8s-unsupported-sku"}),
    line("0.1", "Regional Kubernetes Clusters", STD, service=KUBERNETES),
    line(
        "0.01602",
        "Autopilot Pod mCPU Requests (us-central1)",
        {**AUTO, "k8s-namespace": "checkout"},
        service=KUBERNETES,
    ),
    line(
        "0.02",
        "Compute Flexible Committed Use Discounts - 1 Year",
        {},
        credit=("FEE_UTILIZATION_OFFSET", "-0.01602"),
    ),
    line("0.0398304", "Commitment v1: N2 Cpu in Americas for 1 Year", {}),
    core(
        "-0.0474165",
        "checkout",
        "0.02370825",
        month="202611",
        adjustment_info={"id": "adj-example-1", "mode": "COMPLETE_NEGATION"},
    ),
]


def written(folder: Path, lines: list[Line], name: str = "a.jsonl") -> Path:
    text = "".join(json.dumps(line, default=float) + "\n" for line in lines)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def books(folder: Path, month: str = "2026-10", **tables: Any) -> Books:
    source = {"id": "gcp", "provider": "gcp", "location": "."}
    return Books({"source": [source], "operator": [{"team": "ops"}], **tables}, folder, month)


def sums(of: Books) -> dict[tuple[str, str | None], Fraction]:
    found: dict[tuple[str, str | None], Fraction] = defaultdict(Fraction)
    for piece in of.slices:
        found[piece.row_kind, piece.reason] += piece.effective or 0
    return dict(found)


def money(text: str) -> Fraction:
    return Fraction(Decimal(text))


def only(folder: Path, entry: Line) -> Slice:
    (piece,) = books(written(folder, [entry])).slices
    return piece


def kind_of(folder: Path, entry: Line) -> tuple[str, str | None, str]:
    piece = only(folder, entry)
    return piece.row_kind, piece.reason, piece.resource_kind


def test_the_sheets_sample(tmp_path: Path) -> None:
    sample = books(written(tmp_path, SAMPLE), system=[])
    assert sums(sample) == {
        ("workload", None): money("0.07371626"),
        ("idle", "unrequested"): money("0.01770216"),
        ("system_overhead", "node_reserve"): money("0.00126444"),
        ("unattributed", "unsupported_sku"): money("0.0055"),
        ("cluster_fee", "control_plane"): money("0.1"),
        ("outside", "unused_commitment"): money("0.00398"),
        ("outside", "commitment_fee"): money("0.0398304"),
    }
    assert sample.fates("billed") == {
        ("gcp", "sliced", "USD"): (11, money("0.24199326")),
        ("gcp", "other_period", "USD"): (1, money("-0.02370825")),
    }
    standard = ("acme-shop-prod/us-central1/shop-std", "USD")
    ratio = sample.idle_ratio("effective")[standard]
    # 0.01770216 of the core's net 0.063222; disk, fee and pods have no part in it.
    assert ratio == money("0.01770216") / money("0.063222")


def test_a_correction_is_distributed_with_its_sign(tmp_path: Path) -> None:
    later = books(written(tmp_path, SAMPLE), month="2026-11")
    assert sums(later) == {("workload", None): money("-0.02370825")}
    assert [piece.charge_class for piece in later.slices] == ["Correction"]
    assert str(later.slices[0].day) == "2026-10-05"


def test_the_bridge_begins_with_what_google_calls_unallocated(tmp_path: Path) -> None:
    label = {**STD, "k8s-namespace": "kube:unallocated"}
    egress = line("0.5", "Network Inter Zone Egress", label, unit="bytes")
    sample = books(written(tmp_path, [*SAMPLE, egress]))
    place = ("acme-shop-prod/us-central1/shop-std", VM.rsplit("/", 1)[-1])
    bridges = sample.bridges()
    assert bridges.keys() == {(*place, "cpu", "USD"), (*place, "network", "USD")}
    idle = bridges[*place, "cpu", "USD"]
    assert (idle["provider_idle"], idle["idle"], idle["rebased"]) == (*[money("0.01770216")] * 2, 0)
    network = bridges[*place, "network", "USD"]
    names = ("provider_idle", "not_time_based", "rebased", "idle")
    assert [network[name] for name in names] == [money("0.5"), -money("0.5"), 0, 0]


NO_NAMESPACE = {"goog-k8s-cluster-name": "shop-std"}


UNALLOCATED = {**STD, "k8s-namespace": "kube:unallocated"}


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (line("1", CORE, UNALLOCATED), ("idle", "unrequested", "cpu")),
        (line("1", "Balanced PD Capacity", UNALLOCATED), ("idle", "unrequested", "storage")),
        (line("1", "A novelty of a machine", UNALLOCATED), ("idle", "unrequested", "compute")),
        (line("1", "External IP Charge", UNALLOCATED), ("shared", "network", "network")),
        (line("1", "Storage Calls", UNALLOCATED, unit="count"), ("shared", "other", "storage")),
        (line("1", "A novelty", UNALLOCATED, resource=None), ("shared", "other", "other")),
        (line("1", CORE, STD, cost_type="tax"), ("outside", "tax", "other")),
        (line("1", CORE, {}, cost_type="rounding_error"), ("outside", "rounding", "other")),
        (line("1", CORE, {}, cost_type="adjustment"), ("outside", "refund", "other")),
        (line("1", CORE, {}, cost_type="new"), ("outside", "other_service", "other")),
        (line("1", CORE, STD, cost_type="new"), ("unattributed", "unclassified", "cpu")),
        (line("1", CORE, NO_NAMESPACE), ("unattributed", "unclassified", "cpu")),
        (core("1", "kube:new", "0"), ("unattributed", "unclassified", "cpu")),
        (core("1", "goog-k8s-unknown", "0"), ("unattributed", "unknown_owner", "cpu")),
        (core("1", "goog-k8s-mine", "0"), ("workload", None, "cpu")),
        (core("1", "kube-system", "0"), ("system_overhead", "system_namespace", "cpu")),
        (line("1", "Premium image", STD), ("unattributed", "unclassified", "compute")),
        (line("1", "Support", {}, service="Support"), ("outside", "support", "other")),
        (line("1", "Commitment v1: Cpu", STD), ("outside", "commitment_fee", "other")),
        (
            line("1", "GKE extended period", STD, service=KUBERNETES),
            ("cluster_fee", "extended_support", "other"),
        ),
        (
            line("1", "Autopilot Pod Memory Requests", AUTO, service=KUBERNETES),
            ("unattributed", "unclassified", "memory"),
        ),
        (
            line("1", "Autopilot Spot Pod mCPU Requests", AUTO, service=KUBERNETES),
            ("unattributed", "unclassified", "cpu"),
        ),
    ],
)
def test_each_row_has_one_kind(
    tmp_path: Path, entry: Line, kind: tuple[str, str | None, str]
) -> None:
    assert kind_of(tmp_path, entry) == kind


def test_payment_credits_are_slices_of_their_own(tmp_path: Path) -> None:
    lines = [
        core("1", "checkout", "-0.1"),
        line("2", CORE, {**STD, "k8s-namespace": "checkout"}, credit=("PROMOTION", "-0.5")),
        line("3", CORE, {**STD, "k8s-namespace": "checkout"}, credit=("NEW", "-0.25")),
        line("4", CORE, {}, credit=(None, "-0.125")),
    ]
    assert sums(books(written(tmp_path, lines))) == {
        ("workload", None): money("5.9"),
        ("outside", "credit"): money("-0.5"),
        ("unattributed", "unclassified"): money("-0.25"),
        ("outside", "other_service"): money("3.875"),
    }
    (unknown,) = [piece for piece in books(tmp_path).slices if piece.reason == "unclassified"]
    assert unknown.resource_kind == "other"


def test_a_cluster_without_the_feature_is_unknown_not_idle(tmp_path: Path) -> None:
    off = books(written(tmp_path, [line("1", CORE, STD)]))
    (amounts,) = off.teams("effective").values()
    kinds = ("workload", "idle", "headroom", "unattributed", "total")
    assert [amounts[kind] for kind in kinds] == [None, None, None, 1, 1]


def test_every_form_is_the_same_row(tmp_path: Path) -> None:
    entry = json.loads(json.dumps(SAMPLE[0], default=float))
    entry["usage_start_time"] = "2026-10-05T10:00:00Z"
    flat = {
        "service.description": ENGINE,
        "sku.description": CORE,
        "usage_start_time": "2026-10-05 10:00:00+00:00",
        "project.id": "acme-shop-prod",
        "location.location": "us-central1-a",
        "labels": json.dumps({x["key"]: x["value"] for x in entry["labels"]}),
        "credits": str(entry["credits"]),
        "invoice.month": "202610",
        "usage.unit": "seconds",
        "resource": json.dumps(entry["resource"]),
        "cost_type": "regular",
        "currency": "USD",
        "cost": "0.0474165",
    }
    written(tmp_path, [entry])
    moment = datetime.fromisoformat("2026-10-05T10:00:00")
    pq.write_table(
        pa.Table.from_pylist([{**entry, "usage_start_time": moment}]), tmp_path / "b.parquet"
    )
    with gzip.open(tmp_path / "c.csv.gz", "wt", encoding="utf-8") as file:
        cells = ['"' + value.replace('"', '""') + '"' for value in flat.values()]
        file.write(",".join(flat) + "\n" + ",".join(cells) + "\n")
    pieces = books(tmp_path).slices
    assert len(pieces) == 3
    assert pieces[0] == pieces[1] == pieces[2]
    assert pieces[0].effective == money("0.02370825")


def test_amounts_are_the_text_that_is_written(tmp_path: Path) -> None:
    assert parsed("[{'amount': -0.1000000000000000000001, 'type': None}]") == [
        {"amount": Decimal("-0.1000000000000000000001"), "type": None}
    ]
    assert parsed('{"a": 1e-7, "b": true}') == {"a": Decimal("1e-7"), "b": True}
    assert at({"invoice": '{"month": "202610"}'}, "invoice.month") == "202610"
    # Half a quantum and more is rounded to the even one, each amount by itself.
    rounded = row({**SAMPLE[0], "cost": "0.0000000000025", "credits": []})
    assert rounded.cost == money("0.000000000002")


@pytest.mark.parametrize("name", ["cost", "currency", "usage_start_time", "invoice"])
def test_a_row_without_money_month_or_day_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"a row without {name}"):
        row({**SAMPLE[0], name: None})


def test_folders_by_month_and_by_day(tmp_path: Path) -> None:
    for name in ("202610", "invoice_month=202611", "2026-10-05", "other"):
        written(tmp_path / name, SAMPLE[:1])
    assert [file.parent.name for file in files(tmp_path, "2026-10")] == ["2026-10-05", "202610"]
