"""The oracle's reading of inventories: what nodes can allocate, and which bill node each one is.

`kubectl get nodes -o json` (a date stands in the file's name, or nowhere) and CSV with the columns
node, resource, value of kube-state-metrics, and provider_id and date where known.

Choices where the contract leaves room:

* Of one node the snapshots that bear a date are used where there are any, else the undated one.
* The same values twice are one; other values twice leave the node without any on every day.
* A provider id is compared by its last part that names the machine; a name only where the
  inventory gives no id and exactly one node of the bill has the name that day.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from pathlib import Path

from tests.oracle_headroom import quantity
from tests.oracle_rules import Entry, names
from tests.oracle_slices import Slice

RESOURCES = {
    "cpu": "cpu",
    "memory": "memory",
    "nvidia.com/gpu": "gpu",
    "nvidia_com_gpu": "gpu",
}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class Node:
    """One node of one snapshot: cores, GiB and GPUs."""

    provider_id: str | None
    name: str
    day: date | None
    allocatable: tuple[tuple[str, Fraction], ...]
    capacity: tuple[tuple[str, Fraction], ...] = ()

    @property
    def identity(self) -> tuple[str | None, str]:
        """What two snapshots of one node share."""
        return machine(self.provider_id), self.name


def machine(provider_id: str | None) -> str | None:
    """Return the bill's id of a machine: `aws:///zone/i-1` is `i-1`."""
    if not provider_id:
        return None
    return provider_id.rsplit("/", 1)[-1] if provider_id.startswith("aws://") else provider_id


class Inventory:
    """The snapshots of a configuration's [[nodes]]."""

    def __init__(self, entries: Sequence[Entry], folder: Path) -> None:
        files = {
            file for entry in entries for glob in names(entry["path"]) for file in folder.glob(glob)
        }
        self._nodes: dict[tuple[str | None, str], list[Node]] = defaultdict(list)
        for file in sorted(files):
            for node in _read(file):
                self._nodes[node.identity].append(node)

    def snapshot(self, ids: Iterable[str], node_names: Sequence[str], row: Slice) -> Node | None:
        """Return what is known of a bill node on its day; None where nothing is.

        `node_names` are the names of all nodes of that day, one a node.
        """
        for (provider_id, name), nodes in self._nodes.items():
            is_same = (
                provider_id in ids
                if provider_id is not None
                else name == row.node_name and node_names.count(name) == 1
            )
            if is_same and not _contradicts_itself(nodes):
                return _of_day(nodes, row.day)
        return None


def _contradicts_itself(nodes: Sequence[Node]) -> bool:
    return any(
        one.day == other.day and one.allocatable != other.allocatable
        for one in nodes
        for other in nodes
    )


def _of_day(nodes: Sequence[Node], day: date) -> Node:
    """Return the newest snapshot that is not after the day, else the earliest after it."""
    dated = sorted((node for node in nodes if node.day), key=lambda node: str(node.day))
    before = [node for node in dated if node.day is not None and node.day <= day]
    return (before[-1:] or dated[:1] or list(nodes))[0]


# ---------------------------------------------------------------------------------- reading


def _read(file: Path) -> Iterator[Node]:
    if file.suffix == ".json":
        named = _DAY.search(file.name)
        day = date.fromisoformat(named[0]) if named else None
        for item in json.loads(file.read_text(encoding="utf-8"))["items"]:
            yield Node(
                item.get("spec", {}).get("providerID"),
                item["metadata"]["name"],
                day,
                _quantities(item["status"]["allocatable"]),
                _quantities(item["status"].get("capacity", {})),
            )
    else:
        with file.open(encoding="utf-8", newline="") as lines:
            yield from _table(csv.DictReader(lines))


def _quantities(found: Mapping[str, str]) -> tuple[tuple[str, Fraction], ...]:
    known = {RESOURCES[name]: text for name, text in found.items() if name in RESOURCES}
    return tuple((kind, quantity(text, kind)) for kind, text in sorted(known.items()))


def _table(lines: Iterable[Mapping[str, str]]) -> Iterator[Node]:
    found: dict[tuple[str | None, str, str | None], dict[str, Fraction]] = defaultdict(dict)
    for line in lines:
        if line["resource"] in RESOURCES:
            kind = RESOURCES[line["resource"]]
            at = (line.get("provider_id") or None, line["node"], line.get("date") or None)
            found[at][kind] = Fraction(line["value"]) / (2**30 if kind == "memory" else 1)
    for (provider_id, name, day), values in found.items():
        moment = date.fromisoformat(day[:10]) if day else None
        yield Node(provider_id, name, moment, tuple(sorted(values.items())))
