"""The objects of a ValkeyCluster beside its nodes: its record, the budgets of its shards, and what all workloads have.

Owns: which are made when, and the mark of volumes whose data were moved away. Refuses to know: what they look like
(core/render), and what is remembered (core/cluster/record.py).
"""

from collections.abc import Collection, Mapping

import msgspec

from valkey_operator.controllers import kinds
from valkey_operator.controllers.ground import Ground
from valkey_operator.controllers.keeper import Keeper, NameConflictError, all_done, is_ours, is_unbound
from valkey_operator.controllers.kinds import ClaimObject, ShardObject
from valkey_operator.controllers.workload_objects import WorkloadObjects
from valkey_operator.core.cluster.facts import ClusterRecord
from valkey_operator.core.cluster.record import record_of
from valkey_operator.core.effective import EffectiveCluster
from valkey_operator.core.names import (
    CLUSTER_KIND,
    EMPTY_ANNOTATION,
    KIND_LABEL,
    OWNER_LABEL,
    Owner,
    owner_labels,
    shard_labels,
    shard_name,
)
from valkey_operator.core.render.objects import Manifest, metadata
from valkey_operator.core.render.services import cluster_services
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.metrics import EngineMetrics


class ClusterObjects(WorkloadObjects):
    """For one term."""

    def __init__(self, ground: Ground, client: KubeClient, metrics: EngineMetrics) -> None:
        super().__init__(ground, client, metrics, CLUSTER_KIND)
        self.clusters = Keeper(client, kinds.CLUSTERS, ground.clusters, metrics)

    async def ensure(self, owner: Owner, spec: EffectiveCluster) -> list[NameConflictError]:
        """Everything but record, budgets and nodes; what has a name that somebody else uses is left out, and told."""
        labels = owner_labels(CLUSTER_KIND, owner.name)
        return await self.ensure_common(owner, labels, spec, services=cluster_services(owner, spec))

    async def ensure_record(self, owner: Owner, memory: ClusterRecord) -> ShardObject:
        """The record, which begins with that, made once and then only ever swapped; raises `NameConflictError`."""
        return await self.ensure_first_record(first_record(owner, memory))

    def is_record_of(self, record: ShardObject, owner: Owner) -> bool:
        """Whether it is the record of that very object."""
        return record.spec.owner.kind == CLUSTER_KIND and is_ours(record, first_record(owner, ClusterRecord()))

    async def ensure_budgets(
        self, owner: Owner, spec: EffectiveCluster, shards: Collection[int], evictions: Mapping[int, str]
    ) -> list[NameConflictError]:
        """One for each of these shards, and none that is left over from another."""
        labels = {shard: shard_labels(CLUSTER_KIND, owner.name, shard) for shard in shards}
        names = {shard_name(each) for each in labels.values()}
        return await all_done(
            *(
                self.ensure_shard_budget(owner, each, spec, replicas=spec.replicas, next_eviction=evictions.get(shard))
                for shard, each in labels.items()
            ),
            *(self.budgets.remove(key) for key in self._budgets_of(owner) if key.name not in names),
        )

    async def mark_empty(self, claim: ClaimObject, *, is_empty: bool) -> None:
        """Write on a volume whether it holds only what was moved away, and is to be made anew before it is used."""
        if is_unbound(claim) or (EMPTY_ANNOTATION in claim.metadata.annotations) == is_empty:
            return
        changes = {"annotations": {EMPTY_ANNOTATION: "true" if is_empty else None}}
        await self.claims.writer.merge(claim.key, {"metadata": changes}, ClaimObject)

    def _budgets_of(self, owner: Owner) -> list[Key]:
        wanted = {KIND_LABEL: CLUSTER_KIND, OWNER_LABEL: owner.name}
        ours = (each for each in self.budgets.store.list() if each.key.namespace == owner.namespace)
        return [each.key for each in ours if wanted.items() <= each.metadata.labels.items()]


def first_record(owner: Owner, memory: ClusterRecord) -> Manifest:
    """The record of a cluster, named after it."""
    labels = owner_labels(CLUSTER_KIND, owner.name)
    spec = msgspec.to_builtins(record_of(owner.name, memory))
    return {"metadata": metadata(owner.name, owner, labels, cr=owner.name), "spec": spec}
