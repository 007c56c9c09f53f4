"""A planned change of primary: park the old one, wait until the target has all of it, record, promote.

Owns: when one is wished for, to whom, and what its next step is. The operation is on record, so that whoever leads next
goes on with it. Once the old primary is parked its offset is final; a target that has it has everything.
Refuses to know: how others are repointed afterwards; that is the usual convergence (plan.py).
"""

from datetime import datetime, timedelta
from typing import TypeGuard

import msgspec

from valkey_operator.api.shard import ShardOperation, ValkeyShardSpec
from valkey_operator.core.names import PRIMARY_ANNOTATION
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.calm import calm_in
from valkey_operator.core.shard.facts import (
    Member,
    ShardFacts,
    is_in_sync,
    is_in_sync_with,
    is_parked,
    is_unbroken,
    runs_as,
)
from valkey_operator.core.shard.promotion import promotion
from valkey_operator.core.shard.steps import LookAgain, Park, Reason, ShardPlan, SwapRecord
from valkey_operator.core.shard.wished import obstacle, open_wish, with_wish_met
from valkey_operator.valkey.info import Role

SWITCHOVER = "Switchover"
GIVE_UP_AFTER = timedelta(seconds=5)
# Writes stop until the target has the rest.
MOST_BEHIND = 1 << 20
LAG_LOOK_EVERY_S = 0.5


def begin_switchover(facts: ShardFacts, primary: Member) -> ShardPlan | None:
    """Record the operation, if there is a wish for one and somebody to hand over to."""
    why = wish(facts, primary)
    if why is None:
        return None
    target = best_target(facts, primary)
    if target is None:
        return ShardPlan(waits_for=f"a replica in sync with {primary.name}, which shall hand over: {why}")
    if not {primary.name, target.name} <= facts.just_asked:
        return ShardPlan(steps=(LookAgain(node=primary.name), LookAgain(node=target.name)))
    if (lag := _lag(primary, target)) > MOST_BEHIND:
        words = f"{target.name}, {lag} bytes behind, to come closer to {primary.name}, which shall hand over: {why}"
        return ShardPlan(waits_for=words, look_after_s=LAG_LOOK_EVERY_S)
    if unrest := calm_in(facts, primary):
        words = f"Services to follow the last change of a pod, before {primary.name} hands over: {why}"
        return ShardPlan(waits_for=words, look_after_s=unrest.total_seconds())
    operation = ShardOperation(
        type=SWITCHOVER,
        source=primary.name,
        target=target.name,
        epoch=facts.record.epoch,
        reason=why,
        started_at=_timestamp(facts.now),
    )
    record = msgspec.structs.replace(facts.record, operation=operation)
    message = f"{primary.name} hands over to {target.name}: {why}"
    return ShardPlan(steps=(SwapRecord(record=record, reason=Reason.SWITCHOVER_BEGINS, message=message),))


def wish(facts: ShardFacts, primary: Member) -> str | None:
    """Why the primary should be another one."""
    if not primary.wanted:
        return "it is scaled in"
    if primary.pod_leaving or (primary.view is not None and primary.view.leaving):
        return "its pod is being stopped"
    others = [member for member in facts.others(primary.name) if member.wanted]
    if primary.stale and others and not any(member.stale for member in others):
        return "its pod is to be replaced"
    if primary.cordoned and any(not member.cordoned for member in _fit(facts, primary)):
        return "its machine is cordoned"
    wished = open_wish(facts)
    if wished is not None and obstacle(facts) is None:
        return f"{PRIMARY_ANNOTATION} asks for {wished}"
    return None


def best_target(facts: ShardFacts, primary: Member) -> Member | None:
    """The replica in sync that a user wishes for, else the one that is furthest, best on a machine that stays."""
    wished = open_wish(facts)

    def rank(member: Member) -> tuple[bool, bool, int, int]:
        return (not member.cordoned, member.name == wished, member.view.offset if member.view else 0, -member.index)

    return max(_fit(facts, primary), key=rank, default=None)


def _fit(facts: ShardFacts, primary: Member) -> list[Member]:
    """The replicas in sync that stay."""
    return [
        member
        for member in facts.others(primary.name)
        if member.wanted
        and not member.pod_leaving
        and member.view is not None
        and not member.view.leaving
        and is_in_sync_with(member.view, primary)
    ]


def _lag(primary: Member, target: Member) -> int:
    if primary.view is None or target.view is None:
        return 0
    return primary.view.offset - target.view.offset


def continue_switchover(facts: ShardFacts, operation: ShardOperation) -> ShardPlan:
    """The next step of one that is on record."""
    source, target = facts.member(operation.source), facts.member(operation.target)
    if source is None or facts.record.primary != operation.source:
        return _end(facts, "the primary is another one by now")
    if runs_as(source.view, Role.PRIMARY):
        return _before_parking(facts, source, target, operation)
    if is_parked(source.view):
        return _after_parking(facts, source, target, operation)
    return _end(facts, f"{source.name} does not run any more")


def _before_parking(facts: ShardFacts, source: Member, target: Member | None, operation: ShardOperation) -> ShardPlan:
    if target is None or not is_in_sync_with(target.view, source) or _is_late(facts, operation):
        return _end(facts, f"{operation.target} is not in sync")
    # The target is asked before, too: nobody is parked for one that does not answer.
    return ShardPlan(steps=(LookAgain(node=target.name), Park(node=source.name), LookAgain(node=target.name)))


def _after_parking(facts: ShardFacts, source: Member, target: Member | None, operation: ShardOperation) -> ShardPlan:
    had = source.view
    if had is not None and target is not None and _is_of_its_history(target.view, had):
        if target.view.offset >= had.offset:
            return _hand_over(facts, had, source, target)
        if is_in_sync(target.view, source.address) and not _is_late(facts, operation):
            return ShardPlan(steps=(LookAgain(node=target.name),))
    record = msgspec.structs.replace(_ended(facts), epoch=facts.record.epoch + 1)
    message = f"{source.name} stays primary: {operation.target} did not get everything in time"
    return ShardPlan(steps=(SwapRecord(record=record, reason=Reason.SWITCHOVER_GIVEN_UP, message=message),))


def _is_of_its_history(has: NodeView | None, had: NodeView) -> TypeGuard[NodeView]:
    """Whether offsets can be compared: that of the old primary is final."""
    return has is not None and is_unbroken(has) and has.replication_id == had.replication_id


def _hand_over(facts: ShardFacts, had: NodeView, source: Member, target: Member) -> ShardPlan:
    """On record first, and only once the target has everything: whoever is lost then, the one on record has most."""
    # Until the target is primary nobody else has as much as the source.
    heirs = [source.name, *(name for name in facts.record.promotable or () if name not in {source.name, target.name})]
    record = msgspec.structs.replace(
        _ended(facts),
        primary=target.name,
        primary_pod=target.pod_uid,
        epoch=facts.record.epoch + 1,
        promotable=heirs,
        replication_id=had.replication_id,
        first_offset=had.offset,
    )
    record = with_wish_met(facts, record)
    message = f"{target.name} is primary now, with everything that {source.name} had"
    swap = SwapRecord(record=record, reason=Reason.SWITCHOVER_DONE, message=message)
    then = msgspec.structs.replace(facts, record=record)
    steps = promotion(then, target, replication_id=had.replication_id or "", at_least_offset=had.offset)
    return ShardPlan(steps=(swap, *steps))


def _end(facts: ShardFacts, why: str) -> ShardPlan:
    swap = SwapRecord(record=_ended(facts), reason=Reason.SWITCHOVER_GIVEN_UP, message=f"The switchover ends: {why}")
    return ShardPlan(steps=(swap,))


def _ended(facts: ShardFacts) -> ValkeyShardSpec:
    return msgspec.structs.replace(facts.record, operation=None)


def _is_late(facts: ShardFacts, operation: ShardOperation) -> bool:
    begun = operation.started_at
    return begun is None or facts.now - datetime.fromisoformat(begun) > GIVE_UP_AFTER


def _timestamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
