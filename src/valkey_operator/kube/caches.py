"""One cache per set of objects, shared by all who read it.

Owns: which caches exist, and running them. Refuses to know: who reads them.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar, cast

import msgspec

from valkey_operator.kube.client import PAGE_SIZE, KubeClient
from valkey_operator.kube.indices import Index
from valkey_operator.kube.objects import KubeObject, Query
from valkey_operator.kube.reflector import IDLE_LIMIT_S, Reflector, Sink
from valkey_operator.kube.store import Store
from valkey_operator.kube.versions import Versioned, Versions
from valkey_operator.runtime.metrics import EngineMetrics

T = TypeVar("T", bound=KubeObject)


@dataclass(kw_only=True)
class Caches:
    """Asked for all caches first, then run."""

    client: KubeClient
    metrics: EngineMetrics
    random: Random
    idle_limit_s: float = IDLE_LIMIT_S
    page_size: int = PAGE_SIZE
    _reflectors: dict[Query, Reflector[Any]] = field(default_factory=dict)

    def cache(self, query: Query, projection: type[T], indices: Mapping[str, Index[T]] | None = None) -> Store[T]:
        """The cache of `query`, the same one for everybody who asks; the first to ask says how it is indexed."""
        if query not in self._reflectors:
            store: Store[T] = Store(indices or {}, asyncio.get_running_loop().time)
            self._reflectors[query] = self._reflector(query, projection, store)
        known = self._reflectors[query]
        if known.projection is not projection:
            raise ValueError(f"{query.path} is cached as {known.projection.__name__}, not {projection.__name__}")
        return cast("Store[T]", known.store)

    def versions(self, query: Query) -> Versions:
        """The versions of what `query` finds, the same for everybody who asks."""
        query = msgspec.structs.replace(query, metadata_only=True)
        if query not in self._reflectors:
            self._reflectors[query] = self._reflector(query, Versioned, Versions())
        return cast("Versions", self._reflectors[query].store)

    @property
    def waiting_for(self) -> tuple[str, ...]:
        """The kinds that are not complete yet."""
        return tuple(query.title for query, each in self._reflectors.items() if not each.store.has_synced)

    async def wait_synced(self) -> None:
        """Wait until every cache is complete."""
        for reflector in self._reflectors.values():
            await reflector.store.wait_synced()

    async def run(self) -> None:
        """Keep all caches filled until cancelled."""
        async with asyncio.TaskGroup() as group:
            for query, reflector in self._reflectors.items():
                group.create_task(reflector.run(), name=f"reflector of {query.title} at {query.path}")

    def _reflector(self, query: Query, projection: type[T], store: Sink[T]) -> Reflector[T]:
        return Reflector(
            client=self.client,
            query=query,
            projection=projection,
            store=store,
            metrics=self.metrics,
            random=self.random,
            idle_limit_s=self.idle_limit_s,
            page_size=self.page_size,
        )
