"""Nodes as `kubectl get nodes -o json` writes them."""

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

import polars as pl

from transforms.errors import InputError
from transforms.inventory import INVENTORY, RAW, day_of, shown, typed


def of_document(document: Any, file: str, day: date | None) -> pl.DataFrame:
    """Return INVENTORY of a List of nodes, or of one Node; without rows where the list is empty.

    day: when it was taken; without one the newest heartbeat of each node tells it.
    Raises InputError.
    """
    nodes = _nodes(document, file)
    rows = [row for node in nodes for row in _rows(node, file, day)]
    if not nodes:
        return pl.DataFrame(schema=INVENTORY)
    try:
        raw = pl.DataFrame(rows, schema=RAW, orient="row")
    except UnicodeEncodeError as error:  # half of a pair of escapes: JSON has it, Unicode not
        raise InputError(
            "a node cannot be read",
            where=file,
            expected="names and amounts in Unicode",
            got=repr(error.object),
            hint="write it again with kubectl",
        ) from None
    return typed(raw, file)


def _nodes(document: Any, file: str) -> list[Any]:
    kind, items = _text(document, "kind"), _found(document, "items")
    if kind == "Node":
        return [document]
    if not isinstance(items, list):
        raise _no_nodes(file, kind or type(document).__name__)
    others = {_text(item, "kind") for item in items} - {None, "Node"}
    if others:
        raise _no_nodes(file, f"a list of {shown(sorted(str(kind) for kind in others))}")
    return items


def _no_nodes(file: str, got: str) -> InputError:
    return InputError(
        "not a list of nodes",
        where=file,
        expected="a List of nodes or one Node, as `kubectl get nodes -o json` writes it",
        got=got,
        hint="write it again with kubectl, or leave the file out of [[nodes]]",
    )


def _rows(node: Any, file: str, day: date | None) -> Iterator[tuple[Any, ...]]:
    """Yield RAW of one node."""
    name = _text(node, "metadata", "name")
    if name is None or not isinstance(_found(node, "status"), dict):
        raise InputError(
            "a node cannot be read",
            where=f"{file}, {name or 'a node without a name'}",
            expected="metadata.name and status, as `kubectl get nodes -o json` writes them",
            got=type(node).__name__ if name is None else "no status",
            hint="write it again with kubectl",
        )
    named = (_text(node, "spec", "providerID"), name, day or _heartbeat(node, f"{file}, {name}"))
    for metric in ("allocatable", "capacity"):
        amounts = _found(node, "status", metric)
        for resource, amount in (amounts if isinstance(amounts, dict) else {}).items():
            yield (*named, metric, re.sub(r"\W", "_", resource), str(amount))


def _heartbeat(node: Any, where: str) -> date | None:
    """Return the day of the newest heartbeat."""
    conditions = _found(node, "status", "conditions")
    beats = [
        _text(condition, "lastHeartbeatTime")
        for condition in (conditions if isinstance(conditions, list) else ())
    ]
    return max((day_of(beat, where) for beat in beats if beat), default=None)


def _found(document: Any, *path: str) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _text(document: Any, *path: str) -> str | None:
    found = _found(document, *path)
    return found if isinstance(found, str) and found else None
