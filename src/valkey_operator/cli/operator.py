"""The operator program: its parts, put together.

Owns: start, readiness, stop. Refuses to know: how any part works.
Order of start: settings are checked, health is served (not ready), then the engine's own order.
"""

import asyncio
import contextlib
import os
import signal
import socket
import uuid
from collections.abc import AsyncIterator
from importlib import metadata

import structlog
from prometheus_client import CollectorRegistry, Info, ProcessCollector

from valkey_operator.cli.agent_side import Door
from valkey_operator.cli.controllers import CONTROLLERS
from valkey_operator.cli.engine import Engine, EngineSettings
from valkey_operator.cli.settings import REPORT_PORT, ListenAddress, OperatorSettings
from valkey_operator.controllers.agents.own_certificate import private_folder
from valkey_operator.kube.connection import load_connection, open_session, read_pod_namespace
from valkey_operator.runtime.health import Readiness, health_pages
from valkey_operator.runtime.holder import holder_name, join_address
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.wire.pages import Pages, serve_pages
from valkey_operator.wire.tls import TlsFiles
from valkey_operator.wire.tls_server import bind_listener

log = structlog.get_logger(__name__)

OPERATOR_NAMESPACE = "valkey-operator-system"


class PlaceError(Exception):
    """An address cannot be opened, or a folder not be made, where the user wants it."""


def package_version() -> str:
    """The version of the installed package."""
    return metadata.version("valkey-operator")


async def run_operator(settings: OperatorSettings) -> None:
    """Run until SIGTERM or SIGINT."""
    config = load_connection(settings.kubeconfig, settings.context, os.environ)
    session = open_session(config)
    stop = _stop_on_signals()
    readiness = Readiness(waiting_for="the API server")
    registry = _metrics()
    pages = health_pages(readiness, registry)
    async with session, _health_endpoint(settings.health_address, pages) as port, _door(settings) as door:
        engine = Engine(
            config=config,
            session=session,
            settings=_engine_settings(settings, door),
            metrics=EngineMetrics(registry),
            build=CONTROLLERS,
            door=door,
        )
        log.info("operator starts", version=package_version(), health_port=port, identity=engine.settings.identity)
        await engine.run(readiness, stop)
    log.info("operator stopped")


def _engine_settings(settings: OperatorSettings, door: Door) -> EngineSettings:
    namespace = settings.operator_namespace or read_pod_namespace() or OPERATOR_NAMESPACE
    port: int = door.listener.getsockname()[1]
    address = join_address(settings.advertise or outgoing_address(), port)
    return EngineSettings(
        namespace=settings.namespace,
        operator_namespace=namespace,
        # A process that starts anew under the same name must not take the lease of its former self for its own.
        identity=holder_name(socket.gethostname(), uuid.uuid4().hex[:8], address),
        report_service=settings.report_service or f"valkey-operator-agents.{namespace}.svc:{REPORT_PORT}",
        agent_image=settings.agent_image,
    )


def outgoing_address() -> str:
    """The address that connections to elsewhere have; nothing is sent. Loopback where there is no way out."""
    for family, elsewhere in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((elsewhere, 9))
            return str(probe.getsockname()[0])
    return "127.0.0.1"


@contextlib.asynccontextmanager
async def _health_endpoint(address: ListenAddress, pages: Pages) -> AsyncIterator[int]:
    async with contextlib.AsyncExitStack() as stack:
        try:
            port = await stack.enter_async_context(serve_pages(address.host, address.port, pages))
        except OSError as error:
            raise _taken("--health-address", address, error) from error
        yield port


@contextlib.asynccontextmanager
async def _door(settings: OperatorSettings) -> AsyncIterator[Door]:
    address = settings.report_address
    with contextlib.ExitStack() as stack:
        try:
            listener = stack.enter_context(bind_listener(address.host, address.port))
        except OSError as error:
            raise _taken("--report-address", address, error) from error
        try:
            folder = stack.enter_context(private_folder(settings.tls_dir))
        except OSError as error:
            raise PlaceError(
                f"--tls-dir is {settings.tls_dir or 'not set'}, and no folder can be made there: "
                f"{error.strerror or error}; choose a folder that can be written to."
            ) from error
        yield Door(listener, TlsFiles(folder))


def _taken(flag: str, address: ListenAddress, error: OSError) -> PlaceError:
    return PlaceError(
        f"{flag} is {address.host or ''}:{address.port}, which cannot be opened: {error.strerror or error}; "
        "choose another address or stop what uses it."
    )


def _stop_on_signals() -> asyncio.Event:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def _metrics() -> CollectorRegistry:
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    Info("valkey_operator_build", "Version of the running operator.", registry=registry).info(
        {"version": package_version()}
    )
    return registry
