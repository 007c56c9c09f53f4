"""Who the clients of a run are, and which keys they write."""

from pathlib import Path

from faults.cast import ClusterCast, Door, ValkeyCast
from faults.slot_map import slot_of

DOOR = Door(Path("/"), "10.0.0.1", "s3cret")


def test_each_shard_has_a_plain_writer_and_one_with_wait_and_one_reader() -> None:
    cast = ClusterCast(DOOR, "run", {0: "a", 1: "b"})
    assert [log.name for log in cast.logs] == ["shard-0", "shard-0-wait", "shard-1", "shard-1-wait"]
    assert [log.name for log in cast.read] == ["shard-0", "shard-1"]


def test_all_keys_of_a_shard_have_the_slot_of_its_tag_and_each_writer_its_own() -> None:
    cast = ClusterCast(DOOR, "run", {0: "a", 1: "b"})
    keys = [cast.key(log) for log in cast.logs]
    assert [slot_of(key) for key in keys] == [log.slot for log in cast.logs]
    assert len(set(keys)) == 4
    assert [(slot_of(each.key), each.slot) for each in cast.probed] == [(slot_of(tag),) * 2 for tag in ("a", "b")]


def test_all_clients_of_a_valkey_are_about_the_same_primary() -> None:
    cast = ValkeyCast(DOOR, "run", list)
    assert [log.name for log in cast.logs] == ["service", "service-wait", "pods", "pods-wait"]
    assert {log.slot for log in cast.logs} == {each.slot for each in cast.probed} == {0}
