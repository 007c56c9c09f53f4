"""The agent program: its parts, put together.

Owns: start and stop. Refuses to know: how any part works.
Order of start: settings and certificates are checked, the gate is made, the probes are served, and from then on a
server may start. What speaks with the operator is loaded only then: that takes as long as all the rest.
"""

import asyncio
import importlib
import random
import signal
import ssl
import uuid
from collections.abc import Callable
from functools import partial

import structlog

from valkey_operator.agent.disk import save_again
from valkey_operator.agent.fence import LicenceKeeper
from valkey_operator.agent.gate import Gate
from valkey_operator.agent.node import Node, Places
from valkey_operator.agent.password import PasswordFollower
from valkey_operator.agent.probes import ReadinessHold, probe_pages
from valkey_operator.agent.record import RecordReader
from valkey_operator.agent.report import Facts, Report
from valkey_operator.agent.safe_base import end_safe_bases
from valkey_operator.agent.server import ServerConnection
from valkey_operator.agent.settings import AgentSettings, AgentSettingsError
from valkey_operator.agent.starter import Starter, StartRules
from valkey_operator.agent.watch import ProcessTable, listens_at
from valkey_operator.agent.writing import Work, make_keeper, writing_works
from valkey_operator.wire.pages import serve_pages
from valkey_operator.wire.tls import Reloading, TlsFiles, TlsFilesError

log = structlog.get_logger(__name__)
BETWEEN_LIBRARIES_S = 0.005
# A pod that is deleted by force has two seconds, and all its containers are told to end at the same moment.
SERVER_ENDS_WITHIN_S = 1.5
_LARGE_LIBRARIES = ("google.protobuf.descriptor_pool", "grpc", "valkey_operator.proto.agent.v1.agent_pb2")


async def run_agent(settings: AgentSettings, version: str) -> None:
    """Run until SIGTERM or SIGINT; raises AgentSettingsError where the settings or files do not allow a start."""
    stop = _stop_on_signals()
    node = _make_node(settings, version)
    pages, holds = probe_pages(lambda: node.report.facts), {b"/readyz": ReadinessHold(node)}
    try:
        tls = Reloading(TlsFiles(settings.tls), ssl.Purpose.SERVER_AUTH)
        async with serve_pages(settings.probe_host, settings.probe_port, pages, holds) as port:
            log.info("agent starts", version=version, node=settings.node, probe_port=port)
            keeper = make_keeper(settings, node)
            works = [*_works(settings, node), *writing_works(settings, node, keeper)]
            await _run_until(stop, [*works, _speak(settings, node, tls, keeper)], lambda: _take_leave(node, keeper))
    except (TlsFilesError, OSError) as error:
        raise AgentSettingsError(f"the agent cannot start: {error}") from error
    node.connection.close()
    node.leave_volume()
    log.info("agent stopped")


async def _run_until(stop: asyncio.Event, works: list[Work], last: Callable[[], Work]) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
            await stop.wait()
            await last()
            for task in tasks:
                task.cancel()
    except ExceptionGroup as problems:
        wrong_settings, defects = problems.split(AgentSettingsError)
        if wrong_settings is not None and defects is None:
            raise wrong_settings.exceptions[0] from None
        raise


async def _take_leave(node: Node, keeper: LicenceKeeper) -> None:
    """Leave no server behind that writes without leave; and a folder that is free, where the server ends as well."""
    await keeper.settle()
    if node.report.facts.leaving:
        await node.see_server_off(SERVER_ENDS_WITHIN_S)


async def _speak(settings: AgentSettings, node: Node, tls: Reloading, keeper: LicenceKeeper) -> None:
    # Piece by piece, with a turn for all others between. A thread would do it too, and keep 3 MiB for good.
    for library in _LARGE_LIBRARIES:
        await asyncio.sleep(BETWEEN_LIBRARIES_S)
        importlib.import_module(library)
    await asyncio.sleep(BETWEEN_LIBRARIES_S)
    from valkey_operator.agent.channel import speak_with_operator  # noqa: PLC0415 - see the module's docstring

    await speak_with_operator(settings, node, tls, keeper)


def _works(settings: AgentSettings, node: Node) -> list[Work]:
    """What is done beside the server; starts by the record only where there is one that decides about them."""
    socket = Gate(settings.gate).socket
    works = [node.take_volume(), node.watch_process(), node.watch_server()]
    works += [end_safe_bases(node, socket), save_again(node)]
    if settings.password_file is not None:
        works.append(PasswordFollower(node).run())
    if settings.record is None or settings.cluster:
        return works
    rules = StartRules(
        node=settings.node,
        primary_domain=settings.primary_domain,
        port=settings.port,
        primary_wait_s=settings.primary_wait_s,
    )
    starter = Starter(node, RecordReader(settings.record).read, rules, chance=random.Random())  # noqa: S311
    return [*works, starter.run()]


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
        modules=settings.modules,
    )
    return Node(
        places,
        gate,
        ProcessTable(settings.boot_conf, partial(listens_at, gate.socket)),
        connection=ServerConnection(gate.socket, gate.password),
        first=Report(
            pod_uid=settings.pod_uid,
            boot_id=str(uuid.uuid4()),
            agent_version=version,
            seq=1,
            facts=Facts(),
            keeps_terms=bool(settings.cluster and settings.peers),
        ),
    )


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop
