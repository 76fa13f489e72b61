"""The rows of a query as pages: Parquet files of bounded size, each of them complete or not there.

A journal beside them names the job whose rows they are, so that a copy that broke off goes on
after the rows it holds. It can where rows come in an order that the job keeps.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from connectors.asked import part_name

if TYPE_CHECKING:
    import pyarrow as pa


class Job(BaseModel, frozen=True):
    """A query that is paid for, and whether its rows come in the order of their numbers."""

    project: str
    id: str
    location: str
    ordered: bool


class Pages:
    """The complete pages of one answer."""

    def __init__(self, target: Path, page_rows: int, group_bytes: int) -> None:
        self._target = target
        self._page_rows = page_rows
        self._group_bytes = group_bytes
        self._journal = target.with_name(f".{target.name}.job")
        self.parts: list[Path] = []
        self.rows = 0
        self.job = self._noted()
        if self.job is not None and self.job.ordered:
            self._count()
        else:
            self._drop()

    def _noted(self) -> Job | None:
        """Return the job of the journal; none where a kill cut it off."""
        try:
            return Job.model_validate_json(self._journal.read_bytes())
        except (OSError, ValueError):
            return None

    def _count(self) -> None:
        import pyarrow.parquet as pq

        while (part := part_name(self._target, len(self.parts))).exists():
            self.parts.append(part)
            self.rows += pq.read_metadata(part).num_rows

    def _drop(self) -> None:
        for part in self._target.parent.glob(f"{part_name(self._target, 0).stem}.[0-9]*"):
            part.unlink()
        self.parts, self.rows = [], 0

    def note(self, job: Job) -> None:
        """Remember whose rows the pages are."""
        self._journal.write_text(job.model_dump_json(), encoding="utf-8")
        self.job = job

    def forget(self) -> None:
        """Remove the pages, and first what says whose they are."""
        self._journal.unlink(missing_ok=True)
        self.job = None
        self._drop()

    def write(self, batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        """Write what comes after the rows that are here, and yield each batch as it is taken."""
        coming = (batch for batch in batches if batch.num_rows)
        for first in coming:
            part = part_name(self._target, len(self.parts))
            unfinished = part.with_name(f"{part.name}.new")
            with closing(_Parquet(unfinished, self._group_bytes)) as parquet:
                for batch in chain([first], coming):
                    parquet.add(batch)
                    yield batch
                    if parquet.rows >= self._page_rows:
                        break
            unfinished.rename(part)
            self.parts.append(part)
            self.rows += parquet.rows


class _Parquet:
    """A Parquet file that grows by batches; no more than one group of rows is in memory."""

    def __init__(self, target: Path, group_bytes: int) -> None:
        self.rows = 0
        self._target = target
        self._group_bytes = group_bytes
        self._group: list[pa.RecordBatch] = []
        self._size = 0
        self._writer: Any = None

    def add(self, batch: "pa.RecordBatch") -> None:
        self._group.append(batch)
        self._size += batch.nbytes
        self.rows += batch.num_rows
        if self._size >= self._group_bytes:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if self._group:
            rows = pa.Table.from_batches(self._group)
            if self._writer is None:
                self._writer = pq.ParquetWriter(self._target, rows.schema, compression="zstd")
            self._writer.write_table(rows, row_group_size=rows.num_rows)
        self._group, self._size = [], 0

    def close(self) -> None:
        self._flush()
        if self._writer is not None:
            self._writer.close()
