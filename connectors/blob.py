"""A container of Azure's Blob Storage as a store of files, through azure-storage-blob."""

import os
from collections.abc import Callable, Iterator
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote

from connectors import transfer
from connectors.azure_session import (
    AbsentError,
    counted,
    credential,
    explained,
    is_loopback,
    refuse_http,
)
from connectors.base import ExportSource, Meter, Progress, RemoteFile
from connectors.errors import WRONG_USE, DeliveryError
from connectors.retry import persist

if TYPE_CHECKING:
    from azure.storage.blob import BlobClient, BlobProperties, BlobServiceClient

CHUNK_BYTES = 4 << 20
CONNECTION = "AZURE_STORAGE_CONNECTION_STRING"
ROLE = "the role Storage Blob Data Reader on the container"
FOLDER = "hdi_isfolder"
"""Accounts with real folders list those too, with this word in their metadata."""

T = TypeVar("T")


class BlobStore:
    """The files below one prefix of a container (https://<account>/<container>/<prefix>).

    The account is what the location begins with: `endpoint` of the source, else the address in
    the connection string of the environment, else the host alone.
    """

    def __init__(self, source: ExportSource) -> None:
        """Raise `DeliveryError` (exit code 2) where the location names no container."""
        self.location = source.location
        self.meter = Meter()
        self._account, service = _service(source, self.meter)
        path = unquote(source.location[len(self._account) :]).strip("/")
        container, _, prefix = path.partition("/")
        if not container:
            raise DeliveryError(
                "the location names no container",
                exit_code=WRONG_USE,
                where=source.location,
                expected="https://<account>/<container>/<prefix>",
                hint="correct `location` of the source",
            )
        self._base = f"{self._account}/{container}/"
        self._prefix = f"{prefix.strip('/')}/".lstrip("/")
        self._container = service.get_container_client(container)

    def listing(self) -> list[RemoteFile]:
        """Return every file below the prefix, sorted by path; hidden files are not part of it."""
        files: list[RemoteFile] = []
        more: str | None = ""
        while more is not None:
            page, more = self._ask(partial(self._page, more), self.location)
            files += [self._file(it) for it in page if self._counts(it.name) and not _is_folder(it)]
        return sorted(files, key=lambda file: file.path)

    def find(self, name: str) -> RemoteFile | None:
        """Return the file of this uri or name; None where there is none below the prefix."""
        name = name.removeprefix(self._base).removeprefix("/")
        if not name.startswith(self._prefix) or not self._counts(name):
            return None
        look = self._container.get_blob_client(name).get_blob_properties
        try:
            return self._file(self._ask(look, f"{self._base}{name}"))
        except AbsentError:
            return None

    def read(self, file: RemoteFile) -> bytes:
        """Return the content of a small file."""
        return transfer.whole(self, file, lambda: self._body(file))

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        """Write an exact copy to `target` and return its sha256."""
        return transfer.download(self, file, target, progress)

    def stream(self, file: RemoteFile, start: int, stop: int) -> Iterator[bytes]:
        """Yield the bytes of `file` from `start` to `stop` (exclusive)."""
        return self._body(file, offset=start, length=stop - start)

    def _body(self, file: RemoteFile, **asked: int) -> Iterator[bytes]:
        blob = self._container.get_blob_client(f"{self._prefix}{file.path}")
        return body(blob, file, ROLE, **asked)

    def _page(self, more: str) -> "tuple[list[BlobProperties], str | None]":
        """Return one page of the listing, and how to ask for the next."""
        found = self._container.list_blobs(name_starts_with=self._prefix, include=["metadata"])
        pages: Any = found.by_page(more or None)
        return list(next(pages)), pages.continuation_token or None

    def _ask(self, call: Callable[[], T], where: str) -> T:
        """Return the answer to one request."""
        from azure.core.exceptions import AzureError

        def once() -> T:
            try:
                return call()
            except AzureError as error:
                raise explained(error, where, ROLE) from error

        return persist(once, meter=self.meter, what=where)

    def _counts(self, name: str) -> bool:
        """Tell whether a name is the path of a file, and none that is hidden or leads away."""
        parts = name.removeprefix(self._prefix).split("/")
        return all(part and not part.startswith(".") for part in parts)

    def _file(self, told: "BlobProperties") -> RemoteFile:
        return RemoteFile(
            path=told.name.removeprefix(self._prefix),
            uri=f"{self._base}{told.name}",
            size=told.size,
            modified=told.last_modified.astimezone(UTC),
            etag=str(told.etag).strip('"'),
        )


def body(blob: "BlobClient", file: RemoteFile, needs: str, **asked: Any) -> Iterator[bytes]:
    """Yield what a request for a blob brings, as long as it is the listed one.

    As it is stored: an export may be marked as gzip, and the SDK would unpack it.
    """
    from azure.core import MatchConditions
    from azure.core.exceptions import AzureError

    if file.etag:
        asked |= {"etag": f'"{file.etag}"', "match_condition": MatchConditions.IfNotModified}
    try:
        yield from blob.download_blob(decompress=False, **asked).chunks()
    except AzureError as error:
        raise explained(error, file.uri, needs) from error


def settings(meter: Meter) -> dict[str, Any]:
    """Return the settings of a client of blobs: calls are counted and tried once."""
    return counted(meter) | {
        "retry_total": 0,
        "max_single_get_size": CHUNK_BYTES,
        "max_chunk_get_size": CHUNK_BYTES,
    }


def _is_folder(told: "BlobProperties") -> bool:
    return (told.metadata or {}).get(FOLDER) == "true"


def _service(source: ExportSource, meter: Meter) -> "tuple[str, BlobServiceClient]":
    """Return the address of the account that a location begins with, and a client of it."""
    from azure.storage.blob import BlobServiceClient

    account = _below(source.endpoint, source.location)
    connection = _connection(source.location, account)
    if connection is not None:
        try:
            service = BlobServiceClient.from_connection_string(connection, **settings(meter))
        except ValueError:
            raise _unusable(source.location, "one that names no account") from None
        _refuse_open(service.url)
        own = account or _below(service.url.partition("?")[0], source.location)
        if own is not None:
            return own, service
    account = account or "/".join(source.location.split("/")[:3])
    refuse_http(account)
    return account, BlobServiceClient(account, credential=credential(), **settings(meter))


def _refuse_open(address: str) -> None:
    """Refuse to send a signature, which is in the address, where others could read it.

    Raise `DeliveryError` (exit code 2).
    """
    plain, _, signature = address.partition("?")
    if signature and not is_loopback(plain):
        refuse_http(plain)


def _below(address: str | None, location: str) -> str | None:
    """Return the part of a location that is this address, in the location's own spelling."""
    plain = (address or "").rstrip("/")
    begins = plain and f"{location}/".lower().startswith(f"{plain}/".lower())
    return location[: len(plain)] if begins else None


def _connection(location: str, account: str | None) -> str | None:
    """Return the connection string of the environment, for the account if one is given."""
    text = os.environ.get(CONNECTION)
    if not text:
        return None
    parts = dict(part.split("=", 1) for part in text.split(";") if "=" in part)
    named = {key.lower() for key in parts}
    if not named & {"accountkey", "sharedaccesssignature"}:
        raise _unusable(location, "one without key or signature")
    if account is not None:
        parts = {key: value for key, value in parts.items() if key.lower() != "blobendpoint"}
        parts["BlobEndpoint"] = account
    return ";".join(f"{key}={value}" for key, value in parts.items())


def _unusable(location: str, got: str) -> DeliveryError:
    return DeliveryError(
        f"{CONNECTION} cannot be used",
        exit_code=WRONG_USE,
        where=location,
        expected="a connection string of a storage account",
        got=got,
        hint="copy it again, or unset it and sign in (az login)",
    )
