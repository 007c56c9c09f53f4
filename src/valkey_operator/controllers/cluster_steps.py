"""Carrying out the steps of a cluster's plan: orders to the agents, side by side, and the record by compare-and-swap.

Owns: that steps at one node go one after the other, and that one which fails holds up nothing but what follows it
there. Each is safe to repeat. Refuses to know: why a step is due, and what an agent is told for it (cluster_orders.py).
"""

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Sequence
from typing import TypeAlias, TypeVar

import msgspec
import structlog

from valkey_operator.controllers.agents.messages import Outcome
from valkey_operator.controllers.agents.orders import AgentsInTerm, AgentUnreachableError, OrderResult
from valkey_operator.controllers.cluster_facts import ClusterSight
from valkey_operator.controllers.cluster_orders import NodeOrder, epoch_for, nodes_of, stages_of
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.core.cluster.facts import ClusterRecord
from valkey_operator.core.cluster.failover import rivals
from valkey_operator.core.cluster.record import record_of
from valkey_operator.core.cluster.roles import doubted
from valkey_operator.core.cluster.steps import Step
from valkey_operator.kube.writer import Writer
from valkey_operator.runtime.outcome import TransientError

log = structlog.get_logger(__name__)

LOOK_WITHIN_S = 0.5
# What was begun may still come about; nobody stands at the gate that was just passed. The next look tells.
_NO_FAILURES = frozenset({Outcome.OBEYED, Outcome.UNFINISHED, Outcome.NOBODY_WAITS})

_End = TypeVar("_End")


class Failed(msgspec.Struct, frozen=True):
    """A step that was not carried out, and why; `tried` False: another one at its node had failed."""

    step: Step
    problem: TransientError
    tried: bool = True


Trying: TypeAlias = asyncio.Task[Failed | None]
"""A step under way; the result is why it was not carried out, if so."""


class ClusterSteps:
    """For one term."""

    def __init__(self, shards: Writer[ShardObject], agents: AgentsInTerm) -> None:
        self._shards = shards
        self._agents = agents

    async def ask(self, sight: ClusterSight) -> bool:
        """Ask the agents of which nothing was heard in this term, and those among whom a primary is chosen.

        The result is whether there were any.
        """
        unheard = [target for target in sight.unheard if not self._agents.is_silent(target)]
        if unheard:
            await self._agents.pull(unheard)
        compared = set(rivals(sight.cluster))
        asked = [each for each in sight.agents if each.key.name in compared and not self._agents.is_silent(each)]
        if asked:
            await self._agents.pull(asked, timeout_s=LOOK_WITHIN_S)
        return bool(unheard or asked)

    async def look(self, sight: ClusterSight, *, at_all: bool) -> None:
        """Ask those whom the others do not hear whether they are there; one that does not answer is not believed.

        Or all that answer: what one node does the others learn by themselves, and tell only a moment later.
        """
        asked = {each.name for each in sight.facts.members} if at_all else set(doubted(sight.cluster))
        targets = [each for each in sight.agents if each.key.name in asked and not self._agents.is_silent(each)]
        if targets:
            await self._agents.pull(targets, timeout_s=LOOK_WITHIN_S)

    async def swap(self, record: ShardObject, memory: ClusterRecord) -> ShardObject:
        """Write the record over the very version that was read; raises `ConflictError`."""
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
            "spec": msgspec.to_builtins(record_of(record.spec.owner.name, memory)),
        }
        return await self._shards.replace(manifest, ShardObject)

    def begin(self, steps: Sequence[Step], sight: ClusterSight, memory: ClusterRecord) -> dict[Trying, Step]:
        """Those at different nodes at the same time."""
        last: dict[str, Trying] = {}
        tasks = {}
        for step in steps:
            before = {task for node in nodes_of(step) if (task := last.get(node)) is not None}
            task = asyncio.create_task(self._try(step, before, sight, memory))
            last.update(dict.fromkeys(nodes_of(step), task))
            tasks[task] = step
        return tasks

    async def _try(
        self,
        step: Step,
        before: Collection[Trying],
        sight: ClusterSight,
        memory: ClusterRecord,
    ) -> Failed | None:
        for task in before:
            if (failed := await task) is not None:
                return Failed(step, failed.problem, tried=False)
        try:
            for stage in stages_of(step, sight.facts, memory):
                await _all_of(self._order(order, sight, memory) for order in stage)
        except TransientError as problem:
            log.warning("a step was not carried out", step=type(step).__name__, reason=str(problem))
            return Failed(step, problem)
        return None

    async def _order(self, order: NodeOrder, sight: ClusterSight, memory: ClusterRecord) -> OrderResult:
        target = sight.target(order.node)
        if target is None:
            raise TransientError(f"The pod of {order.node} has no address yet")
        epoch = epoch_for(order.node, sight.facts, memory)
        try:
            if order.name == "Bind":
                # Leave comes with the order, and counts from the last report: a new epoch costs no write then.
                await self._agents.report(target, timeout_s=LOOK_WITHIN_S)
            result = await self._agents.order(target, order.name, epoch=epoch, **order.fields)
        except AgentUnreachableError:
            self._agents.drop(target)
            raise
        if result.outcome not in _NO_FAILURES:
            raise TransientError(f"{order.node} did not obey {order.name}: {result.detail}")
        return result


async def _all_of(works: Iterable[Awaitable[_End]]) -> list[_End]:
    """Let each come to its end, and raise the first failure only then."""
    ends = await asyncio.gather(*works, return_exceptions=True)
    found: list[_End] = []
    for end in ends:
        if isinstance(end, BaseException):
            raise end
        found.append(end)
    return found
