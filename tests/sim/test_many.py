from typing import Any

import pytest

from tests.sim.many import FIRST_SEED, MODELS, next_seed, run, summary
from tests.sim.shard_chaos import Life


def a_run(first: int, seeds: int, *failed: int) -> dict[str, Any]:
    return {"model": "shard", "first": first, "seeds": seeds, "failures": [{"seed": seed} for seed in failed]}


def test_it_goes_on_at_the_seed_after_the_last_one() -> None:
    runs = [a_run(FIRST_SEED, 5), a_run(FIRST_SEED + 5, 2)]
    assert (next_seed([], "shard"), next_seed(runs, "shard")) == (FIRST_SEED, FIRST_SEED + 7)


def test_each_model_has_seeds_of_its_own() -> None:
    assert next_seed([a_run(FIRST_SEED, 5)], "cluster") == FIRST_SEED


def test_it_counts_over_all_runs() -> None:
    runs = [a_run(0, 5, 3), a_run(5, 2)]
    assert summary(runs, "shard") == "shard: 7 seeds so far, 1 failed; the last run: 2, 0 failed"


@pytest.mark.parametrize("model", MODELS)
def test_a_life_that_ends_well_has_no_problem(model: str) -> None:
    assert run(model, FIRST_SEED) is None


def test_the_same_seed_lives_the_same_life() -> None:
    lives = [Life(7), Life(7)]
    for life in lives:
        life.run()
    assert lives[0].world.story == lives[1].world.story
