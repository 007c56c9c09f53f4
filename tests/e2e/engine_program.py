"""The engine as a process of its own, with a controller for the tests.

Every config map of the namespace with the label gets a copy; one called `hang` makes the event loop stand still for as
many seconds as it says.

`python -m tests.e2e.engine_program KUBECONFIG NAMESPACE IDENTITY`; ends on SIGTERM. The log goes to standard error.
"""

import asyncio
import signal
import sys
import time
from typing import Any

import structlog
from prometheus_client import CollectorRegistry

from tests.e2e.engine_ground import LABEL
from tests.support.engine import CONFIG_MAPS, ConfigMap
from valkey_operator.cli.engine import Engine, EngineSettings, Tools
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.connection import load_connection, open_session
from valkey_operator.kube.events import About, Event
from valkey_operator.kube.objects import Key, Query
from valkey_operator.kube.store import Store
from valkey_operator.kube.writer import Writer
from valkey_operator.runtime.controller import Reconcile
from valkey_operator.runtime.health import Readiness
from valkey_operator.runtime.logs import configure_logs
from valkey_operator.runtime.manager import ControllerSpec, Source
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.runtime.outcome import DONE, Result

log = structlog.get_logger("test")
COPIES = "engine-test-copy"


def copying_controller(tools: Tools) -> ControllerSpec:
    originals = tools.caches.cache(Query(CONFIG_MAPS, tools.namespace, LABEL), ConfigMap)
    copies = tools.caches.cache(Query(CONFIG_MAPS, tools.namespace, COPIES), ConfigMap)

    def start(term: int) -> Reconcile[Key]:
        client = tools.client_in(term)
        return Copying(originals, client, Writer(client, CONFIG_MAPS, copies, tools.metrics), tools).reconcile

    return ControllerSpec(
        name="copy", sources=[Source(originals), Source(copies, keys=lambda c: [original_key(c.key)])], start=start
    )


def original_key(copy: Key) -> Key:
    return Key(copy.namespace, copy.name.removesuffix("-copy"))


class Copying:
    def __init__(
        self, originals: Store[ConfigMap], client: KubeClient, copies: Writer[ConfigMap], tools: Tools
    ) -> None:
        self._originals = originals
        self._client = client
        self._copies = copies
        self._tools = tools

    async def reconcile(self, key: Key) -> Result:
        original = self._originals.get(key)
        if original is None:
            await self._client.delete(CONFIG_MAPS, Key(key.namespace, f"{key.name}-copy"))
            return DONE
        if key.name == "hang":
            await self._hang(original)
            return DONE
        if await self._copies.apply(copy_of(original), ConfigMap):
            self._tools.events.record(about(original))
        return DONE

    async def _hang(self, original: ConfigMap) -> None:
        log.info("hangs")
        time.sleep(float(original.data["seconds"]))  # noqa: ASYNC251 - the defect under test
        log.info("wakes")
        await self._copies.apply(copy_of(original), ConfigMap)
        log.info("wrote after waking")


def about(original: ConfigMap) -> Event:
    meta = original.metadata
    return Event(About("v1", "ConfigMap", meta.namespace, meta.name, meta.uid), "Normal", "Copied", "It has a copy.")


def copy_of(original: ConfigMap) -> dict[str, Any]:
    meta = original.metadata
    return {
        "metadata": {"namespace": meta.namespace, "name": f"{meta.name}-copy", "labels": {COPIES: "yes"}},
        "data": original.data,
    }


async def run(kubeconfig: str, namespace: str, identity: str) -> None:
    config = load_connection(kubeconfig, None, {})
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with open_session(config) as session:
        engine = Engine(
            config=config,
            session=session,
            settings=EngineSettings(namespace=namespace, operator_namespace=namespace, identity=identity),
            metrics=EngineMetrics(CollectorRegistry()),
            build=[copying_controller],
        )
        await engine.run(Readiness("all"), stop)
    log.info("stopped")


if __name__ == "__main__":
    configure_logs("info")
    asyncio.run(run(*sys.argv[1:4]))
