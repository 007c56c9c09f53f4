"""What is said to Kubernetes about the pods of a cluster: their role, and which of them may be evicted next.

Owns: role labels, as the servers tell, and the evictions where all pods are guarded. Refuses to know: how a pod is
replaced for a changed spec (roll.py), and what a budget looks like (core/render/budget.py).
"""

from valkey_operator.core.cluster.facts import is_dead, is_linked, runs
from valkey_operator.core.cluster.failover import recent_attempt
from valkey_operator.core.cluster.handover import most_at_once
from valkey_operator.core.cluster.moving import moving_shards
from valkey_operator.core.cluster.roles import Cluster
from valkey_operator.core.cluster.roll import next_turns
from valkey_operator.core.shard.roles import PRIMARY, REPLICA, UNKNOWN
from valkey_operator.valkey.info import Role


def role_labels(cluster: Cluster) -> dict[str, str]:
    """Node to role; one that was not heard of and may live keeps what it has."""
    found = {}
    for member in cluster.facts.members:
        truth = cluster.view.truth_of(member)
        if is_dead(member):
            found[member.name] = UNKNOWN
        elif runs(member) and truth is not None and truth.role is Role.REPLICA:
            found[member.name] = REPLICA
        elif runs(member) and cluster.primaries.get(member.shard) is member:
            found[member.name] = PRIMARY
    return found


def next_evictions(cluster: Cluster) -> dict[int, str]:
    """The node of each shard whose pod may be evicted where all are guarded: on a cordoned machine, and no primary.

    Only where all is well, and in no more shards at a time than a majority of the primaries can spare.
    """
    if not cluster.view.is_agreed or not cluster.facts.record.formed or next_turns(cluster):
        return {}
    busy, found = moving_shards(cluster), {}
    for shard in range(cluster.facts.shards):
        node = _evictable(cluster, shard)
        if node is not None and shard not in busy and recent_attempt(cluster, shard) is None:
            found[shard] = node
    return dict(list(found.items())[: most_at_once(cluster)])


def _evictable(cluster: Cluster, shard: int) -> str | None:
    primary = cluster.primaries.get(shard)
    replicas = [each for each in cluster.facts.of_shard(shard) if each is not primary]
    is_well = primary is not None and primary.pod_ready and not primary.pod_leaving and runs(primary)
    if not is_well or not all(is_linked(each) and each.pod_ready and not each.pod_leaving for each in replicas):
        return None
    cordoned = [each.name for each in replicas if each.cordoned]
    return cordoned[-1] if cordoned else None
