"""The order of a shard's questions: who is primary, does everybody follow it, what else is wished for."""

import pytest

from tests.support.shards import (
    NEXT,
    OTHER,
    OURS,
    a_primary,
    address_of,
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
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import (
    Bind,
    Follow,
    Open,
    Park,
    Promote,
    Reason,
    Release,
    ShardPlan,
    SwapRecord,
)
from valkey_operator.valkey.boot import StartKind
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.valkey.terms import Terms

BOTH_LISTED = record(promotable=["x-1", "x-2"])
HEALTHY = (
    member("x-0", a_primary(terms=Terms(sets=(("x-1", "x-2"),)))),
    member("x-1", replica_of("x-0")),
    member("x-2", replica_of("x-0")),
)


def test_a_healthy_shard_has_nothing_to_do_and_waits_for_nothing() -> None:
    assert plan_shard(facts(*HEALTHY, on_record=BOTH_LISTED)) == ShardPlan()


def test_a_suspended_shard_is_left_alone() -> None:
    assert plan_shard(facts(*HEALTHY, replicas=0)) == ShardPlan()


def test_a_shard_without_nodes_has_nothing_to_do_yet() -> None:
    assert plan_shard(facts(replicas=3)) == ShardPlan()


def test_a_record_without_a_primary_gets_the_newest_copy() -> None:
    members = (member("x-0", waiting(rdb=True, epoch=3)), member("x-1", waiting(rdb=True, epoch=4)))
    assert swapped(plan_shard(facts(*members, on_record=record(primary=None, epoch=0)))).primary == "x-1"


def test_a_primary_whose_node_is_gone_is_followed_by_another() -> None:
    plan = plan_shard(facts(member("x-0", parked()), on_record=record(primary="x-3", promotable=["x-0"])))
    assert swapped(plan).primary == "x-0"


def test_an_operation_on_record_comes_before_everything_else() -> None:
    plan = plan_shard(facts(*HEALTHY, on_record=record(promotable=None, operation=switchover())))
    assert [type(step).__name__ for step in plan.steps] == ["LookAgain", "Park", "LookAgain"]


def test_a_primary_at_the_gate_that_nobody_could_replace_starts_with_what_it_has() -> None:
    plan = plan_shard(facts(member("x-0", waiting()), member("x-1", waiting())))
    assert plan.steps == (Open(node="x-0", kind=StartKind.WRITABLE_PRIMARY, terms=Terms()),)


def test_a_primary_at_the_gate_does_not_start_while_somebody_could_replace_it() -> None:
    plan = plan_shard(facts(member("x-0", waiting()), member("x-1", parked()), on_record=record(promotable=["x-1"])))
    assert swapped(plan).primary == "x-1"


def test_a_primary_on_record_that_is_still_a_replica_is_promoted_and_takes_writes() -> None:
    plan = plan_shard(facts(member("x-0", parked(offset=90)), on_record=record(first_offset=90)))
    assert plan.steps == (Promote(node="x-0", replication_id=OURS, at_least_offset=90, terms=Terms()),)


def test_clients_of_the_former_primary_are_released_right_after_the_promotion_and_readers_of_others_are_not() -> None:
    former, other = parked(copy=CopyView(was_primary=True)), parked()
    members = (member("x-0", parked(offset=90)), member("x-1", former), member("x-2", other))
    promotion, *more = plan_shard(facts(*members, on_record=record(first_offset=90))).steps
    assert isinstance(promotion, Promote)
    assert more == [Release(node="x-1")]


def test_where_no_history_is_on_record_the_primary_is_promoted_with_its_own() -> None:
    members = (member("x-0", parked(replication_id=OTHER, offset=5)),)
    plan = plan_shard(facts(*members, on_record=record(replication_id=None, first_offset=90)))
    assert plan.steps[0] == Promote(node="x-0", replication_id=OTHER, at_least_offset=0, terms=Terms())


def test_a_rival_that_takes_writes_is_parked_before_the_primary_on_record_takes_any() -> None:
    members = (member("x-0", parked()), member("x-1", a_primary()), member("x-2", a_primary()))
    assert plan_shard(facts(*members)).steps == (Park(node="x-1"), Park(node="x-2"))


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(parked(replication_id=OTHER), id="another history"),
        pytest.param(parked(offset=9), id="less than it was chosen for"),
        pytest.param(parked(replication_id=None), id="it does not say which"),
    ],
)
def test_a_primary_on_record_with_other_data_than_were_meant_is_not_promoted(view: NodeView) -> None:
    members = (member("x-0", view), member("x-1", parked()))
    assert swapped(plan_shard(facts(*members, on_record=record(promotable=["x-1"])))).primary == "x-1"


@pytest.mark.parametrize(
    ("view", "sentence"),
    [
        (None, "primary x-0: nothing is heard of it"),
        (in_state(ProcessState.SHUT), "primary x-0: its server is shut"),
        (in_state(ProcessState.RUNNING, health=Health.LOADING), "primary x-0: its server is running, loading"),
        (in_state(ProcessState.RUNNING, health=Health.HUNG, whole=True), "primary x-0: its server is running, hung"),
    ],
)
def test_a_primary_that_neither_waits_nor_answers_is_waited_for(view: NodeView | None, sentence: str) -> None:
    members = (member("x-0", view), member("x-1", replica_of("x-0")), member("x-2", waiting()))
    assert plan_shard(facts(*members, on_record=BOTH_LISTED)) == ShardPlan(waits_for=sentence)


def test_a_primary_that_is_dead_is_replaced_before_it_stands_at_the_gate_again() -> None:
    members = (member("x-0", in_state(ProcessState.GONE)), member("x-1", parked()))
    assert swapped(plan_shard(facts(*members, on_record=record(promotable=["x-1"])))).primary == "x-1"


def test_a_dead_primary_that_nobody_can_replace_is_opened_only_at_the_gate() -> None:
    plan = plan_shard(facts(member("x-0", in_state(ProcessState.GONE)), on_record=record(promotable=None)))
    assert plan == ShardPlan(waits_for="the server of x-0 to be started again")


def test_everybody_else_follows_the_primary_from_wherever_it_is() -> None:
    members = (
        member("x-0", a_primary()),
        member("x-1", waiting()),
        member("x-2", replica_of("x-1")),
        member("x-3", parked()),
        member("x-4", a_primary()),
    )
    primary = address_of("x-0")
    assert plan_shard(facts(*members)).steps == (
        Open(node="x-1", kind=StartKind.REPLICA, primary=primary),
        Follow(node="x-2", primary=primary),
        Follow(node="x-3", primary=primary),
        Follow(node="x-4", primary=primary),
    )


def test_nobody_is_told_to_follow_a_primary_whose_address_is_not_known_yet() -> None:
    members = (member("x-0", a_primary(), address=None), member("x-1", waiting()))
    assert plan_shard(facts(*members)) == ShardPlan(waits_for="x-1 to be in sync with x-0")


@pytest.mark.parametrize("view", [None, in_state(ProcessState.GONE), in_state(ProcessState.STARTING)])
def test_a_replica_that_cannot_be_told_anything_is_waited_for(view: NodeView | None) -> None:
    members = (member("x-0", a_primary()), member("x-1", view))
    assert plan_shard(facts(*members)) == ShardPlan(waits_for="x-1 to be in sync with x-0")


class TestWhoCouldTakeOver:
    """The list on record, and the history that it is about."""

    @staticmethod
    def listed(view: NodeView | None, *, before: bool, wanted: bool = True) -> list[str]:
        on_record = record(promotable=["x-1"] if before else None)
        plan = plan_shard(facts(member("x-0", a_primary()), member("x-1", view, wanted=wanted), on_record=on_record))
        written = [step.record for step in plan.steps if isinstance(step, SwapRecord)]
        return (written[-1] if written else on_record).promotable or []

    def test_a_replica_in_sync_is_listed(self) -> None:
        assert self.listed(replica_of("x-0"), before=False) == ["x-1"]

    @pytest.mark.parametrize(
        "view",
        [
            pytest.param(replica_of("x-0", up=False), id="without a link"),
            pytest.param(replica_of("x-0", syncing=True), id="while it syncs"),
            pytest.param(replica_of("x-0", whole=False), id="before its data were ever whole"),
            pytest.param(replica_of("x-0", replication_id=OTHER), id="linked to what the primary was before"),
            pytest.param(replica_of("x-2"), id="following another"),
            pytest.param(waiting(rdb=True, epoch=7), id="at the gate"),
            pytest.param(None, id="silent"),
        ],
    )
    def test_a_replica_is_not_listed_anew(self, view: NodeView | None) -> None:
        assert self.listed(view, before=False) == []

    @pytest.mark.parametrize(
        "view",
        [
            pytest.param(None, id="nothing was heard of it"),
            pytest.param(replica_of("x-0", up=False), id="its link is down"),
            pytest.param(parked(), id="it is parked"),
            pytest.param(in_state(ProcessState.RUNNING, health=Health.BUSY, whole=True), id="it is busy"),
        ],
    )
    def test_who_was_listed_stays_so_while_nothing_speaks_against_it(self, view: NodeView | None) -> None:
        assert self.listed(view, before=True) == ["x-1"]

    @pytest.mark.parametrize("view", [waiting(), in_state(ProcessState.GONE), replica_of("x-0", up=False, whole=False)])
    def test_who_has_restarted_is_no_longer_listed(self, view: NodeView) -> None:
        assert self.listed(view, before=True) == []

    def test_who_shall_go_is_no_longer_listed(self) -> None:
        assert self.listed(replica_of("x-0"), before=True, wanted=False) == []

    @pytest.mark.parametrize(
        ("stays", "expected"),
        [
            pytest.param(replica_of("x-0"), ["x-1"], id="one that stays is in sync"),
            pytest.param(replica_of("x-0", up=False), ["x-1", "x-2"], id="its link is down"),
            pytest.param(None, ["x-1", "x-2"], id="it is silent"),
            pytest.param(waiting(), ["x-2"], id="it has restarted"),
        ],
    )
    def test_who_shall_go_stays_listed_until_one_that_stays_is_in_sync(
        self, stays: NodeView | None, expected: list[str]
    ) -> None:
        members = (member("x-0", a_primary()), member("x-1", stays), member("x-2", replica_of("x-0"), wanted=False))
        on_record = record(promotable=["x-1", "x-2"])
        plan = plan_shard(facts(*members, on_record=on_record, replicas=2))
        written = [step.record for step in plan.steps if isinstance(step, SwapRecord)]
        assert (written[-1] if written else on_record).promotable == expected

    def test_who_cannot_take_over_is_off_the_list_before_it_is_told_to_follow(self) -> None:
        members = (
            member("x-0", a_primary(terms=Terms(sets=(("x-1", "x-2"),)))),
            member("x-1", waiting()),
            member("x-2", parked()),
        )
        plan = plan_shard(facts(*members, on_record=record(promotable=["x-1", "x-2"])))
        names = [type(step).__name__ for step in plan.steps]
        assert names == ["Bind", "SwapRecord", "Bind", "Open", "Follow"]

    def test_nobody_is_taken_off_the_list_before_the_primary_has_said_that_it_runs(self) -> None:
        """It may have died since it was last heard: then who could take over has the only whole copy."""
        primary = member("x-0", a_primary(terms=Terms(sets=(("x-1",),))))
        replica = member("x-1", replica_of("x-0"), wanted=False)
        plan = plan_shard(facts(primary, replica, on_record=record(promotable=["x-1"])))
        assert [type(step).__name__ for step in plan.steps] == ["Bind", "SwapRecord", "Bind"]
        assert plan.steps[0] == Bind(node="x-0", terms=Terms(sets=(("x-1",),)))

    def test_who_is_new_on_the_list_waits_until_all_others_follow(self) -> None:
        plan = plan_shard(facts(member("x-0", a_primary()), member("x-1", parked()), member("x-2", replica_of("x-0"))))
        names = [type(step).__name__ for step in plan.steps]
        assert names == ["Follow", "Bind", "SwapRecord"]

    def test_the_primary_is_bound_by_both_lists_while_the_record_changes(self) -> None:
        replicas = [member(name, replica_of("x-0")) for name in ("x-1", "x-2")]
        primary = member("x-0", a_primary(terms=Terms(sets=(("x-1",),))))
        plan = plan_shard(facts(primary, *replicas, on_record=record(promotable=["x-1"])))
        before, swap, after = plan.steps
        assert before == Bind(node="x-0", terms=Terms(sets=(("x-1",), ("x-1", "x-2"))))
        assert isinstance(swap, SwapRecord)
        assert after == Bind(node="x-0", terms=Terms(sets=(("x-1", "x-2"),)))

    def test_a_primary_that_knows_another_list_than_the_record_is_told(self) -> None:
        primary = member("x-0", a_primary(terms=Terms(sets=(("x-1",), ("x-1", "x-2")))))
        plan = plan_shard(facts(primary, member("x-1", replica_of("x-0")), on_record=record(promotable=["x-1"])))
        assert plan.steps == (Bind(node="x-0", terms=Terms(sets=(("x-1",),))),)

    def test_a_new_history_of_the_primary_is_recorded_with_where_it_began(self) -> None:
        plan = plan_shard(facts(member("x-0", a_primary(replication_id=NEXT, offset=120))))
        found = swapped(plan)
        assert (found.replication_id, found.first_offset, found.epoch, found.primary) == (NEXT, 120, 7, "x-0")

    def test_where_only_the_list_changes_the_beginning_of_the_history_stays(self) -> None:
        found = swapped(plan_shard(facts(member("x-0", a_primary()), member("x-1", replica_of("x-0")))))
        assert (found.replication_id, found.first_offset) == (OURS, 10)

    def test_the_user_is_told_who_could_take_over(self) -> None:
        plan = plan_shard(facts(member("x-0", a_primary()), member("x-1", replica_of("x-0"))))
        _, swap = plan.steps
        assert isinstance(swap, SwapRecord)
        assert (swap.reason, swap.message) == (Reason.MEMBERS_CHANGED, "x-1 could take over from x-0")


def test_a_switchover_begins_only_when_everything_else_is_done() -> None:
    leaving = member("x-0", a_primary(leaving=True, terms=Terms(sets=(("x-1",),))))
    unfinished = plan_shard(facts(leaving, member("x-1", parked()), on_record=record(promotable=["x-1"])))
    assert [type(step).__name__ for step in unfinished.steps] == ["Follow"]
    finished = plan_shard(facts(leaving, member("x-1", replica_of("x-0")), on_record=record(promotable=["x-1"])))
    assert swapped(finished).operation is not None
