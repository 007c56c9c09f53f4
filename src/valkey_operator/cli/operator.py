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

from valkey_operator.cli.engine import BuildController, Engine, EngineSettings
from valkey_operator.cli.settings import HealthAddress, OperatorSettings
from valkey_operator.kube.connection import load_connection, open_session, read_pod_namespace
from valkey_operator.runtime.health import Readiness, health_pages
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.wire.pages import Pages, serve_pages

log = structlog.get_logger(__name__)

OPERATOR_NAMESPACE = "valkey-operator-system"
CONTROLLERS: tuple[BuildController, ...] = ()


class HealthAddressError(Exception):
    """The health endpoint cannot be opened where the user wants it."""


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
    engine = Engine(
        config=config,
        session=session,
        settings=_engine_settings(settings),
        metrics=EngineMetrics(registry),
        build=CONTROLLERS,
    )
    pages = health_pages(readiness, registry)
    async with session, _health_endpoint(settings.health_address, pages) as port:
        log.info("operator starts", version=package_version(), health_port=port, identity=engine.settings.identity)
        await engine.run(readiness, stop)
    log.info("operator stopped")


def _engine_settings(settings: OperatorSettings) -> EngineSettings:
    return EngineSettings(
        namespace=settings.namespace,
        operator_namespace=settings.operator_namespace or read_pod_namespace() or OPERATOR_NAMESPACE,
        # A process that starts anew under the same name must not take the lease of its former self for its own.
        identity=f"{socket.gethostname()}_{uuid.uuid4().hex[:8]}",
    )


@contextlib.asynccontextmanager
async def _health_endpoint(address: HealthAddress, pages: Pages) -> AsyncIterator[int]:
    async with contextlib.AsyncExitStack() as stack:
        try:
            port = await stack.enter_async_context(serve_pages(address.host, address.port, pages))
        except OSError as error:
            raise HealthAddressError(
                f"--health-address is {address.host or ''}:{address.port}, which cannot be opened: "
                f"{error.strerror or error}; choose another address or stop what uses it."
            ) from error
        yield port


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
