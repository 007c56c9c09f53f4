"""The operator program: its parts, put together.

Owns: start, readiness, stop. Refuses to know: how any part works.
Order of start: settings are checked, health is served (not ready), the API server answers, ready.
"""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import AsyncIterator, Coroutine
from importlib import metadata

import structlog
from prometheus_client import CollectorRegistry, Info, ProcessCollector

from valkey_operator.cli.settings import HealthAddress, OperatorSettings
from valkey_operator.kube.api_server import wait_for_api_server
from valkey_operator.kube.connection import Session, load_connection, open_session
from valkey_operator.runtime.backoff import backoff_delays
from valkey_operator.runtime.health import Readiness, Respond, health_responder, serve_health

log = structlog.get_logger(__name__)


class HealthAddressError(Exception):
    """The health endpoint cannot be opened where the user wants it."""


def package_version() -> str:
    """The version of the installed package."""
    return metadata.version("valkey-operator")


async def run_operator(settings: OperatorSettings) -> None:
    """Run until SIGTERM or SIGINT."""
    session = open_session(load_connection(settings.kubeconfig, settings.context, os.environ))
    stop = _stop_on_signals()
    readiness = Readiness(waiting_for="the API server")
    respond = health_responder(readiness, _metrics())
    async with session, _health_endpoint(settings.health_address, respond) as port:
        log.info("operator starts", version=package_version(), health_port=port)
        await run_until(stop, become_ready(session, readiness))
    log.info("operator stopped")


async def become_ready(session: Session, readiness: Readiness) -> None:
    """Wait for the API server, however long it takes, and say that the operator is ready."""
    # Chance only spreads the retries of many operators; nothing secret hangs on it.
    await wait_for_api_server(session, backoff_delays(random.Random()))  # noqa: S311
    readiness.mark_ready()


async def run_until(stop: asyncio.Event, work: Coroutine[None, None, None]) -> None:
    """Run `work` beside waiting for `stop`; stopping cancels it, and its failure ends the waiting."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        await stop.wait()
        task.cancel()


@contextlib.asynccontextmanager
async def _health_endpoint(address: HealthAddress, respond: Respond) -> AsyncIterator[int]:
    async with contextlib.AsyncExitStack() as stack:
        try:
            port = await stack.enter_async_context(serve_health(address.host, address.port, respond))
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
