import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from typing import Any

import msgspec

from tests.sim import virtual_time
from tests.support.engine import metrics
from tests.support.fake_transport import FakeTransport
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.errors import ApiError, ForbiddenError, UnreachableError
from valkey_operator.kube.events import PER_OBJECT_BURST, About, Event, EventRecorder

ABOUT = About("v1", "ConfigMap", "team", "thing", "uid-1")


def event(message: str = "It is so.", about: About = ABOUT) -> Event:
    return Event(about, "Normal", "Tested", message)


def sent_by(
    scenario: Callable[[EventRecorder], Coroutine[Any, Any, None]], *answers: ApiError
) -> list[tuple[float, dict[str, Any]]]:
    sent: list[tuple[float, dict[str, Any]]] = []

    async def simulate() -> None:
        transport = FakeTransport(answers)
        recorder = EventRecorder(KubeClient(transport), metrics(), "me", now=lambda: datetime(2026, 11, 16, tzinfo=UTC))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(recorder.run())
            await scenario(recorder)
            await asyncio.sleep(100)
            running.cancel()
        sent.extend((at, msgspec.json.decode(call.content or b"")) for at, call in transport.calls)

    virtual_time.run(simulate(), seed=1)
    return sent


def test_the_same_event_twice_is_one_event_with_a_count() -> None:
    async def scenario(recorder: EventRecorder) -> None:
        for _ in range(3):
            recorder.record(event())
        await asyncio.sleep(1)
        recorder.record(event())

    (first_at, first), (again_at, again) = sent_by(scenario)
    assert (first["count"], again["count"]) == (3, 4)
    assert first["metadata"] == again["metadata"]
    assert (first_at, again_at) == (0, 10)


def test_different_events_have_different_names() -> None:
    async def scenario(recorder: EventRecorder) -> None:
        recorder.record(event("one"))
        recorder.record(event("two"))

    assert len({each["metadata"]["name"] for _, each in sent_by(scenario)}) == 2


def test_an_object_that_makes_too_much_noise_is_muted_and_others_are_not() -> None:
    async def scenario(recorder: EventRecorder) -> None:
        for number in range(100):
            recorder.record(event(str(number)))
        recorder.record(event(about=About("v1", "ConfigMap", "team", "quiet", "uid-2")))

    names = [each["involvedObject"]["name"] for _, each in sent_by(scenario)]
    assert names.count("thing") == PER_OBJECT_BURST
    assert names.count("quiet") == 1


def test_a_flood_of_events_is_sent_at_a_steady_pace() -> None:
    async def scenario(recorder: EventRecorder) -> None:
        for number in range(150):
            recorder.record(event(about=About("v1", "ConfigMap", "team", str(number), f"uid-{number}")))

    times = [at for at, _ in sent_by(scenario)]
    assert len(times) == 150
    assert 9.9 < times[-1] < 10.1


def test_an_event_that_could_not_be_sent_is_sent_later_and_one_that_is_refused_is_not() -> None:
    async def scenario(recorder: EventRecorder) -> None:
        recorder.record(event())

    assert [at for at, _ in sent_by(scenario, UnreachableError("cut"))] == [0, 5]
    assert [at for at, _ in sent_by(scenario, ForbiddenError("no"))] == [0]


def test_an_event_about_an_object_of_the_whole_cluster_is_in_the_default_namespace() -> None:
    async def scenario(recorder: EventRecorder) -> None:
        recorder.record(event(about=About("v1", "Node", "", "node0", "uid-3")))

    [(_, sent)] = sent_by(scenario)
    assert sent["metadata"]["namespace"] == "default"
