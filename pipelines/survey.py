"""The files below a folder, each recognised by its header."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from pipelines import headers
from pipelines.exports import reading, scan
from pipelines.guides import guide
from pipelines.providers import PROVIDERS
from transforms.seen import Seen

LAKE_MARK = ".lock"
"""A folder with this file is a lake: the copies in it are no exports."""


@dataclass
class Survey:
    """What the headers say.

    bills: path -> provider and dataset; splits: path -> provider and split source; refused: path
    -> why this bill is none that can be read; others: what no provider knows.
    """

    bills: dict[Path, tuple[str, str]] = field(default_factory=dict)
    splits: dict[Path, tuple[str, str]] = field(default_factory=dict)
    refused: dict[Path, str] = field(default_factory=dict)
    others: list[Path] = field(default_factory=list)
    _looks: dict[Path, Seen] = field(default_factory=dict)

    def below(self, folder: Path) -> list[Path]:
        """Return the bill files below a folder."""
        return [path for path in self.bills if path.is_relative_to(folder)]

    def kinds(self, folder: Path) -> list[tuple[str, str]]:
        """Return the providers and datasets of the bills below a folder."""
        return sorted({self.bills[path] for path in self.below(folder)})

    def look(self, path: Path) -> Seen:
        """Return what the rows of a bill tell; a file is read once.

        Raises InputError where it cannot be read.
        """
        if path not in self._looks:
            provider, _ = self.bills[path]
            with reading(path.name):
                raw = scan(path)
                self._looks[path] = guide(provider).look(raw) if raw is not None else Seen()
        return self._looks[path]

    def add(self, path: Path) -> None:
        """Sort one file in by its header; the first provider that knows it has it."""
        columns = headers.names(path)
        for provider in PROVIDERS:
            known = guide(provider)
            if dataset := known.recognise(columns):
                self.bills[path] = (provider, dataset)
                return
            if split := known.recognise_split(columns):
                self.splits[path] = (provider, split)
                return
            if reason := known.refuse(columns):
                self.refused[path] = reason
                return
        self.others.append(path)


def survey(root: Path) -> Survey:
    """Return every data file below `root`; hidden ones and those of lakes are left out."""
    found = Survey()
    for folder, folders, files in os.walk(root):
        if LAKE_MARK in files:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(folder, name)
            if not name.startswith(".") and headers.is_data(path):
                found.add(path)
    return found
