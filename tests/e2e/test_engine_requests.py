"""Single requests against the real API server: what it refuses is told apart, and what was asked for happens."""

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.engine_ground import client_of, manifest, put
from tests.e2e.engine_proxy import Proxy, status_answer
from tests.support.engine import CONFIG_MAPS, ConfigMap, everything
from valkey_operator.kube.connection import load_connection
from valkey_operator.kube.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidError,
    NotFoundError,
    TooManyRequestsError,
    UnreachableError,
)
from valkey_operator.kube.objects import Key, KubeObject, Resource

pytestmark = pytest.mark.asyncio

SERVICES = Resource("", "v1", "services", "Service")


async def test_a_list_comes_in_pages_and_complete(cluster: Cluster, namespace: str) -> None:
    async with client_of(cluster.kubeconfig) as client:
        for number in range(12):
            await put(client, namespace, f"c{number:02}")
        query = everything(namespace, "engine-test")
        first = await client.list_page(query, ConfigMap, limit=5)
        found = await client.list(query, ConfigMap, limit=5)
    assert (len(first.items), bool(first.next_page)) == (5, True)
    assert [each.key.name for each in found] == [f"c{number:02}" for number in range(12)]


async def test_an_apply_takes_the_fields_over_from_whoever_had_them(cluster: Cluster, namespace: str) -> None:
    async with client_of(cluster.kubeconfig) as client:
        await put(client, namespace, "a", color="red", size="1")
        cluster.kubectl("patch", "configmap", "a", f"--namespace={namespace}", "--patch", '{"data":{"color":"blue"}}')
        written = await put(client, namespace, "a", color="red")
    assert written.data == {"color": "red"}, "what we do not name any more is gone, what we name is ours"
    managers = cluster.get("configmap", "a", namespace=namespace)
    assert managers["metadata"]["labels"] == {"engine-test": "yes"}


async def test_an_apply_that_changes_nothing_makes_no_new_version(cluster: Cluster, namespace: str) -> None:
    async with client_of(cluster.kubeconfig) as client:
        first = await put(client, namespace, "a", color="red")
        again = await put(client, namespace, "a", color="red")
    assert again.metadata.resource_version == first.metadata.resource_version


async def test_a_replace_of_a_stale_version_is_a_conflict(cluster: Cluster, namespace: str) -> None:
    async with client_of(cluster.kubeconfig) as client:
        former = await put(client, namespace, "a", color="red")
        await put(client, namespace, "a", color="blue")
        wanted = manifest(namespace, "a", color="green")
        wanted["metadata"]["resourceVersion"] = former.metadata.resource_version
        with pytest.raises(ConflictError):
            await client.replace(CONFIG_MAPS, wanted, ConfigMap)
        found = await client.get(CONFIG_MAPS, Key(namespace, "a"), ConfigMap)
        wanted["metadata"]["resourceVersion"] = found.metadata.resource_version
        assert (await client.replace(CONFIG_MAPS, wanted, ConfigMap)).data == {"color": "green"}


async def test_a_name_that_is_taken_is_told(cluster: Cluster, namespace: str) -> None:
    async with client_of(cluster.kubeconfig) as client:
        await client.create(CONFIG_MAPS, manifest(namespace, "a"), ConfigMap)
        with pytest.raises(AlreadyExistsError):
            await client.create(CONFIG_MAPS, manifest(namespace, "a"), ConfigMap)


async def test_a_delete_spares_a_later_object_of_the_same_name(cluster: Cluster, namespace: str) -> None:
    async with client_of(cluster.kubeconfig) as client:
        former = await put(client, namespace, "a")
        assert await client.delete(CONFIG_MAPS, former.key, uid=former.metadata.uid)
        assert not await client.delete(CONFIG_MAPS, former.key)
        await put(client, namespace, "a")
        with pytest.raises(ConflictError):
            await client.delete(CONFIG_MAPS, former.key, uid=former.metadata.uid)
        with pytest.raises(ConflictError):
            await client.delete(CONFIG_MAPS, former.key, resource_version=former.metadata.resource_version)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"dada": {}}, "dada"),
        ({"immutable": "perhaps"}, "immutable"),
        ({"metadata": {"name": "a", "labels": {"x": "not a/label"}}}, "not a/label"),
    ],
    ids=["unknown field", "wrong type", "wrong value"],
)
async def test_what_can_never_be_right_is_refused_and_says_where(
    cluster: Cluster, namespace: str, changes: dict[str, Any], told: str
) -> None:
    async with client_of(cluster.kubeconfig) as client:
        wanted = manifest(namespace, "a") | changes
        wanted["metadata"] = {**wanted["metadata"], "namespace": namespace}
        with pytest.raises(InvalidError, match=told):
            await client.apply(CONFIG_MAPS, wanted, ConfigMap)


async def test_what_is_not_there_is_told(cluster: Cluster, namespace: str) -> None:
    async with client_of(cluster.kubeconfig) as client:
        with pytest.raises(NotFoundError):
            await client.get(CONFIG_MAPS, Key(namespace, "none"), ConfigMap)


async def test_a_status_is_applied_to_its_own_subresource(cluster: Cluster, namespace: str) -> None:
    condition = {
        "type": "Tested",
        "status": "True",
        "reason": "Test",
        "message": "",
        "lastTransitionTime": "2026-11-16T00:00:00Z",
    }
    async with client_of(cluster.kubeconfig) as client:
        meta = {"namespace": namespace, "name": "a"}
        await client.apply(SERVICES, {"metadata": meta, "spec": {"ports": [{"port": 1}]}}, KubeObject)
        status = {"metadata": meta, "status": {"conditions": [condition]}}
        await client.apply(SERVICES, status, KubeObject, subresource="status")
    found = cluster.get("service", "a", namespace=namespace)
    assert found["status"]["conditions"] == [condition]
    assert found["spec"]["ports"][0]["port"] == 1


async def test_a_busy_server_says_for_how_long(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    proxy = Proxy(load_connection(str(cluster.kubeconfig), None, {}))
    async with proxy.serve(), client_of(proxy.write_kubeconfig(tmp_path / "kubeconfig")) as client:
        proxy.answer = lambda _: status_answer(429, "Retry-After: 3")
        with pytest.raises(TooManyRequestsError) as caught:
            await put(client, namespace, "a")
        proxy.answer = lambda _: None
        await put(client, namespace, "a")
    assert caught.value.retry_after_s == 3


async def test_a_server_that_cannot_be_reached_is_told(cluster: Cluster, namespace: str, tmp_path: Path) -> None:
    proxy = Proxy(load_connection(str(cluster.kubeconfig), None, {}))
    async with proxy.serve(), client_of(proxy.write_kubeconfig(tmp_path / "kubeconfig")) as client:
        proxy.cut()
        with pytest.raises(UnreachableError):
            await put(client, namespace, "a")
