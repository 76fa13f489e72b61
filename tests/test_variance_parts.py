"""What of a change of workload and of idle has which cause: figures by hand, sums exact."""

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.variance_figures import Use, Work
from pipelines.variance_parts import Idle, IdleParts, Weights, dearer, idle, workload

CPU = Use("cpu", True, "Core-Hours", True)
MEMORY = Use("memory", True, "GiB-Hours", True)
FARGATE = Use("cpu", False, "Core-Hours", True)
UNMEASURED = Use("cpu", True, None, False)


def work(cost: int, quantity: int | None = None) -> Work:
    """Return what a use cost, and how much it was."""
    return Work(cost, None if quantity is None else Fraction(quantity))


# ---------------------------------------------------------------------------------------------
# Workload
# ---------------------------------------------------------------------------------------------


def parts(before: Mapping[Use, Work], after: Mapping[Use, Work]) -> tuple[int, int]:
    """Return own quantity and price of a change."""
    found = workload(before, after)
    return found.own, found.price


def test_more_at_the_same_price_is_its_own() -> None:
    assert parts({CPU: work(100, 10)}, {CPU: work(130, 13)}) == (30, 0)


def test_as_much_at_another_price_is_the_price() -> None:
    assert parts({CPU: work(100, 10)}, {CPU: work(130, 10)}) == (0, 30)


def test_more_at_another_price_is_both_the_quantity_at_the_older_price() -> None:
    found = workload({CPU: work(100, 10)}, {CPU: work(180, 15)})
    assert (found.before, found.own, found.price) == (100, 50, 30)
    assert found.prices == {CPU: (Fraction(30), Fraction(1, 5))}


def test_each_use_has_its_own_price() -> None:
    before = {CPU: work(100, 10), MEMORY: work(50, 100), FARGATE: work(70, 5)}
    after = {CPU: work(200, 20), MEMORY: work(80, 100), FARGATE: work(28, 2)}
    found = workload(before, after)
    assert (found.own, found.price) == (100 + 0 - 42, 0 + 30 + 0)
    assert (found.weight, found.new_weight) == (150, 250)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({UNMEASURED: work(100)}, {UNMEASURED: work(130)}),
        ({UNMEASURED: work(100)}, {CPU: work(130, 10)}),
        ({CPU: work(100, 0)}, {CPU: work(130, 10)}),
        ({CPU: work(100, 10)}, {FARGATE: work(130, 10)}),
    ],
)
def test_without_two_quantities_all_is_its_own(
    before: Mapping[Use, Work], after: Mapping[Use, Work]
) -> None:
    assert parts(before, after) == (30, 0)
    assert workload(before, after).prices == {}


def test_who_comes_or_goes_moves_all_by_itself() -> None:
    assert parts({}, {CPU: work(130, 10)}) == (130, 0)
    assert parts({CPU: work(130, 10)}, {}) == (-130, 0)


def test_a_price_that_is_no_whole_quantum_leaves_its_rest_to_the_price() -> None:
    assert parts({CPU: work(100, 3)}, {CPU: work(134, 4)}) == (33, 1)


# ---------------------------------------------------------------------------------------------
# Idle
# ---------------------------------------------------------------------------------------------

SAME = Weights(50, 50, 50, 50)


def test_a_new_price_makes_the_older_idle_dearer() -> None:
    prices = {"cpu": Fraction(10), "memory": Fraction(4)}, {"cpu": Fraction(12), "gpu": Fraction(1)}
    assert dearer({"cpu": 200, "memory": 100, "gpu": 50, "compute": 9}, *prices) == {
        "cpu": (Fraction(40), Fraction(1, 5))
    }


def test_more_idle_is_volume_for_its_part() -> None:
    place = Idle(100, 140, Fraction(0))
    assert idle(place, 50, 70, SAME, "proportional") == IdleParts(0, 0, 20, 0)


def test_dearer_idle_is_price_for_its_part() -> None:
    place = Idle(100, 140, Fraction(30))
    assert idle(place, 50, 70, SAME, "proportional") == IdleParts(0, 15, 5, 0)


def test_its_own_growth_takes_a_larger_part_of_the_older_idle() -> None:
    # 50 of 100 were 1/2; 150 against the same 50 are 3/4
    grown = Weights(50, 150, 50, 50)
    place = Idle(100, 100, Fraction(0))
    assert idle(place, 50, 75, grown, "proportional") == IdleParts(25, 0, 0, 0)


def test_others_that_left_leave_a_larger_part() -> None:
    left = Weights(50, 50, 50, 0)
    place = Idle(100, 160, Fraction(0))
    assert idle(place, 50, 160, left, "proportional") == IdleParts(0, 0, 30, 80)


def test_who_leaves_takes_its_part_along() -> None:
    gone = Weights(50, 0, 50, 50)
    assert idle(Idle(100, 60, Fraction(9)), 50, 0, gone, "proportional") == IdleParts(-50, 0, 0, 0)


def test_who_joins_pays_its_part_by_itself_and_of_what_is_more() -> None:
    joined = Weights(0, 50, 50, 50)
    place = Idle(100, 140, Fraction(0))
    assert idle(place, 0, 70, joined, "proportional") == IdleParts(50, 0, 20, 0)


def test_others_that_grew_beside_who_joined_are_others() -> None:
    # a quarter of 140 now; against the 50 of before it would have been half
    joined = Weights(0, 50, 50, 150)
    place = Idle(100, 140, Fraction(0))
    assert idle(place, 0, 35, joined, "proportional") == IdleParts(50, 0, 20, -35)


@pytest.mark.parametrize("method", ["even", "none", "metric", "fixed"])
def test_other_methods_know_no_own_part(method: str) -> None:
    grown = Weights(50, 150, 50, 50)
    place = Idle(100, 120, Fraction(0))
    assert idle(place, 50, 80, grown, method) == IdleParts(0, 0, 10, 20)


def test_where_nothing_was_idle_all_is_volume() -> None:
    place = Idle(0, 120, Fraction(0))
    assert idle(place, 0, 80, Weights(50, 150, 50, 50), "proportional") == IdleParts(0, 0, 80, 0)
    assert idle(place, 0, 0, SAME, "proportional") == IdleParts(0, 0, 0, 0)


def test_where_nothing_is_idle_any_more_nothing_is_left() -> None:
    place = Idle(120, 0, Fraction(0))
    assert idle(place, 80, 0, SAME, "proportional") == IdleParts(0, 0, -80, 0)


def test_a_part_of_more_than_all_stays_as_it_is() -> None:
    # one pool is negative, so that a team bears 150 of 100
    grown = Weights(50, 500, 50, 50)
    place = Idle(100, 100, Fraction(0))
    assert idle(place, 150, 160, grown, "proportional") == IdleParts(0, 0, 0, 10)


# ---------------------------------------------------------------------------------------------
# Always
# ---------------------------------------------------------------------------------------------

AMOUNTS = st.integers(-(10**24), 10**24)
WORKS = st.dictionaries(
    st.sampled_from([CPU, MEMORY, FARGATE, UNMEASURED]),
    st.builds(Work, AMOUNTS, st.one_of(st.none(), st.fractions(0, 10**6))),
)


@given(WORKS, WORKS)
def test_parts_of_workload_are_all_of_its_change(
    before: Mapping[Use, Work], after: Mapping[Use, Work]
) -> None:
    found = workload(before, after)
    costs = [sum(one.cost for one in works.values()) for works in (before, after)]
    assert found.own + found.price == costs[1] - costs[0]
    assert found.before == costs[0]


@given(
    st.builds(Idle, AMOUNTS, AMOUNTS, st.fractions(-(10**20), 10**20)),
    AMOUNTS,
    AMOUNTS,
    st.builds(Weights, AMOUNTS, AMOUNTS, AMOUNTS, AMOUNTS),
    st.sampled_from(["proportional", "even"]),
)
def test_parts_of_idle_are_all_of_its_change(
    place: Idle, before: int, after: int, weights: Weights, method: str
) -> None:
    assert sum(idle(place, before, after, weights, method)) == after - before
