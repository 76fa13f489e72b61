"""Labels in all their spellings.

One label is written `app.kubernetes.io/name`, `app_kubernetes_io_name` or `App-Kubernetes-IO-Name`
by different tools. Keys are compared in one canonical form; values are never changed.
"""

import re
from collections.abc import Iterable

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
