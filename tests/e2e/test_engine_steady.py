"""The whole engine in one process, on the real API server: works, repairs, and then keeps quiet."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from tests.e2e.cluster import Cluster
from tests.e2e.engine_ground import client_of, connection, put, until
from tests.e2e.engine_program import copying_controller
from tests.e2e.engine_proxy import Proxy, status_answer
from tests.support.engine import CONFIG_MAPS, ConfigMap
from valkey_operator.cli.engine import Engine, EngineSettings
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.connection import open_session
from valkey_operator.kube.errors import NotFoundError
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.health import Readiness
from valkey_operator.runtime.metrics import EngineMetrics

pytestmark = pytest.mark.asyncio

QUIET_S = 20
OBJECTS = 20


@contextlib.asynccontextmanager
async def running_engine(kubeconfig: Path, namespace: str) -> AsyncIterator[Readiness]:
    readiness = Readiness("the API server")
    stop = asyncio.Event()
    config = connection(kubeconfig)
    async with open_session(config) as session, asyncio.TaskGroup() as group:
        engine = Engine(
            config=config,
            session=session,
            settings=EngineSettings(namespace=namespace, operator_namespace=namespace, identity="me"),
            metrics=EngineMetrics(CollectorRegistry()),
            build=[copying_controller],
        )
        group.create_task(engine.run(readiness, stop))
        yield readiness
        stop.set()


async def copy(client: KubeClient, namespace: str, name: str) -> ConfigMap | None:
    try:
        return await client.get(CONFIG_MAPS, Key(namespace, f"{name}-copy"), ConfigMap)
    except NotFoundError:
        return None


async def until_copied(client: KubeClient, namespace: str, name: str, data: dict[str, str]) -> None:
    async with asyncio.timeout(20):
        while (found := await copy(client, namespace, name)) is None or found.data != data:  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_in_a_steady_state_nothing_is_sent_but_lease_renewals(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    proxy = Proxy(connection(cluster.kubeconfig))
    async with client_of(cluster.kubeconfig) as direct, proxy.serve():
        for number in range(OBJECTS):
            await put(direct, namespace, f"c{number}", color="red")
        async with running_engine(proxy.write_kubeconfig(tmp_path / "kubeconfig"), namespace) as readiness:
            for number in range(OBJECTS):
                await until_copied(direct, namespace, f"c{number}", {"color": "red"})
            assert readiness.waiting_for is None
            await asyncio.sleep(5)  # events go out at their own pace
            proxy.requests.clear()
            await asyncio.sleep(QUIET_S)
            sent = list(proxy.requests)
    others = [each for each in sent if "/leases/" not in each.target]
    assert others == []
    assert 0 < len(sent) <= QUIET_S * 1.5, "about one renewal a second"


async def test_copies_that_are_changed_or_deleted_by_hand_come_back(cluster: Cluster, namespace: str) -> None:
    async with client_of(cluster.kubeconfig) as direct:
        await put(direct, namespace, "a", color="red")
        async with running_engine(cluster.kubeconfig, namespace):
            await until_copied(direct, namespace, "a", {"color": "red"})
            patch = ["patch", "configmap", "a-copy", f"--namespace={namespace}", "--patch", '{"data":{"color":"blue"}}']
            await asyncio.to_thread(cluster.kubectl, *patch)
            await until_copied(direct, namespace, "a", {"color": "red"})
            await direct.delete(CONFIG_MAPS, Key(namespace, "a-copy"))
            await until_copied(direct, namespace, "a", {"color": "red"})


async def test_a_write_to_a_busy_server_is_repeated_when_it_asked_for_it_and_not_before(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    proxy = Proxy(connection(cluster.kubeconfig))
    refusals = [status_answer(429, "Retry-After: 3")]

    def refuse_one_write(request: Any) -> bytes | None:
        return refusals.pop() if refusals and request.method == "PATCH" else None

    proxy.answer = refuse_one_write
    async with client_of(cluster.kubeconfig) as direct, proxy.serve():
        async with running_engine(proxy.write_kubeconfig(tmp_path / "kubeconfig"), namespace):
            await put(direct, namespace, "a", color="red")
            await until_copied(direct, namespace, "a", {"color": "red"})
        refused, repeated = [each.at for each in proxy.requests if each.target.count("a-copy")][:2]
    assert repeated - refused >= 3


async def test_what_was_done_is_told_by_one_event_with_a_count(cluster: Cluster, namespace: str) -> None:
    async with client_of(cluster.kubeconfig) as direct, running_engine(cluster.kubeconfig, namespace):
        await put(direct, namespace, "a", color="red")
        await until_copied(direct, namespace, "a", {"color": "red"})
        await put(direct, namespace, "a", color="blue")
        await until_copied(direct, namespace, "a", {"color": "blue"})

        def counts() -> list[int]:
            found = cluster.get("events", namespace=namespace)["items"]
            return [each["count"] for each in found if each["reason"] == "Copied"]

        await until("the count is told", lambda: counts() == [2])
