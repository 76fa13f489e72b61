"""A bucket of Cloud Storage as a store: pages, exact bytes, generations, refusals."""

import gzip
import hashlib
import time
from pathlib import Path

import pytest

from connectors import gcp
from connectors.base import ExportSource
from connectors.errors import DeliveryError
from connectors.gcs import GcsStore
from connectors.places import open_store
from tests.services.gcs import Gcs
from tests.services.google import TOKEN, problem
from tests.services.web import Answer

MONTH = "2026-10"


def source(fake: Gcs, location: str = "gs://acme/export/") -> ExportSource:
    return ExportSource(location, "gke_detailed", endpoint=fake.endpoint)


def put(fake: Gcs, *names: str, content: bytes = b"{}\n") -> None:
    for name in names:
        fake.put("acme", f"export/{name}", content)


def test_every_page_of_a_listing_counts_sorted_and_without_what_is_hidden(gcs: Gcs) -> None:
    names = [f"2026-10-{day:02}/a+b ü&?.json" for day in range(1, 9)]
    put(gcs, *reversed(names), ".hidden.json", "2026-10-01/_x/.y/z.json", "2026-10-01/", "")
    gcs.put("acme", "exported/other.json", b"")
    store = open_store(source(gcs))
    assert isinstance(store, GcsStore)
    files = store.listing()
    assert [file.path for file in files] == names
    assert files[0].uri == f"gs://acme/export/{names[0]}"
    assert (files[0].size, files[0].modified.utcoffset() is not None) == (3, True)
    assert store.meter.calls == len(gcs.calls) > 2
    assert {store.read(file) for file in files} == {b"{}\n"}
    assert store.find(names[0]) is None


def test_a_month_is_fetched_once(gcs: Gcs, tmp_path: Path) -> None:
    put(gcs, "202610/a.json", "202611/a.json")
    packed = gzip.compress(b'{"cost": 1}\n')
    put(gcs, "202610/b.json.gz", content=packed)
    (delivery,) = gcp.discover(source(gcs), MONTH)
    receipt = gcp.fetch(source(gcs), delivery, tmp_path, lambda *_: None)
    assert [(file.name, file.sha256) for file in receipt.files] == [
        ("202610/a.json", hashlib.sha256(b"{}\n").hexdigest()),
        ("202610/b.json.gz", hashlib.sha256(packed).hexdigest()),
    ]
    assert (receipt.calls, receipt.bytes) == (2, 3 + len(packed))
    before = len(gcs.calls)
    assert gcp.fetch(source(gcs), delivery, tmp_path, lambda *_: None) == receipt
    assert len(gcs.calls) == before


def test_large_files_come_in_ranges(
    gcs: Gcs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connectors.transfer.RANGE_BYTES", 1 << 14)
    content = bytes(range(256)) * 200
    put(gcs, "a.json", content=content)
    (file,) = open_store(source(gcs)).listing()
    sha256 = open_store(source(gcs)).copy(file, tmp_path / "copy", lambda *_: None)
    assert (tmp_path / "copy").read_bytes() == content
    assert sha256 == hashlib.sha256(content).hexdigest()
    ranges = sorted(it.headers["range"] for it in gcs.calls if "range" in it.headers)
    assert ranges[:2] == ["bytes=0-16383", "bytes=16384-32767"]
    assert {it.headers["accept-encoding"] for it in gcs.calls if "range" in it.headers} == {"gzip"}


def test_what_is_stored_packed_stays_packed(gcs: Gcs, tmp_path: Path) -> None:
    """Content-Encoding: gzip is how the object lies there, not how it travels."""
    packed = gzip.compress(b"{}\n")
    put(gcs, "a.json.gz", content=packed)
    (file,) = open_store(source(gcs)).listing()
    span = f"bytes 0-{len(packed) - 1}/{len(packed)}"
    headers = {"Content-Encoding": "gzip", "Content-Range": span}
    gcs.then("a.json.gz", Answer(206, packed, headers))
    open_store(source(gcs)).copy(file, tmp_path / "copy", lambda *_: None)
    assert (tmp_path / "copy").read_bytes() == packed


def test_a_file_that_changed_since_it_was_listed_is_not_taken_for_it(
    gcs: Gcs, tmp_path: Path
) -> None:
    put(gcs, "a.json")
    (delivery,) = gcp.discover(source(gcs), MONTH)
    put(gcs, "a.json", content=b"[]\n")
    with pytest.raises(DeliveryError, match="the file changed while it was copied") as caught:
        gcp.fetch(source(gcs), delivery, tmp_path, lambda *_: None)
    assert (caught.value.exit_code, caught.value.where) == (3, "gs://acme/export/a.json")
    assert list((tmp_path / MONTH).glob("[!.]*")) == []


@pytest.mark.parametrize(
    "answer",
    [
        problem(503, "backendError", "later"),
        Answer(429, b"", {"Retry-After": "1"}),
        Answer(200, b"the whole file whatever the range"),
        Answer(206, b"[]\n", {"Content-Range": "bytes 3-5/9"}),
    ],
    ids="503 429 whole other".split(),
)
def test_what_may_pass_is_tried_again(
    gcs: Gcs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer
) -> None:
    monkeypatch.setattr("connectors.retry.FIRST_WAIT", 0.001)
    put(gcs, "a.json")
    (file,) = open_store(source(gcs)).listing()
    gcs.then("a.json", answer, answer)
    store = open_store(source(gcs))
    store.copy(file, tmp_path / "copy", lambda *_: None)
    assert (tmp_path / "copy").read_bytes() == b"{}\n"
    assert (store.meter.retries, store.meter.calls) == (2, 3)


def test_a_listing_that_is_cut_off_is_asked_for_again_after_the_wait(gcs: Gcs) -> None:
    put(gcs, "a.json")
    gcs.then("/o", Answer(200, b'{"items": [{'), problem(429, "x", "slow", Retry_After="1"))
    store, start = open_store(source(gcs)), time.monotonic()
    assert len(store.listing()) == 1
    assert store.meter.retries == 2
    assert time.monotonic() - start >= 1


@pytest.mark.parametrize(
    ("answer", "exit_code", "what", "expected"),
    [
        (
            problem(403, "forbidden", "x does not have storage.objects.list access to the bucket"),
            *(3, "Google denies access", "the permission storage.objects.list"),
        ),
        (problem(403, "forbidden", "no"), 3, "Google denies access", "storage.objects.list"),
        (problem(404, "notFound", "no bucket"), 2, "no such table or bucket", "gs://bucket/prefix"),
        (problem(400, "invalid", "userProject"), 3, "Google refuses the request", "bucket"),
    ],
)
def test_what_stays_is_told(
    gcs: Gcs, answer: Answer, exit_code: int, what: str, expected: str
) -> None:
    gcs.then("/o", *[answer] * 5)
    with pytest.raises(DeliveryError, match=what) as caught:
        gcp.discover(source(gcs), MONTH)
    error = caught.value
    assert (error.exit_code, error.where) == (exit_code, "gs://acme/export/")
    assert expected in error.expected
    assert error.hint
    assert len(gcs.calls) == 1


def test_a_prefix_without_files_is_no_delivery(gcs: Gcs) -> None:
    gcs.put("acme", "elsewhere/a.json", b"")
    with pytest.raises(DeliveryError, match="no delivery of 2026-10") as caught:
        gcp.discover(source(gcs), MONTH)
    assert caught.value.exit_code == 2


def test_a_location_without_bucket() -> None:
    with pytest.raises(DeliveryError, match="the location names no bucket") as caught:
        gcp.discover(ExportSource("gs://", "gke_detailed"), MONTH)
    assert caught.value.exit_code == 2


def test_credentials_sign_over_tls_only(
    gcs: Gcs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in gcs.env.items():
        monkeypatch.setenv(name, value)
    put(gcs, "a.json")
    secure = ExportSource("gs://acme/export", "gke_detailed", endpoint=gcs.secure_endpoint)
    (delivery,) = gcp.discover(secure, MONTH)
    gcp.fetch(secure, delivery, tmp_path, lambda *_: None)
    asked = [it for it in gcs.calls if it.path != "/token"]
    assert {it.headers["authorization"] for it in asked} == {f"Bearer {TOKEN}"}
    gcs.calls.clear()
    gcp.discover(source(gcs), MONTH)
    assert not any("authorization" in it.headers for it in gcs.calls)
