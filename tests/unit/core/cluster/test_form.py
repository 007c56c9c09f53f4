"""A new cluster: epochs, slots, meetings, replicas; and slots that have lost their owner."""

from typing import Any

from tests.support.clusters import (
    World,
    address_of,
    all_nodes,
    facts,
    formed,
    id_of,
    lonely,
    slots,
    unformed,
    with_node,
)
from valkey_operator.core.cluster.facts import ClusterRecord
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.slots import first_slots
from valkey_operator.core.cluster.steps import AddSlots, ClusterPlan, Meet, Remember, Replicate, SetConfigEpoch

NEW = ClusterRecord()


def plan(world: World, **changes: Any) -> ClusterPlan:
    return plan_cluster(facts(world, **{"record": NEW, **changes}))


def test_all_slots_are_given_out_at_once_and_every_node_gets_an_epoch_of_its_own() -> None:
    found = plan(unformed())
    added = [step for step in found.steps if isinstance(step, AddSlots)]
    epochs = {step.node: step.epoch for step in found.steps if isinstance(step, SetConfigEpoch)}
    assert [(step.node, step.slots) for step in added] == [
        (f"c-{shard}-0", part) for shard, part in enumerate(first_slots(3))
    ]
    assert sorted(epochs.values()) == [1, 2, 3, 4, 5, 6]
    assert (epochs["c-0-0"], epochs["c-1-0"], epochs["c-2-0"]) == (1, 2, 3)


def test_nobody_meets_a_node_that_has_no_epoch_yet() -> None:
    assert not [step for step in plan(unformed()).steps if isinstance(step, Meet)]


def test_nodes_with_epochs_meet_and_each_pair_is_told_once() -> None:
    world = {name: lonely(name, epoch=number) for number, name in enumerate(formed(), start=1)}
    meetings = {step.node: step.peers for step in plan(world).steps if isinstance(step, Meet)}
    assert sum(len(peers) for peers in meetings.values()) == 15
    assert meetings["c-0-1"] == (address_of("c-0-0"),)


def test_a_cluster_waits_for_the_first_node_of_every_shard() -> None:
    found = plan(with_node(unformed(), "c-1-0", process=None))
    assert not [step for step in found.steps if isinstance(step, AddSlots)]
    assert "the first node of shard 1 to run" in found.waits_for


def test_slots_that_were_given_out_before_a_crash_are_not_given_out_twice() -> None:
    world = with_node(unformed(), "c-0-0", slots=slots("0-5461"), epoch=1)
    assert [step.node for step in plan(world).steps if isinstance(step, AddSlots)] == ["c-1-0", "c-2-0"]


def test_a_node_that_nobody_follows_yet_is_attached_once_it_knows_its_primary() -> None:
    world = with_node(formed(), "c-0-1", primary=None, epoch=4)
    assert Replicate(node="c-0-1", primary=id_of("c-0-0")) in plan(world).steps
    shy = with_node(world, "c-0-1", knows=frozenset({"c-1-0"}))
    assert not [step for step in plan(shy).steps if isinstance(step, Replicate)]


def test_a_cluster_whose_slots_are_all_seen_alike_is_remembered_as_formed() -> None:
    (step,) = plan(formed()).steps
    assert isinstance(step, Remember)
    assert step.record.formed


def test_a_cluster_in_which_somebody_has_not_heard_of_all_slots_is_not_formed_yet() -> None:
    world = with_node(formed(), "c-2-1", sees={"c-0-0": {"slots": slots("")}})
    assert plan(world).steps == ()


class TestSlotsWithoutAnOwner:
    """Of a cluster that was formed before."""

    LOST = with_node(formed(), "c-0-0", slots=slots("0-99"))

    def test_are_told_of_and_not_given_out(self) -> None:
        found = plan(self.LOST, record=ClusterRecord(formed=True))
        assert found.steps == ()
        assert found.waits_for == (
            "leave to give out the slots 100-5461 anew: nobody has them, and their keys are lost; "
            'give it by the annotation valkey.io/accept-lost-slots: "true"',
        )

    def test_are_given_out_where_that_is_allowed(self) -> None:
        found = plan(self.LOST, record=ClusterRecord(formed=True), may_lose=True)
        assert found.steps == (AddSlots(node="c-0-0", slots=slots("100-5461")),)

    def test_are_left_alone_while_somebody_has_not_spoken(self) -> None:
        silent = with_node(self.LOST, "c-2-1", process=None)
        found = plan(silent, record=ClusterRecord(formed=True), may_lose=True)
        assert found.steps == ()
        assert "c-2-1 to say who owns the slots 100-5461" in found.waits_for

    def test_are_not_taken_for_lost_where_nobody_runs(self) -> None:
        silent = all_nodes(formed(), process=None)
        assert plan(silent, record=ClusterRecord(formed=True), may_lose=True).steps == ()
