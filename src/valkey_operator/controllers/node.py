"""The controller of ValkeyNodes: workload, Service, volume, settings and certificate of one pod.

Owns: the order in which they are made, and that a pod is replaced only on its turn. No topology decision, ever.
Refuses to know: what is in the pod, and who is primary.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec

from valkey_operator.controllers import kinds
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.controllers.clock import loop_time_of, utc_now
from valkey_operator.controllers.ground import BY_OWNER, Ground
from valkey_operator.controllers.keeper import Keeper, NameConflictError, is_unbound
from valkey_operator.controllers.kinds import NodeObject
from valkey_operator.controllers.node_certificate import NodeCertificates
from valkey_operator.controllers.pods import node_pod, pod_of
from valkey_operator.core.names import (
    CLUSTER_KIND,
    CR_ANNOTATION,
    OWNER_LABEL,
    ROLL_HASH_ANNOTATION,
    TURN_ANNOTATION,
    Owner,
)
from valkey_operator.core.pods import PodFacts
from valkey_operator.core.quantity import parse_quantity
from valkey_operator.core.render.objects import Manifest
from valkey_operator.core.render.workload import (
    claim,
    is_deployment,
    node_service,
    settings,
    volume_refused,
    with_address,
    workload,
)
from valkey_operator.core.status.node import NodeFacts, node_status
from valkey_operator.kube.client import KubeClient, key_of
from valkey_operator.kube.errors import ForbiddenError, InvalidError
from valkey_operator.kube.objects import Key, KubeObject
from valkey_operator.kube.store import Store
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.runtime.outcome import Result, TransientError

# What an API server refuses may be up to a quota or a webhook, which nobody can watch.
_RECHECK = timedelta(seconds=60)
# What belongs to somebody else is in no cache, so nothing tells when it goes.
RECHECK_S = 5.0
_ADDRESS_TRIES, _ADDRESS_PAUSE_S = 20, 0.1


class Made(msgspec.Struct, frozen=True):
    """What came of making a node's objects: when to look again, and why the volume is not as it shall be."""

    wake_at: float
    refused_volume: str | None = None


class NodeController:
    """For one term."""

    def __init__(
        self,
        ground: Ground,
        client: KubeClient,
        metrics: EngineMetrics,
        reports: Reports,
        *,
        certificates: Callable[[Keeper[KubeObject]], NodeCertificates],
    ) -> None:
        self._ground = ground
        self._client = client
        self._reports = reports
        self._nodes = Keeper(client, kinds.NODES, ground.nodes, metrics)
        self._services = Keeper(client, kinds.SERVICES, ground.services, metrics)
        self._claims = Keeper(client, kinds.CLAIMS, ground.claims, metrics)
        self._settings = Keeper(client, kinds.CONFIG_MAPS, ground.config_maps, metrics)
        self._stateful_sets = Keeper(client, kinds.STATEFUL_SETS, ground.stateful_sets, metrics)
        self._deployments = Keeper(client, kinds.DEPLOYMENTS, ground.deployments, metrics)
        self._certificates = certificates(Keeper(client, kinds.SECRETS, ground.secrets, metrics))

    async def reconcile(self, key: Key) -> Result:
        """Make everything of one node as it shall be, and say how it is."""
        node = self._ground.nodes.get(key)
        if node is None or node.metadata.deletion_timestamp:
            self._reports.forget(key)
            self._certificates.forget(key)
            return Result()
        if is_unbound(node):
            return Result()
        pod, held = node_pod(self._ground, key), None
        made = Made(asyncio.get_running_loop().time() + RECHECK_S)
        try:
            made = await self._make(node, pod)
        except (NameConflictError, InvalidError, ForbiddenError) as problem:
            held = problem
        await self._report(node, pod, held, made)
        return Result(wake_at=made.wake_at)

    async def _make(self, node: NodeObject, pod: PodFacts | None) -> Made:
        """Everything of one node. What needs an object of somebody else is not made."""
        owner, cr = _owner(node), node.metadata.annotations[CR_ANNOTATION]
        address = await self._ensure_service(node, owner, cr)
        _, refused, renew_at = await asyncio.gather(
            self._settings.ensure(settings(owner, node.metadata.labels, node.spec, cr=cr, address=address)),
            self._ensure_claim(node, owner, cr),
            self._certificates.ensure(owner, node.metadata.labels, cr=cr),
        )
        if self._may_have_workload(node):
            await self._ensure_workload(node, owner, cr, pod)
            await self._replace_on_turn(node, pod)
        again = utc_now() + _RECHECK if refused else renew_at
        return Made(loop_time_of(min(again, renew_at)), refused)

    async def _ensure_service(self, node: NodeObject, owner: Owner, cr: str) -> str:
        manifest = node_service(owner, node.metadata.labels, node.spec, cr=cr)
        former = node.status.service_ip if node.status and self._address(node.key) is None else None
        await self._ensure_at(manifest, former)
        await self._ground.services.wait_current([node.key])
        address = self._address(node.key)
        if address is None:
            raise TransientError(f"Service {node.key} has no address yet")
        return address

    async def _ensure_at(self, service: Manifest, former: str | None) -> None:
        """With the address it had, if it had one: that is free only a moment after the Service was deleted."""
        for _ in range(_ADDRESS_TRIES if former else 0):
            try:
                await self._services.ensure(with_address(service, former))
            except InvalidError:
                await asyncio.sleep(_ADDRESS_PAUSE_S)
            else:
                return
        # It never had one, or somebody else has got it meanwhile.
        await self._services.ensure(service)

    def _address(self, key: Key) -> str | None:
        service = self._ground.services.get(key)
        return service.spec.cluster_ip or None if service is not None else None

    async def _ensure_claim(self, node: NodeObject, owner: Owner, cr: str) -> str | None:
        """Why the volume cannot be as it shall be; that must not keep the rest from being so."""
        volume = node.spec.persistence
        if volume is None or not volume.enabled:
            return None
        heir = self._heir(node) if volume.retention == "Delete" else None
        wanted = claim(owner, node.metadata.labels, node.spec, cr=cr, heir=heir)
        try:
            await self._claims.ensure(self._never_smaller(wanted))
        except (ForbiddenError, InvalidError) as error:
            live = self._ground.claims.get(key_of(wanted))
            size = wanted["spec"]["resources"]["requests"]["storage"]
            has = live.status.capacity.storage or live.spec.resources.requests.storage if live else None
            return volume_refused(wanted["metadata"]["name"], has=has, wanted=str(size), answer=_said(error))
        return None

    def _heir(self, node: NodeObject) -> Owner | None:
        """Whom a volume goes with: one that is gone, or another of its name, would take it along at once."""
        parent = _parent(node)
        if parent is None:
            return None
        parents: Store[Any] = self._ground.clusters if parent.kind == CLUSTER_KIND else self._ground.valkeys
        live = parents.get(Key(parent.namespace, parent.name))
        return parent if live is not None and live.metadata.uid == parent.uid else None

    def _never_smaller(self, wanted: Manifest) -> Manifest:
        """A volume that was kept may be larger than what is asked for now; it cannot shrink."""
        live = self._ground.claims.get(key_of(wanted))
        requests = wanted["spec"]["resources"]["requests"]
        if live is not None and parse_quantity(live.spec.resources.requests.storage or "0") > parse_quantity(
            requests["storage"]
        ):
            requests["storage"] = live.spec.resources.requests.storage
        return wanted

    def _may_have_workload(self, node: NodeObject) -> bool:
        """A pod that a former workload left behind may still take writes: until it is gone, no other is made.

        One that was orphaned on purpose belongs to nobody, and is taken up again.
        """
        pod = pod_of(self._ground, node.key)
        is_left_behind = pod is not None and bool(pod.metadata.deletion_timestamp or pod.metadata.owner_references)
        return self._workloads(node).store.get(node.key) is not None or not is_left_behind

    async def _ensure_workload(self, node: NodeObject, owner: Owner, cr: str, pod: PodFacts | None) -> None:
        # Also while the former pod goes: paused amid that, a Deployment would make another one of it.
        may_replace = pod is None or pod.leaving or _is_its_turn(node)
        manifest = workload(owner, node.metadata.labels, node.spec, cr=cr, may_replace=may_replace)
        await self._workloads(node).ensure(manifest)

    def _workloads(self, node: NodeObject) -> Keeper[KubeObject]:
        return self._deployments if is_deployment(node.spec) else self._stateful_sets

    async def _replace_on_turn(self, node: NodeObject, pod: PodFacts | None) -> None:
        """A StatefulSet's pod is replaced by being deleted; nothing but the turn that the owner gave allows it."""
        if is_deployment(node.spec) or pod is None or pod.leaving or not _is_its_turn(node):
            return
        live = self._ground.stateful_sets.get(node.key)
        if pod.roll_hash != _hash_of(node) and live is not None and not is_unbound(live):
            await self._ground.stateful_sets.wait_current([node.key])
            await self._client.delete(kinds.PODS.resource, Key(node.key.namespace, pod.name), uid=pod.uid)

    async def _report(self, node: NodeObject, pod: PodFacts | None, held: Exception | None, made: Made) -> None:
        received = self._reports.get(node.key, pod.uid) if pod else None
        view = received.view if received else None
        facts = NodeFacts(
            name=node.key.name,
            generation=node.metadata.generation,
            spec=node.spec,
            pod=pod,
            view=view,
            service_ip=self._address(node.key),
            refused_volume=made.refused_volume,
            follows=self._node_at(node, view.link.primary.host) if view and view.link else None,
            conflict=str(held) if isinstance(held, NameConflictError) else None,
            refused=None if held is None or isinstance(held, NameConflictError) else str(held),
            now=utc_now(),
        )
        status = msgspec.to_builtins(node_status(facts, node.status))
        manifest = {"metadata": {"namespace": node.key.namespace, "name": node.key.name}, "status": status}
        await self._nodes.writer.apply_status(
            manifest, NodeObject, live_status=msgspec.to_builtins(node.status) if node.status else None
        )

    def _node_at(self, node: NodeObject, address: str) -> str | None:
        cluster = node.metadata.labels.get(OWNER_LABEL, "")
        for service in self._ground.services.by_index(BY_OWNER, cluster):
            if service.key.namespace == node.key.namespace and service.spec.cluster_ip == address:
                return service.key.name
        return None


def _said(error: Exception) -> str:
    """The API server's own words, without the request that they answer."""
    return str(error).split(": ", 2)[-1]


def _owner(node: NodeObject) -> Owner:
    meta = node.metadata
    return Owner(kind="ValkeyNode", namespace=meta.namespace, name=meta.name, uid=meta.uid)


def _parent(node: NodeObject) -> Owner | None:
    for owner in node.metadata.owner_references:
        if owner.controller:
            return Owner(kind=owner.kind, namespace=node.metadata.namespace, name=owner.name, uid=owner.uid)
    return None


def _hash_of(node: NodeObject) -> str | None:
    template = node.spec.pod_template or {}
    found: str | None = template.get("metadata", {}).get("annotations", {}).get(ROLL_HASH_ANNOTATION)
    return found


def _is_its_turn(node: NodeObject) -> bool:
    return node.metadata.annotations.get(TURN_ANNOTATION) == _hash_of(node)
