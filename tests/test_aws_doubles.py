"""Real provider doubles never look like a gap: 2,000 simulated instance-days."""

import datetime as dt
import random
from collections.abc import Iterator
from functools import cache

import polars as pl
import pytest

from tests.aws_rows import SCHEMA, START, sliced

INSTANCES = 73
DAYS = 31
SIZES = ((2, 8, 0), (4, 16, 0), (16, 64, 0), (96, 384, 0), (8, 61, 1), (96, 1152, 8))
ARN = "arn:aws:eks:us-east-1:111122223333:pod/sim/ns-{0}/pod-{0}-x/uid"
DAY = ["resource_id", "charge_period_start"]
PART = [*DAY, "resource_kind"]
VIEWS = ("effective_cost", "billed_cost")


@cache
def month() -> pl.DataFrame:
    rows = list(_simulate(random.Random(20261001)))
    columns = list(rows[0])
    return pl.DataFrame(
        {name: [row[name] for row in rows] for name in columns},
        schema={name: SCHEMA[name] for name in columns},
    )


@pytest.mark.parametrize("basis", ["provider", "request"])
def test_exact_provider_doubles_give_no_false_finding(basis: str) -> None:
    result = sliced(month(), charge_basis=basis)
    days = result.slices.filter(pl.col("reason") == "unrequested").select(DAY)
    assert days.n_unique() > INSTANCES * DAYS * 0.8
    assert result.findings.is_empty()
    assert set(result.slices["reason"]) == {None, "unrequested"}
    assert set(result.slices["cause"]) == {None, "empty_node", "scale_down_wait"}
    bill = result.cluster_bills.filter(cost_view="effective").item(0, "amount")
    assert result.slices["effective_cost"].sum() == bill


@pytest.mark.parametrize("basis", ["provider", "request"])
def test_every_node_and_day_adds_up_to_its_parents(basis: str) -> None:
    parents = month().filter(pl.col("line_item_product_code") == "AmazonEC2")
    cost = pl.col("line_item_unblended_cost").cast(pl.Decimal(38, 12)).sum()
    bill = parents.group_by(
        resource_id="line_item_resource_id",
        charge_period_start=pl.col("line_item_usage_start_date").dt.date(),
    ).agg(cost.alias("bill"))
    sums = sliced(month(), charge_basis=basis).slices.group_by(DAY).agg(pl.col(VIEWS).sum())
    both = bill.join(sums, on=DAY, how="full")
    assert both.height == bill.height
    for view in VIEWS:
        assert both.filter(pl.col(view).ne_missing(pl.col("bill"))).is_empty()


def test_charged_by_request_a_resource_of_a_node_costs_what_it_did() -> None:
    # Dust may stand on another row of the resource, never on another resource.
    sums = [
        sliced(month(), charge_basis=basis)
        .slices.group_by(PART)
        .agg(pl.col("effective_cost", "capacity_quantity").sum())
        .sort(PART)
        for basis in ("provider", "request")
    ]
    assert sums[0].height > INSTANCES * DAYS * 2
    assert sums[0].equals(sums[1])


def test_charged_by_request_pods_cost_their_requests_at_one_price() -> None:
    slices = sliced(month(), charge_basis="request").slices
    capacity = slices.group_by(PART).agg(
        cost=pl.col("effective_cost").cast(pl.Float64).sum(),
        capacity=pl.col("capacity_quantity").cast(pl.Float64).sum(),
    )
    pods = slices.filter(row_kind="workload").join(capacity, on=PART)
    requested = pl.col("requested_quantity").cast(pl.Float64)
    miss = (
        pods["effective_cost"].cast(pl.Float64)
        - pods.select(requested * pl.col("cost") / pl.col("capacity")).to_series()
    )
    assert pods.height > INSTANCES * DAYS * 2
    assert miss.abs().max() < 1e-8  # type: ignore[operator]


def test_idle_of_all_causes_is_what_aws_called_unused() -> None:
    slices = sliced(month()).slices
    idle = slices.filter(row_kind="idle").group_by(PART).agg(pl.col("effective_cost").sum())
    unused = slices.group_by(PART).agg(pl.col("provider_idle_cost").sum())
    both = unused.join(idle, on=PART, how="left")
    miss = both["effective_cost"] - both["provider_idle_cost"]
    assert miss.null_count() == 0
    assert miss.cast(pl.Float64).abs().max() < 1e-6  # type: ignore[operator]


def _simulate(rng: random.Random) -> Iterator[dict[str, object]]:
    """Hourly rows as AWS computes them: every factor a double, every product rounded to one."""
    for number in range(INSTANCES):
        size = rng.choice(SIZES)
        price = rng.choice((0.0464, 0.1 / 3, 0.19284, 7.3 / 11, 32.7726, rng.random()))
        for hour in range(0, rng.choice((DAYS, DAYS, DAYS - 9)) * 24, rng.choice((3, 4, 6))):
            hours = rng.choice((1.0, 1.0, 1.0, rng.random()))
            start = START + dt.timedelta(hours=hour)
            cost = price * hours
            yield _parent(number, size, start, cost, hours)
            yield from _pods(rng, number, size, start, cost, hours)


def _parent(
    number: int, size: tuple[int, int, int], start: dt.datetime, cost: float, hours: float
) -> dict[str, object]:
    return _row(start, number) | {
        "line_item_product_code": "AmazonEC2",
        "line_item_operation": "RunInstances",
        "line_item_usage_type": "BoxUsage:sim",
        "line_item_resource_id": f"i-{number:017x}",
        "line_item_usage_amount": hours,
        "line_item_unblended_cost": cost,
        "product_product_family": "Compute Instance",
        "product": {"vcpu": str(size[0]), "memory": f"{size[1]} GiB", "gpu": str(size[2] or "")},
    }


def _pods(
    rng: random.Random,
    number: int,
    size: tuple[int, int, int],
    start: dt.datetime,
    cost: float,
    hours: float,
) -> Iterator[dict[str, object]]:
    vcpu, memory, gpu = size
    weights = {"vCPU": 0.9, "GB": 0.1, "Accelerator": 9.0} if gpu else {"vCPU": 9.0, "GB": 1.0}
    capacity = {"vCPU": vcpu * hours, "GB": memory * hours, "Accelerator": gpu * hours}
    unit = cost / sum(weight * capacity[kind] for kind, weight in weights.items())
    pods = rng.choice((1, 1, 2, 3, 4, 5))  # the first is a DaemonSet's
    for kind, weight in weights.items():
        asked = [rng.random() * capacity[kind] * 1.6 / pods for _ in range(pods)]
        used = [rng.random() * capacity[kind] * 1.6 / pods for _ in range(pods)]
        charged = [max(amounts) for amounts in zip(asked, used, strict=True)]
        total = sum(charged)
        unused = max(capacity[kind] - total, 0.0) * weight * unit
        for pod, amount in enumerate(charged):
            ratio = amount / max(capacity[kind], total)
            yield _row(start, number) | {
                "line_item_product_code": "AmazonEKS",
                "line_item_operation": "EKSPod-EC2",
                "line_item_usage_type": f"USE1-EKS-EC2-{kind}-Hours",
                "line_item_resource_id": ARN.format(pod),
                "line_item_unblended_cost": 0.0,
                "split_line_item_parent_resource_id": f"i-{number:017x}",
                "split_line_item_reserved_usage": asked[pod],
                "split_line_item_actual_usage": used[pod],
                "split_line_item_split_usage": amount,
                "split_line_item_split_usage_ratio": ratio,
                "split_line_item_split_cost": ratio * capacity[kind] * (weight * unit),
                "split_line_item_unused_cost": unused * (amount / total),
                "resource_tags": {"aws_eks_workload_type": "Job" if pod else "DaemonSet"},
            }


def _row(start: dt.datetime, number: int) -> dict[str, object]:
    empty: dict[str, object] = dict.fromkeys(_USED)
    return empty | {
        "bill_billing_period_start_date": START,
        "line_item_usage_account_id": "111122223333",
        "line_item_line_item_type": "Usage",
        "line_item_currency_code": "USD",
        "line_item_usage_start_date": start,
        "line_item_usage_end_date": start + dt.timedelta(hours=1),
        "line_item_usage_amount": 1.0,
        "product_region_code": "us-east-1",
    }


_USED = (
    "bill_billing_period_start_date",
    "line_item_usage_account_id",
    "line_item_line_item_type",
    "line_item_currency_code",
    "line_item_usage_start_date",
    "line_item_usage_end_date",
    "line_item_usage_amount",
    "product_region_code",
    "line_item_product_code",
    "line_item_operation",
    "line_item_usage_type",
    "line_item_resource_id",
    "line_item_unblended_cost",
    "product_product_family",
    "product",
    "split_line_item_parent_resource_id",
    "split_line_item_reserved_usage",
    "split_line_item_actual_usage",
    "split_line_item_split_usage",
    "split_line_item_split_usage_ratio",
    "split_line_item_split_cost",
    "split_line_item_unused_cost",
    "resource_tags",
)
