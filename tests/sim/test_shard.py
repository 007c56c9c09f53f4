"""The real planner in the model of a shard: whatever happens, one primary at most, nothing lost, and rest at the end.

A failure tells the story of its seed, and the line that repeats it.
"""

import pytest

from tests.sim.shard_chaos import MOVES, NO_FAULTS, live
from tests.sim.shard_faults import CUTS, FAULTS

BATCH = 50


@pytest.mark.parametrize("first", range(0, 400, BATCH))
def test_planned_operations_lose_nothing_although_the_operator_crashes(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed, faults=NO_FAULTS)


@pytest.mark.parametrize("first", range(1000, 1800, BATCH))
def test_faults_cost_no_value_that_somebody_who_counts_still_holds(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed)


@pytest.mark.parametrize("first", range(2000, 2400, BATCH))
def test_a_primary_that_is_moved_about_among_faults_costs_no_value(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed, faults=FAULTS if seed % 2 == 0 else NO_FAULTS, wishes=MOVES)


@pytest.mark.parametrize("first", range(3000, 3400, BATCH))
def test_a_shard_that_is_cut_apart_has_one_primary_at_most(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed, faults=CUTS)
