"""What Azure or a person may deliver wrong: one error or one finding, and never a wrong figure."""

import polars as pl
import pytest

from tests.azure_rows import (
    CLUSTER,
    GROUP,
    POOL,
    agent,
    context,
    fee,
    findings,
    focus,
    frame,
    kinds,
    mca,
    network,
    node,
    query,
    sliced,
)
from transforms.azure import combine, slice_file
from transforms.errors import InputError

HALVES = [("1", "shop", "Compute"), ("1", "#idle charges#", "Compute")]
QUERY = context(splits=("query",))
OTHER = CLUSTER.replace("aks-shop", "aks-two")


# ---------------------------------------------------------------- headers, types, tags


@pytest.mark.parametrize(
    ("header", "dataset", "hint"),
    [
        (["Date;Cost;Tags"], "cost_export", "no comma separates its cells"),
        (["Date\tCost\tTags"], "cost_export", "no comma separates its cells"),
        (["D\0a\0t\0e\0", "C\0o\0s\0t\0"], "cost_export", "the file is UTF-16"),
        (list(focus(node())), "cost_export", 'dataset = "focus_export"'),
        (list(mca(node())), "focus_export", 'dataset = "cost_export"'),
    ],
)
def test_a_header_that_is_another_says_what_to_do(
    header: list[str], dataset: str, hint: str
) -> None:
    raw = pl.LazyFrame({name: ["x"] for name in header})
    with pytest.raises(InputError, match="lacks the column") as caught:
        slice_file(raw, context(dataset))
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("date", pl.lit(20261014)),
        ("date", pl.lit(b"2026-10-14")),
        ("costInBillingCurrency", pl.lit(value=True)),
        ("tags", pl.struct(team=pl.lit("shop"))),
        ("ResourceId", pl.concat_list(pl.lit(POOL))),
    ],
)
def test_a_column_of_another_type_is_refused(column: str, value: pl.Expr) -> None:
    raw = frame([node()]).lazy().with_columns(value.alias(column))
    with pytest.raises(InputError, match=f"the column {column} is of a type") as caught:
        slice_file(raw, context())
    assert all((caught.value.expected, caught.value.got, caught.value.hint))


def test_a_number_of_single_precision_is_made_a_double_first() -> None:
    cost = pl.col("costInBillingCurrency").cast(pl.Float32)
    result = sliced(frame([node(cost="0.1")]).with_columns(cost))
    assert kinds(result, "row_kind") == {("unattributed",): "0.10000000149"}


@pytest.mark.parametrize(
    "text", ["hello", '{"team":', '{"team": {"a": 1}}', "[1, 2]", '{"team": "a",}']
)
def test_tags_that_cannot_be_read_are_none_and_reported(text: str) -> None:
    rows = frame([node(), node(cost="2", tags={"team": "shop"})])
    tags = pl.Series("tags", [text, rows["tags"][1]])
    result = sliced(rows.with_columns(tags), of=context(labels=("team",)))
    told = result.slices.select("effective_cost", pl.col("labels").map.get("team"))
    assert {f"{cost:f}"[:1]: team for cost, team in told.iter_rows()} == {"1": None, "2": "shop"}
    assert findings(result) == [("unread_tags", "warning")]
    assert result.findings.row(0, named=True)["where"] == "file-1.csv, column Tags"


def test_tags_that_are_null_or_blank_are_none() -> None:
    rows = frame([node(), node()]).with_columns(pl.Series("tags", ["null", "  "]))
    assert findings(sliced(rows)) == []


# ---------------------------------------------------------------- files that repeat


def test_a_month_to_date_beside_a_later_one_is_an_error() -> None:
    older = frame([node(1), node(2), fee(1)])
    result = sliced(older, frame([node(1), node(2), fee(1), node(3)]))
    assert findings(result) == [("repeated_export", "error")]
    told = result.findings.row(0, named=True)
    assert (told["where"], told["difference"]) == ("file-1.csv; file-2.csv", "3.000000000000")


def test_parts_of_one_run_that_share_a_charge_by_chance_are_no_repetition() -> None:
    result = sliced(frame([node(1), node(2)]), frame([node(2), node(3), node(4)]))
    assert findings(result) == []


# ---------------------------------------------------------------- the configuration


@pytest.mark.parametrize(
    "clusters",
    [
        {"aks-shop": GROUP},
        {f"{CLUSTER}/agentpools/user": GROUP},
        {CLUSTER.rsplit("/providers", maxsplit=1)[0]: GROUP},
        {CLUSTER: f"/subscriptions/1/resourcegroups/{GROUP}"},
        {CLUSTER: "rg-shop"},
        {CLUSTER: GROUP, OTHER: GROUP},
    ],
)
def test_clusters_that_cannot_be_where_they_are_said_to_be(clusters: dict[str, str]) -> None:
    with pytest.raises(InputError, match="cannot be found on the bill") as caught:
        sliced(frame([node()]), of=context(clusters=clusters))
    error = caught.value
    assert error.exit_code == 2
    assert all((error.where, error.expected, error.got, error.hint))


def test_a_cluster_configured_with_another_group_is_not_to_be_added_again() -> None:
    tags = {"aks-managed-cluster-name": "aks-shop", "aks-managed-cluster-rg": "rg-shop"}
    rows = frame([node(), network("loadBalancers/kubernetes", tags=tags)])
    result = sliced(rows, of=context(clusters={CLUSTER: "old-nodes"}))
    hint = result.findings.row(0, named=True)["hint"]
    assert "whose nodes stand in old-nodes by `clusters`" in hint
    assert "add to" not in hint


def test_files_of_the_bill_without_a_row_are_refused() -> None:
    with pytest.raises(InputError, match="no file of the bill holds a row"):
        combine({}, context())


@pytest.mark.parametrize(
    ("metric", "cost", "is_told"),
    [("amortized", "0", True), ("amortized", "1", False), ("actual", "1", True)],
)
def test_prices_of_what_commitments_cover_tell_the_metric(
    metric: str, cost: str, is_told: bool
) -> None:
    rows = frame([node(cost=cost, pricing="Reservation"), node(2)])
    result = sliced(rows, of=context(metric=metric))
    assert findings(result) == ([("metric_doubtful", "warning")] if is_told else [])


# ---------------------------------------------------------------- splits


def test_two_answers_of_the_agent_for_one_resource_are_never_added() -> None:
    answers = {
        "2026-10-14-1.json": agent({POOL: [("0.5", "shop", "usage"), ("0.5", "", "idle")]}),
        "2026-10-14-2.json": agent({POOL: [("1", "web", "usage")]}),
    }
    result = sliced(frame([node()]), splits=answers, of=context(splits=("agent",)))
    assert kinds(result, "namespace") == {("web",): "1"}
    assert findings(result) == [("split_answered_twice", "warning")]


def test_a_cluster_that_nobody_knows_is_reported() -> None:
    answers = {"2026-10-14.json": query(HALVES), "2026-10-15.json": query(HALVES, cluster=OTHER)}
    result = sliced(frame([node()]), splits=answers, of=QUERY)
    assert findings(result) == [("split_of_stranger", "warning")]
    strange = {POOL.replace("rg-shop", "rg-x"): [("1", "shop", "usage")]}
    told = sliced(
        frame([node()]), splits={"2026-10-14.json": agent(strange)}, of=context(splits=("agent",))
    )
    assert findings(told) == [("split_of_stranger", "warning")]


def test_a_cluster_that_is_on_the_bill_alone_is_reported_once() -> None:
    rows = frame([fee()])
    result = sliced(
        rows, splits={"2026-10-14.json": query(HALVES)}, of=context(splits=("query",), clusters={})
    )
    assert findings(result) == [("cluster_not_configured", "warning")]


def test_money_below_nothing_divides_nothing_and_is_reported() -> None:
    answer = query([*HALVES, ("-2", "web", "Compute")])
    result = sliced(frame([node()]), splits={"2026-10-14.json": answer}, of=QUERY)
    assert kinds(result, "namespace", "row_kind") == {
        (None, "idle"): "0.5",
        ("shop", "workload"): "0.5",
    }
    assert findings(result) == [("split_negative", "warning")]
