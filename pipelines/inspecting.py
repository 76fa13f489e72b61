"""What a folder of exports holds: which provider and dataset each of its sub-folders is.

A file is recognised by its header, a folder by whether its provider's connector finds one
delivery of a month in it. Nothing is read but headers and a few columns of the newest files.
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from connectors.base import ExportSource
from connectors.errors import UNREADABLE, WRONG_USE, DeliveryError
from pipelines import headers
from pipelines.errors import ConfigurationError
from pipelines.providers import PROVIDERS
from pipelines.sources import METRICS
from pipelines.survey import Survey, survey
from transforms.seen import Seen
from transforms.sliced import Context

LOOKED_AT = 1 << 28
"""Bytes of an export, the newest files first, in which currency and months are looked for."""

EDGE, WHOLE = 10, 2
"""A month with less than a tenth of another's rows is the edge of it; with half, it is whole."""

TELLING = 100
"""Rows of an export, from which on another with as many in every month is no coincidence."""

SHOWN_FILES = 5
_INSIDE = re.compile(
    r"\d{6}|\d{4}-\d\d|=|[0-9a-f]{8}-[0-9a-f]{4}-|^(meta)?data$|^manifests?$", re.IGNORECASE
)
"""Folders that are no exports of their own: of months, days, partitions, runs, or of files."""


@dataclass(frozen=True)
class Found:
    """One export: a source, but for what only a person knows.

    location, split_location: absolute; metric_told: a manifest or the rows say so; problem: why
    no delivery of it can be read now; damaged: something is there, but not whole.
    """

    id: str
    provider: str
    dataset: str
    location: Path
    seen: Seen
    metric: str | None = None
    metric_told: bool = True
    splits: tuple[str, ...] = ()
    split_location: Path | None = None
    problem: str | None = None
    damaged: bool = False

    @property
    def months(self) -> list[str]:
        """The months that are more than the edge of another, the oldest first."""
        return self._with_rows(EDGE)

    @property
    def whole_months(self) -> list[str]:
        """The months that seem to be whole, the oldest first."""
        return self._with_rows(WHOLE)

    @property
    def currency(self) -> str | None:
        """The one currency of its rows."""
        return next(iter(self.seen.currencies)) if len(self.seen.currencies) == 1 else None

    @property
    def views(self) -> tuple[str, ...]:
        """The cost views it has."""
        context = Context(self.provider, self.id, self.dataset, "", metric=self.metric)
        return PROVIDERS[self.provider].transform.views(context)

    def _with_rows(self, part: int) -> list[str]:
        most = max(self.seen.months.values(), default=0)
        return [month for month, rows in self.seen.months.items() if rows * part >= most]


@dataclass(frozen=True)
class Inspection:
    """What was found in a folder; refused: path -> why it is none of the sources."""

    sources: tuple[Found, ...]
    refused: dict[Path, str]

    @property
    def view(self) -> str:
        """The cost view to begin with: amortised cost, where there is any."""
        offered = {view for source in self.sources for view in source.views}
        return "effective" if "effective" in offered else "billed"

    @property
    def active(self) -> tuple[Found, ...]:
        """The sources that are used: each bill once, and in this view."""
        return tuple(source for source in self.sources if source.id not in self.unused)

    @property
    def unused(self) -> dict[str, str]:
        """Ids of the sources that show the bill of another once more -> why they seem to."""
        view = f"it has no {self.view} cost, as others do: it would count a bill again"
        other_view = {source.id: view for source in self.sources if self.view not in source.views}
        used: list[Found] = []
        for source in sorted(self.sources, key=_richness, reverse=True):
            if source.id in other_view:
                continue
            again = next((other for other in used if _same_bill(source, other)), None)
            if again is None:
                used.append(source)
            else:
                other_view[source.id] = f"it seems to hold the bill of {again.id} once more"
        return other_view

    @property
    def month(self) -> str | None:
        """The newest month that every source has whole, else the newest of any."""
        months = [set(source.whole_months) for source in self.active if source.seen.months]
        common = set.intersection(*months) if months else set()
        return max(common or set().union(*months), default=None)


def _richness(source: Found) -> tuple[bool, int, int]:
    seen = source.seen
    return source.problem is None, len(seen.clusters), sum(seen.months.values())


def _same_bill(one: Found, other: Found) -> bool:
    """Say whether two exports share clusters and months, or are as long in every month."""
    if one.provider != other.provider or one.seen.currencies != other.seen.currencies:
        return False
    shared = one.seen.clusters.keys() & other.seen.clusters.keys()
    months = one.seen.months.keys() & other.seen.months.keys()
    long = sum(one.seen.months.values()) >= TELLING
    return bool(shared and months) or (long and one.seen.months == other.seen.months)


def inspect(folder: Path) -> Inspection:
    """Find the exports below `folder`.

    Raises ConfigurationError where there is no such folder or no export in it, and InputError
    where a file breaks off.
    """
    root = Path(os.path.realpath(folder))
    if not root.is_dir():
        raise ConfigurationError(
            "no such folder", where=str(folder), expected="a folder with billing exports"
        )
    files = survey(root)
    sources = _sources(_start(root, files), files)
    if not sources:
        raise _nothing(folder, files)
    named = _with_ids(sorted(sources, key=lambda found: str(found.location)))
    return Inspection(tuple(_with_split(source, files) for source in named), files.refused)


# ---------------------------------------------------------------------------------------------
# Folders
# ---------------------------------------------------------------------------------------------


def _start(root: Path, files: Survey) -> Path:
    """Return the only sub-folder that has all bills, else the folder itself."""
    below = _children(root, files)
    only = below[0] if len(below) == 1 else root
    return only if len(files.below(only)) == len(files.bills) else root


def _children(folder: Path, files: Survey) -> list[Path]:
    """Return the sub-folders with bills that may be exports of their own."""
    parts = {path.relative_to(folder).parts for path in files.below(folder)}
    names = sorted({first for first, *rest in parts if rest})
    return [folder / name for name in names if not _INSIDE.search(name)]


def _sources(folder: Path, files: Survey) -> list[Found]:
    """Return the exports in a folder: itself as one, or those of its sub-folders.

    Where several sub-folders are exports, the folder is none, though its connector may find one.
    """
    kinds, children = files.kinds(folder), _children(folder, files)
    whole = _whole(folder, *kinds[0], files) if len(kinds) == 1 else None
    is_one = whole is not None and (whole.problem is None or whole.damaged)
    if whole is not None and is_one and len(children) <= 1:
        return [whole]
    parts = [found for child in children for found in _sources(child, files)]
    readable = [part for part in parts if part.problem is None or part.damaged]
    if whole is not None and (not readable or (is_one and len(readable) < len(parts))):
        return [whole]
    if len(kinds) > 1 and not parts:
        several = " and ".join(" ".join(kind) for kind in kinds)
        files.refused[folder] = f"{several} in one folder: give each a folder of its own"
    return parts


def _whole(folder: Path, provider: str, dataset: str, files: Survey) -> Found:
    """Return a folder as one export, with the reason where its connector refuses it."""
    found = Found("", provider, dataset, folder, _look(folder, files))
    asked = METRICS if PROVIDERS[provider].needs.get(dataset) == "metric" else (None,)
    refusals = {metric: _refusal(found, metric) for metric in asked}
    accepted = [metric for metric, refusal in refusals.items() if refusal is None]
    refusal = list(refusals.values())[-1]
    if not accepted and refusal is not None:
        said = ": ".join(part for part in (refusal.what, refusal.got) if part)
        damaged = refusal.exit_code == UNREADABLE
        metric = found.seen.metric or asked[0]
        return replace(found, metric=metric, problem=said, damaged=damaged)
    told = accepted[0] if len(accepted) == 1 else found.seen.metric
    sure = told is not None or asked == (None,)
    return replace(found, metric=told or accepted[0], metric_told=sure)


def _refusal(found: Found, metric: str | None) -> DeliveryError | None:
    """Return why the connector finds no delivery of the newest month, None where it does."""
    if not found.seen.months:
        return DeliveryError("no row that names its month", exit_code=WRONG_USE)
    export = ExportSource(str(found.location), found.dataset, metric)
    try:
        PROVIDERS[found.provider].connector.discover(export, found.whole_months[-1])
    except DeliveryError as error:
        return error
    return None


def _look(folder: Path, files: Survey) -> Seen:
    """Return what the newest files tell; the names of months and runs sort by time."""
    seen, size = Seen(), 0
    for path in sorted(files.below(folder), reverse=True):
        if size > LOOKED_AT:
            break
        seen |= files.look(path)
        size += path.stat().st_size
    return seen


# ---------------------------------------------------------------------------------------------
# Names, splits, and nothing at all
# ---------------------------------------------------------------------------------------------


def _with_ids(sources: Sequence[Found]) -> list[Found]:
    """Give each source an id after its folder, with the provider's name in it."""
    named: list[Found] = []
    for source in sources:
        words = re.sub(r"[^a-z0-9]+", "-", source.location.name.lower()).strip("-")
        whole = words if words.startswith(source.provider) else f"{source.provider}-{words}"
        plain, taken = whole.rstrip("-"), {other.id for other in named}
        numbered = (f"{plain}-{number}" for number in range(2, len(sources) + 2))
        free = next(name for name in (plain, *numbered) if name not in taken)
        named.append(replace(source, id=free))
    return named


def _with_split(source: Found, files: Survey) -> Found:
    """Give a source the nearest folder whose split answers name one of its clusters."""
    clusters = {**source.seen.guessed, **source.seen.clusters}
    names = (*clusters, *(f"/{group}/" for group in clusters.values()))
    theirs: dict[Path, set[str]] = {}
    for path, (provider, split) in files.splits.items():
        folder = _split_folder(path, files)
        if provider == source.provider and folder and headers.mentions(path, names):
            theirs.setdefault(folder, set()).add(split)
    if not theirs:
        return source
    best = max(theirs, key=lambda folder: len(_shared(folder, source.location).parts))
    known = PROVIDERS[source.provider].splits
    splits = tuple(split for split in known if split in theirs[best])
    return replace(source, split_location=best, splits=splits)


def _split_folder(path: Path, files: Survey) -> Path | None:
    """Return the widest folder around a split file without bills; None where it lies among them."""
    without = [folder for folder in path.parents if not files.below(folder)]
    return without[-1] if without else None


def _shared(one: Path, other: Path) -> Path:
    """Return the folder that two paths have in common."""
    return Path(os.path.commonpath((one, other)))


def _nothing(folder: Path, files: Survey) -> ConfigurationError:
    known = "; ".join(f"{name}: {', '.join(p.datasets)}" for name, p in PROVIDERS.items())
    said = [f"{path.name}: {reason}" for path, reason in files.refused.items()]
    said += [f"{path.name}: not known" for path in (*files.others, *files.splits)]
    more = [f"and {len(said) - SHOWN_FILES} more"] if len(said) > SHOWN_FILES else []
    return ConfigurationError(
        "no billing export found",
        where=str(folder),
        expected=f"files ({', '.join(headers.SUFFIXES)}) with the header of {known}",
        got="\n".join([*said[:SHOWN_FILES], *more]) or "no such file",
        hint="copy an export here with its folders and manifests; the README says how",
    )
