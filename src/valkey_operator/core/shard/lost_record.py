"""A record that somebody deleted while servers run: it is made anew as they are.

Owns: that whoever is primary stays it, so that nobody is wiped. Nothing is decided while a node is silent: it may be
primary by a newer order. Refuses to know: what to do where no primary runs (primary.py).
"""

import msgspec

from valkey_operator.core.shard.facts import Member, ShardFacts, has_said_what_it_has, is_in_sync, runs_as
from valkey_operator.core.shard.primary import next_epoch
from valkey_operator.core.shard.steps import Reason, ShardPlan, SwapRecord
from valkey_operator.valkey.info import Role


def running_primary(facts: ShardFacts) -> ShardPlan | None:
    """Write down who is primary, in an epoch above all that were promised; None where nobody is."""
    running = [member for member in facts.members if runs_as(member.view, Role.PRIMARY)]
    if not running or not all(has_said_what_it_has(member.view) for member in facts.members):
        return None
    primary = max(running, key=_authority)
    heirs = [member.name for member in facts.others(primary.name) if is_in_sync(member.view, primary.address)]
    record = msgspec.structs.replace(
        next_epoch(facts, primary),
        promotable=heirs or None,
        replication_id=primary.view.replication_id if primary.view else None,
        first_offset=primary.view.offset if primary.view else None,
    )
    message = f"{primary.name} is primary and stays it; the record was gone, and is made anew"
    return ShardPlan(steps=(SwapRecord(record=record, reason=Reason.RECORD_REMADE, message=message),))


def _authority(member: Member) -> tuple[int, int, int]:
    """By how new an order a server is primary."""
    view = member.view
    return (view.promised_epoch, view.offset, -member.index) if view else (0, 0, -member.index)
