"""An HTTP server just large enough for one POST per connection, over mutual TLS.

Owns: the handshake with the newest certificate, who the caller is, and bounds: on connections (those that still shake
hands included), on the size of a request, on the time it may take. Refuses to know: what is posted, and who may.
"""

import asyncio
import errno
import http
import socket
from collections.abc import Callable, Mapping

import msgspec
import structlog

from valkey_operator.wire.pages import Page, render_page
from valkey_operator.wire.tls import Reloading, peer_uris

log = structlog.get_logger(__name__)

REQUEST_DEADLINE_S = 5.0
MOST_HEAD_BYTES = 8192
MOST_BODY_BYTES = 1 << 16
MOST_CONNECTIONS = 256
_ACCEPT_PAUSE_S = 0.1
_REQUEST_LINE_WORDS = 3
# It may be built into the kernel and switched off.
_NO_IPV6 = (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL)


class Post(msgspec.Struct, frozen=True):
    """What was posted, and the URIs in the certificate of the one who did."""

    uris: list[str]
    body: bytes


Routes = Mapping[bytes, Callable[[Post], Page]]


class RequestError(Exception):
    """The request is answered by this and read no further."""

    def __init__(self, status: http.HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.page = Page(f"{sentence}\n".encode(), status)


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


def parse_head(routes: Routes, head: bytes) -> tuple[Callable[[Post], Page], int]:
    """Who answers, and how long the body is; raises RequestError."""
    request_line, *lines = head.split(b"\r\n")
    words = request_line.split(b" ")
    if len(words) != _REQUEST_LINE_WORDS or not words[2].startswith(b"HTTP/1."):
        raise RequestError(http.HTTPStatus.BAD_REQUEST, "expected an HTTP/1.1 request")
    if words[1] not in routes:
        raise RequestError(http.HTTPStatus.NOT_FOUND, f"try {b', '.join(sorted(routes)).decode()}")
    if words[0] != b"POST":
        raise RequestError(http.HTTPStatus.METHOD_NOT_ALLOWED, "try POST")
    return routes[words[1]], _body_size(lines)


class PostServer:
    """Listens from the moment it is made, answers while it runs."""

    def __init__(self, listener: socket.socket, tls: Reloading, routes: Routes) -> None:
        listener.setblocking(False)
        listener.listen(MOST_CONNECTIONS)
        self._listener = listener
        self._tls = tls
        self._routes = routes
        self._free = asyncio.Semaphore(MOST_CONNECTIONS)

    async def run(self) -> None:
        """Answer until cancelled; callers beyond the bound wait to be accepted."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._free.acquire()
                connection = await self._accept()
                group.create_task(self._serve(connection)).add_done_callback(lambda _: self._free.release())

    async def _accept(self) -> socket.socket:
        while True:
            try:
                connection, _ = await asyncio.get_running_loop().sock_accept(self._listener)
            except OSError as problem:  # a caller that is gone already, or no file left for one more
                log.warning("a connection could not be accepted", reason=str(problem))
                await asyncio.sleep(_ACCEPT_PAUSE_S)
            else:
                return connection

    async def _serve(self, connection: socket.socket) -> None:
        try:
            async with asyncio.timeout(REQUEST_DEADLINE_S):
                await self._exchange(connection)
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as problem:
            log.debug("a caller was dropped", reason=f"{type(problem).__name__}: {problem}")
        except Exception:  # one request must not end the server
            log.exception("a request failed by a defect")
        finally:
            connection.close()

    async def _exchange(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=MOST_HEAD_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=self._tls.context())
        writer = asyncio.StreamWriter(transport, protocol, reader, loop)
        try:
            uris = peer_uris(writer.get_extra_info("ssl_object").getpeercert())
            writer.write(render_page(await self._answer(reader, uris)))
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        finally:
            transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, uris: list[str]) -> Page:
        try:
            respond, size = parse_head(self._routes, await reader.readuntil(b"\r\n\r\n"))
        except RequestError as error:
            return error.page
        return respond(Post(uris, await reader.readexactly(size)))


def _body_size(lines: list[bytes]) -> int:
    headers = [line.lower().partition(b":") for line in lines]
    lengths = [value.strip() for name, _, value in headers if name == b"content-length"]
    if len(lengths) != 1 or not lengths[0].isdigit() or any(name == b"transfer-encoding" for name, _, _ in headers):
        raise RequestError(http.HTTPStatus.LENGTH_REQUIRED, "expected one Content-Length")
    # As text first: Python refuses to read a number of thousands of digits, and nobody has to try.
    if len(lengths[0]) > len(str(MOST_BODY_BYTES)) or int(lengths[0]) > MOST_BODY_BYTES:
        raise RequestError(http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MOST_BODY_BYTES} bytes")
    return int(lengths[0])


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
