"""Copies whose rows are as many as the provider said."""

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from connectors.base import Meter, Progress, RemoteFile, Store
from connectors.errors import UNREADABLE, DeliveryError


class CountingStore:
    """A store that counts the rows of what it copies; nothing of them is read.

    told: returns path -> rows, asked for when the first file is copied.
    """

    def __init__(self, store: Store, told: Callable[[], Mapping[str, int]]) -> None:
        self.location = store.location
        self._store = store
        self._ask = told

    @property
    def meter(self) -> Meter:
        """What was asked of the store so far."""
        return self._store.meter

    def listing(self) -> list[RemoteFile]:
        """Return every file of the store."""
        return list(self._store.listing())

    def find(self, name: str) -> RemoteFile | None:
        """Return the file of the store that has this full name."""
        return self._store.find(name)

    def read(self, file: RemoteFile) -> bytes:
        """Return the content of a small file."""
        return self._store.read(file)

    def copy(self, file: RemoteFile, target: Path, progress: Progress) -> str:
        """Write an exact copy to `target` and return its sha256.

        Raise `DeliveryError` where it has another number of rows than the provider said.
        """
        sha256 = self._store.copy(file, target, progress)
        told = self._told.get(file.path)
        counted = None if told is None else rows_of(target)
        # Whether the line of headers counts is nowhere written.
        if told is not None and counted is not None and told - counted not in (0, 1):
            raise DeliveryError(
                "a file has another number of rows than its manifest says",
                exit_code=UNREADABLE,
                where=file.uri,
                expected=f"{told} rows",
                got=f"{counted} rows",
                hint="run the export again in Azure, or copy the folder of the run again",
            )
        return sha256

    @cached_property
    def _told(self) -> Mapping[str, int]:
        return self._ask()


def rows_of(path: Path) -> int | None:
    """Return the number of rows of a CSV or Parquet file; None where they cannot be counted."""
    import polars as pl

    try:
        if path.suffix.lower() == ".parquet":
            rows = pl.scan_parquet(path)
        else:
            rows = pl.scan_csv(path, infer_schema=False, truncate_ragged_lines=True)
        return int(rows.select(pl.len()).collect(engine="streaming").item())
    except pl.exceptions.NoDataError:
        return 0
    except (pl.exceptions.PolarsError, OSError):
        return None
