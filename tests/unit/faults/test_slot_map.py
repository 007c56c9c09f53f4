"""What a client of a cluster makes of its map and of redirections, and how it finds keys for a slot."""

import pytest
from libvalkey import ReplyError

from faults.connection import Reply
from faults.slot_map import HIGHEST, Redirect, SlotMap, parse_slot_map, redirect_in, slot_of, tag_among, tag_that_moves
from valkey_operator.valkey.slots import Slots, slot_range

REPLY = [
    [0, 5461, ["10.0.0.1", 6379, "a", ["hostname", "cart-0-0.shop.svc"]], ["10.0.0.2", 6379, "b", []]],
    [5462, 16383, ["", 6379, "c", []]],
]


def refused(text: str) -> Reply:
    return Reply(ReplyError(text), 1.0)


def test_a_map_names_the_primary_of_each_range_and_every_node() -> None:
    found = parse_slot_map(REPLY, "10.0.0.9")
    assert [found.owner_of(slot) for slot in (0, 5461, 5462)] == ["10.0.0.1", "10.0.0.1", "10.0.0.9"]
    assert found.hosts == ("10.0.0.1", "10.0.0.2", "10.0.0.9")


def test_a_slot_that_nobody_owns_has_an_owner_without_a_name() -> None:
    assert SlotMap().owner_of(7) == ""
    assert parse_slot_map(REPLY[:1], "10.0.0.9").owner_of(16383) == ""


def test_a_slot_that_moved_is_where_it_was_last_said_to_be_and_the_others_stay() -> None:
    found = parse_slot_map(REPLY, "10.0.0.9").moved(7, "10.0.0.3").moved(7, "10.0.0.2")
    assert [found.owner_of(slot) for slot in (6, 7, 8)] == ["10.0.0.1", "10.0.0.2", "10.0.0.1"]
    assert found.hosts == ("10.0.0.1", "10.0.0.2", "10.0.0.9", "10.0.0.3")
    assert len(found.owned) == 3


def test_a_redirection_for_good_and_one_for_a_single_request_are_told_apart() -> None:
    pushed = Reply(3, 1.0)
    assert redirect_in([pushed, refused("MOVED 7 10.0.0.3:6379")]) == Redirect(7, "10.0.0.3", is_for_good=True)
    assert redirect_in([pushed, refused("ASK 7 10.0.0.3:6379")]) == Redirect(7, "10.0.0.3", is_for_good=False)
    assert redirect_in([pushed, refused("CLUSTERDOWN The cluster is down")]) is None


@pytest.mark.parametrize(
    ("key", "slot"), [("123456789", 12739), ("foo", 12182), ("{foo}:1", 12182), ("a{foo}{bar}", 12182)]
)
def test_the_slot_of_a_key_is_the_one_that_servers_give_it(key: str, slot: int) -> None:
    assert slot_of(key) == slot


def test_braces_without_anything_in_them_decide_nothing() -> None:
    assert slot_of("{}foo") != slot_of("")
    assert slot_of("{foo") != slot_of("foo")


def test_a_tag_is_found_for_any_slot_and_among_those_that_a_shard_gives_first() -> None:
    assert slot_of(tag_among(Slots(1 << 16383))) == 16383
    assert 5462 - HIGHEST <= slot_of(tag_that_moves(slot_range(0, 5461))) <= 5461
