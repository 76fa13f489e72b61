"""Small AWS accounts at random: what runs on which node in which hour, as AWS bills it.

Everything is drawn with `Dice`, so that hypothesis can shrink an account and a seed can name one.
Rows and AWS's arithmetic, doubles and all, are those of `fixtures.aws`; `random_rules` draws what
a team decides about the account, `random_months` writes both down.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random
from typing import Protocol, TypeVar

from hypothesis import strategies as st

from fixtures.aws.doubles import added
from fixtures.aws.nodes import Cluster, Node, NodeHour, Pod, parent, pod_rows
from fixtures.aws.rows import DAY, HOUR, PERIOD_START, Place, Row, Sku
from fixtures.aws.services import Item, control_plane, daily, hourly
from fixtures.aws.shop import mixed, spot, with_plan
from fixtures.aws.stays import Bill, Buy, amortised

T = TypeVar("T")

SIZES: tuple[tuple[str, dict[str, float], float], ...] = (
    ("m5.large", {"cpu": 2, "memory": 8}, 0.115),
    ("m5.xlarge", {"cpu": 4, "memory": 16}, 0.23),
    ("c5.2xlarge", {"cpu": 8, "memory": 16}, 0.388),
    ("r5.large", {"cpu": 2, "memory": 16}, 0.152),
    ("t4g.nano", {"cpu": 2, "memory": 0.5}, 0.0042),
    ("g4dn.xlarge", {"cpu": 4, "memory": 16, "gpu": 1}, 0.526),
    ("g5.12xlarge", {"cpu": 48, "memory": 192, "gpu": 4}, 5.672),
)
POOLS = ("std", "spot", "big", None)
TEAMS = ("ads", "batch", "Zoo", "ads", "batch", None)
NAMESPACES = ("shop", "tools", "jobs", "web", "ads", "kube-system", "overprovisioning")
KINDS = ("ReplicaSet", "StatefulSet", "Job", None)
REQUESTS: dict[str, tuple[float, ...]] = {
    "cpu": (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 3.0),
    "memory": (0.0, 0.1, 0.5, 1.0, 2.0, 3.7, 12.0),
    "gpu": (0.0, 0.0, 1.0, 2.0),
}
USES = (0.0, 0.1, 0.5, 0.97, 1.0, 1.3, 2.5)
"""What is used of a request, in parts of it."""


class Dice(Protocol):
    """What draws: hypothesis, or a seed."""

    def number(self, low: int, high: int) -> int:
        """Draw a whole number, both ends included."""

    def among(self, choices: Sequence[T]) -> T:
        """Draw one of several."""


@dataclass(frozen=True)
class Seeded:
    """Dice of a seed."""

    random: Random

    def number(self, low: int, high: int) -> int:
        """Draw a whole number, both ends included."""
        return self.random.randint(low, high)

    def among(self, choices: Sequence[T]) -> T:
        """Draw one of several."""
        return self.random.choice(choices)


@dataclass(frozen=True)
class Drawn:
    """Dice of hypothesis."""

    draw: st.DrawFn

    def number(self, low: int, high: int) -> int:
        """Draw a whole number, both ends included."""
        return self.draw(st.integers(low, high))

    def among(self, choices: Sequence[T]) -> T:
        """Draw one of several."""
        return self.draw(st.sampled_from(choices))


def happens(dice: Dice, percent: int) -> bool:
    """Draw whether something with a chance happens; hypothesis shrinks to no."""
    return dice.number(0, 99) >= 100 - percent


def some(dice: Dice, choices: Sequence[T]) -> list[T]:
    """Draw some of several, in their order."""
    return [choice for choice in choices if happens(dice, 50)]


# ---------------------------------------------------------------------------------- account


@dataclass(frozen=True)
class Machine:
    """A node of a cluster, how its hours are bought, and whether the bill tells its size."""

    node: Node
    buy: Buy
    is_sized: bool = True

    @property
    def pool(self) -> str | None:
        """Its node pool."""
        return self.node.tags.get("user:eks:nodegroup-name")


@dataclass
class Account:
    """Clusters with their machines and pods, and the rows that AWS writes of some days."""

    clusters: list[Cluster]
    machines: dict[str, list[Machine]] = field(default_factory=dict)
    pods: dict[str, list[Pod]] = field(default_factory=dict)
    days: list[datetime] = field(default_factory=list)
    bill: Bill = field(default_factory=Bill)
    is_daily: bool = False
    """Whether the account's export has a row a day instead of one an hour."""


def account(dice: Dice) -> Account:
    """Draw an account and its bill."""
    discount = dice.among((None, None, 0.1))
    place = Place("999900001111", "111122223333", "acme", "us-east-1", discount)
    spelling = dice.among(("normalised", "raw"))
    names = ("shop", "prod-eu")[: dice.number(1, 2)]
    made = Account([Cluster(name, place, spelling) for name in names])
    made.is_daily = happens(dice, 8)
    made.days = [PERIOD_START + n * DAY for n in range(dice.number(1, 3))]
    for number, cluster in enumerate(made.clusters):
        machines = [_machine(dice, number, n) for n in range(dice.number(1, 3))]
        made.machines[cluster.name] = machines
        made.pods[cluster.name] = [_pod(dice, n) for n in range(dice.number(2, 6))]
        for machine in machines:
            _live(dice, made, cluster, machine)
        _services(dice, made, cluster)
    return made


def _machine(dice: Dice, cluster: int, number: int) -> Machine:
    kind, size, price = dice.among(SIZES)
    pool = dice.among(POOLS)
    tags = {} if pool is None else {"user:eks:nodegroup-name": pool}
    # Two clusters may give one name to two nodes; then an inventory by name means neither.
    place = 0 if happens(dice, 10) else cluster
    node = Node(
        f"i-0{cluster}{number}00000000000001", kind, size, price, f"ip-10-{place}-0-{number}", tags
    )
    buy = dice.among((_on_demand, spot, with_plan, mixed, _later_planned))
    return Machine(node, buy, is_sized=not happens(dice, 12))


def _on_demand(at: NodeHour) -> list[Row]:
    return [parent(at)]


def _later_planned(at: NodeHour) -> list[Row]:
    """Buy odd hours under the plan and even ones on demand."""
    return with_plan(at) if at.start.hour % 2 else _on_demand(at)


def _pod(dice: Dice, number: int) -> Pod:
    team, kind = dice.among(TEAMS), dice.among(KINDS)
    requests = {name: dice.among(choices) for name, choices in REQUESTS.items()}
    name = f"app-{number}"
    return Pod(
        dice.among(NAMESPACES),
        name if kind is None else f"{name}-6d4cf56db6-x7k2p",
        {name: amount for name, amount in requests.items() if amount},
        kind=kind,
        workload=None if kind is None else f"{name}-6d4cf56db6",
        labels={} if team is None else {"team": team},
    )


AGENT = Pod("kube-system", "agent-x7k2p", {"cpu": 0.05, "memory": 0.1}, None, "DaemonSet", "agent")


# -------------------------------------------------------------------------------- the hours


def _live(dice: Dice, made: Account, cluster: Cluster, machine: Machine) -> None:
    """Let a machine live some hours of some days; it may come late and leave early."""
    first, last = (dice.number(0, len(made.days) - 1) for _ in range(2))
    has_agent = happens(dice, 75)
    for day in made.days[first : last + 1] or made.days:
        begins, hours = dice.number(0, 18), dice.number(1, 4)
        part = dice.among((1.0, 1.0, 0.5, 0.25))
        for number in range(hours):
            at = NodeHour(cluster, machine.node, day + (begins + number) * HOUR, 1.0)
            at = at if number else replace(at, hours=part)
            bought = machine.buy(at)
            made.bill.charges += bought if machine.is_sized else [_unsized(row) for row in bought]
            pods = _running(dice, made.pods[cluster.name], machine, has_agent=has_agent)
            cost = added(amortised(row) for row in bought)
            made.bill.splits += pod_rows(at, pods, cost)


def _unsized(row: Row) -> Row:
    return row | {"product": {}}


def _running(dice: Dice, pods: Sequence[Pod], machine: Machine, *, has_agent: bool) -> list[Pod]:
    """Draw what runs in one hour: nothing, the agent alone, or pods with what they use."""
    agents = [AGENT] if has_agent else []
    mood = dice.number(0, 9)
    if mood == 0:
        return []
    if mood in (1, 2):
        return agents
    found = list(agents)
    for pod in (pod for pod in pods if happens(dice, 70)):
        is_measured = "gpu" not in machine.node.size and happens(dice, 70)
        for copy in range(dice.number(1, 2)):
            named = replace(pod, name=f"{pod.name}{copy or ''}")
            found.append(replace(named, used=_used(dice, pod) if is_measured else None))
    return [_asks_no_gpu(pod) if "gpu" not in machine.node.size else pod for pod in found]


def _used(dice: Dice, pod: Pod) -> dict[str, float]:
    return {
        kind: round((pod.requests.get(kind, 0.0) or 0.2) * dice.among(USES), 6)
        for kind in ("cpu", "memory")
    }


def _asks_no_gpu(pod: Pod) -> Pod:
    return replace(pod, requests={k: v for k, v in pod.requests.items() if k != "gpu"})


def _services(dice: Dice, made: Account, cluster: Cluster) -> None:
    """Add what is no node: the control plane, a balancer, logs."""
    made.bill.charges += hourly(cluster, control_plane(cluster), made.days)
    tags = {"user:kubernetes.io/cluster/" + cluster.name: "owned"}
    balancer = Sku("AWSELB", "LoadBalancing", "LoadBalancerUsage", "Load Balancer")
    if happens(dice, 50):
        arn = f"loadbalancer/net/{cluster.name}/0"
        made.bill.charges.append(daily(cluster, Item(balancer, arn, 0.54, tags), made.days[0]))
