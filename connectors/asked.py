"""Deliveries that no listing shows: they are asked for, and their files are known only then.

What is asked for is a file of unknown size (0). The answer may have several pages, which lie
beside it: `2026-10-14.json`, `2026-10-14-2.json`. How new an answer is, is told by the day: it is
asked for once a day until the provider has closed the month, and then never again.
"""

import hashlib
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path, PurePosixPath

from connectors import raw
from connectors.base import Delivery, Progress, Receipt, ReceiptFile, RemoteFile, Store
from connectors.days import month_days

CLOSED_AFTER = timedelta(days=6)
"""A month's cost may change until the fifth day of the next one."""


def today() -> date:
    """The day that is not over yet."""
    return datetime.now(UTC).date()


def moment(month: str) -> datetime:
    """Return how new an answer about the month is, if it is asked for now."""
    day = min(today(), month_days(month)[1] + CLOSED_AFTER)
    return datetime.combine(day, time(), UTC)


def part_name(target: Path, number: int) -> Path:
    """Return where a part of an answer waits until all are there."""
    return target.with_name(f".{target.name}.{number}")


def page_name(path: Path, number: int) -> Path:
    """Return where a page of an answer lies; the first has the name of the whole."""
    name, dot, suffixes = path.name.partition(".")
    return path if number == 1 else path.with_name(f"{name}-{number}{dot}{suffixes}")


def publish(target: Path, parts: Iterable[Path]) -> str:
    """Give the parts of a whole answer their names, the first last; return the first one's hash.

    Where the first part has its name, all have; what an earlier try left behind is removed.
    """
    whole = list(parts)
    name, dot, suffixes = target.name.partition(".")
    left = {
        *target.parent.glob(f"{name}-*{dot}{suffixes}"),
        *target.parent.glob(f".{target.name}.*"),
    }
    for path in left.difference(whole):
        path.unlink()
    for number, part in reversed(list(enumerate(whole, start=1))):
        part.rename(page_name(target, number))
    return sha256_of(target) if whole else hashlib.sha256().hexdigest()


def fetch(store: Store, delivery: Delivery, into: Path, progress: Progress) -> Receipt:
    """Copy the delivery to `into/<billing period>/<delivery id>` unless it is there already.

    The receipt gets the files as they came last of all: a copy without it, as a kill in between
    leaves it, counts as damaged and is fetched again.
    """
    receipt = raw.fetch(store, delivery, into, progress)
    folder = raw.folder(delivery, into)
    names = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    if {file.name for file in receipt.files if file.size} == names - {raw.RECEIPT}:
        return receipt
    files = [_came(folder, file, names) for file in delivery.files]
    known = receipt.model_copy(update={"files": tuple(it for found in files for it in found)})
    text = known.model_dump_json(indent=2) + "\n"
    written = folder / f".{raw.RECEIPT}"
    written.write_text(text, encoding="utf-8")
    written.replace(folder / raw.RECEIPT)
    return known


def _came(folder: Path, file: RemoteFile, names: set[str]) -> list[ReceiptFile]:
    """Return the pages of what was asked for."""
    found: list[ReceiptFile] = []
    while (name := page_name(Path(file.path), len(found) + 1).as_posix()) in names:
        path = folder / PurePosixPath(name)
        found.append(
            ReceiptFile(
                name=name,
                uri=file.uri,
                size=path.stat().st_size,
                modified=file.modified,
                etag=file.etag,
                sha256=sha256_of(path),
            )
        )
    return found


def sha256_of(path: Path) -> str:
    """Return the hash of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
