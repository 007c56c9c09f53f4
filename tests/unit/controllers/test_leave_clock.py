"""Since when nobody gets leave in an older epoch: by the leader's own clock, within its own term."""

import asyncio

from tests.support.clusters import World, facts, formed, with_node
from valkey_operator.controllers.leave_clock import LeaveClock
from valkey_operator.core.cluster.facts import ClusterFacts, Leave
from valkey_operator.core.cluster.leave import witnesses_of
from valkey_operator.kube.objects import Key

KEY = Key("app", "c")
LASTS_S = 0.05
LOST = ("c-0-0", "c-1-0")
ALL = witnesses_of("c", 3, 2)


def seen(world: World | None = None, *, epoch: int = 5, without: tuple[str, ...] = LOST) -> ClusterFacts:
    silent = formed() if world is None else world
    for name in LOST:
        silent = with_node(silent, name, process=None)
    return facts(silent, leave=Leave(epoch=epoch, witnesses=ALL, without=without, kept=True))


def ended(found: ClusterFacts) -> list[str]:
    return [each.name for each in found.members if each.writes_ended]


def behind(*names: str) -> World:
    """A world in which these have not promised the present epoch."""
    world = formed()
    for name in names:
        world = with_node(world, name, promised=4)
    return world


def test_who_gets_no_leave_writes_no_more_once_what_was_given_before_has_run_out() -> None:
    async def run() -> None:
        clock = LeaveClock(LASTS_S)
        assert ended(clock.judge(KEY, seen())) == []
        assert ended(clock.judge(KEY, seen())) == []
        await asyncio.sleep(2 * LASTS_S)
        assert ended(clock.judge(KEY, seen())) == [*LOST]

    asyncio.run(run())


def test_the_clock_starts_when_half_of_the_witnesses_have_promised() -> None:
    async def run() -> None:
        clock = LeaveClock(LASTS_S)
        few = seen(behind("c-0-1", "c-1-1"))
        clock.judge(KEY, few)
        await asyncio.sleep(2 * LASTS_S)
        assert ended(clock.judge(KEY, few)) == []
        assert ended(clock.judge(KEY, seen())) == [], "it begins only now"
        await asyncio.sleep(2 * LASTS_S)
        assert ended(clock.judge(KEY, few)) == [*LOST], "who promised keeps to it, heard of or not"

    asyncio.run(run())


def test_another_epoch_another_leader_and_another_cluster_begin_anew() -> None:
    async def run() -> None:
        clock = LeaveClock(LASTS_S)
        clock.judge(KEY, seen())
        await asyncio.sleep(2 * LASTS_S)
        assert ended(clock.judge(Key("app", "d"), seen())) == []
        assert ended(LeaveClock(LASTS_S).judge(KEY, seen())) == []
        assert ended(clock.judge(KEY, seen(epoch=6))) == []

    asyncio.run(run())


def test_of_those_who_may_have_leave_nothing_is_proven() -> None:
    async def run() -> None:
        clock = LeaveClock(LASTS_S)
        for _ in range(2):
            assert ended(clock.judge(KEY, seen(without=()))) == []
            assert ended(clock.judge(KEY, seen(without=("c-1-0",)))) in ([], ["c-1-0"])
            await asyncio.sleep(2 * LASTS_S)

    asyncio.run(run())
