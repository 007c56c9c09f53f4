"""Caches on the real API server, and everything that can happen to a watch."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from testbed.faults import ApiServerDown, broken
from testbed.layout import Layout
from tests.e2e.cluster import Cluster
from tests.e2e.engine_ground import cached, client_of, connection, manifest, names, put, remove, until
from tests.e2e.engine_proxy import Proxy, status_answer
from tests.support.engine import CONFIG_MAPS, ConfigMap, metrics
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.objects import Key
from valkey_operator.kube.writer import Writer

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def direct(cluster: Cluster) -> AsyncIterator[KubeClient]:
    """Somebody else, whose way to the API server is never broken by a test."""
    async with client_of(cluster.kubeconfig) as client:
        yield client


@pytest_asyncio.fixture
async def proxy(cluster: Cluster) -> AsyncIterator[Proxy]:
    proxy = Proxy(connection(cluster.kubeconfig))
    async with proxy.serve():
        yield proxy


@pytest_asyncio.fixture
async def ours(proxy: Proxy, tmp_path: Path) -> AsyncIterator[KubeClient]:
    """The engine's client, whose way leads through the proxy."""
    async with client_of(proxy.write_kubeconfig(tmp_path / "kubeconfig")) as client:
        yield client


def lists(proxy: Proxy) -> int:
    return len([each for each in proxy.requests if each.method == "GET" and not each.is_watch])


def watches(proxy: Proxy) -> int:
    return len([each for each in proxy.requests if each.is_watch])


async def test_the_first_list_comes_in_pages(
    direct: KubeClient, ours: KubeClient, proxy: Proxy, namespace: str
) -> None:
    await asyncio.gather(*(put(direct, namespace, f"c{number:03}") for number in range(120)))
    async with cached(ours, namespace, page_size=25) as found:
        assert names(found.store) == [f"c{number:03}" for number in range(120)]
        assert lists(proxy) == 5


async def test_more_than_one_usual_page_is_listed_whole(direct: KubeClient, namespace: str) -> None:
    for begin in range(0, 550, 50):
        await asyncio.gather(*(put(direct, namespace, f"c{number}") for number in range(begin, begin + 50)))
    async with cached(direct, namespace) as found:
        assert len(found.store) == 550


async def test_changes_are_seen_as_they_happen(direct: KubeClient, ours: KubeClient, namespace: str) -> None:
    async with cached(ours, namespace) as found:
        await put(direct, namespace, "a", color="red")
        await until("it is added", lambda: names(found.store) == ["a"])
        await put(direct, namespace, "a", color="blue")
        await until("it is changed", lambda: found.store.list()[0].data == {"color": "blue"})
        await remove(direct, namespace, "a")
        await until("it is gone", lambda: found.gone == ["a"])


async def test_a_line_of_half_a_megabyte_is_read(direct: KubeClient, ours: KubeClient, namespace: str) -> None:
    async with cached(ours, namespace) as found:
        await put(direct, namespace, "large", blob="x" * 500_000)
        await until("it is added", lambda: names(found.store) == ["large"])
        assert len(found.store.list()[0].data["blob"]) == 500_000


async def test_an_object_that_leaves_the_selector_leaves_the_cache(
    cluster: Cluster, direct: KubeClient, ours: KubeClient, namespace: str
) -> None:
    await put(direct, namespace, "a")
    async with cached(ours, namespace) as found:
        cluster.kubectl("label", "configmap", "a", "engine-test-", f"--namespace={namespace}")
        await until("it left", lambda: found.gone == ["a"])


@pytest.mark.timeout(200)
async def test_bookmarks_advance_the_version_though_nothing_happens_here(
    direct: KubeClient, ours: KubeClient, proxy: Proxy, namespace: str
) -> None:
    async with cached(ours, namespace) as found:
        unlabelled = manifest(namespace, "elsewhere")
        del unlabelled["metadata"]["labels"]
        other = await direct.apply(CONFIG_MAPS, unlabelled, ConfigMap)
        version = int(other.metadata.resource_version)
        await until("a bookmark passes it", lambda: found.store.progress >= version, deadline_s=150)
        assert names(found.store) == []
        proxy.cut()
        proxy.mend()
        await until("the watch is open again", lambda: watches(proxy) == 2)
    assert f"resourceVersion={found.store.progress}" in proxy.requests[-1].target
    assert lists(proxy) == 1


async def test_a_silent_watch_is_opened_again_and_misses_nothing(
    direct: KubeClient, ours: KubeClient, proxy: Proxy, namespace: str
) -> None:
    await put(direct, namespace, "former")
    async with cached(ours, namespace, idle_limit_s=2.0) as found:
        proxy.silence()
        await put(direct, namespace, "meanwhile")
        await remove(direct, namespace, "former")
        await asyncio.sleep(1)
        assert names(found.store) == ["former"]
        await until("the watch was given up", lambda: watches(proxy) > 1)
        proxy.speak()
        await until("it caught up", lambda: names(found.store) == ["meanwhile"])
        assert found.gone == ["former"]
    assert lists(proxy) == 1, "it went on from its version, without a list"


async def test_a_cut_watch_goes_on_where_it_was(
    direct: KubeClient, ours: KubeClient, proxy: Proxy, namespace: str
) -> None:
    async with cached(ours, namespace) as found:
        proxy.cut()
        await put(direct, namespace, "meanwhile")
        await asyncio.sleep(1)
        proxy.mend()
        await until("it caught up", lambda: names(found.store) == ["meanwhile"], deadline_s=5)
    assert lists(proxy) == 1


async def test_caches_survive_an_api_server_that_is_killed_and_comes_back(
    direct: KubeClient, layout: Layout, namespace: str
) -> None:
    await put(direct, namespace, "before")
    async with cached(direct, namespace) as found:
        await asyncio.to_thread(kill_and_restart, layout)
        assert names(found.store) == ["before"], "what is known stays known"
        await put(direct, namespace, "after")
        await until("it is seen", lambda: names(found.store) == ["after", "before"], deadline_s=20)


def kill_and_restart(layout: Layout) -> None:
    with broken(layout, ApiServerDown()):
        pass


async def test_a_forgotten_version_is_listed_anew_and_tells_what_vanished(
    direct: KubeClient, ours: KubeClient, proxy: Proxy, *, layout: Layout, namespace: str
) -> None:
    """The 410 is the API server's own: one that starts anew remembers no event from before its start."""
    for name in ("a", "b", "c"):
        await put(direct, namespace, name)
    async with cached(ours, namespace) as found:
        proxy.cut()
        await remove(direct, namespace, "a", "b")
        await put(direct, namespace, "d")
        await asyncio.to_thread(kill_and_restart, layout)
        listed_before = lists(proxy)
        proxy.mend()
        await until("it caught up", lambda: names(found.store) == ["c", "d"], deadline_s=30)
        assert found.gone == ["a", "b"]
        assert lists(proxy) == listed_before + 1


async def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(
    direct: KubeClient, ours: KubeClient, proxy: Proxy, namespace: str
) -> None:
    answers = [status_answer(429, "Retry-After: 2")]
    proxy.answer = lambda _: answers.pop() if answers else None
    async with cached(ours, namespace):
        refused, answered = proxy.requests[0].at, proxy.requests[1].at
    assert answered - refused >= 2


async def test_a_key_is_stale_from_our_write_until_the_watch_shows_it(
    direct: KubeClient, ours: KubeClient, proxy: Proxy, namespace: str
) -> None:
    key = Key(namespace, "a")
    async with cached(ours, namespace) as found:
        writer = Writer(direct, CONFIG_MAPS, found.store, metrics())
        proxy.silence()
        await writer.apply(manifest(namespace, "a", color="red"), ConfigMap)
        assert (found.store.get(key), found.store.is_current(key)) == (None, False)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await found.store.wait_current([key])
        proxy.speak()
        async with asyncio.timeout(5):
            await found.store.wait_current([key])
        live = found.store.get(key)
        assert live is not None
        proxy.silence()
        await writer.delete(live)
        assert not found.store.is_current(key)
        proxy.speak()
        async with asyncio.timeout(5):
            await found.store.wait_current([key])
        assert found.store.get(key) is None


async def test_an_apply_of_what_is_there_is_not_sent_and_an_edit_by_hand_is_undone(
    cluster: Cluster, ours: KubeClient, proxy: Proxy, namespace: str
) -> None:
    key = Key(namespace, "a")
    wanted = manifest(namespace, "a", color="red")
    async with cached(ours, namespace) as found:
        writer = Writer(ours, CONFIG_MAPS, found.store, metrics())
        assert await writer.apply(wanted, ConfigMap)
        await found.store.wait_current([key])
        assert not await writer.apply(wanted, ConfigMap)
        cluster.kubectl("patch", "configmap", "a", f"--namespace={namespace}", "--patch", '{"data":{"color":"blue"}}')
        await until("the edit is seen", lambda: found.store.list()[0].data == {"color": "blue"})
        assert await writer.apply(wanted, ConfigMap)
        await found.store.wait_current([key])
        assert found.store.list()[0].data == {"color": "red"}
    assert len([each for each in proxy.requests if each.method == "PATCH"]) == 2
