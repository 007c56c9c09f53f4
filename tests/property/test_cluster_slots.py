"""Moves lead from any distribution to even shares, and move nothing that could have stayed."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.core.cluster.slots import Move, at_once, covered, first_slots, moves_to
from valkey_operator.valkey.slots import ALL_SLOTS, NO_SLOTS, SLOT_COUNT, Slots, slot_range

shard_counts = st.integers(3, 12)


@st.composite
def distributions(draw: st.DrawFn) -> dict[int, Slots]:
    """All slots, cut at random places and dealt out at random."""
    cuts = sorted(draw(st.sets(st.integers(1, SLOT_COUNT - 1), max_size=20)))
    bounds = [0, *cuts, SLOT_COUNT]
    held = dict.fromkeys(range(draw(shard_counts)), NO_SLOTS)
    for start, end in itertools.pairwise(bounds):
        shard = draw(st.sampled_from(sorted(held)))
        held[shard] |= slot_range(start, end - 1)
    return held


def after(held: dict[int, Slots], moves: list[Move]) -> dict[int, Slots]:
    result = dict(held)
    for move in moves:
        result[move.source] -= move.slots
        result[move.target] = result.get(move.target, NO_SLOTS) | move.slots
    return result


@given(distributions(), shard_counts)
def test_moves_lead_to_even_shares_of_all_slots(held: dict[int, Slots], shards: int) -> None:
    result = after(held, moves_to(held, shards))
    sizes = [len(result.get(shard, NO_SLOTS)) for shard in range(shards)]
    assert covered(result) == ALL_SLOTS
    assert sum(sizes) == SLOT_COUNT
    assert max(sizes) - min(sizes) <= 1


@given(distributions(), shard_counts)
def test_a_shard_gives_only_what_it_has_and_never_also_takes(held: dict[int, Slots], shards: int) -> None:
    moves = moves_to(held, shards)
    assert all(move.slots and move.slots - held[move.source] == NO_SLOTS for move in moves)
    assert not {move.source for move in moves} & {move.target for move in moves}


@given(distributions(), shard_counts)
def test_even_shares_are_left_alone(held: dict[int, Slots], shards: int) -> None:
    assert moves_to(after(held, moves_to(held, shards)), shards) == []


@given(shard_counts, shard_counts)
def test_growing_and_shrinking_again_leads_back_to_whole_ranges(few: int, more: int) -> None:
    begun = dict(enumerate(first_slots(few)))
    grown = after(begun, moves_to(begun, few + more))
    shrunk = after(grown, moves_to(grown, few))
    assert {shard: slots for shard, slots in shrunk.items() if slots} == begun


@given(distributions(), shard_counts)
def test_moves_that_go_at_once_share_no_shard(held: dict[int, Slots], shards: int) -> None:
    moves = moves_to(held, shards)
    chosen = at_once(moves)
    concerned = [shard for move in chosen for shard in (move.source, move.target)]
    assert len(concerned) == len(set(concerned))
    assert bool(chosen) == bool(moves)


def test_a_shard_that_is_busy_takes_part_in_no_other_move() -> None:
    held = {0: ALL_SLOTS, 1: NO_SLOTS, 2: NO_SLOTS}
    assert at_once(moves_to(held, 3), busy=(0,)) == []


def test_the_slots_of_a_new_cluster_are_those_of_the_api() -> None:
    assert [str(slots) for slots in first_slots(3)] == ["0-5461", "5462-10922", "10923-16383"]
