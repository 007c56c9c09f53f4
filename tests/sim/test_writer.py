from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from tests.sim import virtual_time
from tests.support.engine import CONFIG_MAPS, ConfigMap, config_map, key, metrics
from tests.support.fake_transport import FakeTransport
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.store import Store
from valkey_operator.kube.writer import Writer

MANIFEST: dict[str, Any] = {"metadata": {"namespace": "here", "name": "a", "labels": {"x": "1", "y": "2"}}}
REORDERED: dict[str, Any] = {"metadata": {"labels": {"y": "2", "x": "1"}, "name": "a", "namespace": "here"}}
CHANGED: dict[str, Any] = {"metadata": {**MANIFEST["metadata"], "labels": {"x": "3"}}}

Scenario = Callable[[Writer[ConfigMap], Store[ConfigMap]], Coroutine[None, None, None]]


def sent_in(scenario: Scenario, *answers: ConfigMap) -> list[str]:
    transport = FakeTransport(msgspec.json.encode(each) for each in answers)

    async def run() -> None:
        store: Store[ConfigMap] = Store()
        await scenario(Writer(KubeClient(transport), CONFIG_MAPS, store, metrics()), store)

    virtual_time.run(run(), seed=1)
    return [str(call) for _, call in transport.calls]


def test_the_same_content_on_an_object_nobody_touched_is_sent_once() -> None:
    async def scenario(writer: Writer[ConfigMap], store: Store[ConfigMap]) -> None:
        assert await writer.apply(MANIFEST, ConfigMap)
        store.put(config_map("a", 7))
        assert not await writer.apply(MANIFEST, ConfigMap)
        assert not await writer.apply(REORDERED, ConfigMap)

    assert sent_in(scenario, config_map("a", 7)) == ["PATCH /api/v1/namespaces/here/configmaps/a"]


def test_changed_content_and_changed_objects_are_applied_again() -> None:
    async def scenario(writer: Writer[ConfigMap], store: Store[ConfigMap]) -> None:
        await writer.apply(MANIFEST, ConfigMap)
        store.put(config_map("a", 7))
        assert await writer.apply(CHANGED, ConfigMap)
        store.put(config_map("a", 8))
        store.put(config_map("a", 9))  # somebody else
        assert await writer.apply(CHANGED, ConfigMap)
        store.remove(config_map("a", 10))
        assert await writer.apply(CHANGED, ConfigMap)

    assert len(sent_in(scenario, *(config_map("a", version) for version in (7, 8, 9, 11)))) == 4


def test_a_change_of_status_alone_costs_no_apply_but_one_of_labels_does() -> None:
    async def scenario(writer: Writer[ConfigMap], store: Store[ConfigMap]) -> None:
        await writer.apply(MANIFEST, ConfigMap)
        store.put(config_map("a", 9, generation=1))
        assert not await writer.apply(MANIFEST, ConfigMap)
        store.put(config_map("a", 10, generation=1, labels={"theirs": "1"}))
        assert await writer.apply(MANIFEST, ConfigMap)

    sent_in(scenario, config_map("a", 7, generation=1), config_map("a", 10, generation=1))


def test_an_apply_leaves_its_key_stale_until_the_watch_shows_it() -> None:
    async def scenario(writer: Writer[ConfigMap], store: Store[ConfigMap]) -> None:
        await writer.apply(MANIFEST, ConfigMap)
        assert not store.is_current(key("a"))
        store.put(config_map("a", 7))
        assert store.is_current(key("a"))

    sent_in(scenario, config_map("a", 7))


def test_a_status_that_changes_nothing_is_not_sent() -> None:
    async def scenario(writer: Writer[ConfigMap], store: Store[ConfigMap]) -> None:
        manifest = MANIFEST | {"status": {"ready": 1, "phase": "x"}}
        assert not await writer.apply_status(manifest, ConfigMap, live_status={"phase": "x", "ready": 1})
        assert await writer.apply_status(manifest, ConfigMap, live_status={"phase": "y", "ready": 1})
        assert await writer.apply_status(manifest, ConfigMap, live_status=None)

    assert sent_in(scenario) == ["PATCH /api/v1/namespaces/here/configmaps/a/status"] * 2


def test_a_delete_names_the_very_object_and_is_expected() -> None:
    async def scenario(writer: Writer[ConfigMap], store: Store[ConfigMap]) -> None:
        store.put(config_map("a", 7))
        await writer.delete(config_map("a", 7))
        assert not store.is_current(key("a"))

    assert sent_in(scenario) == ["DELETE /api/v1/namespaces/here/configmaps/a"]


def test_objects_that_come_and_go_are_not_remembered_for_ever() -> None:
    async def scenario(writer: Writer[ConfigMap], store: Store[ConfigMap]) -> None:
        for number in range(1000):
            await writer.apply({"metadata": {"namespace": "here", "name": str(number)}}, ConfigMap)
        assert len(writer._applied) < 100  # noqa: SLF001 - memory is what this is about

    sent_in(scenario)
