"""Labels in all their spellings.

One label is written `app.kubernetes.io/name`, `app_kubernetes_io_name` or `App-Kubernetes-IO-Name`
by different tools. Keys are compared in one canonical form; values are never changed.
"""

import re
from collections.abc import Iterable, Sequence

import polars as pl

_SEPARATOR = re.compile(r"[^a-z0-9]")


def canonical(key: str) -> str:
    """Return the form in which two spellings of one label key are equal."""
    return _SEPARATOR.sub("_", key.lower())


def spellings(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return canonical key -> the raw keys that spell it, sorted."""
    found: dict[str, list[str]] = {}
    for key in sorted(set(keys)):
        found.setdefault(canonical(key), []).append(key)
    return found


def collisions(found: Iterable[tuple[str, Sequence[str]]]) -> pl.LazyFrame:
    """Return the part `spellings`: the wanted labels that are spelled in more than one way.

    found: a label and the raw keys that spell it. Columns: `label`, `spellings` (one text).
    """
    several = [(label, ", ".join(raws)) for label, raws in found if len(raws) > 1]
    schema = {"label": pl.String(), "spellings": pl.String()}
    return pl.LazyFrame(several, schema=schema, orient="row")
