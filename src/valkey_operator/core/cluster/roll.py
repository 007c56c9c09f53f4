"""Whose pods are replaced next for a changed spec: several shards at once, one pod of each.

Owns: the order. Broken ones first, one of each shard; then replicas from the last; a primary only after it handed over,
or, where it has no replica, alone. Never so many that a majority of the primaries is at risk; never a shard whose slots
move. Refuses to know: how a pod is replaced, and handing over (handover.py).
"""

from collections.abc import Sequence

from valkey_operator.core.cluster.facts import Member, is_at_gate, is_linked, runs
from valkey_operator.core.cluster.failover import recent_attempt
from valkey_operator.core.cluster.handover import most_at_once
from valkey_operator.core.cluster.moving import moving_shards
from valkey_operator.core.cluster.roles import Cluster


def next_turns(cluster: Cluster) -> list[str]:
    """The nodes whose pods may be replaced now."""
    if not cluster.facts.record.formed:
        return []
    moving = moving_shards(cluster)
    open_shards = [shard for shard in range(cluster.facts.shards) if shard not in moving]
    broken = _broken_ones(cluster, open_shards)
    at_work = {each.shard for each in cluster.facts.members if each.pod_leaving or not runs(each)}
    free = max(0, most_at_once(cluster) - len(at_work))
    calm = [shard for shard in open_shards if shard not in at_work and recent_attempt(cluster, shard) is None]
    sound = [each for shard in calm if (each := _next_of(cluster, shard))]
    replicas = [each for each in sound if not cluster.view.slots_of(each)]
    return [each.name for each in (*broken, *(replicas or sound[:1])[:free])]


def last_copies(cluster: Cluster) -> list[str]:
    """Owners of slots that have to be restarted while nobody could take over."""
    alone = [each for each in cluster.owners() if each.stale and each.wanted and runs(each)]
    return [each.name for each in alone if not any(mate.wanted for mate in _mates(cluster, each))]


def _mates(cluster: Cluster, member: Member) -> list[Member]:
    return [each for each in cluster.facts.of_shard(member.shard) if each is not member]


def _broken_ones(cluster: Cluster, shards: Sequence[int]) -> list[Member]:
    """Those whose servers never came up, or whose agents say nothing: the next of each shard.

    An owner that the others hear serves clients although its agent is silent; it goes while all other owners are there.
    """
    leaving = [each for each in cluster.facts.members if each.pod_leaving]
    calm = [shard for shard in shards if shard not in {each.shard for each in leaving}]
    found = [each for shard in calm if (each := _broken(cluster, shard))]
    owners = [each for each in found if cluster.view.slots_of(each)]
    serving = [each for each in owners if _is_heard(cluster, each)]
    are_all_there = all(runs(each) or _is_heard(cluster, each) for each in cluster.owners())
    free = max(0, most_at_once(cluster) - len([each for each in leaving if cluster.view.slots_of(each)]))
    idle = [each for each in owners if each not in serving]
    chosen = idle[:free] or (serving[:1] if are_all_there and not leaving else [])
    return [each for each in found if each not in owners or each in chosen]


def _broken(cluster: Cluster, shard: int) -> Member | None:
    """Replicas before the primary, from the last."""
    stale = [each for each in cluster.facts.of_shard(shard) if each.stale and each.wanted and _is_silent(each)]
    return min(stale, key=lambda each: (bool(cluster.view.slots_of(each)), -each.index), default=None)


def _is_silent(member: Member) -> bool:
    return not (member.pod_ready or member.pod_leaving or runs(member)) and (member.view is None or is_at_gate(member))


def _is_heard(cluster: Cluster, member: Member) -> bool:
    """Whether the other nodes hear it, whatever we know of it."""
    truth = cluster.view.truth_of(member)
    is_missed = truth is None or bool(truth.failed_for or truth.suspected_by)
    return not is_missed and not is_at_gate(member) and any(name != member.name for name in cluster.view.spoke)


def _next_of(cluster: Cluster, shard: int) -> Member | None:
    primary = cluster.primaries.get(shard)
    mates = [each for each in cluster.facts.of_shard(shard) if each.wanted]
    if primary is None or not all(is_linked(each) for each in mates if each is not primary):
        return None
    stale = [each for each in mates if each.stale]
    replicas = [each for each in stale if each is not primary]
    if replicas:
        return replicas[-1]
    has_nothing = len(mates) == 1 or not cluster.view.slots_of(primary)
    return primary if stale and has_nothing and _others_run(cluster, primary) else None


def _others_run(cluster: Cluster, primary: Member) -> bool:
    return all(runs(each) for each in cluster.owners() if each is not primary)
