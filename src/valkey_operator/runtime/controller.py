"""Workers that take keys and reconcile them.

Owns: how many at a time, for how long at most, and what happens to a key afterwards. Nothing a reconcile does, short of
cancelling itself, ends a worker.
Refuses to know: what a reconcile is about.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

import structlog

from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.runtime.outcome import Judgement, Result, Verdict, judge
from valkey_operator.runtime.queue import Lane, QueueClosedError, Taken, WorkQueue

log = structlog.get_logger(__name__)

K = TypeVar("K", bound=Hashable)
Reconcile = Callable[[K], Awaitable[Result]]

RECONCILE_DEADLINE_S = 60.0
GRACE_S = 10.0


@dataclass(kw_only=True)
class Controller(Generic[K]):
    """One queue, its workers, and the function they call.

    `urgent_workers` take nothing but urgent keys, so that a failover never waits behind slow work of another kind.
    """

    name: str
    queue: WorkQueue[K]
    reconcile: Reconcile[K]
    metrics: EngineMetrics
    workers: int = 8
    urgent_workers: int = 2
    deadline_s: float = RECONCILE_DEADLINE_S
    grace_s: float = GRACE_S

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop`, then let what is under way finish within the grace period; cancelling ends all at once."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                *(group.create_task(self._work(Lane.RESYNC), name=f"{self.name} worker") for _ in range(self.workers)),
                *(
                    group.create_task(self._work(Lane.URGENT), name=f"{self.name} urgent worker")
                    for _ in range(self.urgent_workers)
                ),
            ]
            await stop.wait()
            self.queue.close()
            _, late = await asyncio.wait(tasks, timeout=self.grace_s)
            for task in late:
                task.cancel()

    async def _work(self, slowest: Lane) -> None:
        while True:
            try:
                taken = await self.queue.take(slowest)
            except QueueClosedError:
                return
            try:
                await self._reconcile_once(taken)
            finally:
                self.queue.done(taken.key)

    async def _reconcile_once(self, taken: Taken[K]) -> None:
        began = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(self.deadline_s):
                result = await self.reconcile(taken.key)
        except Exception as error:  # noqa: BLE001 - judged; a defect in one key must not stop the others
            outcome = self._after_failure(taken, error)
        else:
            outcome = self._after_success(taken, result)
        self.metrics.reconciles.labels(controller=self.name, outcome=outcome).inc()
        self.metrics.reconcile_s.labels(controller=self.name).observe(asyncio.get_running_loop().time() - began)

    def _after_success(self, taken: Taken[K], result: Result) -> str:
        self.queue.forget_failures(taken.key)
        if result.wake_at is not None:
            self.queue.add(taken.key, Lane.RESYNC, due=result.wake_at)
        return "done"

    def _after_failure(self, taken: Taken[K], error: Exception) -> str:
        judgement = judge(error)
        delay_s = self._requeue(taken, judgement)
        told = {"controller": self.name, "key": str(taken.key), "reason": str(error) or type(error).__name__}
        if judgement.verdict is Verdict.DEFECT:
            log.error("reconcile failed by a defect", **told, retry_in_s=delay_s, exc_info=error)
        else:
            log.warning("reconcile failed", **told, outcome=judgement.verdict.value, retry_in_s=delay_s)
        return judgement.verdict.value

    def _requeue(self, taken: Taken[K], judgement: Judgement) -> float | None:
        match judgement.verdict:
            case Verdict.DROP:
                return None
            case Verdict.WAIT_FOR_CHANGE:
                self.queue.forget_failures(taken.key)
                return None
            case Verdict.RETRY_AT_ONCE:
                return self.queue.retry_at_once(taken.key, taken.lane)
            case Verdict.RETRY_LATER | Verdict.DEFECT:
                return self.queue.retry(taken.key, taken.lane, least_s=judgement.least_s)
