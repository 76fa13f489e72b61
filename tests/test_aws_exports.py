"""What an export is set to hold is read from AWS itself, and what it lacks is told exactly."""

import json
from typing import Any

import pytest

from connectors import aws_exports, retry
from connectors.aws_exports import SPLIT_COLUMNS, ExportSettings, inspect
from connectors.base import ExportSource
from connectors.errors import DeliveryError
from tests.services.aws_control import Control, problem
from tests.services.seaweedfs import SECRET
from tests.services.web import Answer

WHOLE = f"SELECT line_item_resource_id, {', '.join(SPLIT_COLUMNS)} FROM COST_AND_USAGE_REPORT"
ON = {
    "TIME_GRANULARITY": "HOURLY",
    "INCLUDE_RESOURCES": "TRUE",
    "INCLUDE_SPLIT_COST_ALLOCATION_DATA": "TRUE",
}


@pytest.fixture
def control(aws_control: Control, monkeypatch: pytest.MonkeyPatch) -> Control:
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    for name, value in aws_control.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    return aws_control


def add(
    control: Control,
    name: str = "acme",
    query: str = WHOLE,
    prefix: str = "billing",
    **configuration: str,
) -> None:
    where = {"S3Bucket": "costs", "S3Prefix": prefix, "S3Region": "eu-central-1"}
    control.add_export(name, query, {**ON, **configuration}, where)


def inspected(location: str = "s3://costs/billing/acme") -> list[ExportSettings]:
    return inspect(ExportSource(location, "cur2"))


def test_an_export_with_everything_on(control: Control) -> None:
    add(control)
    (found,) = inspected()
    assert (found.name, found.location) == ("acme", "s3://costs/billing/acme")
    assert (found.status, found.granularity) == ("HEALTHY", "HOURLY")
    assert found.has_resource_ids
    assert found.has_split_cost
    assert (found.missing_columns, found.mend) == ((), None)


def test_eleven_columns() -> None:
    assert len(set(SPLIT_COLUMNS)) == 11


@pytest.mark.parametrize("key", ["INCLUDE_RESOURCES", "INCLUDE_SPLIT_COST_ALLOCATION_DATA"])
@pytest.mark.parametrize("value", ["FALSE", "false", ""])
def test_what_is_off_is_told_with_the_configuration_that_mends_it(
    control: Control, key: str, value: str
) -> None:
    add(control, **{key: value})
    (found,) = inspected()
    assert found.has_resource_ids == (key != "INCLUDE_RESOURCES")
    assert found.has_split_cost == (key == "INCLUDE_RESOURCES")
    assert found.mend is not None
    head, query, configurations = found.mend.splitlines()
    assert head == "update the export acme with"
    assert query == f"QUERY: {WHOLE}"
    assert json.loads(configurations.removeprefix("TABLE_CONFIGURATIONS: ")) == {
        "COST_AND_USAGE_REPORT": ON
    }


def test_columns_that_the_query_does_not_name_are_added_to_it(control: Control) -> None:
    query = (
        "SELECT bill_type, split_line_item_split_cost,\n"
        "  Split_Line_Item_Unused_Cost AS unused\nfrom COST_AND_USAGE_REPORT"
    )
    add(control, query=query)
    (found,) = inspected()
    assert len(found.missing_columns) == 9
    assert "split_line_item_net_unused_cost" in found.missing_columns
    assert found.mend is not None
    assert f"AS unused, {', '.join(found.missing_columns)}\nfrom COST_AND" in found.mend


@pytest.mark.parametrize("query", ["SELECT * FROM COST_AND_USAGE_REPORT", "select bill_type, * "])
def test_a_star_names_every_column(control: Control, query: str) -> None:
    add(control, query=query)
    assert inspected()[0].missing_columns == ()


def test_months_alone_are_too_coarse(control: Control) -> None:
    add(control, TIME_GRANULARITY="MONTHLY")
    (found,) = inspected()
    assert found.granularity == "MONTHLY"
    assert '"TIME_GRANULARITY": "HOURLY"' in str(found.mend)


def test_a_daily_export_stays_daily(control: Control) -> None:
    add(control, TIME_GRANULARITY="DAILY")
    assert inspected()[0].mend is None


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("s3://costs/billing/acme/", ["acme"]),
        ("s3://costs/billing/acme/data", ["acme"]),
        ("s3://costs/billing", ["acme", "acme-2", "other"]),
        ("s3://costs", ["acme", "acme-2", "elsewhere", "other"]),
        ("s3://cost", []),
        ("exports/aws", []),
    ],
)
def test_only_the_exports_of_the_location(
    control: Control, location: str, expected: list[str]
) -> None:
    for name in ("other", "acme-2", "acme"):
        add(control, name)
    add(control, "elsewhere", prefix="reports")
    control.add_export("focus", "SELECT x FROM FOCUS", {}, {"S3Bucket": "costs", "S3Prefix": ""})
    for known in control.known.exports.values():
        if known["Name"] == "focus":
            known["DataQuery"]["TableConfigurations"] = {"FOCUS_1_2_AWS": {}}
    assert [found.name for found in inspected(location)] == expected


@pytest.mark.parametrize(
    ("operation", "answer", "what"),
    [
        ("ListExports", problem(400, "AccessDeniedException", "no"), "access is denied"),
        ("GetExport", problem(400, "AccessDeniedException", "no"), "access is denied"),
        (
            "ListExports",
            problem(400, "ExpiredTokenException", "old"),
            "the credentials have expired",
        ),
    ],
)
def test_what_aws_does_not_tell(
    control: Control, operation: str, answer: Answer, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(control)
    whole = control.answer
    monkeypatch.setattr(
        control, "answer", lambda it: answer if control.name_of(it) == operation else whole(it)
    )
    with pytest.raises(DeliveryError, match=what) as caught:
        inspected()
    error = caught.value
    assert error.exit_code == 3
    if what == "access is denied":
        assert error.hint == f"grant {aws_exports.NEEDS}"


@pytest.mark.parametrize(
    "spoiled", [Answer(503), Answer(429, headers={"Retry-After": "0"}), Answer(200, b"{")]
)
def test_what_passes_is_asked_again(
    control: Control, spoiled: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(control)
    whole, calls = control.answer, list[Any]()

    def answer(request: Any) -> Answer:
        calls.append(request)
        return spoiled if len(calls) in (1, 3) else whole(request)

    monkeypatch.setattr(control, "answer", answer)
    assert [found.name for found in inspected()] == ["acme"]
    assert len(calls) == 4
