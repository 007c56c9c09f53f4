"""A server for mutual TLS whose certificates are replaced while it runs.

Owns: the handshake with the newest certificate, who the caller is, and a bound on connections, those that still shake
hands included. Refuses to know: what is said afterwards, and who may.
"""

import asyncio
import errno
import socket
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from valkey_operator.wire.tls import Reloading, peer_uris

log = structlog.get_logger(__name__)

HANDSHAKE_WITHIN_S = 5.0
MOST_LINE_BYTES = 8192
MOST_CONNECTIONS = 256
_ACCEPT_PAUSE_S = 0.1
# It may be built into the kernel and switched off.
_NO_IPV6 = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)


class Caller(msgspec.Struct, frozen=True):
    """Who called: the URIs in its certificate, and the way to and from it."""

    uris: list[str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


def bind_listener(host: str | None, port: int) -> socket.socket:
    """A socket that has its address (None: every interface) but refuses connections yet; raises OSError."""
    if host is None and socket.has_dualstack_ipv6():
        try:
            return _bind(socket.AF_INET6, ("::", port), dual=True)
        except OSError as error:
            if error.errno not in _NO_IPV6:
                raise
    family, _, _, _, address = socket.getaddrinfo(
        host or "0.0.0.0",  # noqa: S104 - as asked
        port,
        type=socket.SOCK_STREAM,
    )[0]
    return _bind(family, address)


class TlsServer:
    """Listens from the moment it is made, serves while it runs; `serve` sets the deadlines of its own exchange."""

    def __init__(self, listener: socket.socket, tls: Reloading, serve: Callable[[Caller], Awaitable[None]]) -> None:
        listener.setblocking(False)
        listener.listen(MOST_CONNECTIONS)
        self._listener = listener
        self._tls = tls
        self._serve = serve
        self._free = asyncio.Semaphore(MOST_CONNECTIONS)

    async def run(self) -> None:
        """Serve until cancelled; callers beyond the bound wait to be accepted."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._free.acquire()
                connection = await self._accept()
                group.create_task(self._converse(connection)).add_done_callback(lambda _: self._free.release())

    async def _accept(self) -> socket.socket:
        while True:
            try:
                connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            except OSError as problem:  # a caller that is gone already, or no file left for one more
                log.warning("a connection could not be accepted", reason=str(problem))
                await asyncio.sleep(_ACCEPT_PAUSE_S)
            else:
                return connection

    async def _converse(self, connection: socket.socket) -> None:
        try:
            caller = await self._shake_hands(connection)
            try:
                await self._serve(caller)
            finally:
                caller.writer.transport.abort()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as problem:
            log.debug("a caller was dropped", reason=f"{type(problem).__name__}: {problem}")
        except Exception:  # one caller must not end the server
            log.exception("a caller was dropped by a defect")
        finally:
            connection.close()

    async def _shake_hands(self, connection: socket.socket) -> Caller:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MOST_LINE_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        async with asyncio.timeout(HANDSHAKE_WITHIN_S):
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=self._tls.context())
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        return Caller(peer_uris(writer.get_extra_info("ssl_object").getpeercert()), reader, writer)


def _bind(family: int, address: tuple[object, ...], *, dual: bool = False) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not dual))
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener
