"""AWS exports are read from a bucket: a real S3 with signatures, pages, roles and ranges."""

import hashlib
import io
import json
import random
import signal
import socket
import subprocess
import sys
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from connectors import aws, aws_session, raw, retry, transfer
from connectors.base import Delivery, ExportSource, Receipt, RemoteFile, Store, silent
from connectors.errors import DeliveryError
from connectors.places import open_store
from connectors.retry import Transient
from tests.conftest import ROOT
from tests.services import faults
from tests.services.seaweedfs import KEY, ROLE, S3, SECRET, STRANGER

MONTH = "2026-10"
PERIOD = f"BILLING_PERIOD={MONTH}"
BUCKET = "acme"
CHUNKS = [f"acme-0000{n}.snappy.parquet" for n in (1, 2, 3)]

_numbers = iter(range(1000))


@pytest.fixture
def s3(seaweedfs: S3, monkeypatch: pytest.MonkeyPatch) -> S3:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in seaweedfs.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.01)
    seaweedfs.bucket(BUCKET)
    return seaweedfs


@pytest.fixture
def prefix(s3: S3) -> str:
    """A folder of this test's own."""
    return f"exports-{next(_numbers)}/acme"


def put(s3: S3, key: str, content: bytes | str) -> None:
    body = content.encode() if isinstance(content, str) else content
    s3.client().put_object(Bucket=BUCKET, Key=key, Body=body)


def export(s3: S3, prefix: str, *chunks: str, left: tuple[str, ...] = ()) -> ExportSource:
    """Deliver an export as AWS does, the manifest last."""
    for name in (*chunks, *left):
        put(s3, f"{prefix}/data/{PERIOD}/{name}", f"rows of {name}")
    deliver(s3, prefix, *chunks)
    return source(s3, prefix)


def deliver(s3: S3, prefix: str, *chunks: str) -> None:
    names = [f"s3://{BUCKET}/{prefix}/data/{PERIOD}/{name}" for name in chunks]
    text = json.dumps({"executionId": "run-1", "dataFiles": names})
    put(s3, f"{prefix}/metadata/{PERIOD}/acme-Manifest.json", text)


def source(s3: S3, prefix: str, **more: Any) -> ExportSource:
    return ExportSource(f"s3://{BUCKET}/{prefix}", "cur2", endpoint=s3.endpoint, **more)


def fetched(where: ExportSource, into: Path) -> tuple[Receipt, Path]:
    delivery = aws.discover(where, MONTH)[0]
    return aws.fetch(where, delivery, into, silent), raw.folder(delivery, into)


def refusal(where: ExportSource) -> DeliveryError:
    with pytest.raises(DeliveryError) as caught:
        aws.discover(where, MONTH)
    error = caught.value
    told = f"{error.what} {error.where} {error.expected} {error.got} {error.hint}"
    assert error.hint
    assert SECRET not in told
    assert KEY not in told
    return error


# --------------------------------------------------------------------------- the delivery


@pytest.mark.parametrize("below", ["", "/", "/data", "/data/"])
def test_the_manifest_alone_says_which_chunks_count(
    s3: S3, prefix: str, tmp_path: Path, below: str
) -> None:
    export(s3, prefix, *CHUNKS[:2], left=(CHUNKS[2],))
    put(s3, f"{prefix}-other/data/{PERIOD}/x.csv", "another export")
    receipt, folder = fetched(source(s3, f"{prefix}{below}"), tmp_path)
    assert [file.name for file in receipt.files] == CHUNKS[:2]
    assert [(folder / name).read_text() for name in CHUNKS[:2]] == [
        f"rows of {name}" for name in CHUNKS[:2]
    ]
    assert receipt.files[0].uri == f"s3://{BUCKET}/{prefix}/data/{PERIOD}/{CHUNKS[0]}"
    assert receipt.provider_run_id == "run-1"
    assert (receipt.calls, receipt.retries) == (3, 0)
    assert receipt.bytes == sum(file.size for file in (*receipt.files, receipt.manifest) if file)


def test_an_unchanged_delivery_is_not_fetched_again(s3: S3, prefix: str, tmp_path: Path) -> None:
    where = export(s3, prefix, *CHUNKS)
    first, _ = fetched(where, tmp_path)
    with faults.running(s3.endpoint) as proxy:
        again, _ = fetched(ExportSource(where.location, "cur2", endpoint=proxy.endpoint), tmp_path)
        asked = [line for line in proxy.requests if CHUNKS[0] in line]
    assert (again, asked) == (first, [])


def test_a_listing_comes_in_pages(s3: S3, prefix: str) -> None:
    names = [f"{n:02}.csv" for n in range(7)]
    for name in names:
        put(s3, f"{prefix}/{name}", name)
    store: Any = open_store(source(s3, prefix))
    whole = store._client.list_objects_v2
    store._client.list_objects_v2 = lambda **asked: whole(MaxKeys=3, **asked)
    assert [file.path for file in store.listing()] == names
    assert store.meter.calls == 3


def test_keys_that_are_no_paths_are_no_files(s3: S3, prefix: str) -> None:
    store: Any = open_store(source(s3, prefix))
    told = {"Size": 1, "LastModified": datetime.now(UTC), "ETag": '"x"'}
    keys = ["a.csv", "", "b/", "../c.csv", "/etc/d.csv", "e//f.csv", ".g.csv", "h/./i.csv"]
    page = {"Contents": [{"Key": f"{prefix}/{key}", **told} for key in keys], "IsTruncated": False}
    store._client.list_objects_v2 = lambda **_: page
    (file,) = store.listing()
    assert (file.path, file.modified.microsecond) == ("a.csv", 0)
    assert store.find(f"{prefix}/../x.csv") is None
    assert store.meter.calls == 0


def test_a_file_that_the_listing_lacks_is_asked_for_by_its_key(
    s3: S3, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = export(s3, prefix, *CHUNKS)
    fresh = aws.discover(where, MONTH)[0]

    class Stale(type(open_store(where))):  # type: ignore[misc]
        def listing(self) -> list[RemoteFile]:
            return [file for file in super().listing() if CHUNKS[1] not in file.path]

    monkeypatch.setattr("connectors.s3.S3Store", Stale)
    found = aws.discover(where, MONTH)[0]
    assert sorted(found.files, key=lambda file: file.path) == list(fresh.files)
    assert found.id == fresh.id
    s3.client().delete_object(Bucket=BUCKET, Key=f"{prefix}/data/{PERIOD}/{CHUNKS[1]}")
    error = refusal(where)
    assert (error.exit_code, error.expected) == (3, "3 files")
    assert CHUNKS[1] in error.got


@pytest.mark.parametrize("legacy", [False, True])
def test_a_delivery_that_is_just_being_overwritten(
    s3: S3, prefix: str, monkeypatch: pytest.MonkeyPatch, legacy: bool
) -> None:
    where = export(s3, prefix, *CHUNKS)
    if legacy:
        keys = [f"{prefix}/data/{PERIOD}/{name}" for name in CHUNKS]
        text = json.dumps({"assemblyId": "a1", "bucket": BUCKET, "reportKeys": keys})
        put(s3, f"{prefix}/metadata/{PERIOD}/acme-Manifest.json", text)
    assert aws.discover(where, MONTH)
    overwrite(s3, f"{prefix}/data/{PERIOD}/{CHUNKS[0]}")
    error = refusal(where)
    assert (error.exit_code, error.what) == (3, "the delivery is being overwritten")
    assert error.got.endswith(CHUNKS[0])
    with monkeypatch.context() as later:
        later.setattr(aws, "SETTLED", timedelta(0))
        assert aws.discover(where, MONTH)
    deliver(s3, prefix, *CHUNKS)
    assert aws.discover(where, MONTH)


def overwrite(s3: S3, key: str) -> None:
    """Write a file again, in a second of its own."""
    client = s3.client()
    put(s3, key, "restated")
    before = client.head_object(Bucket=BUCKET, Key=key)["LastModified"]
    while client.head_object(Bucket=BUCKET, Key=key)["LastModified"] <= before:
        put(s3, key, "restated")


def test_a_file_that_changes_before_it_is_copied(s3: S3, prefix: str, tmp_path: Path) -> None:
    where = export(s3, prefix, *CHUNKS)
    delivery = aws.discover(where, MONTH)[0]
    put(s3, f"{prefix}/data/{PERIOD}/{CHUNKS[1]}", "R" * len(f"rows of {CHUNKS[1]}"))
    with pytest.raises(DeliveryError, match="changed while it was copied") as caught:
        aws.fetch(where, delivery, tmp_path, silent)
    assert caught.value.exit_code == 3
    assert list((tmp_path / MONTH).glob("[!.]*")) == []


# ------------------------------------------------------------------------------- the bytes

RANGE = 1 << 20
BIG = random.Random(5).randbytes(5 * RANGE + 99)


def big(s3: S3, prefix: str) -> tuple[ExportSource, Delivery]:
    put(s3, f"{prefix}/data/{PERIOD}/{CHUNKS[0]}", BIG)
    deliver(s3, prefix, CHUNKS[0])
    return source(s3, prefix), aws.discover(source(s3, prefix), MONTH)[0]


def through(proxy: faults.FaultProxy, where: ExportSource) -> ExportSource:
    return ExportSource(where.location, "cur2", endpoint=proxy.endpoint)


def test_a_fetch_that_broke_off_continues(
    s3: S3, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "RANGE_BYTES", RANGE)
    monkeypatch.setattr(transfer, "WORKERS", 1)
    where, delivery = big(s3, prefix)

    class Interrupted(Exception):  # noqa: N818
        pass

    def interrupt(name: str, done: int, size: int) -> None:
        if done > 3 * RANGE + RANGE // 2:
            raise Interrupted

    with pytest.raises(Interrupted):
        aws.fetch(where, delivery, tmp_path, interrupt)
    receipt = aws.fetch(where, delivery, tmp_path, silent)
    assert receipt.files[0].sha256 == hashlib.sha256(BIG).hexdigest()
    assert receipt.manifest is not None
    assert receipt.bytes == len(BIG) - 3 * RANGE + receipt.manifest.size


KILLED = """
import os, signal, sys
from pathlib import Path
from connectors import aws, transfer
from connectors.base import ExportSource

def kill(name, done, size):
    if done > 3.5 * transfer.RANGE_BYTES:
        os.kill(os.getpid(), signal.SIGKILL)

location, endpoint, month, into, bytes_of_a_range = sys.argv[1:]
transfer.RANGE_BYTES, transfer.WORKERS = int(bytes_of_a_range), 1
source = ExportSource(location, "cur2", endpoint=endpoint)
aws.fetch(source, aws.discover(source, month)[0], Path(into), kill)
"""


def test_a_fetch_that_was_killed_continues(
    s3: S3, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "RANGE_BYTES", RANGE)
    where, delivery = big(s3, prefix)
    asked = (where.location, s3.endpoint, MONTH, str(tmp_path), str(RANGE))
    killed = subprocess.run([sys.executable, "-c", KILLED, *asked], cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list((tmp_path / MONTH).glob("[!.]*")) == []
    receipt = aws.fetch(where, delivery, tmp_path, silent)
    assert receipt.files[0].sha256 == hashlib.sha256(BIG).hexdigest()
    assert receipt.manifest is not None
    assert receipt.bytes <= len(BIG) - 2 * RANGE + receipt.manifest.size


@pytest.mark.parametrize("seed", range(3))
def test_a_third_of_the_answers_spoiled_gives_the_same_bytes(
    s3: S3, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(transfer, "RANGE_BYTES", RANGE)
    where, delivery = big(s3, prefix)
    with faults.running(s3.endpoint, seed=seed, rate=0.3) as proxy:
        again = aws.discover(through(proxy, where), MONTH)[0]
        receipt = aws.fetch(through(proxy, where), again, tmp_path, silent)
    assert again == delivery
    assert receipt.files[0].sha256 == hashlib.sha256(BIG).hexdigest()
    assert 7 <= receipt.calls <= 7 * 4
    assert receipt.calls <= 7 + receipt.retries  # a break after the last byte costs no call
    assert receipt.bytes >= len(BIG)


@pytest.mark.parametrize("kind", [faults.SHORTER, faults.TRUNCATED, faults.RESET, faults.LONGER])
def test_a_listing_cut_short_never_passes_for_whole(s3: S3, prefix: str, kind: str) -> None:
    where = export(s3, prefix, *CHUNKS)
    with faults.running(s3.endpoint, rate=1.0, kinds=[kind]) as proxy:
        error = refusal(through(proxy, where))
    assert (error.exit_code, error.what) == (3, "the provider's service does not answer")
    assert "(8 tries)" in error.got


@pytest.mark.parametrize("kind", [faults.SHORTER, faults.TRUNCATED])
def test_a_file_cut_short_never_passes_for_whole(
    s3: S3, prefix: str, tmp_path: Path, kind: str
) -> None:
    where = export(s3, prefix, *CHUNKS)
    file = open_store(where).listing()[0]
    sha256 = hashlib.sha256(open_store(where).read(file)).hexdigest()
    with faults.running(s3.endpoint, rate=1.0, kinds=[kind]) as proxy:
        store = open_store(through(proxy, where))
        with pytest.raises(DeliveryError, match="does not answer"):
            store.read(file)
        with suppress(DeliveryError):  # each try goes on where the last one stopped
            assert store.copy(file, tmp_path / "x", silent) == sha256


def test_a_small_file_has_the_size_that_was_listed(s3: S3, prefix: str) -> None:
    from botocore.response import StreamingBody

    store: Any = open_store(export(s3, prefix, *CHUNKS))
    store._client.get_object = lambda **_: {"Body": StreamingBody(io.BytesIO(b"ro"), 2)}
    with pytest.raises(DeliveryError, match="does not answer"):
        store.read(store.listing()[0])


def test_another_range_than_the_one_asked_for(s3: S3, prefix: str) -> None:
    where = export(s3, prefix, CHUNKS[0])
    store: Any = open_store(where)
    file = next(file for file in store.listing() if file.path.endswith(".parquet"))
    whole = store._client.get_object
    store._client.get_object = lambda **asked: whole(**{**asked, "Range": "bytes=1-4"})
    with pytest.raises(Transient, match=r"bytes 1-4/\d+ instead of bytes 0-3/\d+"):
        list(store.stream(file, 0, 4))


# -------------------------------------------------------------------------- what is refused


def test_no_such_bucket(s3: S3) -> None:
    error = refusal(ExportSource("s3://acme-nowhere/x", "cur2", endpoint=s3.endpoint))
    assert (error.exit_code, error.what) == (2, "no such bucket")


@pytest.mark.parametrize("location", ["s3://", "s3:///x", "s3://Not A Bucket/x"])
def test_no_bucket_at_all(s3: S3, location: str) -> None:
    error = refusal(ExportSource(location, "cur2", endpoint=s3.endpoint))
    assert error.exit_code == 2


def test_nothing_below_the_prefix(s3: S3, prefix: str) -> None:
    error = refusal(source(s3, prefix))
    assert (error.exit_code, error.what) == (2, "no delivery of 2026-10")


def test_access_is_denied(s3: S3, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where = export(s3, prefix, *CHUNKS)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", STRANGER)
    error = refusal(where)
    assert (error.exit_code, error.what) == (3, "access is denied")
    assert error.hint == f"grant s3:ListBucket on arn:aws:s3:::{BUCKET}"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("AWS_ACCESS_KEY_ID", "the credentials are not known to AWS"),
        ("AWS_SECRET_ACCESS_KEY", "the secret key does not belong to the access key"),
    ],
)
def test_credentials_that_are_wrong(
    s3: S3, prefix: str, monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    monkeypatch.setenv(name, "wrong")
    error = refusal(source(s3, prefix))
    assert (error.exit_code, error.what) == (3, what)


def test_no_credentials(
    s3: S3, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for role in (None, ROLE):
        error = refusal(source(s3, prefix, role=role))
        assert (error.exit_code, error.what) == (3, "there are no credentials")


def test_a_profile_that_is_not_there(s3: S3, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    error = refusal(source(s3, prefix))
    assert (error.exit_code, error.what) == (3, "the credentials or settings cannot be used")
    assert "nobody" in error.got


def test_nobody_listens(s3: S3, prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    where = ExportSource(f"s3://{BUCKET}/x", "cur2", endpoint=f"http://127.0.0.1:{port}")
    error = refusal(where)
    assert (error.exit_code, error.got) == (3, "EndpointConnectionError (8 tries)")


@pytest.mark.parametrize("endpoint", ["nonsense", "http://", "ftp:/x"])
def test_an_endpoint_that_is_none(s3: S3, endpoint: str) -> None:
    error = refusal(ExportSource(f"s3://{BUCKET}/x", "cur2", endpoint=endpoint))
    assert error.exit_code in (2, 3)


@pytest.mark.parametrize(
    ("status", "code", "what"),
    [
        (400, "ExpiredToken", "the credentials have expired"),
        (400, "InvalidToken", "the credentials are not known to AWS"),
        (403, "RequestTimeTooSkewed", "this machine's clock is wrong"),
        (403, "InvalidObjectState", "the file lies in an archive"),
        (404, "NoSuchKey", "the file is gone"),
        (412, "PreconditionFailed", "the file changed while it was copied"),
        (416, "InvalidRange", "the file changed while it was copied"),
        (400, "MadeUp", "the request was refused"),
        (503, "SlowDown", "SlowDown"),
        (400, "RequestTimeout", "RequestTimeout"),
        (400, "ThrottlingException", "ThrottlingException"),
        (500, "InternalError", "InternalError"),
        (429, "", "429"),
    ],
)
def test_what_codes_mean(status: int, code: str, what: str) -> None:
    from botocore.exceptions import ClientError

    answer: Any = {
        "Error": {"Code": code, "Message": "text"},
        "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {"retry-after": "7"}},
    }
    meant = aws_session.explained(ClientError(answer, "GetObject"), "s3://acme/x", "s3:GetObject")
    if isinstance(meant, Transient):
        assert (meant.cause, meant.wait) == (what, 7.0)
    else:
        assert (meant.exit_code, meant.what) == (3, what)
        assert meant.hint


def test_a_key_that_may_not_be_used_is_named() -> None:
    from botocore.exceptions import ClientError

    text = "User: x is not authorized to perform: kms:Decrypt on resource: y"
    answer: Any = {"Error": {"Code": "AccessDenied", "Message": text}}
    meant = aws_session.explained(ClientError(answer, "GetObject"), "s3://acme/x", "s3:GetObject")
    assert isinstance(meant, DeliveryError)
    assert meant.hint == "grant kms:Decrypt on the bucket's key"


# --------------------------------------------------------------------------------- the role


def test_a_role_is_assumed(
    s3: S3, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(s3, prefix, *CHUNKS)
    receipt, _ = fetched(source(s3, prefix, role=ROLE), tmp_path)
    assert len(receipt.files) == 3
    assert SECRET not in receipt.model_dump_json()


def test_a_role_that_may_not_be_assumed(
    s3: S3, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(DeliveryError, match="the role cannot be assumed") as caught:
        aws.discover(source(s3, prefix, role=f"{ROLE}-of-others"), MONTH)
    assert caught.value.exit_code == 3
    assert caught.value.hint == (
        "grant sts:AssumeRole on that role, and name the caller in the role's trust policy"
    )
    assert caplog.records == []


def test_an_answer_of_the_role_cut_short(
    s3: S3, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faults.running(s3.endpoint, rate=1.0, kinds=[faults.SHORTER]) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", proxy.endpoint)
        error = refusal(source(s3, prefix, role=ROLE))
    assert (error.exit_code, error.what) == (3, "the provider's service does not answer")


def test_the_bucket_is_a_store(s3: S3, prefix: str) -> None:
    store: Store = open_store(source(s3, prefix))
    assert store.listing() == []
