"""Whose leave a primary has, as those answer who may give it."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import msgspec
import pytest

from tests.support import build
from tests.support.agents import lonely_node
from valkey_operator.agent.fence import LicenceKeeper, fence_command, is_bound
from valkey_operator.agent.peers import Answer
from valkey_operator.agent.promise import Given, Promise
from valkey_operator.agent.report import Facts
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.watch import Watched
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health, ProcessState
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


IN_CLUSTER = Terms(sets=(("c-1-0", "c-2-0"),), fence_after_ms=2_500, least_replicas=1, elected=True)


def facts_of(role: Role, terms: Terms | None, state: ProcessState = ProcessState.RUNNING) -> Facts:
    replication = build.primary() if role is Role.PRIMARY else build.replica()
    server = ServerView(health=Health.ANSWERS, replication=replication)
    return Facts(process=Watched(state=state), server=server, promise=Promise(term=1, epoch=1, terms=terms))


@pytest.mark.parametrize(
    ("facts", "bound"),
    [
        pytest.param(facts_of(Role.PRIMARY, IN_CLUSTER), True, id="a primary"),
        pytest.param(facts_of(Role.REPLICA, IN_CLUSTER), True, id="a replica, which may be elected"),
        pytest.param(facts_of(Role.REPLICA, IN_CLUSTER, ProcessState.WAITING), False, id="no server"),
        pytest.param(facts_of(Role.PRIMARY, None), False, id="one that was never told"),
        pytest.param(facts_of(Role.REPLICA, ONE_REPLICA), False, id="a replica of a Valkey"),
    ],
)
def test_in_a_cluster_every_server_needs_leave_once_it_was_told(facts: Facts, bound: bool) -> None:
    assert is_bound(facts) is bound


def test_a_fence_in_a_cluster_forbids_writes_and_elections_at_once() -> None:
    words = ("CONFIG", "SET", "min-replicas-to-write")
    no_failover = "cluster-replica-no-failover"
    assert fence_command(FENCED, elected=True) == (*words, FENCED, no_failover, "yes")
    assert fence_command(1, elected=True) == (*words, 1, no_failover, "no")
    assert fence_command(FENCED) == (*words, FENCED)


def test_a_cluster_node_asks_the_others_more_than_twice_while_leave_lasts_also_before_its_server_runs(
    tmp_path: Path,
) -> None:
    async def run(keeper: LicenceKeeper) -> None:
        assert keeper.ask_every_s == 0.25
        assert await keeper.accept(IN_CLUSTER, 1.5)
        assert keeper.ask_every_s == 1.0
        assert await keeper.accept(msgspec.structs.replace(IN_CLUSTER, fence_after_ms=500), 1.5)
        assert keeper.ask_every_s == 0.2
        assert keeper.wanted_peers() == {"c-1-0", "c-2-0"}

    play(tmp_path, run)


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
