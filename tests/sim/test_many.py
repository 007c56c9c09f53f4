from tests.sim.many import FIRST_SEED, next_seed, run, summary
from tests.sim.shard_chaos import Life


def test_it_goes_on_at_the_seed_after_the_last_one() -> None:
    runs = [{"first": FIRST_SEED, "seeds": 5, "failures": []}, {"first": FIRST_SEED + 5, "seeds": 2, "failures": []}]
    assert (next_seed([]), next_seed(runs)) == (FIRST_SEED, FIRST_SEED + 7)


def test_it_counts_over_all_runs() -> None:
    runs = [{"first": 0, "seeds": 5, "failures": [{"seed": 3}]}, {"first": 5, "seeds": 2, "failures": []}]
    assert summary(runs) == "7 seeds so far, 1 failed; the last run: 2, 0 failed"


def test_a_life_that_ends_well_has_no_problem() -> None:
    assert run(FIRST_SEED) is None


def test_the_same_seed_lives_the_same_life() -> None:
    lives = [Life(7), Life(7)]
    for life in lives:
        life.run()
    assert lives[0].world.story == lives[1].world.story
