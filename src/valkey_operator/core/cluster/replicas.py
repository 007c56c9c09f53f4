"""That every node which owns no slots follows the primary of its shard.

Owns: who is attached to whom. A node that has nothing loses nothing by it, so it is attached at once. One that follows
somebody else would lose its copy: it is moved only where all have spoken, and nobody needs that copy. Refuses to know:
who becomes primary.
"""

from valkey_operator.core.cluster.facts import Member, runs
from valkey_operator.core.cluster.roles import Cluster, follows, is_primary
from valkey_operator.core.cluster.steps import NOTHING, ClusterPlan, Replicate, Reset
from valkey_operator.core.cluster.view import ClusterView
from valkey_operator.valkey.info import Role


def attach(cluster: Cluster) -> ClusterPlan:
    """Tell those who follow nobody, or the wrong one."""
    found, waiting = [], []
    for member in cluster.facts.members:
        primary = cluster.primaries.get(member.shard)
        if primary is None or not runs(primary) or not _is_astray(cluster.view, member, primary):
            continue
        if obstacle := _obstacle(cluster, member, primary):
            waiting.append(obstacle)
        else:
            found.append(Replicate(node=member.name, primary=cluster.view.ids[primary.name]))
    return ClusterPlan(steps=tuple(found), waits_for=tuple(waiting))


def detach(cluster: Cluster) -> ClusterPlan:
    """A shard whose nodes all follow the primary of another one: its first node becomes its own, empty one.

    So it is where the servers were let move replicas by themselves, and the shard had given all its slots away.
    """
    if cluster.view.is_partial:
        return NOTHING
    orphaned = [shard for shard in range(cluster.facts.shards) if shard not in cluster.primaries]
    firsts = [next((each for each in cluster.facts.of_shard(shard) if each.wanted), None) for shard in orphaned]
    return ClusterPlan(steps=tuple(Reset(node=each.name) for each in firsts if each and _is_spare(cluster, each)))


def _is_spare(cluster: Cluster, member: Member) -> bool:
    """Whether nobody needs its copy: whom it follows lives, or has no slots; and none that belong to its shard."""
    if not runs(member) or cluster.primary_followed(member) in cluster.strays():
        return False
    return cluster.lost_owner_followed(member) is None


def _is_astray(view: ClusterView, member: Member, primary: Member) -> bool:
    """Whether it runs, owns nothing, and follows another one than its shard's primary, or none."""
    claims = view.slots_of(member) or (member.seen is not None and member.seen.myself.slots)
    is_other = member.name != primary.name and not claims
    return is_other and runs(member) and not follows(view, member, primary)


def _obstacle(cluster: Cluster, member: Member, primary: Member) -> str | None:
    view = cluster.view
    line = member.seen.line(view.ids[primary.name]) if member.seen else None
    if line is None or line.role is not Role.PRIMARY:
        return f"{member.name} to learn of {primary.name}"
    if is_primary(view, member):
        return f"{member.name} to be emptied: it has keys, and no slots for them" if member.keys else None
    if view.is_partial:
        return f"{', '.join(view.missing)} to be heard of, before {member.name} gives up its copy"
    return _who_needs_it(cluster, member)


def _who_needs_it(cluster: Cluster, member: Member) -> str | None:
    """Whoever it follows now may be dead, and its copy the last one."""
    followed = cluster.lost_owner_followed(member)
    if followed is None:
        return None
    return f"the owner of {followed.slots} to be replaced: {member.name} has a copy of what it had"
