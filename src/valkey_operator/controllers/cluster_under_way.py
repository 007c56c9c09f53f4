"""Steps that are under way at the nodes of a cluster, some of them for longer than a look.

Owns: that nobody waits for a slow one but its own nodes, which get no other order meanwhile; and that a failover waits
for nothing: whatever is under way at its node is given up, which every step allows. Nothing is kept that a next leader
would miss: what has come of a step is seen at the servers. Refuses to know: how a step is carried out
(cluster_steps.py), and which one is due.
"""

import asyncio
from collections.abc import Iterable, Iterator

import msgspec

from valkey_operator.controllers.cluster_facts import ClusterSight
from valkey_operator.controllers.cluster_orders import nodes_of
from valkey_operator.controllers.cluster_steps import ClusterSteps, Failed, Trying
from valkey_operator.core.cluster.facts import ClusterRecord
from valkey_operator.core.cluster.steps import Failover, Migrate, Step
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.outcome import TransientError

A_MOMENT_S = 0.1
"""Most orders take less; whoever takes longer is left to it."""


class Ended(msgspec.Struct, frozen=True):
    """A step that is over, and why it was not carried out, if so."""

    step: Step
    failed: Failed | None


class StepsUnderWay:
    """Of one term, by cluster."""

    def __init__(self, steps: ClusterSteps) -> None:
        self._steps = steps
        self._tasks: dict[Key, dict[Trying, Step]] = {}

    def is_free(self, key: Key, step: Step) -> bool:
        """Whether it may begin: nothing is under way at its nodes, or it is one that does not wait."""
        return isinstance(step, Failover) or not self._at(key, nodes_of(step))

    def is_idle(self, key: Key) -> bool:
        """Whether nothing is under way."""
        return not self._tasks.get(key)

    async def begin(self, key: Key, steps: Iterable[Step], sight: ClusterSight, memory: ClusterRecord) -> list[Ended]:
        """Begin these, and tell what is over a moment later."""
        chosen = list(steps)
        hindered = (task for step in chosen if isinstance(step, Failover) for task in self._at(key, nodes_of(step)))
        await self._give_up(key, set(hindered))
        begun = self._steps.begin(chosen, sight, memory)
        self._tasks.setdefault(key, {}).update(begun)
        await asyncio.wait(begun, timeout=A_MOMENT_S)
        return self.ended(key)

    def ended(self, key: Key) -> list[Ended]:
        """What is over since this was last asked; raises what no step may raise."""
        known = self._tasks.get(key, {})
        over = {task: step for task, step in known.items() if task.done()}
        self._tasks[key] = {task: step for task, step in known.items() if task not in over}
        return [Ended(step, _outcome(task, step)) for task, step in over.items()]

    def forget(self, key: Key) -> None:
        """It is gone."""
        for task in self._tasks.pop(key, {}):
            task.cancel()

    def _at(self, key: Key, nodes: Iterable[str]) -> list[Trying]:
        wanted = set(nodes)
        return [task for task, step in self._tasks.get(key, {}).items() if wanted.intersection(nodes_of(step))]

    async def _give_up(self, key: Key, tasks: set[Trying]) -> None:
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for task in tasks:
            self._tasks[key].pop(task, None)


def failures_in(ended: Iterable[Ended]) -> list[Failed]:
    """What was tried in vain."""
    return [each.failed for each in ended if each.failed is not None and each.failed.tried]


def moves_in(ended: Iterable[Ended]) -> Iterator[tuple[Migrate, str | None]]:
    """The moves that were tried, and what was said against them."""
    for each in ended:
        if isinstance(each.step, Migrate) and (each.failed is None or each.failed.tried):
            yield each.step, None if each.failed is None else str(each.failed.problem)


def _outcome(task: Trying, step: Step) -> Failed | None:
    return Failed(step, TransientError("it was given up"), tried=False) if task.cancelled() else task.result()
