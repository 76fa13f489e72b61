"""A real blob service: Azurite, on the Node of the environment."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.services.running import LOOPBACK, answers, free_ports, program, service, wait_until

STEP = "run `make test`, which installs it from tests/services/package-lock.json"
MAIN = Path(sys.prefix, "azurite", "node_modules", "azurite", "dist", "src", "blob", "main.js")
ACCOUNT = "devstoreaccount1"
# The key that every Azurite knows; it opens nothing else.
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@dataclass(frozen=True)
class Blobs:
    """A running blob service: the URL of its account, and what its owner does with the SDK."""

    endpoint: str

    @property
    def connection_string(self) -> str:
        """What AZURE_STORAGE_CONNECTION_STRING holds."""
        return (
            f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={KEY};"
            f"BlobEndpoint={self.endpoint};"
        )

    @property
    def env(self) -> dict[str, str]:
        """Environment of a client."""
        return {"AZURE_STORAGE_CONNECTION_STRING": self.connection_string}

    def container(self, name: str) -> Any:
        """Make the container unless it is there, and return a client of it."""
        from azure.core.exceptions import ResourceExistsError
        from azure.storage.blob import BlobServiceClient

        service_client = BlobServiceClient.from_connection_string(self.connection_string)
        with suppress(ResourceExistsError):
            service_client.create_container(name)
        return service_client.get_container_client(name)

    def upload(self, folder: Path, container: str, prefix: str) -> str:
        """Copy a folder to the container; return its URL."""
        client = self.container(container)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = f"{prefix}/{path.relative_to(folder).as_posix()}"
            client.upload_blob(name, path.read_bytes(), overwrite=True)
        return f"{self.endpoint}/{container}/{prefix}"


@contextmanager
def running(folder: Path) -> Iterator[Blobs]:
    """Run Azurite's blob service with its data in `folder`."""
    if not MAIN.exists():
        pytest.fail(f"Azurite is not installed: {STEP}")
    (port,) = free_ports(1)
    command = [
        *(program("node", STEP), str(MAIN), "--silent", "--disableTelemetry"),
        *("--skipApiVersionCheck", "--location", str(folder)),
        *("--blobHost", LOOPBACK, "--blobPort", str(port)),
    ]
    log = folder / "azurite.log"
    with service(command, dict(os.environ), log, ask=False) as process:
        # Nobody may list the account without a key: that it says so means that it is up.
        wait_until(answers(f"http://{LOOPBACK}:{port}/{ACCOUNT}?comp=list", 403), process, log)
        yield Blobs(f"http://{LOOPBACK}:{port}/{ACCOUNT}")
