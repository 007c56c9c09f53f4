"""How many keys go at a time, and for how long one order holds the server and whoever waits for it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.sim import virtual_time
from valkey_operator.agent.cluster_server import LANES, ClusterServer
from valkey_operator.agent.report import Facts, Report
from valkey_operator.agent.server import Words
from valkey_operator.agent.slot_moves import FIRST_PORTION, MOST_PORTION, Route, move_keys, next_portion
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.slots import slot_range
from valkey_operator.valkey.states import ProcessState

ROUTE = Route(target=Address("10.0.0.9", 6379), user="default", password=None, idle_ms=2500)
IDLE = 5
"""Where MIGRATE has its timeout."""


@pytest.mark.parametrize(
    ("portion", "sent", "took_s", "following"),
    [
        (32, 32, 0.001, 64),
        (32, 5, 0.001, 32),
        (32, 32, 0.01, 32),
        (32, 32, 0.1, 16),
        (512, 3, 0.1, 1),
        (1, 1, 9.0, 1),
        (MOST_PORTION, MOST_PORTION, 0.001, MOST_PORTION),
    ],
    ids=str,
)
def test_a_portion_grows_while_it_takes_a_moment_and_shrinks_when_clients_wait_for_it(
    portion: int, sent: int, took_s: float, following: int
) -> None:
    assert next_portion(portion, sent, took_s) == following


class Source:
    """A server with keys without end, each portion of which takes its time."""

    def __init__(self, takes_s: float) -> None:
        self.takes_s = takes_s
        self.migrated: list[Words] = []
        self.waits_s: list[float] = []

    async def call(self, *_words: Any, timeout_s: float | None = None) -> list[bytes]:
        assert timeout_s is not None
        return [b"key"] * FIRST_PORTION

    async def call_each(self, commands: Sequence[Words], *, timeout_s: float | None = None) -> list[Any]:
        assert timeout_s is not None
        self.migrated.append(commands[0])
        self.waits_s.append(timeout_s)
        await asyncio.sleep(self.takes_s)
        return ["OK", [b"key"] * FIRST_PORTION]


def sent_by(source: Source, *, until_s: float, end_s: float) -> Source:
    async def run() -> None:
        now, connection = asyncio.get_running_loop().time(), source
        wires: Any = connection
        await move_keys(wires, [0], ROUTE, until=now + until_s, end_by=now + end_s)

    virtual_time.run(run(), seed=1)
    return source


def test_no_portion_begins_once_the_time_for_it_is_over() -> None:
    assert len(sent_by(Source(takes_s=0.03), until_s=0.05, end_s=9).migrated) == 2


def test_a_first_portion_goes_also_where_the_time_is_over_so_that_each_order_comes_further() -> None:
    assert len(sent_by(Source(takes_s=0.0), until_s=-1, end_s=9).migrated) == 1


def test_a_silent_target_is_given_up_before_the_operator_gives_up_the_order() -> None:
    source = sent_by(Source(takes_s=0.0), until_s=-1, end_s=1.5)
    assert source.waits_s[0] <= 1.5
    assert int(source.migrated[0][IDLE]) < source.waits_s[0] * 1000


def test_and_before_the_other_nodes_take_the_source_for_failed() -> None:
    assert sent_by(Source(takes_s=0.0), until_s=-1, end_s=9).migrated[0][IDLE] == ROUTE.idle_ms


def test_slots_are_opened_within_the_time_for_all_of_them_and_not_for_each() -> None:
    waits_s: list[float] = []

    class Lane:
        async def call_each(self, _commands: Sequence[Words], *, timeout_s: float) -> None:
            waits_s.append(timeout_s)
            await asyncio.sleep(0.02)

        def close(self) -> None:
            pass

    class RunningNode:
        connection = Lane()
        report = Report(
            pod_uid="uid",
            boot_id="boot",
            agent_version="",
            seq=1,
            facts=Facts(process=Watched(ProcessState.RUNNING, ProcessId(7, 1), 1)),
        )

        @staticmethod
        def another_connection() -> Lane:
            return Lane()

    async def run() -> None:
        node: Any = RunningNode()
        await ClusterServer(node).set_slots(slot_range(0, 63), "MIGRATING", "a" * 40, within_s=0.5)

    virtual_time.run(run(), seed=1)
    first, *others = waits_s
    assert len(others) == LANES
    assert first <= 0.5
    assert max(others) <= 0.48
