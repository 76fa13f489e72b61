"""Large files over a network: in ranges, several at a time, continued after a break."""

import hashlib
import json
import os
import threading
import zlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Protocol, Self

from connectors.base import Meter, Progress, RemoteFile
from connectors.errors import UNREADABLE, DeliveryError
from connectors.retry import Transient, persist

RANGE_BYTES = 16 << 20
READ_BYTES = 1 << 20
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


def download(store: Ranged, file: RemoteFile, target: Path, progress: Progress) -> str:
    """Write an exact copy of `file` to `target` and return its sha256.

    Finished ranges are noted beside the target, so that a copy that broke off is continued; a
    range counts as finished only while its bytes still have the checksum in the note. Raise
    `DeliveryError` where the file cannot be read or is no longer the listed one.
    """
    with ExitStack() as stack:
        journal = stack.enter_context(_Journal(file, target))
        copy = stack.enter_context(_Copy(store, file, target, journal, progress))
        sha256 = copy.run()
    journal.path.unlink()
    return sha256


class _Journal:
    """The finished ranges of one copy: number -> CRC-32, a line each, below what they are of."""

    def __init__(self, file: RemoteFile, target: Path) -> None:
        self.path = target.with_name(f".{target.name}.ranges")
        identity = (file.uri, file.size, file.modified.isoformat(), file.etag, RANGE_BYTES)
        self._head = json.dumps(identity)
        self._lock = threading.Lock()
        self.finished = self._read() if target.exists() else {}

    def _read(self) -> dict[int, int]:
        """Return what is noted; nothing of another file, and not what a kill cut off."""
        with suppress(OSError, ValueError):
            head, *lines = self.path.read_text(encoding="utf-8").split("\n")[:-1]
            if head == self._head:
                return {int(index): int(crc) for index, crc in (line.split() for line in lines)}
        return {}

    def __enter__(self) -> Self:
        self._stream = self.path.open("w", encoding="utf-8")
        self._write(self._head, *(f"{index} {crc}" for index, crc in self.finished.items()))
        return self

    def note(self, index: int, crc: int) -> None:
        """Note a finished range."""
        with self._lock:
            self._write(f"{index} {crc}")

    def _write(self, *lines: str) -> None:
        self._stream.write("".join(f"{line}\n" for line in lines))
        self._stream.flush()

    def __exit__(self, *_: object) -> None:
        self._stream.close()


class _Copy:
    """One copy under way: threads write ranges in place, this one hashes them in their order."""

    def __init__(
        self, store: Ranged, file: RemoteFile, target: Path, journal: _Journal, progress: Progress
    ) -> None:
        self._store, self._file, self._target = store, file, target
        self._journal, self._progress = journal, progress
        self._ranges = -(-file.size // RANGE_BYTES)
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

    def run(self) -> str:
        """Copy what is not there yet, and return the hash of all."""
        kept = {index for index, crc in self._journal.finished.items() if self._crc(index) == crc}
        self._done = sum(stop - start for start, stop in map(self._span, kept))
        self._progress(self._target.name, self._done, self._file.size)
        pending: dict[int, Future[None]] = {
            index: self._pool.submit(self._fetch, index)
            for index in range(self._ranges)
            if index not in kept
        }
        digest = hashlib.sha256()
        for index in range(self._ranges):
            if index in pending:
                pending.pop(index).result()
            for chunk in self._read(index):
                digest.update(chunk)
        os.fsync(self._fd)
        return digest.hexdigest()

    def _span(self, index: int) -> tuple[int, int]:
        start = index * RANGE_BYTES
        return start, min(start + RANGE_BYTES, self._file.size)

    def _read(self, index: int) -> Iterator[bytes]:
        start, stop = self._span(index)
        while start < stop and (chunk := os.pread(self._fd, min(READ_BYTES, stop - start), start)):
            yield chunk
            start += len(chunk)

    def _crc(self, index: int) -> int:
        crc = 0
        for chunk in self._read(index):
            crc = zlib.crc32(chunk, crc)
        return crc

    def _fetch(self, index: int) -> None:
        """Copy one range; what came before the stream broke is not asked for again."""
        at, stop = self._span(index)
        crc = 0

        def rest() -> None:
            nonlocal at, crc
            self._go_on()
            for chunk in self._store.stream(self._file, at, stop):
                self._go_on()
                if at + len(chunk) > stop:
                    raise Transient("more bytes than asked for")
                self._write(chunk, at)
                at, crc = at + len(chunk), zlib.crc32(chunk, crc)
            if at < stop:
                raise Transient("the answer broke off")

        persist(rest, meter=self._store.meter, what=self._file.uri, sleep=self._stop.wait)
        self._journal.note(index, crc)

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
