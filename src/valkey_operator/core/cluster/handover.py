"""A primary that hands over while it lives: to be scaled in, replaced, stopped, or to be somewhere better.

Owns: when a primary shall be another one, to whom, and how many shards hand over at the same time. The servers do it
(CLUSTER FAILOVER at the replica: the primary pauses its clients, the replica catches up, the others vote). Never while
slots move in that shard; whoever cannot wait for the end of it has it called off. Refuses to know: primaries that are
lost (failover.py).
"""

import msgspec

from valkey_operator.core.cluster.facts import Attempt, FailoverKind, Member, runs
from valkey_operator.core.cluster.failover import WATCH_S, recent_attempt, with_attempts
from valkey_operator.core.cluster.handover_pauses import failed_handover, pause_after
from valkey_operator.core.cluster.moving import atomic_givers, moving_shards
from valkey_operator.core.cluster.roles import Cluster, best_of
from valkey_operator.core.cluster.spread import better_places, rest_s
from valkey_operator.core.cluster.steps import (
    CancelMigrations,
    ClusterPlan,
    Failover,
    Reason,
    Remember,
    steps_only,
    together,
    wait_for,
)


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """Who shall hand over to whom. Without a target it waits."""

    primary: Member
    target: Member | None
    why: str
    urgent: bool = False
    """It will be gone in a moment, handed over or not."""


def hand_over(cluster: Cluster) -> ClusterPlan:
    """Begin as many as are wished for and may go at the same time."""
    wishes = _wishes(cluster)
    if not wishes:
        return wait_for(look_after_s=rest_s(cluster))
    silent = [each.name for each in cluster.owners() if not runs(each)]
    cancels = _cancels(cluster, wishes)
    able = [each for each in wishes if _is_able(cluster, each) and (each.urgent or not silent)]
    begun = sum(recent_attempt(cluster, shard) is not None for shard in cluster.primaries)
    chosen = able[: max(0, most_at_once(cluster) - begun)]
    if chosen:
        return together(_order(cluster, chosen), cancels, wait_for(*failing_handovers(cluster)))
    before = f"{', '.join(silent)} to run, before " if silent else ""
    words = failing_handovers(cluster) or (f"{before}{wishes[0].primary.name} hands over: {wishes[0].why}",)
    look_after_s = min(_pause_left_s(cluster, each) for each in wishes) or WATCH_S
    return together(cancels, wait_for(*words, look_after_s=look_after_s))


def _cancels(cluster: Cluster, wishes: list[Wish]) -> ClusterPlan:
    """A pod that is being stopped does not wait until its slots have moved: it may end before, and they with it."""
    shards = {each.primary.shard for each in wishes if each.urgent and each.target is not None}
    return steps_only(*(CancelMigrations(node=name) for name in atomic_givers(cluster, shards)))


def failing_handovers(cluster: Cluster) -> tuple[str, ...]:
    """Those that are wished for and came to nothing so far, for a person: how often, and when the next is tried."""
    found = [(wish, _last(cluster, wish)) for wish in _wishes(cluster)]
    return tuple(_words(wish, last) for wish, last in found if last and _has_failed(cluster, wish, last))


def _is_able(cluster: Cluster, wish: Wish) -> bool:
    shard = wish.primary.shard
    if wish.target is None or shard in moving_shards(cluster) or recent_attempt(cluster, shard) is not None:
        return False
    return _pause_left_s(cluster, wish) == 0


def _pause_left_s(cluster: Cluster, wish: Wish) -> float:
    last = _last(cluster, wish)
    if last is None:
        return 0.0
    return max(0.0, (last.at + pause_after(last, urgent=wish.urgent) - cluster.facts.now).total_seconds())


def _last(cluster: Cluster, wish: Wish) -> Attempt | None:
    source = cluster.view.ids[wish.primary.name]
    return failed_handover(cluster, wish.primary.shard, source=source, why=wish.why)


def _has_failed(cluster: Cluster, wish: Wish, last: Attempt) -> bool:
    """Not of the first one while it may still take effect."""
    return last.tries > 1 or recent_attempt(cluster, wish.primary.shard) is None


def _words(wish: Wish, last: Attempt) -> str:
    pause, times = pause_after(last, urgent=wish.urgent), "once" if last.tries == 1 else f"{last.tries} times"
    return (
        f"{wish.primary.name} to hand over ({wish.why}), which {last.target} tried {times} in vain; "
        f"the next try comes {pause.total_seconds():.0f} s after the last"
    )


def wishing_shards(cluster: Cluster) -> set[int]:
    """Shards whose primary has to hand over before slots move there again."""
    return {each.primary.shard for each in _needs(cluster) if each.target is not None}


def most_at_once(cluster: Cluster) -> int:
    """In how many shards something may be taken apart at the same time: fewer than half, or one."""
    return max(1, (len(cluster.owners()) - 1) // 2)


def _order(cluster: Cluster, wishes: list[Wish]) -> ClusterPlan:
    attempts, steps = [], []
    for wish in wishes:
        target = wish.target
        if target is not None:
            source = cluster.view.ids[wish.primary.name]
            last, kind = _last(cluster, wish), FailoverKind.PLANNED
            attempts.append(
                Attempt(
                    shard=wish.primary.shard,
                    kind=kind,
                    source=source,
                    target=target.name,
                    at=cluster.facts.now,
                    why=wish.why,
                    tries=last.tries + 1 if last else 1,
                )
            )
            steps.append(Failover(node=target.name, kind=kind))
    record = msgspec.structs.replace(cluster.facts.record, attempts=with_attempts(cluster, *attempts))
    message = "; ".join(f"{each.primary.name} hands over: {each.why}" for each in wishes)
    remember = Remember(record=record, reason=Reason.HANDOVER, message=message)
    return ClusterPlan(steps=(remember, *steps), look_after_s=WATCH_S)


def _wishes(cluster: Cluster) -> list[Wish]:
    """The needs first; a better place only where there are none, and one at a time."""
    if needs := _needs(cluster):
        return needs
    why = "primaries shall be spread"
    better = [Wish(primary=primary, target=target, why=why) for primary, target in better_places(cluster)]
    due = [each for each in better if not _pause_left_s(cluster, each)]
    return (due or better)[:1]


def _needs(cluster: Cluster) -> list[Wish]:
    found = [_need(cluster, each) for each in cluster.primaries.values()]
    found += [_lent(cluster, each) for each in cluster.strays()]
    return [each for each in found if each is not None]


def _need(cluster: Cluster, primary: Member) -> Wish | None:
    if not runs(primary):
        return None
    why = _why(cluster, primary)
    if why is None:
        return None
    return Wish(primary=primary, target=best_of(fit_heirs(cluster, primary)), why=why, urgent=not _rests(primary))


def _why(cluster: Cluster, primary: Member) -> str | None:
    if not _is_kept(cluster, primary):
        return "it is scaled in"
    if not _rests(primary):
        return "its pod is being stopped"
    if not cluster.view.slots_of(primary):
        return None
    others = [each for each in cluster.facts.of_shard(primary.shard) if each.wanted and each is not primary]
    if primary.stale and others and not any(each.stale for each in others):
        return "its pod is to be replaced"
    if primary.cordoned and any(not each.cordoned for each in fit_heirs(cluster, primary)):
        return "its machine is cordoned"
    return None


def _rests(primary: Member) -> bool:
    return not primary.pod_leaving and not (primary.view is not None and primary.view.leaving)


def _lent(cluster: Cluster, owner: Member) -> Wish | None:
    """A stray whose slots belong to a shard without a primary, whose nodes follow it: the shard takes them back."""
    takers = [each for each in cluster.linked_replicas(owner) if each.shard not in cluster.primaries]
    if not takers or not runs(owner):
        return None
    return Wish(primary=owner, target=best_of(takers), why="its slots belong to another shard")


def fit_heirs(cluster: Cluster, primary: Member) -> list[Member]:
    """The replicas of its own shard that are in sync and stay."""
    mates = [each for each in cluster.linked_replicas(primary) if each.shard == primary.shard]
    return [each for each in mates if _is_kept(cluster, each) and _rests(each)]


def _is_kept(cluster: Cluster, member: Member) -> bool:
    """Whether its shard goes on with it; one that is being emptied needs all its nodes until it is."""
    return member.wanted or member.shard >= cluster.facts.shards
