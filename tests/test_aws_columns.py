"""One set of columns, whatever the export calls them."""

from decimal import Decimal

import polars as pl
import pytest

from tests.aws_rows import node, pod, raw, sliced
from transforms.aws.columns import canonical_names, resolve, tag_columns
from transforms.errors import InputError

LEGACY = {
    "bill/BillingPeriodStartDate": "2026-10-01T00:00:00Z",
    "lineItem/LineItemType": "Usage",
    "lineItem/ProductCode": "AmazonEC2",
    "lineItem/UsageType": "BoxUsage:demo.large",
    "lineItem/Operation": "RunInstances",
    "lineItem/ResourceId": "i-1",
    "lineItem/CurrencyCode": "USD",
    "lineItem/UsageStartDate": "2026-10-05T10:00:00Z",
    "lineItem/UsageAmount": "1",
    "lineItem/UnblendedCost": "0.1234567890125",
    "product/vcpu": "2",
    "product/memory": "8 GiB",
    "resourceTags/aws:eks:cluster-name": "demo",
    "resourceTags/user:team": "shop",
}


def legacy(**cells: str | None) -> pl.LazyFrame:
    return pl.LazyFrame([LEGACY | cells], schema=dict.fromkeys(LEGACY, pl.String))


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("lineItem/UnblendedCost", "line_item_unblended_cost"),
        ("splitLineItem/PublicOnDemandSplitCost", "split_line_item_public_on_demand_split_cost"),
        ("savingsPlan/SavingsPlanEffectiveCost", "savings_plan_savings_plan_effective_cost"),
        ("reservation/ReservationARN", "reservation_reservation_a_r_n"),
        ("product/vcpu", "product_vcpu"),
        ("line_item_unblended_cost", "line_item_unblended_cost"),
    ],
)
def test_names_become_those_of_cur_2(name: str, canonical: str) -> None:
    assert canonical_names([name]) == {name: canonical}


def test_tags_in_columns_of_their_own_are_found() -> None:
    header = ["resourceTags/user:team", "resource_tags_aws_eks_node", "resource_tags", "tags"]
    assert tag_columns(header) == {
        "resourceTags/user:team": "user:team",
        "resource_tags_aws_eks_node": "aws_eks_node",
    }


def test_text_is_parsed_as_text_and_rounded_once() -> None:
    row = resolve(legacy()).collect().row(0, named=True)
    assert row["line_item_unblended_cost"] == Decimal("0.123456789012")
    assert str(row["line_item_usage_start_date"]) == "2026-10-05 10:00:00"


@pytest.mark.parametrize("text", ["1E-4", "0.0001", "1.0e-04"])
def test_scientific_notation_is_a_number(text: str) -> None:
    row = resolve(legacy(**{"lineItem/UnblendedCost": text})).collect().row(0, named=True)
    assert row["line_item_unblended_cost"] == Decimal("0.0001")


@pytest.mark.parametrize("cell", [None, ""])
def test_an_empty_cell_is_unknown_not_zero(cell: str | None) -> None:
    cells = {"product/memory": cell, "lineItem/UnblendedCost": cell}
    row = resolve(legacy(**cells)).collect().row(0, named=True)
    assert (row["product_memory"], row["line_item_unblended_cost"]) == (None, None)


@pytest.mark.parametrize(
    ("missing", "hint"),
    [
        ("lineItem/UnblendedCost", "add the column"),
        ("lineItem/ResourceId", "INCLUDE_RESOURCES"),
    ],
)
def test_a_missing_column_is_named_with_the_mend(missing: str, hint: str) -> None:
    with pytest.raises(InputError) as caught:
        resolve(legacy().drop(missing))
    assert canonical_names([missing])[missing] in caught.value.what
    assert hint in caught.value.hint


def test_split_columns_come_all_or_none() -> None:
    frame = raw(node(), pod())
    with pytest.raises(InputError, match="split_line_item_unused_cost"):
        resolve(frame.lazy().drop("split_line_item_unused_cost"))
    split = [name for name in frame.columns if name.startswith("split_")]
    assert resolve(frame.lazy().drop(split)).collect().height == 2


def test_unknown_columns_and_missing_optional_ones_are_fine() -> None:
    optional = ["product_product_family", "pricing_term", "split_line_item_net_split_cost"]
    frame = raw(node(), pod(split=0.1, unused=0.03)).drop(optional).with_columns(brand_new=1)
    assert sliced(frame).slices["effective_cost"].sum() == Decimal("0.13")


def test_files_without_rows_are_fine() -> None:
    assert sliced(raw()).slices.is_empty()
    both = sliced(raw(), raw(node(), pod(split=0.1, unused=0.03)))
    assert both.slices["effective_cost"].sum() == Decimal("0.13")


def test_maps_may_come_as_json_text_or_as_pairs() -> None:
    rows = raw(node(), pod(split=0.1, unused=0.03))
    as_text = rows.with_columns(
        resource_tags=pl.Series(['{"aws:eks:cluster-name":"demo"}', None]),
        product=pl.Series(['{"vcpu":"2","memory":"8 GiB"}', ""]),
    )
    pairs = pl.List(pl.Struct({"key": pl.String, "value": pl.String}))
    as_pairs = rows.with_columns(pl.col("resource_tags", "product").map.entries().cast(pairs))
    for frame in (as_text, as_pairs):
        slices = sliced(frame).slices
        assert set(slices["cluster_name"]) == {"demo"}
        capacity = slices.filter(row_kind="idle")["capacity_quantity"].cast(float).to_list()
        assert capacity == [2.0]
