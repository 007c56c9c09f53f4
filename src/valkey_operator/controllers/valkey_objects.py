"""The objects of a Valkey beside its nodes: rights of the agents, Services, the password, the record.

Owns: which are made when. Refuses to know: what they look like (core/render).
"""

import asyncio
import secrets
from collections.abc import Coroutine, Mapping

import msgspec

from valkey_operator.api.shard import ShardOwner, ValkeyShardSpec
from valkey_operator.controllers import kinds
from valkey_operator.controllers.ground import Ground
from valkey_operator.controllers.keeper import Keeper, NameConflictError, is_ours
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.core.names import Owner, auth_secret_name, node_name
from valkey_operator.core.render.access import role, role_binding, service_account
from valkey_operator.core.render.auth import auth_secret
from valkey_operator.core.render.objects import Manifest, metadata
from valkey_operator.core.render.pod import password_source
from valkey_operator.core.render.services import services
from valkey_operator.core.shard.members import first_record_names_primary
from valkey_operator.kube.client import KubeClient, key_of
from valkey_operator.kube.errors import AlreadyExistsError
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.metrics import EngineMetrics

_PASSWORD_BYTES = 24
_OPTIONAL_SERVICES = ("-read", "-metrics")


class ValkeyObjects:
    """For one term."""

    def __init__(self, ground: Ground, client: KubeClient, metrics: EngineMetrics) -> None:
        self.nodes = Keeper(client, kinds.NODES, ground.nodes, metrics)
        self.valkeys = Keeper(client, kinds.VALKEYS, ground.valkeys, metrics)
        self.shards = Keeper(client, kinds.SHARDS, ground.shards, metrics)
        self.claims = Keeper(client, kinds.CLAIMS, ground.claims, metrics)
        self._accounts = Keeper(client, kinds.SERVICE_ACCOUNTS, ground.service_accounts, metrics)
        self._roles = Keeper(client, kinds.ROLES, ground.roles, metrics)
        self._bindings = Keeper(client, kinds.ROLE_BINDINGS, ground.role_bindings, metrics)
        self._services = Keeper(client, kinds.SERVICES, ground.services, metrics)
        self._secrets = Keeper(client, kinds.SECRETS, ground.secrets, metrics)

    async def ensure(self, owner: Owner, labels: Mapping[str, str], spec: EffectiveValkey, *, alone: bool) -> None:
        """Everything but record and nodes; raises `NameConflictError`."""
        wanted = services(owner, labels, spec, alone=alone)
        await asyncio.gather(
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

    async def ensure_record(self, owner: Owner, labels: Mapping[str, str], volumes: Mapping[int, Key]) -> ShardObject:
        """The record, made once and then only ever swapped."""
        key = Key(owner.namespace, owner.name)
        live = self.shards.store.get(key)
        if live is None:
            manifest = first_record(owner, labels, volumes)
            try:
                return await self.shards.writer.create(manifest, ShardObject)
            except AlreadyExistsError:
                await self.shards.store.wait_current([key])
                raise
        if not is_ours(live, first_record(owner, labels, volumes)):
            raise NameConflictError("ValkeyShard", key)
        await self.shards.store.wait_current([key])
        return self.shards.store.get(key) or live

    def _removals(self, owner: Owner, wanted: set[str]) -> list[Coroutine[None, None, bool]]:
        names = [f"{owner.name}{suffix}" for suffix in _OPTIONAL_SERVICES]
        return [self._services.remove(Key(owner.namespace, name)) for name in names if name not in wanted]

    async def _ensure_password(self, owner: Owner, labels: Mapping[str, str], spec: EffectiveValkey) -> None:
        """Generated once; whoever has read it relies on it."""
        source = password_source(spec, owner.name)
        if source is None or source.name != auth_secret_name(owner.name) or _is_given(spec):
            return
        manifest = auth_secret(owner, labels, secrets.token_urlsafe(_PASSWORD_BYTES))
        live = await self._secrets.find(key_of(manifest))
        if live is None:
            await self._secrets.ensure(manifest)
        elif not is_ours(live, manifest):
            raise NameConflictError("Secret", live.key)


def first_record(owner: Owner, labels: Mapping[str, str], volumes: Mapping[int, Key]) -> Manifest:
    """Node 0 is the first primary, unless there are volumes from before, whose copies have to be compared."""
    begins = first_record_names_primary(volumes)
    record = ValkeyShardSpec(
        owner=ShardOwner(kind="Valkey", name=owner.name),
        index=0,
        authority="Operator",
        epoch=1 if begins else 0,
        primary=node_name(owner.name, 0) if begins else None,
    )
    return {"metadata": metadata(owner.name, owner, labels, cr=owner.name), "spec": msgspec.to_builtins(record)}


def _is_given(spec: EffectiveValkey) -> bool:
    auth = spec.auth
    return auth.secret_ref is not None or (auth.password is not None and auth.password.secret is not None)
