"""From raw files to the slices of a month, one file a task, remembered by content.

The parts of a file depend only on its bytes, the version of the transform, and the dataset, metric,
month and wanted labels of its source, so a changed rule never reads a raw file again.
"""

import hashlib
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pipelines.errors import ConfigurationError
from pipelines.exports import reading, scan
from pipelines.providers import Provider
from transforms.sliced import Context, Sliced


@dataclass(frozen=True)
class RawFile:
    """One file of a delivery: its copy in the lake, its name in the delivery, its hash.

    is_split: it says how the cost of clusters is split, and is no bill itself.
    """

    path: Path
    name: str
    size: int
    sha256: str
    is_split: bool = False


def slice_source(
    provider: Provider, files: Sequence[RawFile], context: Context, cache: Path
) -> Sliced:
    """Return the slices of one source and month.

    Raises ConfigurationError where the month has no billed row: an empty sum proves nothing.
    """
    folders = [(file, slice_file(provider, file, context, cache)) for file in files]
    named = [(file.name, folder) for file, folder in folders if folder is not None]
    if not named:
        raise _nothing(context, "files without a row")
    sliced = provider.transform.combine(_parts(named), context)
    view = provider.transform.views(context)[0]
    fates = sliced.totals.filter(cost_view=view).group_by("fate").agg(pl.col("rows").sum())
    rows = dict(fates.sort("fate").iter_rows())
    if not rows.get("sliced"):
        found = ", ".join(f"{count} rows of {fate}" for fate, count in rows.items())
        raise _nothing(context, found or "no row at all")
    return sliced


def _parts(named: Sequence[tuple[str, Path]]) -> dict[str, pl.LazyFrame]:
    """Return each part of all files, with `source_file`. named: file name, folder of its parts."""
    parts: dict[str, list[pl.LazyFrame]] = {}
    for name, folder in named:
        for path in sorted(folder.glob("*.parquet")):
            rows = pl.scan_parquet(path, glob=False)
            parts.setdefault(path.stem, []).append(rows.with_columns(source_file=pl.lit(name)))
    return {part: pl.concat(frames, how="vertical") for part, frames in parts.items()}


def _nothing(context: Context, got: str) -> ConfigurationError:
    return ConfigurationError(
        f"no billed row of {context.billing_period}",
        where=f"source {context.source}",
        expected=f"rows that the bill of {context.billing_period} counts",
        got=got,
        hint="copy the export of that month here, or correct `location` of the source",
    )


def slice_file(provider: Provider, file: RawFile, context: Context, cache: Path) -> Path | None:
    """Return the folder with the parts of one raw file, made now or before; None if it is empty.

    Raises InputError or LeerlaufError where the file cannot be read.
    """
    folder = cache / _key(provider, file, context)
    if folder.exists():
        return folder
    with reading(file.name):
        raw = scan(file.path)
        if raw is None:
            return None
        if file.is_split:
            parts = provider.split_transform.slice_split(raw, context)
        else:
            parts = provider.transform.slice_file(raw, context)
        unfinished = cache / f".{uuid.uuid4().hex}"
        unfinished.mkdir(parents=True)
        try:
            sinks = [
                part.sink_parquet(unfinished / f"{name}.parquet", lazy=True)
                for name, part in parts.items()
            ]
            pl.collect_all(sinks, engine="streaming")  # together, so that a row is read once
            unfinished.replace(folder)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
    return folder


def _key(provider: Provider, file: RawFile, context: Context) -> str:
    named = (
        "split" if file.is_split else "bill",
        provider.name,
        context.dataset,
        context.metric or "",
        str(provider.transform.VERSION),
        pl.__version__,
        context.billing_period,
        *context.labels,
        file.path.suffix,
        file.sha256,
    )
    return hashlib.sha256("\x1f".join(named).encode()).hexdigest()
