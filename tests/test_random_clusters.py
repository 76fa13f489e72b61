"""Months of random AWS accounts against the oracle: every row, bridge and statement."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines import config as configuration
from pipelines import month as months
from pipelines.lake import Lake
from tests.oracle import Books
from tests.random_agreement import differences
from tests.random_clusters import Drawn, Seeded
from tests.random_months import MONTH, Case, case
from transforms.schema import CAUSES

BLOCK = 50
"""Seeds in one part of the long campaign."""

cases = st.composite(lambda draw: case(Drawn(draw)))()


def different(drawn: Case, folder: Path) -> list[str]:
    """Run the month of a case and return where it differs from the oracle."""
    file = drawn.write(folder)
    config = configuration.load(file)
    outcome = months.run(config, MONTH)
    assert outcome.record.published, outcome.broken
    con = Lake(config.lake.path).connect(outcome.record)
    return differences(con, Books.load(file, MONTH), config.report.cost_view)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=cases)
def test_a_random_month_is_the_oracles(
    tmp_path_factory: pytest.TempPathFactory, drawn: Case
) -> None:
    assert different(drawn, tmp_path_factory.mktemp("month")) == []


@pytest.mark.soak
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(drawn=cases)
def test_a_random_month_is_the_oracles_at_length(
    tmp_path_factory: pytest.TempPathFactory, drawn: Case
) -> None:
    assert different(drawn, tmp_path_factory.mktemp("month")) == []


@pytest.mark.soak
@pytest.mark.parametrize("block", range(20))
def test_months_of_many_seeds_are_the_oracles(tmp_path: Path, block: int) -> None:
    """A seed names its month: `case(Seeded(Random(seed)))` draws it again."""
    seeds = range(block * BLOCK, (block + 1) * BLOCK)
    found = {
        seed: lines
        for seed in seeds
        if (lines := different(case(Seeded(Random(seed))), tmp_path / str(seed)))
    }
    assert found == {}


# ---------------------------------------------------------------------------- what is drawn


def test_what_is_drawn_has_everything_in_it(tmp_path: Path) -> None:
    """A comparison of months in which nothing happens would say nothing."""
    seen: Counter[str] = Counter()
    for seed in range(60):
        drawn = case(Seeded(Random(seed)))
        seen.update(_things(Books.load(drawn.write(tmp_path / str(seed)), MONTH)))
        seen["daily"] += drawn.account.is_daily
        report = drawn.decisions.document["report"]
        seen.update(report.values())
        seen.update(rule["method"] for rule in drawn.decisions.document["allocation_rule"])
        seen.update(rule["scope"] for rule in drawn.decisions.document["allocation_rule"])
    expected = {*CAUSES, *EXPECTED}
    assert {thing for thing in expected if seen[thing] < 2} == set()


EXPECTED = (
    *("node_reserve", "policy", "placeholder_pods", "system_namespace", "empty_node"),
    *("unrequested", "split_gap", "no_split_source", "control_plane", "load_balancer"),
    *("cpu", "memory", "gpu", "compute", "Standard", "Committed", "Dynamic"),
    *("reserve short", "reserve large", "inventory contradicts"),
    *("headroom short", "headroom unknown"),
    *("negative idle", "nobody's workload", "left", "provider", "request"),
    *("effective", "billed", "none", "even", "proportional", "metric", "fixed"),
    *("node", "node_pool", "cluster", "agents' hours", "fallback", "daily"),
    *("even for several", "proportional for several", "metric for several", "fixed for several"),
)


def _things(books: Books) -> set[str]:
    """Return what happens in a month."""
    pieces = books.clustered
    found = {
        name
        for piece in pieces
        for name in (piece.cause, piece.reason, piece.resource_kind, piece.pricing_category)
        if name
    }
    idle = [piece for piece in pieces if piece.row_kind == "idle"]
    happened = {
        "reserve short": bool(books.reserves.short),
        "reserve large": any(one.amount for one in books.reserves.large),
        "headroom short": any(one.amount for one in books.headroom_short),
        "headroom unknown": any(one.amount is None for one in books.headroom_short),
        "inventory contradicts": bool(books.reserves.wrong),
        "negative idle": any((piece.effective or 0) < 0 for piece in idle),
        "nobody's workload": any(p.row_kind == "workload" and p.team is None for p in pieces),
        "left": any(piece.cause == "scale_down_wait" for piece in idle),
        "agents' hours": any(p.cause == "empty_node" and p.reason == "unrequested" for p in idle),
        "fallback": any(
            posting.pool is not None and posting.pool.rule.fallback != "none"
            for posting in books.postings("effective")
        ),
    }
    return found | _shared(books) | {name for name, is_so in happened.items() if is_so}


def _shared(books: Books) -> set[str]:
    """Return the methods that gave several teams a part."""
    pools = Counter(posting.pool for posting in books.postings("effective") if posting.amount)
    return {f"{pool.rule.method} for several" for pool, many in pools.items() if pool and many > 1}
