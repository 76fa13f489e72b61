"""Which file is meant by a name in a manifest.

Manifests name files by their place in the provider's store. A copy of an export rarely begins at
the same folder, so names and files are compared from their ends.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from connectors.base import RemoteFile


def named(
    name: tuple[str, ...],
    files: Iterable[tuple[tuple[str, ...], RemoteFile]],
    manifest: RemoteFile,
) -> RemoteFile | None:
    """Return the file whose path ends most like `name`; None where none does, or several do.

    files: (path below the export's folder, file); paths and `name` are lists of their parts. A
    file counts only if all parts of its path occur in the name (or the name says less than the
    path): a file of another run has the same name in another folder. Of equals the one counts
    whose folder is named like the manifest's.
    """
    own_folder = PurePosixPath(manifest.path).parent.name
    ranked: dict[tuple[int, bool], list[RemoteFile]] = defaultdict(list)
    for path, file in files:
        if path[-1] == name[-1] and (_is_part(path, name) or path[-len(name) :] == name):
            inside = PurePosixPath(file.path).parent.name == own_folder
            ranked[_shared_end(path, name), inside].append(file)
    best = ranked[max(ranked)] if ranked else []
    return best[0] if len(best) == 1 else None


def _is_part(parts: Sequence[str], whole: Sequence[str]) -> bool:
    """Tell whether `parts` occur in `whole` in the same order."""
    rest = iter(whole)
    return all(part in rest for part in parts)


def _shared_end(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
