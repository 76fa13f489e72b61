"""Deliveries of Cost Management exports and of the split files that lie apart from them.

Every run of an export has a manifest. Of the runs of a month the newest complete one counts: an
export that creates new reports leaves one for each day, each with the whole month so far, and in
the first days of a month a second run rewrites the last one. Where a location has no manifest at
all, the files of its one folder count. Split files have no manifest; the days in their names and
folders tell which month they are of.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from connectors import arm, azure_manifest, cost_details, managed_clusters, query, raw
from connectors.azure_manifest import Blob, Run, is_data, is_manifest
from connectors.base import (
    Delivery,
    ExportSource,
    Inspected,
    Progress,
    Receipt,
    RemoteFile,
    Store,
)
from connectors.days import days_of, month_days
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from connectors.naming import named
from connectors.places import open_store
from connectors.row_counts import CountingStore

Fetch = Callable[[ExportSource, Delivery, Path, Progress], Receipt]
SPLIT_SUFFIXES = (".json", ".csv", ".csv.gz")
FOCUS = "focus_export"
TYPE_OF = {"actual": "ActualCost", "amortized": "AmortizedCost"}


def discover(source: ExportSource, month: str) -> list[Delivery]:
    """Return the complete runs of `month` (YYYY-MM) below the location, the newest first.

    Raise `DeliveryError`: exit code 2 where there is none, where the runs are of more than one
    export, or of cost that the source is not said to hold; 3 where no run is complete.
    """
    if arm.is_scope(source.location):
        return [cost_details.discover(source, month)]
    store = open_store(source)
    files = store.listing()
    manifests = [file for file in files if is_manifest(file)]
    if not manifests:
        return [Delivery(store.location, month, _only_folder(store, files, month))]
    runs, damaged = _read(store, manifests)
    of_month = _newest_first([run for run in runs if run.holds(month_days(month)[0])], month)
    if not of_month:
        raise damaged[0] if damaged else _no_run(store, runs, month)
    _one_export(store, of_month)
    _right_type(source, of_month[0])
    return _complete(store, files, of_month, month)


def discover_splits(source: ExportSource, month: str) -> Delivery | None:
    """Return the split files of `month` below the location; None where there are none.

    An empty location asks Azure itself. Raise `DeliveryError` (exit code 2) where the location is
    not there.
    """
    if not source.location:
        return query.discover(source, month)
    store = open_store(source)
    files = tuple(file for file in store.listing() if _may_split(store, file, month))
    return Delivery(store.location, month, files) if files else None


def fetch(source: ExportSource, delivery: Delivery, into: Path, progress: Progress) -> Receipt:
    """Copy the delivery to `into/<billing period>/<delivery id>` unless it is there already."""
    if delivery.location == query.LOCATION:
        return _remembered(query.fetch, source, delivery, into, progress)
    if arm.is_scope(delivery.location):
        return _remembered(cost_details.fetch, source, delivery, into, progress)
    store = open_store(replace(source, location=delivery.location))
    counting = CountingStore(store, lambda: _rows(store, delivery))
    return raw.fetch(counting, delivery, into, progress)


def inspect(source: ExportSource, month: str) -> list[Inspected]:  # noqa: ARG001
    """Return what Azure says of the clusters of a source; files alone ask nobody."""
    online = arm.is_scope(source.location) or source.location.lower().startswith("https://")
    return managed_clusters.inspect(source) if online else []


def _remembered(
    fetched: Fetch, source: ExportSource, delivery: Delivery, into: Path, progress: Progress
) -> Receipt:
    """Fetch what Azure itself is asked for, and keep in mind which clusters it knows today."""
    is_new = not raw.folder(delivery, into).exists()
    receipt = fetched(source, delivery, into, progress)
    if is_new:
        managed_clusters.remember(source, into)
    return receipt


# ------------------------------------------------------------------------------- the runs


def _read(store: Store, manifests: Iterable[RemoteFile]) -> tuple[list[Run], list[DeliveryError]]:
    """Return what the manifests say, and why some cannot be read."""
    runs: list[Run] = []
    damaged: list[DeliveryError] = []
    for file in manifests:
        try:
            runs.append(azure_manifest.read(store, file))
        except DeliveryError as error:
            damaged.append(error)
    return runs, damaged


def _newest_first(runs: Iterable[Run], month: str) -> list[Run]:
    """Return the runs, the newest first; those that end before the month does come last.

    A run for chosen days, made by hand after the month, is newer but does not hold the month.
    """
    _, last = month_days(month)
    return sorted(runs, key=lambda run: (run.last >= last, run.submitted), reverse=True)


def _one_export(store: Store, runs: Iterable[Run]) -> None:
    exports = {run.export: run for run in runs}
    if len(exports) > 1:
        raise DeliveryError(
            "the location holds more than one export",
            exit_code=WRONG_USE,
            where=store.location,
            expected="the runs of one export",
            got=", ".join(
                sorted(
                    f"{run.name} ({run.type}) in {PurePosixPath(run.file.path).parent}"
                    for run in exports.values()
                )
            ),
            hint="set `location` of the source to a folder that holds one of them only",
        )


def _right_type(source: ExportSource, run: Run) -> None:
    """Refuse an export of other cost than the source is said to hold."""
    if source.dataset == FOCUS:
        expected = ["FocusCost"]
    else:
        expected = [TYPE_OF[source.metric]] if source.metric else list(TYPE_OF.values())
    if run.type is None or run.type.lower() in {name.lower() for name in expected}:
        return
    raise DeliveryError(
        "the export holds other cost than the source is said to hold",
        exit_code=WRONG_USE,
        where=run.file.uri,
        expected=f"an export of type {' or '.join(expected)}",
        got=run.type,
        hint="correct `dataset` or `metric` of the source, or set `location` to the right export",
    )


def _no_run(store: Store, runs: Iterable[Run], month: str) -> DeliveryError:
    days = sorted({run.days for run in runs})
    return DeliveryError(
        f"no delivery of {month}",
        exit_code=WRONG_USE,
        where=store.location,
        expected=f"a run of the export that begins on {month}-01",
        got=f"runs of {', '.join(days)}",
        hint="run the export for the whole month in Azure, or copy that run here",
    )


# ------------------------------------------------------------------------- their files


def _complete(
    store: Store, files: Sequence[RemoteFile], runs: Iterable[Run], month: str
) -> list[Delivery]:
    """Return the deliveries of the complete runs; without any, say what the newest lacks."""
    deliveries: list[Delivery] = []
    incomplete: list[DeliveryError] = []
    for run in runs:
        try:
            deliveries.append(_delivery(store, files, run, month))
        except DeliveryError as error:
            incomplete.append(error)
    if not deliveries:
        raise incomplete[0]
    return deliveries


def _delivery(store: Store, files: Sequence[RemoteFile], run: Run, month: str) -> Delivery:
    data = [file for file in files if is_data(file.path)]
    meant = [(b, _file_of(b, data, run.file) or store.find(b.name)) for b in run.blobs]
    found = {file.path: file for _, file in meant if file is not None}
    lacking = [_lacking(blob, file) for blob, file in meant]
    if any(lacking) or len(found) < len(meant):
        raise DeliveryError(
            f"no run of the export for {month} is complete",
            exit_code=UNREADABLE,
            where=run.file.uri,
            expected=f"the {len(meant)} files of its newest run, in the sizes of the manifest",
            got="; ".join(filter(None, lacking)) or f"{len(found)}: one is named twice",
            hint="copy the folder of the run again, once Azure has written it",
        )
    return Delivery(store.location, month, tuple(found.values()), run.file, run.run_id)


def _lacking(blob: Blob, file: RemoteFile | None) -> str:
    """Say what is wrong with the file of a blob; nothing is ""."""
    if file is None:
        return f"not found: {blob.name}"
    if blob.size not in (None, file.size):
        return f"{blob.name} has {file.size} bytes and not {blob.size}"
    return ""


def _file_of(blob: Blob, files: Iterable[RemoteFile], manifest: RemoteFile) -> RemoteFile | None:
    """Return the file of a blob: below the folder of the manifest, else anywhere."""
    name = tuple(blob.name.strip("/").split("/"))
    folder = PurePosixPath(manifest.path).parent
    everywhere = [
        (PurePosixPath(file.path), file) for file in files if file.path.endswith(name[-1])
    ]
    below = [
        (path.relative_to(folder).parts, file)
        for path, file in everywhere
        if path.is_relative_to(folder)
    ]
    return named(name, below, manifest) or named(
        name, [(path.parts, file) for path, file in everywhere], manifest
    )


def _rows(store: Store, delivery: Delivery) -> dict[str, int]:
    """Return path -> rows of the files whose manifest says how many there are."""
    if delivery.manifest is None:
        return {}
    blobs = azure_manifest.read(store, delivery.manifest).blobs
    meant = [(blob.rows, _file_of(blob, delivery.files, delivery.manifest)) for blob in blobs]
    return {file.path: rows for rows, file in meant if file is not None and rows is not None}


def _only_folder(store: Store, files: Iterable[RemoteFile], month: str) -> tuple[RemoteFile, ...]:
    """Return the data files of a location without manifests; they have to lie in one folder."""
    data = tuple(file for file in files if is_data(file.path))
    folders = sorted({str(PurePosixPath(file.path).parent) for file in data})
    if len(folders) == 1:
        return data
    raise DeliveryError(
        "several folders hold files and no manifest says which of them count"
        if data
        else f"no delivery of {month}",
        exit_code=WRONG_USE,
        where=store.location,
        expected=f"manifest.json, or one folder of {', '.join(azure_manifest.DATA_SUFFIXES)}",
        got=", ".join(folders) or "no such files",
        hint="copy the runs of the export with their manifest.json"
        if data
        else "copy the export here, or correct `location` of the source",
    )


# ------------------------------------------------------------------------------- splits


def _may_split(store: Store, file: RemoteFile, month: str) -> bool:
    """Tell whether a file is an answer that may be of the month: its days are, or are not said."""
    name = PurePosixPath(file.path).name
    if is_manifest(file) or name == raw.RECEIPT or not name.lower().endswith(SPLIT_SUFFIXES):
        return False
    told = days_of(store.location, file)
    first, last = month_days(month)
    return told is None or (told[0] <= last and told[1] >= first)
