"""Who is primary when it is not simply the one on record: at first, after a restart, or when it is gone for good.

Owns: the choice. An unbroken copy in memory comes before any copy on disk; of those on disk the newest wins. Nothing is
chosen while a node that may have a better copy has not said what it has.
"""

import msgspec

from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.shard.facts import Member, ShardFacts, copy_rank, has_said_what_it_has, is_unbroken
from valkey_operator.core.shard.steps import Reason, ShardPlan, SwapRecord


def first_primary(facts: ShardFacts) -> ShardPlan:
    """Volumes were there before the record: the newest copy of them all."""
    if missing := _silent(facts.members):
        return _wait_for(missing)
    return _choose_copy(facts, Reason.NEWEST_COPY)


def without_primary(facts: ShardFacts) -> ShardPlan:
    """The recorded primary does not exist any more, and its volume neither."""
    if unbroken := _unbroken(facts, facts.members):
        return _choose_unbroken(facts, unbroken, Reason.PRIMARY_REMOVED)
    if missing := _silent(facts.members):
        return _wait_for(missing)
    return _choose_copy(facts, Reason.PRIMARY_REMOVED)


def after_restart(facts: ShardFacts, primary: Member) -> ShardPlan:
    """The primary has lost its memory; it must not feed those who have not.

    It stands at the gate, or is a replica with other data than were meant, so it takes no writes meanwhile.
    """
    listed = set(facts.record.promotable or ())
    heirs = [member for member in facts.others(primary.name) if member.name in listed]
    if unbroken := _unbroken(facts, heirs):
        return _choose_unbroken(facts, unbroken, Reason.PRIMARY_RESTARTED)
    if missing := _silent(facts.members):
        return _wait_for(missing)
    return _choose_copy(facts, Reason.ALL_RESTARTED)


def _unbroken(facts: ShardFacts, members: "list[Member] | tuple[Member, ...]") -> list[Member]:
    expected = facts.record.replication_id
    return [
        member
        for member in members
        if is_unbroken(member.view)
        and member.view is not None
        and (expected is None or member.view.replication_id == expected)
    ]


def _silent(members: tuple[Member, ...]) -> list[str]:
    return [member.name for member in members if not has_said_what_it_has(member.view)]


def _wait_for(missing: list[str]) -> ShardPlan:
    return ShardPlan(waits_for=f"{', '.join(missing)} to say which data it has")


def _choose_unbroken(facts: ShardFacts, unbroken: list[Member], reason: Reason) -> ShardPlan:
    def rank(member: Member) -> tuple[int, int]:
        return (member.view.offset if member.view else 0, -member.index)

    best = max(unbroken, key=rank)
    heirs = [member.name for member in unbroken if member.name != best.name]
    record = msgspec.structs.replace(
        _next_epoch(facts, best),
        promotable=heirs or None,
        replication_id=best.view.replication_id if best.view else None,
        first_offset=best.view.offset if best.view else None,
    )
    message = f"{best.name} becomes primary: it holds everything that {facts.record.primary} had sent"
    return ShardPlan(steps=(SwapRecord(record=record, reason=reason, message=message),))


def _choose_copy(facts: ShardFacts, reason: Reason) -> ShardPlan:
    best = max(facts.members, key=copy_rank)
    record = msgspec.structs.replace(_next_epoch(facts, best), promotable=None, replication_id=None, first_offset=None)
    message = f"{best.name} becomes primary: it has the newest copy on disk"
    return ShardPlan(steps=(SwapRecord(record=record, reason=reason, message=message),))


def _next_epoch(facts: ShardFacts, chosen: Member) -> ValkeyShardSpec:
    """Above every epoch that any copy was marked in, so that marks stay in order after a record was lost."""
    marked = [member.view.copy.epoch or 0 for member in facts.members if member.view is not None]
    epoch = max([facts.record.epoch, *marked]) + 1
    return msgspec.structs.replace(facts.record, primary=chosen.name, epoch=epoch, pending=None, operation=None)
