"""What is remembered of a cluster, as its record holds it.

Owns: the form on record, and what a record begins with: whoever finds nodes or volumes of before must not take the
cluster for a new one. Refuses to know: how a record is read and written.
"""

from collections.abc import Collection

import msgspec

from valkey_operator.api.shard import ClusterMemory, ShardOwner, ValkeyShardSpec
from valkey_operator.core.cluster.facts import ClusterRecord, Sleep
from valkey_operator.core.cluster.scale import Place


def first_memory(places: Collection[Place], shards: int) -> ClusterRecord:
    """Of a cluster without a record; `places` are those of nodes and volumes that are there.

    With any of them it was formed before, and wakes up with all of them: any may own slots, or have the newest copy.
    """
    if not places:
        return ClusterRecord()
    most_shards, most_nodes = (max(numbers) + 1 for numbers in zip(*places, strict=True))
    return ClusterRecord(formed=True, asleep=Sleep(shards=most_shards, replicas=most_nodes, asked=shards))


def record_of(cluster: str, memory: ClusterRecord) -> ValkeyShardSpec:
    """The record. Its epoch is that of leave to write: who is primary, and since when, is the servers' own affair."""
    found = msgspec.convert(msgspec.to_builtins(memory), ClusterMemory)
    return ValkeyShardSpec(
        owner=ShardOwner(kind="ValkeyCluster", name=cluster),
        index=0,
        authority="Cluster",
        epoch=memory.leave.epoch if memory.leave else 0,
        cluster=found,
    )


def memory_of(record: ValkeyShardSpec) -> ClusterRecord:
    """What a record holds."""
    found = msgspec.to_builtins(record.cluster or ClusterMemory())
    if "leave" in found:
        found["leave"]["epoch"] = record.epoch
    return msgspec.convert(found, ClusterRecord)
