"""When a server of a cluster may start: never one that would feed its replicas from an older copy than they have.

Owns: which servers at the gate are let in. A restarted server has lost its memory. If it would come back as owner of
its slots, a replica that still has them in memory takes over first; where none has, the newest copy on disk starts.
Refuses to know: how a replica takes over (failover.py).
"""

from valkey_operator.core.cluster.facts import (
    Member,
    has_files,
    has_said_what_it_has,
    is_at_gate,
    is_whole_replica,
    runs,
)
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.steps import ClusterPlan, Open, steps_only, together, wait_for
from valkey_operator.core.shard.facts import copy_newness
from valkey_operator.valkey.slots import Slots, union


def open_gates(cluster: Cluster) -> ClusterPlan:
    """Let in all who may start now, and say what the others wait for."""
    return together(*(_at_gate(cluster, each) for each in cluster.facts.members if is_at_gate(each)))


def _at_gate(cluster: Cluster, member: Member) -> ClusterPlan:
    owner = _owner(cluster, member)
    if owner is None or (owner is not member and runs(owner)):
        return steps_only(Open(node=member.name))
    group = [owner, *(each for each in cluster.replicas_of(owner) if each is not owner)]
    if whole := [each.name for each in group if is_whole_replica(each)]:
        return wait_for(f"{whole[0]} to take over from {owner.name}, before {member.name} starts")
    if unheard := [each.name for each in group if not has_said_what_it_has(each)]:
        return wait_for(f"{', '.join(unheard)} to say what it has, before {member.name} starts")
    best = max(group, key=lambda each: (copy_newness(each.view), each is owner, -each.index))
    if best is member:
        return steps_only(Open(node=member.name))
    return wait_for(f"{best.name}, which has the newest copy, to be primary before {member.name} starts")


def _owner(cluster: Cluster, member: Member) -> Member | None:
    """The member whose copy counts where this one starts: itself, or whom it would follow. None: it has nothing.

    One with data and no nodes.conf would claim the slots of its keys.
    """
    if not cluster.facts.record.formed:
        return None
    if member.kept is None:
        return member if has_files(member) and cluster.view.slots_of(member) else None
    if claimed_at_start(cluster, member):
        return member
    followed = cluster.view.nodes.get(member.kept.myself.primary or "")
    known = cluster.facts.member(followed.member) if followed else None
    owner = known if known and cluster.view.slots_of(known) else cluster.primaries.get(member.shard)
    return owner if owner is not None and cluster.view.slots_of(owner) else None


def claimed_at_start(cluster: Cluster, member: Member) -> Slots:
    """Slots that it would own: those of its file which nobody has got in a newer epoch."""
    if member.kept is None:
        return Slots()
    own = member.kept.myself
    newer = union(node.slots for node in cluster.view.nodes.values() if node.epoch > own.epoch and node.id != own.id)
    return own.slots - newer
