"""The agent of one pod of gated.py, in the process of the test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any

from tests.support.agents import POD_UID
from tests.valkey.gated import Pod
from valkey_operator.agent.fence import LicenceKeeper
from valkey_operator.agent.node import Node, Places
from valkey_operator.agent.report import Facts, Report
from valkey_operator.agent.rpc import AgentService
from valkey_operator.agent.server import ServerConnection
from valkey_operator.agent.watch import ProcessTable, listens_at
from valkey_operator.proto.agent.v1 import agent_pb2 as pb

ORDER = pb.Order(term=1, epoch=1, pod_uid=POD_UID)


class Agent:
    """The service of one pod, and shorthand for its orders."""

    def __init__(self, made: Pod, password_file: Path | None = None, settings_file: Path | None = None) -> None:
        data = made.folder / "data"
        self.node = Node(
            Places(
                gate=made.gate_folder,
                data=data,
                port=made.port,
                password_file=password_file,
                settings_file=settings_file,
            ),
            made.gate,
            ProcessTable(made.boot_conf, partial(listens_at, made.gate.socket)),
            connection=ServerConnection(made.gate.socket, made.gate.password),
            first=Report(pod_uid=POD_UID, boot_id="boot", agent_version="test", seq=1, facts=Facts()),
        )
        self.service = AgentService(self.node, LicenceKeeper(self.node, None))

    async def obey(self, name: str, request: Any) -> pb.Result:
        result = await self.service.obey(name, request)
        assert result.outcome == pb.OUTCOME_OBEYED, result
        return result

    async def wait_for(self, what: str, holds: Callable[[pb.NodeReport], bool]) -> pb.NodeReport:
        report = await self.service.report(pb.ReportRequest())
        try:
            async with asyncio.timeout(20):
                while not holds(report):
                    await asyncio.sleep(0.01)
                    report = await self.service.report(pb.ReportRequest())
        except TimeoutError:
            raise AssertionError(f"not within 20 s: {what}; {report}") from None
        return report

    async def open(self, kind: pb.StartKind) -> pb.NodeReport:
        await self.wait_for("it waits", lambda report: report.process == pb.PROCESS_STATE_WAITING)
        await self.obey("Open", pb.OpenRequest(order=ORDER, kind=kind))
        return await self.wait_for_health()

    async def wait_for_health(self) -> pb.NodeReport:
        return await self.wait_for("it answers", lambda report: report.health == pb.HEALTH_ANSWERS)

    def works(self) -> list[Coroutine[None, None, None]]:
        """What the agent does by itself."""
        return [self.node.watch_process(), self.node.watch_server()]

    @contextlib.asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(work) for work in self.works()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.node.connection.close()
            self.node.leave_volume()
