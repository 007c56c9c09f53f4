"""The cache itself: changes, indices, and what it still owes us of our own writes."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from tests.sim import virtual_time
from tests.support.engine import ConfigMap, config_map, key
from valkey_operator.kube.expectations import DEADLINE_S
from valkey_operator.kube.indices import by_label, by_owner_uid
from valkey_operator.kube.objects import OwnerReference
from valkey_operator.kube.store import Change, Store

R = TypeVar("R")


def with_store(check: Callable[[Store[ConfigMap]], R]) -> R:
    async def run() -> R:
        loop = asyncio.get_running_loop()
        return check(Store({"owner": by_owner_uid, "app": by_label("app")}, loop.time))

    return virtual_time.run(run(), seed=1)


def told(store: Store[ConfigMap]) -> list[tuple[str, int, int, bool]]:
    """Every change as (name, version before, version after, initial); 0 is not there."""
    heard: list[tuple[str, int, int, bool]] = []

    def version(state: ConfigMap | None) -> int:
        return int(state.metadata.resource_version) if state is not None else 0

    def hear(change: Change[ConfigMap]) -> None:
        heard.append((change.key.name, version(change.old), version(change.new), change.initial))

    store.subscribe(hear)
    return heard


def test_the_first_list_is_initial_and_later_changes_are_not() -> None:
    def check(store: Store[ConfigMap]) -> None:
        heard = told(store)
        before = store.has_synced
        store.replace_all([config_map("a", 3)], "5")
        assert (before, store.has_synced) == (False, True)
        store.put(config_map("a", 6))
        store.put(config_map("b", 7))
        store.remove(config_map("a", 8))
        assert heard == [("a", 0, 3, True), ("a", 3, 6, False), ("b", 0, 7, False), ("a", 6, 0, False)]

    with_store(check)


def test_what_vanished_in_a_gap_is_told_as_deleted_by_the_next_list() -> None:
    def check(store: Store[ConfigMap]) -> None:
        store.replace_all([config_map("a", 3), config_map("b", 4), config_map("c", 5)], "5")
        heard = told(store)
        heard.clear()
        store.replace_all([config_map("b", 4), config_map("c", 9), config_map("d", 8)], "9")
        assert heard == [("a", 3, 0, False), ("c", 5, 9, False), ("d", 0, 8, False)]

    with_store(check)


def test_a_list_that_brings_nothing_new_tells_nothing() -> None:
    def check(store: Store[ConfigMap]) -> None:
        store.replace_all([config_map("a", 3)], "5")
        heard = told(store)
        heard.clear()
        store.replace_all([config_map("a", 3)], "90")
        assert heard == []

    with_store(check)


def test_who_subscribes_late_hears_of_all_that_is_there_and_who_left_hears_nothing() -> None:
    def check(store: Store[ConfigMap]) -> None:
        store.replace_all([config_map("b", 2), config_map("a", 1)], "2")
        heard: list[str] = []
        leave = store.subscribe(lambda change: heard.append(f"{change.key.name} {change.initial}"))
        leave()
        store.put(config_map("c", 3))
        assert heard == ["a True", "b True"]

    with_store(check)


def test_objects_are_found_by_owner_and_label_as_these_change() -> None:
    def check(store: Store[ConfigMap]) -> None:
        owner = OwnerReference("v1", "Valkey", "v", "owner-1")
        store.put(config_map("a", 1, owner_references=(owner,), labels={"app": "x"}))
        store.put(config_map("b", 2, labels={"app": "x"}))
        assert [each.key.name for each in store.by_index("app", "x")] == ["a", "b"]
        assert [each.key.name for each in store.by_index("owner", "owner-1")] == ["a"]
        store.put(config_map("a", 3, labels={"app": "y"}))
        assert [each.key.name for each in store.by_index("app", "x")] == ["b"]
        assert store.by_index("owner", "owner-1") == ()
        store.remove(config_map("b", 4))
        assert store.by_index("app", "x") == ()

    with_store(check)


def test_a_key_is_stale_from_our_write_until_the_watch_shows_it() -> None:
    def check(store: Store[ConfigMap]) -> None:
        store.replace_all([config_map("a", 3)], "5")
        store.expect_version(key("a"), "8")
        assert not store.is_current(key("a"))
        assert store.is_current(key("b"))
        store.put(config_map("a", 7))  # somebody else's change, before ours
        assert not store.is_current(key("a"))
        store.put(config_map("a", 8))
        assert store.is_current(key("a"))

    with_store(check)


def test_a_write_that_the_watch_has_shown_before_its_answer_came_leaves_nothing_stale() -> None:
    def check(store: Store[ConfigMap]) -> None:
        store.replace_all([], "5")
        store.put(config_map("a", 8))
        store.remove(config_map("a", 9))
        store.expect_version(key("a"), "8")
        assert store.is_current(key("a"))

    with_store(check)


def test_a_bookmark_shows_that_a_write_outside_the_selector_will_never_come() -> None:
    def check(store: Store[ConfigMap]) -> None:
        store.replace_all([], "5")
        store.expect_version(key("a"), "8")
        store.advance("10")
        assert store.is_current(key("a"))

    with_store(check)


def test_a_deleted_object_is_stale_until_it_is_gone_or_going_or_replaced() -> None:
    def check(store: Store[ConfigMap]) -> None:
        going = config_map("a", 6, deletion_timestamp="2026-11-16T00:00:00Z")
        another = config_map("a", 6, uid="another")
        for see, state in ((store.remove, config_map("a", 6)), (store.put, going), (store.put, another)):
            store.replace_all([config_map("a", 3)], "5")
            store.expect_deletion(key("a"), "uid of a")
            assert not store.is_current(key("a"))
            see(state)
            assert store.is_current(key("a"))

    with_store(check)


def test_a_restored_api_server_does_not_leave_a_key_stale_for_ever() -> None:
    def check(store: Store[ConfigMap]) -> None:
        store.replace_all([], "1000")
        store.expect_version(key("a"), "1001")
        store.replace_all([config_map("a", 7)], "9")
        assert store.is_current(key("a"))
        assert store.progress == 9

    with_store(check)


def test_whoever_waits_for_a_key_wakes_when_it_is_current() -> None:
    async def wait() -> float:
        loop = asyncio.get_running_loop()
        store: Store[ConfigMap] = Store(clock=loop.time)
        store.expect_version(key("a"), "8")
        store.expect_version(key("b"), "20")
        loop.call_later(2, store.put, config_map("a", 8))
        await store.wait_current([key("a")])
        assert not store.is_current(key("b"))
        return loop.time()

    for seed in range(10):
        assert virtual_time.run(wait(), seed=seed) == 2


def test_a_watch_that_owes_us_a_write_for_too_long_is_told_to_be_overdue() -> None:
    async def wait() -> tuple[bool, bool]:
        loop = asyncio.get_running_loop()
        store: Store[ConfigMap] = Store(clock=loop.time)
        store.expect_version(key("a"), "8")
        await asyncio.sleep(DEADLINE_S - 1)
        early = store.is_overdue
        await asyncio.sleep(1)
        return early, store.is_overdue

    assert virtual_time.run(wait(), seed=1) == (False, True)


def test_what_we_swapped_is_cached_at_once_and_an_older_state_that_the_watch_still_owes_us_does_not_undo_it() -> None:
    store = Store[ConfigMap]()
    store.replace_all([config_map("a", 3)], "3")
    store.take_over(config_map("a", 7))
    assert store.is_current(key("a"))
    assert store.progress == 3
    for version, cached in ((5, "7"), (7, "7"), (9, "9")):
        store.put(config_map("a", version))
        assert store.get(key("a")).metadata.resource_version == cached  # type: ignore[union-attr]


def test_a_write_that_was_expected_is_met_by_a_later_one_that_we_swapped() -> None:
    store = Store[ConfigMap]()
    store.replace_all([config_map("a", 3)], "3")
    store.expect_version(key("a"), "5")
    assert not store.is_current(key("a"))
    store.take_over(config_map("a", 7))
    assert store.is_current(key("a"))
