"""Carrying out the steps of a shard's plan: the record by compare-and-swap, orders to the agents.

Owns: how each step is done, and what its failure means. Each is safe to repeat. Refuses to know: why a step is due.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

from valkey_operator.controllers.agents.channels import Target
from valkey_operator.controllers.agents.messages import Outcome
from valkey_operator.controllers.agents.orders import AgentsInTerm, AgentUnreachableError, OrderResult
from valkey_operator.controllers.kinds import ShardObject
from valkey_operator.controllers.live_settings import LiveSettings
from valkey_operator.controllers.signposts import Signposts
from valkey_operator.controllers.valkey_facts import ShardView
from valkey_operator.core.shard.proof import is_missed
from valkey_operator.core.shard.steps import (
    Detach,
    Follow,
    LookAgain,
    Open,
    Order,
    Promote,
    Reason,
    ShardPlan,
    Step,
    SwapRecord,
)
from valkey_operator.kube.writer import Writer
from valkey_operator.runtime.outcome import TransientError
from valkey_operator.valkey.boot import StartKind

log = structlog.get_logger(__name__)

NOBODY_PAUSE_S = 0.05
# Longer than an agent waits for a server that is slow: that is no reason to take its node for lost.
LOOK_WITHIN_S = 0.6
LOOK_EVERY_S = 1.0
DETACH_WITHIN_S = 1.0
# The promise is kept before the server is told anything.
_PROMISED = frozenset({Outcome.NOT_RUNNING, Outcome.NO_ANSWER})
_NOT_FIELDS = ("node",)

Tell = Callable[[Reason, str], None]
"""Tells a user that the record has changed, and why."""


class ShardSteps:
    """For one term."""

    def __init__(self, signposts: Signposts, shards: Writer[ShardObject], agents: AgentsInTerm) -> None:
        self.signposts = signposts
        self._shards = shards
        self._agents = agents
        self.settings = LiveSettings(agents)

    async def ask(self, view: ShardView) -> bool:
        """Ask the agents of which nothing was heard in this term, or is to be heard now; whether there were any."""
        unheard = [target for target in view.unheard if not self._agents.is_silent(target)]
        if unheard:
            await self._agents.pull(unheard)
        return bool(unheard)

    async def look_after(self, view: ShardView) -> None:
        """Ask a primary that its replicas miss whether it is there."""
        primary = view.facts.member(view.facts.record.primary)
        target = view.target(primary.name) if primary is not None and primary.view is not None else None
        if target is not None and is_missed(view.facts):
            await self._agents.pull([target], timeout_s=LOOK_WITHIN_S)

    def look_again_after_s(self, view: ShardView, plan: ShardPlan) -> float | None:
        """When to look again though nothing changes: for the plan, for who is silent, or missed."""
        waits = [plan.look_after_s] if plan.look_after_s is not None else []
        silent = any(self._agents.is_silent(target) for target in view.unheard)
        return min([*waits, *([LOOK_EVERY_S] if silent or is_missed(view.facts) else [])], default=None)

    async def carry_out(self, plan: ShardPlan, record: ShardObject, view: ShardView, tell: Tell) -> None:
        """All steps in their order, replicas side by side; raises what asks for another look."""
        failed: list[TransientError] = []
        swapped: list[SwapRecord] = []
        try:
            for side_by_side, steps in itertools.groupby(plan.steps, key=_is_for_a_replica):
                if side_by_side:
                    orders = [
                        _try(self._order(step, record, view)) for step in steps if isinstance(step, Follow | Open)
                    ]
                    failed += [problem for problem in await asyncio.gather(*orders) if problem is not None]
                    continue
                for step in steps:
                    if isinstance(step, SwapRecord):
                        record = await self._swap(step, record)
                        swapped.append(step)
                    else:
                        await self._carry_out_one(step, record, view)
        finally:
            # Afterwards: writers wait for the next step, nobody for the news.
            for step in swapped:
                tell(step.reason, step.message)
        if failed:
            raise failed[0]

    async def _carry_out_one(self, step: Order | Detach | LookAgain, record: ShardObject, view: ShardView) -> None:
        match step:
            case Detach():
                await self._detach(step, record, view)
            case LookAgain():
                await self._look_again(step, view)
            case Promote():
                await self._order(step, record, view)
                # Before anybody is sent there.
                await self.signposts.lead_writers_if_possible(view, step.node)
            case _:
                await self._order(step, record, view)

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

    async def _look_again(self, step: LookAgain, view: ShardView) -> None:
        for answer in (await self._agents.pull([self._target(step.node, view)])).values():
            if isinstance(answer, AgentUnreachableError):
                raise answer

    async def _detach(self, step: Detach, record: ShardObject, view: ShardView) -> None:
        """A node without a server cannot park, and has promised the epoch all the same."""
        targets = [self._target(node, view) for node in step.nodes]
        results = await self._agents.order_all(targets, "Park", epoch=_epoch_of(record), timeout_s=DETACH_WITHIN_S)
        for target, result in results.items():
            if isinstance(result, OrderResult) and not result.obeyed and result.outcome not in _PROMISED:
                raise TransientError(f"{target.key.name} did not obey Park: {result.detail}")

    async def _order(self, step: Order, record: ShardObject, view: ShardView) -> None:
        name, fields = spelled(step)
        target = self._target(step.node, view)
        try:
            result = await self._agents.order(target, name, epoch=_epoch_of(record), **fields)
        except AgentUnreachableError:
            self._agents.drop(target)
            raise
        if result.outcome is Outcome.NOBODY_WAITS:
            await asyncio.sleep(NOBODY_PAUSE_S)  # most likely the agent has let its server in by itself
        elif not result.obeyed:
            raise TransientError(f"{step.node} did not obey {name}: {result.detail}")

    def _target(self, node: str, view: ShardView) -> Target:
        target = view.target(node)
        if target is None:
            raise TransientError(f"The pod of {node} has no address yet")
        return target


def _is_for_a_replica(step: Step) -> bool:
    return isinstance(step, Follow) or (isinstance(step, Open) and step.kind is StartKind.REPLICA)


async def _try(order: Awaitable[None]) -> TransientError | None:
    """A replica that does not follow must not keep others from it."""
    try:
        await order
    except TransientError as problem:
        return problem
    return None


def _epoch_of(record: ShardObject) -> int:
    """Orders are of the epoch that was announced, where one was."""
    return record.spec.pending.epoch if record.spec.pending else record.spec.epoch


def spelled(order: Order) -> tuple[str, dict[str, Any]]:
    """An order's name and fields as agent.proto has them."""
    fields = {name: getattr(order, name) for name in order.__struct_fields__ if name not in _NOT_FIELDS}
    return type(order).__name__, {name: value for name, value in fields.items() if value is not None}
