"""A burst of changes: how long from a watch event to the start of a worker, at which cost in CPU and memory.

`KUBECONFIG=… python -m bench.engine` makes config maps in a namespace of its own on a real API server, changes them all
at once from another process, and keeps p50, p99, CPU and RSS of the engine's process in bench/results/engine.json.
"""

import argparse
import asyncio
import multiprocessing
import os
import statistics
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from prometheus_client import CollectorRegistry

from bench.results_file import append
from tests.e2e.cluster import Cluster, cluster_under_test
from tests.e2e.engine_ground import LABEL, client_of, put
from tests.support.engine import ConfigMap, everything
from valkey_operator.kube.caches import Caches
from valkey_operator.kube.objects import Key
from valkey_operator.kube.store import Change
from valkey_operator.runtime.controller import Controller
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.runtime.outcome import DONE, Result
from valkey_operator.runtime.queue import Lane, WorkQueue

WRITERS = 32


async def write_all(kubeconfig: str, namespace: str, objects: int, color: str) -> float:
    """Apply every object; how long it took."""
    numbers = iter(range(objects))

    async def write() -> None:
        for number in numbers:
            await put(client, namespace, f"c{number}", color=color)

    began = time.monotonic()
    async with client_of(kubeconfig) as client, asyncio.TaskGroup() as group:
        for _ in range(WRITERS):
            group.create_task(write())
    return time.monotonic() - began


def write_in_child(kubeconfig: str, namespace: str, objects: int, color: str) -> None:
    asyncio.run(write_all(kubeconfig, namespace, objects, color))


class Measured:
    """Notes when the event of each key came and when a worker started on it."""

    def __init__(self, queue: WorkQueue[Key]) -> None:
        self._queue = queue
        self._heard: dict[Key, float] = {}
        self.latencies_s: list[float] = []

    def on_change(self, change: Change[ConfigMap]) -> None:
        self._heard.setdefault(change.key, time.monotonic())
        self._queue.add(change.key, Lane.RESYNC if change.initial else Lane.EDIT)

    async def reconcile(self, key: Key) -> Result:
        self.latencies_s.append(time.monotonic() - self._heard.pop(key))
        return DONE


async def measure(kubeconfig: str, namespace: str, objects: int) -> dict[str, Any]:
    metrics = EngineMetrics(CollectorRegistry())
    async with client_of(kubeconfig, metrics) as client:
        caches = Caches(client=client, metrics=metrics, random=Random(1))
        store = caches.cache(everything(namespace, LABEL), ConfigMap)
        queue: WorkQueue[Key] = WorkQueue("bench", metrics, Random(1))
        measured = Measured(queue)
        controller = Controller(name="bench", queue=queue, reconcile=measured.reconcile, metrics=metrics)
        stop = asyncio.Event()
        rss_empty = rss_mib()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(caches.run())
            group.create_task(controller.run(stop))
            listed_s = await timed(store.wait_synced())
            store.subscribe(measured.on_change)
            await until_seen(measured, objects)
            initial = figures(measured.latencies_s)
            measured.latencies_s.clear()
            burst = await burst_figures(measured, (kubeconfig, namespace, objects))
            stop.set()
            running.cancel()
    return {
        "objects": objects,
        "list_s": round(listed_s, 3),
        "initial": initial,
        "burst": burst,
        "rss_mib": {"empty": rss_empty, "after": rss_mib()},
    }


async def burst_figures(measured: Measured, target: tuple[str, str, int]) -> dict[str, Any]:
    writer = multiprocessing.get_context("spawn").Process(target=write_in_child, args=(*target, "blue"))
    cpu_s, began = time.process_time(), time.monotonic()
    writer.start()
    await until_seen(measured, target[2])
    took_s = time.monotonic() - began
    cpu_s = time.process_time() - cpu_s
    await asyncio.to_thread(writer.join)
    per_change = cpu_s / target[2]
    return figures(measured.latencies_s) | {"took_s": round(took_s, 2), "cpu_ms_per_change": round(per_change * 1e3, 3)}


async def until_seen(measured: Measured, objects: int) -> None:
    async with asyncio.timeout(300):
        while len(measured.latencies_s) < objects:  # noqa: ASYNC110 - polling keeps the measured path free of ours
            await asyncio.sleep(0.05)


async def timed(work: Any) -> float:  # noqa: ANN401 - any awaitable
    began = time.monotonic()
    await work
    return time.monotonic() - began


def figures(latencies_s: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(latencies_s, n=100)
    named = {"p50_ms": cuts[49], "p99_ms": cuts[98], "max_ms": max(latencies_s)}
    return {name: round(value * 1e3, 2) for name, value in named.items()}


def rss_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def run(cluster: Cluster, objects: int) -> dict[str, Any]:
    kubeconfig = str(cluster.kubeconfig)
    with cluster.namespace("bench") as namespace:
        writing_s = asyncio.run(write_all(kubeconfig, namespace, objects, "red"))
        found = asyncio.run(measure(kubeconfig, namespace, objects))
    return found | {"applies_per_s": round(objects / writing_s)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=3000)
    found = run(cluster_under_test(), parser.parse_args().objects)
    print(f"{found}\nkept in {append('engine', found)}", file=sys.stderr)


if __name__ == "__main__":
    main()
