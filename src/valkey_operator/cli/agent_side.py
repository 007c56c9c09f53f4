"""The operator's end of the agents, put together: certificates, reports, orders.

Owns: the order of their start and stop. Refuses to know: how any of them works.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from valkey_operator.controllers.agents.authority import Authority
from valkey_operator.controllers.agents.channels import Channels
from valkey_operator.controllers.agents.grants import Grants
from valkey_operator.controllers.agents.orders import Agents
from valkey_operator.controllers.agents.own_certificate import OwnCertificate
from valkey_operator.controllers.agents.receiver import Receiver
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.kube.client import KubeClient
from valkey_operator.runtime.health import Readiness
from valkey_operator.runtime.leader import Leadership
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.wire.posts import PostServer
from valkey_operator.wire.tls import Reloading, TlsFiles

_NO_FILES = TlsFiles(Path(os.devnull))


@dataclass(frozen=True)
class Door:
    """Where agents come in: a socket that is bound and does not listen yet, and where the certificate is kept."""

    listener: socket.socket
    files: TlsFiles


@dataclass(kw_only=True)
class AgentSide:
    """Without a door nothing is served and no certificate made: an engine that has no agents."""

    reports: Reports
    channels: Channels
    agents: Agents
    authority: Authority
    receiver: Receiver
    grants: Grants
    door: Door | None
    _server: PostServer | None = None
    _own: OwnCertificate | None = None

    @classmethod
    def of(
        cls, client: KubeClient, leadership: Leadership, metrics: EngineMetrics, *, namespace: str, door: Door | None
    ) -> "AgentSide":
        """The parts, none of which does anything yet."""
        clock = asyncio.get_running_loop().time
        reports, grants = Reports(clock), Grants(clock)
        channels = Channels(door.files if door else _NO_FILES)
        return cls(
            reports=reports,
            channels=channels,
            agents=Agents(reports, channels, grants, check_term=leadership.check),
            authority=Authority(client, namespace),
            receiver=Receiver(
                reports, grants, metrics, term=lambda: leadership.term, leader=lambda: leadership.other_leader
            ),
            grants=grants,
            door=door,
        )

    async def prepare(self, readiness: Readiness, delays: Iterator[float]) -> None:
        """Get a certificate, then listen; as long as it takes."""
        if self.door is None:
            return
        readiness.wait_for(f"the certificate authority in Secret {self.authority.secret}")
        self._own = OwnCertificate(self.authority, self.door.files)
        await self._own.obtain(delays)
        tls = Reloading(self.door.files, ssl.Purpose.CLIENT_AUTH)
        self._server = PostServer(self.door.listener, tls, self.receiver.routes)

    async def run(self) -> None:
        """Take reports and renew the certificate until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                if self._server is not None and self._own is not None:
                    group.create_task(self._server.run())
                    group.create_task(self._own.keep())
        finally:
            await self.channels.close()
