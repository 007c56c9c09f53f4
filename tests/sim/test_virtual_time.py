import asyncio
import socket
import time
from collections.abc import AsyncIterator

import pytest

from tests.sim import virtual_time


async def record_arrivals(of: int) -> list[int]:
    arrived: list[int] = []

    async def arrive(who: int) -> None:
        await asyncio.sleep(1)
        arrived.append(who)

    async with asyncio.TaskGroup() as group:
        for who in range(of):
            group.create_task(arrive(who))
    return arrived


def test_an_hour_of_sleep_takes_no_time() -> None:
    async def sleep_for_an_hour() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    started = time.monotonic()
    assert virtual_time.run(sleep_for_an_hour(), seed=1) == 3600
    assert time.monotonic() - started < 1


def test_the_same_seed_replays_the_same_order() -> None:
    orders = {tuple(virtual_time.run(record_arrivals(of=8), seed=7)) for _ in range(20)}
    assert len(orders) == 1


def test_other_seeds_reach_every_order() -> None:
    orders = {tuple(virtual_time.run(record_arrivals(of=3), seed=seed)) for seed in range(100)}
    assert len(orders) == 6


def test_timers_fire_in_the_order_of_their_times_under_every_seed() -> None:
    async def wake_in_turn() -> list[float]:
        woken: list[float] = []

        async def wake(after_s: float) -> None:
            await asyncio.sleep(after_s)
            woken.append(asyncio.get_running_loop().time())

        await asyncio.gather(wake(3), wake(0.5), wake(2))
        return woken

    for seed in range(20):
        assert virtual_time.run(wake_in_turn(), seed=seed) == [0.5, 2, 3]


def test_a_timeout_fires_at_its_virtual_deadline() -> None:
    async def wait_in_vain() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(30):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert virtual_time.run(wait_in_vain(), seed=1) == 30


def test_a_cancelled_timer_does_not_move_the_clock() -> None:
    async def finish_early() -> float:
        async with asyncio.timeout(1000):
            await asyncio.sleep(1)
        await asyncio.sleep(1)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(finish_early(), seed=1) == 2


def test_waiting_for_a_real_socket_is_refused() -> None:
    async def connect() -> None:
        await asyncio.open_connection("192.0.2.1", 6379)

    with pytest.raises(virtual_time.RealWorldRefusedError, match=r"create_connection\(\) needs the real world"):
        virtual_time.run(connect(), seed=1)


def test_reading_from_a_real_socket_is_refused() -> None:
    async def read() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            await asyncio.get_running_loop().sock_recv(ours, 1)

    with pytest.raises(virtual_time.RealWorldRefusedError, match="sock_recv"):
        virtual_time.run(read(), seed=1)


def test_a_thread_is_refused() -> None:
    async def leave_the_loop() -> None:
        await asyncio.to_thread(int)

    with pytest.raises(virtual_time.RealWorldRefusedError, match="run_in_executor"):
        virtual_time.run(leave_the_loop(), seed=1)


def test_a_deadlock_is_reported_with_the_tasks_that_wait() -> None:
    async def wait_for_nobody() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.Event().wait(), name="the forgotten one")

    with pytest.raises(virtual_time.DeadlockError, match="the forgotten one") as caught:
        virtual_time.run(wait_for_nobody(), seed=5)
    assert caught.value.__notes__ == ["replay this with seed=5"]


def test_a_livelock_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(virtual_time, "MOST_STEPS_AT_ONE_INSTANT", 1000)

    async def spin() -> None:
        while True:  # noqa: ASYNC110 - the defect under test
            await asyncio.sleep(0)

    with pytest.raises(virtual_time.LivelockError, match="time did not move"):
        virtual_time.run(spin(), seed=1)


def test_a_callback_that_fails_fails_the_simulation() -> None:
    async def schedule_a_failure() -> None:
        asyncio.get_running_loop().call_soon(lambda: 1 // 0)
        await asyncio.sleep(1)

    with pytest.raises(ZeroDivisionError):
        virtual_time.run(schedule_a_failure(), seed=1)


def test_an_abandoned_generator_is_closed_at_the_end() -> None:
    closed: list[str] = []

    async def count() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            closed.append("yes")

    async def read_one() -> None:
        counter = count()
        await anext(counter)

    virtual_time.run(read_one(), seed=1)
    assert closed == ["yes"]
