"""A container as a store of files, against a real blob service."""

import gzip
import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from connectors import azure, azure_session, retry, transfer
from connectors.base import ExportSource, Meter, silent
from connectors.blob import CONNECTION, ROLE, BlobStore
from connectors.errors import DeliveryError
from connectors.places import open_store
from connectors.retry import Transient
from tests.services import faults
from tests.services.azurite import KEY, Blobs
from tests.test_connectors_azure import MONTH, PART, contents, run

SECRET = "c2VjcmV0LXRoYXQtd2FzLXBsYW50ZWQ="  # noqa: S105 - opens nothing


@pytest.fixture
def blobs(azurite: Blobs, monkeypatch: pytest.MonkeyPatch) -> Blobs:
    """The blob service, with the environment of a client of it."""
    for name, value in azurite.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.001)
    return azurite


@pytest.fixture
def container(blobs: Blobs, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A container of this test alone."""
    name = hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:20]
    client = blobs.container(name)
    yield client
    client.delete_container()


def source(location: str, **more: Any) -> ExportSource:
    return ExportSource(location, "cost_export", "amortized", **more)


def store(container: Any, prefix: str = "") -> BlobStore:
    return BlobStore(source(f"{container.url}/{prefix}"))


def refusal(call: Any, *arguments: Any) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        call(*arguments)
    error = caught.value
    told = f"{error.what} {error.where} {error.expected} {error.got} {error.hint}"
    assert error.hint
    assert KEY not in told
    assert SECRET not in told
    return error


# ------------------------------------------------------------------------------- listing


def test_every_file_below_the_prefix_is_listed(container: Any) -> None:
    for name in ("p/b.csv", "p/a/x y.csv", "p/.hidden", "p/a/.h/x", "pq/c.csv", "p/ä.csv", "p//z"):
        container.upload_blob(name, b"12345")
    container.upload_blob("p/folder", b"", metadata={"hdi_isfolder": "true"})
    found = store(container, "p").listing()
    assert [file.path for file in found] == ["a/x y.csv", "b.csv", "ä.csv"]
    (_, b, _) = found
    told = container.get_blob_client("p/b.csv").get_blob_properties()
    assert (b.uri, b.size) == (f"{container.url}/p/b.csv", 5)
    assert b.modified == told.last_modified.astimezone(UTC)
    assert f'"{b.etag}"' == told.etag
    assert [file.path for file in store(container, "p/a/").listing()] == ["x y.csv"]
    assert store(container, "nothing").listing() == []


def test_a_listing_has_pages(container: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from azure.storage.blob import ContainerClient

    for number in range(5):
        container.upload_blob(f"{number}.csv", b"1")
    whole = ContainerClient.list_blobs
    monkeypatch.setattr(
        ContainerClient, "list_blobs", lambda *a, **k: whole(*a, **k, results_per_page=2)
    )
    counting = store(container)
    assert [file.path for file in counting.listing()] == [f"{number}.csv" for number in range(5)]
    assert counting.meter.calls == 3


def test_one_file_is_found_by_name_and_by_uri(container: Any) -> None:
    container.upload_blob("p/a.csv", b"1")
    place = store(container, "p")
    (listed,) = place.listing()
    assert place.find("p/a.csv") == place.find(listed.uri) == place.find("/p/a.csv") == listed
    for name in ("a.csv", "p/b.csv", "p/../p/a.csv", "q/a.csv"):
        assert place.find(name) is None


# -------------------------------------------------------------------------------- copies


def test_copies_are_exact_and_parallel(
    container: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "RANGE_BYTES", 1 << 20)
    content = hashlib.shake_256(b"seed").digest(5_000_001)
    container.upload_blob("a.parquet", content)
    container.upload_blob("empty.csv", b"")
    place = store(container)
    for file, expected in zip(place.listing(), (content, b""), strict=True):
        told: list[tuple[str, int, int]] = []
        target = tmp_path / file.path
        sha256 = place.copy(file, target, lambda *seen, told=told: told.append(seen))
        assert target.read_bytes() == expected == place.read(file)
        assert sha256 == hashlib.sha256(expected).hexdigest()
        assert told[-1] == (file.path, len(expected), len(expected))
    assert place.meter.bytes == len(content)


def test_a_file_marked_as_gzip_stays_as_it_is_stored(container: Any, tmp_path: Path) -> None:
    from azure.storage.blob import ContentSettings

    content = gzip.compress(b"Date,Cost\n" * 1000)
    settings = ContentSettings(content_encoding="gzip", content_type="text/csv")
    container.upload_blob("part.csv.gz", content, content_settings=settings)
    place = store(container)
    (file,) = place.listing()
    place.copy(file, tmp_path / "part.csv.gz", silent)
    assert (tmp_path / "part.csv.gz").read_bytes() == content == place.read(file)


def test_a_file_that_changed_is_not_copied(container: Any, tmp_path: Path) -> None:
    container.upload_blob("a.csv", b"old")
    place = store(container)
    (file,) = place.listing()
    container.upload_blob("a.csv", b"new", overwrite=True)
    error = refusal(place.copy, file, tmp_path / "a.csv", silent)
    assert (error.exit_code, error.what) == (3, "the file changed while it was copied")
    container.delete_blob("a.csv")
    error = refusal(place.read, file)
    assert (error.exit_code, error.where) == (3, file.uri)


@pytest.mark.parametrize("seed", range(3))
def test_thirty_percent_of_faults_do_no_harm(
    blobs: Blobs, container: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(transfer, "RANGE_BYTES", 1 << 20)
    monkeypatch.setattr(retry, "_wait", lambda *_: 0.001)
    content = hashlib.shake_256(b"seed").digest(3_000_000)
    container.upload_blob("p/a.csv", content)
    kinds = [kind for kind in faults.KINDS if kind != faults.STALE]
    with faults.running(blobs.endpoint, seed=seed, rate=0.3, kinds=kinds) as proxy:
        location = f"{proxy.endpoint}/{container.container_name}/p"
        place = open_store(source(location, endpoint=proxy.endpoint))
        (file,) = place.listing()
        place.copy(file, tmp_path / "a.csv", silent)
    assert (tmp_path / "a.csv").read_bytes() == content
    assert place.meter.calls < 40


# ------------------------------------------------------------------------------- refusals


def test_no_such_container(blobs: Blobs) -> None:
    error = refusal(BlobStore(source(f"{blobs.endpoint}/nowhere/p")).listing)
    assert (error.exit_code, error.what, error.got) == (2, "no such container", "ContainerNotFound")
    error = refusal(BlobStore, source(blobs.endpoint))
    assert (error.exit_code, error.what) == (2, "the location names no container")


def test_a_wrong_key(blobs: Blobs, container: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONNECTION, blobs.connection_string.replace(KEY, SECRET))
    error = refusal(store(container).listing)
    # Azurite's word for it; Azure's own is AuthenticationFailed.
    assert (error.exit_code, error.got) == (3, "AuthorizationFailure")


@pytest.mark.parametrize("text", ["AccountName=a", f"nonsense {SECRET}", f"AccountKey={SECRET}"])
def test_a_connection_string_that_is_none(
    container: Any, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(CONNECTION, text)
    error = refusal(store, container)
    assert (error.exit_code, error.what) == (2, f"{CONNECTION} cannot be used")


def test_a_token_is_not_sent_over_plain_http(
    blobs: Blobs, container: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CONNECTION)
    error = refusal(store, container)
    assert (error.exit_code, error.what) == (2, "a token is not sent over plain http")


@pytest.mark.parametrize(
    ("host", "refused"),
    [
        ("http://a.example", True),
        ("http://blobs.example:80/a", True),
        ("http://127.0.0.1.a.example", True),
        ("https://a.example", False),
        ("http://127.0.0.1:1/a", False),
        ("http://[::1]:1/a", False),
        ("http://localhost:1/a", False),
    ],
)
@pytest.mark.parametrize("given", [True, False])
def test_a_signature_is_not_sent_over_plain_http(
    monkeypatch: pytest.MonkeyPatch, host: str, refused: bool, given: bool
) -> None:
    signature = f"SharedAccessSignature=sv=2026-10-06&sig={SECRET}"
    monkeypatch.setenv(CONNECTION, f"BlobEndpoint={host};{signature}")
    there = source(f"{host}/c/p", endpoint=host if given else None)
    if not refused:
        assert BlobStore(there).location == f"{host}/c/p"
        return
    error = refusal(BlobStore, there)
    assert (error.exit_code, (error.where or "").rstrip("/")) == (2, host)
    assert error.what == "a token is not sent over plain http"


def test_the_key_of_another_account_is_not_used(
    container: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(
        CONNECTION, f"AccountName=other;AccountKey={SECRET};BlobEndpoint=https://o.example/"
    )
    error = refusal(store, container)
    assert error.what == "a token is not sent over plain http"


def answer(status: int, code: str, **headers: str) -> Any:
    """What the client raises for an answer of this status."""
    from azure.core.exceptions import HttpResponseError

    error = HttpResponseError("a sentence")
    error.status_code = status
    error.error_code = code  # type: ignore[attr-defined]
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    error.response = type("Answer", (), {"headers": named, "status_code": status})()
    return error


@pytest.mark.parametrize(
    ("status", "code", "what", "hint"),
    [
        (403, "AuthorizationPermissionMismatch", "access is denied", f"grant {ROLE}"),
        (403, "AuthorizationFailure", "the storage account lets nobody in like this", "firewall"),
        (
            403,
            "KeyBasedAuthenticationNotPermitted",
            "the storage account takes no keys",
            CONNECTION,
        ),
        (403, "AuthenticationFailed", "the credentials are not accepted", "az login"),
        (401, "", "the credentials are not accepted", "az login"),
        (409, "BlobArchived", "the file lies in an archive", "online access tier"),
        (404, "BlobNotFound", "the file is gone", "wait"),
        (412, "ConditionNotMet", "the file changed while it was copied", "wait"),
        (400, "InvalidUri", "the request was refused", "check"),
    ],
)
def test_what_answers_mean(status: int, code: str, what: str, hint: str) -> None:
    error = azure_session.explained(answer(status, code), "here", ROLE)
    assert isinstance(error, DeliveryError)
    assert (error.exit_code, error.what, error.where) == (3, what, "here")
    assert hint in error.hint


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({}, None),
        ({"Retry_After": "7"}, 7.0),
        ({"x_ms_ratelimit_microsoft.costmanagement_qpu_retry_after": "20", "Retry_After": "5"}, 20),
        ({"x_ms_ratelimit_microsoft.costmanagement_entity_retry_after": "?"}, None),
    ],
)
@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_answers_worth_another_try(status: int, headers: dict[str, str], wait: float) -> None:
    again = azure_session.explained(answer(status, "ServerBusy", **headers), "here", ROLE)
    assert isinstance(again, Transient)
    assert (again.cause, again.wait) == (f"{status} ServerBusy", wait)


def test_calls_are_counted() -> None:
    meter = Meter()
    azure_session.counted(meter)["raw_request_hook"](None)
    assert meter.calls == 1


# ------------------------------------------------------------------------- the connector


def test_an_export_in_a_container_is_fetched_once(
    blobs: Blobs, container: Any, tmp_path: Path
) -> None:
    run(tmp_path / "export", "daily/20261001-20261031/aaaa", "2026-11-02T04:00:00Z")
    run(tmp_path / "export", "daily/20261001-20261031/bbbb", "2026-11-03T04:00:00Z")
    location = blobs.upload(tmp_path / "export", container.container_name, "acme")
    found = azure.discover(source(location), MONTH)
    assert [delivery.provider_run_id for delivery in found] == ["bbbb", "aaaa"]
    receipt = azure.fetch(source(location), found[0], tmp_path / "raw", silent)
    assert [file.name for file in receipt.files] == [PART]
    assert receipt.bytes > 0
    (local, _) = azure.discover(source(str(tmp_path / "export")), MONTH)
    copy = tmp_path / "raw" / MONTH / found[0].id / PART
    assert [copy.read_text()] == contents(local)
    assert azure.fetch(source(location), found[0], tmp_path / "raw", silent) == receipt


def test_files_that_the_listing_lacks_are_asked_for(
    blobs: Blobs, container: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "acme", "aaaa")
    location = blobs.upload(tmp_path / "acme", container.container_name, "acme")
    whole = BlobStore.listing
    monkeypatch.setattr(
        BlobStore,
        "listing",
        lambda self: [file for file in whole(self) if not file.path.endswith(PART)],
    )
    (delivery,) = azure.discover(source(location), MONTH)
    assert [file.path for file in delivery.files] == [f"aaaa/{PART}"]


def test_splits_in_a_container(container: Any) -> None:
    for name in ("splits/2026-10-14.json", "splits/2026-09-30.json", "splits/x.txt"):
        container.upload_blob(name, b"{}")
    delivery = azure.discover_splits(source(f"{container.url}/splits"), MONTH)
    assert delivery is not None
    assert [file.path for file in delivery.files] == ["2026-10-14.json"]
    assert delivery.files[0].modified < datetime.now(UTC)
