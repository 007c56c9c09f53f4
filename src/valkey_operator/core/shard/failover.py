"""A primary that is lost: announce the change, let its replicas promise the next epoch, wait for proof, then choose.

Owns: when a change is announced, and its next step. The announcement is on record, so the next leader goes on with it.
It is never taken back: a primary that returns meanwhile is parked like the others, and, having most, is chosen again.
Refuses to know: what proves that the primary takes no more writes (proof.py), and who is chosen (primary.py).
"""

from collections.abc import Sequence

from valkey_operator.api.shard import PendingChange
from valkey_operator.core.shard.announcement import LOOK_EVERY_S, announce, is_patience_over
from valkey_operator.core.shard.facts import Member, ShardFacts, follows, has_no_server, runs_as
from valkey_operator.core.shard.isolated import is_isolated
from valkey_operator.core.shard.primary import choose_heir
from valkey_operator.core.shard.proof import has_ended, is_missed, takes_no_writes
from valkey_operator.core.shard.steps import Detach, Kill, Reason, ShardPlan
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health


def lost_primary(facts: ShardFacts, primary: Member) -> ShardPlan | None:
    """What to do about a primary that may be lost; None: it is not, or nobody could take over."""
    view = primary.view
    if not facts.record.promotable:
        return None
    if has_no_server(view) and not has_ended(facts, primary):
        return announce(facts, f"{primary.name} has a new pod, and nobody knows whether the former one has ended")
    if not facts.writing.fail_over:
        return None
    if view is not None and view.health is Health.HUNG and view.misses_primary:
        return ShardPlan(steps=(Kill(node=primary.name),))
    return _missed_primary(facts, primary) if is_missed(facts) else None


def _missed_primary(facts: ShardFacts, primary: Member) -> ShardPlan | None:
    if primary.view is None:
        return announce(facts, f"{primary.name} is silent, and its replicas miss it")
    if is_isolated(facts, primary):
        return announce(facts, f"{primary.name} does not reach its replicas", without=primary.name)
    return None


def carry_on(facts: ShardFacts, primary: Member, pending: PendingChange) -> ShardPlan:
    """The next step of a change that was announced."""
    if moving := _to_detach(facts, primary, pending):
        return ShardPlan(steps=(Detach(nodes=tuple(moving)),))
    if not takes_no_writes(facts, primary):
        return ShardPlan(waits_for=f"proof that {primary.name} takes no more writes", look_after_s=LOOK_EVERY_S)
    if pending.without is not None:
        plan = _choose(facts, facts.others(pending.without))
        if plan.steps or not is_patience_over(facts):
            return plan
    return _choose(facts, facts.members)


def _choose(facts: ShardFacts, heirs: Sequence[Member]) -> ShardPlan:
    return choose_heir(facts, tuple(heirs), in_memory=Reason.PRIMARY_LOST, on_disk=Reason.ALL_RESTARTED)


def _to_detach(facts: ShardFacts, primary: Member, pending: PendingChange) -> list[str]:
    """All that were heard of and could write or grant in the present epoch, or are counted by a server that writes."""
    followers = {member.name for member in facts.members if follows(member.view, primary.address)}
    concerned = {primary.name, *(facts.record.promotable or ()), *followers}
    return [
        member.name
        for member in facts.members
        if member.name in concerned
        and member.view is not None
        and (member.view.promised_epoch < pending.epoch or runs_as(member.view, Role.PRIMARY))
    ]
