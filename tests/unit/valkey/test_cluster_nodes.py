from typing import Any

import pytest

from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.cluster_nodes import (
    ClusterError,
    MigrationState,
    OpenSlot,
    parse_nodes,
    parse_slot_migrations,
)
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import parse_slots

ME, PEER = "a" * 40, "b" * 40
MYSELF = f"{ME} 10.0.0.1:6379@16379,c-0-0 myself,master - 0 0 7 connected"


def migration(**changes: str | int) -> list[str | int]:
    """An entry of GETSLOTMIGRATIONS as 9.1.2 sends it."""
    entry: dict[str, Any] = {
        "name": "f" * 40,
        "operation": "EXPORT",
        "slot_ranges": "0-99 200-299",
        "target_node": PEER,
        "source_node": ME,
        "create_time": 1794844962,
        "last_update_time": 1794844963,
        "last_ack_time": 1794844962,
        "state": "failed",
        "message": "Slots are no longer owned by myself",
        "cow_size": 0,
        "remaining_repl_size": 0,
    }
    return [word for pair in {**entry, **changes}.items() for word in pair]


def test_a_node_that_has_met_nobody_has_no_address() -> None:
    view = parse_nodes(f"{ME} :6379@16379 myself,master - 0 0 0 connected\n")
    assert (view.myself.address, view.myself.hostname, view.others) == (None, None, ())


def test_an_address_of_ipv6_is_read_up_to_its_last_colon() -> None:
    assert parse_nodes(MYSELF.replace("10.0.0.1", "fd00::1")).myself.address == Address("fd00::1", 6379)


def test_slots_that_are_given_and_taken_are_kept_apart_from_those_that_are_owned() -> None:
    line = parse_nodes(f"{MYSELF} 0-5 9 [4->-{PEER}] [77-<-{PEER}]").myself
    assert line.slots == parse_slots("0-5 9")
    assert line.open_slots == (
        OpenSlot(slot=4, importing=False, peer=PEER),
        OpenSlot(slot=77, importing=True, peer=PEER),
    )


def test_flags_that_are_not_known_are_left_out() -> None:
    assert parse_nodes(MYSELF.replace("master", "master,nofailover,brandnew")).myself.role is Role.PRIMARY


def test_what_nodes_conf_adds_behind_an_address_is_left_out() -> None:
    text = f"{MYSELF.replace('c-0-0', ',tls-port=0,shard-id=' + PEER)}\nvars currentEpoch 6 lastVoteEpoch 0\n"
    assert parse_nodes(text).myself.hostname is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "0 lines flagged myself"),
        (f"{MYSELF}\n{MYSELF}", "2 lines flagged myself"),
        (f"{ME} myself", "at least 8 words"),
        (MYSELF.replace("@16379", ""), "expected host:port@bus-port"),
        (f"{MYSELF} 99999", "no range of slots"),
        (MYSELF.replace(" 7 ", " x "), "expected a whole number"),
    ],
)
def test_a_text_that_is_no_list_of_nodes_is_refused(text: str, why: str) -> None:
    with pytest.raises(ClusterError, match=why):
        parse_nodes(text)


def test_a_failed_migration_tells_why() -> None:
    (found,) = parse_slot_migrations([migration()])
    assert (found.source, found.target, str(found.slots), found.importing) == (ME, PEER, "0-99 200-299", False)
    assert (found.state, found.message) == (MigrationState.FAILED, "Slots are no longer owned by myself")


@pytest.mark.parametrize("word", ["waiting-to-snapshot", "reading-establish-response", "receiving-snapshot", "new"])
def test_a_migration_is_under_way_until_its_state_is_final(word: str) -> None:
    (found,) = parse_slot_migrations([migration(state=word, operation="IMPORT", message="")])
    assert (found.state, found.importing) == (MigrationState.UNDER_WAY, True)


def test_a_migration_without_a_field_is_refused() -> None:
    with pytest.raises(ClusterError, match="no field 'name'"):
        parse_slot_migrations([["operation", "EXPORT"]])
