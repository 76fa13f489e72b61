"""Starting programs the tests need, waiting until they answer, and stopping them."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

LOOPBACK = "127.0.0.1"
STOP_SECONDS = 20


@contextmanager
def service(
    command: list[str], env: dict[str, str], log: Path, *, ask: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command until the block ends: asked to stop, and killed where it does not.

    ask: False kills it at once; what it holds is thrown away anyway.
    """
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
            for sent in (signal.SIGTERM, signal.SIGKILL) if ask else (signal.SIGKILL,):
                if process.poll() is None:
                    os.killpg(process.pid, sent)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    continue
                break


def free_ports(number: int) -> list[int]:
    """Return ports nobody listens on, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(number)]
        for listener in sockets:
            listener.bind((LOOPBACK, 0))
        return [listener.getsockname()[1] for listener in sockets]


def program(name: str, step: str) -> str:
    """Return the path of a program, the environment's own first; fail with the step if missing."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    found = shutil.which(name, path=path)
    if found is None:
        pytest.fail(f"{name} is not installed: {step}")
    return found


def wait_until(
    answers: Callable[[], bool], process: subprocess.Popen[bytes], log: Path, seconds: float = 120
) -> None:
    """Wait until the process answers; fail with the end of its log where it does not."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        if answers():
            return
        time.sleep(0.1)
    tail = log.read_text(encoding="utf-8", errors="replace")[-4000:]
    pytest.fail(f"{process.args!r} does not answer\n{tail}")


def answers(url: str, *statuses: int) -> Callable[[], bool]:
    """Return a function that asks whether the URL answers with one of these statuses."""

    def asked() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=5) as response:
                return response.status in statuses
        except urllib.error.HTTPError as error:
            with error:
                return error.code in statuses
        except OSError:
            return False

    return asked
