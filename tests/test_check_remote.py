"""`leerlauf check` of a bucket: reached or not, what its export is set to hold, and the mend."""

import socket
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors import retry
from connectors.aws_exports import SPLIT_COLUMNS
from pipelines import config, doctor
from pipelines.checked import Checked, Examination
from pipelines.show import console
from pipelines.show_setup import examination
from tests.conftest import ROOT
from tests.services.aws_control import Control, problem
from tests.services.seaweedfs import S3, SECRET, STRANGER

MONTH = "2026-10"
NOW = datetime(2026, 11, 6, 12, tzinfo=UTC)
BUCKET = "checked"
EXPORT = ROOT / "fixtures" / "exports" / "aws-example" / "billing" / "acme-example"
WHOLE = f"SELECT line_item_resource_id, {', '.join(SPLIT_COLUMNS)} FROM COST_AND_USAGE_REPORT"
ON = {
    "TIME_GRANULARITY": "HOURLY",
    "INCLUDE_RESOURCES": "TRUE",
    "INCLUDE_SPLIT_COST_ALLOCATION_DATA": "TRUE",
}


@pytest.fixture
def control(aws_control: Control, seaweedfs: S3, monkeypatch: pytest.MonkeyPatch) -> Control:
    """Data Exports, and credentials for it and the bucket."""
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    for name, value in {**seaweedfs.env, **aws_control.env}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    return aws_control


@pytest.fixture
def source(tmp_path: Path, seaweedfs: S3, monkeypatch: pytest.MonkeyPatch) -> str:
    """A [[source]] whose export lies in a bucket."""
    monkeypatch.chdir(tmp_path)
    location = seaweedfs.upload(EXPORT, BUCKET, "billing/acme-example")
    return f"""
[[source]]
id = "aws-example"
provider = "aws"
dataset = "cur2"
location = "{location}"
endpoint = "{seaweedfs.endpoint}"
"""


def examined(text: str) -> Examination:
    """Check a configuration in this folder."""
    Path("leerlauf.toml").write_text(text, encoding="utf-8")
    return doctor.examine(config.load(Path("leerlauf.toml")), MONTH, NOW)


def of(checked: Examination, check: str) -> Checked:
    """Return the answer of one check."""
    (row,) = (row for row in checked.rows if row.check == check)
    return row


def add(control: Control, query: str = WHOLE, **configuration: str) -> None:
    """Let Data Exports know the export."""
    where = {"S3Bucket": BUCKET, "S3Prefix": "billing", "S3Region": "us-east-1"}
    control.add_export("acme-example", query, {**ON, **configuration}, where)


# ---------------------------------------------------------------------------------------------
# Places
# ---------------------------------------------------------------------------------------------


def test_every_answer_about_a_bucket(source: str, control: Control) -> None:
    add(control)
    checked = examined(source)
    assert checked.exit_code == 0
    assert [
        (row.check, row.status, row.actual.split(", ")[0])
        for row in checked.rows
        if row.source and not row.cluster_id and row.check != "delivery"
    ] == [
        ("cost_view", "ok", "effective and billed"),
        ("location", "ok", f"s3://{BUCKET}/billing/acme-example: reached"),
        ("export", "ok", "acme-example: healthy"),
        ("granularity", "ok", "hourly"),
        ("resource_ids", "ok", "on"),
        ("split_cost", "ok", "on"),
        ("files", "ok", "2 files"),
        ("currency", "warning", "USD"),
    ]


def test_credentials_that_may_not_read(
    source: str, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(control)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", STRANGER)
    checked = examined(source)
    row = of(checked, "delivery")
    assert (row.status, row.exit_code, checked.exit_code) == ("error", 3, 3)
    assert row.actual.startswith(f"s3://{BUCKET}/billing/acme-example: access is denied")
    assert "s3:ListBucket" in str(row.hint)
    assert [row.check for row in checked.rows if row.check == "location"] == []
    assert of(checked, "split_cost").status == "ok"
    assert SECRET not in repr(checked)


def test_a_bucket_that_cannot_be_reached(source: str, control: Control) -> None:
    add(control)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{free.getsockname()[1]}"
    lines = [line for line in source.splitlines() if not line.startswith("endpoint")]
    row = of(examined("\n".join([*lines, f'endpoint = "{nowhere}"'])), "delivery")
    assert (row.status, row.exit_code) == ("error", 3)


def test_no_bucket_of_this_name(source: str, control: Control) -> None:
    add(control)
    row = of(examined(source.replace(f"s3://{BUCKET}", "s3://no-such-bucket-here")), "delivery")
    assert (row.status, row.exit_code) == ("error", 2)
    assert "no such bucket" in row.actual


# ---------------------------------------------------------------------------------------------
# Settings
# ---------------------------------------------------------------------------------------------


def test_what_is_off_comes_with_its_mend(source: str, control: Control) -> None:
    add(control, f"SELECT {SPLIT_COLUMNS[0]} FROM COST_AND_USAGE_REPORT", INCLUDE_RESOURCES="FALSE")
    checked = examined(source)
    assert checked.exit_code == 0
    resources, split = of(checked, "resource_ids"), of(checked, "split_cost")
    assert (resources.status, resources.actual) == ("warning", "off")
    assert (split.status, split.actual) == (
        "warning",
        f"on; the query lacks {', '.join(SPLIT_COLUMNS[1:])}",
    )
    whole = f"QUERY: SELECT {', '.join(SPLIT_COLUMNS)} FROM COST_AND_USAGE_REPORT"
    assert whole in str(split.hint).splitlines()
    assert whole in str(resources.hint).splitlines()


def test_the_mend_is_shown_whole(source: str, control: Control) -> None:
    add(control, INCLUDE_SPLIT_COST_ALLOCATION_DATA="FALSE")
    checked = examined(source)
    with (out := console()).capture() as captured:
        out.print(examination(checked))
    shown = "".join(captured.get().split())
    assert "".join(WHOLE.split()) in shown
    assert '"INCLUDE_SPLIT_COST_ALLOCATION_DATA":"TRUE"' in shown


@pytest.mark.parametrize(
    ("granularity", "step"),
    [
        ("DAILY", "set TIME_GRANULARITY to HOURLY: only hours tell when a node was empty"),
        ("MONTHLY", "update the export acme-example with"),
    ],
)
def test_coarser_than_hours(source: str, control: Control, granularity: str, step: str) -> None:
    add(control, TIME_GRANULARITY=granularity)
    row = of(examined(source), "granularity")
    assert (row.status, row.actual) == ("warning", granularity.lower())
    assert str(row.hint).startswith(step)


def test_an_account_that_does_not_know_the_export(source: str, control: Control) -> None:
    row = of(examined(source), "export")
    assert (row.status, row.actual) == (
        "warning",
        f"Data Exports of this account know no export to s3://{BUCKET}/billing/acme-example",
    )
    assert "`role`" in str(row.hint)


def test_settings_that_may_not_be_read_are_no_error(
    source: str, control: Control, monkeypatch: pytest.MonkeyPatch
) -> None:
    denied = problem(400, "AccessDeniedException", "no")
    monkeypatch.setattr(control, "answer", lambda _: denied)
    checked = examined(source)
    row = of(checked, "settings")
    assert (row.status, row.exit_code, checked.exit_code) == ("warning", 0, 0)
    assert "bcm-data-exports:ListExports" in str(row.hint)
    assert of(checked, "files").status == "ok"


def test_settings_of_legacy_exports_are_not_asked_for(source: str, control: Control) -> None:
    examined(source.replace("cur2", "cur_legacy"))
    assert control.calls == []
