"""Looks become more and more seldom, and end."""

from valkey_operator.controllers.patience import FIRST_PAUSE_S, LONGEST_PAUSE_S, MOST_LOOKS, Patience
from valkey_operator.kube.objects import Key

KEY = Key("app", "c")


def pauses(patience: Patience, count: int, *, failed: bool = False) -> list[float | None]:
    return [patience.next_look_s(KEY, acted=False, waits=True, failed=failed) for _ in range(count)]


def test_pauses_double_and_after_some_looks_nobody_looks_any_more() -> None:
    patience = Patience()
    found = pauses(patience, MOST_LOOKS + 1)
    assert found[:3] == [FIRST_PAUSE_S, 2 * FIRST_PAUSE_S, 4 * FIRST_PAUSE_S]
    assert [each is None for each in found] == [*[False] * MOST_LOOKS, True]
    assert not patience.is_waiting(KEY)


def test_what_was_done_is_looked_at_soon_again() -> None:
    patience = Patience()
    pauses(patience, MOST_LOOKS - 1)
    assert patience.next_look_s(KEY, acted=True, waits=True) == FIRST_PAUSE_S
    assert patience.is_waiting(KEY)


def test_what_waits_for_nothing_is_not_looked_at() -> None:
    patience = Patience()
    assert patience.next_look_s(KEY, acted=True, waits=False) is None
    assert not patience.is_waiting(KEY)


def test_what_failed_is_tried_again_for_ever_at_growing_pauses() -> None:
    patience = Patience()
    found = pauses(patience, 100, failed=True)
    assert found[-1] == LONGEST_PAUSE_S
    assert None not in found


def test_one_that_is_gone_is_forgotten() -> None:
    patience = Patience()
    pauses(patience, 2)
    patience.forget(KEY)
    assert not patience.is_waiting(KEY)
