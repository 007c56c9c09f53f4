"""What tests of the engine share: a client to the real API server, caches on it, waiting."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.support.engine import CONFIG_MAPS, ConfigMap, everything, metrics
from valkey_operator.kube.caches import Caches
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.connection import ConnectionConfig, load_connection, open_session
from valkey_operator.kube.objects import Key
from valkey_operator.kube.store import Store
from valkey_operator.kube.transport import Transport
from valkey_operator.runtime.metrics import EngineMetrics

LABEL = "engine-test"


def connection(kubeconfig: Any) -> ConnectionConfig:
    return load_connection(str(kubeconfig), None, {})


@contextlib.asynccontextmanager
async def client_of(kubeconfig: Any, counted: EngineMetrics | None = None) -> AsyncIterator[KubeClient]:
    async with open_session(connection(kubeconfig)) as session:
        yield KubeClient(Transport(session, counted or metrics()))


@dataclass(frozen=True)
class Cached:
    store: Store[ConfigMap]
    gone: list[str]
    """The names of all objects that the cache told to be deleted."""


@contextlib.asynccontextmanager
async def cached(client: KubeClient, namespace: str, **settings: Any) -> AsyncIterator[Cached]:
    """The config maps of the test, in a cache that is kept filled."""
    caches = Caches(client=client, metrics=metrics(), random=Random(), **settings)
    store = caches.cache(everything(namespace, LABEL), ConfigMap)
    gone: list[str] = []
    store.subscribe(lambda change: gone.append(change.key.name) if change.new is None else None)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(caches.run())
        async with asyncio.timeout(60):
            await store.wait_synced()
        yield Cached(store, gone)
        running.cancel()


def manifest(namespace: str, name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name, "labels": {LABEL: "yes"}}, "data": data}


async def put(client: KubeClient, namespace: str, name: str, **data: str) -> ConfigMap:
    return await client.apply(CONFIG_MAPS, manifest(namespace, name, **data), ConfigMap)


async def remove(client: KubeClient, namespace: str, *names: str) -> None:
    for name in names:
        await client.delete(CONFIG_MAPS, Key(namespace, name))


async def until(what: str, holds: Callable[[], bool], deadline_s: float = 30.0) -> float:
    """How long it took."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > deadline_s:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        await asyncio.sleep(0.02)
    return time.monotonic() - began


def names(store: Store[ConfigMap]) -> list[str]:
    return [each.key.name for each in store.list()]
