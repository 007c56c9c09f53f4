"""Keeps a store like the API server: lists, then watches, for ever.

A watch goes on where the last one ended. Only where the API server has forgotten that version (410), or owes us one of
our own writes for too long, everything is listed anew; the store then tells what vanished in the gap.
Owns: that loop and its pauses. Refuses to know: who reads the store.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Generic, Protocol, TypeVar

import structlog

from valkey_operator.kube.client import PAGE_SIZE, KubeClient
from valkey_operator.kube.errors import ApiError, GoneError
from valkey_operator.kube.objects import KubeObject, Query
from valkey_operator.kube.transport import Idle
from valkey_operator.kube.watch_events import Absent, Bookmark, EventParser, Present
from valkey_operator.runtime.backoff import backoff_delays
from valkey_operator.runtime.metrics import EngineMetrics

log = structlog.get_logger(__name__)

T = TypeVar("T", bound=KubeObject)
T_contra = TypeVar("T_contra", bound=KubeObject, contravariant=True)

IDLE_LIMIT_S = 180.0
"""Bookmarks come about once a minute; three are missing."""
FIRST_PAUSE_S = 0.1
OVERDUE_CHECK_S = 10.0
STEADY_AFTER_S = 5.0
"""A watch that lived this long shows that the server is well: the next pause is short again."""


class Sink(Protocol[T_contra]):
    """What is kept like the API server: whole objects (`Store`), or only their versions (`Versions`)."""

    @property
    def is_overdue(self) -> bool:
        """Whether the watch owes us one of our own writes for too long."""
        ...

    @property
    def has_synced(self) -> bool:
        """Whether the first list is complete."""
        ...

    async def wait_synced(self) -> None:
        """Wait for the first list."""
        ...

    def put(self, new: T_contra, /) -> None:
        """An object was added or changed."""
        ...

    def remove(self, last: T_contra, /) -> None:
        """An object is gone."""
        ...

    def advance(self, version: str, /) -> None:
        """Nothing changed up to this version."""
        ...

    def replace_all(self, objects: Iterable[T_contra], version: str, /) -> None:
        """A whole list."""
        ...


@dataclass(kw_only=True)
class Reflector(Generic[T]):
    """Fills `store` with what `query` finds."""

    client: KubeClient
    query: Query
    projection: type[T]
    store: Sink[T]
    metrics: EngineMetrics
    random: Random
    idle_limit_s: float = IDLE_LIMIT_S
    page_size: int = PAGE_SIZE

    def __post_init__(self) -> None:
        query = self.query
        self._parser = EventParser(self.projection)
        self._idle = Idle(self.idle_limit_s)
        self._version: str | None = None
        self._heard_at = 0.0
        self._log = log.bind(resource=query.title, namespace=query.namespace, selector=query.selector)

    async def run(self) -> None:
        """Keep the store filled until cancelled."""
        self._heard()
        self.metrics.watch_silence_s.labels(resource=self.query.title).set_function(self._silence_s)
        async with asyncio.TaskGroup() as group:
            group.create_task(self._list_anew_when_overdue())
            group.create_task(self._follow())

    async def _follow(self) -> None:
        delays = self._new_delays()
        while True:
            began = self._now()
            least_s = await self._follow_once()
            if self._now() - began > STEADY_AFTER_S:
                delays = self._new_delays()
            await asyncio.sleep(max(next(delays), least_s))

    async def _follow_once(self) -> float:
        """List if need be and watch until that ends; how long the server wants to be left alone."""
        try:
            if self._version is None:
                self._version = await self._list()
            await self.client.watch(self.query, self._version, self._on_line, self._idle)
        except GoneError as error:
            self._version = None
            self._note("Gone", error)
        except ApiError as error:
            self._note(type(error).__name__.removesuffix("Error"), error)
            return error.retry_after_s or 0.0
        else:
            self._note("Ended", None)
        return 0.0

    async def _list(self) -> str:
        items: list[T] = []
        next_page = ""
        while True:
            page = await self.client.list_page(self.query, self.projection, limit=self.page_size, next_page=next_page)
            items += page.items
            for reason in page.refused:
                self._refuse(reason)
            next_page = page.next_page
            if not next_page:
                break
        self.store.replace_all(items, page.version)
        self._heard()
        self._log.debug("listed", objects=len(items), version=page.version)
        return page.version

    def _on_line(self, line: bytes) -> None:
        self._heard()
        event = self._parser.parse(line)
        if isinstance(event, Present):
            self.store.put(event.object)
            self._version = event.object.metadata.resource_version
        elif isinstance(event, Absent):
            self.store.remove(event.object)
            self._version = event.object.metadata.resource_version
        elif isinstance(event, Bookmark):
            self.store.advance(event.version)
            self._version = event.version
        else:
            self._refuse(event.reason)

    async def _list_anew_when_overdue(self) -> None:
        while True:
            await asyncio.sleep(OVERDUE_CHECK_S)
            if self.store.is_overdue and self._version is not None:
                self._log.warning("the watch does not show our own writes; listing anew")
                self._version = None
                self._idle.end_now()

    def _refuse(self, reason: str) -> None:
        # One odd object must not keep all others of its kind out of the cache.
        self.metrics.undecodable.labels(resource=self.query.title).inc()
        self._log.error("an object does not fit what is expected of its kind; left out", reason=reason)

    def _note(self, reason: str, error: ApiError | None) -> None:
        self.metrics.watch_restarts.labels(resource=self.query.title, reason=reason).inc()
        if error is None or isinstance(error, GoneError):
            self._log.debug("watch ended", reason=reason)
        else:
            self._log.warning("watch failed", reason=str(error))

    def _new_delays(self) -> Iterator[float]:
        return backoff_delays(self.random, first_s=FIRST_PAUSE_S)

    def _heard(self) -> None:
        self._heard_at = self._now()

    def _silence_s(self) -> float:
        return self._now() - self._heard_at

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
