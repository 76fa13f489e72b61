"""A folder as a store of files."""

import hashlib
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import BinaryIO

from connectors.base import Meter, Progress, RemoteFile
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError

CHUNK_BYTES = 1 << 20
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TABLE = re.compile(r"(?:[\w.-]+:)?[\w-]+\.[\w$-]+\.[\w$*-]+")


class FolderStore:
    """The files below one folder; links are followed only to files that lie below it too."""

    def __init__(self, location: str) -> None:
        """Raise `DeliveryError` (exit code 2) where `location` is not a folder."""
        _refuse_table(location)
        self.location = location
        self.meter = Meter()
        self._root = _resolved(Path(location))
        if not self._root.is_dir():
            raise DeliveryError(
                "the location is not a folder" if self._root.exists() else "no such folder",
                exit_code=WRONG_USE,
                where=location,
                expected="a folder with the files of a billing export",
                hint="set `location` of the source to the folder the export was copied to",
            )

    def listing(self) -> list[RemoteFile]:
        """Return every file below the folder, sorted by path; hidden files are not part of it."""
        try:
            return sorted((self._remote(path) for path in self._walk()), key=lambda file: file.path)
        except OSError as error:
            raise self._unreadable(str(error.filename), error) from error

    def find(self, name: str) -> RemoteFile | None:  # noqa: ARG002
        """Return None: a folder has no files that its listing does not show."""
        return None

    def read(self, file: RemoteFile) -> bytes:
        """Return the content of a small file."""
        with self._open(file) as stream:
            return stream.read()

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        """Write an exact copy to `target` and return its sha256."""
        digest, done = hashlib.sha256(), 0
        with self._open(file) as stream, target.open("wb") as copy:
            while chunk := stream.read(CHUNK_BYTES):
                digest.update(chunk)
                copy.write(chunk)
                done += len(chunk)
                self.meter.add(bytes=len(chunk))
                progress(target.name, done, file.size)
            copy.flush()
            os.fsync(copy.fileno())
        if self._remote(self._root / file.path) != file or target.stat().st_size != file.size:
            raise DeliveryError(
                "the file changed while it was copied",
                exit_code=UNREADABLE,
                where=file.uri,
                hint="wait until the export is written, then run the command again",
            )
        return digest.hexdigest()

    def _walk(self) -> Iterator[Path]:
        def refuse(error: OSError) -> None:
            raise error

        for folder, folders, names in os.walk(self._root, onerror=refuse):
            folders[:] = [name for name in folders if not name.startswith(".")]
            yield from (Path(folder, name) for name in names if not name.startswith("."))

    def _remote(self, path: Path) -> RemoteFile:
        facts = path.lstat() if self._leads_outside(path) else path.stat()
        return RemoteFile(
            path=path.relative_to(self._root).as_posix(),
            uri=path.as_uri(),
            size=facts.st_size,
            modified=EPOCH + timedelta(microseconds=facts.st_mtime_ns // 1000),
        )

    def _leads_outside(self, path: Path) -> bool:
        return not _resolved(path).is_relative_to(self._root)

    def _open(self, file: RemoteFile) -> BinaryIO:
        path = self._root / file.path
        if self._leads_outside(path):
            raise DeliveryError(
                "a link leads outside the location",
                exit_code=UNREADABLE,
                where=file.uri,
                expected=f"a file below {self._root}",
                got=str(_resolved(path)),
                hint="copy the file there, or set `location` to the folder that holds it",
            )
        try:
            return path.open("rb")
        except OSError as error:
            raise self._unreadable(file.uri, error) from error

    @staticmethod
    def _unreadable(where: str, error: OSError) -> DeliveryError:
        return DeliveryError(
            "the file or folder cannot be read",
            exit_code=UNREADABLE,
            where=where,
            got=error.strerror or str(error),
            hint="check its permissions and the disk, then run the command again",
        )


def is_table(location: str) -> bool:
    """Tell whether `location` is a table's name (project.dataset.table) and no path."""
    return TABLE.fullmatch(location) is not None


def _refuse_table(location: str) -> None:
    if is_table(location):
        raise DeliveryError(
            "a table is no place with files",
            exit_code=WRONG_USE,
            where=location,
            expected="a folder with the files of a billing export",
            got="the name of a table",
            hint="correct `location` of the source; `./` makes a name a path",
        )


def _resolved(path: Path) -> Path:
    """Return `path` without links. A circle of links stays as it is, and cannot be opened."""
    return Path(os.path.realpath(path))
