"""An owner of slots that is lost: Valkey's own election is the authority, and is made quick where death is proven.

Owns: to whom one CLUSTER FAILOVER FORCE goes, and, where most owners are lost, one TAKEOVER at a time. Never while the
owner is heard of, never to two replicas of one. Who is only silent is left to the servers and their timeout; once they
agree that it has failed, the best replica is told to run at once, where by itself it would wait for up to a second.
They need a majority, so without one the loss of leave to write counts as proof too.
Refuses to know: what is planned (handover.py).
"""

from datetime import timedelta

import msgspec

from valkey_operator.core.cluster.facts import (
    Attempt,
    FailoverKind,
    Member,
    has_said_what_it_has,
    is_dead,
    is_whole_replica,
    runs,
    takes_no_writes,
)
from valkey_operator.core.cluster.handover_pauses import may_be_repeated
from valkey_operator.core.cluster.roles import Cluster, best_of, is_primary, is_reborn
from valkey_operator.core.cluster.steps import (
    NOTHING,
    BumpEpoch,
    ClusterPlan,
    Failover,
    Reason,
    Remember,
    steps_only,
    wait_for,
)
from valkey_operator.core.cluster.view import NodeTruth
from valkey_operator.core.shard.facts import copy_newness
from valkey_operator.valkey.info import Role

WATCH_S = 2.0
HANDOVER_S = 5.0
"""A server gives up a handover only then; a second replica that is told to meanwhile would run against the first."""
_ONE_LOOK_S = 0.05
_REASONS = {FailoverKind.FORCE: Reason.FAILOVER, FailoverKind.TAKEOVER: Reason.TAKEOVER}


class Loss(msgspec.Struct, frozen=True, kw_only=True):
    """An owner that is lost, and who shall take its slots."""

    owner: NodeTruth
    heir: Member


def fail_over(cluster: Cluster) -> ClusterPlan:
    """Replace owners that are lost."""
    owning = _owning(cluster)
    lost = [node for node in owning if not _lives(cluster, node)]
    if not lost:
        return NOTHING
    doubtful = [node for node in lost if not _takes_no_writes(cluster, node)]
    if not _are_most(lost, owning):
        # Most others live: whoever lost its leave to write, or has failed for them, is as good as dead.
        losses = _losses(cluster, [node for node in lost if node.failed_for or node not in doubtful])
        return _order(cluster, losses, FailoverKind.FORCE)
    if doubtful:
        names = ", ".join(_name(node) for node in doubtful)
        return wait_for(f"proof that {names} takes no more writes; most primaries are lost", look_after_s=WATCH_S)
    losses = _losses(cluster, lost)
    return _order(cluster, losses[:1], FailoverKind.TAKEOVER)


def doubtful_owners(cluster: Cluster) -> list[NodeTruth]:
    """Owners that may live and take writes, where so many are lost that nobody is elected; else none."""
    owning = _owning(cluster)
    lost = [node for node in owning if not _lives(cluster, node)]
    return [node for node in lost if not _is_dead(cluster, node)] if _are_most(lost, owning) else []


def rivals(cluster: Cluster) -> list[str]:
    """Replicas of which one has to be chosen: how far they are is no news, so it is known only of whom was asked."""
    lost = [node for node in cluster.view.nodes.values() if node.slots and not _lives(cluster, node)]
    groups = [[each.name for each in cluster.followers.get(node.id, ()) if is_whole_replica(each)] for node in lost]
    return [name for group in groups if len(group) > 1 for name in group]


def mend_takeover(cluster: Cluster) -> ClusterPlan:
    """Whoever took slots by its own word must have a higher epoch than the one it took them from."""
    for attempt in cluster.facts.record.attempts:
        target = cluster.facts.member(attempt.target)
        if target is not None and runs(target) and _is_outranked(cluster, attempt, target):
            return steps_only(BumpEpoch(node=target.name))
    return NOTHING


def recent_attempt(cluster: Cluster, shard: int) -> Attempt | None:
    """A failover of that shard which was ordered a moment ago, and may still take effect."""
    of_shard = (each for each in cluster.facts.record.attempts if each.shard == shard)
    return next((each for each in of_shard if cluster.facts.now - each.at < _works_for(cluster, each)), None)


def with_attempts(cluster: Cluster, *new: Attempt) -> tuple[Attempt, ...]:
    """The attempts to remember: these, and those of others that nothing has come of yet."""
    changed = {each.shard for each in new}
    others = [each for each in cluster.facts.record.attempts if each.shard not in changed]
    horizon = cluster.facts.now - timedelta(seconds=max(2 * cluster.facts.node_timeout_s, HANDOVER_S) + WATCH_S)
    kept = (each for each in others if each.at > horizon or may_be_repeated(cluster, each))
    return (*kept, *new)


def _works_for(cluster: Cluster, attempt: Attempt) -> timedelta:
    target = cluster.facts.member(attempt.target)
    if attempt.kind is not FailoverKind.PLANNED or target is None or is_dead(target):
        return timedelta(seconds=WATCH_S)
    return timedelta(seconds=WATCH_S if is_primary(cluster.view, target) else HANDOVER_S)


def _is_outranked(cluster: Cluster, attempt: Attempt, target: Member) -> bool:
    source, taker = cluster.view.nodes.get(attempt.source), cluster.view.truth_of(target)
    if attempt.kind is not FailoverKind.TAKEOVER or source is None or taker is None:
        return False
    return source.role is Role.PRIMARY and bool(taker.slots) and source.epoch >= taker.epoch


def _order(cluster: Cluster, losses: list[Loss], kind: FailoverKind) -> ClusterPlan:
    """One at a time: two that ask for votes in one epoch get some each, and both wait for their next try."""
    due = next((loss for loss in losses if _is_due(cluster, loss)), None)
    if due is None:
        return wait_for(look_after_s=_ONE_LOOK_S) if losses else NOTHING
    heir, now = due.heir, cluster.facts.now
    attempt = Attempt(shard=heir.shard, kind=kind, source=due.owner.id, target=heir.name, at=now)
    record = msgspec.structs.replace(cluster.facts.record, attempts=with_attempts(cluster, attempt))
    message = f"{heir.name} takes over from {_name(due.owner)}"
    remember = Remember(record=record, reason=_REASONS[kind], message=message)
    return ClusterPlan(steps=(remember, Failover(node=heir.name, kind=kind)), look_after_s=_ONE_LOOK_S)


def _losses(cluster: Cluster, lost: list[NodeTruth]) -> list[Loss]:
    found = [(node, _heir(cluster, node)) for node in lost]
    return [Loss(owner=node, heir=heir) for node, heir in found if heir is not None]


def _heir(cluster: Cluster, owner: NodeTruth) -> Member | None:
    """The replica with the most in memory; else the one that was let in because its copy on disk is the newest."""
    followers = cluster.followers.get(owner.id, ())
    member = cluster.facts.member(owner.member)
    if whole := [each for each in followers if is_whole_replica(each)]:
        return best_of(whole, shard=member.shard if member else None)
    group = [*followers, *([member] if member else [])]
    if not all(has_said_what_it_has(each) for each in group):
        return None
    newest = max((copy_newness(each.view) for each in group), default=None)
    return best_of(each for each in followers if runs(each) and copy_newness(each.view) == newest)


def _is_due(cluster: Cluster, loss: Loss) -> bool:
    """Not while an order may still take effect; a second replica only once the first one cannot win any more."""
    last = next((each for each in cluster.facts.record.attempts if each.source == loss.owner.id), None)
    if last is None:
        return True
    if last.kind is FailoverKind.PLANNED and last.target == loss.heir.name:
        return True
    age_s = (cluster.facts.now - last.at).total_seconds()
    former = cluster.facts.member(last.target)
    can_win = last.target != loss.heir.name and former is not None and not is_dead(former)
    return age_s > (2 * cluster.facts.node_timeout_s if can_win else WATCH_S)


def _owning(cluster: Cluster) -> list[NodeTruth]:
    return [node for node in cluster.view.nodes.values() if node.slots]


def _are_most(lost: list[NodeTruth], owning: list[NodeTruth]) -> bool:
    """Whether those who are left are no majority."""
    return bool(lost) and 2 * len(lost) >= len(owning)


def _lives(cluster: Cluster, node: NodeTruth) -> bool:
    member = cluster.facts.member(node.member)
    return member is not None and runs(member)


def _is_dead(cluster: Cluster, node: NodeTruth) -> bool:
    member = cluster.facts.member(node.member)
    return is_dead(member) if member else is_reborn(cluster, node)


def _takes_no_writes(cluster: Cluster, node: NodeTruth) -> bool:
    member = cluster.facts.member(node.member)
    return takes_no_writes(member) if member else is_reborn(cluster, node)


def _name(node: NodeTruth) -> str:
    return node.member or node.hostname or node.id
