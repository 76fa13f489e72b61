"""The lake: a folder of Parquet files that anybody can read while a run replaces them.

    normalised/billing_period=YYYY-MM/provider=<p>/source=<s>/part.parquet
    <table>/billing_period=YYYY-MM/part.parquet     (and part.csv for people's tables)
    history/<run>/...    the same paths: the files of every published run
    runs/<run>.json      one record a run
    staging/<run>/...    what a run is still writing

A file in `history` and its twin in place share their bytes on disk (hard links), so a published
run costs space only once it is superseded. Publishing takes three steps:

1. every staged file is linked into `history/<run>`,
2. every staged file is moved into its place with `os.replace`; files of the month that the run
   does not have are removed,
3. the record is moved into place with `os.replace`.

The last step is the commit. `leerlauf` reads a run through its record from `history`, so it sees
all tables of one run, also in the middle of step 2; whoever reads the files in place sees each
partition old or new, never torn. What a killed run did is undone by the next run.
"""

import fcntl
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import duckdb

from pipelines import ledger, queries
from pipelines.engine import connect
from pipelines.errors import ConfigurationError, LakeError
from pipelines.record import RunRecord, is_run_id, new_run_id, read_record
from transforms.schema import TABLES

__all__ = ["Lake", "RunRecord"]


class Lake:
    """One lake. Only the holder of its lock may write to it; anybody may read."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # --------------------------------------------------------------------------- writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lake for one run, and clear away what a killed run left behind.

        Raise `LakeError` where another run holds it, or where it cannot be written, is damaged
        or of a newer schema.
        """
        with self._writing():
            self.path.mkdir(parents=True, exist_ok=True)
            holder = (self.path / ".lock").open("a+", encoding="utf-8")
        with holder:
            self._take(holder)
            with self._writing():
                self._clear()
            yield

    def new_run(self) -> str:
        """Return the id of a new run; ids sort by the order in which runs hold the lock."""
        return new_run_id(path.stem for path in self._record_paths())

    def stage(self, run: str) -> Path:
        """Return an empty folder on the lake's disk; files get the paths they will have."""
        folder = self.path / "staging" / run
        with self._writing():
            folder.mkdir(parents=True)
        return folder

    def publish(self, record: RunRecord, staged: Path) -> RunRecord:
        """Publish a run whose files lie in `staged`, and return its record as published.

        Raise `LakeError` where the staged files are not those that the record names, or where
        the disk fails; the run that was published before stays what readers see.
        """
        published = record.model_copy(update={"published": True})
        names = _named_files(published, staged)
        with self._writing():
            for name in names:  # 1. what the record names is kept for good
                _link(staged / name, self._history(published.run, name))
            for name in names:  # 2. each partition is old or new
                _move(staged / name, self.path / name)
            self._remove_others(published.billing_period, names)
            self.note(published)  # 3. from here on this is the newest run
            shutil.rmtree(staged)
        return published

    def note(self, record: RunRecord) -> None:
        """Write the record of a run; if it is not published, nothing else changes."""
        path = self.path / "runs" / f"{record.run}.json"
        partial = path.with_suffix(".partial")
        with self._writing():
            path.parent.mkdir(exist_ok=True)
            partial.write_text(record.model_dump_json(indent=2) + "\n", encoding="utf-8")
            _sync(partial)
            partial.replace(path)

    # --------------------------------------------------------------------------- reading

    def records(self) -> list[RunRecord]:
        """Return the records of all runs, the newest first.

        Raise `LakeError` where one is damaged or of a newer schema.
        """
        return [read_record(path) for path in self._record_paths()]

    def newest(self, month: str | None = None) -> RunRecord:
        """Return the newest published run, of `month` if given.

        Raise `ConfigurationError` where there is none.
        """
        record = self._newest(month)
        if record is None:
            raise ConfigurationError(
                f"no run{f' of {month}' if month else ''} is published in this lake",
                where=str(self.path),
                hint=f"leerlauf run {month or 'YYYY-MM'}",
            )
        return record

    def files(self, record: RunRecord, table: str) -> list[Path]:
        """Return the files of one table of a published run.

        Raise `LakeError` where the run published nothing.
        """
        if not record.published:
            raise LakeError(
                "this run published nothing",
                where=f"run {record.run} of {record.billing_period}",
                hint="read the findings of the run, or choose another run",
            )
        paths = [(self._history(record.run, f.path), f.path) for f in record.tables[table]]
        return [kept if kept.exists() else self.path / name for kept, name in paths]

    def connect(self, record: RunRecord) -> duckdb.DuckDBPyConnection:
        """Return a connection with one view for each table of a run and the views of sql/views.

        All tables are those of this one run, whatever is published meanwhile.
        """
        con = connect()
        for table in TABLES:
            paths = [path for path in self.files(record, table) if path.suffix == ".parquet"]
            _create_view(con, table, paths)
        _create_settings(con, record)
        ledger.define_macros(con)
        for name in queries.names("views"):
            con.execute(f"CREATE VIEW {name} AS {queries.read(f'views/{name}')}")
        return con

    # ---------------------------------------------------------------------------- inside

    def _record_paths(self) -> list[Path]:
        """Return the paths of the records, the newest first; ids sort by time."""
        return sorted((self.path / "runs").glob("*.json"), reverse=True)

    def _newest(self, month: str | None) -> RunRecord | None:
        records = map(read_record, self._record_paths())
        return next((r for r in records if r.published and month in (r.billing_period, None)), None)

    def _history(self, run: str, name: str = "") -> Path:
        return self.path / "history" / run / name

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn what a disk says into a message."""
        try:
            yield
        except OSError as error:
            raise LakeError(
                "the lake cannot be written",
                where=str(error.filename or self.path),
                got=error.strerror or str(error),
                hint="check the disk and the permissions, then run the command again",
            ) from error

    def _take(self, holder: IO[str]) -> None:
        """Lock the open file `holder` and write into it who holds it."""
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder.seek(0)
            raise LakeError(
                "another run holds the lake",
                where=str(self.path),
                got=holder.read().strip() or "a process that has only just started",
                hint="wait until it has ended, then run the command again",
            ) from error
        holder.truncate(0)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        holder.write(f"process {os.getpid()} on {socket.gethostname()} since {since}\n")
        holder.flush()

    def _clear(self) -> None:
        """Undo what a killed run did: its staged files, its history, its files in place."""
        published = {record.run for record in self.records() if record.published}
        shutil.rmtree(self.path / "staging", ignore_errors=True)
        for folder in sorted((self.path / "history").glob("*")):
            if is_run_id(folder.name) and folder.name not in published:
                months = {path.name.partition("=")[2] for path in folder.glob("*/billing_period=*")}
                for month in sorted(months):
                    self._restore(month)
                shutil.rmtree(folder)

    def _restore(self, month: str) -> None:
        """Put the files of the newest published run of `month` back in place."""
        record = self._newest(month)
        kept = {n: self._history(record.run, n) for n in record.file_names()} if record else {}
        for name, file in kept.items():
            _put_back(file, self.path / name)
        self._remove_others(month, list(kept))

    def _remove_others(self, month: str, names: list[str]) -> None:
        """Remove files of the month that are not among `names`: their source is gone."""
        kept = {self.path / name for name in names}
        for table in TABLES:
            partition = self.path / table / f"billing_period={month}"
            for path in sorted(partition.rglob("part.*")):
                if path not in kept:
                    path.unlink()
                    _remove_empty_folders(path.parent, partition)


def _link(file: Path, name: Path) -> None:
    """Give a file a second name; on a disk that knows no hard links, make a copy."""
    _sync(file)
    name.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(file, name)
    except OSError:
        shutil.copy2(file, name)


def _move(file: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    file.replace(place)


def _put_back(kept: Path, place: Path) -> None:
    if kept.exists() and not (place.exists() and place.samefile(kept)):
        copy = place.with_name(".restored")
        copy.unlink(missing_ok=True)
        _link(kept, copy)
        _move(copy, place)


def _sync(file: Path) -> None:
    with file.open("rb") as stream:
        os.fsync(stream.fileno())


def _remove_empty_folders(folder: Path, top: Path) -> None:
    """Remove `folder` and those above it, up to `top`, as long as they are empty."""
    while folder.is_relative_to(top) and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _named_files(record: RunRecord, staged: Path) -> list[str]:
    """Return the paths of the files of a run, sorted; they must be exactly the staged ones."""
    named = record.file_names()
    found = sorted(p.relative_to(staged).as_posix() for p in staged.rglob("*") if p.is_file())
    if named != found:
        raise LakeError(
            "the staged files are not those of the record",
            where=str(staged),
            expected=", ".join(sorted(set(named) - set(found))) or "no other files",
            got=", ".join(sorted(set(found) - set(named))) or "not there",
        )
    return named


def _create_view(con: duckdb.DuckDBPyConnection, table: str, paths: list[Path]) -> None:
    """Create the view of a table; every column stands in the files, none is read from a path."""
    columns = ", ".join(f'"{column}"' for column in TABLES[table])
    files = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
    con.execute(f"""
        CREATE VIEW {table} AS
        SELECT {columns}
        FROM read_parquet([{files}], hive_partitioning = false)
    """)


def _create_settings(con: duckdb.DuckDBPyConnection, record: RunRecord) -> None:
    """Create the one row that says how the month was run."""
    report = record.configuration["report"]
    con.execute(
        "CREATE TABLE settings AS SELECT $1 AS billing_period, $2 AS cost_view, "
        "$3 AS charge_basis, $4 AS month_status",
        [record.billing_period, report["cost_view"], report["charge_basis"], record.month_status],
    )
