"""The announcement on record that the primary changes: nobody gives leave to write in the present epoch any more.

Owns: its words, its epoch, and how long it lets others wait. Refuses to know: what it is made for.
"""

from datetime import datetime, timedelta

import msgspec

from valkey_operator.api.shard import PendingChange
from valkey_operator.core.shard.facts import ShardFacts
from valkey_operator.core.shard.steps import Reason, ShardPlan, SwapRecord

PATIENCE = timedelta(seconds=1)
LOOK_EVERY_S = 0.2


def announce(facts: ShardFacts, why: str, *, without: str | None = None) -> ShardPlan:
    """Put it on record; `without` is who shall not be chosen again."""
    since = facts.now.isoformat(timespec="milliseconds")
    pending = PendingChange(epoch=next_epoch_number(facts), reason=why, since=since, without=without)
    record = msgspec.structs.replace(facts.record, pending=pending, operation=None)
    return ShardPlan(steps=(SwapRecord(record=record, reason=Reason.FAILOVER_BEGINS, message=f"Failover: {why}"),))


def announced_for(facts: ShardFacts) -> timedelta:
    """How long ago that was."""
    pending = facts.record.pending
    return facts.now - datetime.fromisoformat(pending.since) if pending and pending.since else timedelta()


def is_patience_over(facts: ShardFacts) -> bool:
    """Whether those who are silent were waited for long enough."""
    return announced_for(facts) >= PATIENCE


def next_epoch_number(facts: ShardFacts) -> int:
    """Above every epoch that any copy was marked in or any agent has promised, also after a record was lost."""
    views = [member.view for member in facts.members if member.view is not None]
    return max([facts.record.epoch, *(max(view.copy.epoch or 0, view.promised_epoch) for view in views)]) + 1
