"""Deliveries of AWS billing exports: CUR 2.0 and the legacy CUR, overwritten or created anew.

The location may be the prefix the exports are delivered to, the folder of one export, its `data`
folder, or a flat folder of files. The manifest decides what belongs to a delivery. Where a
location has no manifest at all, the files of the month's folder count, or those of a flat folder.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath

from connectors import aws_checks, aws_manifest, raw
from connectors.aws_manifest import Manifest, is_data, is_manifest, month_of
from connectors.base import Delivery, ExportSource, Inspected, Progress, Receipt, RemoteFile, Store
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from connectors.naming import named
from connectors.places import absolute, open_store

SETTLED = timedelta(days=1)


def discover(source: ExportSource, month: str) -> list[Delivery]:
    """Return the deliveries of `month` (YYYY-MM) below the location, the newest first.

    Raise `DeliveryError`: exit code 2 where there is none, 3 where the newest is damaged.
    """
    location = source.location
    store = open_store(_whole_export(source))
    files = [(_month(store, file), file) for file in store.listing()]
    manifests = [(period, file) for period, file in files if is_manifest(file)]
    candidates = _candidates(store, manifests, month)
    if candidates:
        return _of_manifests(store, [file for _, file in files], candidates, month)
    data = [(period, file) for period, file in files if is_data(file.path)]
    if manifests or not data:
        raise _no_delivery(location, month, data)
    return [Delivery(store.location, month, _without_manifest(location, month, data))]


def fetch(source: ExportSource, delivery: Delivery, into: Path, progress: Progress) -> Receipt:
    """Copy the delivery to `into/<billing period>/<delivery id>` unless it is there already."""
    store = open_store(replace(source, location=delivery.location))
    return raw.fetch(store, delivery, into, progress)


def inspect(source: ExportSource, month: str) -> list[Inspected]:  # noqa: ARG001
    """Return what the settings of the exports at the location say, where it is a bucket.

    Raise `DeliveryError` where AWS does not tell.
    """
    return aws_checks.answers(source)


def _whole_export(source: ExportSource) -> ExportSource:
    """Return the export's folder for its `data` folder: the manifests lie beside that."""
    above, _, name = absolute(source.location).rpartition("/")
    if name != "data":
        return source
    try:
        beside = open_store(replace(source, location=f"{above}/metadata")).listing()
    except DeliveryError as error:
        if error.exit_code != WRONG_USE:
            raise
        return source
    return replace(source, location=above) if beside else source


def _month(store: Store, file: RemoteFile) -> str | None:
    """Return the month that the path of `file` names; the location's own name counts too."""
    return month_of(f"{absolute(store.location).rpartition('/')[2]}/{file.path}")


# ------------------------------------------------------------------------- with manifests


def _candidates(
    store: Store, manifests: Iterable[tuple[str | None, RemoteFile]], month: str
) -> list[tuple[RemoteFile, Manifest | DeliveryError]]:
    """Return the manifests of `month`, read or with the reason why they cannot be."""
    found: list[tuple[RemoteFile, Manifest | DeliveryError]] = []
    for period, file in manifests:
        if period not in (month, None):
            continue
        try:
            manifest = aws_manifest.read(store, file)
        except DeliveryError as error:
            found.append((file, error))
        else:
            if period or manifest.month in (month, None):
                found.append((file, manifest))
    return found


def _of_manifests(
    store: Store,
    files: Sequence[RemoteFile],
    candidates: list[tuple[RemoteFile, Manifest | DeliveryError]],
    month: str,
) -> list[Delivery]:
    """Return one delivery for each execution; only the newest has to be whole."""
    _one_export(store, [file for file, _ in candidates])
    deliveries: dict[tuple[RemoteFile, ...], Delivery] = {}
    for _, manifest in sorted(candidates, key=_age, reverse=True):
        try:
            delivery = _delivery(store, files, manifest, month)
        except DeliveryError:
            if not deliveries:
                raise
        else:
            deliveries.setdefault(delivery.files, delivery)
    return list(deliveries.values())


def _age(candidate: tuple[RemoteFile, Manifest | DeliveryError]) -> tuple[str, int, str]:
    """Return a key that is greatest for the newest execution.

    Execution folders of CUR 2.0 begin with their time. Those of the legacy CUR do not, but the
    manifest above them always describes the latest one; that also goes for one nobody can read.
    """
    file, manifest = candidate
    names = manifest.names if isinstance(manifest, Manifest) else (file.path,)
    moment = aws_manifest.moment_of(names)
    if isinstance(manifest, DeliveryError):
        moment = moment or "9"
    return moment, -file.path.count("/"), file.modified.isoformat()


def _one_export(store: Store, manifests: Iterable[RemoteFile]) -> None:
    exports = sorted({aws_manifest.export_of(file) for file in manifests})
    if len(exports) > 1:
        raise DeliveryError(
            "the location holds more than one export",
            exit_code=WRONG_USE,
            where=store.location,
            expected="the manifests of one export",
            got=", ".join(name or "." for name in exports),
            hint="set `location` of the source to the folder of one of them",
        )


def _delivery(
    store: Store, files: Sequence[RemoteFile], manifest: Manifest | DeliveryError, month: str
) -> Delivery:
    if isinstance(manifest, DeliveryError):
        raise manifest
    meant = _meant(store, files, manifest, month)
    _settled(manifest, [file for _, file in meant if file is not None])
    missing = [name for name, file in meant if file is None]
    found = {file.path: file for _, file in meant if file is not None}
    if missing or len(found) < len(meant):
        raise DeliveryError(
            "files that the manifest names are not there, or not told apart",
            exit_code=UNREADABLE,
            where=manifest.file.uri,
            expected=f"{len(meant)} files",
            got=f"{len(found)}; not found: {', '.join(missing) or 'none'}",
            hint="copy the whole export again, with its folders",
        )
    return Delivery(store.location, month, tuple(found.values()), manifest.file, manifest.run_id)


def _meant(
    store: Store, files: Iterable[RemoteFile], manifest: Manifest, month: str
) -> list[tuple[str, RemoteFile | None]]:
    """Return each name in the manifest with its file below the folder of the export.

    A listing may be older than the manifest: what it lacks is asked for by name.
    """
    export = aws_manifest.export_of(manifest.file)
    below = [
        (_parts(file.path.removeprefix(export)), file)
        for file in files
        if not export or file.path.startswith(f"{export}/")
        if month_of(file.path) in (month, None)
    ]
    return [
        (name, named(_parts(name.removeprefix("s3://")), below, manifest.file) or store.find(name))
        for name in manifest.names
    ]


def _settled(manifest: Manifest, files: Iterable[RemoteFile]) -> None:
    """Refuse a delivery that AWS is just writing over: its manifest comes last, and is older.

    This holds only where the files lie where AWS put them. After a day nobody writes any more.
    """
    newer = [
        file
        for file in files
        if file.uri in manifest.uris and file.modified > manifest.file.modified
    ]
    if newer and datetime.now(UTC) - max(file.modified for file in newer) < SETTLED:
        raise DeliveryError(
            "the delivery is being overwritten",
            exit_code=UNREADABLE,
            where=manifest.file.uri,
            expected="a manifest that is newer than its files",
            got=f"newer than it: {', '.join(file.path for file in newer)}",
            hint="run the command again once AWS has written the new manifest",
        )


def _parts(path: str) -> tuple[str, ...]:
    return aws_manifest.without_months(path.strip("/").split("/"))


# ---------------------------------------------------------------------- without a manifest


def _without_manifest(
    location: str, month: str, data: Sequence[tuple[str | None, RemoteFile]]
) -> tuple[RemoteFile, ...]:
    """Return the files of the month's folder, or of a flat folder."""
    dated = any(period is not None for period, _ in data)
    files = [file for period, file in data if period == (month if dated else None)]
    if not files:
        raise _no_delivery(location, month, data)
    folders = sorted({str(PurePosixPath(file.path).parent) for file in files})
    if len(folders) > 1:
        raise DeliveryError(
            f"several folders hold files of {month} and no manifest says which of them count",
            exit_code=WRONG_USE,
            where=location,
            expected="a manifest, or one folder of files",
            got=", ".join(folders),
            hint="copy the export's metadata folder too, or keep only the newest folder",
        )
    return tuple(files)


def _no_delivery(
    location: str, month: str, data: Iterable[tuple[str | None, RemoteFile]]
) -> DeliveryError:
    periods = sorted({period for period, _ in data if period is not None})
    unfinished = month in periods
    return DeliveryError(
        f"no manifest for {month}: this delivery is not complete"
        if unfinished
        else f"no delivery of {month}",
        exit_code=WRONG_USE,
        where=location,
        expected=f"a manifest and files ({', '.join(aws_manifest.DATA_SUFFIXES)}) of {month}",
        got=f"files of {', '.join(periods)}" if periods else "no such files",
        hint="copy the manifest too, once AWS has written it"
        if unfinished
        else "copy the export of that month here, or correct `location` of the source",
    )
