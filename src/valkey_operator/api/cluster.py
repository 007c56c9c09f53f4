"""ValkeyCluster: one data set, sharded by Valkey's cluster mode."""

from typing import Annotated, ClassVar, Literal

import msgspec

from valkey_operator.api.fields import DURATION, Model, Rule, doc, map_list
from valkey_operator.api.meta import API_VERSION, ObjectMeta
from valkey_operator.api.placement import RoundRobinZones
from valkey_operator.api.rules import LONGEST_SHARDED_NAME, MOST_REPLICAS, MOST_SHARDS, fitting_name
from valkey_operator.api.status import Operation, WorkloadStatus
from valkey_operator.api.workload import WORKLOAD_RULES, WorkloadSpec

LEAST_SHARDS = 3


class ClusterSettings(Model, frozen=True, kw_only=True):
    """How the cluster behaves when nodes are lost."""

    node_timeout: Annotated[
        str | None,
        doc(
            "How long a node must be unreachable to be taken for failed, such as 15s. Built in: 5s.",
            pattern=DURATION,
            maxLength=16,
        ),
    ] = None
    replica_read_only: Annotated[bool | None, doc("Refuse writes of clients on replicas. Built in: true.")] = None
    allow_reads_when_down: Annotated[
        bool | None, doc("Answer reads even while the cluster is down. Built in: false.")
    ] = None
    migration_barrier: Annotated[
        int | None,
        doc(
            "Let a replica move by itself to a primary without one, if at least this many stay behind. "
            "Built in: none, so replicas never move and the operator places them.",
            minimum=1,
            maximum=MOST_REPLICAS,
        ),
    ] = None


class ValkeyClusterSpec(WorkloadSpec, frozen=True, kw_only=True):
    """What a user asks for."""

    RULES: ClassVar[tuple[Rule, ...]] = WORKLOAD_RULES

    shards: Annotated[
        int | None,
        doc(
            "Number of shards, at least 3. Slots move while clients work. Built in: 3.",
            minimum=LEAST_SHARDS,
            maximum=MOST_SHARDS,
        ),
    ] = None
    replicas: Annotated[
        int | None,
        doc(
            "Total number of pods of each shard: 0 = suspended, volumes kept; 1 = no replicas; 2 and more = a "
            "primary and "
            "replicas. Built in: 3.",
            minimum=0,
            maximum=MOST_REPLICAS,
        ),
    ] = None
    cluster: Annotated[ClusterSettings | None, doc("How the cluster behaves when nodes are lost.")] = None
    az_distribution: Annotated[
        RoundRobinZones | None, doc("Availability zones, dealt out over the shards in turn.")
    ] = None


class ClusterShardStatus(Model, frozen=True, kw_only=True):
    """One shard."""

    shard_index: Annotated[int, doc("Number of the shard, from 0.")]
    primary: Annotated[str | None, doc("The node that takes writes.")] = None
    primary_epoch: Annotated[int | None, doc("Counts the changes of the primary.")] = None
    replicas: Annotated[list[str] | None, doc("The nodes that follow it.")] = None
    slots: Annotated[str | None, doc("The slots that the shard owns.")] = None
    zone: Annotated[str | None, doc("Zone of the primary.")] = None
    ready: Annotated[bool | None, doc("Whether all nodes of the shard are Ready.")] = None
    operation: Annotated[Operation | None, doc("The change of primary that is under way.")] = None


class MigrationStatus(Model, frozen=True, kw_only=True):
    """Slots that are moving."""

    from_: Annotated[str | None, doc("The shard that gives.")] = msgspec.field(default=None, name="from")
    to: Annotated[str | None, doc("The shard that takes.")] = None
    slots: Annotated[str | None, doc("The slots that are moving now.")] = None
    moved: Annotated[int | None, doc("Slots moved so far.")] = None
    remaining: Annotated[int | None, doc("Slots still to move.")] = None
    since: Annotated[str | None, doc("When slots began to move.")] = None
    keys_per_second: Annotated[int | None, doc("Keys that moved in a second so far, about.")] = None
    seconds_left: Annotated[int | None, doc("How much longer it will take at this pace, in seconds.")] = None


class ValkeyClusterStatus(WorkloadStatus, frozen=True, kw_only=True):
    """What was observed."""

    total_shards: Annotated[int | None, doc("Shards that should be there.")] = None
    ready_shards: Annotated[int | None, doc("Shards whose nodes are all Ready.")] = None
    slots_assigned: Annotated[int | None, doc("Slots that have an owner, of 16384.")] = None
    slots_unassigned: Annotated[int | None, doc("Slots that have none.")] = None
    shards: Annotated[list[ClusterShardStatus] | None, map_list("The shards.", "shardIndex", at_most=MOST_SHARDS)] = (
        None
    )
    migration: Annotated[MigrationStatus | None, doc("Slots that are moving.")] = None


class ValkeyCluster(Model, frozen=True, kw_only=True):
    """One data set over several shards, which grows and shrinks while clients work."""

    RULES: ClassVar[tuple[Rule, ...]] = (fitting_name(LONGEST_SHARDED_NAME),)

    api_version: str = API_VERSION
    kind: Literal["ValkeyCluster"] = "ValkeyCluster"
    metadata: ObjectMeta
    spec: Annotated[ValkeyClusterSpec, doc("What is asked for.")]
    status: Annotated[ValkeyClusterStatus | None, doc("What was observed.")] = None
