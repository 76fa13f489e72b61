"""The raw stage of the lake: exact copies of a delivery with a receipt.

A delivery is copied into a hidden folder and renamed when it is complete, receipt included: what
can be seen under `raw/<source>/<billing period>/` is whole.
"""

import secrets
import shutil
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from connectors.base import Delivery, Progress, Receipt, ReceiptFile, RemoteFile, Store
from connectors.errors import UNREADABLE, DeliveryError

RECEIPT = "receipt.json"
PARTIAL = ".partial-"


def fetch(store: Store, delivery: Delivery, into: Path, progress: Progress) -> Receipt:
    """Copy `delivery` to `into/<billing period>/<delivery id>` unless it is there already.

    Raise `DeliveryError` (exit code 3) where a file cannot be read or written.
    """
    target = folder(delivery, into)
    there = _receipt(target)
    if there is not None:
        return there
    try:
        _remove_leftovers(target.parent)
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
        sizes = [(target / file.name).stat().st_size for file in receipt.files]
    except (OSError, ValueError):
        return None
    return receipt if sizes == [file.size for file in receipt.files] else None


def _remove_leftovers(period: Path) -> None:
    """Remove what killed runs left behind; only one run at a time writes to a lake."""
    for leftover in period.glob(f"{PARTIAL}*"):
        shutil.rmtree(leftover)


def _copy(store: Store, delivery: Delivery, target: Path, progress: Progress) -> Receipt:
    partial = target.parent / f"{PARTIAL}{secrets.token_hex(4)}"
    partial.mkdir(parents=True)
    names = _names(delivery)
    copies = {
        file.path: _described(file, name, _copy_file(store, file, partial / name, progress))
        for file in delivery.everything
        for name in (names[file.path],)
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
    (partial / RECEIPT).write_text(receipt.model_dump_json(indent=2) + "\n", encoding="utf-8")
    if target.exists():
        shutil.rmtree(target)
    partial.rename(target)
    return receipt


def _described(file: RemoteFile, name: str, sha256: str) -> ReceiptFile:
    return ReceiptFile(
        name=name,
        uri=file.uri,
        size=file.size,
        modified=file.modified,
        etag=file.etag,
        sha256=sha256,
    )


def _copy_file(store: Store, file: RemoteFile, target: Path, progress: Progress) -> str:
    target.parent.mkdir(parents=True, exist_ok=True)
    return store.copy(file, target, progress)


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
