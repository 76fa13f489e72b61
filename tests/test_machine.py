"""The JSON objects: keys, text with twelve decimals, null where nobody knows."""

import json
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from pipelines import machine, reference
from pipelines.config import SYSTEM_NAMESPACES
from pipelines.errors import ConfigurationError
from pipelines.objects import OBJECTS, Line
from pipelines.reading import Month
from tests.ledger_cases import SHOP, idle, workload
from tests.small_month import DARK, month_of, small_month
from transforms.schema import CLUSTER_KINDS, TABLES

ZERO = "0.000000000000"


@pytest.fixture(scope="module")
def month() -> Month:
    """The small month."""
    return small_month()


def printed(model: Any) -> Any:
    """Return what a program reads of what was printed."""
    return json.loads(json.dumps(model.model_dump(mode="json")))


# ---------------------------------------------------------------------------------------------
# A month
# ---------------------------------------------------------------------------------------------


def test_the_head_and_the_clusters(month: Month) -> None:
    result = printed(machine.result(month))
    assert list(result) == [
        "billing_period",
        "status",
        "month_status",
        "cost_view",
        "charge_basis",
        "clusters",
        "outside",
        "teams",
        "reconciliation",
        "findings",
    ]
    assert {key: result[key] for key in list(result)[:5]} == {
        "billing_period": "2026-10",
        "status": "ok",
        "month_status": "provisional",
        "cost_view": "effective",
        "charge_basis": "provider",
    }
    assert result["clusters"] == [
        {
            "provider": "aws",
            "cluster_id": DARK,
            "cluster_name": None,
            "billing_currency": "JPY",
            "bill": "1234567.000000000000",
            "idle_ratio": None,
            "workload": None,
            "idle": None,
            "headroom": None,
            "system_overhead": ZERO,
            "cluster_fee": ZERO,
            "shared": ZERO,
            "unattributed": "1234567.000000000000",
        },
        {
            "provider": "aws",
            "cluster_id": SHOP,
            "cluster_name": "shop",
            "billing_currency": "USD",
            "bill": "80.155000000000",
            "idle_ratio": "0.318922749823",
            "workload": "4.505000000000",
            "idle": "2.250000000000",
            "headroom": "0.100000000000",
            "system_overhead": "0.200000000000",
            "cluster_fee": "73.000000000000",
            "shared": "-0.300000000000",
            "unattributed": "0.400000000000",
        },
    ]
    assert result["outside"] == [
        {
            "provider": "aws",
            "reason": "discount",
            "billing_currency": "USD",
            "amount": "-0.250000000000",
        },
        {
            "provider": "aws",
            "reason": "tax",
            "billing_currency": "USD",
            "amount": "15.500000000000",
        },
    ]


def test_a_team_has_its_kinds_and_its_total(month: Month) -> None:
    teams = printed(machine.result(month))["teams"]
    assert [team["team"] for team in teams] == [None, "payments", "platform", "search", None]
    assert teams[1] == {
        "team": "payments",
        "provider": "aws",
        "cluster_id": SHOP,
        "billing_currency": "USD",
        "workload": "3.005000000000",
        "idle": "1.688202247191",
        "headroom": "0.075031210986",
        "system_overhead": ZERO,
        "cluster_fee": ZERO,
        "shared": ZERO,
        "unattributed": ZERO,
        "corrections": ZERO,
        "total": "4.768233458177",
    }


def test_a_comparison_has_each_team_once_per_method(month: Month) -> None:
    teams = printed(machine.comparison(month))["teams"]
    payments = [team for team in teams if team["team"] == "payments"]
    assert [(team["method"], team["by"], team["idle"], team["total"]) for team in payments] == [
        ("even", None, "0.750000000001", "3.788333333335"),
        ("none", None, ZERO, "3.005000000000"),
        ("proportional", "resource", "1.688202247191", "4.768233458177"),
        ("proportional", "total", "1.500832408435", "4.572536071032"),
    ]
    assert set(payments[0]) == set(printed(machine.result(month))["teams"][1]) | {"method", "by"}


def test_a_bridge_leads_from_the_providers_idle_to_ours(month: Month) -> None:
    assert printed(machine.result(month))["reconciliation"] == [
        {
            "provider": "aws",
            "cluster_id": SHOP,
            "billing_currency": "USD",
            "resource_kind": "cpu",
            "provider_class": "unused_cost",
            "provider_idle": "2.000000000000",
            "lines": [
                {"name": "node_reserve", "amount": ZERO},
                {"name": "policy_headroom", "amount": ZERO},
                {"name": "usage_above_request", "amount": ZERO},
                {"name": "over_allocation", "amount": ZERO},
                {"name": "empty_nodes", "amount": "0.250000000000"},
                {"name": "not_time_based", "amount": ZERO},
                {"name": "rebased", "amount": ZERO},
            ],
            "idle": "2.250000000000",
        }
    ]


def test_bridges_are_summed_over_nodes() -> None:
    nodes = [idle("1.5", node_name=name, resource_id=name) for name in ("a", "b")]
    rows = [workload("x", "1", node_name=name, provider_idle_cost=Decimal("1.5")) for name in "ab"]
    bridges = printed(machine.result(month_of([*nodes, *rows])))["reconciliation"]
    assert [(bridge["provider_idle"], bridge["idle"]) for bridge in bridges] == [
        ("3.000000000000", "3.000000000000")
    ]


def test_findings_are_printed_worst_first() -> None:
    told = {"billing_period": "2026-10", "provider": "aws", "where": "here", "hint": "do this"}
    findings = [
        told | {"rule": rule, "severity": severity}
        for rule, severity in (("a", "info"), ("z", "error"), ("m", "warning"))
    ]
    result = printed(machine.result(month_of([workload("x", "1")], findings=findings)))
    shown = [f for f in result["findings"] if f["where"] == "here"]
    assert result["status"] == "findings"
    assert [(finding["rule"], finding["severity"]) for finding in shown] == [
        ("z", "error"),
        ("m", "warning"),
        ("a", "info"),
    ]
    assert list(shown[0]) == TABLES["findings"]
    assert shown[0]["expected"] is None


def test_a_month_has_one_key_for_each_row_kind(month: Month) -> None:
    result = printed(machine.result(month))
    for row in (*result["clusters"], *result["teams"]):
        assert [key for key in row if key in CLUSTER_KINDS] == list(CLUSTER_KINDS)
        assert "outside" not in row


@pytest.mark.parametrize(
    ("amount", "written"),
    [
        (Decimal("0E-12"), ZERO),
        (Decimal("-1E-12"), "-0.000000000001"),
        (Decimal("9" * 26 + "." + "9" * 12), "9" * 26 + "." + "9" * 12),
        (0.1, "0.100000000000"),
    ],
)
def test_amounts_are_written_out(amount: object, written: str) -> None:
    assert Line.model_validate({"name": "idle", "amount": amount}).amount == written


# ---------------------------------------------------------------------------------------------
# The other objects
# ---------------------------------------------------------------------------------------------


def test_a_failed_month_has_every_key_and_no_figure() -> None:
    finding = dict.fromkeys(TABLES["findings"]) | {"rule": "lake", "severity": "error"}
    assert printed(machine.failed("run", "2026-10", [finding])) == {
        "billing_period": "2026-10",
        "status": "failed",
        "month_status": None,
        "cost_view": None,
        "charge_basis": None,
        "clusters": [],
        "outside": [],
        "teams": [],
        "reconciliation": [],
        "findings": [finding],
    }


def test_a_failed_question_has_no_rows() -> None:
    assert printed(machine.failed("sql", None, [])) == {
        "billing_period": None,
        "status": "failed",
        "rows": [],
        "findings": [],
    }


def test_an_unpublished_month_says_why(month: Month) -> None:
    broken = {
        **dict.fromkeys(TABLES["findings"]),
        "billing_period": "2026-10",
        "rule": "promise_2_clusters_add_up",
        "severity": "error",
    }
    record = month.record.model_copy(update={"status": "failed"})
    result = printed(machine.unpublished(record, [broken]))
    assert (result["status"], result["month_status"], result["clusters"]) == (
        "failed",
        "provisional",
        [],
    )
    assert result["findings"] == [broken]


VALUES: list[tuple[object, object]] = [
    (None, None),
    (True, True),
    (7, 7),
    (0.5, 0.5),
    (float("nan"), "nan"),
    (Decimal("0E-12"), ZERO),
    (Decimal("1.10"), "1.10"),
    ("\x1b[31m", "\x1b[31m"),
    (date(2026, 10, 1), "2026-10-01"),
    (datetime(2026, 10, 1, 12, 30), "2026-10-01 12:30:00"),  # noqa: DTZ001 as DuckDB returns it
    (timedelta(hours=1), "1:00:00"),
    ({"a": [Decimal(1), (None,)]}, {"a": ["1", [None]]}),
]


@pytest.mark.parametrize(("value", "expected"), VALUES, ids=[repr(pair[0]) for pair in VALUES])
def test_values_of_sql_keep_their_digits(value: object, expected: object) -> None:
    assert printed(machine.answer([{"x": value}])) == {
        "billing_period": None,
        "rows": [{"x": expected}],
    }


def test_methods_speak_for_themselves() -> None:
    rows = printed(machine.methods(reference.methods()))["rows"]
    assert [row["method"] for row in rows] == ["even", "fixed", "metric", "none", "proportional"]
    assert rows[0] == {
        "method": "even",
        "does": "every participant carries the same part.",
        "use_it_when": "the cost is there for everyone alike, whatever their size",
        "unfair_when": "teams differ much in size: the smallest pays as much as the largest",
    }


def test_the_schema_lists_every_column() -> None:
    schema = printed(machine.schema(reference.columns(), SYSTEM_NAMESPACES))
    listed = [(row["table"], row["column"]) for row in schema["rows"]]
    assert listed == [(table, name) for table, names in TABLES.items() for name in names]
    assert schema["rows"][0] == {
        "table": "normalised",
        "column": "billing_period",
        "type": "VARCHAR",
        "unit": None,
        "meaning": "the provider's billing period, YYYY-MM",
    }
    assert "kube-system" in schema["system_namespaces"]


# ---------------------------------------------------------------------------------------------
# JSON Schema
# ---------------------------------------------------------------------------------------------


def test_a_json_schema_names_the_keys_that_are_printed(month: Month) -> None:
    schema = machine.json_schema("compare")
    result = printed(machine.comparison(month))
    assert list(schema["properties"]) == list(result)
    assert list(schema["$defs"]["ComparedTeam"]["properties"]) == list(result["teams"][0])
    assert list(schema["$defs"]["Bridge"]["properties"]) == list(result["reconciliation"][0])


@pytest.mark.parametrize("command", OBJECTS)
def test_every_command_has_a_json_schema(command: str) -> None:
    assert json.dumps(machine.json_schema(command))


def test_a_command_that_is_not_there_has_none() -> None:
    with pytest.raises(ConfigurationError, match="no such command"):
        machine.json_schema("invoice")
