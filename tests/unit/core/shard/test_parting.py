"""Replicas that are scaled in or restarted with Quorum: none takes with it what only it has confirmed."""

import msgspec
import pytest

from tests.support.shards import (
    OTHER,
    a_primary,
    address_of,
    facts,
    in_state,
    member,
    parked,
    record,
    replica_of,
    swapped,
)
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.facts import ShardFacts, WritingRules
from valkey_operator.core.shard.members import next_turn
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import Follow, LookAgain, Park, ShardPlan
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.valkey.terms import Terms

LISTED = record(promotable=["x-1", "x-2"])
WRITES_ON = Terms(sets=(("x-1", "x-2"),), least_replicas=1)


def scaled_in(stays: NodeView | None, goes: NodeView | None, *, quorum: bool = True, asked: bool = False) -> ShardFacts:
    """From three to two, with a primary at 100."""
    members = (
        member("x-0", a_primary(offset=100, terms=WRITES_ON)),
        member("x-1", stays),
        member("x-2", goes, wanted=False),
    )
    return msgspec.structs.replace(
        facts(*members, on_record=LISTED),
        writing=WritingRules(half_attached=quorum),
        just_asked=frozenset({"x-1"} if asked else ()),
    )


def test_it_is_detached_first_and_stays_on_record() -> None:
    assert plan_shard(scaled_in(replica_of("x-0"), replica_of("x-0"))).steps == (Park(node="x-2"),)


def test_what_was_heard_of_it_may_be_old() -> None:
    assert plan_shard(scaled_in(replica_of("x-0"), replica_of("x-0", replication_id=OTHER))).steps[0] == Park(
        node="x-2"
    )


def test_it_is_not_attached_again() -> None:
    plan = plan_shard(scaled_in(replica_of("x-0", offset=100), parked(offset=90)))
    assert swapped(plan).promotable == ["x-1"]


def test_those_who_stay_are_asked_until_they_have_what_it_had() -> None:
    plan = plan_shard(scaled_in(replica_of("x-0", offset=80), parked(offset=90)))
    assert plan == ShardPlan(steps=(LookAgain(node="x-1"),))


def test_who_is_still_behind_is_waited_for_and_named() -> None:
    plan = plan_shard(scaled_in(replica_of("x-0", offset=80), parked(offset=90), asked=True))
    assert plan.steps == ()
    assert plan.waits_for == "x-1 to have everything that x-2 has confirmed"
    assert plan.look_after_s


def test_one_that_is_silent_is_let_go_once_others_have_what_its_primary_had() -> None:
    assert plan_shard(scaled_in(replica_of("x-0", offset=99), None)).steps == (LookAgain(node="x-1"),)
    assert swapped(plan_shard(scaled_in(replica_of("x-0", offset=100), None))).promotable == ["x-1"]


@pytest.mark.parametrize("goes", [in_state(ProcessState.RUNNING, health=Health.HUNG, whole=True), None])
def test_who_does_not_answer_may_have_what_others_lack(goes: NodeView | None) -> None:
    assert plan_shard(scaled_in(replica_of("x-0", offset=99), goes)).steps == (LookAgain(node="x-1"),)


def test_one_that_has_lost_its_memory_is_let_go_once_others_have_what_its_primary_had() -> None:
    lost = replica_of("x-0", whole=False, up=False)
    assert plan_shard(scaled_in(replica_of("x-0", offset=99), lost)).steps == (LookAgain(node="x-1"),)
    assert swapped(plan_shard(scaled_in(replica_of("x-0", offset=100), lost))).promotable == ["x-1"]


def restarted(stays: NodeView, *, quorum: bool = True) -> ShardFacts:
    """Three, of which x-2 has restarted without its memory, and is to stay."""
    members = (
        member("x-0", a_primary(offset=100, terms=WRITES_ON)),
        member("x-1", stays),
        member("x-2", replica_of("x-0", whole=False, up=False)),
    )
    return msgspec.structs.replace(facts(*members, on_record=LISTED), writing=WritingRules(half_attached=quorum))


def test_one_that_restarted_by_itself_counts_until_others_have_what_it_confirmed() -> None:
    behind = plan_shard(restarted(replica_of("x-0", offset=99)))
    assert (behind.steps, behind.waits_for) == ((), "x-1 to have everything that x-2 has confirmed")
    assert swapped(plan_shard(restarted(replica_of("x-0", offset=100)))).promotable == ["x-1"]


def test_without_quorum_one_that_restarted_is_off_the_list_at_once() -> None:
    assert swapped(plan_shard(restarted(replica_of("x-0", offset=99), quorum=False))).promotable == ["x-1"]


def test_without_quorum_nobody_waits() -> None:
    assert swapped(plan_shard(scaled_in(replica_of("x-0"), replica_of("x-0"), quorum=False))).promotable == ["x-1"]


def test_the_last_replica_is_let_go_at_once_for_nobody_stays_to_confirm() -> None:
    members = (member("x-0", a_primary()), member("x-1", replica_of("x-0"), wanted=False))
    found = msgspec.structs.replace(
        facts(*members, on_record=record(promotable=["x-1"])), writing=WritingRules(half_attached=True)
    )
    assert swapped(plan_shard(found)).promotable is None


def rolled(stays: NodeView | None, goes: NodeView | None, *, primary_is_stale: bool = False) -> ShardFacts:
    """Three, of which x-2 is to be replaced for a changed spec."""
    members = (
        member("x-0", a_primary(offset=100, terms=WRITES_ON), stale=primary_is_stale),
        member("x-1", stays),
        member("x-2", goes, stale=True),
    )
    return msgspec.structs.replace(facts(*members, on_record=LISTED), writing=WritingRules(half_attached=True))


def test_one_that_is_to_be_restarted_is_detached_before_its_turn() -> None:
    found = rolled(replica_of("x-0"), replica_of("x-0"))
    assert plan_shard(found).steps == (Park(node="x-2"),)
    assert next_turn(found) is None


def test_its_turn_comes_once_others_have_everything_and_it_is_off_the_record() -> None:
    behind = rolled(replica_of("x-0", offset=80), parked(offset=90))
    assert next_turn(behind) is None
    done = rolled(replica_of("x-0", offset=90), parked(offset=90))
    assert swapped(plan_shard(done)).promotable == ["x-1"]
    assert next_turn(done) == "x-2"


def test_a_spec_that_was_set_back_attaches_it_again() -> None:
    members = (member("x-0", a_primary(terms=WRITES_ON)), member("x-1", replica_of("x-0")), member("x-2", parked()))
    found = msgspec.structs.replace(facts(*members, on_record=LISTED), writing=WritingRules(half_attached=True))
    assert Follow(node="x-2", primary=address_of("x-0")) in plan_shard(found).steps
