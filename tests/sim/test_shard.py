"""The real planner in the model of a shard: whatever happens, one primary at most, nothing lost, and rest at the end.

A failure tells the story of its seed, and the line that repeats it.
"""

import pytest

from tests.sim.shard_chaos import MOVES, live

BATCH = 50


@pytest.mark.parametrize("first", range(0, 500, BATCH))
def test_planned_operations_lose_nothing_although_the_operator_crashes(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed, faults=False)


@pytest.mark.parametrize("first", range(1000, 2000, BATCH))
def test_faults_cost_no_value_that_somebody_who_counts_still_holds(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed)


@pytest.mark.parametrize("first", range(2000, 2500, BATCH))
def test_a_primary_that_is_moved_about_among_faults_costs_no_value(first: int) -> None:
    for seed in range(first, first + BATCH):
        live(seed, faults=seed % 2 == 0, wishes=MOVES)
