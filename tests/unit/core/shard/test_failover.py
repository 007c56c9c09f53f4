"""A primary that is lost: what is announced, what is waited for, what proves it, and who is chosen."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.shards import (
    NEXT,
    NOW,
    a_primary,
    facts,
    in_state,
    member,
    parked,
    record,
    replica_of,
    swapped,
    waiting,
)
from valkey_operator.api.shard import PendingChange, ValkeyShardSpec
from valkey_operator.core.node_view import CopyView, NodeView
from valkey_operator.core.shard.facts import Member, ShardFacts, WritingRules
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import Detach, Kill, Reason, ShardPlan, SwapRecord
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.valkey.terms import Terms

LISTED = ["x-1", "x-2"]
SILENT = member("x-0")
DEAD = member("x-0", in_state(ProcessState.WAITING, promised_epoch=8))
RULES = WritingRules(fence_after_ms=2000, missed_after_ms=3000)


def missing(**changes: Any) -> NodeView:
    return replica_of("x-0", up=False, **{"misses_primary": True, "promised_epoch": 7, **changes})


def deaf(**changes: Any) -> NodeView:
    """Parked in the announced epoch, and sure that whatever it granted is over."""
    return parked(**{"misses_primary": True, "promised_epoch": 8, **changes})


def announced(seconds_ago: float = 0.0, without: str | None = None, **changes: Any) -> ValkeyShardSpec:
    since = (NOW - timedelta(seconds=seconds_ago)).isoformat()
    return record(**{"promotable": LISTED, "pending": PendingChange(epoch=8, since=since, without=without), **changes})


def shard(*members: Member, on_record: ValkeyShardSpec | None = None, **changes: Any) -> ShardFacts:
    found = facts(*members, replicas=3, on_record=on_record or record(promotable=LISTED))
    return msgspec.structs.replace(found, **{"writing": RULES, **changes})


class TestAPrimaryThatIsMissed:
    """Neither the operator reaches it nor its replicas hear of it."""

    def test_is_announced_as_lost_before_anybody_is_told(self) -> None:
        plan = plan_shard(shard(SILENT, member("x-1", missing()), member("x-2", missing())))
        found = swapped(plan)
        assert (found.primary, found.epoch, found.pending and found.pending.epoch) == ("x-0", 7, 8)
        assert [step.reason for step in plan.steps if isinstance(step, SwapRecord)] == [Reason.FAILOVER_BEGINS]

    def test_is_left_alone_while_half_of_its_replicas_hear_of_it(self) -> None:
        plan = plan_shard(shard(SILENT, member("x-1", missing()), member("x-2", replica_of("x-0"))))
        assert plan == ShardPlan(waits_for="primary x-0: nothing is heard of it")

    def test_is_left_alone_while_it_answers_the_operator(self) -> None:
        plan = plan_shard(shard(member("x-0", a_primary()), member("x-1", missing()), member("x-2", missing())))
        assert not any(isinstance(step, SwapRecord) and step.record.pending for step in plan.steps)

    def test_is_waited_for_where_the_spec_says_so(self) -> None:
        rules = msgspec.structs.replace(RULES, fail_over=False)
        plan = plan_shard(shard(SILENT, member("x-1", missing()), member("x-2", missing()), writing=rules))
        assert plan.steps == ()


class TestAfterTheAnnouncement:
    """Nobody may write in the present epoch any more; it is only to be proven."""

    def test_all_that_are_heard_of_promise_the_next_epoch_at_once(self) -> None:
        plan = plan_shard(shard(SILENT, member("x-1", missing()), member("x-2", missing()), on_record=announced()))
        assert plan.steps == (Detach(nodes=("x-1", "x-2")),)

    def test_a_primary_that_is_back_is_parked_with_them(self) -> None:
        back = member("x-0", a_primary(promised_epoch=7))
        plan = plan_shard(shard(back, member("x-1", deaf()), member("x-2", deaf()), on_record=announced()))
        assert plan.steps == (Detach(nodes=("x-0",)),)

    def test_the_one_that_is_furthest_is_chosen_once_all_leave_is_over(self) -> None:
        plan = plan_shard(shard(SILENT, member("x-1", deaf()), member("x-2", deaf(offset=120)), on_record=announced(2)))
        found = swapped(plan)
        assert (found.primary, found.pending, found.promotable) == ("x-2", None, ["x-1"])
        assert found.epoch > 8

    def test_one_that_was_whole_in_this_epoch_counts_though_its_history_is_not_on_record_yet(self) -> None:
        """It resynced fully with a primary that was just promoted, and no leader has looked since."""
        resynced = deaf(replication_id=NEXT, offset=120, copy=CopyView(epoch=7))
        plan = plan_shard(shard(SILENT, member("x-1", deaf()), member("x-2", resynced), on_record=announced(2)))
        assert swapped(plan).primary == "x-2"

    def test_one_that_was_whole_in_this_epoch_and_is_not_listed_has_another_history(self) -> None:
        """A primary from which nobody could take over has restarted since, in the same epoch, with less."""
        other = deaf(replication_id=NEXT, offset=120, copy=CopyView(epoch=7))
        members = (SILENT, member("x-1", deaf()), member("x-2", other))
        found = swapped(plan_shard(shard(*members, on_record=announced(4, promotable=["x-1"]))))
        assert (found.primary, found.promotable) == ("x-1", None)

    def test_a_primary_that_came_back_and_has_most_is_chosen_again(self) -> None:
        back = member("x-0", parked(promised_epoch=8, offset=130))
        plan = plan_shard(shard(back, member("x-1", deaf()), member("x-2", deaf()), on_record=announced()))
        assert swapped(plan).primary == "x-0"

    @pytest.mark.parametrize(
        "unsure",
        [
            pytest.param(deaf(misses_primary=False), id="it let the primary write just now"),
            pytest.param(None, id="it is silent itself"),
        ],
    )
    def test_half_of_the_replicas_are_no_proof(self, unsure: NodeView | None) -> None:
        on_record = announced(seconds_ago=60)
        plan = plan_shard(shard(SILENT, member("x-1", deaf()), member("x-2", unsure), on_record=on_record))
        assert (plan.steps, plan.waits_for) == ((), "proof that x-0 takes no more writes")
        assert plan.look_after_s is not None

    def test_leave_that_the_operator_gave_is_waited_for(self) -> None:
        members = (SILENT, member("x-1", deaf()), member("x-2", deaf()))
        until = NOW + timedelta(seconds=1)
        assert plan_shard(shard(*members, on_record=announced(2), leave_until=until)).steps == ()
        assert swapped(plan_shard(shard(*members, on_record=announced(2), leave_until=NOW))).primary == "x-1"

    def test_a_replica_that_was_removed_since_grants_nothing(self) -> None:
        members = (SILENT, member("x-1", deaf()))
        assert plan_shard(shard(*members, on_record=announced(2))).steps == ()
        assert swapped(plan_shard(shard(*members, on_record=announced(4)))).primary == "x-1"


class TestAPrimaryWithoutItsReplicas:
    """The operator reaches all of them, and they do not reach each other."""

    RULES = msgspec.structs.replace(RULES, half_attached=True)
    TERMS = Terms(sets=(("x-1", "x-2"),), least_replicas=1)

    def cut_off(
        self, primary: NodeView, *replicas: NodeView | None, on_record: ValkeyShardSpec | None = None
    ) -> ShardPlan:
        others = [member(f"x-{index}", view) for index, view in enumerate(replicas, start=1)]
        return plan_shard(shard(member("x-0", primary), *others, writing=self.RULES, on_record=on_record))

    def test_is_replaced_where_it_refuses_writes_and_they_would_not(self) -> None:
        refusing = a_primary(good_replicas=0, terms=self.TERMS)
        pending = swapped(self.cut_off(refusing, missing(), missing())).pending
        assert pending is not None
        assert (pending.without, pending.reason) == ("x-0", "x-0 does not reach its replicas")

    @pytest.mark.parametrize(
        ("primary", "replicas"),
        [
            pytest.param({"good_replicas": 1}, [missing(), missing()], id="it takes writes"),
            pytest.param({"good_replicas": None}, [missing(), missing()], id="it does not say"),
            pytest.param({"good_replicas": 0}, [missing(), None], id="too few to be sure to have all"),
            pytest.param({"good_replicas": 0}, [missing(), waiting()], id="one without data"),
            pytest.param(
                {"good_replicas": 0, "replication_id": NEXT}, [missing(), missing()], id="it met nobody since it is one"
            ),
        ],
    )
    def test_stays_primary_otherwise(self, primary: dict[str, Any], replicas: list[NodeView | None]) -> None:
        plan = self.cut_off(a_primary(**{"terms": self.TERMS, **primary}), *replicas)
        swaps = [step.record for step in plan.steps if isinstance(step, SwapRecord)]
        assert not any(each.pending for each in swaps)

    def test_is_not_chosen_again_though_it_has_most_unless_the_others_are_gone_meanwhile(self) -> None:
        parted = parked(promised_epoch=8, offset=130)
        on_record = announced(without="x-0")
        chosen = swapped(self.cut_off(parted, deaf(), deaf(offset=120), on_record=on_record))
        assert (chosen.primary, chosen.promotable, chosen.pending) == ("x-2", ["x-1"], None)
        assert self.cut_off(parted, None, None, on_record=on_record).steps == ()
        late = announced(seconds_ago=5, without="x-0")
        assert swapped(self.cut_off(parted, None, None, on_record=late)).primary == "x-0"


class TestAPodThatWasReplaced:
    """A later pod of the same node proves nothing about the one that took writes."""

    def test_makes_nobody_primary_before_the_former_one_is_known_to_have_ended(self) -> None:
        on_record = record(promotable=LISTED, primary_pod="former")
        new = member("x-0", waiting())
        plan = plan_shard(shard(new, member("x-1", parked()), member("x-2", parked()), on_record=on_record))
        pending = swapped(plan).pending
        assert pending is not None
        assert "nobody knows whether the former one has ended" in (pending.reason or "")

    @pytest.mark.parametrize("view", [None, waiting()], ids=["no new one yet", "a new one at the gate"])
    def test_is_no_obstacle_once_the_former_one_has_ended(self, view: NodeView | None) -> None:
        on_record = record(promotable=LISTED, primary_pod="former")
        members = (member("x-0", view), member("x-1", parked()), member("x-2", parked()))
        assert swapped(plan_shard(shard(*members, on_record=on_record, primary_pod_ended=True))).primary == "x-1"

    def test_is_put_on_record_while_it_is_primary(self) -> None:
        members = (member("x-0", a_primary()), member("x-1", replica_of("x-0")), member("x-2", replica_of("x-0")))
        found = swapped(plan_shard(shard(*members, on_record=record(promotable=LISTED, primary_pod="former"))))
        assert (found.primary_pod, found.epoch) == ("uid", 7)


class TestAReplicaThatIsNotOnRecord:
    """It grants nothing; but a server whose agent is dead counts it, and takes writes for it."""

    def test_is_detached_with_the_others(self) -> None:
        unlisted = member("x-2", missing())
        plan = plan_shard(shard(SILENT, member("x-1", deaf()), unlisted, on_record=announced(promotable=["x-1"])))
        assert plan.steps == (Detach(nodes=("x-2",)),)


class TestAReplicaThatIsSilent:
    """It may have more than the others, and is waited for, but not for ever."""

    def test_is_left_behind_after_a_while(self) -> None:
        members = (DEAD, member("x-1", deaf()), member("x-2"))
        assert plan_shard(shard(*members, on_record=announced(0.5))).steps == ()
        assert swapped(plan_shard(shard(*members, on_record=announced(1.0)))).primary == "x-1"

    def test_is_not_left_behind_with_quorum_if_it_may_have_what_was_confirmed(self) -> None:
        rules = msgspec.structs.replace(RULES, half_attached=True, min_replicas=1)
        members = (DEAD, member("x-1", deaf()), member("x-2"))
        plan = plan_shard(shard(*members, on_record=announced(60), writing=rules))
        assert plan.steps == ()
        assert "2 of x-1, x-2 with all their data, of which 1 were reached" in (plan.waits_for or "")
        assert "spec.durability" in (plan.waits_for or "")

    def test_is_no_loss_with_quorum_where_others_have_all_that_was_confirmed(self) -> None:
        rules = msgspec.structs.replace(RULES, half_attached=True, min_replicas=2)
        members = (DEAD, member("x-1", deaf()), member("x-2"))
        assert swapped(plan_shard(shard(*members, on_record=announced(60), writing=rules))).primary == "x-1"

    def test_is_waited_for_with_quorum_where_it_was_chosen_as_the_one_that_has_most(self) -> None:
        rules = msgspec.structs.replace(RULES, half_attached=True, min_replicas=2)
        on_record = announced(60, promotable=["x-1"], first_offset=100)
        plan = plan_shard(shard(SILENT, member("x-1", deaf(offset=90)), on_record=on_record, writing=rules))
        assert plan.steps == ()
        assert "1 of x-1 with all their data, of which 0 were reached" in (plan.waits_for or "")


class TestAPrimaryThatHangs:
    """Its agent answers, its server does not."""

    def test_is_killed_first(self) -> None:
        hung = in_state(ProcessState.RUNNING, health=Health.HUNG, misses_primary=True)
        plan = plan_shard(shard(member("x-0", hung), member("x-1", replica_of("x-0")), member("x-2")))
        assert plan.steps == (Kill(node="x-0"),)

    @pytest.mark.parametrize(
        ("changes", "on_record"),
        [
            pytest.param({"misses_primary": False}, None, id="for a moment only"),
            pytest.param({"health": Health.BUSY}, None, id="being busy"),
            pytest.param({}, record(), id="with nobody to take over"),
        ],
    )
    def test_is_not_killed(self, changes: dict[str, Any], on_record: ValkeyShardSpec | None) -> None:
        hung = in_state(ProcessState.RUNNING, **{"health": Health.HUNG, "misses_primary": True, **changes})
        plan = plan_shard(shard(member("x-0", hung), member("x-1", replica_of("x-0")), on_record=on_record))
        assert plan.steps == ()
