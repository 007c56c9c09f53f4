"""Roles of pods as the servers tell them, and which pods may be evicted where all are guarded."""

from typing import Any

from tests.support.clusters import NOW, World, facts, formed, id_of, slots, with_node
from valkey_operator.core.cluster.facts import Attempt, ClusterRecord, FailoverKind
from valkey_operator.core.cluster.pods import next_evictions, role_labels
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.valkey.slots import Slots
from valkey_operator.valkey.states import ProcessState


def roles_in(world: World) -> dict[str, str]:
    return role_labels(look_at(facts(world)))


def evictions_in(world: World, **changes: Any) -> dict[int, str]:
    return next_evictions(look_at(facts(world, **changes)))


def cordoned(*names: str, replicas: int = 2, shards: int = 3) -> World:
    world = formed(shards, replicas)
    for name in names:
        world = with_node(world, name, member={"cordoned": True})
    return world


class TestRoles:
    """By the word of the servers."""

    def test_primaries_and_replicas_are_called_what_they_are(self) -> None:
        assert roles_in(formed(3, 2)) == {
            f"c-{shard}-{index}": role for shard in range(3) for index, role in enumerate(("primary", "replica"))
        }

    def test_after_a_failover_the_names_mean_nothing(self) -> None:
        world = with_node(formed(), "c-0-1", primary=None, epoch=9, slots=slots("0-5461"))
        found = roles_in(with_node(world, "c-0-0", primary="c-0-1", slots=Slots()))
        assert (found["c-0-0"], found["c-0-1"]) == ("replica", "primary")

    def test_one_that_is_dead_is_called_neither(self) -> None:
        assert roles_in(with_node(formed(), "c-0-0", process=ProcessState.WAITING))["c-0-0"] == "unknown"

    def test_one_that_was_not_heard_of_keeps_what_it_has(self) -> None:
        assert "c-0-0" not in roles_in(with_node(formed(), "c-0-0", process=None))


class TestEvictions:
    """One of a shard, never its primary, and only where all is well."""

    def test_a_replica_on_a_cordoned_machine_may_go(self) -> None:
        assert evictions_in(cordoned("c-1-1")) == {1: "c-1-1"}

    def test_a_primary_hands_over_first(self) -> None:
        assert evictions_in(cordoned("c-1-0")) == {}

    def test_where_no_machine_is_cordoned_nobody_goes(self) -> None:
        assert evictions_in(formed()) == {}

    def test_of_many_shards_only_as_many_as_a_majority_can_spare(self) -> None:
        names = [f"c-{shard}-1" for shard in range(5)]
        assert evictions_in(cordoned(*names, shards=5), shards=5) == {0: "c-0-1", 1: "c-1-1"}

    def test_while_a_replica_is_out_of_sync_the_others_of_its_shard_stay(self) -> None:
        world = with_node(cordoned("c-1-1", replicas=3), "c-1-2", linked=False)
        assert evictions_in(world, replicas=3) == {}

    def test_while_a_pod_is_to_be_replaced_nobody_goes(self) -> None:
        assert evictions_in(with_node(cordoned("c-1-1"), "c-0-1", member={"stale": True})) == {}

    def test_while_somebody_is_silent_nobody_goes(self) -> None:
        assert evictions_in(with_node(cordoned("c-1-1"), "c-0-1", process=None)) == {}

    def test_after_a_failover_that_was_just_ordered_the_shard_is_left_alone(self) -> None:
        attempt = Attempt(shard=1, kind=FailoverKind.PLANNED, source=id_of("c-1-0"), target="c-1-1", at=NOW)
        assert evictions_in(cordoned("c-1-1"), record=ClusterRecord(formed=True, attempts=(attempt,))) == {}
