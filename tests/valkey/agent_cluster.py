"""The planner and the real agents on real servers: steps become orders as the controller gives them.

Owns: an operator without Kubernetes: it asks every agent before each plan, and its record is in memory. Refuses to
know: what is to be done, and how an agent does it.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from tests.support.agents import POD_UID
from tests.valkey.cluster_agents import ClusterAgent
from tests.valkey.gated import pod
from valkey_operator.controllers.agents.channels import Target
from valkey_operator.controllers.agents.messages import order_message, outcome_of, view_of
from valkey_operator.controllers.agents.orders import OrderResult
from valkey_operator.controllers.cluster_facts import ClusterSight, as_heard
from valkey_operator.controllers.cluster_steps import ClusterSteps
from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord, Member
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.retries import with_outcomes
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.steps import NOTHING, ClusterPlan, Migrate, Remember
from valkey_operator.core.pods import PodFacts
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import Address, Announced, BusAddress
from valkey_operator.valkey.slots import ALL_SLOTS

WITHIN_S = 60


@dataclass
class AgentCluster:
    """Agents by the names of their nodes, and what is remembered of them."""

    agents: dict[str, ClusterAgent]
    shards: int = 3
    replicas: int = 2
    record: ClusterRecord = field(default_factory=ClusterRecord)
    problems: list[str] = field(default_factory=list)

    async def order(self, target: Target, name: str, /, *, epoch: int, **fields: Any) -> OrderResult:
        """As `AgentsInTerm.order`, without a wire."""
        agent, order = self.agents[target.key.name], pb.Order(term=1, epoch=epoch, pod_uid=target.pod_uid)
        on_bus = {field: self._with_bus_port(value) for field, value in fields.items()}
        result = await agent.service.obey(name, order_message(name, order, on_bus))
        return OrderResult(outcome_of(result), result.detail, view_of(result.report), dict(result.settings))

    def _with_bus_port(self, value: Any) -> Any:
        """Many servers on one machine cannot all have the usual one."""
        if isinstance(value, tuple):
            return tuple(self._with_bus_port(each) for each in value)
        if isinstance(value, Announced):
            return msgspec.structs.replace(value, address=self._with_bus_port(value.address))
        if isinstance(value, BusAddress):
            bus = {agent.made.port: agent.bus_port for agent in self.agents.values()}
            return msgspec.structs.replace(value, bus_port=bus[value.port])
        return value

    async def facts(self) -> ClusterFacts:
        names = sorted(self.agents, key=lambda name: tuple(map(int, name.split("-")[1:])))
        members = await asyncio.gather(*(self._member(name) for name in names))
        return ClusterFacts(
            name="c",
            record=self.record,
            members=tuple(members),
            shards=self.shards,
            replicas=self.replicas,
            node_timeout_s=2.0,
            now=datetime.now(UTC),
        )

    async def _member(self, name: str) -> Member:
        agent = self.agents[name]
        shard, index = map(int, name.split("-")[1:])
        view = view_of(await agent.service.report(pb.ReportRequest()))
        member = Member(
            name=name,
            shard=shard,
            index=index,
            wanted=shard < self.shards and index < self.replicas,
            hostname=name,
            address=Address("127.0.0.1", agent.made.port),
            view=view,
        )
        return as_heard(member, view)

    async def look(self) -> ClusterPlan:
        """One reconcile."""
        facts = await self.facts()
        plan = plan_cluster(facts)
        for step in plan.steps:
            if isinstance(step, Remember):
                self.record = step.record
        orders = [step for step in plan.steps if not isinstance(step, Remember)]
        pods = {name: PodFacts(name=name, uid=POD_UID, ip="127.0.0.1", agent_started=True) for name in self.agents}
        sight = ClusterSight(namespace="app", cluster=look_at(facts), pods=pods)
        agents: Any = self
        writer: Any = None
        tasks = ClusterSteps(writer, agents).begin(orders, sight, self.record)
        failed = [each for each in await asyncio.gather(*tasks) if each is not None]
        self.problems += [str(each.problem) for each in failed]
        refused = {id(each.step): str(each.problem) for each in failed}
        moves = [(step, refused.get(id(step))) for step in orders if isinstance(step, Migrate)]
        present = msgspec.structs.replace(facts, record=self.record)
        self.record = with_outcomes(msgspec.structs.replace(sight.cluster, facts=present), moves)
        return plan

    async def work_until(self, what: str, holds: Callable[[ClusterFacts], bool]) -> None:
        """Look again and again, until nothing is to be done and it is so."""
        plan = NOTHING
        try:
            async with asyncio.timeout(WITHIN_S):
                while True:
                    plan = await self.look()
                    if not plan.steps and holds(await self.facts()):
                        return
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(
                f"not within {WITHIN_S} s: {what}; waits for {plan.waits_for}; {self.problems}"
            ) from None

    async def start(self, *names: str) -> None:
        """Servers come to their gates."""
        for name in names:
            self.agents[name].made.start_server()

    async def say(self, name: str, *words: str | int) -> Any:
        return await self.agents[name].node.connection.call(*words)


def is_well(cluster: AgentCluster) -> Callable[[ClusterFacts], bool]:
    """All slots are served by those who shall, all views agree, and every replica has everything."""

    def holds(facts: ClusterFacts) -> bool:
        found = look_at(facts)
        owners = found.owners()
        linked = all(each.view and (each.view.link is None or each.view.link.up) for each in facts.members)
        settled = found.view.is_agreed and found.view.assigned == ALL_SLOTS and not found.view.open_slots
        serve = all(each.serves for each in facts.members)
        return settled and linked and serve and len(owners) == cluster.shards and cluster.record.formed

    return holds


@contextlib.asynccontextmanager
async def open_agents(
    version: str, folder: Path, names: Iterable[str], **settings: str
) -> AsyncIterator[dict[str, ClusterAgent]]:
    """The agent of each node; whatever server was started beside it is killed at the end."""
    with contextlib.ExitStack() as stack:
        agents = {name: ClusterAgent(stack.enter_context(pod(version, folder / name)), **settings) for name in names}
        try:
            yield agents
        finally:
            for agent in agents.values():
                agent.node.connection.close()
                agent.node.leave_volume()
