"""Whose leave a primary has, as those answer who may give it."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

from tests.support.agents import lonely_node
from valkey_operator.agent.fence import LicenceKeeper
from valkey_operator.agent.peers import Answer
from valkey_operator.agent.promise import Given, Promise
from valkey_operator.valkey.terms import Terms

ONE_REPLICA = Terms(sets=(("x-1",),), fence_after_ms=60_000)
DEADLINE_S = 10


class RecordWithoutOperator:
    """Gives leave whenever it is asked."""

    async def is_alone(self, _epoch: int, /) -> bool:
        return False

    async def ask(self, _epoch: int, /) -> float | None:
        return asyncio.get_running_loop().time()


async def silent_operator(_epoch: int) -> float | None:
    await asyncio.Event().wait()
    return None


def play(folder: Path, run: Callable[[LicenceKeeper], Coroutine[None, None, None]]) -> None:
    """One story of the primary x-0, in epoch 1."""

    async def story() -> None:
        node = lonely_node(folder)
        node.keep_promise(Promise(term=1, epoch=1, given=Given.PRIMARY))
        await run(LicenceKeeper(node, RecordWithoutOperator()))

    asyncio.run(story())


def test_a_replica_that_promised_a_newer_epoch_takes_back_what_it_granted(tmp_path: Path) -> None:
    async def run(keeper: LicenceKeeper) -> None:
        asked_at = asyncio.get_running_loop().time()
        keeper.heard("x-1", 1, asked_at, Answer(granted=True, epoch=1))
        assert await keeper.accept(ONE_REPLICA, 0)
        keeper.heard("x-1", 1, asked_at, Answer(granted=False, epoch=2))
        assert not await keeper.accept(ONE_REPLICA, 0)

    play(tmp_path, run)


def test_an_answer_about_another_epoch_takes_nothing_back(tmp_path: Path) -> None:
    async def run(keeper: LicenceKeeper) -> None:
        asked_at = asyncio.get_running_loop().time()
        keeper.heard("x-1", 1, asked_at, Answer(granted=True, epoch=1))
        keeper.heard("x-1", 0, asked_at, Answer(granted=False, epoch=1))
        assert await keeper.accept(ONE_REPLICA, 0)

    play(tmp_path, run)


def test_an_operator_that_is_silent_keeps_nobody_from_the_leave_of_the_record(tmp_path: Path) -> None:
    async def run(keeper: LicenceKeeper) -> None:
        keeper.ask_operator = silent_operator
        # Less than a silent address is waited for.
        assert await keeper.accept(ONE_REPLICA, 1.5)

    play(tmp_path, run)
