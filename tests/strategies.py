"""Awkward books: pools and weights of every size and sign, and the rows of a month."""

from dataclasses import dataclass
from decimal import Decimal

from hypothesis import strategies as st

from tests.ledger_cases import Row, charge

QUANTUM = Decimal("0.000000000001")
LARGEST_POOL = 170_000_000_000

TEAMS = ("ads", "batch", "Zoo", "ärger", "platform", "web", None)


def amounts(largest: int) -> st.SearchStrategy[Decimal]:
    """Amounts up to `largest` units: any, whole ones, single quanta, zero."""
    quanta = largest * 10**12
    return st.one_of(
        st.integers(-quanta, quanta),
        st.integers(-largest, largest).map(lambda units: units * 10**12),
        st.integers(-3, 3),
        st.sampled_from([0, quanta, -quanta, 1, -1]),
    ).map(lambda whole: whole * QUANTUM)


@dataclass(frozen=True)
class Pool:
    """One pool, who bears what nobody claims, and what each claimant weighs."""

    amount: Decimal
    bearer: str | None
    weights: dict[str | None, Decimal]


pools = st.builds(
    Pool,
    amounts(LARGEST_POOL),
    st.sampled_from(["platform", None]),
    st.one_of(
        st.dictionaries(st.sampled_from(TEAMS), amounts(10**15)),
        st.dictionaries(st.sampled_from(TEAMS), amounts(1)),
        st.integers(1, 60).map(lambda many: {f"team {n}": Decimal(1) for n in range(many)}),
    ),
)

_kinds = st.sampled_from(
    [
        {"row_kind": "workload", "reason": None},
        {"row_kind": "workload", "reason": None, "split_source": None},
        {"row_kind": "idle", "reason": "unrequested"},
        {"row_kind": "idle", "reason": "empty_node"},
        {"row_kind": "headroom", "reason": "placeholder_pods"},
        {"row_kind": "system_overhead", "reason": "node_disk", "resource_kind": "storage"},
        {"row_kind": "cluster_fee", "reason": "control_plane", "resource_kind": "other"},
        {"row_kind": "shared", "reason": "network", "resource_kind": "network"},
        {"row_kind": "unattributed", "reason": "split_gap", "resource_kind": "compute"},
    ]
)


def _row(kind: Row, cost: Decimal, team: str | None, resource_kind: str, node: str | None) -> Row:
    named = team if kind["row_kind"] == "workload" else None
    place = {"resource_id": node, "node_name": node, "node_pool": node and f"pool of {node}"}
    return charge(cost, team=named, **({"resource_kind": resource_kind} | place | kind))


months = st.lists(
    st.builds(
        _row,
        _kinds,
        amounts(10_000_000),
        st.sampled_from(TEAMS),
        st.sampled_from(["cpu", "memory", "gpu"]),
        st.sampled_from(["i-1", "i-2", None]),
    ),
    min_size=1,
    max_size=12,
)
