"""When a server of a cluster may start: never one that would feed its replicas from an older copy than they have.

Owns: which servers at the gate are let in. A restarted server has lost its memory. If it would come back as owner of
its slots, a replica that still has them in memory takes over first; where none has, the newest copy on disk starts.

One that had raised its epoch and died before it could tell anybody has a file with an epoch as high as that of the
replica which was elected since, and would win its slots back, with the data of then. The other gets a higher one first.
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
from valkey_operator.core.cluster.steps import BumpEpoch, ClusterPlan, Open, steps_only, together, wait_for
from valkey_operator.core.shard.facts import copy_newness
from valkey_operator.valkey.cluster_nodes import NodesView
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import NO_SLOTS, Slots, union


def open_gates(cluster: Cluster) -> ClusterPlan:
    """Let in all who may start now, and say what the others wait for."""
    return together(*(_at_gate(cluster, each) for each in cluster.facts.members if is_at_gate(each)))


def _at_gate(cluster: Cluster, member: Member) -> ClusterPlan:
    if successor := _outranked_successor(cluster, member):
        wait = wait_for(f"{successor.name} to run with a higher epoch than {member.name}, before that starts")
        return together(steps_only(*_raise_epoch(cluster, successor)), wait)
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


def _outranked_successor(cluster: Cluster, member: Member) -> Member | None:
    """Who has got slots of its shard since, and would lose them to what it would claim."""
    if not cluster.facts.record.formed or member.kept is None:
        return None
    claimed = claimed_at_start(cluster, member) - cluster.view.open_slots
    mates = (each for each in cluster.facts.of_shard(member.shard) if each is not member)
    return next((each for each in mates if _taken_over(cluster, each, member.kept) & claimed), None)


def _taken_over(cluster: Cluster, mate: Member, former: NodesView) -> Slots:
    """What it has got from the one with that file.

    Where epochs are alike others may believe either; but whoever was elected follows the former owner no more, so it
    came later. Of two files the one of whom the other still says that it is a replica.
    """
    view = mate.seen if runs(mate) else mate.kept if is_at_gate(mate) else None
    if view is None or view.myself.role is not Role.PRIMARY:
        return NO_SLOTS
    own, known = view.myself, former.line(view.myself.id)
    if own.epoch == former.myself.epoch and (runs(mate) or (known is not None and known.role is Role.REPLICA)):
        return own.slots
    return cluster.view.slots_of(mate) if runs(mate) else NO_SLOTS


def _raise_epoch(cluster: Cluster, successor: Member) -> list[BumpEpoch]:
    """A server keeps an epoch that is the highest it knows of: then another primary has to go ahead."""
    if not runs(successor):
        return []
    highest = max((node.epoch for node in cluster.view.nodes.values()), default=0)
    able = [successor, *(each for each in _undisputed(cluster) if each is not successor)]
    return [BumpEpoch(node=each.name) for each in able if each.seen and each.seen.myself.epoch < highest][:1]


def _undisputed(cluster: Cluster) -> list[Member]:
    """Primaries that nobody gainsays: a higher epoch gives them nothing that they have not got."""
    running = (each for each in cluster.primaries.values() if runs(each))
    return [each for each in running if each.seen and each.seen.myself.slots == cluster.view.slots_of(each)]


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
