"""What several tests share: the root of the checkout and one real Prefect server."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.running import answers, free_ports, service, wait_until

pytest_plugins = ("tests.services.fixtures", "tests.services.places")

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 180


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the terminal somebody works in out of what the tests compare."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def prefect_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a client of the tests' own Prefect server."""
    folder = tmp_path_factory.mktemp("prefect")
    port = str(free_ports(1)[0])
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PREFECT_")}
    env = inherited | {
        "DO_NOT_TRACK": "1",
        "NO_COLOR": "1",
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_CLI_PROMPT": "false",
        "PREFECT_HOME": str(folder),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PYTHONPATH": str(ROOT),
    }
    command = [*prefect("server", "start", "--host", "127.0.0.1", "--port", port, "--no-ui")]
    with service(command, env, folder / "server.log") as server:
        health = answers(f"{env['PREFECT_API_URL']}/health", 200)
        wait_until(health, server, folder / "server.log", START_SECONDS)
        yield env


def prefect(*arguments: str) -> list[str]:
    """Return the command line of Prefect in this environment."""
    return [sys.executable, "-m", "prefect", *arguments]
