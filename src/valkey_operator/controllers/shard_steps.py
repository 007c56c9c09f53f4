"""Carrying out the steps of a shard's plan: the record by compare-and-swap, orders to the agents.

Owns: how each step is done, and what its failure means. Each is safe to repeat. Refuses to know: why a step is due.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from valkey_operator.controllers.agents.messages import Outcome
from valkey_operator.controllers.agents.orders import AgentsInTerm
from valkey_operator.controllers.kinds import PODS, PodObject, ShardObject
from valkey_operator.controllers.live_settings import LiveSettings
from valkey_operator.controllers.valkey_facts import ShardView
from valkey_operator.core.names import ROLE_LABEL
from valkey_operator.core.shard.roles import role_labels
from valkey_operator.core.shard.steps import LookAgain, Order, Reason, ShardPlan, Step, SwapRecord
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.writer import Writer
from valkey_operator.runtime.outcome import TransientError

log = structlog.get_logger(__name__)

LOOK_PAUSE_S = 0.003
NOBODY_PAUSE_S = 0.05
_NOT_FIELDS = ("node",)

Tell = Callable[[Reason, str], None]
"""Tells a user that the record has changed, and why."""


class ShardSteps:
    """For one term."""

    def __init__(self, client: KubeClient, shards: Writer[ShardObject], agents: AgentsInTerm) -> None:
        self._client = client
        self._shards = shards
        self._agents = agents
        self.settings = LiveSettings(agents)

    async def ask(self, view: ShardView) -> bool:
        """Ask the agents of which nothing was heard in this term; whether there were any."""
        if not view.unheard:
            return False
        await self._agents.pull(view.unheard)
        return True

    async def carry_out(self, plan: ShardPlan, record: ShardObject, view: ShardView, tell: Tell) -> None:
        """All steps in their order; raises what asks for another look."""
        for step in plan.steps:
            if isinstance(step, SwapRecord):
                record = await self._swap(step, record)
                tell(step.reason, step.message)
            else:
                await self._order(step, record, view)

    async def label_pods(self, view: ShardView) -> None:
        """Say on each pod what it is: the Services find their pods by it."""
        roles = role_labels(view.facts)
        await asyncio.gather(*(self._label(view, name, role) for name, role in roles.items() if name in view.pods))

    async def _label(self, view: ShardView, node: str, role: str) -> None:
        pod = view.pods[node]
        if pod.role == role or pod.leaving:
            return
        # With the uid, a pod that is gone is not made anew.
        meta = {"namespace": view.namespace, "name": pod.name, "uid": pod.uid, "labels": {ROLE_LABEL: role}}
        await self._client.apply(PODS.resource, {"metadata": meta}, PodObject)

    async def _swap(self, step: SwapRecord, record: ShardObject) -> ShardObject:
        meta = record.metadata
        manifest = {
            "metadata": {
                "namespace": meta.namespace,
                "name": meta.name,
                "resourceVersion": meta.resource_version,
                "labels": meta.labels,
                "annotations": meta.annotations,
                "ownerReferences": msgspec.to_builtins(meta.owner_references),
            },
            "spec": msgspec.to_builtins(step.record),
        }
        written = await self._shards.replace(manifest, ShardObject)
        log.info("record", shard=str(record.key), reason=step.reason, message=step.message, epoch=step.record.epoch)
        return written

    async def _order(self, step: Step, record: ShardObject, view: ShardView) -> None:
        assert not isinstance(step, SwapRecord)  # noqa: S101 - for the type checker
        target = view.target(step.node)
        if target is None:
            raise TransientError(f"The pod of {step.node} has no address yet")
        if isinstance(step, LookAgain):
            await asyncio.sleep(LOOK_PAUSE_S)
            await self._agents.report(target)
            return
        name, fields = spelled(step)
        result = await self._agents.order(target, name, epoch=record.spec.epoch, **fields)
        if result.outcome is Outcome.NOBODY_WAITS:
            await asyncio.sleep(NOBODY_PAUSE_S)  # most likely the agent has let its server in by itself
        elif not result.obeyed:
            raise TransientError(f"{step.node} did not obey {name}: {result.detail}")


def spelled(order: Order) -> tuple[str, dict[str, Any]]:
    """An order's name and fields as agent.proto has them."""
    fields = {name: getattr(order, name) for name in order.__struct_fields__ if name not in _NOT_FIELDS}
    return type(order).__name__, {name: value for name, value in fields.items() if value is not None}
