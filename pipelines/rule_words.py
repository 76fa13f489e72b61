"""Rules in plain words."""

from collections.abc import Iterable, Sequence

from pipelines.charges import Charge
from pipelines.decisions import (
    AllocationRule,
    Headroom,
    KeepFree,
    NodePool,
    Operator,
    System,
    TeamRule,
)
from pipelines.figures import count

SCOPES = {"node": "per node", "node_pool": "per node pool", "cluster": "per cluster"}
NO_RULE = "default"
"""The id of what happens without a rule."""
OF_TEAMS = "team_rule"
OPERATOR = "operator"
WIDEST_LIST = 5


def allocation(rule: AllocationRule | None) -> str:
    """Return what a rule does; None is what happens without one."""
    if rule is None or rule.method == "none":
        return "none: the operator keeps it"
    parts = [_method(rule), SCOPES[rule.scope]]
    if rule.teams:
        parts.append(f"{listed(rule.teams)} only")
    if rule.except_:
        parts.append(f"without {listed(rule.except_)}")
    return ", ".join(parts)


def _method(rule: AllocationRule) -> str:
    if rule.method == "proportional":
        return f"proportional by {rule.by}"
    if rule.method == "metric":
        return f"by metric {rule.measure} ({rule.falls_back_to} where it is missing)"
    if rule.method == "fixed" and rule.shares:
        return f"fixed {listed(f'{team} {share}' for team, share in rule.shares.items())}"
    return rule.method


def rule_id(rule: AllocationRule | None) -> str:
    """Return the id of a rule."""
    return rule.id if rule else NO_RULE


def team_rule(rule: TeamRule) -> str:
    """Return who is charged by a team rule."""
    return f"{_payer(rule.label, rule.team)}{_namespaces(rule.namespace)}"


def charge(charge: Charge) -> str:
    """Return who is charged by one decision."""
    return f"{_payer(charge.label, charge.team)}{_namespaces((charge.namespace,))}"


def _payer(label: str | None, team: str | None) -> str:
    return f"whoever label {label} names" if label else f"team {team}"


def _namespaces(patterns: Sequence[str]) -> str:
    return "" if "*" in patterns else f" for namespace {listed(patterns, 'or')}"


def headroom(rule: Headroom) -> str:
    """Return what is kept free by a headroom rule."""
    if rule.placeholder_pods is not None:
        return f"pods of namespace {listed(rule.placeholder_pods.namespace, 'or')} hold it free"
    pools = "" if "*" in rule.node_pool else f" of node pool {listed(rule.node_pool, 'or')}"
    return f"{_kept(rule.keep_free)} kept free {SCOPES[rule.scope]}{pools}"


def _kept(keep: KeepFree | None) -> str:
    named = keep.model_dump(exclude_none=True) if keep else {}
    return listed(f"{kind} {amount}" for kind, amount in named.items())


def node_pool(rule: NodePool) -> str:
    """Return what keeps a node pool from getting smaller."""
    pools = rule.node_pool
    named = "every node pool" if "*" in pools else f"node pool {listed(pools, 'or')}"
    return f"{named} has at least {count(rule.min_nodes, 'node')}"


def operator(rule: Operator) -> str:
    """Return who keeps what is not distributed."""
    return f"team {rule.team} bears what is not distributed"


def system(rule: System) -> str:
    """Return what counts as shared operation."""
    return f"namespace {listed(rule.namespace, 'or')} is shared operation"


def became(kind: str, before: str, after: str) -> str:
    """Return what changed: of a row kind, of OF_TEAMS or of the OPERATOR."""
    if kind == OF_TEAMS:
        return f"workload is now charged to {after} instead of {before}"
    if kind == OPERATOR:
        return f"{after} now operates the cluster instead of {before}"
    was, now = before.split(", "), after.split(", ")
    while was[1:] and now[1:] and was[0] == now[0]:
        was, now = was[1:], now[1:]
    while was[1:] and now[1:] and was[-1] == now[-1]:
        was, now = was[:-1], now[:-1]
    return f"{kind.replace('_', ' ')} is now {', '.join(now)} instead of {', '.join(was)}"


def listed(words: Iterable[str], end: str = "and") -> str:
    """Return words as a sentence lists them; of a long list the first few."""
    found = list(words)
    if len(found) > WIDEST_LIST:
        return f"{', '.join(found[:WIDEST_LIST])} {end} {len(found) - WIDEST_LIST} more"
    return f" {end} ".join([part for part in (", ".join(found[:-1]), found[-1]) if part])
