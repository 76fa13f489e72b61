"""Rows by the Storage API where it is installed: the same rows, and its own permission."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.cloud.bigquery_storage import BigQueryReadClient
from google.cloud.bigquery_storage_v1 import types
from google.cloud.bigquery_storage_v1.services.big_query_read.transports import (
    BigQueryReadGrpcTransport,
)

from connectors import gcp
from connectors.base import ExportSource
from connectors.billing_table import NEEDED, OPTIONAL
from connectors.errors import DeliveryError
from tests.google_rows import killed_after, of_month, shop
from tests.services.bigquery_rest import LOCATION, BigQueryRest
from tests.services.running import LOOPBACK
from tests.services.web import Answer, Request

MONTH = "2026-10"
SERVICE = "google.cloud.bigquery.storage.v1.BigQueryRead"
STREAMS = ("one", "two")
ROWS = pa.Table.from_pylist(of_month(shop())[:60], shop().schema).select([*NEEDED, *OPTIONAL])
SCHEMA = types.ArrowSchema(serialized_schema=ROWS.schema.serialize().to_pybytes())


class Reader:
    """The two calls of the Storage API, over rows that each stream has a half of."""

    def __init__(self) -> None:
        self.allowed = True

    def create(self, request: Any, context: grpc.ServicerContext) -> Any:
        if not self.allowed:
            context.abort(grpc.StatusCode.PERMISSION_DENIED, "Permission denied")
        streams = [types.ReadStream(name=name) for name in STREAMS]
        return types.ReadSession(
            name="session", arrow_schema=SCHEMA, streams=streams, data_format="ARROW"
        )

    def read(self, request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        half = ROWS.num_rows // 2
        rows = ROWS.slice(STREAMS.index(request.read_stream) * half, half)
        for batch in rows.to_batches(max_chunksize=7):
            packed = types.ArrowRecordBatch(serialized_record_batch=batch.serialize().to_pybytes())
            yield types.ReadRowsResponse(
                arrow_record_batch=packed, row_count=batch.num_rows, arrow_schema=SCHEMA
            )

    @contextmanager
    def serving(self) -> Iterator[str]:
        unary, stream = grpc.unary_unary_rpc_method_handler, grpc.unary_stream_rpc_method_handler
        calls = {
            "CreateReadSession": unary(
                self.create,
                types.CreateReadSessionRequest.deserialize,
                types.ReadSession.serialize,
            ),
            "ReadRows": stream(
                self.read, types.ReadRowsRequest.deserialize, types.ReadRowsResponse.serialize
            ),
        }
        server = grpc.server(ThreadPoolExecutor(4))
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, calls)])
        port = server.add_insecure_port(f"{LOOPBACK}:0")
        server.start()
        try:
            yield f"{LOOPBACK}:{port}"
        finally:
            server.stop(None).wait()


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    """A Storage API that the connector finds."""
    it = Reader()
    with it.serving() as address, grpc.insecure_channel(address) as channel:
        transport = BigQueryReadGrpcTransport(channel=channel)
        client = BigQueryReadClient(transport=transport)  # type: ignore[no-untyped-call]
        monkeypatch.setattr("connectors.bigquery._storage", lambda _: client)
        yield it


@pytest.fixture
def about(bigquery_rest: BigQueryRest, monkeypatch: pytest.MonkeyPatch) -> ExportSource:
    """A source without an endpoint of its own, whose BigQuery is that of the tests."""
    for name, value in bigquery_rest.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("BIGQUERY_EMULATOR_HOST", bigquery_rest.secure_endpoint)
    monkeypatch.setattr(bigquery_rest, "api", with_destination(bigquery_rest))
    bigquery_rest.page = 5
    return ExportSource(LOCATION, "gke_detailed")


def with_destination(fake: BigQueryRest) -> Any:
    """BigQuery says which table it wrote the answer to; that is what the Storage API reads."""
    api = fake.api
    anonymous = {"projectId": "asking-project", "datasetId": "_anon", "tableId": "answer"}

    def answer(request: Request) -> Answer:
        told = api(request)
        if request.path.endswith("/jobs") and told.status == 200:
            told.body["configuration"]["query"]["destinationTable"] = anonymous
        return told

    return answer


def table(fake: BigQueryRest, folder: Path) -> None:
    pq.write_table(ROWS, folder / "rows.parquet")
    fake.table(f"SELECT * FROM '{folder}/rows.parquet'")


# One of Google's packages warns of how the other calls it.
@pytest.mark.filterwarnings("ignore:Retrieving Arrow:PendingDeprecationWarning")
def test_rows_come_by_the_storage_api(
    bigquery_rest: BigQueryRest, reader: Reader, about: ExportSource, tmp_path: Path
) -> None:
    table(bigquery_rest, tmp_path)
    (delivery,) = gcp.discover(about, MONTH)
    receipt = gcp.fetch(about, delivery, tmp_path / "raw", lambda *_: None)
    (file,) = (tmp_path / "raw").rglob("*.parquet")
    got = pq.read_table(file)
    assert sorted(map(repr, got.to_pylist())) == sorted(map(repr, ROWS.to_pylist()))
    assert receipt.bytes > 0
    assert not [it for it in bigquery_rest.calls if it.query.get("pageToken")]


@pytest.mark.filterwarnings("ignore:Retrieving Arrow:PendingDeprecationWarning")
def test_what_came_by_the_storage_api_is_read_again_by_rest_and_not_paid_twice(
    bigquery_rest: BigQueryRest,
    reader: Reader,
    about: ExportSource,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The Storage API promises no order: nobody knows which rows the first page holds."""
    monkeypatch.setattr("connectors.bigquery.FILE_ROWS", 14)
    table(bigquery_rest, tmp_path)
    (delivery,) = gcp.discover(about, MONTH)
    with pytest.raises(KeyboardInterrupt):
        gcp.fetch(about, delivery, tmp_path / "raw", killed_after(4))
    assert len(list((tmp_path / "raw").rglob("*.parquet.[0-9]"))) == 1
    paid = bigquery_rest.billed
    receipt = gcp.fetch(about, delivery, tmp_path / "raw", lambda *_: None)
    files = list((tmp_path / "raw").rglob("*.parquet"))
    got = [repr(row) for file in files for row in pq.read_table(file).to_pylist()]
    unzoned = [row.replace(", tzinfo=zoneinfo.ZoneInfo(key='UTC')", "") for row in got]
    assert sorted(unzoned) == sorted(map(repr, ROWS.to_pylist()))
    assert (bigquery_rest.billed, len(files)) == (paid, len(receipt.files))


def test_the_permission_of_the_storage_api_is_named(
    bigquery_rest: BigQueryRest, reader: Reader, about: ExportSource, tmp_path: Path
) -> None:
    table(bigquery_rest, tmp_path)
    reader.allowed = False
    (delivery,) = gcp.discover(about, MONTH)
    with pytest.raises(DeliveryError, match="Google denies access") as caught:
        gcp.fetch(about, delivery, tmp_path / "raw", lambda *_: None)
    assert caught.value.expected == "the permission bigquery.readsessions.create"
    assert "roles/bigquery.readSessionUser" in caught.value.hint
    assert list((tmp_path / "raw" / MONTH).glob("[!.]*")) == []


def test_without_the_storage_api_rows_come_by_rest(
    bigquery_rest: BigQueryRest,
    about: ExportSource,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table(bigquery_rest, tmp_path)
    monkeypatch.setitem(sys.modules, "google.cloud.bigquery_storage", None)
    (delivery,) = gcp.discover(about, MONTH)
    gcp.fetch(about, delivery, tmp_path / "raw", lambda *_: None)
    (file,) = (tmp_path / "raw").rglob("*.parquet")
    assert pq.read_metadata(file).num_rows == ROWS.num_rows
    assert [it for it in bigquery_rest.calls if it.query.get("pageToken")]
