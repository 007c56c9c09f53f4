import itertools
from random import Random

from valkey_operator.runtime.backoff import backoff_delays


def first_delays(count: int, seed: int = 1) -> list[float]:
    return list(itertools.islice(backoff_delays(Random(seed), first_s=1, most_s=10), count))


def test_delays_double_until_the_limit_and_stay_in_the_upper_half_of_it() -> None:
    for delay_s, limit_s in zip(first_delays(7), [1, 2, 4, 8, 10, 10, 10], strict=True):
        assert limit_s / 2 <= delay_s <= limit_s


def test_two_programs_do_not_come_back_at_the_same_moment() -> None:
    assert first_delays(3, seed=1) != first_delays(3, seed=2)
