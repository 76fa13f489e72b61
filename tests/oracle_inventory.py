"""The oracle's reading of inventories: what nodes can allocate, and which bill node each one is.

`kubectl get nodes -o json`, and CSV with the columns of kube-state-metrics: __name__ (or
metric), node, resource, value, and provider_id and a date where known.

Choices where the contract leaves room:

* Quantities have 12 places, like amounts.
* A snapshot is dated by its row, else by the first date in its file's name, else by the newest
  heartbeat of the node; else it is undated.
* Of one node the snapshots that bear a date are used where there are any, else the undated one,
  for each resource by itself.
* The same values twice are one; other values for one node, date and resource leave the node
  without any, on every day. What is said by an id and by a name is about one node when the name
  is that node's alone on any day; but what is said by a name and disagrees is not used at all.
* A provider id is compared whole, by the part that stands on the bill; a name only where the
  inventory gives no id and exactly one node of the bill has the name that day.
"""

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from tests.oracle_headroom import quantity
from tests.oracle_rules import Entry, names
from tests.oracle_slices import rounded

RESOURCES = {"cpu": "cpu", "memory": "memory", "nvidia_com_gpu": "gpu"}
METRICS = {
    "kube_node_status_allocatable": "allocatable",
    "kube_node_status_capacity": "capacity",
}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Told(NamedTuple):
    """What one snapshot says of a resource of a node: cores, GiB or GPUs."""

    allocatable: Fraction
    capacity: Fraction | None


class Said(NamedTuple):
    """One amount of a file. A node is its id on the bill, or its name where it has no id."""

    node: str
    by_name: bool
    day: date | None
    resource_kind: str
    metric: str
    amount: Fraction


Snapshots = dict[tuple[str, date | None], set[Told]]
"""What was said of a node, by resource and date."""


class Inventory:
    """The snapshots of a configuration's [[nodes]]."""

    def __init__(self, entries: Sequence[Entry], folder: Path) -> None:
        files = {
            file for entry in entries for glob in names(entry["path"]) for file in folder.glob(glob)
        }
        self._nodes: dict[tuple[str, bool], Snapshots] = defaultdict(lambda: defaultdict(set))
        for file in sorted(files):
            for (node, by_name, day, kind), told in _joined(_read(file)).items():
                self._nodes[node, by_name][kind, day] |= told

    def told(self, node: str, name: str | None, day: date) -> dict[str, Told]:
        """Return what is known of a bill node on a day, by resource.

        `name` is None where another node of the bill bears it that day.
        """
        return {
            **_of_day(self._named(name), day),
            **_of_day(self._nodes.get((node, False), {}), day),
        }

    def contradicts_itself(self, node: str, name: str | None) -> bool:
        """Whether several values are told of a bill node and one date."""
        return _disagree(_both(self._nodes.get((node, False), {}), self._named(name)))

    def _named(self, name: str | None) -> Snapshots:
        found = self._nodes.get((name, True), {}) if name is not None else {}
        return {} if _disagree(found) else found


def _both(one: Snapshots, other: Snapshots) -> Snapshots:
    return {key: one.get(key, set()) | other.get(key, set()) for key in {*one, *other}}


def _disagree(snapshots: Snapshots) -> bool:
    return any(len({told.allocatable for told in said}) > 1 for said in snapshots.values())


def _of_day(snapshots: Snapshots, day: date) -> dict[str, Told]:
    """Return the newest snapshot that is not after the day, else the earliest after it."""
    found: dict[str, Told] = {}
    for kind in {kind for kind, _ in snapshots}:
        days = [taken for of, taken in snapshots if of == kind and taken is not None]
        before = [taken for taken in days if taken <= day]
        nearest = max(before) if before else min(days, default=None)
        if said := snapshots[kind, nearest]:
            found[kind] = max(said, key=lambda told: told.capacity or 0)
    return found


# ---------------------------------------------------------------------------------- reading


def _joined(said: Iterable[Said]) -> dict[tuple[str, bool, date | None, str], set[Told]]:
    """Return what can be allocated with the capacity that the same file tells."""
    amounts: dict[Any, dict[str, set[Fraction]]] = defaultdict(lambda: defaultdict(set))
    for one in said:
        key = (one.node, one.by_name, one.day, one.resource_kind)
        amounts[key][one.metric].add(one.amount)
    return {
        key: {Told(amount, max(found["capacity"], default=None)) for amount in found["allocatable"]}
        for key, found in amounts.items()
    }


def _read(file: Path) -> Iterator[Said]:
    named = _DAY.search(file.name)
    day = date.fromisoformat(named[0]) if named else None
    if file.suffix == ".json":
        for item in json.loads(file.read_text(encoding="utf-8"))["items"]:
            yield from _item(item, day)
    else:
        with file.open(encoding="utf-8", newline="") as lines:
            yield from _table(csv.DictReader(lines), day)


def _item(item: Mapping[str, Any], day: date | None) -> Iterator[Said]:
    beats = [beat["lastHeartbeatTime"] for beat in item["status"].get("conditions", [])]
    taken = day or (date.fromisoformat(max(beats)[:10]) if beats else None)
    who = _who(item["spec"].get("providerID"), item["metadata"]["name"])
    for metric in METRICS.values():
        for name, text in item["status"].get(metric, {}).items():
            kind = RESOURCES.get(re.sub(r"\W", "_", name))
            if kind:
                yield Said(*who, taken, kind, metric, rounded(quantity(text, kind)))


def _table(lines: Iterable[Mapping[str, str]], day: date | None) -> Iterator[Said]:
    for line in lines:
        cells = {name.lower(): text for name, text in line.items()}
        kind = RESOURCES.get(cells["resource"])
        metric = METRICS.get(cells.get("__name__") or cells["metric"])
        if kind and metric:
            taken = cells.get("date") or cells.get("timestamp") or cells.get("time")
            moment = date.fromisoformat(taken[:10]) if taken else day
            amount = rounded(Fraction(cells["value"]) / (2**30 if kind == "memory" else 1))
            who = _who(cells.get("provider_id"), cells["node"])
            yield Said(*who, moment, kind, metric, amount)


def _who(provider_id: str | None, name: str) -> tuple[str, bool]:
    """Return the id a machine has on the bill, or its name: `aws:///zone/i-1` is `i-1`."""
    if not provider_id:
        return name, True
    is_aws = provider_id.startswith("aws://")
    return provider_id.rsplit("/", 1)[-1] if is_aws else provider_id, False
