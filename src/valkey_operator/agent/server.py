"""One connection to the server beside us, over the unix socket.

Owns: logging in, one command at a time, a deadline for each, and the difference between a server that is slow, one that
is busy, one that loads, and one that cannot be reached. Refuses to know: whether the process lives (watch.py).
"""

import asyncio
import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import valkey.exceptions as refusals
from valkey.asyncio.connection import UnixDomainSocketConnection

from valkey_operator.valkey.boot import AGENT_USER, FENCED
from valkey_operator.valkey.info import (
    InfoError,
    ReplicationInfo,
    ServerInfo,
    parse_persistence,
    parse_replication,
    parse_sections,
    parse_server,
)


class Health(enum.StrEnum):
    """How the server answers. All but `UNREACHABLE` are alive; `HUNG` may be, and says nothing."""

    ANSWERS = "answers"
    LOADING = "loading"
    BUSY = "busy"
    HUNG = "hung"
    REFUSES = "refuses"
    UNREACHABLE = "unreachable"


class ServerError(Exception):
    """A command got no good answer; `health` says what that tells about the server."""

    def __init__(self, health: Health, message: str) -> None:
        super().__init__(message)
        self.health = health


class ServerView(msgspec.Struct, frozen=True, kw_only=True):
    """What the server says of itself; the parts are there where it answered."""

    health: Health
    server: ServerInfo | None = None
    replication: ReplicationInfo | None = None
    fenced: bool | None = None


class ServerConnection:
    """Connects when it is first needed and again after a failure; `password` is asked for at each connect."""

    def __init__(self, socket: Path, password: Callable[[], str | None], *, timeout_s: float = 1.0) -> None:
        self._socket = socket
        self._password = password
        self._timeout_s = timeout_s
        self._connection: UnixDomainSocketConnection | None = None
        self._turn = asyncio.Lock()

    async def call(self, *words: str | int, timeout_s: float | None = None) -> Any:  # noqa: ANN401 - any reply
        """Send one command and return its reply; raises ServerError, within the deadline."""
        try:
            async with asyncio.timeout(self._timeout_s if timeout_s is None else timeout_s), self._turn:
                return await self._exchange(words)
        except TimeoutError:
            raise ServerError(Health.HUNG, f"no answer to {words[0]} in time") from None

    async def close(self) -> None:
        """Hang up."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.disconnect(nowait=True)

    async def _exchange(self, words: tuple[str | int, ...]) -> Any:  # noqa: ANN401
        answered = False
        try:
            connection = await self._connected()
            await connection.send_command(*words, check_health=False)
            reply = await connection.read_response()
            answered = True
        except refusals.ResponseError as refusal:
            answered = True
            raise ServerError(health_of(refusal), str(refusal)) from None
        except (refusals.ConnectionError, OSError) as problem:
            raise ServerError(health_of(problem), str(problem)) from None
        finally:
            # A reply that comes later would be taken for that of the next command.
            if not answered:
                await self.close()
        return reply

    async def _connected(self) -> UnixDomainSocketConnection:
        if self._connection is None:
            self._connection = UnixDomainSocketConnection(
                path=str(self._socket),
                username=AGENT_USER,
                password=self._password(),
                decode_responses=True,
                encoding_errors="replace",
                socket_timeout=None,
                lib_name=None,
                lib_version=None,
            )
        await self._connection.connect()  # type: ignore[no-untyped-call]
        return self._connection


def health_of(problem: BaseException) -> Health:
    """What an error tells about the server; the client library wraps what happens at the login."""
    cause: BaseException | None = problem
    while cause is not None:
        text = str(cause)
        if isinstance(cause, refusals.BusyLoadingError) or text.startswith("LOADING"):
            return Health.LOADING
        if text.startswith("BUSY "):
            return Health.BUSY
        if isinstance(cause, refusals.AuthenticationError | refusals.ResponseError):
            return Health.REFUSES
        cause = cause.__cause__
    return Health.UNREACHABLE


async def observe_server(connection: ServerConnection) -> ServerView:
    """Ask the server for everything a report contains; never raises for what a server does."""
    try:
        sections = parse_sections(str(await connection.call("INFO", "server", "persistence", "replication")))
        loading = parse_persistence(sections).loading
        fence = await _read_fence(connection)
        return ServerView(
            health=Health.LOADING if loading else Health.ANSWERS,
            server=parse_server(sections),
            replication=parse_replication(sections),
            fenced=fence,
        )
    except ServerError as error:
        return ServerView(health=error.health)
    except InfoError:
        return ServerView(health=Health.REFUSES)


async def _read_fence(connection: ServerConnection) -> bool | None:
    try:
        _, value = await connection.call("CONFIG", "GET", "min-replicas-to-write")
    except ServerError as error:
        if error.health is Health.LOADING:  # unlike INFO, this is refused meanwhile
            return None
        raise
    return int(value) >= FENCED
