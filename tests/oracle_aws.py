"""The oracle's reading of one AWS source: `oracle_aws_files` reads, the others judge and slice.

A split row's money is on its parent: of a split row only its ordinary cost counts, which is 0.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from tests import oracle_aws_files, oracle_aws_nodes
from tests.oracle_aws_pods import requests
from tests.oracle_aws_source import Source, billed
from tests.oracle_slices import Fate, Read

VIEWS = ("effective", "billed")


def source(entry: dict[str, Any], folder: Path, month: str) -> Source:
    """Return the rows of a source, judged but not sliced."""
    rows = oracle_aws_files.read(folder / entry["location"], month)
    return Source(entry["id"], month, rows)


def read(entry: dict[str, Any], folder: Path, month: str) -> Read:
    """Return one month of a source; `charge_basis` in the entry is provider or request."""
    found = source(entry, folder, month)
    pieces = oracle_aws_nodes.slices(found, entry.get("charge_basis", "provider"))
    hours = oracle_aws_nodes.billed_hours(found)
    return Read(VIEWS, list(_fates(found)), pieces, hours, requests(found))


def _fates(found: Source) -> Iterator[Fate]:
    for name, rows in found.by_fate().items():
        for row in rows:
            effective: Fraction = billed(row) if found.is_split(row) else found.effective(row)
            amounts = {"effective": effective, "billed": billed(row)}
            yield Fate(name, row["line_item_currency_code"], amounts)
