"""Large files over a network: in ranges, several at a time, continued after a break."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from connectors.base import Meter, Progress, RemoteFile

RANGE_BYTES = 16 << 20


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

    Raise `DeliveryError` where the file cannot be read or is no longer the listed one.
    """
    digest, done = hashlib.sha256(), 0
    with target.open("wb") as copy:
        for chunk in store.stream(file, 0, file.size):
            digest.update(chunk)
            copy.write(chunk)
            done += len(chunk)
            store.meter.add(bytes=len(chunk))
            progress(target.name, done, file.size)
    return digest.hexdigest()
