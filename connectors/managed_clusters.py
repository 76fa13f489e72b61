"""The clusters of a subscription as the Resource Manager knows them, and a memory of them.

A cluster's cost stays on the bill when it is deleted, and then nobody else knows any more where
its nodes stood. So what was seen is kept beside the raw copies, in `clusters.json`: a line is
added when a cluster is new, changed or gone, and none is ever removed.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from connectors import asked
from connectors.arm import Arm, document, explained_for, subscriptions
from connectors.base import ExportSource, Inspected, Meter
from connectors.errors import UNREADABLE, DeliveryError

FILE = "clusters.json"
VERSION = "2024-09-01"
KIND = "/providers/Microsoft.ContainerService/managedClusters"
ROLE = "the role Reader on the subscription"
SPLIT_TIERS = ("standard", "premium")


@dataclass(frozen=True)
class ManagedCluster:
    """A cluster: its id in lower case, where its nodes stand, and whether Azure splits its cost."""

    id: str
    node_resource_group: str
    tier: str
    cost_analysis: bool
    there: bool = True

    @property
    def name(self) -> str:
        """The last part of the id."""
        return self.id.rsplit("/", maxsplit=1)[-1]


def found(source: ExportSource, meter: Meter) -> list[ManagedCluster]:
    """Return the clusters of the subscriptions that a source names. Raise `DeliveryError`."""
    arm = Arm(source, meter, explained_for(ROLE))
    return sorted(
        (_cluster(entry) for name in subscriptions(source) for entry in _listed(arm, name)),
        key=lambda cluster: cluster.id,
    )


def remember(source: ExportSource, folder: Path) -> None:
    """Add what changed to the history in a folder `raw/<source>`.

    Who may read the bill need not be allowed to see the clusters: then nothing is added, and
    `inspect` tells why. Raise `DeliveryError` (exit code 3) where the history is damaged.
    """
    lines = history(folder)
    with suppress(DeliveryError):
        _add(folder / FILE, lines, found(source, Meter()), subscriptions(source))


def history(folder: Path) -> list[dict[str, Any]]:
    """Return the lines of the history in a folder, the oldest first.

    Raise `DeliveryError` (exit code 3) where they cannot be read.
    """
    file = folder / FILE
    try:
        return [dict(line) for line in json.loads(file.read_bytes())] if file.exists() else []
    except (OSError, ValueError, TypeError) as error:
        raise DeliveryError(
            "the history of the clusters cannot be read",
            exit_code=UNREADABLE,
            where=str(file),
            expected="lines that an earlier fetch wrote",
            got=type(error).__name__,
            hint="restore the file, or move it away to begin anew",
        ) from error


def inspect(source: ExportSource) -> list[Inspected]:
    """Return what keeps Azure from splitting the cost of the clusters that a source names."""
    there = {cluster.id: cluster for cluster in found(source, Meter())}
    named = {name.lower().rstrip("/") for name in source.clusters}
    known = [_known(name, there.get(name)) for name in sorted(named)]
    return [*known, *(_unnamed(there[name]) for name in sorted(there.keys() - named))]


def _listed(arm: Arm, subscription: str) -> Iterator[dict[str, Any]]:
    where = f"/subscriptions/{subscription}"
    for page in arm.pages("GET", f"{where}{KIND}?api-version={VERSION}", where):
        if page:
            yield from document(page).get("value") or []


def _cluster(entry: dict[str, Any]) -> ManagedCluster:
    told = entry.get("properties") or {}
    analysis = (told.get("metricsProfile") or {}).get("costAnalysis") or {}
    return ManagedCluster(
        id=str(entry.get("id")).lower().rstrip("/"),
        node_resource_group=str(told.get("nodeResourceGroup") or ""),
        tier=str((entry.get("sku") or {}).get("tier") or ""),
        cost_analysis=analysis.get("enabled") is True,
    )


def _add(
    file: Path,
    lines: list[dict[str, Any]],
    seen: Sequence[ManagedCluster],
    looked_at: Sequence[str],
) -> None:
    last = {line["id"]: line for line in lines}
    now = {cluster.id: asdict(cluster) for cluster in seen}
    gone = {
        name: line | {"there": False}
        for name, line in last.items()
        if name not in now and name.split("/")[2] in looked_at
    }
    new = [
        line | {"seen": f"{asked.today()}"}
        for name, line in sorted((gone | now).items())
        if {**last.get(name, {}), "seen": None} != {**line, "seen": None}
    ]
    if new:
        text = json.dumps([*lines, *new], indent=2) + "\n"
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_name(f".{file.name}.partial")
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)


def _known(name: str, cluster: ManagedCluster | None) -> Inspected:
    short = name.rsplit("/", maxsplit=1)[-1]
    expected = "cost analysis on, tier Standard or Premium"
    if cluster is None:
        hint = f"deleted, in another subscription, or not to be seen: that takes {ROLE}"
        return Inspected("cluster", "warning", f"{short}: Azure lists none", expected, hint)
    state = "on" if cluster.cost_analysis else "off"
    told = f"{short}: cost analysis {state}, tier {cluster.tier or 'unknown'}"
    told += f", nodes in {cluster.node_resource_group}"
    if cluster.cost_analysis and cluster.tier.lower() in SPLIT_TIERS:
        return Inspected("cluster", "ok", told, expected)
    tier = "" if cluster.tier.lower() in SPLIT_TIERS else " --tier standard"
    hint = f"az aks update --ids {cluster.id}{tier} --enable-cost-analysis"
    return Inspected("cluster", "warning", told, expected, hint)


def _unnamed(cluster: ManagedCluster) -> Inspected:
    group = f'{{ node_resource_group = "{cluster.node_resource_group}" }}'
    return Inspected(
        check="cluster",
        status="warning",
        actual=f"{cluster.name} is not in `clusters`: its cost counts as outside",
        expected="every cluster of the subscription in `clusters`",
        hint=f'add "{cluster.id}" = {group}',
    )
