"""A "no" to kubelet is held back until it is a "yes", but not for long, not for many, and never when it is news."""

import asyncio
from collections.abc import Callable, Coroutine

import msgspec
import pytest

from tests.sim import virtual_time
from tests.support import build
from valkey_operator.agent.probes import HOLD_S, MOST_HELD, ReadinessHold
from valkey_operator.agent.report import Facts, Report
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.valkey.states import Health, ProcessState

RUNNING = Watched(ProcessState.RUNNING, ProcessId(7, 1), 1)
READY = Facts(process=RUNNING, server=ServerView(health=Health.ANSWERS, replication=build.primary()))
LOADING = Facts(process=RUNNING, server=ServerView(health=Health.LOADING))


class FakeNode:
    def __init__(self, facts: Facts) -> None:
        self.report = Report(pod_uid="uid", boot_id="boot", agent_version="1", seq=1, facts=facts)
        self._changed = asyncio.Condition()

    async def become(self, facts: Facts) -> None:
        self.report = msgspec.structs.replace(self.report, facts=facts)
        async with self._changed:
            self._changed.notify_all()

    async def wait_for(self, holds: Callable[[Report], bool], *, within_s: float | None = None) -> bool:
        try:
            async with asyncio.timeout(within_s), self._changed:
                return await self._changed.wait_for(lambda: holds(self.report))
        except TimeoutError:
            return False


async def held_s(hold: ReadinessHold) -> float:
    begun = asyncio.get_running_loop().time()
    await hold()
    return round(asyncio.get_running_loop().time() - begun, 6)


def play(scenario: Callable[[FakeNode, ReadinessHold], Coroutine[None, None, None]], first: Facts, seed: int) -> None:
    async def run() -> None:
        node = FakeNode(first)
        await scenario(node, ReadinessHold(node))

    virtual_time.run(run(), seed=seed)


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_comes_at_the_moment_the_server_gets_ready(seed: int) -> None:
    async def scenario(node: FakeNode, hold: ReadinessHold) -> None:
        asking = asyncio.create_task(held_s(hold))
        await asyncio.sleep(0.3)
        await node.become(READY)
        assert await asking == 0.3

    play(scenario, LOADING, seed)


@pytest.mark.parametrize("seed", range(3))
def test_a_server_that_is_not_getting_ready_is_told_so_before_kubelet_gives_up(seed: int) -> None:
    async def scenario(node: FakeNode, hold: ReadinessHold) -> None:
        assert [await held_s(hold), await held_s(hold)] == [HOLD_S, HOLD_S]

    play(scenario, LOADING, seed)


@pytest.mark.parametrize("seed", range(3))
def test_a_server_that_was_ready_and_is_no_longer_is_told_so_at_once(seed: int) -> None:
    async def scenario(node: FakeNode, hold: ReadinessHold) -> None:
        assert await held_s(hold) == 0
        await node.become(LOADING)
        assert [await held_s(hold), await held_s(hold)] == [0, HOLD_S]

    play(scenario, READY, seed)


@pytest.mark.parametrize("seed", range(3))
def test_of_many_callers_only_a_few_are_held(seed: int) -> None:
    async def scenario(node: FakeNode, hold: ReadinessHold) -> None:
        lengths = await asyncio.gather(*(held_s(hold) for _ in range(MOST_HELD + 3)))
        assert sorted(lengths) == [0] * 3 + [HOLD_S] * MOST_HELD

    play(scenario, LOADING, seed)
