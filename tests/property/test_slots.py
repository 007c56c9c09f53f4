"""Sets of slots behave as sets do, and their text says exactly them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.valkey.slots import (
    ALL_SLOTS,
    NO_SLOTS,
    SLOT_COUNT,
    Slots,
    SlotsError,
    parse_slots,
    slot_range,
    union,
)

edges = st.tuples(st.integers(0, SLOT_COUNT - 1), st.integers(0, 300)).map(
    lambda pair: slot_range(pair[0], min(pair[0] + pair[1], SLOT_COUNT - 1))
)
some_slots = st.lists(edges, max_size=6).map(union)


@given(some_slots)
def test_the_text_of_slots_is_read_as_the_same_slots(slots: Slots) -> None:
    assert parse_slots(str(slots)) == slots


@given(some_slots, some_slots)
def test_slots_add_subtract_and_intersect_as_sets_do(left: Slots, right: Slots) -> None:
    assert set(left | right) == set(left) | set(right)
    assert set(left & right) == set(left) & set(right)
    assert set(left - right) == set(left) - set(right)
    assert len(left) == len(set(left))


@given(some_slots, st.integers(0, 400))
def test_the_lowest_and_highest_slots_are_those_of_the_sorted_list(slots: Slots, count: int) -> None:
    listed = sorted(slots)
    assert list(slots.lowest(count)) == listed[:count]
    assert list(slots.highest(count)) == listed[max(0, len(listed) - count) :]


@given(some_slots)
def test_ranges_are_in_order_and_never_touch(slots: Slots) -> None:
    bounds = list(slots.ranges())
    assert all(before[1] + 1 < after[0] for before, after in itertools.pairwise(bounds))


def test_all_slots_and_none_have_their_texts() -> None:
    assert (str(ALL_SLOTS), str(NO_SLOTS), len(ALL_SLOTS), bool(NO_SLOTS)) == ("0-16383", "", SLOT_COUNT, False)


@pytest.mark.parametrize("text", ["16384", "5-3", "a", "1-", "-1", "0-99999", "²"])
def test_a_text_that_is_no_slots_is_refused(text: str) -> None:
    with pytest.raises(SlotsError, match="is no range of slots"):
        parse_slots(text)
