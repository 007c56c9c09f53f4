"""Whose pod is to be replaced first for a changed spec: broken ones, then replicas, a lone primary at last.

Owns: that order, and that all others are well. Refuses to know: whether it may go at this moment (parting.py).
"""

from valkey_operator.core.shard.facts import (
    Member,
    ShardFacts,
    is_changing,
    is_in_sync_with,
    is_parked,
    runs_as,
    waits_at_gate,
)
from valkey_operator.core.shard.proof import is_missed
from valkey_operator.valkey.info import Role


def candidate(facts: ShardFacts) -> str | None:
    """The node whose pod is the next one; one at a time."""
    stale = [member for member in facts.members if member.stale and member.wanted]
    if not stale or is_changing(facts) or any(is_being_replaced(each) for each in facts.members):
        return None
    primary = facts.member(facts.record.primary)
    broken = [member for member in stale if _is_broken(member)]
    if broken:
        return broken[-1].name
    if primary is None:
        return None
    replicas = [member for member in stale if member.name != primary.name]
    detached = [member for member in replicas if facts.writing.half_attached and is_parked(member.view)]
    if not all_well(facts, primary, without=detached[-1:]):
        return None
    if replicas:
        return (detached or replicas)[-1].name
    wanted = [member for member in facts.members if member.wanted]
    # While somebody could take over, a primary that restarts may not simply go on.
    return primary.name if len(wanted) == 1 and not facts.record.promotable else None


def all_well(facts: ShardFacts, primary: Member, *, without: list[Member] | None = None) -> bool:
    """Whether the primary runs, and all who shall follow it do; but for one that was detached for its turn.

    One that its replicas miss may have died since it was heard of.
    """
    others = [member for member in facts.others(primary.name) if member.wanted and member not in (without or [])]
    follow = all(is_in_sync_with(each.view, primary) for each in others)
    return runs_as(primary.view, Role.PRIMARY) and follow and not is_missed(facts)


def is_being_replaced(member: Member) -> bool:
    """Whether its pod is on its way out."""
    return member.pod_leaving


def _is_broken(member: Member) -> bool:
    """Its server never came up, or has no memory left to lose: nothing goes with the pod."""
    has_memory = member.server_started and not waits_at_gate(member.view)
    return not (member.pod_ready or member.pod_leaving or has_memory)
