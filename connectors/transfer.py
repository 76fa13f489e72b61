"""Large files over a network: in ranges, several at a time, continued after a break."""

import hashlib
import json
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Protocol, Self

from connectors.base import Meter, Progress, RemoteFile
from connectors.errors import UNREADABLE, DeliveryError
from connectors.retry import Transient, persist

RANGE_BYTES = 16 << 20
WORKERS = 8


class Ranged(Protocol):
    """A store that can give a part of a file."""

    @property
    def meter(self) -> Meter:
        """What was asked of this store so far."""

    def stream(self, file: RemoteFile, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes of `file` from `start` to `stop` (exclusive).

        Only of the listed file (If-Match by its etag). Raise `Transient` where another try may
        help, else `DeliveryError`. Calls are counted here, bytes are not.
        """


def whole(store: Ranged, file: RemoteFile, body: Callable[[], Iterator[bytes]]) -> bytes:
    """Return the content of a small file. `body` asks for it once and yields it."""

    def once() -> bytes:
        content = b"".join(body())
        if len(content) != file.size:
            raise Transient("the answer broke off")
        return content

    return persist(once, meter=store.meter, what=file.uri)


def download(store: Ranged, file: RemoteFile, target: Path, progress: Progress) -> str:
    """Write an exact copy of `file` to `target` and return its sha256.

    A copy that broke off is continued after the last range whose bytes are still what they were.
    Raise `DeliveryError` where the file cannot be read or is no longer the listed one.
    """
    journal = _Journal(file, target)
    with _Copy(store, file, target, progress) as copy, journal:
        sha256 = copy.run(journal)
    journal.path.unlink()
    return sha256


class _Journal:
    """What is finished of one copy, beside it: for each range the hash of the file up to its end.

    The first line says what it is a copy of.
    """

    def __init__(self, file: RemoteFile, target: Path) -> None:
        self.path = target.with_name(f".{target.name}.ranges")
        identity = (file.uri, file.size, file.modified.isoformat(), file.etag, RANGE_BYTES)
        self._head = json.dumps(identity)
        self.hashes = self._read()

    def _read(self) -> list[str]:
        """Return what is noted; nothing of another file, and not what a kill cut off."""
        with suppress(OSError, ValueError):
            head, *hashes = self.path.read_text(encoding="utf-8").split("\n")[:-1]
            return hashes if head == self._head else []
        return []

    def __enter__(self) -> Self:
        self._stream = self.path.open("w", encoding="utf-8")
        self.note(self._head)
        return self

    def note(self, line: str) -> None:
        """Add a line."""
        self._stream.write(f"{line}\n")
        self._stream.flush()

    def __exit__(self, *_: object) -> None:
        self._stream.close()


class _Copy:
    """One copy under way: threads write ranges in place, this one hashes them in their order."""

    def __init__(self, store: Ranged, file: RemoteFile, target: Path, progress: Progress) -> None:
        self._store, self._file, self._target, self._progress = store, file, target, progress
        self._done = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def __enter__(self) -> Self:
        self._fd = os.open(self._target, os.O_RDWR | os.O_CREAT, 0o666)
        os.ftruncate(self._fd, self._file.size)
        self._pool = ThreadPoolExecutor(WORKERS, "range")
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)
        os.close(self._fd)

    def run(self, journal: _Journal) -> str:
        """Copy what is not there yet, and return the hash of all."""
        digest, kept = self._kept(journal)
        ranges = range(kept, -(-self._file.size // RANGE_BYTES))
        self._done = min(kept * RANGE_BYTES, self._file.size)
        self._progress(self._target.name, self._done, self._file.size)
        for index, copied in [(index, self._pool.submit(self._fetch, index)) for index in ranges]:
            copied.result()
            self._hash(digest, index)
            journal.note(digest.hexdigest())
        os.fsync(self._fd)
        return digest.hexdigest()

    def _kept(self, journal: _Journal) -> tuple["hashlib._Hash", int]:
        """Return the hash of the first ranges that are whole, and how many they are."""
        digest = hashlib.sha256()
        for index, expected in enumerate(journal.hashes):
            trial = digest.copy()
            self._hash(trial, index)
            if trial.hexdigest() != expected:
                return digest, index
            journal.note(expected)
            digest = trial
        return digest, len(journal.hashes)

    def _hash(self, digest: "hashlib._Hash", index: int) -> None:
        start, stop = self._span(index)
        with mmap.mmap(self._fd, stop - start, access=mmap.ACCESS_READ, offset=start) as written:
            digest.update(written)

    def _span(self, index: int) -> tuple[int, int]:
        start = index * RANGE_BYTES
        return start, min(start + RANGE_BYTES, self._file.size)

    def _fetch(self, index: int) -> None:
        """Copy one range; what came before the stream broke is not asked for again."""
        start, stop = self._span(index)
        at = start

        def rest() -> None:
            nonlocal at
            self._go_on()
            if at == stop:  # it broke off after its last byte
                return
            for chunk in self._store.stream(self._file, at, stop):
                self._go_on()
                if at + len(chunk) > stop:
                    at = start  # nothing of such an answer is believed
                    raise Transient("more bytes than asked for")
                self._write(chunk, at)
                at += len(chunk)
            if at < stop:
                raise Transient("the answer broke off")

        persist(rest, meter=self._store.meter, what=self._file.uri, sleep=self._stop.wait)

    def _write(self, chunk: bytes, at: int) -> None:
        rest = memoryview(chunk)
        while rest:
            rest = rest[os.pwrite(self._fd, rest, at + len(chunk) - len(rest)) :]
        self._store.meter.add(bytes=len(chunk))
        with self._lock:
            self._done += len(chunk)
            done = self._done
        self._progress(self._target.name, done, self._file.size)

    def _go_on(self) -> None:
        """Leave a range that nobody waits for any more."""
        if self._stop.is_set():
            raise DeliveryError("the copy was stopped", exit_code=UNREADABLE, where=self._file.uri)
