"""Owners of slots that are lost: to whom one order goes, and when none does."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.clusters import NOW, World, facts, formed, id_of, slots, with_node
from valkey_operator.core.cluster.facts import Attempt, ClusterRecord, FailoverKind
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.steps import BumpEpoch, ClusterPlan, Failover, Open, Remember
from valkey_operator.core.node_view import CopyView
from valkey_operator.valkey.cluster_nodes import Failing
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import ProcessState

DEAD = ProcessState.GONE
AT_GATE = ProcessState.WAITING
DIED = with_node(formed(replicas=3), "c-0-0", process=DEAD)


def plan(world: World, **changes: Any) -> ClusterPlan:
    return plan_cluster(facts(world, **{"replicas": 3, **changes}))


def ordered(found: ClusterPlan) -> list[Failover]:
    return [step for step in found.steps if isinstance(step, Failover)]


def attempted(seconds_ago: float, **changes: Any) -> ClusterRecord:
    attempt = Attempt(
        shard=0,
        kind=FailoverKind.FORCE,
        source=id_of("c-0-0"),
        target="c-0-1",
        at=NOW - timedelta(seconds=seconds_ago),
    )
    return ClusterRecord(formed=True, attempts=(msgspec.structs.replace(attempt, **changes),))


class TestAnOwnerThatDied:
    """Its agent says so; most others live."""

    def test_is_replaced_by_the_replica_that_has_most(self) -> None:
        world = with_node(DIED, "c-0-2", offset=101)
        assert ordered(plan(world)) == [Failover(node="c-0-2", kind=FailoverKind.FORCE)]

    def test_is_replaced_by_one_of_its_own_shard_rather_than_by_one_that_strayed(self) -> None:
        world = with_node(with_node(DIED, "c-1-1", primary="c-0-0"), "c-0-1", process=None)
        assert ordered(plan(world)) == [Failover(node="c-0-2", kind=FailoverKind.FORCE)]

    def test_is_put_on_record_before_the_order_is_given(self) -> None:
        first = plan(DIED).steps[0]
        assert isinstance(first, Remember)
        assert [each.target for each in first.record.attempts] == ["c-0-1"]

    def test_is_not_followed_by_a_replica_that_was_never_in_sync(self) -> None:
        world = with_node(DIED, "c-0-2", offset=900, whole=False)
        assert ordered(plan(world)) == [Failover(node="c-0-1", kind=FailoverKind.FORCE)]

    def test_costs_one_order_which_is_watched(self) -> None:
        found = plan(DIED, record=attempted(1.9))
        assert ordered(found) == []
        assert found.look_after_s is not None

    def test_is_ordered_again_when_nothing_has_come_of_it(self) -> None:
        assert ordered(plan(DIED, record=attempted(2.1))) == [Failover(node="c-0-1", kind=FailoverKind.FORCE)]

    def test_is_not_ordered_at_a_second_replica_while_the_first_may_still_win(self) -> None:
        further = with_node(DIED, "c-0-2", offset=101)
        assert ordered(plan(further, record=attempted(2.1))) == []
        assert ordered(plan(further, record=attempted(10.1))) == [Failover(node="c-0-2", kind=FailoverKind.FORCE)]

    def test_is_ordered_at_a_second_replica_once_the_first_is_dead(self) -> None:
        world = with_node(DIED, "c-0-1", process=DEAD)
        assert ordered(plan(world, record=attempted(2.1))) == [Failover(node="c-0-2", kind=FailoverKind.FORCE)]

    def test_in_the_middle_of_a_handover_is_replaced_at_once_by_the_one_it_handed_over_to(self) -> None:
        record = attempted(0.1, kind=FailoverKind.PLANNED)
        assert ordered(plan(DIED, record=record)) == [Failover(node="c-0-1", kind=FailoverKind.FORCE)]

    def test_does_not_start_again_before_another_owns_its_slots(self) -> None:
        found = plan(with_node(DIED, "c-0-0", process=AT_GATE))
        assert not [step for step in found.steps if isinstance(step, Open)]

    @pytest.mark.parametrize(("copy", "opened"), [(CopyView(), True), (CopyView(aof=True), False)])
    def test_does_not_start_without_its_nodes_conf_before_that_if_it_has_data(
        self, copy: CopyView, opened: bool
    ) -> None:
        found = plan(with_node(DIED, "c-0-0", process=AT_GATE, has_file=False, copy=copy))
        assert (Open(node="c-0-0") in found.steps) == opened

    def test_and_comes_back_without_its_nodes_conf_is_replaced_all_the_same(self) -> None:
        former = {"c-0-0": {"id": id_of("c-0-0"), "failing": Failing.AGREED, "slots": slots("0-5461"), "epoch": 1}}
        world = with_node(formed(), "c-0-0", id="f" * 40, slots=slots(""), epoch=9)
        for name in ("c-0-1", "c-1-0", "c-2-0"):
            world = with_node(world, name, sees=former)
        followed = with_node(world, "c-0-1", sees={**former})
        found = facts(followed)
        # The replica still follows the id that is gone.
        members = [_following(each, id_of("c-0-0")) if each.name == "c-0-1" else each for each in found.members]
        found = msgspec.structs.replace(found, members=tuple(members))
        assert ordered(plan_cluster(found)) == [Failover(node="c-0-1", kind=FailoverKind.FORCE)]


def test_of_two_owners_that_died_one_is_replaced_after_the_other_or_their_heirs_would_share_the_votes() -> None:
    world = with_node(with_node(formed(5), "c-0-0", process=DEAD), "c-1-0", process=DEAD)
    assert ordered(plan(world, shards=5)) == [Failover(node="c-0-1", kind=FailoverKind.FORCE)]
    under_way = attempted(0.1)
    assert ordered(plan(world, shards=5, record=under_way)) == [Failover(node="c-1-1", kind=FailoverKind.FORCE)]


def _following(member: Any, node_id: str) -> Any:
    own = msgspec.structs.replace(member.seen.myself, primary=node_id)
    return msgspec.structs.replace(member, seen=msgspec.structs.replace(member.seen, myself=own))


@pytest.mark.parametrize("failing", [Failing.NO, Failing.SUSPECTED])
def test_an_owner_that_is_only_silent_is_left_to_the_servers(failing: Failing) -> None:
    assert ordered(plan(with_node(formed(3, 3), "c-0-0", process=None, failing=failing))) == []


def test_an_owner_that_is_silent_and_has_failed_for_the_servers_is_replaced_by_the_replica_that_has_most() -> None:
    world = with_node(formed(replicas=3), "c-0-0", process=None, failing=Failing.AGREED)
    assert ordered(plan(with_node(world, "c-0-2", offset=101))) == [Failover(node="c-0-2", kind=FailoverKind.FORCE)]


def test_a_live_owner_is_never_replaced_by_force() -> None:
    suspected = with_node(formed(3, 3), "c-0-0", failing=Failing.AGREED)
    assert ordered(plan(suspected)) == []


class TestMostOwnersLost:
    """Without a majority nobody is elected."""

    TWO_DEAD = with_node(DIED, "c-1-0", process=DEAD)

    def test_costs_one_takeover_and_then_another_look(self) -> None:
        assert ordered(plan(self.TWO_DEAD)) == [Failover(node="c-0-1", kind=FailoverKind.TAKEOVER)]

    def test_waits_for_proof_of_everyone_that_is_silent(self) -> None:
        world = with_node(self.TWO_DEAD, "c-1-0", process=None)
        found = plan(world)
        assert ordered(found) == []
        assert "proof that c-1-0 takes no more writes; most primaries are lost" in found.waits_for

    def test_is_proven_by_leave_to_write_that_has_run_out(self) -> None:
        world = with_node(self.TWO_DEAD, "c-1-0", process=None, member={"writes_ended": True})
        assert ordered(plan(world)) == [Failover(node="c-0-1", kind=FailoverKind.TAKEOVER)]

    def test_is_watched_before_the_next_takeover(self) -> None:
        record = attempted(1.0, kind=FailoverKind.TAKEOVER)
        assert ordered(plan(self.TWO_DEAD, record=record)) == []

    def test_goes_on_with_votes_once_there_is_a_majority_again(self) -> None:
        world = with_node(self.TWO_DEAD, "c-0-0", slots=slots(""), epoch=1)
        world = with_node(world, "c-0-1", primary=None, slots=slots("0-5461"), epoch=9)
        record = attempted(0.1, kind=FailoverKind.TAKEOVER)
        assert ordered(plan(world, record=record)) == [Failover(node="c-1-1", kind=FailoverKind.FORCE)]

    def test_leaves_the_one_who_took_over_with_the_highest_epoch(self) -> None:
        world = with_node(formed(), "c-0-0", slots=slots(""), epoch=9)
        world = with_node(world, "c-0-1", primary=None, slots=slots("0-5461"), epoch=8)
        found = plan_cluster(facts(world, record=attempted(0.1, kind=FailoverKind.TAKEOVER)))
        assert BumpEpoch(node="c-0-1") in found.steps


class TestAShardWhoseServersAllDied:
    """What is in memory is gone; what is on disk counts."""

    GONE = with_node(with_node(formed(), "c-0-0", process=AT_GATE), "c-0-1", process=AT_GATE)

    def opened(self, world: World) -> list[str]:
        return [step.node for step in plan_cluster(facts(world)).steps if isinstance(step, Open)]

    def test_starts_with_its_owner_where_copies_are_alike(self) -> None:
        assert self.opened(self.GONE) == ["c-0-0"]

    def test_starts_with_the_newest_copy(self) -> None:
        newer = CopyView(rdb=True, epoch=3, offset=50)
        assert self.opened(with_node(self.GONE, "c-0-1", copy=newer)) == ["c-0-1"]

    def test_waits_for_a_node_that_may_have_a_better_copy(self) -> None:
        assert self.opened(with_node(self.GONE, "c-0-1", process=None)) == []

    def test_lets_the_newest_copy_take_over_once_it_runs(self) -> None:
        newer = CopyView(rdb=True, epoch=3, offset=50)
        world = with_node(self.GONE, "c-0-1", copy=newer, process=ProcessState.RUNNING, whole=False, linked=False)
        assert ordered(plan_cluster(facts(world))) == [Failover(node="c-0-1", kind=FailoverKind.FORCE)]
        assert self.opened(world) == []

    def test_lets_the_others_in_once_the_owner_runs(self) -> None:
        assert self.opened(with_node(self.GONE, "c-0-0", process=ProcessState.RUNNING)) == ["c-0-1"]

    def test_lets_a_node_without_a_file_in_at_once(self) -> None:
        assert "c-0-1" in self.opened(with_node(self.GONE, "c-0-1", has_file=False))


class TestAnOwnerThatDiedWithAnEpochNobodyKnows:
    """It had just got a slot; the replica that was elected since has no higher epoch than its file."""

    @staticmethod
    def world(epoch: int, **others: int) -> World:
        got = {"c-0-1": {"slots": slots("0-5461"), "epoch": epoch}}
        found = with_node(formed(), "c-0-0", process=AT_GATE, epoch=8)
        found = with_node(found, "c-0-1", primary=None, slots=slots("0-5461"), epoch=epoch)
        for name, other in others.items():
            found = with_node(found, name.replace("_", "-"), epoch=other)
        for viewer in ("c-0-1", "c-1-0", "c-1-1", "c-2-0", "c-2-1"):
            found = with_node(found, viewer, sees={"c-0-0": {"slots": slots(""), "epoch": 1}})
        return with_node(found, "c-0-0", sees=got)

    @staticmethod
    def done(world: World) -> list[BumpEpoch | Open]:
        return [step for step in plan_cluster(facts(world)).steps if isinstance(step, BumpEpoch | Open)]

    def test_does_not_start_before_that_one_has_a_higher_epoch(self) -> None:
        assert self.done(self.world(8, c_1_0=9)) == [BumpEpoch(node="c-0-1")]
        assert self.done(self.world(7, c_1_0=9)) == [BumpEpoch(node="c-0-1")]
        assert self.done(self.world(10, c_1_0=9)) == [Open(node="c-0-0")]

    def test_does_not_start_either_where_the_others_still_believe_it(self) -> None:
        world = self.world(8)
        for viewer in ("c-1-0", "c-1-1", "c-2-0", "c-2-1"):
            unsure = {"c-0-0": {"slots": slots("0-5461"), "epoch": 8}, "c-0-1": {"slots": slots("")}}
            world = with_node(world, viewer, sees=unsure)
        assert self.done(world) == [BumpEpoch(node="c-1-0")]
        world = with_node(world, "c-1-0", epoch=9)
        assert self.done(world) == [BumpEpoch(node="c-0-1")]

    def test_starts_after_that_one_where_all_have_stopped_meanwhile(self) -> None:
        world = with_node(self.world(8), "c-0-1", process=AT_GATE)
        as_it_was = {"c-0-1": {"role": Role.REPLICA, "primary": id_of("c-0-0"), "slots": slots("")}}
        world = with_node(world, "c-0-0", sees=as_it_was)
        assert self.done(world) == [Open(node="c-0-1")]

    def test_lets_another_primary_go_ahead_where_a_server_would_keep_its_epoch(self) -> None:
        assert self.done(self.world(8)) == [BumpEpoch(node="c-1-0")]


def test_a_node_whose_slots_another_one_has_got_starts_at_once() -> None:
    world = with_node(formed(), "c-0-0", process=AT_GATE, sees={"c-0-1": {"slots": slots("0-5461"), "epoch": 9}})
    world = with_node(world, "c-0-1", primary=None, slots=slots("0-5461"), epoch=9)
    for viewer in ("c-0-1", "c-1-0", "c-1-1", "c-2-0", "c-2-1"):
        world = with_node(world, viewer, sees={"c-0-0": {"slots": slots("")}})
    assert Open(node="c-0-0") in plan_cluster(facts(world)).steps
