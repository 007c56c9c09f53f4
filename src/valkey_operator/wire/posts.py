"""An HTTP server just large enough for one POST per connection, over mutual TLS.

Owns: bounds on the size of a request, and on the time it may take. Refuses to know: what is posted, and who may.
"""

import asyncio
import http
import socket
from collections.abc import Callable, Mapping

import msgspec

from valkey_operator.wire.pages import Page, render_page
from valkey_operator.wire.tls import Reloading
from valkey_operator.wire.tls_server import Caller, TlsServer

REQUEST_DEADLINE_S = 5.0
MOST_BODY_BYTES = 1 << 16
_REQUEST_LINE_WORDS = 3


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
        self._routes = routes
        self._server = TlsServer(listener, tls, self._exchange)

    async def run(self) -> None:
        """Answer until cancelled."""
        await self._server.run()

    async def _exchange(self, caller: Caller) -> None:
        async with asyncio.timeout(REQUEST_DEADLINE_S):
            caller.writer.write(render_page(await self._answer(caller)))
            await caller.writer.drain()
            caller.writer.close()
            await caller.writer.wait_closed()

    async def _answer(self, caller: Caller) -> Page:
        try:
            respond, size = parse_head(self._routes, await caller.reader.readuntil(b"\r\n\r\n"))
        except RequestError as error:
            return error.page
        return respond(Post(caller.uris, await caller.reader.readexactly(size)))


def _body_size(lines: list[bytes]) -> int:
    headers = [line.lower().partition(b":") for line in lines]
    lengths = [value.strip() for name, _, value in headers if name == b"content-length"]
    if len(lengths) != 1 or not lengths[0].isdigit() or any(name == b"transfer-encoding" for name, _, _ in headers):
        raise RequestError(http.HTTPStatus.LENGTH_REQUIRED, "expected one Content-Length")
    # As text first: Python refuses to read a number of thousands of digits, and nobody has to try.
    if len(lengths[0]) > len(str(MOST_BODY_BYTES)) or int(lengths[0]) > MOST_BODY_BYTES:
        raise RequestError(http.HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MOST_BODY_BYTES} bytes")
    return int(lengths[0])
