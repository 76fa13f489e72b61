"""The raw stage of the lake: exact copies of a delivery with a receipt.

A delivery is copied into a hidden folder and renamed when it is complete, receipt included: what
can be seen under `raw/<source>/<billing period>/` is whole. The hidden folder is named after the
delivery and notes what is finished, so that a fetch that broke off is continued.
"""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from connectors.base import Delivery, Progress, Receipt, ReceiptFile, RemoteFile, Store
from connectors.errors import UNREADABLE, DeliveryError

RECEIPT = "receipt.json"
PARTIAL = ".partial-"
FINISHED = ".finished"


def fetch(store: Store, delivery: Delivery, into: Path, progress: Progress) -> Receipt:
    """Copy `delivery` to `into/<billing period>/<delivery id>` unless it is there already.

    Raise `DeliveryError` (exit code 3) where a file cannot be read or written.
    """
    target = folder(delivery, into)
    there = _receipt(target)
    if there is not None:
        return there
    try:
        _remove_leftovers(target)
        return _copy(store, delivery, target, progress)
    except OSError as error:
        raise DeliveryError(
            "the delivery cannot be copied",
            exit_code=UNREADABLE,
            where=str(error.filename or target),
            got=error.strerror or str(error),
            hint="check the disk and the permissions, then run the command again",
        ) from error


def folder(delivery: Delivery, into: Path) -> Path:
    """Return the folder a delivery is copied to; `into` is `raw/<source>`."""
    return into / delivery.month / delivery.id


def _receipt(target: Path) -> Receipt | None:
    """Return the receipt of a copy that is still whole, else None."""
    try:
        receipt = Receipt.model_validate_json((target / RECEIPT).read_bytes())
        copies = (*receipt.files, *([receipt.manifest] if receipt.manifest else []))
        whole = all((target / file.name).stat().st_size == file.size for file in copies)
    except (OSError, ValueError):
        return None
    return receipt if whole else None


def _remove_leftovers(target: Path) -> None:
    """Remove what was begun of other deliveries; only one run at a time writes to a lake."""
    for leftover in target.parent.glob(f"{PARTIAL}*"):
        if leftover != _partial(target):
            shutil.rmtree(leftover)


def _partial(target: Path) -> Path:
    return target.with_name(f"{PARTIAL}{target.name}")


def _copy(store: Store, delivery: Delivery, target: Path, progress: Progress) -> Receipt:
    begun, names = _Begun(_partial(target)), _names(delivery)
    copies = {
        file.path: begun.copy(store, file, names[file.path], progress)
        for file in delivery.everything
    }
    receipt = Receipt(
        delivery=delivery.id,
        billing_period=delivery.month,
        location=delivery.location,
        provider_run_id=delivery.provider_run_id,
        fetched_at=datetime.now(UTC),
        files=tuple(copies[file.path] for file in delivery.files),
        manifest=copies[delivery.manifest.path] if delivery.manifest else None,
        calls=store.meter.calls,
        bytes=store.meter.bytes,
        retries=store.meter.retries,
    )
    begun.publish(receipt, target)
    return receipt


class _Begun:
    """The hidden folder of a copy under way, with a note of each file that is finished."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._notes = folder / FINISHED
        self._finished = set(self._read()) if self._notes.exists() else set()

    def _read(self) -> Iterator[ReceiptFile]:
        """Yield what is noted, except what a kill cut off."""
        for line in self._notes.read_bytes().splitlines():
            with suppress(ValueError):
                yield ReceiptFile.model_validate_json(line)

    def copy(self, store: Store, file: RemoteFile, name: str, progress: Progress) -> ReceiptFile:
        """Copy one file, unless the very same one is here already."""
        target = self._folder / name
        if PurePosixPath(name).is_absolute() or ".." in name.split("/"):
            raise _outside(file)
        for copied in self._finished:
            if copied == _described(file, name, copied.sha256) and _size(target) == file.size:
                progress(target.name, file.size, file.size)
                return copied
        target.parent.mkdir(parents=True, exist_ok=True)
        copied = _described(file, name, store.copy(file, target, progress))
        with self._notes.open("a", encoding="utf-8") as notes:
            notes.write(f"\n{copied.model_dump_json()}\n")
        return copied

    def publish(self, receipt: Receipt, target: Path) -> None:
        """Show the whole copy, in place of one that is damaged."""
        text = receipt.model_dump_json(indent=2) + "\n"
        (self._folder / RECEIPT).write_text(text, encoding="utf-8")
        if target.exists():
            shutil.rmtree(target)
        self._notes.unlink()
        self._folder.rename(target)


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _described(file: RemoteFile, name: str, sha256: str) -> ReceiptFile:
    return ReceiptFile(
        name=name,
        uri=file.uri,
        size=file.size,
        modified=file.modified,
        etag=file.etag,
        sha256=sha256,
    )


def _outside(file: RemoteFile) -> DeliveryError:
    return DeliveryError(
        "the name of a file leads outside the delivery",
        exit_code=UNREADABLE,
        where=file.uri,
        expected="names below the location",
        got=file.path,
        hint="rename the file, or set `location` to another folder",
    )


def _names(delivery: Delivery) -> dict[str, str]:
    """Return the name of each copy: its path below the folder that all data files share.

    Without a manifest it is the whole path: then the folders are all that may tell a day.
    """
    if delivery.manifest is None:
        return {file.path: file.path for file in delivery.files}
    parents = [PurePosixPath(file.path).parent.parts for file in delivery.files]
    shared = 0
    while all(len(p) > shared and p[: shared + 1] == parents[0][: shared + 1] for p in parents):
        shared += 1
    names = {file.path: "/".join(file.path.split("/")[shared:]) for file in delivery.files}
    names[delivery.manifest.path] = f"manifest/{PurePosixPath(delivery.manifest.path).name}"
    return names
