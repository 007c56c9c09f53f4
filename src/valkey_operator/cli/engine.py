"""The engine: connection, caches, election, workers and events, put together and run for one process.

Owns: the order in which they start and stop. Refuses to know: which controllers run on it; it is handed a list.
Order of start: the API server answers, agents are listened to, caches are complete (ready), the lease is won, workers
run. Order of stop: workers finish, the lease is given away, caches end.
"""

import asyncio
import random
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass

import msgspec

from valkey_operator.cli.agent_side import AgentSide, Door
from valkey_operator.controllers.agents.authority import Authority
from valkey_operator.controllers.agents.grants import Grants
from valkey_operator.controllers.agents.orders import Agents, AgentsInTerm
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.kube.api_server import wait_for_api_server
from valkey_operator.kube.caches import Caches
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.connection import ConnectionConfig, Session, open_blocking_session
from valkey_operator.kube.events import EventRecorder
from valkey_operator.kube.lease import LeaseApi
from valkey_operator.kube.objects import Key
from valkey_operator.kube.transport import Transport
from valkey_operator.runtime.backoff import backoff_delays
from valkey_operator.runtime.election import Candidate, Timing
from valkey_operator.runtime.health import Readiness
from valkey_operator.runtime.leader import Leadership, LeaseThread, boot_clock
from valkey_operator.runtime.manager import ControllerSpec, Manager
from valkey_operator.runtime.metrics import EngineMetrics

LEASE_NAME = "valkey-operator"
LEASE_TIMEOUT_S = 2.0


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where it works: `namespace` None is the whole cluster; the lease is in `operator_namespace`.

    Agents run `agent_image` and find every replica of the operator at `report_service`.
    """

    operator_namespace: str
    identity: str
    namespace: str | None = None
    timing: Timing = Timing()
    report_service: str = ""
    agent_image: str = ""


@dataclass(frozen=True, kw_only=True)
class Tools:
    """What a controller is built from."""

    client: KubeClient
    caches: Caches
    events: EventRecorder
    metrics: EngineMetrics
    leadership: Leadership
    reports: Reports
    agents: Agents
    grants: Grants
    authority: Authority
    settings: EngineSettings

    @property
    def namespace(self) -> str | None:
        """The namespace to manage; None is the whole cluster."""
        return self.settings.namespace

    @property
    def operator_namespace(self) -> str:
        """Where the operator itself is; agents obey the operator of this namespace alone."""
        return self.settings.operator_namespace

    @property
    def report_service(self) -> str:
        """host:port at which agents find every replica of the operator."""
        return self.settings.report_service

    @property
    def agent_image(self) -> str:
        """The image of the sidecar."""
        return self.settings.agent_image

    def agents_in(self, term: int) -> AgentsInTerm:
        """The agents for the work of one term: no order is given once that is over."""
        return self.agents.in_term(term)

    def client_in(self, term: int) -> KubeClient:
        """The client for the work of one term: it refuses to write as soon as that is over."""
        return self.client.guarded_by(lambda: self.leadership.check(term))


BuildController = Callable[[Tools], ControllerSpec]


@dataclass(frozen=True, kw_only=True)
class Engine:
    """One process's worth of it."""

    config: ConnectionConfig
    session: Session
    settings: EngineSettings
    metrics: EngineMetrics
    build: Sequence[BuildController]
    door: Door | None = None

    async def run(self, readiness: Readiness, stop: asyncio.Event) -> None:
        """Run until `stop`, then finish what is under way and give the lease away."""
        # Chance only spreads what many operators do; nothing secret hangs on it.
        chance = random.Random()  # noqa: S311
        if not await run_until(stop, wait_for_api_server(self.session, backoff_delays(chance))):
            return
        with open_blocking_session(self.config) as lease_session:
            candidate = self._candidate(LeaseApi(lease_session, self._lease_key, self.metrics, LEASE_TIMEOUT_S))
            leadership = Leadership(candidate, boot_clock, self.metrics)
            client = KubeClient(Transport(self.session, self.metrics))
            side = AgentSide.of(
                client, leadership, self.metrics, namespace=self.settings.operator_namespace, door=self.door
            )
            tools = self._tools(client, leadership, side, chance)
            manager = Manager(
                caches=tools.caches,
                leadership=leadership,
                controllers=[build(tools) for build in self.build],
                metrics=self.metrics,
                random=chance,
                stop=stop,
                before_term=side.reports.clear,
            )
            thread = LeaseThread(candidate, self.settings.timing, leadership, chance)
            if await run_until(stop, side.prepare(readiness, backoff_delays(chance))):
                await _run_parts(manager, thread, (tools.events.run(), side.run()), readiness)

    @property
    def _lease_key(self) -> Key:
        return Key(self.settings.operator_namespace, LEASE_NAME)

    def _candidate(self, lease: LeaseApi) -> Candidate:
        return Candidate(lease, self.settings.identity, self.settings.timing, boot_clock)

    def _tools(self, client: KubeClient, leadership: Leadership, side: AgentSide, chance: random.Random) -> Tools:
        return Tools(
            client=client,
            caches=Caches(client=client, metrics=self.metrics, random=chance),
            events=EventRecorder(client, self.metrics, self.settings.identity),
            metrics=self.metrics,
            leadership=leadership,
            reports=side.reports,
            agents=side.agents,
            grants=side.grants,
            authority=side.authority,
            settings=self.settings,
        )


async def _run_parts(
    manager: Manager, thread: LeaseThread, others: Iterable[Coroutine[None, None, None]], readiness: Readiness
) -> None:
    async with asyncio.TaskGroup() as group:
        background = [group.create_task(each) for each in (manager.caches.run(), *others)]
        if await run_until(manager.stop, manager.fill_caches(readiness)):
            async with thread:
                await manager.work_whenever_elected()
        for task in background:
            task.cancel()


async def run_until(stop: asyncio.Event, work: Coroutine[None, None, object]) -> bool:
    """Run `work` to its end, or cancel it on `stop`; whether it came to its end."""
    async with asyncio.TaskGroup() as group:
        working = group.create_task(work)
        stopping = group.create_task(stop.wait())
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        finished = working.done()
        working.cancel()
        stopping.cancel()
    return finished
