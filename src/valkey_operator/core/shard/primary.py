"""Who is primary when it is not simply the one on record: at first, after a restart, or when it is gone for good.

Owns: the choice. An unbroken copy in memory comes before any copy on disk; of those on disk the newest wins. Nothing is
chosen while a node that may have a better copy has not said what it has.
"""

import msgspec

from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.announcement import LOOK_EVERY_S, announce, is_patience_over, next_epoch_number
from valkey_operator.core.shard.facts import (
    Member,
    ShardFacts,
    copy_rank,
    has_said_what_it_has,
    is_parked,
    is_unbroken,
)
from valkey_operator.core.shard.quorum import heirs_needed
from valkey_operator.core.shard.steps import Detach, LookAgain, Reason, ShardPlan, SwapRecord
from valkey_operator.core.shard.wished import with_wish_met
from valkey_operator.valkey.states import Health, ProcessState


def first_primary(facts: ShardFacts) -> ShardPlan:
    """Volumes were there before the record: the newest copy of them all."""
    return _choose_copy(facts, Reason.NEWEST_COPY)


def without_primary(facts: ShardFacts) -> ShardPlan:
    """The recorded primary does not exist any more, and its volume neither."""
    if absent := _absent(facts):
        return _wait_for(absent)
    return choose_heir(facts, facts.members, in_memory=Reason.PRIMARY_REMOVED, on_disk=Reason.PRIMARY_REMOVED)


def after_restart(facts: ShardFacts, primary: Member) -> ShardPlan:
    """The primary has lost its memory; it must not feed those who have not.

    It stands at the gate, or is a replica with other data than were meant, so it takes no writes meanwhile.
    """
    others = tuple(facts.others(primary.name))
    return choose_heir(facts, others, in_memory=Reason.PRIMARY_RESTARTED, on_disk=Reason.ALL_RESTARTED)


def choose_heir(facts: ShardFacts, heirs: tuple[Member, ...], *, in_memory: Reason, on_disk: Reason) -> ShardPlan:
    """Reported offsets are old; that of a parked server stands still, so they are compared once all are parked."""
    listed = set(facts.record.promotable or ())
    unbroken = [heir for heir in heirs if is_unbroken(heir.view) and (heir.name in listed or _is_in_epoch(facts, heir))]
    if moving := [heir.name for heir in unbroken if not is_parked(heir.view)]:
        return ShardPlan(steps=(Detach(nodes=tuple(moving)),))
    unknown = [heir.name for heir in heirs if heir.name in listed and _may_be_unbroken(heir.view)]
    if unknown and not (unbroken and is_patience_over(facts)):
        return _wait_a_while(facts, unknown)
    if unbroken:
        return _wait_for_quorum(facts, unbroken) or _choose_unbroken(facts, unbroken, in_memory)
    return _choose_copy(facts, on_disk)


def _wait_a_while(facts: ShardFacts, unknown: list[str]) -> ShardPlan:
    """For who may have most; the time is counted from the announcement."""
    if facts.record.pending is None and facts.writing.fail_over:
        return announce(facts, f"{facts.record.primary} is lost, and {', '.join(unknown)} silent")
    return msgspec.structs.replace(_wait_for(unknown), look_after_s=LOOK_EVERY_S)


def _wait_for_quorum(facts: ShardFacts, unbroken: list[Member]) -> ShardPlan | None:
    """With Quorum; the former primary, parked, has everything by itself."""
    record = facts.record
    if not facts.writing.half_attached or any(member.name == record.primary for member in unbroken):
        return None
    listed = record.promotable or []
    reached = [member.name for member in unbroken if member.name in listed and _is_in_epoch(facts, member)]
    needed = heirs_needed(facts)
    if len(reached) >= needed:
        return None
    return ShardPlan(
        waits_for=(
            f"{needed} of {', '.join(listed)} with all their data, of which {len(reached)} were reached: "
            "with durability Quorum no fewer are sure to have every confirmed write; "
            "to go on with what is there, set spec.durability to Available"
        ),
        look_after_s=LOOK_EVERY_S,
    )


def _may_be_unbroken(view: NodeView | None) -> bool:
    """Whether it is not known that the memory of a node is gone: nothing was heard, or it runs and does not answer."""
    if view is None:
        return True
    silent = view.process is ProcessState.RUNNING and view.health not in {Health.ANSWERS, Health.LOADING}
    return silent and view.whole


def _is_in_epoch(facts: ShardFacts, member: Member) -> bool:
    """Whether it has what the epoch began with, in the recorded history, or in one that came of it since.

    The replication id alone does not tell, nor does a link: a replica has both before it has what came before. Its
    agent marks a copy that was whole in this epoch, also of a primary whose new history nobody has recorded yet. That
    counts for who is listed: a primary from which nobody could take over begins other histories in the same epoch.
    """
    view, record = member.view, facts.record
    if view is None or record.replication_id is None:
        return view is not None
    if record.replication_id in {view.replication_id, view.former_replication_id}:
        return view.offset >= (record.first_offset or 0)
    return member.name in (record.promotable or ()) and view.copy.epoch == record.epoch


def _absent(facts: ShardFacts) -> list[str]:
    existing = {member.index for member in facts.members}
    return [f"node {index}" for index in range(facts.replicas) if index not in existing]


def _silent(members: tuple[Member, ...]) -> list[str]:
    return [member.name for member in members if not has_said_what_it_has(member.view)]


def _wait_for(missing: list[str]) -> ShardPlan:
    return ShardPlan(waits_for=f"{', '.join(missing)} to say which data it has")


def _choose_unbroken(facts: ShardFacts, unbroken: list[Member], reason: Reason) -> ShardPlan:
    def rank(member: Member) -> tuple[bool, int, int]:
        return (_is_in_epoch(facts, member), member.view.offset if member.view else 0, -member.index)

    best = max(unbroken, key=rank)
    heirs = [member.name for member in unbroken if member.name != best.name]
    record = msgspec.structs.replace(
        next_epoch(facts, best),
        promotable=heirs or None,
        replication_id=best.view.replication_id if best.view else None,
        first_offset=best.view.offset if best.view else None,
    )
    message = f"{best.name} becomes primary: of all that were reached it has most"
    return ShardPlan(steps=(SwapRecord(record=record, reason=reason, message=message),))


def _choose_copy(facts: ShardFacts, reason: Reason) -> ShardPlan:
    if missing := [*_absent(facts), *_silent(facts.members)]:
        return _wait_for(missing)
    names = {member.name for member in facts.members}
    if not names <= facts.just_asked:
        # A leader that was paused does not know who has become primary meanwhile.
        return ShardPlan(steps=tuple(LookAgain(node=name) for name in sorted(names)))
    best = max(facts.members, key=copy_rank)
    record = msgspec.structs.replace(next_epoch(facts, best), promotable=None, replication_id=None, first_offset=None)
    message = f"{best.name} becomes primary: it has the newest copy on disk"
    return ShardPlan(steps=(SwapRecord(record=record, reason=reason, message=message),))


def next_epoch(facts: ShardFacts, chosen: Member) -> ValkeyShardSpec:
    """The record of an epoch that begins with a new choice."""
    record = msgspec.structs.replace(
        facts.record,
        primary=chosen.name,
        primary_pod=chosen.pod_uid,
        epoch=next_epoch_number(facts),
        pending=None,
        operation=None,
    )
    return with_wish_met(facts, record)
