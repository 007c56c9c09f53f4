"""What is wrong with a cluster that has its slots, and what is done about it; nothing destroys on a partial view."""

from typing import Any

import pytest

from tests.support.clusters import World, address_of, facts, formed, id_of, slots, with_node
from valkey_operator.core.cluster.facts import FailoverKind
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.steps import (
    BumpEpoch,
    ClusterPlan,
    Failover,
    Forget,
    Meet,
    Migrate,
    MigrationKind,
    Replicate,
    Reset,
    SetConfigEpoch,
    SettleSlots,
    Step,
)
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.cluster_nodes import Failing

EVERYBODY = ("c-0-0", "c-0-1", "c-1-0", "c-1-1", "c-2-0", "c-2-1")


def plan(world: World, **changes: Any) -> ClusterPlan:
    return plan_cluster(facts(world, **changes))


def steps(world: World, kind: type[Step] | tuple[type[Step], ...], **changes: Any) -> list[Step]:
    return [step for step in plan(world, **changes).steps if isinstance(step, kind)]


def test_a_cluster_that_is_well_is_left_alone() -> None:
    assert plan(formed()) == ClusterPlan()


class TestNodesThatDoNotKnowEachOther:
    def test_meet_again(self) -> None:
        world = with_node(formed(), "c-2-1", knows=frozenset({"c-0-0", "c-0-1", "c-1-0", "c-1-1"}))
        assert plan(world).steps == (Meet(node="c-2-1", peers=(address_of("c-2-0"),)),)

    def test_meet_at_the_address_that_a_node_has_now(self) -> None:
        old = {"c-0-0": {"address": Address("10.9.9.9", 6379), "connected": False, "failing": Failing.SUSPECTED}}
        world = with_node(formed(), "c-1-0", sees=old)
        assert plan(world).steps == (Meet(node="c-1-0", peers=(address_of("c-0-0"),)),)

    def test_are_not_told_twice_while_they_shake_hands(self) -> None:
        world = with_node(formed(), "c-2-1", sees={"c-2-0": {"id": "0" * 40, "role": None}})
        world = with_node(world, "c-2-0", sees={"c-2-1": {"id": "1" * 40, "role": None}})
        assert not steps(world, Meet)


class TestANodeWithDataAndNoNodesConf:
    """Its server takes the slots of its keys for its own."""

    FOLLOWED = with_node(formed(), "c-0-1", primary=None, slots=slots("0-5461"), epoch=9)
    BACK = with_node(FOLLOWED, "c-0-0", id="f" * 40, slots=slots("0-99"), epoch=0, knows=frozenset())

    def test_gets_no_epoch_by_which_it_would_win_them_back(self) -> None:
        found = plan(self.BACK)
        assert not [step for step in found.steps if isinstance(step, SetConfigEpoch)]
        assert Meet(node="c-0-1", peers=(address_of("c-0-0"),)) in found.steps

    def test_meets_nobody_while_the_owner_to_whom_it_would_lose_its_copy_is_away(self) -> None:
        found = plan(with_node(self.BACK, "c-0-1", process=None))
        assert not [step for step in found.steps if isinstance(step, Meet | SetConfigEpoch)]
        assert "c-0-1 to run, before c-0-0 gives up its older copy" in found.waits_for

    def test_keeps_the_slots_that_only_the_node_owns_which_it_was(self) -> None:
        former = {"c-0-0": {"id": id_of("c-0-0"), "slots": slots("0-5461"), "epoch": 1}}
        world = with_node(formed(replicas=1), "c-0-0", id="f" * 40, slots=slots("0-99"), epoch=0, knows=frozenset())
        world = with_node(with_node(world, "c-1-0", sees=former), "c-2-0", sees=former)
        assert steps(world, SetConfigEpoch, replicas=1) == [SetConfigEpoch(node="c-0-0", epoch=4)]


class TestAReplicaOfTheWrongPrimary:
    LOST = with_node(formed(), "c-1-1", primary="c-0-0")

    def test_is_attached_to_the_one_of_its_shard(self) -> None:
        assert plan(self.LOST).steps == (Replicate(node="c-1-1", primary=id_of("c-1-0")),)

    def test_keeps_its_copy_while_somebody_has_not_spoken(self) -> None:
        assert not steps(with_node(self.LOST, "c-2-1", process=None), Replicate)

    def test_keeps_its_copy_while_whom_it_follows_is_dead(self) -> None:
        gone = with_node(self.LOST, "c-0-0", process=None, failing=Failing.AGREED)
        assert not steps(gone, Replicate)

    def test_takes_over_what_belongs_to_its_own_shard(self) -> None:
        """A node of shard 1 was elected for the slots of shard 0, whose nodes follow it."""
        world = with_node(formed(replicas=2), "c-0-0", primary="c-1-1", slots=slots(""))
        world = with_node(world, "c-0-1", primary="c-1-1")
        world = with_node(world, "c-1-1", primary=None, slots=slots("0-5461"), epoch=9)
        assert steps(world, Failover) == [Failover(node="c-0-0", kind=FailoverKind.PLANNED)]

    def test_becomes_an_empty_primary_where_its_shard_has_none_and_nothing_to_take_back(self) -> None:
        world = with_node(formed(), "c-3-0", primary="c-0-0")
        assert steps(world, Reset, shards=4, replicas=1) == [Reset(node="c-3-0")]

    def test_becomes_one_also_where_it_follows_a_replica(self) -> None:
        world = with_node(formed(), "c-3-0", primary="c-0-1")
        assert steps(world, Reset, shards=4, replicas=1) == [Reset(node="c-3-0")]

    def test_keeps_its_copy_where_whom_it_follows_is_dead_and_has_slots(self) -> None:
        world = with_node(formed(), "c-3-0", primary="c-0-0")
        world = with_node(world, "c-0-0", process=None, failing=Failing.AGREED)
        assert not steps(world, Reset, shards=4, replicas=1)

    def test_a_node_with_keys_and_no_slots_is_not_emptied_silently(self) -> None:
        world = with_node(formed(), "c-1-1", primary=None, epoch=9, member={"keys": 5})
        found = plan(world)
        assert not [step for step in found.steps if isinstance(step, Replicate)]
        assert "c-1-1 to be emptied: it has keys, and no slots for them" in found.waits_for


class TestAnIdThatIsNoMembers:
    WITH_STRANGER = with_node(formed(), "intruder", epoch=9)

    def test_is_forgotten_by_everybody(self) -> None:
        assert plan(self.WITH_STRANGER).steps == (Forget(nodes=EVERYBODY, id=id_of("intruder")),)

    def test_is_kept_while_somebody_has_not_spoken(self) -> None:
        assert not steps(with_node(self.WITH_STRANGER, "c-2-1", process=None), Forget)

    def test_is_kept_while_it_owns_slots(self) -> None:
        world = with_node(formed(), "c-0-0", slots=slots("0-5460"))
        found = plan(with_node(world, "intruder", slots=slots("5461"), epoch=9))
        assert not found.steps
        assert any("none of our nodes and owns the slots 5461" in what for what in found.waits_for)

    def test_is_kept_while_a_member_follows_it(self) -> None:
        found = plan(with_node(self.WITH_STRANGER, "c-2-1", primary="intruder"))
        assert not [step for step in found.steps if isinstance(step, Forget)]


def test_of_two_primaries_with_one_epoch_one_gets_a_higher_one() -> None:
    assert plan(with_node(formed(), "c-1-0", epoch=1)).steps == (BumpEpoch(node="c-1-0"),)


class TestASlotThatWasLeftOpen:
    OPEN = with_node(with_node(formed(), "c-0-0", gives={7: "c-1-0"}), "c-1-0", takes={7: "c-0-0"})

    @staticmethod
    def keys(world: World, **counts: int) -> World:
        for name, count in counts.items():
            world = with_node(world, name.replace("_", "-"), member={"keys_in_slots": {7: count}})
        return world

    def test_goes_on_where_the_source_has_keys(self) -> None:
        (step,) = plan(self.keys(self.OPEN, c_0_0=3, c_1_0=1)).steps
        assert isinstance(step, Migrate)
        assert (step.source, step.target, step.slots) == ("c-0-0", "c-1-0", slots("7"))
        assert step.kind is MigrationKind.KEY_BY_KEY

    def test_is_settled_at_the_target_first_where_the_source_has_none(self) -> None:
        found = plan(self.keys(self.OPEN, c_0_0=0, c_1_0=1))
        assert found.steps == (SettleSlots(node="c-1-0", slots=slots("7"), owner=id_of("c-1-0")),)

    def test_is_not_settled_while_nobody_knows_whether_the_source_has_keys(self) -> None:
        assert not steps(self.OPEN, SettleSlots)

    def test_is_closed_at_the_source_once_another_owns_it(self) -> None:
        world = with_node(formed(), "c-0-0", slots=slots("0-6 8-5461"), gives={7: "c-1-0"})
        world = with_node(world, "c-1-0", slots=slots("7 5462-10922"), epoch=9)
        assert SettleSlots(node="c-0-0", slots=slots("7"), owner=None) in plan(world).steps

    def test_is_closed_at_a_target_that_nobody_gives_it_to(self) -> None:
        world = self.keys(with_node(formed(), "c-1-0", takes={7: "c-0-0"}), c_1_0=0)
        assert plan(world).steps == (SettleSlots(node="c-1-0", slots=slots("7"), owner=None),)

    def test_goes_on_where_such_a_target_has_keys_already(self) -> None:
        world = self.keys(with_node(formed(), "c-1-0", takes={7: "c-0-0"}), c_1_0=2)
        (step,) = steps(world, Migrate)
        assert isinstance(step, Migrate)
        assert (step.source, step.target) == ("c-0-0", "c-1-0")

    def test_is_owned_by_its_target_where_nobody_else_owns_it(self) -> None:
        world = with_node(formed(), "c-0-0", slots=slots("0-6 8-5461"))
        world = with_node(world, "c-1-0", takes={7: "c-0-0"})
        assert plan(world).steps == (SettleSlots(node="c-1-0", slots=slots("7"), owner=id_of("c-1-0")),)

    def test_is_closed_where_its_target_is_a_replica(self) -> None:
        world = with_node(formed(), "c-0-0", gives={7: "c-1-1"})
        assert plan(world).steps == (SettleSlots(node="c-0-0", slots=slots("7"), owner=None),)

    def test_waits_while_its_target_does_not_know_that_its_slots_are_somebody_elses(self) -> None:
        """Settling raises its epoch: it would get them back, with the data of before."""
        world = with_node(self.keys(self.OPEN, c_0_0=0), "c-1-1", primary=None, slots=slots("5462-10922"), epoch=9)
        found = plan(world)
        assert not [step for step in found.steps if isinstance(step, SettleSlots)]
        assert "c-1-0 to learn what others have got, before it gets 7" in found.waits_for

    def test_waits_while_its_target_has_not_heard_of_the_higher_epoch_that_its_source_has_got(self) -> None:
        """With a lower one it would lose the slot to a source that has given it away."""
        world = with_node(self.keys(self.OPEN, c_0_0=0), "c-0-0", epoch=9)
        found = plan(with_node(world, "c-1-0", sees={"c-0-0": {"epoch": 1}}))
        assert not [step for step in found.steps if isinstance(step, SettleSlots)]
        assert "c-1-0 to learn what others have got, before it gets 7" in found.waits_for
        assert plan(world).steps == (SettleSlots(node="c-1-0", slots=slots("7"), owner=id_of("c-1-0")),)

    def test_is_closed_where_its_target_is_a_replica_that_others_follow(self) -> None:
        world = with_node(formed(3, 3), "c-0-0", gives={7: "c-1-1"})
        world = with_node(world, "c-1-2", primary="c-1-1")
        found = plan(world, replicas=3)
        assert SettleSlots(node="c-0-0", slots=slots("7"), owner=None) in found.steps

    def test_waits_for_a_target_that_is_silent(self) -> None:
        world = with_node(self.keys(self.OPEN, c_0_0=0), "c-1-0", process=None)
        assert not steps(world, (SettleSlots, Migrate))


@pytest.mark.parametrize("silent", EVERYBODY)
def test_nothing_is_destroyed_while_anybody_is_silent(silent: str) -> None:
    world = with_node(formed(), "intruder", epoch=9)
    world = with_node(world, "c-2-1", primary="c-0-0")
    world = with_node(world, "c-0-0", slots=slots("0-99"))
    found = facts(with_node(world, silent, process=None), may_lose=True)
    destroying = [step for step in plan_cluster(found).steps if isinstance(step, Forget | Reset | Replicate)]
    assert destroying == []
