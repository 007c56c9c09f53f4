"""What a Valkey and a ValkeyCluster have alike beside their nodes: rights of the agents, password, Services, budgets.

Owns: which are made when. Refuses to know: what they look like (core/render), and what a record says.
"""

import secrets
from collections.abc import Coroutine, Mapping, Sequence

from valkey_operator.controllers import kinds
from valkey_operator.controllers.agents.authority import Secret
from valkey_operator.controllers.binding import Bindings
from valkey_operator.controllers.ground import Ground
from valkey_operator.controllers.keeper import Keeper, NameConflictError, all_done, is_ours
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.core.effective import EffectiveWorkload
from valkey_operator.core.names import Owner, shard_name
from valkey_operator.core.render.access import role, role_binding, service_account
from valkey_operator.core.render.auth import auth_secret, parse_password
from valkey_operator.core.render.budget import disruption_budget
from valkey_operator.core.render.objects import Manifest
from valkey_operator.core.render.pod import given_password
from valkey_operator.kube.client import KubeClient, key_of
from valkey_operator.kube.errors import AlreadyExistsError
from valkey_operator.kube.objects import Key, KubeObject
from valkey_operator.runtime.metrics import EngineMetrics

_PASSWORD_BYTES = 24
_OPTIONAL_SERVICES = ("-read", "-metrics")


class WorkloadObjects:
    """For one term, and owners of one kind."""

    def __init__(self, ground: Ground, client: KubeClient, metrics: EngineMetrics, kind: str) -> None:
        self.nodes = Keeper(client, kinds.NODES, ground.nodes, metrics)
        self.shards = Keeper(client, kinds.SHARDS, ground.shards, metrics)
        self.pods = Keeper(client, kinds.PODS, ground.pods, metrics)
        self.claims = Keeper(client, kinds.CLAIMS, ground.claims, metrics)
        self.budgets = Keeper(client, kinds.BUDGETS, ground.budgets, metrics)
        self.bindings = Bindings(ground, client, metrics, kind)
        self._accounts = Keeper(client, kinds.SERVICE_ACCOUNTS, ground.service_accounts, metrics)
        self._roles = Keeper(client, kinds.ROLES, ground.roles, metrics)
        self._bindings = Keeper(client, kinds.ROLE_BINDINGS, ground.role_bindings, metrics)
        self._services = Keeper(client, kinds.SERVICES, ground.services, metrics)
        self._secrets = Keeper(client, kinds.SECRETS, ground.secrets, metrics)
        self._client = client
        self._judged: dict[Key, str] = {}

    async def ensure_common(
        self, owner: Owner, labels: Mapping[str, str], spec: EffectiveWorkload, *, services: Sequence[Manifest]
    ) -> list[NameConflictError]:
        """Everything but record, budgets and nodes; what has a name that somebody else uses is left out, and told."""
        return await all_done(
            self._accounts.ensure(service_account(owner, labels)),
            self._ensure_rights(owner, labels),
            *(self._services.ensure(service) for service in services),
            *self._removals(owner, {service["metadata"]["name"] for service in services}),
            self._ensure_password(owner, labels, spec),
        )

    async def _ensure_rights(self, owner: Owner, labels: Mapping[str, str]) -> None:
        # A right can only be bound once it is there.
        await self._roles.ensure(role(owner, labels))
        await self._bindings.ensure(role_binding(owner, labels))

    async def ensure_first_record(self, manifest: Manifest) -> ShardObject:
        """The record, made once and then only ever swapped; raises `NameConflictError`."""
        key = key_of(manifest)
        live = self.shards.store.get(key)
        if live is None:
            try:
                return await self.shards.writer.create(manifest, ShardObject)
            except AlreadyExistsError:
                await self.shards.store.wait_current([key])
                raise
        if not is_ours(live, manifest):
            raise NameConflictError("ValkeyShard", key)
        await self.shards.store.wait_current([key])
        live = self.shards.store.get(key) or live
        if live.metadata.owner_references:
            return live
        owners = {"ownerReferences": manifest["metadata"]["ownerReferences"]}
        return await self.shards.writer.merge(key, {"metadata": owners}, ShardObject)

    async def ensure_shard_budget(
        self,
        owner: Owner,
        labels: Mapping[str, str],
        spec: EffectiveWorkload,
        *,
        replicas: int,
        next_eviction: str | None,
    ) -> None:
        """The budget of a shard with so many pods, or none; raises `NameConflictError`."""
        budget = disruption_budget(owner, labels, spec, replicas=replicas, next_eviction=next_eviction)
        if budget is None:
            await self.budgets.remove(Key(owner.namespace, shard_name(labels)))
        else:
            await self.budgets.ensure(budget)

    def _removals(self, owner: Owner, wanted: set[str]) -> list[Coroutine[None, None, bool]]:
        names = [f"{owner.name}{suffix}" for suffix in _OPTIONAL_SERVICES]
        return [self._services.remove(Key(owner.namespace, name)) for name in names if name not in wanted]

    async def _ensure_password(self, owner: Owner, labels: Mapping[str, str], spec: EffectiveWorkload) -> None:
        """Generated once; whoever has read it relies on it, so what the Secret holds counts, also if edited by hand."""
        if spec.auth.disabled or given_password(spec) is not None:
            return
        fresh = auth_secret(owner, labels, secrets.token_urlsafe(_PASSWORD_BYTES))
        live = await self._secrets.find(key_of(fresh))
        if live is None:
            # Not applied: that of a process which was killed, and comes late, must not change what others have read.
            await self._secrets.writer.create(fresh, KubeObject)
        elif self._judged.get(live.key) != live.metadata.resource_version:
            await self._mend_password(owner, labels, live, fresh)

    async def _mend_password(self, owner: Owner, labels: Mapping[str, str], live: KubeObject, fresh: Manifest) -> None:
        """Bring the other keys in line with the password; what is in a Secret is in no cache, so it is read."""
        if not is_ours(live, fresh):
            raise NameConflictError("Secret", live.key)
        held = await self._client.get(kinds.SECRETS.resource, live.key, Secret)
        password = parse_password(held.data)
        wanted = auth_secret(owner, labels, password) if password else fresh
        await self._secrets.ensure(wanted)
        if wanted["stringData"].items() <= {key: _text(value) for key, value in held.data.items()}.items():
            self._judged[live.key] = held.metadata.resource_version


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
