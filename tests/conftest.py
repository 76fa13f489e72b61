"""What several tests share: the root of the checkout and one real Prefect server."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 180
STOP_SECONDS = 20


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the terminal somebody works in out of what the tests compare."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def service(
    command: list[str], env: dict[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command until the block ends: asked to stop, and killed where it does not."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            for sent in (signal.SIGTERM, signal.SIGKILL):
                if process.poll() is None:
                    os.killpg(process.pid, sent)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
                break


@pytest.fixture(scope="session")
def prefect_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a client of the tests' own Prefect server."""
    folder = tmp_path_factory.mktemp("prefect")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
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
        _wait_until_healthy(server, env["PREFECT_API_URL"], folder / "server.log")
        yield env


def prefect(*arguments: str) -> list[str]:
    """Return the command line of Prefect in this environment."""
    return [sys.executable, "-m", "prefect", *arguments]


def _wait_until_healthy(server: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    pytest.fail(f"the Prefect server does not answer\n{log.read_text(errors='replace')[-4000:]}")
