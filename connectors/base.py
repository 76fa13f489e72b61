"""The words every connector speaks: a remote file, a delivery, a receipt."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import AwareDatetime, BaseModel, ConfigDict


@dataclass(frozen=True)
class ExportSource:
    """Where a source's exports are, and what they are said to hold.

    metric: `amortized` or `actual`; None where the export may hold both. endpoint: the address of
    the provider's service where it is not the usual one. role: the role to read with.
    clusters: ids of clusters whose cost it may hold.
    """

    location: str
    dataset: str
    metric: str | None = None
    endpoint: str | None = None
    role: str | None = None
    maximum_bytes_billed: int | None = None
    clusters: tuple[str, ...] = ()


Progress = Callable[[str, int, int], None]
"""Told of a file's name, its bytes so far and its bytes in all; called from several threads."""


def silent(name: str, done: int, size: int) -> None:
    """Tell nobody of the progress."""


class Meter:
    """What was asked of a provider; several threads may add to it."""

    def __init__(self) -> None:
        self.calls = 0
        self.bytes = 0
        self.retries = 0
        self._lock = threading.Lock()

    # `bytes` is the word for it in receipts too.
    def add(self, *, calls: int = 0, bytes: int = 0, retries: int = 0) -> None:  # noqa: A002
        """Count."""
        with self._lock:
            self.calls += calls
            self.bytes += bytes
            self.retries += retries


@dataclass(frozen=True)
class RemoteFile:
    """One file of a store as its listing shows it; `path` is relative to the store."""

    path: str
    uri: str
    size: int
    modified: datetime
    etag: str | None = None


@dataclass(frozen=True)
class Delivery:
    """One complete export of one billing period from one source.

    `location` is the store the paths are relative to. `manifest` is the file that says what
    belongs to the delivery, None where the provider wrote none.
    """

    location: str
    month: str
    files: tuple[RemoteFile, ...]
    manifest: RemoteFile | None = None
    provider_run_id: str | None = None

    @property
    def everything(self) -> tuple[RemoteFile, ...]:
        """The files and the manifest."""
        return self.files if self.manifest is None else (*self.files, self.manifest)

    @property
    def id(self) -> str:
        """Name of the delivery: sorts by time, and is the same while its listing is the same."""
        listing = "\n".join(
            f"{file.path}\t{file.size}\t{file.modified.isoformat()}\t{file.etag}"
            for file in sorted(self.everything, key=lambda file: file.path)
        )
        newest = max(file.modified for file in self.everything)
        return f"{newest:%Y%m%dT%H%M%SZ}-{hashlib.sha256(listing.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class Inspected:
    """What the settings of an export say, as `leerlauf check` tells it; hint: what mends it.

    A connector may have a function `inspect(source, month)` that returns these. Raise
    `DeliveryError` there where the provider does not tell.
    """

    check: str
    status: Literal["ok", "warning", "error"]
    actual: str
    expected: str | None = None
    hint: str | None = None
    exit_code: int = 0


class ReceiptFile(BaseModel):
    """One exact copy: `name` is relative to the folder of the receipt, `size` is in bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    uri: str
    size: int
    modified: AwareDatetime
    etag: str | None
    sha256: str


class Receipt(BaseModel):
    """What was fetched, from where and when; lies beside the copies as `receipt.json`.

    calls, bytes, retries: what the fetch took; a copy from a folder takes no calls.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    delivery: str
    billing_period: str
    location: str
    provider_run_id: str | None
    fetched_at: AwareDatetime
    files: tuple[ReceiptFile, ...]
    manifest: ReceiptFile | None
    calls: int = 0
    bytes: int = 0
    retries: int = 0


class Store(Protocol):
    """A place with files: a folder, a bucket, a container."""

    @property
    def location(self) -> str:
        """The place, as a person writes it."""

    @property
    def meter(self) -> Meter:
        """What was asked of this store so far."""

    def listing(self) -> Sequence[RemoteFile]:
        """Return every file below the location, sorted by path."""

    def find(self, name: str) -> RemoteFile | None:
        """Return the file below the location of this full name: its uri, or its whole key.

        A listing may be older than a manifest; this asks the provider for the one file. None
        where there is none, or where the listing of this kind of place is never behind.
        """

    def read(self, file: RemoteFile) -> bytes:
        """Return the content of a small file. Raise `DeliveryError` where it cannot be read."""

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        """Write an exact copy to `target` and return its sha256.

        Raise `DeliveryError` where the file cannot be read or is no longer the listed one.
        """


class Connector(Protocol):
    """What `pipelines` asks of a provider; a module with these two functions is enough."""

    def discover(self, source: ExportSource, month: str) -> Sequence[Delivery]:
        """Return the deliveries of `month` (YYYY-MM), the newest first, at least one.

        Raise `DeliveryError`: exit code 2 where there is none, 3 where the newest is damaged.
        """

    def fetch(
        self, source: ExportSource, delivery: Delivery, into: Path, progress: Progress
    ) -> Receipt:
        """Copy the delivery to `into/<billing period>/<delivery id>` unless it is there already.

        `into` is the folder `raw/<source>` of the lake. Raise `DeliveryError`.
        """


class SplitConnector(Connector, Protocol):
    """A provider whose split of cluster cost is delivered apart from the bill."""

    def discover_splits(self, source: ExportSource, month: str) -> Delivery | None:
        """Return the split files of `month` below the location; None where there are none.

        An empty location asks the provider itself.

        Raise `DeliveryError` where the location is not there or cannot be read.
        """
