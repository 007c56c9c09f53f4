"""Starts by the record in virtual time: what is read when, what is too old, and who comes first."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from typing import Any, cast

import msgspec
import pytest

from tests.sim import virtual_time
from valkey_operator.agent.gate import NobodyWaitsError
from valkey_operator.agent.promise import Given, Promise
from valkey_operator.agent.record import Known, RecordError, ShardRecord
from valkey_operator.agent.report import Facts, Report
from valkey_operator.agent.starter import FRESH_S, Starter, StartRules
from valkey_operator.agent.volume import VolumeTakenError
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.valkey.boot import Start, StartKind
from valkey_operator.valkey.states import ProcessState
from valkey_operator.valkey.terms import Terms

PRIMARY = ShardRecord(epoch=4, primary="cart-0")
UNDECIDED = ShardRecord(epoch=4)
RULES = StartRules(node="cart-0", primary_domain="shop.svc", port=6379)


class FakeNode:
    """A node without files and processes; `let_in` keeps the start, or refuses as often as `refusals` says."""

    def __init__(self) -> None:
        self.report = Report(pod_uid="uid", boot_id="boot", agent_version="1", seq=1, facts=Facts())
        self.turn = asyncio.Lock()
        self.changed = asyncio.Condition()
        self.opened: list[tuple[Start, Promise]] = []
        self.refusals = 0
        self.volume_is_taken = False

    async def set(self, **changes: object) -> None:
        facts = msgspec.structs.replace(self.report.facts, **changes)
        self.report = msgspec.structs.replace(self.report, facts=facts)
        async with self.changed:
            self.changed.notify_all()

    async def come(self, pid: int) -> None:
        await self.set(process=Watched(ProcessState.WAITING, ProcessId(pid, 1), pid))

    async def go(self) -> None:
        await self.set(process=Watched(ProcessState.RUNNING, ProcessId(1, 1), 1))

    async def wait_for(self, holds: Callable[[Report], bool], *, within_s: float | None = None) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s), self.changed:
                return await self.changed.wait_for(lambda: holds(self.report))
        return False

    async def refresh(self) -> Report:
        return self.report

    def keep_promise(self, promise: Promise) -> None:
        facts = msgspec.structs.replace(self.report.facts, promise=promise)
        self.report = msgspec.structs.replace(self.report, facts=facts)

    def let_in(self, start: Start) -> None:
        if self.volume_is_taken:
            raise VolumeTakenError("another pod has it")
        if self.refusals:
            self.refusals -= 1
            raise NobodyWaitsError("nobody")
        self.opened.append((start, self.report.facts.promise))
        facts = msgspec.structs.replace(self.report.facts, process=Watched(ProcessState.STARTING, ProcessId(1, 1), 1))
        self.report = msgspec.structs.replace(self.report, facts=facts)


class Records:
    """Answers in turn, the last one for ever; each takes `lasts_s`."""

    def __init__(self, *answers: ShardRecord | RecordError, lasts_s: float = 0.01) -> None:
        self.answers = list(answers)
        self.lasts_s = lasts_s
        self.asked_at: list[float] = []

    async def read(self) -> Known:
        asked_at = asyncio.get_running_loop().time()
        self.asked_at.append(asked_at)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        await asyncio.sleep(self.lasts_s)
        if isinstance(answer, RecordError):
            raise answer
        return Known(answer, asked_at)


Scenario = Callable[[FakeNode], Awaitable[None]]


def play(records: Records, scenario: Scenario, seed: int) -> FakeNode:
    async def run() -> FakeNode:
        node = FakeNode()
        starter = Starter(cast("Any", node), records.read, RULES, chance=random.Random(seed))
        task = asyncio.create_task(starter.run())
        await scenario(node)
        task.cancel()
        return node

    return virtual_time.run(run(), seed=seed)


@pytest.mark.parametrize("seed", range(5))
def test_the_epoch_is_promised_before_the_gate_opens_and_the_term_stays(seed: int) -> None:
    async def scenario(node: FakeNode) -> None:
        await node.set(promise=Promise(term=9, epoch=3))
        await node.come(1)
        await asyncio.sleep(1)

    start = Start(kind=StartKind.WRITABLE_PRIMARY)
    assert play(Records(PRIMARY), scenario, seed).opened == [(start, Promise(9, 4, Given.PRIMARY, alone=True))]


@pytest.mark.parametrize(("epoch", "starts"), [(4, False), (3, True)])
def test_a_primary_that_was_told_who_could_take_over_does_not_start_by_a_record_that_may_be_older(
    epoch: int, starts: bool
) -> None:
    async def scenario(node: FakeNode) -> None:
        await node.set(promise=Promise(term=9, epoch=epoch, terms=Terms(sets=(("cart-1",),))))
        await node.come(1)
        await asyncio.sleep(30)

    assert bool(play(Records(PRIMARY), scenario, seed=1).opened) is starts


@pytest.mark.parametrize("seed", range(5))
def test_while_another_pod_has_the_volume_nobody_is_let_in_and_the_record_is_read_once_a_second(seed: int) -> None:
    records = Records(PRIMARY)

    async def scenario(node: FakeNode) -> None:
        node.volume_is_taken = True
        await node.come(1)
        await asyncio.sleep(100)
        assert node.opened == []
        assert 100 <= len(records.asked_at) <= 125
        node.volume_is_taken = False
        await asyncio.sleep(2)

    assert len(play(records, scenario, seed).opened) == 1


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_read_while_nobody_stands_at_the_gate(seed: int) -> None:
    records = Records(PRIMARY)

    async def scenario(node: FakeNode) -> None:
        await asyncio.sleep(100)
        assert records.asked_at == []
        await node.come(1)
        await asyncio.sleep(100)
        await node.go()
        await asyncio.sleep(100)

    play(records, scenario, seed)
    assert len(records.asked_at) == 1


@pytest.mark.parametrize("seed", range(5))
def test_a_record_that_decides_nothing_is_read_about_once_a_second(seed: int) -> None:
    records = Records(UNDECIDED)

    async def scenario(node: FakeNode) -> None:
        await node.come(1)
        await asyncio.sleep(20)

    assert play(records, scenario, seed).opened == []
    assert 20 <= len(records.asked_at) <= 25


@pytest.mark.parametrize("seed", range(5))
def test_a_record_that_cannot_be_read_is_asked_for_with_growing_pauses(seed: int) -> None:
    records = Records(*[RecordError("no answer")] * 8, PRIMARY)

    async def scenario(node: FakeNode) -> None:
        await node.come(1)
        await asyncio.sleep(20)

    assert len(play(records, scenario, seed).opened) == 1
    pauses = [later - earlier for earlier, later in zip(records.asked_at, records.asked_at[1:], strict=False)]
    assert pauses[0] < 0.15
    assert 1.5 < max(pauses) < 2.1


@pytest.mark.parametrize("seed", range(5))
def test_a_record_that_took_longer_than_it_stays_fresh_opens_nothing(seed: int) -> None:
    async def scenario(node: FakeNode) -> None:
        await node.come(1)
        await asyncio.sleep(30)

    assert play(Records(PRIMARY, lasts_s=FRESH_S + 0.1), scenario, seed).opened == []


@pytest.mark.parametrize("seed", range(5))
def test_a_server_that_comes_to_the_gate_late_is_opened_by_a_record_read_again(seed: int) -> None:
    records = Records(PRIMARY, PRIMARY, UNDECIDED)

    async def scenario(node: FakeNode) -> None:
        node.refusals = 150  # it needs a second and a half to get there
        await node.come(1)
        await asyncio.sleep(10)

    assert len(play(records, scenario, seed).opened) == 1
    assert len(records.asked_at) == 2


@pytest.mark.parametrize("seed", range(5))
def test_an_order_that_has_the_turn_comes_first_and_its_promise_counts(seed: int) -> None:
    async def scenario(node: FakeNode) -> None:
        async with node.turn:
            await node.come(1)
            await asyncio.sleep(0.5)
            node.keep_promise(Promise(term=1, epoch=5))
        await asyncio.sleep(10)

    assert play(Records(PRIMARY), scenario, seed).opened == []


@pytest.mark.parametrize("seed", range(5))
def test_the_next_server_is_not_kept_waiting_by_the_pause_for_the_one_before(seed: int) -> None:
    records = Records(UNDECIDED, PRIMARY)

    async def scenario(node: FakeNode) -> None:
        await node.come(1)
        await asyncio.sleep(0.2)
        await node.come(2)
        await asyncio.sleep(0.1)
        assert len(node.opened) == 1

    play(records, scenario, seed)
