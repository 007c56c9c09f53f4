"""Laws of the queue under any sequence of additions, workers and failures, in any order the loop may choose."""

import asyncio
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.sim import virtual_time
from tests.support.engine import metrics
from valkey_operator.runtime.queue import Lane, WorkQueue

KEYS = "abcd"
additions = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from(Lane), st.floats(0, 5), st.floats(0, 3)), max_size=30
)


@given(additions, st.integers(1, 4), st.integers(0, 2**16))
def test_no_key_is_ever_in_two_hands_and_every_addition_is_followed_by_a_look(
    added: list[tuple[str, Lane, float, float]], workers: int, seed: int
) -> None:
    async def simulate() -> None:
        loop = asyncio.get_running_loop()
        queue: WorkQueue[str] = WorkQueue("test", metrics(), Random(seed))
        held: set[str] = set()
        looked: dict[str, float] = {}
        wanted: dict[str, float] = {}

        async def work(slowest: Lane) -> None:
            while True:
                taken = await queue.take(slowest)
                assert taken.key not in held
                assert taken.lane <= slowest
                assert taken.due <= loop.time()
                held.add(taken.key)
                looked[taken.key] = loop.time()
                await asyncio.sleep(Random(seed).random())
                held.remove(taken.key)
                queue.done(taken.key)

        async def add() -> None:
            for name, lane, delay_s, pause_s in added:
                queue.add_after(name, delay_s, lane)
                wanted[name] = max(wanted.get(name, 0.0), loop.time())
                await asyncio.sleep(pause_s)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work(Lane.RESYNC)) for _ in range(workers)]
            tasks.append(group.create_task(work(Lane.URGENT)))
            await add()
            await asyncio.sleep(100)
            for task in tasks:
                task.cancel()
        assert len(queue) == 0
        assert {name for name, at in wanted.items() if looked.get(name, -1.0) < at} == set()

    virtual_time.run(simulate(), seed=seed)


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(Lane)), unique_by=lambda each: each[0]))
def test_what_is_due_is_handed_out_by_lane_and_then_by_age(added: list[tuple[int, Lane]]) -> None:
    async def simulate() -> list[tuple[int, Lane]]:
        queue: WorkQueue[int] = WorkQueue("test", metrics(), Random(1))
        for name, lane in added:
            queue.add(name, lane)
        return [(taken.key, taken.lane) for taken in [await queue.take() for _ in added]]

    expected = sorted(added, key=lambda each: each[1])
    assert virtual_time.run(simulate(), seed=1) == expected
