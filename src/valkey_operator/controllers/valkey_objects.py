"""The objects of a Valkey beside its nodes: its record, its endpoint for writers, and what all workloads have.

Owns: which are made when. Refuses to know: what they look like (core/render).
"""

from collections.abc import Collection, Mapping

import msgspec

from valkey_operator.api.shard import ShardOwner, ValkeyShardSpec
from valkey_operator.controllers import kinds
from valkey_operator.controllers.ground import Ground
from valkey_operator.controllers.keeper import Keeper, NameConflictError, is_ours
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.controllers.workload_objects import WorkloadObjects
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.core.names import Owner, node_name
from valkey_operator.core.render.objects import Manifest, metadata
from valkey_operator.core.render.services import services
from valkey_operator.core.shard.members import first_record_names_primary
from valkey_operator.kube.client import KubeClient
from valkey_operator.runtime.metrics import EngineMetrics


class ValkeyObjects(WorkloadObjects):
    """For one term."""

    def __init__(self, ground: Ground, client: KubeClient, metrics: EngineMetrics) -> None:
        super().__init__(ground, client, metrics, "Valkey")
        self.valkeys = Keeper(client, kinds.VALKEYS, ground.valkeys, metrics)
        self.slices = Keeper(client, kinds.SLICES, ground.slices, metrics)

    async def ensure(
        self, owner: Owner, labels: Mapping[str, str], spec: EffectiveValkey, *, alone: bool
    ) -> list[NameConflictError]:
        """Everything but record, budget and nodes; what has a name that somebody else uses is left out, and told."""
        return await self.ensure_common(owner, labels, spec, services=services(owner, labels, spec, alone=alone))

    async def ensure_record(
        self, owner: Owner, labels: Mapping[str, str], *, volumes: Collection[int], nodes: Collection[int]
    ) -> ShardObject:
        """The record, made once and then only ever swapped; raises `NameConflictError`."""
        begins = first_record_names_primary(volumes, nodes)
        return await self.ensure_first_record(first_record(owner, labels, begins=begins))

    async def ensure_budget(
        self, owner: Owner, labels: Mapping[str, str], spec: EffectiveValkey, *, next_eviction: str | None
    ) -> None:
        """The budget of the shard, or none; raises `NameConflictError`."""
        await self.ensure_shard_budget(owner, labels, spec, replicas=spec.replicas, next_eviction=next_eviction)

    def is_record_of(self, record: ShardObject, owner: Owner) -> bool:
        """Whether it is the record of that very object."""
        return is_ours(record, first_record(owner, record.metadata.labels, begins=False))


def first_record(owner: Owner, labels: Mapping[str, str], *, begins: bool) -> Manifest:
    """Node 0 is the first primary, unless there is something from before, which has to be compared."""
    record = ValkeyShardSpec(
        owner=ShardOwner(kind="Valkey", name=owner.name),
        index=0,
        authority="Operator",
        epoch=1 if begins else 0,
        primary=node_name(owner.name, 0) if begins else None,
    )
    return {"metadata": metadata(owner.name, owner, labels, cr=owner.name), "spec": msgspec.to_builtins(record)}
