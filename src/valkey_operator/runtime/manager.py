"""The life of an operator process: fill caches, wait for the lease, work, stop.

Owns: the order of these, and the way from a change in a cache or report to a key in a queue.
Refuses to know: which kinds there are; it is handed a list of `ControllerSpec`.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Generic, Protocol, TypeVar

import structlog

from valkey_operator.kube.caches import Caches
from valkey_operator.kube.objects import Key
from valkey_operator.kube.store import Change, Subscriber
from valkey_operator.runtime.controller import GRACE_S, Controller, Reconcile
from valkey_operator.runtime.health import Readiness
from valkey_operator.runtime.leader import Leadership
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.runtime.queue import Lane, WorkQueue

log = structlog.get_logger(__name__)

T = TypeVar("T")
Keys = Callable[[Change[T]], Iterable[Key]]


def own_key(change: Change[Any]) -> list[Key]:
    """The changed object itself is what has to be looked at."""
    return [change.key]


def owner_keys(kind: str) -> Keys[Any]:
    """The owners of that kind have to be looked at, the former one too."""

    def keys(change: Change[Any]) -> set[Key]:
        return {
            Key(state.metadata.namespace, owner.name)
            for state in (change.old, change.new)
            if state is not None
            for owner in state.metadata.owner_references
            if owner.kind == kind
        }

    return keys


def usual_lane(change: Change[Any]) -> Lane:
    """What was there from the start can wait, what changed cannot."""
    return Lane.RESYNC if change.initial else Lane.EDIT


class Observable(Protocol[T]):
    """What tells of changes: a cache of objects, or the reports of the agents."""

    def subscribe(self, subscriber: Subscriber[T], /) -> Callable[[], None]:
        """Tell what is there and then every change; returns how to end it."""
        ...


@dataclass(frozen=True)
class Source(Generic[T]):
    """Something whose changes bring keys into a controller's queue."""

    store: Observable[T]
    keys: Keys[T] = own_key
    lane: Callable[[Change[T]], Lane] = usual_lane
    after_s: float = 0.0
    """What nobody waits for need not be done at the very moment at which others have much to do."""


@dataclass(frozen=True, kw_only=True)
class ControllerSpec:
    """A controller before it runs; `start` makes its reconcile function anew for each term it leads in."""

    name: str
    sources: Sequence[Source[Any]]
    start: Callable[[int], Reconcile[Key]]
    workers: int = 8
    urgent_workers: int = 2


@dataclass(kw_only=True)
class Manager:
    """Runs controllers while this process leads."""

    caches: Caches
    leadership: Leadership
    controllers: Sequence[ControllerSpec]
    metrics: EngineMetrics
    random: Random
    stop: asyncio.Event
    before_term: Callable[[], None] = lambda: None
    _working: bool = field(default=False, init=False)

    async def fill_caches(self, readiness: Readiness) -> None:
        """Wait until all caches are complete, and say that the process is ready, as leader or as standby."""
        readiness.wait_for(f"caches of {', '.join(self.caches.waiting_for) or 'nothing'}")
        await self.caches.wait_synced()
        readiness.mark_ready()

    async def work_whenever_elected(self) -> None:
        """Work in each term that this process leads in, until `stop`."""
        async with asyncio.TaskGroup() as group:
            leading = group.create_task(self.leadership.lead_whenever_elected(self._work))
            await self.stop.wait()
            if self._working:
                await asyncio.wait([leading], timeout=GRACE_S)
            leading.cancel()

    async def _work(self, term: int) -> None:
        self._working = True
        self.before_term()
        try:
            async with asyncio.TaskGroup() as group:
                for spec in self.controllers:
                    group.create_task(self._run(spec, term), name=spec.name)
                await self.stop.wait()
        finally:
            self._working = False

    async def _run(self, spec: ControllerSpec, term: int) -> None:
        queue: WorkQueue[Key] = WorkQueue(spec.name, self.metrics, self.random)
        controller = Controller(
            name=spec.name,
            queue=queue,
            reconcile=spec.start(term),
            metrics=self.metrics,
            workers=spec.workers,
            urgent_workers=spec.urgent_workers,
        )
        ends = [source.store.subscribe(_feed(queue, source)) for source in spec.sources]
        try:
            await controller.run(self.stop)
        finally:
            for end in ends:
                end()


def _feed(queue: WorkQueue[Key], source: Source[T]) -> Callable[[Change[T]], None]:
    def on_change(change: Change[T]) -> None:
        try:
            for key in source.keys(change):
                queue.add_after(key, source.after_s, source.lane(change))
        except Exception:  # a defect in one mapping must not end the watch that all others live on
            log.exception("a change could not be mapped to keys", key=str(change.key))

    return on_change
