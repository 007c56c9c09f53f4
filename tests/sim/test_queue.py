import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import TypeVar

import pytest

from tests.sim import virtual_time
from tests.support.engine import metrics
from valkey_operator.runtime.queue import FIRST_RETRY_S, LAST_RETRY_S, Lane, QueueClosedError, WorkQueue

R = TypeVar("R")
Scenario = Callable[[WorkQueue[str]], Coroutine[None, None, R]]


def with_queue(scenario: Scenario[R], seed: int = 1) -> R:
    async def run() -> R:
        return await scenario(WorkQueue("test", metrics(), Random(seed)))

    return virtual_time.run(run(), seed=seed)


def now() -> float:
    return asyncio.get_running_loop().time()


def test_ten_additions_are_one_look() -> None:
    async def scenario(queue: WorkQueue[str]) -> int:
        for _ in range(10):
            queue.add("a")
        queue.done((await queue.take()).key)
        return len(queue)

    assert with_queue(scenario) == 0


def test_a_key_added_while_a_worker_has_it_is_handed_out_once_more() -> None:
    async def scenario(queue: WorkQueue[str]) -> None:
        queue.add("a")
        await queue.take()
        queue.add("a")
        queue.add("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await queue.take()
        queue.done("a")
        assert (await queue.take()).key == "a"
        queue.done("a")
        assert len(queue) == 0

    with_queue(scenario)


def test_two_additions_merge_to_the_higher_lane_and_the_earlier_time() -> None:
    async def scenario(queue: WorkQueue[str]) -> tuple[Lane, float]:
        queue.add_after("a", 30, Lane.URGENT)
        queue.add_after("a", 5, Lane.RESYNC)
        taken = await queue.take()
        return taken.lane, now()

    assert with_queue(scenario) == (Lane.URGENT, 5)


def test_an_urgent_key_overtakes_a_thousand_that_were_there_before() -> None:
    async def scenario(queue: WorkQueue[str]) -> str:
        for number in range(1000):
            queue.add(str(number), Lane.RESYNC)
        queue.add("edited", Lane.EDIT)
        queue.add("down", Lane.URGENT)
        return " ".join([(await queue.take()).key for _ in range(3)])

    assert with_queue(scenario) == "down edited 0"


def test_a_worker_for_urgent_keys_is_free_while_the_others_are_not() -> None:
    async def scenario(queue: WorkQueue[str]) -> str:
        queue.add("slow", Lane.EDIT)
        queue.add_after("down", 3, Lane.URGENT)
        return (await queue.take(Lane.URGENT)).key

    assert with_queue(scenario) == "down"


def test_the_pauses_of_a_failing_key_double_up_to_a_minute() -> None:
    async def scenario(queue: WorkQueue[str]) -> list[float]:
        pauses = []
        queue.add("a")
        for _ in range(15):
            taken = await queue.take()
            pauses.append(queue.retry(taken.key, taken.lane))
            queue.done(taken.key)
        return pauses

    pauses = with_queue(scenario)
    for failures, pause_s in enumerate(pauses):
        longest_s = min(FIRST_RETRY_S * 2**failures, LAST_RETRY_S)
        assert longest_s / 2 <= pause_s <= longest_s


def test_a_success_makes_the_next_pause_short_again() -> None:
    async def scenario(queue: WorkQueue[str]) -> float:
        for _ in range(20):
            queue.retry("a", Lane.EDIT)
        queue.forget_failures("a")
        return queue.retry("a", Lane.EDIT)

    assert with_queue(scenario) <= FIRST_RETRY_S


def test_a_key_in_its_pause_is_handed_out_at_once_when_it_changes() -> None:
    async def scenario(queue: WorkQueue[str]) -> float:
        for _ in range(20):
            queue.retry("a", Lane.EDIT)
        queue.add("a")
        await queue.take()
        return now()

    assert with_queue(scenario) <= FIRST_RETRY_S


def test_keys_wake_in_the_order_of_their_times() -> None:
    async def scenario(queue: WorkQueue[str]) -> list[tuple[str, float]]:
        for name, delay_s in (("c", 3.0), ("a", 1.0), ("b", 2.0)):
            queue.add_after(name, delay_s)
        return [((await queue.take()).key, now()) for _ in range(3)]

    for seed in range(10):
        assert with_queue(scenario, seed) == [("a", 1), ("b", 2), ("c", 3)]


def test_a_closed_queue_hands_out_nothing_and_tells_all_who_wait() -> None:
    async def scenario(queue: WorkQueue[str]) -> int:
        async def worker() -> None:
            with pytest.raises(QueueClosedError):
                await queue.take()

        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(worker())
            await asyncio.sleep(1)
            queue.close()
        queue.add("a")
        await worker()
        return len(queue)

    assert with_queue(scenario) == 1


def test_a_key_that_is_woken_early_a_thousand_times_leaves_no_timers_behind() -> None:
    async def scenario(queue: WorkQueue[str]) -> int:
        for _ in range(1000):
            queue.add_after("a", 3600)
            queue.add("a")
            queue.done((await queue.take()).key)
        return len(queue._later)  # noqa: SLF001 - memory is what this is about

    assert with_queue(scenario) < 100
