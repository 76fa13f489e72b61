"""Split files: what they say, for which days, which of them counts, and what they divide."""

import datetime as dt
import json
from collections.abc import Sequence
from decimal import Decimal

import polars as pl
import pytest

from tests.azure_rows import (
    CLUSTER,
    NODE_GROUP,
    POOL,
    agent,
    context,
    disk,
    findings,
    focus,
    frame,
    kinds,
    lines,
    network,
    node,
    query,
    row,
    sliced,
)
from transforms.azure import slice_split
from transforms.azure.splits import days_in
from transforms.errors import InputError
from transforms.sliced import Sliced

QUERY = context(splits=("query",))
AGENT = context(splits=("agent",), labels=("team",))
BOTH = context(splits=("query", "agent"))
WORKLOAD = ("workload", None, "compute")
IDLE = ("idle", "unrequested", "compute")
GAP = ("unattributed", "split_gap", "compute")
UNSPLIT = ("unattributed", "no_split_source", "compute")
HALVES = [("1", "shop", "Compute"), ("1", "#idle charges#", "Compute")]
DAILY = ("Date", "ID", "Name", "Kind", "Fraction", "SplitBucket", "SplitKey")
QUERY_COLUMNS = (
    '{"columns": [{"name": "Cost"}, {"name": "Namespace"}, {"name": "Cluster"}, '
    '{"name": "ServiceCategory"}], '
)
USED = {POOL: [("0.75", "shop", "usage"), ("0.25", "", "idle")]}


def _days(result: Sliced) -> dict[tuple[str, ...], str]:
    shown = kinds(result, "charge_period_start", "reason", "split_source")
    return {(f"{key[0]:%d}", *key[1:]): amount for key, amount in shown.items()}


# ---------------------------------------------------------------- a query's answers


def _answer(columns: Sequence[str], *rows: Sequence[object], **extra: object) -> pl.DataFrame:
    named = [{"name": name, "type": "String"} for name in columns]
    return lines(json.dumps({"properties": {"columns": named, "rows": rows}} | extra, indent=2))


_COLUMNS = ("Cost", "CostUSD", "Namespace", "Cluster", "ServiceCategory", "Currency")


def test_columns_of_an_answer_are_read_by_name_and_amounts_exactly() -> None:
    text = (
        '{"properties":{"columns":[{"name":"Namespace"},{"name":"COST"},{"name":"Cluster"},'
        '{"name":"serviceCategory"}],"rows":[["shop",0.1234567890121,"'
        + CLUSTER
        + '","Compute"]]}}'
    )
    part = slice_split(lines(text).lazy(), QUERY)["splits"].collect()
    assert part.drop("day").row(0) == (
        *("query", CLUSTER, "Compute", "usage", None, "shop", None, None, None),
        part["amount"][0],
    )
    assert str(part["amount"][0]) == "0.123456789012"


@pytest.mark.parametrize("day", [20261014, "20261014", "2026-10-14T00:00:00"])
def test_a_usage_date_is_the_day_whatever_the_file_is_called(day: object) -> None:
    answer = _answer(
        (*_COLUMNS, "UsageDate"), [1, 1, "shop", CLUSTER.upper(), "Compute", "EUR", day]
    )
    rows = frame([node(14), node(15)])
    result = sliced(rows, splits={"2026-10-15.json": answer}, of=QUERY)
    assert _days(result) == {("14", None, "query"): "1", ("15", "no_split_source", None): "1"}


def test_an_answer_may_have_its_columns_at_the_top_or_stand_in_one_line_each() -> None:
    columns = [{"name": name} for name in _COLUMNS]
    pages = [
        {"columns": columns, "rows": [[1, 1, name, CLUSTER, "Compute", "EUR"]]}
        for name in ("shop", "#idle charges#")
    ]
    text = "\n".join(map(json.dumps, pages))
    result = sliced(frame([node(cost="3")]), splits={"2026-10-14.jsonl": lines(text)}, of=QUERY)
    assert kinds(result) == {WORKLOAD: "1.5", IDLE: "1.5"}


def test_an_answer_without_rows_is_no_split() -> None:
    empty = _answer(_COLUMNS)
    result = sliced(frame([node()]), splits={"2026-10-14.json": empty}, of=QUERY)
    assert kinds(result) == {UNSPLIT: "1"}


def test_an_answer_without_a_column_is_refused() -> None:
    answer = _answer(("Cost", "ResourceGroup"), [1, "x"])
    with pytest.raises(InputError, match="lacks the column namespace, cluster, servicecategory"):
        slice_split(answer.lazy(), QUERY)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("401", "Azure keeps this query to the portal"),
        ("403", "give the identity that asks the role Cost Management Reader"),
        ("429", "wait as long as the retry-after headers say"),
        ("BadRequest", "ask again, or remove the file"),
    ],
)
def test_an_error_of_azure_is_no_answer(code: str, hint: str) -> None:
    answer = lines(json.dumps({"error": {"code": code, "message": "Request blocked. Sorry"}}))
    with pytest.raises(InputError, match="answered the split query with an error") as caught:
        slice_split(answer.lazy(), QUERY)
    assert caught.value.got == f"{code}: Request blocked. Sorry"
    assert caught.value.hint.startswith(hint)


@pytest.mark.parametrize(
    "text", ['{"properties": {"columns": [', "[1, 2]", '{"blobs": []}', "", '"x"']
)
def test_a_file_that_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        slice_split(lines(text).lazy(), QUERY)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"properties": [1]}', "the properties of an answer"),
        ('{"properties": {"columns": 7, "rows": []}}', "the columns of an answer"),
        ('{"properties": {"columns": ["Cost"], "rows": []}}', "a column of an answer"),
        (QUERY_COLUMNS + '"rows": 7}', "the rows of an answer"),
        (QUERY_COLUMNS + '"rows": [5]}', "a row of an answer"),
        (QUERY_COLUMNS + '"rows": [{"Cost": 1}]}', "a row of an answer"),
        (QUERY_COLUMNS + '"rows": [[1, {"a": 1}, "", ""]]}', "a value of a split answer"),
        ('{"Resources": 5}', "Resources of an answer"),
        ('{"Resources": ["x"]}', "a resource of an answer"),
        ('{"Resources": [{"Splits": 5}]}', "Splits of an answer"),
        ('{"Resources": [{"Splits": [1]}]}', "a split of an answer"),
        ('{"Resources": [{"Splits": [{"SplitKey": "{}"}]}]}', "a SplitKey of an answer"),
    ],
)
def test_an_answer_of_another_form_is_refused(text: str, what: str) -> None:
    with pytest.raises(InputError, match=f"{what} has another form") as caught:
        slice_split(lines(text).lazy(), QUERY)
    assert all((caught.value.expected, caught.value.got, caught.value.hint))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[]", "null"])
def test_a_document_that_is_no_answer_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        slice_split(lines(text).lazy(), QUERY)


def test_a_column_given_twice_is_refused() -> None:
    named = [{"name": name} for name in ("Cost", "cost", "Namespace", "Cluster", "ServiceCategory")]
    answer = lines(json.dumps({"columns": named, "rows": []}))
    with pytest.raises(InputError, match="has twice the column cost"):
        slice_split(answer.lazy(), QUERY)
    table = pl.DataFrame({name: ["x"] for name in (*DAILY, " date")})
    with pytest.raises(InputError, match="has twice the column date"):
        slice_split(table.lazy(), AGENT)


def test_a_list_of_answers_and_a_byte_order_mark_are_read() -> None:
    text = "\n".join(query(HALVES).get_column("line"))
    for written in (f"\ufeff{text}", f"[{text}]"):
        result = sliced(frame([node()]), splits={"2026-10-14.json": lines(written)}, of=QUERY)
        assert kinds(result) == {WORKLOAD: "0.5", IDLE: "0.5"}


@pytest.mark.parametrize("spelled", [CLUSTER.upper(), CLUSTER[1:], f" {CLUSTER}/ "])
def test_a_cluster_is_known_in_all_spellings_of_its_id(spelled: str) -> None:
    answer = query([("1", "shop", "COMPUTE"), ("1", "#Idle Charges#", "compute")], cluster=spelled)
    result = sliced(frame([node()]), splits={"2026-10-14.json": answer}, of=QUERY)
    assert kinds(result) == {WORKLOAD: "0.5", IDLE: "0.5"}


@pytest.mark.parametrize("spelled", [POOL.upper(), POOL[1:], f"{POOL}/"])
def test_a_resource_is_known_in_all_spellings_of_its_id(spelled: str) -> None:
    answer = agent({spelled: [("0.5", "shop", "usage"), ("0.5", "", "idle")]})
    rows = frame([node(resource=f" {spelled}")])
    result = sliced(rows, splits={"2026-10-14.json": answer}, of=AGENT)
    assert kinds(result) == {WORKLOAD: "0.5", IDLE: "0.5"}


def test_a_table_that_is_no_split_is_refused() -> None:
    with pytest.raises(InputError, match="is no split"):
        slice_split(frame([node()]).lazy(), AGENT)


@pytest.mark.parametrize("cost", ['"much"', "true", "null"])
def test_a_cost_that_is_no_number_is_refused(cost: str) -> None:
    with pytest.raises(InputError, match="a cost of a split answer is no number"):
        slice_split(query([(cost, "shop", "Compute")]).lazy(), QUERY)


# ---------------------------------------------------------------- what a query divides


def test_bandwidth_is_never_divided() -> None:
    rows = frame([node(), node(category="Bandwidth", unit="1 GB", cost="9")])
    result = sliced(rows, splits={"2026-10-14.json": query(HALVES)}, of=QUERY)
    assert kinds(result) == {WORKLOAD: "0.5", IDLE: "0.5", ("shared", "network", "network"): "9"}


def test_service_charges_divide_nothing() -> None:
    answer = query([*HALVES, ("100", "#service charges#", "Service")])
    result = sliced(frame([node()]), splits={"2026-10-14.json": answer}, of=QUERY)
    assert kinds(result) == {WORKLOAD: "0.5", IDLE: "0.5"}
    assert findings(result) == []


def test_what_tags_took_is_never_taken_below_nothing() -> None:
    claim = {"kubernetes.io-created-for-pvc-namespace": "shop"}
    rows = frame([disk("pvc-1", cost="5", tags=claim), disk("os", cost="1")])
    answer = query([("2", "shop", "Storage"), ("3", "web", "Storage")])
    result = sliced(rows, splits={"2026-10-14.json": answer}, of=QUERY)
    assert kinds(result, "namespace") == {("shop",): "5", ("web",): "1"}


def test_a_category_the_answer_lacks_is_a_gap() -> None:
    volume = ("unattributed", "unmounted_volume", "storage")
    rows = frame(
        [node(), disk("os", cost="2"), disk("pvc-1", cost="4"), network("loadBalancers/k")]
    )
    result = sliced(rows, splits={"2026-10-14.json": query(HALVES)}, of=QUERY)
    assert kinds(result) == {
        WORKLOAD: "0.5",
        IDLE: "0.5",
        ("unattributed", "split_gap", "storage"): "2",
        ("shared", "load_balancer", "network"): "1",
        volume: "4",
    }


def test_a_category_that_tags_took_whole_is_a_gap() -> None:
    claim = {"kubernetes.io-created-for-pvc-namespace": "shop"}
    rows = frame([disk("pvc-1", tags=claim), disk("os", cost="2")])
    answer = query([("1", "shop", "Storage")])
    result = sliced(rows, splits={"2026-10-14.json": answer}, of=QUERY)
    assert kinds(result) == {
        ("workload", None, "storage"): "1",
        ("unattributed", "split_gap", "storage"): "2",
    }


def test_other_resources_are_not_divided_by_a_query() -> None:
    vault = row(resource=f"{NODE_GROUP}/providers/Microsoft.KeyVault/vaults/v")
    result = sliced(frame([vault]), splits={"2026-10-14.json": query(HALVES)}, of=QUERY)
    assert kinds(result, "reason", "split_source") == {("other", None): "1"}


def test_words_that_no_list_names_are_kept_apart_and_reported() -> None:
    answer = query([*HALVES, ("2", "#new charges#", "Compute"), ("9", "shop", "Databases")])
    result = sliced(frame([node(cost="4")]), splits={"2026-10-14.json": answer}, of=QUERY)
    assert kinds(result, "row_kind", "reason", "provider_class") == {
        ("workload", None, "Virtual Machines"): "1",
        ("idle", "unrequested", "#idle charges#"): "1",
        ("unattributed", "unclassified", "#new charges#"): "2",
    }
    assert result.findings.select("rule", "severity", "where", "actual").rows() == [
        ("unknown_split_bucket", "error", "2026-10-14.json", "#new charges#"),
        ("unknown_split_category", "error", "2026-10-14.json", "Databases"),
    ]


def test_an_answer_in_another_currency_gives_ratios_only() -> None:
    claim = {"kubernetes.io-created-for-pvc-namespace": "shop"}
    rows = frame([disk("pvc-1", cost="1", tags=claim), disk("os", cost="3")])
    # Twice the bill's money: what tags took counts twice too, and leaves shop 1 of 6.
    answer = [("3", "shop", "Storage"), ("5", "#idle charges#", "Storage")]
    result = sliced(rows, splits={"2026-10-14.json": query(answer, "USD")}, of=QUERY)
    assert kinds(result, "row_kind", "split_source") == {
        ("workload", None): "1",
        ("workload", "query"): "0.5",
        ("idle", "query"): "2.5",
    }
    assert result.slices["provider_idle_cost"].null_count() == 3
    assert findings(result) == [("split_currency", "warning")]


def test_money_of_an_answer_for_several_days_stands_on_the_idle_of_those_days() -> None:
    rows = frame([node(14, "1"), node(15, "3")])
    result = sliced(rows, splits={"2026-10-14_2026-10-15.json": query(HALVES)}, of=QUERY)
    idle = result.slices.filter(row_kind="idle").sort("charge_period_start")
    assert [str(cost) for cost in idle["effective_cost"]] == ["0.500000000000", "1.500000000000"]
    assert [str(cost) for cost in idle["provider_idle_cost"]] == [
        "0.250000000000",
        "0.750000000000",
    ]


# ---------------------------------------------------------------- days and files


@pytest.mark.parametrize(
    ("name", "days"),
    [
        ("2026-10-14.json", (14, 14)),
        ("query/20261014.json", (14, 14)),
        ("answer-2026-10-01-to-2026-10-31.json", (1, 31)),
        ("20261001-20261031/answer.json", (1, 31)),
        ("2026-10-14/2026-10-15.json", (15, 15)),
        ("20261001-20261031/2026-10-14/answer.json", (14, 14)),
        ("2026/10/14/answer.json", (14, 14)),
        ("aks/year=2026/month=10/day=14/answer.json", (14, 14)),
        ("2026-10-15/run/answer.json", (15, 15)),
        ("answers/october.json", None),
        ("answers/2026-10.json", None),
        ("run-12026101499.json", None),
        ("2026-13-77.json", None),
    ],
)
def test_the_days_of_a_file_are_in_its_name(name: str, days: tuple[int, int] | None) -> None:
    assert days_in(name) == (days and tuple(dt.date(2026, 10, day) for day in days))


@pytest.mark.parametrize(
    "name", ["2026-10-31_2026-10-01.json", "2026-10-01_2026-10-31_2026-11-02.json"]
)
def test_days_that_cannot_be_told_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="cannot be told from its name"):
        days_in(name)


def test_a_file_without_a_day_is_about_the_whole_month_and_says_so() -> None:
    rows = frame([node(1), node(31)])
    result = sliced(rows, splits={"october.json": query(HALVES)}, of=QUERY)
    assert kinds(result) == {WORKLOAD: "1", IDLE: "1"}
    assert findings(result) == [("split_period_assumed", "warning")]


def test_a_day_without_an_answer_is_unattributed_and_never_idle() -> None:
    rows = frame([node(14), node(15, "2"), network("loadBalancers/k", 15), disk("os", 15)])
    result = sliced(rows, splits={"2026-10-14.json": query(HALVES)}, of=QUERY)
    assert kinds(result) == {
        WORKLOAD: "0.5",
        IDLE: "0.5",
        UNSPLIT: "2",
        ("unattributed", "no_split_source", "storage"): "1",
        ("shared", "load_balancer", "network"): "1",
    }


def test_pages_of_one_answer_belong_together() -> None:
    pages = {"2026-10-14.1.json": query(HALVES[:1]), "2026-10-14.2.json": query(HALVES[1:])}
    result = sliced(frame([node()]), splits=pages, of=QUERY)
    assert kinds(result) == {WORKLOAD: "0.5", IDLE: "0.5"}
    assert findings(result) == []


def test_of_two_answers_for_one_day_the_later_file_counts_whole() -> None:
    later = query([("3", "web", "Compute"), ("1", "#idle charges#", "Compute")])
    answers = {"a/2026-10-14.json": query(HALVES), "b/2026-10-14.json": later}
    result = sliced(frame([node()]), splits=answers, of=QUERY)
    assert kinds(result, "namespace") == {("web",): "0.75", (None,): "0.25"}
    assert result.findings.select("rule", "severity", "where").rows() == [
        ("split_answered_twice", "warning", "a/2026-10-14.json")
    ]


def test_a_day_answered_again_leaves_the_other_days_to_the_answer_of_the_month() -> None:
    answers = {
        "2026-10-01_2026-10-31.json": query(HALVES),
        "2026-10-14.json": query([("3", "shop", "Compute"), ("1", "#idle charges#", "Compute")]),
    }
    result = sliced(frame([node(13), node(14)]), splits=answers, of=QUERY)
    assert _days(result) == {
        ("13", None, "query"): "0.5",
        ("13", "unrequested", "query"): "0.5",
        ("14", None, "query"): "0.75",
        ("14", "unrequested", "query"): "0.25",
    }


def test_the_first_source_that_knows_a_cluster_and_day_divides_it_alone() -> None:
    rows = frame([node(14), node(15), node(16)])
    answers = {
        "query/2026-10-14.json": query(HALVES),
        "agent/2026-10-14.json": agent(USED),
        "agent/2026-10-15.json": agent(USED),
    }
    result = sliced(rows, splits=answers, of=BOTH)
    assert _days(result) == {
        ("14", None, "query"): "0.5",
        ("14", "unrequested", "query"): "0.5",
        ("15", None, "agent"): "0.75",
        ("15", "unrequested", "agent"): "0.25",
        ("16", "no_split_source", None): "1",
    }


def test_the_order_of_the_configuration_decides() -> None:
    answers = {"q/2026-10-14.json": query(HALVES), "a/2026-10-14.json": agent(USED)}
    result = sliced(frame([node()]), splits=answers, of=context(splits=("agent", "query")))
    assert _days(result) == {
        ("14", None, "agent"): "0.75",
        ("14", "unrequested", "agent"): "0.25",
    }


def test_a_source_that_is_not_configured_divides_nothing() -> None:
    result = sliced(frame([node()]), splits={"2026-10-14.json": agent(USED)}, of=QUERY)
    assert kinds(result) == {UNSPLIT: "1"}


# ---------------------------------------------------------------- the agent's answers


def _agent(rows: list[dict[str, object]], answer: pl.DataFrame) -> Sliced:
    return sliced(frame(rows), splits={"2026-10-14.json": answer}, of=AGENT)


def test_what_lies_below_a_node_has_the_fractions_of_the_node() -> None:
    defender = node(cost="4", resource=f"{POOL}/virtualMachines/3", category="Defender")
    result = _agent([node(), defender], agent(USED))
    assert kinds(result) == {WORKLOAD: "3.75", IDLE: "1.25"}


def test_a_replaced_disk_has_the_fractions_of_the_pool_its_tag_names() -> None:
    fractions = {POOL: [("0.5", "shop", "usage"), ("0.3", "", "idle"), ("0.2", "", "system")]}
    swapped = disk("unreadable-name", tags={"aks-managed-poolName": "user"})
    result = _agent([node(), swapped], agent(fractions))
    disks = result.slices.filter(resource_kind="storage").sort("row_kind")
    assert disks.select("row_kind", "provider_class", "effective_cost", "node_pool").rows() == [
        ("idle", "idle", Decimal("0.5"), "user"),
        ("workload", "usage", Decimal("0.5"), "user"),
    ]


def test_a_replaced_disk_has_the_fractions_of_the_scale_set_its_name_begins_with() -> None:
    other = POOL.replace("aks-user-1", "aks-user-12")
    fractions = USED | {other: [("1", "web", "usage")]}
    result = _agent([disk("aks-user-12OS_1", cost="8")], agent(fractions))
    assert kinds(result, "namespace", "node_pool") == {("web", None): "8"}


def test_a_disk_that_nobody_can_place_is_a_gap_and_a_volume_says_so() -> None:
    rows = [node(), disk("data", cost="2"), disk("pvc-9", cost="4")]
    result = _agent(rows, agent(USED))
    assert kinds(result, "reason", "resource_kind", "split_source") == {
        (None, "compute", "agent"): "0.75",
        ("unrequested", "compute", "agent"): "0.25",
        ("split_gap", "storage", "agent"): "2",
        ("unmounted_volume", "storage", None): "4",
    }


def test_a_disk_that_the_agent_names_keeps_its_own_fractions() -> None:
    name = f"{NODE_GROUP}/providers/Microsoft.Compute/disks/pvc-9"
    result = _agent([disk("pvc-9")], agent({name: [("1", "shop", "usage")]}))
    assert kinds(result) == {("workload", None, "storage"): "1"}


def test_other_resources_are_divided_where_the_agent_names_them() -> None:
    vault = f"{NODE_GROUP}/providers/Microsoft.KeyVault/vaults/v"
    rows = [row(resource=vault, cost="2"), row(resource=vault + "2", cost="4"), node()]
    fractions = USED | {vault: [("0.5", "shop", "usage"), ("0.5", "", "idle")]}
    result = _agent(rows, agent(fractions))
    assert kinds(result) == {
        WORKLOAD: "0.75",
        IDLE: "0.25",
        ("workload", None, "other"): "1",
        ("shared", "other", "other"): "5",
    }


def test_fractions_written_with_six_digits_are_normalised() -> None:
    thirds = {POOL: [("0.333333", name, "usage") for name in ("a", "b", "c")]}
    result = _agent([node()], agent(thirds))
    assert sorted(kinds(result, "namespace").values()) == [
        "0.333333333333",
        "0.333333333333",
        "0.333333333334",
    ]
    assert findings(result) == []


def test_fractions_that_leave_something_over_are_a_gap() -> None:
    result = _agent([node()], agent({POOL: [("0.75", "shop", "usage")]}))
    assert kinds(result) == {WORKLOAD: "0.75", GAP: "0.25"}
    assert result.findings.select("rule", "severity", "difference").rows() == [
        ("split_fractions", "warning", "-0.250000000000")
    ]


def test_fractions_above_one_are_scaled_down_and_an_error() -> None:
    result = _agent([node()], agent({POOL: [("1.5", "shop", "usage"), ("0.5", "", "idle")]}))
    assert kinds(result) == {WORKLOAD: "0.75", IDLE: "0.25"}
    assert findings(result) == [("split_fractions", "error")]


def test_a_negative_fraction_counts_as_none_and_is_reported() -> None:
    result = _agent([node()], agent({POOL: [("1", "shop", "usage"), ("-0.5", "", "idle")]}))
    assert kinds(result) == {WORKLOAD: "1"}
    assert findings(result) == [("split_fractions", "error")]


def test_unknown_buckets_and_usage_of_nobody_are_unattributed() -> None:
    answer = agent({POOL: [("0.5", "", "usage"), ("0.5", "", "reserved")]})
    result = _agent([node()], answer)
    assert kinds(result, "reason", "provider_class") == {
        ("unknown_owner", "usage"): "0.5",
        ("unclassified", "reserved"): "0.5",
    }
    assert result.findings.select("rule", "actual").rows() == [("unknown_split_bucket", "reserved")]


def test_labels_of_the_pod_come_before_tags_of_the_node() -> None:
    rows = [node(tags={"team": "node-team", "aks-managed-poolName": "user"})]
    result = _agent(rows, agent(USED))
    shown = result.slices.select("row_kind", "labels").sort("row_kind")
    assert shown.rows() == [("idle", {"team": "node-team"}), ("workload", {"team": "team-shop"})]


def test_keys_of_the_agent_are_read_in_any_case() -> None:
    text = agent(USED)["line"][0]
    for word in ("Resources", "Splits", "Fraction", "SplitKey", "SplitBucket", "ID", "Kind"):
        text = text.replace(f'"{word}"', f'"{word.lower()}"')
    assert kinds(_agent([node()], lines(text))) == {WORKLOAD: "0.75", IDLE: "0.25"}


def _table(*rows: tuple[str, str, str, str]) -> pl.DataFrame:
    cells = [
        (day, POOL, "n", "compute", fraction, bucket, key) for day, fraction, bucket, key in rows
    ]
    columns = list(DAILY)
    return pl.DataFrame(cells, schema=columns, orient="row")


def test_the_daily_table_of_the_agent_is_read_with_its_own_days() -> None:
    shop = '{"namespace":"shop","object_kind":"deployment","object_name":"web"}'
    table = _table(
        ("2026-10-14", "0.750000", "usage", shop),
        ("2026-10-14", "0.249999", "idle", "{}"),
        ("2026-10-15", "1.000000", "idle", ""),
    )
    result = sliced(frame([node(14), node(15)]), splits={"any.csv": table}, of=AGENT)
    shown = kinds(result, "charge_period_start", "row_kind", "workload_name")
    assert {(f"{key[0]:%d}", *key[1:]): amount for key, amount in shown.items()} == {
        ("14", "workload", "web"): "0.750000750001",
        ("14", "idle", None): "0.249999249999",
        ("15", "idle", None): "1",
    }


def test_a_split_key_that_is_no_object_is_refused() -> None:
    with pytest.raises(InputError, match="a SplitKey"):
        slice_split(_table(("2026-10-14", "1", "usage", "shop")).lazy(), AGENT)


def test_the_agent_knows_only_resources_of_configured_clusters() -> None:
    stranger = POOL.replace("rg-shop", "rg-other")
    result = _agent([node()], agent({stranger: [("1", "x", "usage")]}))
    assert kinds(result) == {UNSPLIT: "1"}


def test_a_resource_the_agent_does_not_name_is_a_gap() -> None:
    other = POOL.replace("aks-user-1", "aks-gpu-1")
    result = _agent([node(), node(cost="3", resource=other, tags={})], agent(USED))
    assert kinds(result) == {WORKLOAD: "0.75", IDLE: "0.25", GAP: "3"}


def test_rows_of_split_and_cost_of_both_views_agree() -> None:
    focus_both = context("focus_export", splits=("agent",))
    raw = frame([node(cost="3") | {"billed": "1"}], focus)
    result = sliced(raw, splits={"2026-10-14.json": agent(USED)}, of=focus_both)
    shown = result.slices.sort("row_kind").select("row_kind", "effective_cost", "billed_cost")
    assert [(kind, float(e), float(b)) for kind, e, b in shown.iter_rows()] == [
        ("idle", 0.75, 0.25),
        ("workload", 2.25, 0.75),
    ]


def test_fractions_of_what_is_not_billed_divide_nothing() -> None:
    """Managed system pools run pods on machines that are on nobody's bill."""
    free = POOL.replace("aks-user-1", "aks-system-1")
    result = _agent([node()], agent(USED | {free: [("1", "kube-system", "usage")]}))
    assert kinds(result) == {WORKLOAD: "0.75", IDLE: "0.25"}


def test_a_part_names_the_file_of_the_bill_and_the_file_that_divided_it() -> None:
    result = sliced(frame([node()]), splits={"2026-10-14.json": query(HALVES)}, of=QUERY)
    files = result.slices.get_column("source_file").unique().to_list()
    assert files == ["file-1.csv; 2026-10-14.json"]
