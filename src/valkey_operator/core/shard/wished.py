"""A user's wish for a primary, the annotation `valkey.io/primary` on a Valkey: met once, and then no more than a note.

Owns: whether a wish is open, what stands against it, and that the record remembers one that was met. It is met by the
very change of the record that makes the node primary, so that no crash and no failover can make it be met twice.
Refuses to know: how a primary hands over (switchover.py).
"""

import msgspec

from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.names import PRIMARY_ANNOTATION
from valkey_operator.core.shard.facts import Member, ShardFacts, is_in_sync_with
from valkey_operator.core.shard.steps import Reason, SwapRecord


class Obstacle(msgspec.Struct, frozen=True):
    """Why a wish is not met yet: a word for programs, a sentence with the remedy for people."""

    reason: str
    message: str


def open_wish(facts: ShardFacts) -> str | None:
    """The node that shall become primary, if that was not so since it was asked for."""
    is_met = facts.wished in (facts.record.wish_met, facts.record.primary)
    return None if is_met else facts.wished


def obstacle(facts: ShardFacts) -> Obstacle | None:
    """What stands against the open wish; None where nothing does, or there is none."""
    name = open_wish(facts)
    if name is None:
        return None
    said = f'{PRIMARY_ANNOTATION} is "{name}"'
    member, primary = facts.member(name), facts.member(facts.record.primary)
    if facts.replicas == 0:
        return Obstacle("WishWaits", f"{said}: no pods run; it becomes primary once it is in sync after a resume.")
    if member is None or not member.wanted:
        names = ", ".join(each.name for each in facts.members if each.wanted)
        return Obstacle("NoSuchNode", f"{said}: there is no such node. Name one of {names}, or remove the annotation.")
    if hindrance := _hindrance(member):
        return Obstacle("WishWaits", f"{said}: {hindrance}; it becomes primary once that is over.")
    if primary is None or not is_in_sync_with(member.view, primary):
        behind = f"{name} is not in sync with {facts.record.primary or 'a primary'}"
        return Obstacle("NotInSync", f"{said}: {behind}; it becomes primary once it is. See its pod if it stays so.")
    return None


def _hindrance(member: Member) -> str | None:
    if member.pod_leaving or (member.view is not None and member.view.leaving):
        return "its pod is being stopped"
    if member.stale:
        return "its pod is to be replaced"
    return "its machine is cordoned" if member.cordoned else None


def with_wish_met(facts: ShardFacts, record: ValkeyShardSpec) -> ValkeyShardSpec:
    """The record that is to be written, remembering a wish that it fulfils."""
    is_met = facts.wished is not None and facts.wished == record.primary
    return msgspec.structs.replace(record, wish_met=facts.wished) if is_met else record


def remember_wish(facts: ShardFacts) -> list[SwapRecord]:
    """Note a wish for the node that is primary already, and forget one that is not asked for any more."""
    record = facts.record
    if facts.wished is not None and facts.wished == record.primary and record.wish_met != facts.wished:
        message = f"{record.primary} is primary, as {PRIMARY_ANNOTATION} asks for"
        return [SwapRecord(record=with_wish_met(facts, record), reason=Reason.WISH_MET, message=message)]
    if record.wish_met not in (None, facts.wished):
        forgotten = msgspec.structs.replace(record, wish_met=None)
        message = f"{PRIMARY_ANNOTATION} does not name {record.wish_met} any more"
        return [SwapRecord(record=forgotten, reason=Reason.WISH_FORGOTTEN, message=message)]
    return []
