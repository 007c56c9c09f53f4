import math

import pytest

from valkey_operator.agent.licence import NEVER, Grants, Licence, good_until
from valkey_operator.agent.promise import Promise, may_grant

F = 2.0
ONE, TWO, THREE = (("r1",),), (("r1", "r2"),), (("r1", "r2", "r3"),)


@pytest.mark.parametrize(
    ("sets", "replicas", "until"),
    [
        (ONE, {}, NEVER),
        (ONE, {"r1": 10}, 12),
        (TWO, {"r1": 10, "r2": 7}, 12),
        (TWO, {"r2": 7}, 9),
        (THREE, {"r1": 10}, NEVER),
        (THREE, {"r1": 10, "r2": 8, "r3": 1}, 10),
        (ONE, {"stranger": 10}, NEVER),
        ((), {"r1": 10}, NEVER),
        ((("r1",), ("r1", "r2", "r3")), {"r2": 10, "r3": 10}, NEVER),
        ((("r1",), ("r1", "r2", "r3")), {"r1": 9, "r3": 10}, 11),
        (((), ("r1",)), {"r1": 9}, 11),
    ],
)
def test_half_of_the_replicas_of_each_set_must_have_granted_lately(
    sets: tuple[tuple[str, ...], ...], replicas: dict[str, float], until: float
) -> None:
    expected = (until, Licence.REPLICAS if until > NEVER else None)
    assert good_until(sets, Grants(replicas=replicas), F) == expected


def test_one_that_nobody_could_take_over_from_writes_for_good() -> None:
    assert good_until((), Grants(alone=True), F) == (math.inf, Licence.ALONE)


def test_that_it_is_alone_counts_for_nothing_once_there_are_replicas() -> None:
    assert good_until(ONE, Grants(alone=True), F) == (NEVER, None)


def test_the_leave_that_lasts_longest_counts() -> None:
    grants = Grants(replicas={"r1": 5}, operator=7, record=6)
    assert good_until(ONE, grants, F) == (9, Licence.OPERATOR)
    assert good_until(ONE, Grants(replicas={"r1": 5}, record=6), F) == (8, Licence.RECORD)


@pytest.mark.parametrize(
    ("promise", "epoch", "granted"),
    [
        (Promise(epoch=4), 4, True),
        (Promise(epoch=4), 5, True),
        (Promise(epoch=5), 4, False),
        (Promise(epoch=4, granted=5), 4, False),
        (Promise(epoch=4, granted=5), 5, True),
        (Promise(), 4, False),
    ],
)
def test_who_promised_or_granted_a_newer_epoch_or_knows_none_grants_nothing(
    promise: Promise, epoch: int, granted: bool
) -> None:
    assert may_grant(promise, epoch) is granted
