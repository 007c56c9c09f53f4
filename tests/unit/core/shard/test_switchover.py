"""A planned change of primary: when it is wished for, to whom, and each of its steps."""

from datetime import timedelta

import msgspec
import pytest

from tests.support.shards import (
    JUST_NOW,
    LONG_AGO,
    NOW,
    OTHER,
    OURS,
    a_primary,
    facts,
    in_state,
    member,
    parked,
    record,
    replica_of,
    swapped,
    switchover,
    waiting,
)
from valkey_operator.core.node_view import CopyView, NodeView
from valkey_operator.core.shard.facts import Member
from valkey_operator.core.shard.steps import LookAgain, Park, Promote, Reason, Release, ShardPlan, SwapRecord
from valkey_operator.core.shard.switchover import (
    MOST_BEHIND,
    begin_switchover,
    best_target,
    continue_switchover,
    wish,
)
from valkey_operator.valkey.states import Health, ProcessState

IN_SYNC = member("x-1", replica_of("x-0"))


class TestTheWish:
    """Why the primary should be another one."""

    @pytest.mark.parametrize(
        ("primary", "why"),
        [
            (member("x-0", a_primary()), None),
            (member("x-0", a_primary(), wanted=False), "it is scaled in"),
            (member("x-0", a_primary(), pod_leaving=True), "its pod is being stopped"),
            (member("x-0", a_primary(leaving=True)), "its pod is being stopped"),
            (member("x-0", a_primary(), stale=True), "its pod is to be replaced"),
        ],
    )
    def test_comes_from_the_primarys_own_state(self, primary: Member, why: str | None) -> None:
        assert wish(facts(primary, IN_SYNC), primary) == why

    def test_waits_until_the_replicas_pods_were_replaced(self) -> None:
        primary = member("x-0", a_primary(), stale=True)
        assert wish(facts(primary, IN_SYNC, member("x-2", replica_of("x-0"), stale=True)), primary) is None

    def test_does_not_wait_for_the_pod_of_one_that_shall_go(self) -> None:
        primary = member("x-0", a_primary(), stale=True)
        gone = member("x-2", replica_of("x-0"), stale=True, wanted=False)
        assert wish(facts(primary, IN_SYNC, gone), primary) == "its pod is to be replaced"

    def test_comes_from_a_cordoned_machine_if_somebody_in_sync_is_on_another(self) -> None:
        primary = member("x-0", a_primary(), cordoned=True)
        assert wish(facts(primary, IN_SYNC), primary) == "its machine is cordoned"

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param(member("x-1", replica_of("x-0"), cordoned=True), id="cordoned, too"),
            pytest.param(member("x-1", replica_of("x-0", up=False)), id="not in sync"),
            pytest.param(member("x-1", replica_of("x-0"), wanted=False), id="it shall go"),
            pytest.param(member("x-1", replica_of("x-0"), pod_leaving=True), id="its pod leaves"),
        ],
    )
    def test_does_not_come_from_a_cordoned_machine_where_nobody_is_better_off(self, other: Member) -> None:
        primary = member("x-0", a_primary(), cordoned=True)
        assert wish(facts(primary, other), primary) is None

    def test_is_none_where_nobody_else_is_wanted(self) -> None:
        primary = member("x-0", a_primary(), stale=True)
        assert wish(facts(primary, member("x-1", replica_of("x-0"), wanted=False)), primary) is None


class TestItsMoment:
    """When the old primary hands over: not in the second in which kube-proxy has just written its rules."""

    REPLACED = member("x-0", a_primary(), stale=True)

    def begins(self, primary: Member, *others: Member) -> bool:
        plan = begin_switchover(facts(primary, *others), primary)
        assert plan is not None
        assert bool(plan.steps) != bool(plan.look_after_s), plan
        return bool(plan.steps)

    @pytest.mark.parametrize(
        ("ago_s", "begins"),
        [
            pytest.param(2.4, True, id="Services have followed"),
            pytest.param(2.2, False, id="they may not have followed"),
            pytest.param(-0.1, True, id="the clock that tells is ahead of ours"),
        ],
    )
    def test_is_when_services_have_followed_the_last_change_of_a_pod(self, ago_s: float, *, begins: bool) -> None:
        replica = member("x-1", replica_of("x-0"), changed_at=NOW - timedelta(seconds=ago_s))
        assert self.begins(self.REPLACED, replica) is begins

    def leaving(self, *, for_s: float) -> Member:
        stops_at, changed_at = NOW + timedelta(seconds=for_s), NOW - timedelta(seconds=1)
        return member("x-0", a_primary(), pod_leaving=True, stops_at=stops_at, changed_at=changed_at)

    def test_is_a_little_later_for_a_pod_that_leaves_and_has_time(self) -> None:
        assert not self.begins(self.leaving(for_s=29), IN_SYNC)

    def test_is_at_once_for_a_pod_that_leaves_and_has_no_time(self) -> None:
        assert self.begins(self.leaving(for_s=7), IN_SYNC)

    def test_does_not_wait_for_others_when_a_pod_leaves(self) -> None:
        primary = msgspec.structs.replace(self.leaving(for_s=29), changed_at=NOW - timedelta(seconds=3))
        assert self.begins(primary, member("x-1", replica_of("x-0"), changed_at=NOW))


class TestTheTarget:
    """To whom."""

    PRIMARY = member("x-0", a_primary())

    def target(self, *others: Member) -> str | None:
        found = best_target(facts(self.PRIMARY, *others), self.PRIMARY)
        return found.name if found else None

    def test_is_the_replica_that_is_furthest(self) -> None:
        assert self.target(member("x-1", replica_of("x-0")), member("x-2", replica_of("x-0", offset=101))) == "x-2"

    def test_is_the_lower_index_of_two_that_are_as_far(self) -> None:
        assert self.target(member("x-1", replica_of("x-0")), member("x-2", replica_of("x-0"))) == "x-1"

    def test_is_rather_one_whose_machine_is_not_cordoned(self) -> None:
        further = member("x-1", replica_of("x-0", offset=101), cordoned=True)
        assert self.target(further, member("x-2", replica_of("x-0"))) == "x-2"
        assert self.target(further) == "x-1"

    @pytest.mark.parametrize(
        "unfit",
        [
            pytest.param(member("x-1", replica_of("x-0"), wanted=False), id="it shall go itself"),
            pytest.param(member("x-1", replica_of("x-0"), pod_leaving=True), id="its pod leaves"),
            pytest.param(member("x-1", replica_of("x-0", leaving=True)), id="its agent says that it leaves"),
            pytest.param(member("x-1", replica_of("x-0", up=False)), id="no link"),
            pytest.param(member("x-1", replica_of("x-0", syncing=True)), id="it syncs"),
            pytest.param(member("x-1", replica_of("x-0", whole=False)), id="not whole"),
            pytest.param(member("x-1", replica_of("x-0", replication_id=OTHER)), id="another history"),
            pytest.param(member("x-1", replica_of("x-2")), id="it follows another"),
            pytest.param(member("x-1", waiting()), id="at the gate"),
            pytest.param(member("x-1"), id="silent"),
        ],
    )
    def test_is_never_one_that_is_not_fit(self, unfit: Member) -> None:
        assert self.target(unfit) is None


class TestItsBeginning:
    """Nothing is done before it is on record."""

    def test_without_a_wish_there_is_none(self) -> None:
        primary = member("x-0", a_primary())
        assert begin_switchover(facts(primary, IN_SYNC), primary) is None

    def test_without_a_target_it_is_waited_for(self) -> None:
        primary = member("x-0", a_primary(), wanted=False)
        plan = begin_switchover(facts(primary, member("x-1", waiting())), primary)
        assert plan == ShardPlan(
            waits_for="a replica in sync with x-0, which shall hand over: it is scaled in",
        )

    def test_both_are_asked_before_for_offsets_that_were_heard_are_old(self) -> None:
        primary = member("x-0", a_primary(), wanted=False)
        unasked = msgspec.structs.replace(facts(primary, IN_SYNC), just_asked=frozenset())
        plan = begin_switchover(unasked, primary)
        assert plan == ShardPlan(steps=(LookAgain(node="x-0"), LookAgain(node="x-1")))

    def test_a_target_that_is_far_behind_is_waited_for_while_writes_go_on(self) -> None:
        primary = member("x-0", a_primary(offset=100 + MOST_BEHIND + 1), wanted=False)
        plan = begin_switchover(facts(primary, IN_SYNC), primary)
        assert plan is not None
        assert plan.steps == ()
        assert f"x-1, {MOST_BEHIND + 1} bytes behind" in (plan.waits_for or "")
        assert plan.look_after_s

    def test_the_operation_is_recorded_and_the_primary_stays_what_it_is(self) -> None:
        primary = member("x-0", a_primary(leaving=True))
        plan = begin_switchover(facts(primary, IN_SYNC, on_record=record(promotable=["x-1"])), primary)
        assert plan is not None
        found = swapped(plan)
        assert (found.primary, found.epoch, found.promotable) == ("x-0", 7, ["x-1"])
        operation = found.operation
        assert operation is not None
        assert (operation.source, operation.target, operation.epoch) == ("x-0", "x-1", 7)
        assert (operation.reason, operation.started_at) == ("its pod is being stopped", NOW.strftime("%FT%TZ"))


class TestItsSteps:
    """From the record on; every step can be the first that a new leader sees."""

    @staticmethod
    def goes_on(
        source: NodeView | None, target: NodeView | None, *, started_at: str | None = JUST_NOW, by: str = "x-0"
    ) -> ShardPlan:
        operation = switchover(started_at=started_at)
        on_record = record(primary=by, promotable=["x-1", "x-2"], operation=operation)
        members = (member("x-0", source), member("x-1", target), member("x-2", replica_of("x-0")))
        return continue_switchover(facts(*members, on_record=on_record), operation)

    @staticmethod
    def given_up(plan: ShardPlan) -> str:
        swap = plan.steps[0]
        assert isinstance(swap, SwapRecord)
        assert swap.reason is Reason.SWITCHOVER_GIVEN_UP
        assert swap.record.operation is None
        assert swap.record.primary == "x-0"
        assert swap.record.promotable == ["x-1", "x-2"]
        return swap.message

    def test_the_source_is_parked_once_the_target_has_answered(self) -> None:
        plan = self.goes_on(a_primary(), replica_of("x-0", offset=50))
        assert plan.steps == (LookAgain(node="x-1"), Park(node="x-0"), LookAgain(node="x-1"))

    @pytest.mark.parametrize(
        "target", [None, waiting(), replica_of("x-0", up=False), replica_of("x-0", replication_id=OTHER)]
    )
    def test_a_target_that_fell_behind_before_ends_it_and_writes_go_on(self, target: NodeView | None) -> None:
        plan = self.goes_on(a_primary(), target)
        assert self.given_up(plan) == "The switchover ends: x-1 is not in sync"
        assert swapped(plan).epoch == 7
        assert plan.steps[1:] == ()

    @pytest.mark.parametrize("started_at", [None, LONG_AGO])
    def test_a_source_that_cannot_be_parked_in_time_stays_primary(self, started_at: str | None) -> None:
        assert self.given_up(self.goes_on(a_primary(), replica_of("x-0"), started_at=started_at))

    def test_the_target_is_looked_at_until_it_has_what_the_source_had(self) -> None:
        assert self.goes_on(parked(offset=100), replica_of("x-0", offset=99)).steps == (LookAgain(node="x-1"),)

    @pytest.mark.parametrize("offset", [100, 101])
    def test_once_it_has_everything_it_is_primary_on_record_in_a_new_epoch(self, offset: int) -> None:
        found = swapped(self.goes_on(parked(offset=100), replica_of("x-0", offset=offset, up=False)))
        assert (found.primary, found.epoch, found.operation) == ("x-1", 8, None)
        assert (found.replication_id, found.first_offset) == (OURS, 100)

    def test_it_is_promoted_at_once_with_what_the_source_had(self) -> None:
        swap, promotion = self.goes_on(parked(offset=100), replica_of("x-0", offset=100)).steps
        assert isinstance(swap, SwapRecord)
        assert swap.reason is Reason.SWITCHOVER_DONE
        assert isinstance(promotion, Promote)
        assert (promotion.node, promotion.replication_id, promotion.at_least_offset) == ("x-1", OURS, 100)

    def test_the_clients_of_the_source_are_dropped_then(self) -> None:
        left = parked(copy=CopyView(was_primary=True))
        assert self.goes_on(left, replica_of("x-0")).steps[-1] == Release(node="x-0")

    def test_the_source_could_take_over_again_because_nobody_else_has_as_much(self) -> None:
        assert swapped(self.goes_on(parked(), replica_of("x-0"))).promotable == ["x-0", "x-2"]

    @pytest.mark.parametrize(
        "target",
        [
            pytest.param(None, id="silent"),
            pytest.param(waiting(), id="restarted"),
            pytest.param(replica_of("x-0", whole=False), id="not whole"),
            pytest.param(in_state(ProcessState.GONE), id="gone"),
        ],
    )
    def test_a_target_that_is_lost_gives_the_source_a_new_epoch(self, target: NodeView | None) -> None:
        plan = self.goes_on(parked(), target)
        assert self.given_up(plan) == "x-0 stays primary: x-1 did not get everything in time"
        assert swapped(plan).epoch == 8

    @pytest.mark.parametrize(
        "target", [replica_of("x-0", offset=99, up=False), replica_of("x-0", replication_id=OTHER)]
    )
    def test_a_target_that_gets_no_more_gives_the_source_a_new_epoch(self, target: NodeView) -> None:
        plan = self.goes_on(parked(offset=100), target)
        assert self.given_up(plan)
        assert swapped(plan).epoch == 8

    @pytest.mark.parametrize("target", [replica_of("x-0", offset=99), replica_of("x-0", replication_id=OTHER)])
    def test_a_target_that_is_late_gives_the_source_a_new_epoch(self, target: NodeView) -> None:
        plan = self.goes_on(parked(), target, started_at=LONG_AGO)
        assert self.given_up(plan)
        assert swapped(plan).epoch == 8

    def test_a_late_target_that_has_everything_is_not_late(self) -> None:
        assert swapped(self.goes_on(parked(), replica_of("x-0"), started_at=LONG_AGO)).primary == "x-1"

    @pytest.mark.parametrize(
        "source",
        [
            pytest.param(None, id="silent"),
            pytest.param(waiting(), id="at the gate"),
            pytest.param(in_state(ProcessState.GONE), id="gone"),
            pytest.param(in_state(ProcessState.RUNNING, health=Health.HUNG), id="hung"),
            pytest.param(replica_of("x-2"), id="following another"),
        ],
    )
    def test_a_source_that_does_not_run_any_more_ends_it(self, source: NodeView | None) -> None:
        plan = self.goes_on(source, replica_of("x-0"))
        assert self.given_up(plan) == "The switchover ends: x-0 does not run any more"
        assert swapped(plan).epoch == 7

    def test_it_ends_where_the_primary_is_another_one_by_now(self) -> None:
        plan = self.goes_on(a_primary(), replica_of("x-0"), by="x-2")
        found = swapped(plan)
        assert (found.operation, found.primary, found.epoch) == (None, "x-2", 7)

    def test_it_ends_where_the_source_does_not_exist_any_more(self) -> None:
        operation = switchover()
        found = swapped(continue_switchover(facts(IN_SYNC, on_record=record(operation=operation)), operation))
        assert (found.operation, found.primary) == (None, "x-0")

    def test_a_target_that_does_not_exist_any_more_is_lost(self) -> None:
        operation = switchover()
        on_record = record(operation=operation)
        before = continue_switchover(facts(member("x-0", a_primary()), on_record=on_record), operation)
        assert before.steps[1:] == ()
        after = continue_switchover(facts(member("x-0", parked()), on_record=on_record), operation)
        assert swapped(after).epoch == 8
