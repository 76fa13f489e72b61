"""The kinds of place that exports lie in, each with a way to put a folder there."""

import base64
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.services import azurite, faults, google, seaweedfs
from tests.services.azurite import Blobs
from tests.services.faults import FaultProxy
from tests.services.gcs import Gcs
from tests.services.seaweedfs import S3

PLACES = ("folder", "s3", "blob", "gcs")
SERVED = PLACES[1:]
"""Places that are asked over a network."""

CONTAINER = "exports"
BROKEN_KEY = "planted-private-key"

_put: dict[tuple[str, Path, str], str] = {}


@dataclass(frozen=True)
class Place:
    """One kind of place.

    put: a folder and a name -> the location it is copied to. server: the address asked; None for
    a folder. secure: the address that wants credentials, where `server` does not. lasting: what
    was put there is still there in the next test. denied: the environment of somebody who may
    read nothing. secrets: what must not be seen anywhere.
    """

    name: str
    put: Callable[[Path, str], str]
    server: str | None = None
    secure: str | None = None
    lasting: bool = True
    denied: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()

    def at(self, folder: Path, name: str, server: str | None = None) -> dict[str, Any]:
        """Return location and endpoint of a source that asks `server` for a copy of `folder`."""
        key = (self.name, folder, name)
        if key not in _put or not self.lasting:
            _put[key] = self.put(folder, name)
        location = _put[key]
        asked = server or self.server
        if self.server and asked:
            location = location.replace(self.server, asked)
        return {"location": location, "endpoint": asked}

    @contextmanager
    def spoiled(
        self, *, seed: int = 0, rate: float = 0.0, kinds: Sequence[str] = faults.KINDS
    ) -> Iterator[FaultProxy]:
        """Run a proxy before the server."""
        assert self.server is not None, f"a {self.name} has no server"
        with faults.running(self.server, seed=seed, rate=rate, kinds=kinds) as proxy:
            yield proxy


@pytest.fixture
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The place that the test's parameter names, with the credentials to read it."""
    match request.param:
        case "s3":
            return _s3(request.getfixturevalue("seaweedfs"), monkeypatch)
        case "blob":
            return _blob(request.getfixturevalue("azurite"), monkeypatch)
        case "gcs":
            return _gcs(request.getfixturevalue("gcs"), monkeypatch)
    return Place("folder", lambda folder, _: str(folder))


def _s3(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Place:
    _set(monkeypatch, s3.env)
    return Place(
        "s3",
        lambda folder, name: s3.upload(folder, CONTAINER, name),
        s3.endpoint,
        denied={"AWS_ACCESS_KEY_ID": seaweedfs.STRANGER},
        secrets=(seaweedfs.SECRET,),
    )


def _blob(blobs: Blobs, monkeypatch: pytest.MonkeyPatch) -> Place:
    _set(monkeypatch, blobs.env)
    wrong = base64.b64encode(b"planted key that opens nothing").decode()
    other = blobs.connection_string.replace(azurite.KEY, wrong)
    return Place(
        "blob",
        lambda folder, name: blobs.upload(folder, CONTAINER, name),
        blobs.endpoint,
        denied={"AZURE_STORAGE_CONNECTION_STRING": other},
        secrets=(azurite.KEY, wrong),
    )


def _gcs(gcs: Gcs, monkeypatch: pytest.MonkeyPatch) -> Place:
    gcs.page = 100
    _set(monkeypatch, gcs.env)
    return Place(
        "gcs",
        lambda folder, name: gcs.upload(folder, CONTAINER, name),
        gcs.endpoint,
        gcs.secure_endpoint,
        lasting=False,
        denied={"GOOGLE_APPLICATION_CREDENTIALS": gcs.account_with(BROKEN_KEY)},
        secrets=(google.TOKEN, BROKEN_KEY, gcs.private_key),
    )


def _set(monkeypatch: pytest.MonkeyPatch, env: Mapping[str, str]) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
