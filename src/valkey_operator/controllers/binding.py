"""Letting go of everything of a Valkey or a ValkeyCluster, and taking it up again.

Owns: which objects that concerns. Pods are never touched: their workloads keep them.
Refuses to know: when it is wished.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

from valkey_operator.controllers import kinds
from valkey_operator.controllers.ground import Ground
from valkey_operator.controllers.keeper import Keeper, is_unbound
from valkey_operator.core.names import KIND_LABEL, OWNER_LABEL
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.objects import Key, KubeObject
from valkey_operator.runtime.metrics import EngineMetrics


class Bindings:
    """For one term, and owners of one kind."""

    def __init__(self, ground: Ground, client: KubeClient, metrics: EngineMetrics, kind: str) -> None:
        stores: Iterable[tuple[kinds.Kind[Any], Any]] = (
            (kinds.NODES, ground.nodes),
            (kinds.SERVICES, ground.services),
            (kinds.SLICES, ground.slices),
            (kinds.SECRETS, ground.secrets),
            (kinds.CONFIG_MAPS, ground.config_maps),
            (kinds.CLAIMS, ground.claims),
            (kinds.SERVICE_ACCOUNTS, ground.service_accounts),
            (kinds.ROLES, ground.roles),
            (kinds.ROLE_BINDINGS, ground.role_bindings),
            (kinds.BUDGETS, ground.budgets),
            (kinds.STATEFUL_SETS, ground.stateful_sets),
            (kinds.DEPLOYMENTS, ground.deployments),
            # At last: by it a new Valkey of the same name sees that all was let go of.
            (kinds.SHARDS, ground.shards),
        )
        self._kind = kind
        self._shards = ground.shards
        self._keepers: list[Keeper[Any]] = [Keeper(client, kind, store, metrics) for kind, store in stores]

    async def release(self, owner: Key) -> None:
        """Nothing is the operator's any more, and nothing goes with the owner."""
        for keeper in self._keepers:
            await asyncio.gather(*(keeper.release(each) for each in self._made_for(owner, keeper)))

    def are_free(self, owner: Key) -> bool:
        """Whether one of this name was unbound and then deleted."""
        record = self._shards.get(owner)
        if record is None or record.spec.owner.kind != self._kind:
            return False
        return is_unbound(record) and not record.metadata.owner_references

    async def take_up(self, owner: Key) -> None:
        """What was let go of is the operator's again; what has an owner was never let go of as a whole."""
        for keeper in self._keepers:
            free = [each for each in self._made_for(owner, keeper) if not each.metadata.owner_references]
            await asyncio.gather(*(keeper.mark(each, owner.name) for each in free))
            await keeper.store.wait_current([each.key for each in free])

    def _made_for(self, owner: Key, keeper: Keeper[Any]) -> list[KubeObject]:
        wanted = {KIND_LABEL: self._kind, OWNER_LABEL: owner.name}
        return [
            each
            for each in keeper.store.list()
            if each.key.namespace == owner.namespace
            and wanted.items() <= each.metadata.labels.items()
            and not each.metadata.deletion_timestamp
        ]
