"""The certificate of a node's agent: there, valid, and renewed in time.

Owns: when its Secret is read, judged and written. What is in it is in no cache: it is read once after each change that
was not our own. Refuses to know: what makes a certificate valid.
"""

from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec

from valkey_operator.controllers.agents.authority import Authority, Secret
from valkey_operator.controllers.keeper import Keeper
from valkey_operator.controllers.kinds import SECRETS
from valkey_operator.core.names import Owner, certificate_name
from valkey_operator.core.render.workload import certificate
from valkey_operator.core.status.conditions import timestamp
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.objects import Key, KubeObject
from valkey_operator.pki.authority import KeyPair


class _Judged(msgspec.Struct, frozen=True):
    version: str
    renew_at: datetime


class NodeCertificates:
    """Those of all nodes."""

    def __init__(
        self, client: KubeClient, secrets: Keeper[KubeObject], authority: Authority, now: Callable[[], datetime]
    ) -> None:
        self._client = client
        self._secrets = secrets
        self._authority = authority
        self._now = now
        self._judged: dict[Key, _Judged] = {}

    async def ensure(self, node: Owner, labels: Mapping[str, str], *, cr: str) -> datetime:
        """See that there is a valid one; when it is to be renewed."""
        key = Key(node.namespace, certificate_name(node.name))
        live = self._secrets.store.get(key)
        if live is not None:
            renew_at = await self._renewal(node, live)
            if renew_at > self._now():
                return renew_at
        return await self._renew(node, labels, key, cr=cr)

    async def _renewal(self, node: Owner, live: KubeObject) -> datetime:
        version = live.metadata.resource_version
        known = self._judged.get(live.key)
        if known is not None and known.version == version:
            return known.renew_at
        secret = await self._client.get(SECRETS.resource, live.key, Secret)
        data = secret.data
        leaf = KeyPair(data.get("tls.crt", b""), data.get("tls.key", b""))
        renew_at = self._authority.renewal_of(
            node.namespace, node.name, leaf, roots=data.get("ca.crt", b""), now=self._now()
        )
        self._judged[live.key] = _Judged(secret.metadata.resource_version, renew_at)
        return renew_at

    async def _renew(self, node: Owner, labels: Mapping[str, str], key: Key, *, cr: str) -> datetime:
        leaf = self._authority.leaf_for(node.namespace, node.name, self._now())
        files = {"tls.crt": leaf.certificate, "tls.key": leaf.key, "ca.crt": leaf.roots}
        await self._secrets.ensure(certificate(node, labels, files, cr=cr, renew_at=timestamp(leaf.renew_at)))
        await self._secrets.store.wait_current([key])
        if (written := self._secrets.store.get(key)) is not None:
            self._judged[key] = _Judged(written.metadata.resource_version, leaf.renew_at)
        return leaf.renew_at

    def forget(self, node: Key) -> None:
        """The node is gone."""
        self._judged.pop(Key(node.namespace, certificate_name(node.name)), None)
