"""The agent program: its parts, put together.

Owns: start and stop. Refuses to know: how any part works.
Order of start: settings and certificates are checked, the gate is made, orders are taken, and last of all the probes
are served: kubelet starts the server only when they answer.
"""

import asyncio
import random
import signal
import socket
import ssl
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial

import structlog

from valkey_operator.agent.events import Events
from valkey_operator.agent.gate import Gate
from valkey_operator.agent.node import Node, Places
from valkey_operator.agent.probes import ReadinessHold, probe_pages
from valkey_operator.agent.record import RecordReader
from valkey_operator.agent.report import Facts, Report
from valkey_operator.agent.rpc import AgentService, make_grpc_server
from valkey_operator.agent.server import ServerConnection
from valkey_operator.agent.settings import AgentSettings, AgentSettingsError
from valkey_operator.agent.starter import Starter, StartRules
from valkey_operator.agent.watch import ProcessTable, listens_at
from valkey_operator.wire.http_client import Peer
from valkey_operator.wire.identity import operator_identity
from valkey_operator.wire.pages import serve_pages
from valkey_operator.wire.tls import Reloading, TlsFiles, TlsFilesError

log = structlog.get_logger(__name__)
STOP_WITHIN_S = 0.5


async def run_agent(settings: AgentSettings, version: str) -> None:
    """Run until SIGTERM or SIGINT; raises AgentSettingsError where the settings or files do not allow a start."""
    stop = _stop_on_signals()
    node = _make_node(settings, version)
    operator = operator_identity(settings.operator_namespace)
    files = TlsFiles(settings.tls)
    try:
        tls = Reloading(files, ssl.Purpose.SERVER_AUTH)
        server = make_grpc_server(AgentService(node), files=files, operator=operator, address=settings.grpc_address)
        await server.start()
        async with serve_pages(
            settings.probe_host,
            settings.probe_port,
            probe_pages(lambda: node.report.facts),
            {b"/readyz": ReadinessHold(node)},
        ) as port:
            log.info("agent starts", version=version, node=settings.node, probe_port=port)
            events = Events(node, _addresses(settings.operators), Peer(operator, tls), random.Random())  # noqa: S311
            await _run_until(
                stop, [node.watch_process(), node.watch_server(), events.send_all(), *_starts(settings, node)]
            )
            await server.stop(STOP_WITHIN_S)
    except (TlsFilesError, OSError) as error:
        raise AgentSettingsError(f"the agent cannot start: {error}") from error
    node.connection.close()
    log.info("agent stopped")


async def _run_until(stop: asyncio.Event, works: list[Coroutine[None, None, None]]) -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(work) for work in works]
        await stop.wait()
        for task in tasks:
            task.cancel()


def _starts(settings: AgentSettings, node: Node) -> list[Coroutine[None, None, None]]:
    """Starts by the record, where there is one to read."""
    if settings.record is None:
        return []
    rules = StartRules(
        node=settings.node,
        primary_domain=settings.primary_domain,
        port=settings.port,
        min_replicas_to_write=settings.min_replicas_to_write,
        primary_wait_s=settings.primary_wait_s,
    )
    return [Starter(node, RecordReader(settings.record).read, rules, chance=random.Random()).run()]  # noqa: S311


def _make_node(settings: AgentSettings, version: str) -> Node:
    gate = Gate(settings.gate)
    try:
        gate.make()
    except OSError as error:
        raise AgentSettingsError(f"--gate is {settings.gate}, which cannot be used: {error.strerror}.") from error
    places = Places(
        gate=settings.gate,
        data=settings.data,
        port=settings.port,
        settings_file=settings.settings_file,
        password_file=settings.password_file,
    )
    return Node(
        places,
        gate,
        ProcessTable(settings.boot_conf, partial(listens_at, gate.socket)),
        connection=ServerConnection(gate.socket, gate.password),
        first=Report(pod_uid=settings.pod_uid, boot_id=str(uuid.uuid4()), agent_version=version, seq=1, facts=Facts()),
    )


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


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
