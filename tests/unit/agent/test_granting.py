"""What a replica's agent lets its primary do, and when it misses it."""

import asyncio
from pathlib import Path

from tests.support.agents import lonely_node
from valkey_operator.agent.granting import COMPUTES_AT_MOST_S, Granting, SignsOfLife
from valkey_operator.agent.node import Node
from valkey_operator.agent.peers import Ask
from valkey_operator.agent.promise import Given, Promise
from valkey_operator.agent.report import Report

DEADLINE_S = 2
# Much less than what an agent waits that was told nothing.
SHORT_MS = 200


def a_replica(folder: Path) -> Node:
    node = lonely_node(folder)
    node.keep_promise(Promise(term=1, epoch=1, given=Given.REPLICA))
    return node


def misses(report: Report) -> bool:
    return report.facts.misses_primary


def test_a_primary_that_was_let_write_again_is_not_missed_from_that_very_moment(tmp_path: Path) -> None:
    async def run() -> None:
        node = a_replica(tmp_path)
        granting = Granting(node)
        granting.answer(Ask(1, SHORT_MS))
        watching = asyncio.create_task(granting.watch())
        assert await node.wait_for(misses, within_s=DEADLINE_S), node.report
        told = asyncio.create_task(node.wait_for(lambda report: not misses(report), within_s=DEADLINE_S))
        await asyncio.sleep(0)
        assert granting.answer(Ask(1, 60_000)).granted
        # Whoever hears that it is missed takes it for a proof that its leave is over.
        assert not misses(node.report)
        assert await told, "who waits for news was not told"
        watching.cancel()

    asyncio.run(run())


def test_an_agent_that_comes_back_knows_for_how_long_the_one_before_it_let_the_primary_write(tmp_path: Path) -> None:
    async def run() -> None:
        Granting(a_replica(tmp_path)).answer(Ask(1, SHORT_MS))
        later = lonely_node(tmp_path)
        watching = asyncio.create_task(Granting(later).watch())
        assert await later.wait_for(misses, within_s=DEADLINE_S), later.report
        watching.cancel()

    asyncio.run(run())


def silent_since_zero(work: list[int]) -> SignsOfLife:
    """A server that answered at 0, and was looked at each second since."""
    life = SignsOfLife(0.0)
    life.look(0.0, answers=True, work=work[0])
    for second, done in enumerate(work[1:], start=1):
        life.look(second, answers=False, work=done)
    return life


def test_a_server_that_computes_without_an_answer_is_slow_and_not_dead() -> None:
    assert silent_since_zero([100, 190, 280, 370]).last == 3


def test_a_server_that_stands_still_is_missed_from_when_it_stood_still() -> None:
    assert silent_since_zero([100, 190, 190, 190]).last == 1


def test_a_server_that_computes_for_half_a_minute_without_an_answer_is_taken_for_hung() -> None:
    ticks = [100 * second for second in range(60)]
    assert silent_since_zero(ticks).last == COMPUTES_AT_MOST_S - 1


def test_a_server_that_answers_again_begins_anew() -> None:
    life = silent_since_zero([100, 100, 100])
    life.look(3, answers=True, work=100)
    assert life.last == 3
