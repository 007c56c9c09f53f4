"""Laws of a shard's plans, for every picture that the operator could have of it, sensible or not."""

from itertools import product

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.shards import (
    JUST_NOW,
    LONG_AGO,
    NEXT,
    NOW,
    OTHER,
    OURS,
    a_primary,
    in_state,
    member,
    parked,
    record,
    replica_of,
    switchover,
    waiting,
)
from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.node_view import CopyView, NodeView
from valkey_operator.core.shard.facts import (
    Member,
    ShardFacts,
    has_said_what_it_has,
    is_in_sync,
    is_parked,
    is_unbroken,
    runs_as,
    waits_at_gate,
)
from valkey_operator.core.shard.members import next_turn, removable
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import Open, Promote, ShardPlan, SwapRecord
from valkey_operator.valkey.boot import StartKind
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health, ProcessState

NAMES = [f"x-{index}" for index in range(4)]
_COPIES = [
    CopyView(),
    *(
        CopyView(rdb=True, epoch=epoch, was_primary=was_primary, offset=offset)
        for epoch, was_primary, offset in product((None, 7, 9), (False, True), (0, 10))
    ),
]
_RUNNING = [
    replica_of(primary, up=up, replication_id=history, former_replication_id=former, offset=offset, whole=whole)
    for primary, up, history, former, offset, whole in product(
        ("x-0", "x-1"), (True, False), (OURS, NEXT), (None, OURS), (9, 10, 11), (True, True, False)
    )
]
_PARKED = [
    parked(replication_id=history, offset=offset, whole=whole)
    for history, offset, whole in product((OURS, NEXT, OTHER), (9, 10, 11), (True, True, False))
]
_PRIMARIES = [
    a_primary(replication_id=history, fenced=fenced) for history, fenced in product((OURS, NEXT), (True, False))
]
_OTHERS = [
    in_state(process, health=health, whole=whole)
    for process, health, whole in product(ProcessState, (None, *Health), (True, False))
]
# Each sort is drawn as often as any other, however many of it there are.
views: st.SearchStrategy[NodeView | None] = st.one_of(
    st.none(),
    st.sampled_from(_OTHERS),
    st.sampled_from([in_state(ProcessState.WAITING, copy=copy) for copy in _COPIES]),
    *[st.sampled_from(_PARKED)] * 3,
    st.sampled_from(_RUNNING),
    st.sampled_from(_PRIMARIES),
)
turning_views = st.sampled_from([*[parked(offset=offset) for offset in (9, 10, 11)] * 2, *_PARKED[:6], None, waiting()])
flags = st.integers(0, 15).map(lambda bits: [bool(bits & 1 << place) for place in range(4)])
operations = st.builds(
    switchover, st.sampled_from(["x-0"] * 5 + NAMES), st.just("x-1"), st.sampled_from([JUST_NOW, LONG_AGO, None])
)
records = st.builds(
    record,
    primary=st.sampled_from([None, *["x-0"] * 8, *NAMES]),
    promotable=st.none() | st.lists(st.sampled_from(NAMES), unique=True, max_size=3),
    replication_id=st.sampled_from([None, OURS, OURS, NEXT]),
    first_offset=st.sampled_from([None, 10]),
    operation=st.none() | st.none() | operations,
)


@st.composite
def pictures(draw: st.DrawFn) -> ShardFacts:
    replicas, existing = draw(st.integers(0, 4)), draw(st.sampled_from([0b1111] * 12 + [0b0111] * 12 + [*range(16)]))
    found = []
    for index, name in enumerate(NAMES):
        if existing & 1 << index:
            ready, leaving, started, stale = draw(flags)
            found.append(
                member(
                    name,
                    draw(views),
                    wanted=index < replicas,
                    pod_ready=ready,
                    pod_leaving=leaving and ready,
                    server_started=started,
                    stale=stale,
                )
            )
    return ShardFacts(record=draw(records), members=tuple(found), replicas=replicas, now=NOW)


@st.composite
def turning_points(draw: st.DrawFn) -> ShardFacts:
    """Those in which a choice is near, so that the laws about choices are about something."""
    primary = draw(st.sampled_from([waiting(), parked(offset=10), parked(offset=11)]))
    heirs = draw(st.lists(turning_views, min_size=2, max_size=3))
    members = [member("x-0", primary), *(member(name, view) for name, view in zip(NAMES[1:], heirs, strict=False))]
    on_record = record(
        promotable=draw(st.sampled_from([["x-1"], ["x-1", "x-2"], ["x-2"]])),
        replication_id=draw(st.sampled_from([OURS, OURS, NEXT])),
        first_offset=12,
        operation=draw(st.sampled_from([None, None, switchover()])),
    )
    return ShardFacts(record=on_record, members=tuple(members), replicas=len(members), now=NOW)


any_facts = pictures() | turning_points()


def written(plan: ShardPlan) -> list[ValkeyShardSpec]:
    return [step.record for step in plan.steps if isinstance(step, SwapRecord)]


def chosen(facts: ShardFacts) -> ValkeyShardSpec | None:
    """The record that a plan changes the primary by, if it does."""
    return next((new for new in written(plan_shard(facts)) if new.primary != facts.record.primary), None)


def chosen_again(facts: ShardFacts) -> ValkeyShardSpec | None:
    """The record by which a plan begins a new epoch, for the same primary or another."""
    return next((new for new in written(plan_shard(facts)) if new.epoch != facts.record.epoch), None)


def on_record(facts: ShardFacts) -> Member | None:
    return facts.member(facts.record.primary)


@settings(max_examples=200)
@given(any_facts)
def test_the_same_facts_give_the_same_plan(facts: ShardFacts) -> None:
    again = msgspec.convert(msgspec.to_builtins(facts), ShardFacts)
    assert plan_shard(facts) == plan_shard(again)


@settings(max_examples=200)
@given(any_facts)
def test_a_record_keeps_the_rules_that_the_api_server_holds(facts: ShardFacts) -> None:
    before = facts.record
    for new in written(plan_shard(facts)):
        assert (new.owner, new.index) == (before.owner, before.index)
        assert new.epoch >= before.epoch
        assert new.primary == before.primary or new.epoch > before.epoch
        assert new.pending is None or new.pending.epoch > new.epoch


@settings(max_examples=200)
@given(any_facts)
def test_a_record_lists_each_node_once_and_never_the_primary(facts: ShardFacts) -> None:
    assume(facts.record.primary not in (facts.record.promotable or []))
    for new in written(plan_shard(facts)):
        listed = new.promotable or []
        assert new.primary not in listed
        assert len(set(listed)) == len(listed)


@settings(max_examples=200)
@given(any_facts)
def test_nobody_but_the_primary_on_record_is_promoted_or_opened_as_primary(facts: ShardFacts) -> None:
    on_record = facts.record
    for step in plan_shard(facts).steps:
        if isinstance(step, SwapRecord):
            on_record = step.record
        if isinstance(step, Promote) or (isinstance(step, Open) and step.kind is StartKind.WRITABLE_PRIMARY):
            assert step.node == on_record.primary


@settings(max_examples=200)
@given(any_facts)
def test_a_record_of_another_primary_or_operation_is_written_before_anything_else_of_a_plan(facts: ShardFacts) -> None:
    steps = plan_shard(facts).steps
    swaps = [step.record for step in steps if isinstance(step, SwapRecord)]
    assert len(swaps) <= 1
    for new in swaps:
        if (new.primary, new.epoch, new.operation) != (
            facts.record.primary,
            facts.record.epoch,
            facts.record.operation,
        ):
            assert isinstance(steps[0], SwapRecord)


@settings(max_examples=200)
@given(any_facts)
def test_nobody_is_promoted_while_another_is_seen_to_take_writes(facts: ShardFacts) -> None:
    if any(isinstance(step, Promote) for step in plan_shard(facts).steps):
        assert not any(runs_as(member.view, Role.PRIMARY) for member in facts.members)


@settings(max_examples=200)
@given(any_facts)
def test_nobody_is_chosen_while_the_primary_on_record_runs_as_one(facts: ShardFacts) -> None:
    primary = on_record(facts)
    if primary is not None and runs_as(primary.view, Role.PRIMARY):
        assert chosen_again(facts) is None


@settings(max_examples=200)
@given(any_facts)
def test_a_primary_that_has_not_restarted_hands_over_only_when_it_is_parked_and_has_no_more(facts: ShardFacts) -> None:
    operation, primary, new = facts.record.operation, on_record(facts), chosen(facts)
    if new is None or primary is None or operation is None:
        return
    target = facts.member(new.primary)
    assert operation.source == facts.record.primary
    assert new.primary == operation.target
    assert is_parked(primary.view)
    assert primary.view is not None
    assert target is not None
    assert is_unbroken(target.view)
    assert target.view is not None
    assert target.view.offset >= primary.view.offset
    assert target.view.replication_id == primary.view.replication_id


@settings(max_examples=200)
@given(any_facts)
def test_nobody_is_chosen_while_one_that_is_listed_is_silent(facts: ShardFacts) -> None:
    if chosen_again(facts) is not None and facts.record.operation is None:
        listed = [member for member in facts.members if member.name in (facts.record.promotable or [])]
        assert not any(member.view is None for member in listed if member.name != facts.record.primary)


@settings(max_examples=200)
@given(any_facts)
def test_nobody_is_chosen_by_disk_while_anybody_is_silent_or_missing(facts: ShardFacts) -> None:
    new = chosen_again(facts)
    if new is not None and new.replication_id is None and facts.record.operation is None:
        assert all(has_said_what_it_has(member.view) for member in facts.members)
        assert {member.index for member in facts.members} >= set(range(facts.replicas))


@settings(max_examples=200)
@given(any_facts)
def test_no_listed_replica_of_the_same_history_has_more_than_the_one_that_is_chosen(facts: ShardFacts) -> None:
    new = chosen(facts)
    if new is None or new.replication_id is None or facts.record.operation is not None:
        return
    best = facts.member(new.primary)
    assert best is not None
    assert best.view is not None
    for name in facts.record.promotable or []:
        other = facts.member(name)
        if other is None or other.view is None or name == facts.record.primary or not is_unbroken(other.view):
            continue
        assert is_parked(other.view)
        if other.view.replication_id == best.view.replication_id:
            assert other.view.offset <= best.view.offset


@settings(max_examples=200)
@given(any_facts)
def test_a_chosen_primary_exists(facts: ShardFacts) -> None:
    new = chosen_again(facts)
    assert new is None or facts.member(new.primary) is not None


@settings(max_examples=200)
@given(any_facts)
def test_a_suspended_shard_has_no_plan(facts: ShardFacts) -> None:
    assert plan_shard(msgspec.structs.replace(facts, replicas=0)) == ShardPlan()


@settings(max_examples=200)
@given(any_facts)
def test_neither_the_primary_nor_one_that_could_take_over_is_removed_from_a_shard_that_is_not_suspended(
    facts: ShardFacts,
) -> None:
    assume(facts.replicas > 0)
    gone = set(removable(facts))
    assert facts.record.primary not in gone
    assert not gone & set(facts.record.promotable or [])
    assert not any(member.wanted for member in facts.members if member.name in gone)


@settings(max_examples=200)
@given(any_facts)
def test_a_turn_is_never_that_of_memory_that_is_missed(facts: ShardFacts) -> None:
    turn = facts.member(next_turn(facts))
    if turn is None:
        return
    assert turn.stale
    assert turn.wanted
    assert not any(member.pod_leaving for member in facts.members)
    has_memory = turn.pod_ready or (turn.server_started and not waits_at_gate(turn.view))
    if not has_memory:
        return
    primary = on_record(facts)
    assert primary is not None
    assert runs_as(primary.view, Role.PRIMARY)
    others = [member for member in facts.others(primary.name) if member.wanted]
    assert all(is_in_sync(member.view, primary.address) for member in others)
    assert turn.name != primary.name or not others
