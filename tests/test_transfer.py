"""Large files come in ranges: exact, hashed, continued after a break, in little memory."""

import hashlib
import random
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors import retry, transfer
from connectors.base import Meter, RemoteFile, silent
from connectors.errors import DeliveryError
from connectors.retry import Transient
from connectors.transfer import download

RANGE = 1 << 16
SIZE = 20 * RANGE + 17
CONTENT = random.Random(4).randbytes(SIZE)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MODIFIED = datetime(2026, 11, 3, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "RANGE_BYTES", RANGE)
    monkeypatch.setattr(retry, "FIRST_WAIT", 0.0)


def remote(size: int = SIZE, etag: str = "v1") -> RemoteFile:
    return RemoteFile("big.parquet", "s3://acme/big.parquet", size, MODIFIED, etag)


class Memory:
    """A store in memory; `fail` may spoil a request, given its start and its number."""

    def __init__(self, content: bytes = CONTENT) -> None:
        self.meter = Meter()
        self.content = content
        self.asked: list[tuple[int, int]] = []
        self.most = 0
        self._under_way = 0
        self._lock = threading.Lock()

    def fail(self, start: int, number: int) -> None:
        """Raise what is to go wrong."""

    def stream(self, file: RemoteFile, start: int, stop: int) -> Iterator[bytes]:
        with self._lock:
            self.asked.append((start, stop))
            number = sum(begun // RANGE == start // RANGE for begun, _ in self.asked)
            self._under_way += 1
            self.most = max(self.most, self._under_way)
        try:
            self.meter.add(calls=1)
            yield from self.chunks(start, stop, number)
        finally:
            with self._lock:
                self._under_way -= 1

    def chunks(self, start: int, stop: int, number: int) -> Iterator[bytes]:
        self.fail(start, number)
        for at in range(start, stop, 5000):
            yield self.content[at : min(at + 5000, stop)]


def test_the_copy_is_exact_and_every_byte_is_asked_for_once(tmp_path: Path) -> None:
    store, told = Memory(), list[tuple[str, int, int]]()
    sha256 = download(store, remote(), tmp_path / "x", lambda *said: told.append(said))
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert sha256 == SHA256
    assert sorted(store.asked) == [
        (start, min(start + RANGE, SIZE)) for start in range(0, SIZE, RANGE)
    ]
    assert (store.meter.calls, store.meter.bytes, store.meter.retries) == (21, SIZE, 0)
    assert told[0] == ("x", 0, SIZE)
    assert max(told) == ("x", SIZE, SIZE)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("size", [0, 1, RANGE - 1, RANGE, RANGE + 1])
def test_sizes_around_a_range(tmp_path: Path, size: int) -> None:
    sha256 = download(Memory(), remote(size), tmp_path / "x", silent)
    assert (tmp_path / "x").read_bytes() == CONTENT[:size]
    assert sha256 == hashlib.sha256(CONTENT[:size]).hexdigest()


def test_several_ranges_at_a_time_but_no_more_than_there_are_workers(tmp_path: Path) -> None:
    together = threading.Barrier(transfer.WORKERS, timeout=20)

    class Waiting(Memory):
        def fail(self, start: int, number: int) -> None:
            if start < RANGE * transfer.WORKERS:
                together.wait()

    store = Waiting()
    download(store, remote(), tmp_path / "x", silent)
    assert store.most == transfer.WORKERS


def test_a_range_that_breaks_off_goes_on_where_it_stopped(tmp_path: Path) -> None:
    class Broken(Memory):
        def chunks(self, start: int, stop: int, number: int) -> Iterator[bytes]:
            yield from super().chunks(start, stop if number > 1 else start + 20_000, number)

    class Reset(Memory):
        def chunks(self, start: int, stop: int, number: int) -> Iterator[bytes]:
            yield self.content[start : start + 100]
            if number == 1:
                raise Transient("reset")
            yield from super().chunks(start + 100, stop, number)

    for store in (Broken(), Reset()):
        assert download(store, remote(), tmp_path / "x", silent) == SHA256
        assert store.meter.bytes == SIZE
        assert store.meter.retries in (20, 21)


def test_more_than_was_asked_for_never_lands_in_the_next_range(tmp_path: Path) -> None:
    class Generous(Memory):
        def chunks(self, start: int, stop: int, number: int) -> Iterator[bytes]:
            yield from super().chunks(start, stop, number)
            yield b"!"

    with pytest.raises(DeliveryError, match="does not answer") as caught:
        download(Generous(), remote(), tmp_path / "x", silent)
    assert caught.value.got.startswith("more bytes than asked for")


class Stopping(Memory):
    """Refuses what begins at or after `at`."""

    at = 12 * RANGE

    def fail(self, start: int, number: int) -> None:
        if start >= self.at:
            raise DeliveryError("denied", exit_code=3)


def interrupted(target: Path) -> None:
    """Leave a copy whose first twelve ranges are noted."""
    with pytest.raises(DeliveryError, match="denied"):
        download(Stopping(), remote(), target, silent)


def test_an_interrupted_copy_is_continued(tmp_path: Path) -> None:
    interrupted(tmp_path / "x")
    noted = (tmp_path / ".x.ranges").read_text().splitlines()[1:]
    assert len(noted) == 12
    store, told = Memory(), list[tuple[str, int, int]]()
    sha256 = download(store, remote(), tmp_path / "x", lambda *said: told.append(said))
    assert sha256 == SHA256
    assert (tmp_path / "x").read_bytes() == CONTENT
    assert min(store.asked)[0] == 12 * RANGE
    assert store.meter.bytes == SIZE - 12 * RANGE
    assert told[0] == ("x", 12 * RANGE, SIZE)


def test_what_was_damaged_since_is_copied_again(tmp_path: Path) -> None:
    interrupted(tmp_path / "x")
    with (tmp_path / "x").open("r+b") as copy:
        copy.seek(5 * RANGE + 3)
        copy.write(b"\0\0\0\0")
    store = Memory()
    assert download(store, remote(), tmp_path / "x", silent) == SHA256
    assert min(store.asked)[0] == 5 * RANGE


@pytest.mark.parametrize("file", [remote(etag="v2"), remote(size=SIZE - 1)])
def test_another_file_is_not_continued(tmp_path: Path, file: RemoteFile) -> None:
    interrupted(tmp_path / "x")
    content = CONTENT[::-1][: file.size]
    store = Memory(content)
    assert download(store, file, tmp_path / "x", silent) == hashlib.sha256(content).hexdigest()
    assert (tmp_path / "x").read_bytes() == content
    assert store.meter.bytes == file.size


@pytest.mark.parametrize("note", ["", "{", '["x"]\n1 2\n', "\n\n\n"])
def test_a_note_that_says_nothing(tmp_path: Path, note: str) -> None:
    (tmp_path / ".x.ranges").write_text(note)
    (tmp_path / "x").write_bytes(b"old")
    assert download(Memory(), remote(), tmp_path / "x", silent) == SHA256


def test_a_note_that_a_kill_cut_off_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    interrupted(tmp_path / "x")
    noted = tmp_path / ".x.ranges"
    noted.write_text(noted.read_text()[:-30])
    store = Memory()
    assert download(store, remote(), tmp_path / "x", silent) == SHA256
    assert min(store.asked)[0] == 11 * RANGE


def test_an_error_stops_the_other_ranges(tmp_path: Path) -> None:
    class Denied(Memory):
        def fail(self, start: int, number: int) -> None:
            if start == 0:
                raise DeliveryError("denied", exit_code=3)

        def chunks(self, start: int, stop: int, number: int) -> Iterator[bytes]:
            self.fail(start, number)
            while True:  # an answer without end
                yield b""

    store = Denied()
    with pytest.raises(DeliveryError, match="denied"):
        download(store, remote(), tmp_path / "x", silent)
    assert len(store.asked) <= transfer.WORKERS + 1


def test_an_error_does_not_wait_for_those_who_wait(tmp_path: Path) -> None:
    class Busy(Memory):
        def fail(self, start: int, number: int) -> None:
            if start > 0:
                raise Transient("429", wait=100.0)
            raise DeliveryError("denied", exit_code=3)

    begun = time.monotonic()
    with pytest.raises(DeliveryError, match="denied"):
        download(Busy(), remote(), tmp_path / "x", silent)
    assert time.monotonic() - begun < 20
