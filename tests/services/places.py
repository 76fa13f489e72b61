"""The kinds of place that exports lie in, each with a way to put a folder there."""

import base64
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.services import azurite, faults, google, seaweedfs
from tests.services.faults import FaultProxy

PLACES = ("folder", "s3", "blob", "gcs")
SERVED = PLACES[1:]
"""Places that are asked over a network."""

CONTAINER = "exports"


@dataclass(frozen=True)
class Place:
    """One kind of place.

    put: a folder and a name -> the location it is copied to. server: the address asked; None for
    a folder. denied: the environment of somebody who may read nothing. secrets: what must not be
    seen anywhere.
    """

    name: str
    put: Callable[[Path, str], str]
    server: str | None = None
    denied: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()

    def at(self, folder: Path, name: str, server: str | None = None) -> dict[str, Any]:
        """Copy a folder there; return location and endpoint of a source that asks `server`."""
        location = self.put(folder, name)
        asked = server or self.server
        if self.server and asked:
            location = location.replace(self.server, asked)
        return {"location": location, "endpoint": asked}

    @contextmanager
    def spoiled(self, *, seed: int = 0, rate: float = 0.0) -> Iterator[FaultProxy]:
        """Run a proxy before the server."""
        assert self.server is not None, f"a {self.name} has no server"
        with faults.running(self.server, seed=seed, rate=rate) as proxy:
            yield proxy


_put: dict[tuple[str, Path, str], str] = {}


def _once(server: str, upload: Callable[[Path, str, str], str]) -> Callable[[Path, str], str]:
    """Return a way to put a folder on a server that stays for the session, once."""

    def put(folder: Path, name: str) -> str:
        key = (server, folder, name)
        if key not in _put:
            _put[key] = upload(folder, CONTAINER, name)
        return _put[key]

    return put


@pytest.fixture
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The place that the test's parameter names, with the credentials to read it."""
    match request.param:
        case "folder":
            return Place("folder", lambda folder, _: str(folder))
        case "s3":
            s3 = request.getfixturevalue("seaweedfs")
            _set(monkeypatch, s3.env)
            denied = {"AWS_ACCESS_KEY_ID": seaweedfs.STRANGER}
            upload = _once(s3.endpoint, s3.upload)
            return Place("s3", upload, s3.endpoint, denied, (seaweedfs.SECRET,))
        case "blob":
            blobs = request.getfixturevalue("azurite")
            _set(monkeypatch, blobs.env)
            wrong = base64.b64encode(b"planted key that opens nothing").decode()
            other = blobs.connection_string.replace(azurite.KEY, wrong)
            upload = _once(blobs.endpoint, blobs.upload)
            denied = {"AZURE_STORAGE_CONNECTION_STRING": other}
            return Place("blob", upload, blobs.endpoint, denied, (azurite.KEY, wrong))
        case "gcs":
            gcs = request.getfixturevalue("gcs")
            gcs.page = 100

            def put(folder: Path, name: str) -> str:
                return str(gcs.upload(folder, CONTAINER, name))

            return Place("gcs", put, gcs.endpoint, secrets=(google.TOKEN,))
    pytest.fail(f"no place named {request.param}")


def _set(monkeypatch: pytest.MonkeyPatch, env: Mapping[str, str]) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
