"""What the record says of leave to write, from one epoch to the next, and who is told."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.clusters import NOW, World, facts, formed, id_of, slots, unformed, with_node
from valkey_operator.core.cluster.facts import Attempt, ClusterRecord, FailoverKind, Leave
from valkey_operator.core.cluster.leave import witnesses_of
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.steps import Bind, ClusterPlan, Failover, Open, Reason, Remember
from valkey_operator.valkey.cluster_nodes import Failing
from valkey_operator.valkey.states import ProcessState

ALL = witnesses_of("c", 3, 2)
AT_GATE = ProcessState.WAITING
ENDED = {"writes_ended": True}


def leave_with(**changes: Any) -> Leave:
    return Leave(**{"epoch": 4, "witnesses": ALL, "kept": True, **changes})


def plan(world: World, leave: Leave | None = None, **changes: Any) -> ClusterPlan:
    return plan_cluster(facts(world, leave=leave or leave_with(), **changes))


def remembered(found: ClusterPlan) -> Leave | None:
    [step] = [step for step in found.steps if isinstance(step, Remember)]
    return step.record.leave


def reasons(found: ClusterPlan) -> list[Reason]:
    return [step.reason for step in found.steps if isinstance(step, Remember)]


def bound(found: ClusterPlan) -> list[str]:
    return [step.node for step in found.steps if isinstance(step, Bind)]


def cut_off(world: World, *names: str, failing: Failing = Failing.SUSPECTED) -> World:
    """Nothing is heard of them, by anybody."""
    for name in names:
        world = with_node(world, name, process=None, failing=failing)
    return world


class TestTheFirstEpoch:
    def test_is_on_record_before_anybody_is_let_in(self) -> None:
        found = plan_cluster(facts(unformed(), record=ClusterRecord(), leave=None))
        assert remembered(found) == Leave(epoch=1, witnesses=ALL)
        assert len(found.steps) == 1

    def test_of_a_record_that_was_lost_is_above_all_that_was_promised(self) -> None:
        known = facts(formed(), leave=leave_with(epoch=7))
        lost = msgspec.structs.replace(known, record=ClusterRecord(formed=True))
        assert remembered(plan_cluster(lost)) == Leave(epoch=8, witnesses=ALL)

    def test_is_followed_by_a_higher_one_where_somebody_turns_out_to_have_promised_that(self) -> None:
        assert remembered(plan(with_node(formed(), "c-1-1", promised=9))) == leave_with(epoch=10)

    def test_binds_all_who_can_be_kept_to_it(self) -> None:
        world = with_node(formed(), "c-1-1", process=None)
        for name in ALL:
            world = with_node(world, name, bound=False)
        assert bound(plan(world, leave_with(kept=False))) == [name for name in ALL if name != "c-1-1"]

    def test_binds_nobody_while_an_older_agent_answers_no_peers_and_goes_on_where_all_were_bound(self) -> None:
        world = with_node(formed(), "c-1-1", keeps_terms=False, bound=False)
        world = with_node(world, "c-2-1", bound=False)
        assert bound(plan(world, leave_with(kept=False))) == []
        assert bound(plan(world)) == ["c-2-1"]

    def test_binds_one_that_waits_at_its_gate_too(self) -> None:
        assert bound(plan(with_node(formed(), "c-1-1", process=AT_GATE, promised=1))) == ["c-1-1"]

    def test_is_settled_once_all_are_bound(self) -> None:
        found = plan(formed(), leave_with(kept=False, former=("c-0-0",)))
        assert (remembered(found), reasons(found)) == (leave_with(), [Reason.BOUND])

    @pytest.mark.parametrize("changes", [{"bound": False}, {"promised": 3}, {"process": None}])
    def test_is_not_settled_while_one_is_not(self, changes: dict[str, Any]) -> None:
        assert Reason.BOUND not in reasons(plan(with_node(formed(), "c-2-1", **changes), leave_with(kept=False)))


def test_where_all_are_told_nobody_is_told_again() -> None:
    assert plan(formed()).steps == ()


def test_other_witnesses_begin_an_epoch_in_which_the_former_ones_count_too() -> None:
    found = plan(formed(), replicas=1)
    wanted = witnesses_of("c", 3, 1)
    assert remembered(found) == leave_with(epoch=5, witnesses=wanted, former=ALL)


def test_witnesses_change_only_once_most_of_the_new_ones_can_give_leave() -> None:
    world = formed(shards=6, replicas=1)
    few, leave = ("c-3-0", "c-4-0", "c-5-0"), leave_with(witnesses=witnesses_of("c", 3, 1))
    for name in few:
        world = with_node(world, name, promised=0)
    assert Reason.WITNESSES not in reasons(plan(world, leave, shards=6, replicas=1))
    found = remembered(plan(with_node(world, "c-5-0", promised=4), leave, shards=6, replicas=1))
    assert found is not None
    assert found.witnesses == witnesses_of("c", 6, 1)


@pytest.mark.parametrize("changes", [{"former": ("c-0-0",)}, {"without": ("c-2-0",)}])
def test_witnesses_change_only_once_everybody_knows_the_present_ones(changes: dict[str, Any]) -> None:
    world = with_node(formed(), "c-2-0", process=None)
    assert Reason.WITNESSES not in reasons(plan(world, leave_with(**changes), replicas=1))


class TestMostPrimariesCutOff:
    """c-0-0 and c-1-0, on one machine with c-2-1; the other three are heard."""

    CUT = cut_off(formed(), "c-0-0", "c-1-0", "c-2-1")
    WITHOUT = leave_with(epoch=5, without=("c-0-0", "c-1-0"))

    def test_get_no_leave_in_the_next_epoch(self) -> None:
        found = plan(self.CUT)
        assert (remembered(found), reasons(found)) == (self.WITHOUT, [Reason.LEAVE_ENDS])

    def test_and_a_replica_beside_them_could_be_told_of_it_if_it_were_heard(self) -> None:
        assert bound(plan(with_node(self.CUT, "c-2-1", process=AT_GATE, promised=4), self.WITHOUT)) == ["c-2-1"]

    def test_keep_their_leave_while_no_server_misses_them(self) -> None:
        assert reasons(plan(cut_off(formed(), "c-0-0", "c-1-0", failing=Failing.NO))) == []

    def test_keep_their_leave_while_a_majority_of_owners_is_heard(self) -> None:
        assert reasons(plan(cut_off(formed(), "c-0-0", "c-1-1", "c-2-1"))) == []

    def test_keep_their_leave_where_not_everybody_needed_any(self) -> None:
        assert reasons(plan(self.CUT, leave_with(kept=False))) == []

    def test_are_waited_for_until_it_is_proven(self) -> None:
        world = self.CUT
        for name in ("c-0-1", "c-1-1", "c-2-0"):
            world = with_node(world, name, promised=4)
        found = plan(world, self.WITHOUT)
        assert bound(found) == ["c-0-1", "c-1-1", "c-2-0"]
        assert not [step for step in found.steps if isinstance(step, Failover)]
        assert "proof that c-0-0, c-1-0 takes no more writes; most primaries are lost" in found.waits_for
        assert found.look_after_s is not None
        assert found.look_after_s < 1

    def test_are_replaced_one_by_its_own_word_and_the_others_by_votes(self) -> None:
        world = with_node(with_node(self.CUT, "c-0-0", member=ENDED), "c-1-0", member=ENDED)
        found = plan(world, self.WITHOUT)
        assert Failover(node="c-0-1", kind=FailoverKind.TAKEOVER) in found.steps
        taken = with_node(with_node(world, "c-0-0", slots=slots("")), "c-0-1", primary=None, epoch=9)
        taken = with_node(taken, "c-0-1", slots=slots("0-5461"))
        found = plan(taken, self.WITHOUT)
        assert Failover(node="c-1-1", kind=FailoverKind.FORCE) in found.steps

    def test_more_that_are_lost_later_begin_another_epoch(self) -> None:
        world = cut_off(self.CUT, "c-2-0")
        found = plan(world, self.WITHOUT)
        assert remembered(found) == leave_with(epoch=6, without=("c-0-0", "c-1-0", "c-2-0"))


class TestOneThatIsBack:
    WITHOUT = leave_with(without=("c-0-0",))

    def test_gets_leave_again_on_record_before_it_is_told(self) -> None:
        world = with_node(formed(), "c-0-0", promised=3)
        found = plan(world, self.WITHOUT)
        assert (remembered(found), reasons(found)) == (leave_with(), [Reason.LEAVE_AGAIN])
        assert bound(found) == []
        assert bound(plan(world)) == ["c-0-0"]

    def test_gets_it_as_a_replica_whoever_is_silent(self) -> None:
        world = with_node(formed(), "c-0-0", primary="c-0-1", slots=slots(""), promised=3)
        world = with_node(world, "c-0-1", primary=None, slots=slots("0-5461"), epoch=9)
        assert remembered(plan(with_node(world, "c-2-1", process=None), self.WITHOUT)) == leave_with()

    def test_gets_it_while_it_waits_at_its_gate_and_is_let_in_only_then(self) -> None:
        world = with_node(formed(), "c-0-0", process=AT_GATE, promised=3)
        found = plan(world, self.WITHOUT)
        assert not [step for step in found.steps if isinstance(step, Open)]

    def test_gets_none_while_it_claims_what_another_has_got(self) -> None:
        world = with_node(formed(), "c-0-0", promised=3)
        world = with_node(world, "c-0-1", primary=None, slots=slots("0-5461"), epoch=9)
        found = plan(world, self.WITHOUT)
        assert (reasons(found), bound(found)) == ([], [])

    def test_gets_none_while_a_replica_that_may_have_taken_over_is_silent(self) -> None:
        world = with_node(with_node(formed(), "c-0-0", promised=3), "c-0-1", process=None)
        found = plan(world, self.WITHOUT)
        assert (reasons(found), bound(found)) == ([], [])
        assert "all that may have taken over from c-0-0 to be heard of, before it takes writes" in found.waits_for

    def test_gets_none_while_an_order_to_replace_it_may_be_on_its_way(self) -> None:
        world = with_node(formed(), "c-0-0", promised=3)
        attempt = Attempt(
            shard=0, kind=FailoverKind.TAKEOVER, source=id_of("c-0-0"), target="c-0-1", at=NOW - timedelta(seconds=1)
        )
        assert reasons(plan(world, self.WITHOUT, record=ClusterRecord(formed=True, attempts=(attempt,)))) == []

    def test_that_was_removed_is_not_remembered(self) -> None:
        assert remembered(plan(formed(), leave_with(without=("c-7-0",)))) == leave_with()
