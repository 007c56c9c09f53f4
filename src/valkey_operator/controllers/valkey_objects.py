"""The objects of a Valkey beside its nodes: rights of the agents, Services, the password, the budget, the record.

Owns: which are made when. Refuses to know: what they look like (core/render).
"""

import secrets
from collections.abc import Collection, Coroutine, Mapping

import msgspec

from valkey_operator.api.shard import ShardOwner, ValkeyShardSpec
from valkey_operator.controllers import kinds
from valkey_operator.controllers.agents.authority import Secret
from valkey_operator.controllers.binding import Bindings
from valkey_operator.controllers.ground import Ground
from valkey_operator.controllers.keeper import Keeper, NameConflictError, all_done, is_ours
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.core.names import Owner, node_name
from valkey_operator.core.render.access import role, role_binding, service_account
from valkey_operator.core.render.auth import auth_secret, parse_password
from valkey_operator.core.render.budget import disruption_budget
from valkey_operator.core.render.objects import Manifest, metadata
from valkey_operator.core.render.pod import given_password
from valkey_operator.core.render.services import services
from valkey_operator.core.shard.members import first_record_names_primary
from valkey_operator.kube.client import KubeClient, key_of
from valkey_operator.kube.errors import AlreadyExistsError
from valkey_operator.kube.objects import Key, KubeObject
from valkey_operator.runtime.metrics import EngineMetrics

_PASSWORD_BYTES = 24
_OPTIONAL_SERVICES = ("-read", "-metrics")


class ValkeyObjects:
    """For one term."""

    def __init__(self, ground: Ground, client: KubeClient, metrics: EngineMetrics) -> None:
        self.nodes = Keeper(client, kinds.NODES, ground.nodes, metrics)
        self.valkeys = Keeper(client, kinds.VALKEYS, ground.valkeys, metrics)
        self.shards = Keeper(client, kinds.SHARDS, ground.shards, metrics)
        self.pods = Keeper(client, kinds.PODS, ground.pods, metrics)
        self.claims = Keeper(client, kinds.CLAIMS, ground.claims, metrics)
        self._accounts = Keeper(client, kinds.SERVICE_ACCOUNTS, ground.service_accounts, metrics)
        self._roles = Keeper(client, kinds.ROLES, ground.roles, metrics)
        self._bindings = Keeper(client, kinds.ROLE_BINDINGS, ground.role_bindings, metrics)
        self._services = Keeper(client, kinds.SERVICES, ground.services, metrics)
        self.slices = Keeper(client, kinds.SLICES, ground.slices, metrics)
        self._secrets = Keeper(client, kinds.SECRETS, ground.secrets, metrics)
        self._budgets = Keeper(client, kinds.BUDGETS, ground.budgets, metrics)
        self.bindings = Bindings(ground, client, metrics)
        self._client = client
        self._judged: dict[Key, str] = {}

    async def ensure(
        self, owner: Owner, labels: Mapping[str, str], spec: EffectiveValkey, *, alone: bool
    ) -> list[NameConflictError]:
        """Everything but record, budget and nodes; what has a name that somebody else uses is left out, and told."""
        wanted = services(owner, labels, spec, alone=alone)
        return await all_done(
            self._accounts.ensure(service_account(owner, labels)),
            self._ensure_rights(owner, labels),
            *(self._services.ensure(service) for service in wanted),
            *self._removals(owner, {service["metadata"]["name"] for service in wanted}),
            self._ensure_password(owner, labels, spec),
        )

    async def _ensure_rights(self, owner: Owner, labels: Mapping[str, str]) -> None:
        # A right can only be bound once it is there.
        await self._roles.ensure(role(owner, labels))
        await self._bindings.ensure(role_binding(owner, labels))

    async def ensure_record(
        self, owner: Owner, labels: Mapping[str, str], *, volumes: Collection[int], nodes: Collection[int]
    ) -> ShardObject:
        """The record, made once and then only ever swapped; raises `NameConflictError`."""
        key = Key(owner.namespace, owner.name)
        live = self.shards.store.get(key)
        manifest = first_record(owner, labels, begins=first_record_names_primary(volumes, nodes))
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

    async def ensure_budget(
        self, owner: Owner, labels: Mapping[str, str], spec: EffectiveValkey, *, next_eviction: str | None
    ) -> None:
        """The budget of the shard, or none; raises `NameConflictError`."""
        budget = disruption_budget(owner, labels, spec, replicas=spec.replicas, next_eviction=next_eviction)
        if budget is None:
            await self._budgets.remove(Key(owner.namespace, owner.name))
        else:
            await self._budgets.ensure(budget)

    def is_record_of(self, record: ShardObject, owner: Owner) -> bool:
        """Whether it is the record of that very object."""
        return is_ours(record, first_record(owner, record.metadata.labels, begins=False))

    def _removals(self, owner: Owner, wanted: set[str]) -> list[Coroutine[None, None, bool]]:
        names = [f"{owner.name}{suffix}" for suffix in _OPTIONAL_SERVICES]
        return [self._services.remove(Key(owner.namespace, name)) for name in names if name not in wanted]

    async def _ensure_password(self, owner: Owner, labels: Mapping[str, str], spec: EffectiveValkey) -> None:
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


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None
