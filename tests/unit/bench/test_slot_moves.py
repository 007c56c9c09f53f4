"""Slots that move: how they are ordered, and when they were seen to begin and to end."""

from bench.bulk_keys import VALUE_BYTES, bytes_in, key_of, slot_of, value_of
from bench.cluster_servers import moved_between, owned_in, shards_in
from bench.slot_moves import Timeline, order_words
from valkey_operator.core.cluster.slots import Move
from valkey_operator.valkey.cluster_nodes import parse_nodes
from valkey_operator.valkey.slots import ALL_SLOTS, NO_SLOTS, parse_slots

A, B, C = "a" * 40, "b" * 40, "c" * 40
NODES = f"""\
{A} 10.0.0.1:6379@16379,cart-0-1.app.svc myself,master - 0 0 1 connected 0-9000
{B} 10.0.0.2:6379@16379,cart-1-0.app.svc master - 0 0 2 connected 9001-16383
{C} 10.0.0.3:6379@16379,cart-0-0.app.svc slave {A} 0 0 1 connected
"""


def test_the_primary_of_a_shard_is_found_by_the_name_that_it_announces() -> None:
    assert {shard: line.id for shard, line in shards_in(parse_nodes(NODES), "cart").items()} == {0: A, 1: B}
    assert shards_in(parse_nodes(NODES), "other") == {}


def test_a_slot_has_moved_once_another_one_owns_it() -> None:
    before = owned_in(parse_nodes(NODES))
    assert moved_between(before, before) == NO_SLOTS
    assert moved_between(before, {A: parse_slots("0-8990"), B: before[B]}) == NO_SLOTS
    after = {A: parse_slots("0-8990"), B: before[B], C: parse_slots("8995-9000")}
    assert moved_between(before, after) == parse_slots("8995-9000")


def test_all_that_a_shard_gives_is_one_order() -> None:
    moves = [
        Move(source=0, target=1, slots=parse_slots("0-9 20")),
        Move(source=0, target=2, slots=parse_slots("30-39")),
    ]
    words = order_words(moves, {1: B, 2: C})
    assert words == ["SLOTSRANGE", 0, 9, 20, 20, "NODE", B, "SLOTSRANGE", 30, 39, "NODE", C]


def test_the_clock_runs_from_when_slots_are_on_their_way_until_the_last_one_has_another_owner() -> None:
    timeline = Timeline({A: parse_slots("0-9")}, 100.0)
    timeline.note({A: parse_slots("0-9")}, 101.0, gives=False)
    timeline.note({A: parse_slots("0-9")}, 102.0, gives=True)
    timeline.note({A: parse_slots("0-4"), B: parse_slots("5-9")}, 103.0, gives=True)
    timeline.note({B: parse_slots("0-9")}, 104.5, gives=False)
    timeline.note({B: parse_slots("0-9")}, 106.0, gives=False)
    steps = [(3.0, 5), (4.5, 10)]
    assert timeline.told() == {"begun_s": 2.0, "ended_s": 4.5, "moved": "0-9", "steps": steps}


def test_where_nothing_moved_there_is_no_beginning_and_no_end() -> None:
    told = Timeline({A: parse_slots("0-9")}, 0.0).told()
    assert (told["begun_s"], told["ended_s"], told["moved"]) == (None, None, "")


def test_slots_of_keys_are_those_of_the_servers() -> None:
    assert [slot_of(key) for key in ("foo", "bar", "hello", "123456789")] == [12182, 5061, 866, 12739]


def test_every_value_is_of_one_size_and_of_its_own() -> None:
    assert {len(value_of(number)) for number in range(0, 100_000, 999)} == {VALUE_BYTES}
    assert len({value_of(number) for number in range(1000)}) == 1000


def test_bytes_in_slots_are_those_of_the_keys_that_fall_into_them() -> None:
    whole = bytes_in(ALL_SLOTS, 1000)
    assert whole == sum(len(key_of(number)) + VALUE_BYTES for number in range(1000))
    half = parse_slots("0-8191")
    assert bytes_in(half, 1000) + bytes_in(ALL_SLOTS - half, 1000) == whole
    assert bytes_in(NO_SLOTS, 1000) == 0
