"""Which nodes a cluster has: those that are asked for, and those that cannot go yet.

Owns: who must exist, who may be removed, and whether fewer shards can hold all data. A shard goes only after its own
and everybody's view prove it empty.
Refuses to know: how slots leave it (migrate.py), and who takes over from a primary that goes (handover.py).
"""

from collections.abc import Collection

from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord, Member, is_dead, runs, stays
from valkey_operator.core.cluster.moving import moving_shards
from valkey_operator.core.cluster.roles import Cluster, is_primary
from valkey_operator.core.cluster.steps import ClusterPlan, wait_for

Place = tuple[int, int]
"""Shard and index of a node."""

FULL_AT = 0.9
"""Of the memory of a shard: what is left is for clients and replication."""


def asked_size(
    record: ClusterRecord, places: Collection[Place], *, shards: int, replicas: int, is_held: bool
) -> tuple[int, int]:
    """Shards, and nodes of each; a spec that cannot be carried out leaves as many as there are."""
    if not is_held:
        return shards, replicas
    nodes = max((index + 1 for _, index in places), default=0)
    if record.asleep is not None:
        return record.asleep.asked, nodes
    return max((shard + 1 for shard, _ in places), default=shards), nodes


def needed_places(facts: ClusterFacts) -> set[Place]:
    """The nodes that must exist now. Whoever is there beyond them goes when `removable` says so."""
    return places_of(facts.record, shards=facts.shards, replicas=facts.replicas)


def places_of(record: ClusterRecord, *, shards: int, replicas: int) -> set[Place]:
    """Those of a cluster of this size; one that wakes up has at least all that it had."""
    asleep = record.asleep
    if asleep is not None and replicas > 0:
        shards, replicas = asleep.shards, max(replicas, asleep.replicas)
    return {(shard, index) for shard in range(shards) for index in range(replicas)}


def removable(cluster: Cluster) -> list[str]:
    """Nodes that may go: all when suspended; else those not asked for that nobody would miss."""
    facts = cluster.facts
    if facts.replicas == 0:
        is_known = facts.record.asleep is not None or not facts.record.formed
        return [each.name for each in facts.members] if is_known else []
    needed = needed_places(facts)
    beyond = [each for each in facts.members if (each.shard, each.index) not in needed]
    return [each.name for each in beyond if _nobody_misses(cluster, each)]


def no_room(cluster: Cluster) -> str | None:
    """Why the slots of shards that shall go cannot be taken by the others."""
    leaving = [each for shard, each in cluster.primaries.items() if shard >= cluster.facts.shards]
    staying = [each for shard, each in cluster.primaries.items() if shard < cluster.facts.shards]
    need = sum(each.used_bytes or 0 for each in leaving)
    if not leaving or any(each.limit_bytes is None or each.used_bytes is None for each in staying):
        return None
    room = sum(max(0, int((each.limit_bytes or 0) * FULL_AT) - (each.used_bytes or 0)) for each in staying)
    if need <= room:
        return None
    return (
        f"room for {need} bytes of shard {', '.join(str(each.shard) for each in leaving)}: the other shards have "
        f"{room} bytes left; keep more shards, or raise their memory"
    )


def shards_that_stay(cluster: Cluster) -> ClusterPlan:
    """Why shards that shall go are still there, once they have no slots."""
    leaving = [shard for shard in cluster.facts.all_shards() if shard >= cluster.facts.shards]
    found = [(shard, _doubt(cluster, cluster.facts.of_shard(shard))) for shard in leaving]
    return wait_for(*(f"{doubt}, before shard {shard} goes" for shard, doubt in found if doubt))


def _nobody_misses(cluster: Cluster, member: Member) -> bool:
    if member.shard >= cluster.facts.shards:
        return _doubt(cluster, cluster.facts.of_shard(member.shard)) is None
    primary = cluster.primaries.get(member.shard)
    if primary is None or not (stays(primary) and runs(primary)) or cluster.view.slots_of(member):
        return False
    if cluster.lost_owner_followed(member) is not None or _may_own_unseen(cluster, member):
        return False
    copies = [each for each in cluster.linked_replicas(primary) if each.wanted]
    return not is_primary(cluster.view, member) and (bool(copies) or cluster.facts.replicas == 1)


def _may_own_unseen(cluster: Cluster, member: Member) -> bool:
    """Whether it is silent together with most owners, who may have made it one of them."""
    owners = cluster.owners()
    most_run = 2 * sum(runs(each) for each in owners) > len(owners)
    return not (runs(member) or is_dead(member) or most_run)


def _doubt(cluster: Cluster, mates: Collection[Member]) -> str | None:
    """What is missing to prove a shard empty: all agree, it has neither slots nor keys, and gets none."""
    view = cluster.view
    if view.is_partial:
        return f"{', '.join(view.missing)} to be heard of"
    if not view.is_agreed or view.unassigned:
        return "all nodes to agree about all slots"
    if owning := [each.name for each in mates if view.slots_of(each)]:
        return f"{', '.join(owning)} to give its slots away"
    if {each.shard for each in mates} & moving_shards(cluster):
        return "slots on their way to be settled"
    keeping = [each.name for each in mates if is_primary(view, each) and each.keys != 0]
    return f"{', '.join(keeping)} to be without keys" if keeping else None
