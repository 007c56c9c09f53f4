"""The loop of lists and watches, against scripted answers; tests/e2e/test_engine_watch.py has the real ones."""

import asyncio
from collections.abc import Callable
from random import Random

import msgspec

from tests.sim import virtual_time
from tests.support.engine import ConfigMap, config_map, everything, key, metrics
from tests.support.fake_transport import FakeTransport, Stream
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.errors import ApiError, GoneError, TooManyRequestsError, UnreachableError
from valkey_operator.kube.expectations import DEADLINE_S
from valkey_operator.kube.reflector import OVERDUE_CHECK_S, Reflector
from valkey_operator.kube.store import Store

Meanwhile = Callable[[Store[ConfigMap]], None]


def page(version: int, *items: ConfigMap | dict[str, object], next_page: str = "") -> bytes:
    meta = {"resourceVersion": str(version), "continue": next_page}
    return msgspec.json.encode({"metadata": meta, "items": items})


def line(kind: str, item: object) -> bytes:
    return msgspec.json.encode({"type": kind, "object": item})


def run_for(
    seconds: float, *answers: ApiError | bytes, stream: Stream | None = None, meanwhile: Meanwhile | None = None
) -> tuple[Store[ConfigMap], list[str]]:
    """The store afterwards, and the requests as `time method version or page`."""
    transport = FakeTransport(answers, stream)

    async def simulate() -> Store[ConfigMap]:
        loop = asyncio.get_running_loop()
        store: Store[ConfigMap] = Store(clock=loop.time)
        reflector = Reflector(
            client=KubeClient(transport),
            query=everything(),
            projection=ConfigMap,
            store=store,
            metrics=metrics(),
            random=Random(1),
        )
        async with asyncio.TaskGroup() as group:
            running = group.create_task(reflector.run())
            if meanwhile is not None:
                await store.wait_synced()
                meanwhile(store)
            await asyncio.sleep(seconds)
            running.cancel()
        return store

    store = virtual_time.run(simulate(), seed=1)
    names = ("resourceVersion", "continue")
    asked = [
        " ".join([str(int(at)), call.method, *(call.params[name] for name in names if name in call.params)])
        for at, call in transport.calls
    ]
    return store, asked


def test_pages_are_listed_to_the_end_before_anybody_hears_of_them() -> None:
    store, asked = run_for(
        1, page(5, config_map("a", 1), next_page="p2"), page(5, config_map("b", 2), next_page="p3"), page(5)
    )
    assert [each.key.name for each in store.list()] == ["a", "b"]
    assert asked == ["0 GET", "0 GET p2", "0 GET p3", "0 WATCH 5"]


def test_a_watch_goes_on_where_the_last_one_ended_and_a_bookmark_counts() -> None:
    lines = {
        "5": [line("ADDED", config_map("a", 7)), line("BOOKMARK", {"metadata": {"resourceVersion": "12"}})],
        "12": [line("DELETED", config_map("a", 15))],
    }

    def stream(call: object, on_line: Callable[[bytes], None]) -> float:
        for each in lines.pop(getattr(call, "params", {})["resourceVersion"], ()):
            on_line(each)
        return 60

    store, asked = run_for(150, page(5), stream=stream)
    assert asked == ["0 GET", "0 WATCH 5", "60 WATCH 12", "120 WATCH 15"]
    assert (len(store), store.progress) == (0, 15)


def test_a_silent_watch_is_opened_again_from_the_same_version() -> None:
    _, asked = run_for(200, page(5))
    assert asked == ["0 GET", "0 WATCH 5", "180 WATCH 5"]


def test_a_forgotten_version_is_listed_anew_and_what_vanished_is_told() -> None:
    def stream(call: object, on_line: Callable[[bytes], None]) -> float:
        if getattr(call, "params", {})["resourceVersion"] == "5":
            on_line(line("ERROR", {"code": 410, "reason": "Expired", "message": "too old resource version"}))
        return 1000

    gone: list[str] = []

    def hear(store: Store[ConfigMap]) -> None:
        store.subscribe(lambda change: gone.append(change.key.name) if change.new is None else None)

    store, asked = run_for(
        2, page(5, config_map("a", 1), config_map("b", 2)), page(9, config_map("b", 2)), stream=stream, meanwhile=hear
    )
    assert asked == ["0 GET", "0 WATCH 5", "0 GET", "0 WATCH 9"]
    assert [each.key.name for each in store.list()] == ["b"]
    assert gone == ["a"]


def test_a_page_that_is_forgotten_in_the_middle_starts_the_list_over() -> None:
    store, asked = run_for(1, page(5, config_map("a", 1), next_page="p2"), GoneError("expired"), page(8))
    assert asked == ["0 GET", "0 GET p2", "0 GET", "0 WATCH 8"]
    assert len(store) == 0


def test_a_server_that_asks_for_quiet_gets_it() -> None:
    _, asked = run_for(40, TooManyRequestsError("busy", retry_after_s=30), page(5))
    assert asked == ["0 GET", "30 GET", "30 WATCH 5"]


def test_a_server_that_is_away_is_asked_at_growing_pauses() -> None:
    _, asked = run_for(3600, *[UnreachableError("refused")] * 1000)
    assert 3600 / 15 < len(asked) < 3600 / 7.5 + 10


def test_one_odd_object_does_not_keep_the_others_out() -> None:
    def stream(call: object, on_line: Callable[[bytes], None]) -> float:
        on_line(line("MODIFIED", {"metadata": {"name": "c"}, "data": "not a map"}))
        on_line(line("ADDED", config_map("d", 9)))
        return 1000

    odd = {"metadata": {"name": "b"}, "data": 1}
    store, _ = run_for(1, page(5, config_map("a", 1), odd), stream=stream)
    assert [each.key.name for each in store.list()] == ["a", "d"]


def test_a_watch_that_does_not_show_our_own_write_is_replaced_by_a_list() -> None:
    store, asked = run_for(
        DEADLINE_S + OVERDUE_CHECK_S + 1,
        page(5),
        page(9, config_map("a", 8)),
        meanwhile=lambda store: store.expect_version(key("a"), "8"),
    )
    assert store.is_current(key("a"))
    assert asked == ["0 GET", "0 WATCH 5", "30 GET", "30 WATCH 9"]
