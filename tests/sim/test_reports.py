"""From a report to the reconcile it causes, in each term anew."""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import msgspec

from tests.sim import virtual_time
from tests.support.engine import metrics
from tests.support.fake_transport import FakeTransport
from valkey_operator.controllers.agents.reports import Reports, report_lane
from valkey_operator.core.node_view import NodeView
from valkey_operator.kube.caches import Caches
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.objects import Key
from valkey_operator.runtime.controller import Reconcile
from valkey_operator.runtime.election import Candidate, Lease, Timing
from valkey_operator.runtime.leader import Leadership
from valkey_operator.runtime.manager import ControllerSpec, Manager, Source
from valkey_operator.runtime.outcome import DONE, Result
from valkey_operator.valkey.states import ProcessState

KEY = Key("shop", "cart-0")
VIEW = NodeView(pod_uid="uid", boot_id="boot", seq=1, process=ProcessState.RUNNING)
GONE = msgspec.structs.replace(VIEW, seq=2, process=ProcessState.GONE)


class OneLease:
    def __init__(self) -> None:
        self.lease: Lease | None = None

    def read(self) -> Lease | None:
        return self.lease

    def write(self, lease: Lease) -> Lease:
        self.lease = msgspec.structs.replace(lease, version=str(int(lease.version or 0) + 1))
        return self.lease


class World:
    """A manager with one controller, whose only source are reports."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.reports = Reports(self.loop.time)
        self.stop = asyncio.Event()
        self.seen: list[tuple[int, NodeView | None]] = []
        self.candidate = Candidate(OneLease(), "me", Timing(), self.loop.time)
        self.leadership = Leadership(self.candidate, self.loop.time, metrics())
        source = Source(self.reports, lane=report_lane)
        self.manager = Manager(
            caches=Caches(client=KubeClient(FakeTransport()), metrics=metrics(), random=Random(1)),
            leadership=self.leadership,
            controllers=[ControllerSpec(name="node", sources=[source], start=self.start, workers=0, urgent_workers=1)],
            metrics=metrics(),
            random=Random(1),
            stop=self.stop,
            before_term=self.reports.clear,
        )

    def start(self, term: int) -> Reconcile[Key]:
        async def reconcile(key: Key) -> Result:
            received = self.reports.get(key)
            self.seen.append((term, received.view if received else None))
            return DONE

        return reconcile

    async def lead_for(self, seconds: float) -> None:
        for _ in range(int(seconds)):
            self.candidate.attempt()
            self.leadership.look_again()
            await asyncio.sleep(1)

    async def lose_the_lease(self) -> None:
        await asyncio.sleep(Timing().duration_s + 1)


def seen_in(scenario: Callable[[World], Coroutine[Any, Any, None]]) -> list[tuple[int, NodeView | None]]:
    async def simulate() -> list[tuple[int, NodeView | None]]:
        world = World()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.manager.work_whenever_elected())
            await scenario(world)
            world.stop.set()
        return world.seen

    outcomes = [virtual_time.run(simulate(), seed=seed) for seed in range(10)]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    return outcomes[0]


def test_a_death_is_taken_by_the_urgent_workers_and_an_ordinary_change_is_not() -> None:
    async def scenario(world: World) -> None:
        await world.lead_for(2)
        world.reports.put(KEY, VIEW)
        await world.lead_for(2)
        assert world.seen == []
        world.reports.put(KEY, GONE)
        await world.lead_for(2)

    assert seen_in(scenario) == [(1, GONE)]


def test_a_term_begins_without_what_was_heard_in_an_earlier_one() -> None:
    async def scenario(world: World) -> None:
        await world.lead_for(2)
        world.reports.put(KEY, GONE)
        await world.lead_for(1)
        await world.lose_the_lease()
        await world.lead_for(1)
        assert world.reports.get(KEY) is None
        world.reports.put(KEY, GONE)
        await world.lead_for(1)

    assert seen_in(scenario) == [(1, GONE), (2, GONE)]
