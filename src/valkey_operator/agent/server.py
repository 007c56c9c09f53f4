"""One connection to the server beside us, over the unix socket.

Owns: logging in, one command at a time, a deadline for each, and the difference between a server that is slow, one that
is busy, one that loads, and one that cannot be reached. Refuses to know: whether the process lives (watch.py).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import libvalkey
import msgspec

from valkey_operator.agent.cluster_state import ClusterState
from valkey_operator.valkey.boot import AGENT_USER, FENCED
from valkey_operator.valkey.info import (
    InfoError,
    PersistenceInfo,
    ReplicationInfo,
    Role,
    ServerInfo,
    parse_persistence,
    parse_replication,
    parse_sections,
    parse_server,
)
from valkey_operator.valkey.states import DiskError, Health

_REFUSALS = {"LOADING": Health.LOADING, "BUSY": Health.BUSY}
_INCOMPLETE = object()
_READ_BYTES = 1 << 16
_LEAST_REPLICAS = "min-replicas-to-write"
_STOPS_WRITES = "stop-writes-on-bgsave-error"
_SAVE_POINTS = "save"
Words = tuple[str | int | bytes, ...]


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
    least_replicas: int | None = None
    """Without how many replicas it refuses writes."""
    disk_error: DiskError | None = None
    """What it could not write to its disk; as a primary it refuses all writes for it."""
    cluster: ClusterState | None = None
    """Where it is in cluster mode."""

    @property
    def fenced(self) -> bool | None:
        """Whether it refuses all writes, as far as is known."""
        return None if self.least_replicas is None else self.least_replicas >= FENCED

    @property
    def is_spare(self) -> bool:
        """Whether it is a cluster's primary without slots, as a new node is: its data are a copy of nobody's."""
        is_primary = self.replication is not None and self.replication.role is Role.PRIMARY
        return is_primary and self.cluster is not None and not self.cluster.owns_slots


class ServerConnection:
    """Connects when it is first needed and again after a failure; `password` is asked for at each connect.

    With `binary` replies are bytes as they came: keys are not always text.
    """

    def __init__(
        self, socket: Path, password: Callable[[], str | None], *, timeout_s: float = 1.0, binary: bool = False
    ) -> None:
        self._socket = socket
        self._password = password
        self._timeout_s = timeout_s
        self._encoding = None if binary else "utf-8"
        self._stream: _Stream | None = None
        self._turn = asyncio.Lock()

    async def call(self, *words: str | int | bytes, timeout_s: float | None = None) -> Any:  # noqa: ANN401 - any reply
        """Send one command and return its reply; raises ServerError, within the deadline."""
        return (await self.call_each([words], timeout_s=timeout_s))[0]

    async def call_each(self, commands: Sequence[Words], *, timeout_s: float | None = None) -> list[Any]:
        """Send all commands at once and return their replies; raises ServerError, of the first that was refused."""
        if not commands:
            return []
        try:
            async with asyncio.timeout(self._timeout_s if timeout_s is None else timeout_s), self._turn:
                return [_checked(reply) for reply in await self._exchange(commands)]
        except TimeoutError:
            raise ServerError(Health.HUNG, f"no answer to {commands[0][0]!s} in time") from None

    def close(self) -> None:
        """Hang up."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()

    async def _exchange(self, commands: Sequence[Words]) -> list[Any]:
        answered = False
        try:
            replies = await (await self._connected()).exchange(*commands)
            answered = True
        except (OSError, EOFError, libvalkey.ProtocolError) as problem:
            raise ServerError(Health.UNREACHABLE, f"{type(problem).__name__}: {problem}") from None
        finally:
            # A reply that comes later would be taken for that of the next command.
            if not answered:
                self.close()
        return replies

    async def _connected(self) -> "_Stream":
        if self._stream is None:
            stream = _Stream(*await asyncio.open_unix_connection(self._socket), encoding=self._encoding)
            self._stream = stream
            _checked(*await stream.exchange(("AUTH", AGENT_USER, self._password() or "")))
        return self._stream


async def ask_as_default_user(socket: Path, *words: str | int, timeout_s: float = 1.0) -> Any:  # noqa: ANN401
    """Send one command without logging in; raises ServerError."""
    try:
        async with asyncio.timeout(timeout_s):
            stream = _Stream(*await asyncio.open_unix_connection(socket))
            try:
                return _checked(*await stream.exchange(words))
            finally:
                stream.close()
    except TimeoutError:
        raise ServerError(Health.HUNG, f"no answer to {words[0]} in time") from None
    except (OSError, EOFError, libvalkey.ProtocolError) as problem:
        raise ServerError(Health.UNREACHABLE, f"{type(problem).__name__}: {problem}") from None


class _Stream:
    """Commands and replies, on the parser of Valkey's own client; the whole client would cost every pod 6 MiB."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, encoding: str | None = "utf-8"
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._parser = libvalkey.Reader(encoding=encoding, errors="replace", notEnoughData=_INCOMPLETE)

    async def exchange(self, *commands: Words) -> list[Any]:
        self._writer.writelines([libvalkey.pack_command(words) for words in commands])
        return [await self._reply() for _ in commands]

    async def _reply(self) -> Any:  # noqa: ANN401
        while (reply := self._parser.gets()) is _INCOMPLETE:
            data = await self._reader.read(_READ_BYTES)
            if not data:
                raise EOFError("the server hung up")
            self._parser.feed(data)
        return reply

    def close(self) -> None:
        self._writer.transport.abort()


def _checked(reply: Any) -> Any:  # noqa: ANN401
    if isinstance(reply, libvalkey.ReplyError):
        raise ServerError(parse_refusal(str(reply)), str(reply))
    return reply


def parse_refusal(text: str) -> Health:
    """What an error reply tells about the server."""
    return _REFUSALS.get(text.partition(" ")[0], Health.REFUSES)


async def observe_server(connection: ServerConnection) -> ServerView:
    """Ask the server for everything a report contains; never raises for what a server does."""
    try:
        sections = parse_sections(str(await connection.call("INFO", "server", "persistence", "replication")))
        persistence = parse_persistence(sections)
        directives = await _read_directives(connection)
        least = directives.get(_LEAST_REPLICAS)
        return ServerView(
            health=Health.LOADING if persistence.loading else Health.ANSWERS,
            server=parse_server(sections),
            replication=parse_replication(sections),
            least_replicas=None if least is None else int(least),
            disk_error=find_disk_error(persistence, directives),
        )
    except ServerError as error:
        return ServerView(health=error.health)
    except InfoError:
        return ServerView(health=Health.REFUSES)


def find_disk_error(persistence: PersistenceInfo, directives: Mapping[str, str]) -> DiskError | None:
    """For what the server refuses writes; a snapshot that failed is enough only by these directives."""
    if persistence.aof_failed:
        return DiskError.AOF
    counts = directives.get(_STOPS_WRITES) == "yes" and bool(directives.get(_SAVE_POINTS))
    return DiskError.SNAPSHOT if counts and persistence.snapshot_failed else None


async def _read_directives(connection: ServerConnection) -> dict[str, str]:
    try:
        reply = await connection.call("CONFIG", "GET", _LEAST_REPLICAS, _STOPS_WRITES, _SAVE_POINTS)
    except ServerError as error:
        if error.health is Health.LOADING:  # unlike INFO, this is refused meanwhile
            return {}
        raise
    return dict(zip(reply[::2], reply[1::2], strict=True))
