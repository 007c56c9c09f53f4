"""Who is chosen: an unbroken copy in memory before any on disk, the furthest one, and never on half of the picture."""

import msgspec
import pytest

from tests.support.shards import (
    NEXT,
    OTHER,
    OURS,
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
from valkey_operator.api.shard import PendingChange, ValkeyShardSpec
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.facts import Member
from valkey_operator.core.shard.primary import after_restart, first_primary, without_primary
from valkey_operator.core.shard.steps import Detach, LookAgain, Reason, ShardPlan, SwapRecord
from valkey_operator.valkey.states import Health, ProcessState

LISTED = record(promotable=["x-1", "x-2"])


def restarted(*others: Member, on_record: ValkeyShardSpec = LISTED, view: NodeView | None = None) -> ShardPlan:
    """The plan after x-0, the primary on record, has come back to the gate."""
    primary = member("x-0", view or waiting())
    return after_restart(facts(primary, *others, on_record=on_record), primary)


def reason_of(plan: ShardPlan) -> Reason:
    [step] = plan.steps
    assert isinstance(step, SwapRecord)
    return step.reason


class TestAfterARestart:
    """The primary is at its gate; what others hold in memory comes first."""

    def test_the_furthest_replica_takes_over_in_a_new_epoch(self) -> None:
        plan = restarted(member("x-1", parked(offset=90)), member("x-2", parked(offset=95)))
        found = swapped(plan)
        assert (found.primary, found.epoch, found.promotable) == ("x-2", 8, ["x-1"])
        assert (found.replication_id, found.first_offset) == (OURS, 95)
        assert reason_of(plan) is Reason.PRIMARY_RESTARTED

    def test_of_two_that_are_as_far_the_lower_index_takes_over(self) -> None:
        assert swapped(restarted(member("x-1", parked()), member("x-2", parked()))).primary == "x-1"

    def test_offsets_are_compared_only_once_they_stand_still(self) -> None:
        plan = restarted(member("x-1", replica_of("x-0", up=False)), member("x-2", parked()))
        assert plan.steps == (Detach(nodes=("x-1",)),)
        plan = restarted(member("x-1", replica_of("x-0")), member("x-2", replica_of("x-0")))
        assert plan.steps == (Detach(nodes=("x-1", "x-2")),)

    @pytest.mark.parametrize(
        "view",
        [
            pytest.param(None, id="nothing was heard of it"),
            pytest.param(in_state(ProcessState.RUNNING, health=Health.BUSY, whole=True), id="it is busy"),
            pytest.param(in_state(ProcessState.RUNNING, health=Health.HUNG, whole=True), id="it hangs"),
        ],
    )
    def test_nobody_is_chosen_while_one_that_is_listed_may_have_more(self, view: NodeView | None) -> None:
        announced = swapped(restarted(member("x-1", parked()), member("x-2", view)))
        assert (announced.primary, announced.epoch) == ("x-0", 7)
        assert announced.pending is not None
        assert "x-2 silent" in (announced.pending.reason or "")

    @pytest.mark.parametrize(
        "view",
        [
            pytest.param(waiting(rdb=True, epoch=7), id="at the gate"),
            pytest.param(in_state(ProcessState.GONE), id="gone"),
            pytest.param(in_state(ProcessState.STARTING), id="starting"),
            pytest.param(in_state(ProcessState.RUNNING, health=Health.LOADING, whole=True), id="loading"),
            pytest.param(in_state(ProcessState.RUNNING, health=Health.BUSY), id="busy, but never whole"),
            pytest.param(replica_of("x-0", up=False, whole=False), id="running, but never whole"),
        ],
    )
    def test_one_whose_memory_is_known_to_be_gone_holds_nobody_up(self, view: NodeView) -> None:
        found = swapped(restarted(member("x-1", view), member("x-2", parked())))
        assert (found.primary, found.promotable) == ("x-2", None)

    def test_a_silent_node_that_was_never_in_sync_holds_nobody_up(self) -> None:
        plan = restarted(member("x-1", parked()), member("x-2"), on_record=record(promotable=["x-1"]))
        assert swapped(plan).primary == "x-1"

    def test_a_replica_that_is_not_listed_yet_counts_if_its_data_are_of_the_recorded_history(self) -> None:
        on_record = record(promotable=["x-1"])
        plan = restarted(member("x-1", waiting()), member("x-2", parked()), on_record=on_record)
        assert swapped(plan).primary == "x-2"

    @pytest.mark.parametrize(
        "view",
        [
            pytest.param(parked(replication_id=OTHER), id="another history"),
            pytest.param(parked(offset=9), id="less than the epoch began with"),
        ],
    )
    def test_a_replica_with_other_data_that_is_not_listed_does_not_count(self, view: NodeView) -> None:
        on_record = record(promotable=["x-1"])
        plan = restarted(member("x-1", parked(offset=8)), member("x-2", view), on_record=on_record)
        assert (swapped(plan).primary, swapped(plan).promotable) == ("x-1", None)

    def test_who_has_already_moved_on_to_a_history_that_is_not_on_record_counts(self) -> None:
        moved = parked(replication_id=NEXT, former_replication_id=OURS, offset=105)
        found = swapped(restarted(member("x-1", parked(offset=100)), member("x-2", moved)))
        assert (found.primary, found.replication_id) == ("x-2", NEXT)

    def test_offsets_of_different_histories_are_not_compared(self) -> None:
        other = parked(replication_id=OTHER, offset=900)
        assert swapped(restarted(member("x-1", parked(offset=20)), member("x-2", other))).primary == "x-1"

    def test_who_has_the_recorded_history_but_not_yet_what_it_began_with_does_not_come_first(self) -> None:
        on_record = record(promotable=["x-1", "x-2"], replication_id=NEXT, first_offset=100)
        moving = parked(replication_id=NEXT, former_replication_id=OURS, offset=20)
        plan = restarted(member("x-1", moving), member("x-2", parked(offset=100)), on_record=on_record)
        assert swapped(plan).primary == "x-2"

    def test_who_is_listed_but_has_not_yet_moved_on_is_better_than_any_disk(self) -> None:
        on_record = record(promotable=["x-1"], replication_id=NEXT)
        plan = restarted(member("x-1", parked()), on_record=on_record, view=waiting(rdb=True, epoch=7, offset=500))
        found = swapped(plan)
        assert (found.primary, found.replication_id) == ("x-1", OURS)


class TestAllRestarted:
    """Nobody has anything in memory: disks are compared, once all are known."""

    def test_the_newest_copy_is_chosen_and_nothing_is_said_about_its_history(self) -> None:
        plan = restarted(
            member("x-1", waiting(rdb=True, epoch=7, offset=50)), member("x-2", waiting(rdb=True, epoch=6))
        )
        found = swapped(plan)
        assert (found.primary, found.epoch, found.promotable) == ("x-1", 8, None)
        assert (found.replication_id, found.first_offset) == (None, None)
        assert reason_of(plan) is Reason.ALL_RESTARTED

    @pytest.mark.parametrize(
        ("one", "other", "chosen"),
        [
            pytest.param({"epoch": 6, "offset": 900}, {"epoch": 7}, "x-2", id="a higher epoch before all"),
            pytest.param({"epoch": 7, "offset": 900}, {"epoch": 7, "was_primary": True}, "x-2", id="then the primary"),
            pytest.param({"epoch": 7, "offset": 1}, {"epoch": 7, "offset": 2}, "x-2", id="then the offset"),
            pytest.param({"epoch": 7}, {"epoch": 7}, "x-1", id="then the lower index"),
            pytest.param({"epoch": None}, {"epoch": 0}, "x-2", id="a copy that was never marked is the oldest"),
        ],
    )
    def test_copies_are_ranked(self, one: dict[str, int], other: dict[str, int], chosen: str) -> None:
        plan = restarted(member("x-1", waiting(rdb=True, **one)), member("x-2", waiting(aof=True, **other)))
        assert swapped(plan).primary == chosen

    def test_a_mark_without_files_is_no_copy(self) -> None:
        plan = restarted(member("x-1", waiting(epoch=7, was_primary=True)), member("x-2", waiting(rdb=True, epoch=1)))
        assert swapped(plan).primary == "x-2"

    def test_where_nobody_has_a_copy_the_lowest_index_begins_anew(self) -> None:
        assert swapped(restarted(member("x-1", waiting()), member("x-2", waiting()))).primary == "x-0"

    @pytest.mark.parametrize("view", [None, in_state(ProcessState.SHUT)])
    def test_nobody_is_chosen_by_disk_while_any_node_is_silent(self, view: NodeView | None) -> None:
        plan = restarted(
            member("x-1", waiting(rdb=True, epoch=7)), member("x-2", view), on_record=record(promotable=["x-1"])
        )
        assert plan == ShardPlan(waits_for="x-2 to say which data it has")

    def test_nobody_is_chosen_by_disk_while_a_node_that_is_asked_for_does_not_exist(self) -> None:
        primary = member("x-0", waiting())
        plan = after_restart(facts(primary, replicas=3, on_record=LISTED), primary)
        assert plan == ShardPlan(waits_for="node 1, node 2 to say which data it has")

    def test_everybody_is_asked_once_more_before_a_disk_is_chosen(self) -> None:
        primary = member("x-0", waiting())
        known = facts(primary, member("x-1", waiting(rdb=True, epoch=7)), on_record=record(promotable=None))
        plan = after_restart(msgspec.structs.replace(known, just_asked=frozenset({"x-1"})), primary)
        assert plan == ShardPlan(steps=(LookAgain(node="x-0"), LookAgain(node="x-1")))

    def test_a_new_epoch_is_above_every_mark(self) -> None:
        plan = restarted(member("x-1", waiting(rdb=True, epoch=41)), member("x-2", waiting()))
        assert swapped(plan).epoch == 42

    def test_whatever_was_pending_or_under_way_is_over(self) -> None:
        on_record = record(promotable=["x-1"], pending=PendingChange(epoch=8), operation=switchover())
        found = swapped(restarted(member("x-1", parked()), on_record=on_record))
        assert (found.pending, found.operation) == (None, None)


class TestTheFirstPrimary:
    """Volumes were there before the record."""

    ON_RECORD = record(primary=None, epoch=0, replication_id=None, first_offset=None)

    def test_the_newest_copy_becomes_primary(self) -> None:
        members = (member("x-0", waiting()), member("x-1", waiting(rdb=True, epoch=5)))
        plan = first_primary(facts(*members, on_record=self.ON_RECORD))
        assert (swapped(plan).primary, swapped(plan).epoch) == ("x-1", 6)
        assert reason_of(plan) is Reason.NEWEST_COPY

    def test_everybody_is_heard_first(self) -> None:
        plan = first_primary(facts(member("x-0", waiting()), member("x-1"), on_record=self.ON_RECORD))
        assert plan == ShardPlan(waits_for="x-1 to say which data it has")

    def test_every_node_that_is_asked_for_must_exist_first(self) -> None:
        plan = first_primary(facts(member("x-1", waiting()), replicas=2, on_record=self.ON_RECORD))
        assert plan == ShardPlan(waits_for="node 0 to say which data it has")


class TestWithoutThePrimary:
    """Neither its node nor its volume is left."""

    ON_RECORD = record(primary="x-5", promotable=["x-0", "x-1"])

    def test_the_furthest_replica_takes_over(self) -> None:
        members = (member("x-0", parked(offset=90)), member("x-1", parked(offset=95)))
        plan = without_primary(facts(*members, on_record=self.ON_RECORD))
        assert swapped(plan).primary == "x-1"
        assert reason_of(plan) is Reason.PRIMARY_REMOVED

    def test_offsets_are_compared_only_once_they_stand_still(self) -> None:
        members = (member("x-0", replica_of("x-5")), member("x-1", parked()))
        assert without_primary(facts(*members, on_record=self.ON_RECORD)).steps == (Detach(nodes=("x-0",)),)

    def test_without_anything_in_memory_the_newest_copy_is_chosen(self) -> None:
        members = (member("x-0", waiting(rdb=True, epoch=1)), member("x-1", waiting(rdb=True, epoch=2)))
        plan = without_primary(facts(*members, on_record=self.ON_RECORD))
        assert swapped(plan).primary == "x-1"
        assert reason_of(plan) is Reason.PRIMARY_REMOVED

    def test_a_primary_that_is_asked_for_is_waited_for_because_its_node_will_be_made_again(self) -> None:
        plan = without_primary(facts(member("x-1", parked()), replicas=2, on_record=record(promotable=["x-1"])))
        assert plan == ShardPlan(waits_for="node 0 to say which data it has")
