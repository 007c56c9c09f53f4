"""How clients find the servers of a shard: role labels on pods, and the endpoint of the write Service.

Owns: how they are written, and in which order. Refuses to know: who is what (core/shard/roles.py).
"""

import asyncio

import structlog

from valkey_operator.controllers.keeper import Keeper, NameConflictError
from valkey_operator.controllers.kinds import PodObject, ServiceObject
from valkey_operator.controllers.role_labels import label_pod
from valkey_operator.controllers.valkey_facts import ShardView
from valkey_operator.core.names import ENDPOINTS_LABEL
from valkey_operator.core.render.endpoints import write_endpoint
from valkey_operator.core.shard.members import is_alone
from valkey_operator.core.shard.roles import elected, role_labels
from valkey_operator.kube.errors import ApiError
from valkey_operator.kube.objects import Key, KubeObject
from valkey_operator.kube.store import Store

log = structlog.get_logger(__name__)


class Signposts:
    """For one term."""

    def __init__(self, pods: Keeper[PodObject], slices: Keeper[KubeObject], services: Store[ServiceObject]) -> None:
        self._pods = pods
        self._slices = slices
        self._services = services

    async def put_up(self, view: ShardView) -> None:
        """All as they shall be; raises `NameConflictError` where the slice is somebody else's."""
        primary = elected(view.facts)
        # Where there is no primary at the moment another one will come: a Service that changes twice is a second late.
        if not view.pods or self._finds_by_itself(view):
            await self._slices.remove(Key(view.owner.namespace, view.owner.name))
        elif primary is not None:
            await self._lead_writers(view, primary)
        namespace = view.owner.namespace
        roles = role_labels(view.facts).items()
        await asyncio.gather(*(label_pod(self._pods, namespace, view.pods.get(node), role) for node, role in roles))

    async def lead_writers_if_possible(self, view: ShardView, node: str) -> None:
        """To one that is about to be primary: a Service takes longer to follow than the server.

        What cannot be written keeps no server from its role; it is tried again at the end, and told.
        """
        try:
            await self._lead_writers(view, node)
        except (ApiError, NameConflictError) as problem:
            log.warning("clients cannot be told where to go", reason=str(problem))

    def _finds_by_itself(self, view: ShardView) -> bool:
        """Whether the Service selects the only node already, and will go on to."""
        service = self._services.get(Key(view.owner.namespace, view.owner.name))
        selects = service is not None and ENDPOINTS_LABEL not in service.spec.selector
        return selects and is_alone(view.facts.replicas, len(view.facts.members))

    async def _lead_writers(self, view: ShardView, node: str) -> None:
        pod = view.pods.get(node)
        if pod is not None and pod.ip is not None:
            await self._slices.ensure(write_endpoint(view.owner, view.labels, pod, pod.ip))
