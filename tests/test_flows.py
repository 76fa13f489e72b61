"""The flow runs a month under a real Prefect server, deployed as prefect.yaml says."""

import json
import shutil
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from connectors.errors import DeliveryError
from pipelines import demo
from pipelines.errors import ConfigurationError, LakeError
from pipelines.lake import Lake
from pipelines.providers import PROVIDERS
from tests.conftest import ROOT, prefect
from tests.services.running import service

pytestmark = [pytest.mark.server, pytest.mark.xdist_group("prefect")]

DEPLOYMENT = "monthly-chargeback/monthly"


def call(command: list[str], env: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in `folder` and return what it said."""
    return subprocess.run(
        command,
        env=env,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )


def ask(env: dict[str, str], path: str) -> Any:
    """Ask the server for all of something."""
    request = urllib.request.Request(
        f"{env['PREFECT_API_URL']}/{path}/filter",
        data=b"{}",
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


@pytest.fixture(autouse=True)
def _no_home_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep Prefect, imported here, from making a folder in somebody's home."""
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path / "prefect"))
    monkeypatch.setenv("DO_NOT_TRACK", "1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of somebody's own, with the demo's configuration in it."""
    return demo.prepare(tmp_path / "somewhere").parent


def test_the_deployment_of_prefect_yaml_runs_a_month(
    prefect_env: dict[str, str], folder: Path
) -> None:
    shutil.copy(ROOT / "prefect.yaml", folder)
    for arguments in (
        ("work-pool", "create", "local", "--type", "process"),
        ("--no-prompt", "deploy", "--all"),
    ):
        done = call(prefect(*arguments), prefect_env, folder)
        assert done.returncode == 0, done.stdout
    (deployed,) = ask(prefect_env, "deployments")
    assert deployed["entrypoint"] == "pipelines.flows.monthly_chargeback"
    assert deployed["parameters"] == {}
    (schedule,) = [one["schedule"] for one in deployed["schedules"] if one["active"]]
    assert (schedule["cron"], schedule["timezone"]) == ("0 6 6 * *", "UTC")
    worker = prefect("worker", "start", "--pool", "local", "--type", "process")
    with service(worker, prefect_env, folder / "worker.log"):
        command = prefect("deployment", "run", DEPLOYMENT, "--watch", "-p", "month=2026-10")
        done = call(command, prefect_env, folder)
    assert done.returncode == 0, done.stdout + (folder / "worker.log").read_text()
    record = Lake(folder / "lake").newest("2026-10")
    assert record.published
    assert {one.provider for one in record.inputs} == set(PROVIDERS)


def test_a_month_without_delivery_fails_at_once_and_says_why(
    prefect_env: dict[str, str], folder: Path
) -> None:
    code = "from pipelines.flows import monthly_chargeback as f; f(month='2026-08')"
    done = call([sys.executable, "-c", code], prefect_env, folder)
    assert done.returncode == 1
    assert "no delivery of 2026-08" in done.stdout
    assert "hint: copy the export of that month here" in done.stdout
    failed = [run for run in ask(prefect_env, "task_runs") if run["state_type"] == "FAILED"]
    assert [run["run_count"] for run in failed] == [1]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError(5, "input/output error"), True),
        (LakeError("another run holds the lake"), True),
        (DeliveryError("the file changed while it was copied", exit_code=3), True),
        (DeliveryError("no delivery of 2026-08", exit_code=2), False),
        (ConfigurationError("unknown key"), False),
        (RuntimeError("the books do not balance"), False),
    ],
)
def test_only_what_may_pass_is_tried_again(error: Exception, expected: bool) -> None:
    from prefect.states import Failed

    from pipelines import flows

    assert flows.may_pass(None, None, Failed(data=error)) is expected


@pytest.mark.parametrize(
    ("day", "month"),
    [("2026-11-06", "2026-10"), ("2026-01-31", "2025-12"), ("2026-03-01", "2026-02")],
)
def test_the_month_before(day: str, month: str) -> None:
    from pipelines import flows

    assert flows.month_before(datetime.fromisoformat(day).replace(tzinfo=UTC)) == month
