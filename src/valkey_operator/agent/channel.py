"""The way to and from the operator: orders are taken, reports are sent.

Owns: when the large libraries for it are loaded, start and stop. Refuses to know: what is said.
No server needs this to start: the libraries it imports, gRPC and protobuf, take as long to load as all the rest.
"""

import asyncio
import random
import socket
from collections.abc import Awaitable, Callable
from functools import partial

import structlog

from valkey_operator.agent.events import Events
from valkey_operator.agent.fence import LicenceKeeper
from valkey_operator.agent.leader import LeaderLine, ask_leave
from valkey_operator.agent.node import Node
from valkey_operator.agent.rpc import AgentService, make_grpc_server
from valkey_operator.agent.settings import AgentSettings, AgentSettingsError
from valkey_operator.wire.http_client import Peer
from valkey_operator.wire.identity import operator_identity
from valkey_operator.wire.tls import Reloading, TlsFiles, TlsFilesError

log = structlog.get_logger(__name__)
STOP_WITHIN_S = 0.5


async def speak_with_operator(settings: AgentSettings, node: Node, tls: Reloading, keeper: LicenceKeeper) -> None:
    """Take orders and send reports until cancelled; raises AgentSettingsError where orders cannot be taken."""
    operator = operator_identity(settings.operator_namespace)
    service = AgentService(node, keeper)
    try:
        server = make_grpc_server(
            service, files=TlsFiles(settings.tls), operator=operator, address=settings.grpc_address
        )
        await server.start()
    except (TlsFilesError, OSError) as error:
        raise AgentSettingsError(f"the agent cannot start: {error}") from error
    log.info("orders are taken", address=settings.grpc_address)
    try:
        line = LeaderLine(_addresses(settings.operators), Peer(operator, tls))
        keeper.ask_operator = partial(ask_leave, line, settings.pod_uid)
        events = Events(node, line, random.Random())  # noqa: S311
        await asyncio.gather(events.send_all(), service.clients.run())
    finally:
        await server.stop(STOP_WITHIN_S)


def _addresses(operators: tuple[str, ...]) -> Callable[[], Awaitable[list[str]]]:
    """Every operator: the name of a headless Service stands for all of them."""

    async def resolve() -> list[str]:
        loop = asyncio.get_running_loop()
        found: list[str] = []
        for operator in operators:
            host, _, port = operator.rpartition(":")
            try:
                infos = await loop.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
            except OSError as error:
                log.debug("operator's name is not known", host=host, reason=str(error))
                continue
            found += ["[{}]:{}".format(*address) for *_, address in infos]
        return found

    return resolve
