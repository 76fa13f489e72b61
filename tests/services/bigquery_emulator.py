"""BigQuery for the truth of an answer: bqemulator, over REST and the Storage API's gRPC."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import duckdb

from tests.services.running import LOOPBACK, answers, free_ports, program, service, wait_until

PROJECT = "billing-project"
EXTENSIONS = ("spatial", "avro")


@dataclass(frozen=True)
class BigQuery:
    """A running BigQuery: the endpoint of its REST API, and host:port of its Storage API."""

    endpoint: str
    storage: str

    def client(self) -> Any:
        """Return a client that needs no credentials."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import bigquery

        return bigquery.Client(
            project=PROJECT,
            credentials=AnonymousCredentials(),  # type: ignore[no-untyped-call]
            client_options={"api_endpoint": self.endpoint},
            location="US",
        )


@contextmanager
def running(folder: Path) -> Iterator[BigQuery]:
    """Run bqemulator with nothing in it; its DuckDB extensions come from installed packages."""
    step = "run `make test`, which installs bqemulator"
    rest, grpc = free_ports(2)
    command = [
        *(program("bqemulator", step), "start", "--project", PROJECT, "--ephemeral"),
        *("--rest-host", LOOPBACK, "--rest-port", str(rest)),
        *("--grpc-host", LOOPBACK, "--grpc-port", str(grpc), "--log-level", "warning"),
    ]
    _install_extensions(folder)
    log = folder / "bqemulator.log"
    endpoint = f"http://{LOOPBACK}:{rest}"
    with service(command, dict(os.environ) | {"HOME": str(folder)}, log, ask=False) as process:
        ready = answers(f"{endpoint}/bigquery/v2/projects/{PROJECT}/datasets", 200)
        wait_until(ready, process, log)
        yield BigQuery(endpoint, f"{LOOPBACK}:{grpc}")


def _install_extensions(home: Path) -> None:
    """Install what bqemulator loads at its start where it looks: below its home."""
    with duckdb.connect() as connection:
        connection.execute(f"SET extension_directory = '{home / '.duckdb' / 'extensions'}'")
        for name in EXTENSIONS:
            package = Path(str(files(f"duckdb_extension_{name}")))
            extension = next(package.rglob(f"{name}.duckdb_extension"))
            connection.execute(f"INSTALL '{extension}'")
