"""What a team decides about an account at random: rules, inventories, metric files.

`decisions` draws a `leerlauf.toml` as a document and the files it names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from tests.random_clusters import NAMESPACES, POOLS, TEAMS, Account, Dice, Machine, happens, some

Document = dict[str, Any]

KEPT = {
    "cpu": ("10%", "100%", "0%", "33.3%", "500m", "2", "0.25"),
    "memory": ("10%", "100%", "12.5%", "512Mi", "1GiB", "4Gi", "64GiB"),
    "gpu": ("50%", "1"),
    "compute": ("20%", "100%"),
}
SCOPES = ("node", "node_pool", "cluster")
KINDS = ("idle", "headroom", "system_overhead", "cluster_fee", "shared")
METHODS = ("none", "even", "proportional", "proportional", "metric", "metric", "fixed", "fixed")
NAMED_TEAMS = tuple(sorted({team for team in TEAMS if team}))
RESERVED = {"cpu": (0.08, 0.5, 1.5, 0.0), "memory": (1.7, 0.25, 0.0), "gpu": (0.0,)}
"""What a node keeps for itself: cores, GiB, GPUs."""


@dataclass
class Decisions:
    """The configuration and the files beside it: name -> JSON document or lines of a CSV."""

    document: Document
    inventories: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, list[dict[str, str]]] = field(default_factory=dict)


def decisions(dice: Dice, account: Account) -> Decisions:
    """Draw what was decided about an account."""
    document: Document = {
        "report": {
            "charge_basis": dice.among(("provider", "request")),
            "cost_view": "billed" if happens(dice, 20) else "effective",
        },
        "source": [
            {"id": "aws", "provider": "aws", "dataset": "cur2", "location": "exports"},
        ],
        "team_rule": _team_rules(dice),
        "operator": [{"team": dice.among(("platform", "ads"))}],
        "headroom": _headroom(dice, account),
        "node_pool": _node_pools(dice, account),
    }
    made = Decisions(document)
    _add_inventories(dice, account, made)
    _add_rules(dice, account, made)
    return made


def _team_rules(dice: Dice) -> list[Document]:
    rules: list[Document] = [{"label": "team"}]
    if happens(dice, 50):
        rules.append({"team": "tooling", "namespace": [dice.among(NAMESPACES)]})
    return rules


def _dated(dice: Dice, account: Account) -> Document:
    """Draw when a rule holds: mostly always."""
    first = account.days[0].date()
    days = [first + timedelta(days=n) for n in range(len(account.days) + 1)]
    found: Document = {}
    if happens(dice, 15):
        found["valid_from"] = dice.among(days)
    if happens(dice, 15):
        found["valid_to"] = dice.among(days)
    if found.get("valid_from") and found.get("valid_to", days[-1]) <= found["valid_from"]:
        del found["valid_from"]
    return found


def _where(dice: Dice, account: Account) -> Document:
    names = [cluster.name for cluster in account.clusters]
    return {"cluster": [dice.among(("*", *names))]} if happens(dice, 25) else {}


def _pools(dice: Dice) -> Document:
    known = [pool for pool in POOLS if pool]
    return {"node_pool": [dice.among(("s*", *known))]} if happens(dice, 40) else {}


def _headroom(dice: Dice, account: Account) -> list[Document]:
    rules: list[Document] = []
    if happens(dice, 60):
        rules.append({"placeholder_pods": {"namespace": ["overprovisioning"]}})
    for _ in range(dice.number(0, 2)):
        kinds = some(dice, list(KEPT)) or ["cpu"]
        rules.append(
            {
                **_where(dice, account),
                **_pools(dice),
                **_dated(dice, account),
                "keep_free": {kind: dice.among(KEPT[kind]) for kind in kinds},
                "scope": dice.among(SCOPES),
            }
        )
    return rules


def _node_pools(dice: Dice, account: Account) -> list[Document]:
    return [
        {
            **_where(dice, account),
            **_pools(dice),
            **_dated(dice, account),
            "min_nodes": dice.among((0, 1, 1, 2)),
        }
        for _ in range(dice.number(0, 2))
    ]


# ------------------------------------------------------------------------------ inventories


def _add_inventories(dice: Dice, account: Account, made: Decisions) -> None:
    """Add snapshots: some nodes missing, some by name only, some dated, one in a table."""
    machines = [machine for nodes in account.machines.values() for machine in nodes]
    days = (None, *(day.date() for day in account.days), date(2026, 9, 20))
    for number in range(dice.among((0, 1, 2, 3))):
        known = [machine for machine in machines if happens(dice, 75)] or machines[:1]
        day = dice.among(days)
        named = f"nodes/{number}-{'all' if day is None else day}"
        if happens(dice, 35):
            made.inventories[f"{named}.csv"] = _table(dice, known, day)
        else:
            made.inventories[f"{named}.json"] = {"items": [_item(dice, one) for one in known]}
    if made.inventories:
        made.document["nodes"] = [{"path": ["nodes/*"]}]


def _allocatable(dice: Dice, machine: Machine) -> dict[str, float]:
    """Draw what a node can allocate; now and then more than it has."""
    return {
        kind: size + 1 if happens(dice, 3) else max(size - dice.among(RESERVED[kind]), 0)
        for kind, size in machine.node.size.items()
    }


def _provider_id(machine: Machine) -> str:
    return f"aws:///us-east-1a/{machine.node.instance}"


def _item(dice: Dice, machine: Machine) -> Document:
    known = _allocatable(dice, machine)
    # Now and then it is the snapshot of a smaller machine.
    part = dice.among((0.4, 0.5, 0.7)) if happens(dice, 6) else 1.0
    status = {
        "allocatable": _quantities({kind: size * part for kind, size in known.items()}),
        "capacity": _quantities({kind: size * part for kind, size in machine.node.size.items()}),
    }
    spec = {} if happens(dice, 30) else {"providerID": _provider_id(machine)}
    return {"metadata": {"name": machine.node.name}, "spec": spec, "status": status}


def _quantities(sizes: Mapping[str, float]) -> dict[str, str]:
    texts = {"cpu": lambda n: f"{n * 1000:.0f}m", "memory": lambda n: f"{n * 2**20:.0f}Ki"}
    names = {"gpu": "nvidia.com/gpu"}
    return {
        names.get(kind, kind): texts.get(kind, lambda n: f"{n:.0f}")(size)
        for kind, size in sizes.items()
    }


def _table(dice: Dice, machines: Sequence[Machine], day: date | None) -> list[dict[str, str]]:
    """Return the lines of kube_node_status_allocatable and kube_node_status_capacity."""
    lines = []
    for machine in machines:
        by_name = happens(dice, 30)
        told = {"kube_node_status_allocatable": _allocatable(dice, machine)}
        if happens(dice, 50):
            told["kube_node_status_capacity"] = machine.node.size
        for metric, sizes in told.items():
            for kind, size in sizes.items():
                is_memory = kind == "memory"
                lines.append(
                    {
                        "date": "" if day is None else f"{day}",
                        "__name__": metric,
                        "node": machine.node.name,
                        "provider_id": "" if by_name else _provider_id(machine),
                        "resource": "nvidia_com_gpu" if kind == "gpu" else kind,
                        "value": f"{size * 2**30:.0f}" if is_memory else f"{size:g}",
                    }
                )
    return lines


# --------------------------------------------------------------------------- who bears what


def _add_rules(dice: Dice, account: Account, made: Decisions) -> None:
    rules = []
    for number in range(dice.among((0, 1, 2, 3, 3, 4))):
        method = dice.among(METHODS)
        rule: Document = {
            "id": f"rule-{number}",
            "kinds": some(dice, KINDS) or ["idle"],
            "method": method,
            "scope": dice.among((*SCOPES, "cluster", "cluster")),
            "by": dice.among(("resource", "total")),
            **_where(dice, account),
            **_dated(dice, account),
        }
        if happens(dice, 15):
            rule["teams"] = some(dice, NAMED_TEAMS) or ["ads"]
        elif happens(dice, 15):
            rule["except"] = some(dice, NAMED_TEAMS) or ["ads"]
        if method == "fixed":
            rule["shares"] = {team: dice.among((60, 40, 1, 0.5, 33.3)) for team in NAMED_TEAMS}
            if happens(dice, 40):
                del rule["shares"][dice.among(NAMED_TEAMS)]
        if method == "metric":
            _add_metric(dice, account, made, rule)
        rules.append(rule)
    made.document["allocation_rule"] = rules


def _add_metric(dice: Dice, account: Account, made: Decisions, rule: Document) -> None:
    name = f"{rule['id']}.csv"
    metrics = ("requests", "bytes")[: dice.number(1, 2)]
    rule["metric_file"] = name
    if len(metrics) > 1 or happens(dice, 50):
        rule["metric"] = dice.among(metrics)
    if happens(dice, 70):
        rule["fallback"] = dice.among(("none", "proportional", "even"))
    made.metrics[name] = [
        {
            "date": f"{day:%Y-%m-%d}",
            "cluster": dice.among((cluster.name, cluster.arn("cluster"))),
            "team": team,
            "metric": metric,
            "value": dice.among(("0", "1", "2.5", "1000000", "0.000001", "1234.567")),
        }
        for metric in metrics
        for day in account.days
        for cluster in account.clusters
        for team in (*NAMED_TEAMS, "nobody", "")
        if happens(dice, 60) or team == "nobody"
    ]
