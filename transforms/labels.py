"""Labels in all their spellings.

One label is written `app.kubernetes.io/name`, `app_kubernetes_io_name` or `App-Kubernetes-IO-Name`
by different tools. Keys are compared in one canonical form; values are never changed.
"""

import re
from collections.abc import Iterable, Sequence

import polars as pl

_SEPARATOR = re.compile(r"[^a-z0-9]")
_SCHEMA = {"label": pl.String(), "spellings": pl.String()}


def canonical(key: str) -> str:
    """Return the form in which two spellings of one label key are equal."""
    return _SEPARATOR.sub("_", key.lower())


def spellings(keys: Iterable[str]) -> dict[str, list[str]]:
    """Return canonical key -> the raw keys that spell it, sorted."""
    found: dict[str, list[str]] = {}
    for key in sorted(set(keys)):
        found.setdefault(canonical(key), []).append(key)
    return found


def colliding(found: Iterable[str], wanted: Sequence[str]) -> pl.LazyFrame:
    """Return the wanted labels that `found` spells in more than one way: the part `spellings`.

    Columns: `label`, and `spellings` joined by ", ".
    """
    raws = spellings(found)
    rows = [(key, ", ".join(raws.get(canonical(key), ()))) for key in wanted]
    several = [row for row in rows if len(raws.get(canonical(row[0]), ())) > 1]
    return pl.LazyFrame(several, schema=_SCHEMA, orient="row")
