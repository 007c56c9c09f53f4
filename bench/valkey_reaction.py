"""How soon the operator acts: from the watch event of a new Valkey to that of the first object made for it.

Both events are seen by one process, in one event loop. Valkeys have no nodes, and come one after the other; then twenty
come at once, where the last ones wait for the machine, too.
"""

import argparse
import asyncio
import time
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from bench.results_file import append, summary
from tests.e2e.cluster import cluster_under_test
from tests.e2e.engine_ground import client_of, until
from tests.e2e.valkeys import valkey
from valkey_operator.controllers.kinds import SERVICES, SHARDS, VALKEYS
from valkey_operator.core.names import CR_ANNOTATION
from valkey_operator.kube.caches import Caches
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.objects import KubeObject, Query
from valkey_operator.kube.store import Change
from valkey_operator.runtime.metrics import EngineMetrics

CROWD = 20
BETWEEN_S = 0.25


class Seen:
    """When each Valkey, and the first object made for it, was seen."""

    def __init__(self) -> None:
        self.valkeys: dict[str, float] = {}
        self.children: dict[str, float] = {}

    def on_valkey(self, change: Change[Any]) -> None:
        self.valkeys.setdefault(change.key.name, time.monotonic())

    def on_child(self, change: Change[Any]) -> None:
        if change.new is not None:
            self.children.setdefault(change.new.metadata.annotations[CR_ANNOTATION], time.monotonic())

    def milliseconds(self, start: str) -> list[float]:
        return sorted((self.children[name] - at) * 1000 for name, at in self.valkeys.items() if name.startswith(start))


async def make(client: KubeClient, namespace: str, name: str) -> None:
    manifest = valkey(name, replicas=0)
    manifest["metadata"]["namespace"] = namespace
    await client.apply(VALKEYS.resource, manifest, KubeObject)


async def measure(kubeconfig: str, namespace: str, count: int) -> dict[str, Any]:
    metrics, seen = EngineMetrics(CollectorRegistry()), Seen()
    async with client_of(kubeconfig, metrics) as client:
        caches = Caches(client=client, metrics=metrics, random=Random(1))
        for kind, heard in ((VALKEYS, seen.on_valkey), (SHARDS, seen.on_child), (SERVICES, seen.on_child)):
            caches.cache(Query(kind.resource, namespace, None), KubeObject).subscribe(heard)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(caches.run())
            await caches.wait_synced()
            for index in range(count):
                await make(client, namespace, f"one{index}")
                await asyncio.sleep(BETWEEN_S)
            await asyncio.gather(*(make(client, namespace, f"many{index}") for index in range(CROWD)))
            await until("every Valkey has something", lambda: len(seen.children) >= count + CROWD, 60)
            running.cancel()
    one, many = seen.milliseconds("one"), seen.milliseconds("many")
    return {"one_ms": summary(one), "one_p99_ms": round(one[-1 - len(one) // 100], 1), "many_ms": summary(many)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="Valkeys made one by one (default: %(default)s)")
    args = parser.parse_args()
    cluster = cluster_under_test()
    with cluster.namespace("bench") as namespace:
        figures = asyncio.run(measure(str(cluster.kubeconfig), namespace, args.count))
    print(f"{figures}\nkept in {append('valkey_reaction', figures)}")


if __name__ == "__main__":
    main()
