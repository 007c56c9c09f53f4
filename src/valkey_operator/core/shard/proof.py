"""Whether the primary of the present epoch can still take writes: what is proven, and what is only feared.

Owns: the proofs. A pod that was deleted proves nothing: its server may run on a machine that nobody reaches.
Refuses to know: what is done with a proof (failover.py, plan.py).
"""

from datetime import timedelta

from valkey_operator.api.shard import PendingChange
from valkey_operator.core.shard.announcement import announced_for
from valkey_operator.core.shard.facts import Member, ShardFacts, has_no_server, is_parked


def is_missed(facts: ShardFacts) -> bool:
    """Whether more than half of those who could take over have let no primary write for long: it has lost them."""
    listed = facts.record.promotable or []
    return _is_majority(sum(_misses(facts.member(name)) for name in listed), listed)


def takes_no_writes(facts: ShardFacts, primary: Member) -> bool:
    """Whether it is proven: its server has ended, or is parked, or nobody's leave can last any more."""
    return has_ended(facts, primary) or is_parked(primary.view) or _leave_has_run_out(facts)


def has_ended(facts: ShardFacts, primary: Member) -> bool:
    """Whether the server that was primary is gone: its own agent says so, or the machine has ended all of its pod."""
    of_record = facts.record.primary_pod
    is_present = of_record in (None, primary.pod_uid)
    return facts.primary_pod_ended or (is_present and has_no_server(primary.view))


def _leave_has_run_out(facts: ShardFacts) -> bool:
    """Whether all leave to write in this epoch is over, and none comes any more."""
    pending, listed = facts.record.pending, facts.record.promotable or []
    if pending is None or (facts.leave_until is not None and facts.now < facts.leave_until):
        return False
    return _is_majority(sum(_is_deaf(facts, name, pending) for name in listed), listed)


def _is_deaf(facts: ShardFacts, name: str, pending: PendingChange) -> bool:
    """Whether whatever a node granted is over, and it grants no more; one that is removed grants nothing either."""
    member = facts.member(name)
    if member is None:
        return announced_for(facts) > timedelta(milliseconds=facts.writing.missed_after_ms)
    return _misses(member) and member.view is not None and member.view.promised_epoch >= pending.epoch


def _misses(member: Member | None) -> bool:
    return member is not None and member.view is not None and member.view.misses_primary


def _is_majority(count: int, listed: list[str]) -> bool:
    """Half of them would be enough for the primary to go on."""
    return 2 * count > len(listed) > 0
