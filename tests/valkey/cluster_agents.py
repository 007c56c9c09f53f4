"""Pods with servers in cluster mode, and the agent of each, in the process of the test."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from google.protobuf import message_factory

from tests.support.ports import free_port
from tests.valkey.gated import Pod, pod
from tests.valkey.gated_agent import ORDER, Agent
from valkey_operator.controllers.agents.messages import view_of
from valkey_operator.core.cluster.slots import first_slots
from valkey_operator.core.node_view import ClusterNodeView
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.cluster_nodes import NodesView
from valkey_operator.valkey.slots import ALL_SLOTS, union

NODE_TIMEOUT_MS = 2000
SETTINGS = {
    "save": '""',
    "repl-diskless-sync-delay": "0",
    "cluster-node-timeout": str(NODE_TIMEOUT_MS),
    "cluster-allow-replica-migration": "no",
}
_SERVICE = pb.DESCRIPTOR.services_by_name["Agent"]


class ClusterAgent(Agent):
    """The agent of a cluster node, which is called as its folder."""

    def __init__(self, made: Pod, *, password: str | None = None, **settings: str) -> None:
        self.made = made
        self.bus_port = free_port()
        lines = {**SETTINGS, "cluster-port": str(self.bus_port)}
        lines |= {name.replace("_", "-"): value for name, value in settings.items()}
        settings_file, password_file = made.folder / "settings.conf", made.folder / "password"
        settings_file.write_text("".join(f"{name} {value}\n" for name, value in lines.items()))
        password_file.write_text(password or "")
        super().__init__(made, password_file if password else None, settings_file)

    @property
    def bus_address(self) -> pb.BusAddress:
        return pb.BusAddress(host="127.0.0.1", port=self.made.port, bus_port=self.bus_port)

    async def start(self) -> pb.NodeReport:
        self.made.start_server()
        return await self.let_in()

    async def let_in(self) -> pb.NodeReport:
        await self.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
        announced = pb.Announced(address=self.bus_address, hostname=self.made.folder.name)
        await self.order("Open", kind=pb.START_KIND_CLUSTER_NODE, announced=announced)
        return await self.wait_for_health()

    async def wait_until_it_serves(self) -> None:
        """A primary takes writes, and 9.1 votes, two seconds after its start at the earliest."""
        await self.wait_until("it serves", lambda view: view.serves)

    async def kill(self) -> None:
        process = self.made.processes[-1]
        process.kill()
        await asyncio.to_thread(process.wait, 10)

    async def try_order(self, name: str, **fields: Any) -> pb.Result:
        message = message_factory.GetMessageClass(_SERVICE.methods_by_name[name].input_type)
        return await self.service.obey(name, message(order=ORDER, **fields))

    async def order(self, name: str, **fields: Any) -> pb.Result:
        result = await self.try_order(name, **fields)
        assert result.outcome == pb.OUTCOME_OBEYED, result
        return result

    async def order_twice(self, name: str, **fields: Any) -> pb.Result:
        """A leader that does not know whether it was obeyed orders again."""
        await self.order(name, **fields)
        return await self.order(name, **fields)

    async def cluster(self) -> ClusterNodeView:
        view = view_of(await self.service.report(pb.ReportRequest())).cluster
        assert view, "the server does not tell of its cluster"
        return view

    async def seen(self) -> NodesView:
        return (await self.cluster()).seen

    async def id(self) -> str:
        return (await self.seen()).myself.id

    async def wait_until(self, what: str, holds: Callable[[ClusterNodeView], bool]) -> ClusterNodeView:
        def is_so(report: pb.NodeReport) -> bool:
            view = view_of(report).cluster
            return view is not None and holds(view)

        found = view_of(await self.wait_for(what, is_so)).cluster
        assert found
        return found


async def form(agents: Sequence[ClusterAgent], primaries: int = 3) -> list[str]:
    """All slots on the first ones, and the others as replicas behind them in turn, by orders; the ids of all."""
    for epoch, agent in enumerate(agents, start=1):
        await agent.order_twice("SetConfigEpoch", config_epoch=epoch)
    for agent, slots in zip(agents, first_slots(primaries), strict=False):
        await agent.order_twice("AddSlots", slots=str(slots))
    for number, agent in enumerate(agents):
        await agent.order_twice("Meet", peers=[other.bus_address for other in agents[:number]])
    ids = [await agent.id() for agent in agents]
    for agent in agents:
        await agent.wait_until(
            "all know all",
            lambda view: {line.id for line in view.seen.lines if line.role and line.connected} == set(ids),
        )
    for number, agent in enumerate(agents[primaries:]):
        await agent.order_twice("Replicate", primary_id=ids[number % primaries])
    for agent in agents:
        await agent.wait_until("all slots are known", _knows_all_slots)
        await agent.wait_until_it_serves()
    for number, replica in enumerate(ids[primaries:]):
        await wait_until_known(agents, replica, ids[number % primaries])
    for agent in agents[primaries:]:
        await agent.wait_for("the replica is in sync", lambda report: report.replication.link.up and report.whole)
    return ids


async def wait_until_known(agents: Sequence[ClusterAgent], replica: str, primary: str) -> None:
    """Until all know whom it follows; a primary votes for nobody whom it takes for something else."""

    def is_known(view: ClusterNodeView) -> bool:
        line = view.seen.line(replica)
        return line is not None and line.primary == primary

    for agent in agents:
        await agent.wait_until("all know whom the replica follows", is_known)


def _knows_all_slots(view: ClusterNodeView) -> bool:
    return union(line.slots for line in view.seen.lines) == ALL_SLOTS


def with_cluster_agents(
    version: str,
    folder: Path,
    count: int,
    talk: Callable[[list[ClusterAgent]], Awaitable[None]],
    *,
    password: str | None = None,
    **settings: str,
) -> None:
    """Nodes c-0, c-1, … that run and know nobody yet; they are killed at the end."""

    async def run(pods: list[Pod]) -> None:
        agents = [ClusterAgent(made, password=password, **settings) for made in pods]
        try:
            await asyncio.gather(*(agent.start() for agent in agents))
            await talk(agents)
        finally:
            for agent in agents:
                agent.node.connection.close()
                agent.node.leave_volume()

    with contextlib.ExitStack() as stack:
        pods = [stack.enter_context(pod(version, folder / f"c-{number}")) for number in range(count)]
        asyncio.run(run(pods))
