"""The endpoint that kubelet and Prometheus ask: /healthz, /readyz and /metrics.

Owns: what is answered, and a server just large enough to answer it. One request per connection, GET only, a small head,
a deadline: nothing a caller sends can hold memory or a task for long.
Refuses to know: when the program is ready; it is told so through `Readiness`.
"""

import asyncio
import contextlib
import http
from collections.abc import AsyncIterator, Callable

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

REQUEST_DEADLINE_S = 5.0
MOST_HEAD_BYTES = 8192
_TEXT = "text/plain; charset=utf-8"


class Readiness:
    """Whether the program can do its work, and if not, what it waits for."""

    def __init__(self, waiting_for: str) -> None:
        self._waiting_for: str | None = waiting_for

    @property
    def waiting_for(self) -> str | None:
        """What is still missing; None when ready."""
        return self._waiting_for

    def wait_for(self, waiting_for: str) -> None:
        """Answer /readyz with 503 and this from now on."""
        self._waiting_for = waiting_for

    def mark_ready(self) -> None:
        """Answer /readyz with 200 from now on."""
        self._waiting_for = None


Respond = Callable[[bytes], bytes]


def health_responder(readiness: Readiness, registry: CollectorRegistry) -> Respond:
    """Build the pure part: from the bytes of a request's head to the bytes of the whole response."""

    def healthz() -> bytes:
        return _response(http.HTTPStatus.OK, b"ok\n")

    def readyz() -> bytes:
        if readiness.waiting_for is None:
            return _response(http.HTTPStatus.OK, b"ok\n")
        return _response(http.HTTPStatus.SERVICE_UNAVAILABLE, f"waiting for {readiness.waiting_for}\n".encode())

    def metrics() -> bytes:
        return _response(http.HTTPStatus.OK, generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4)

    pages = {b"/healthz": healthz, b"/readyz": readyz, b"/metrics": metrics}

    def respond(head: bytes) -> bytes:
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):  # noqa: PLR2004 - method, target, version
            return _response(http.HTTPStatus.BAD_REQUEST, b"expected an HTTP/1.1 request\n")
        method, target, _ = words
        page = pages.get(target.split(b"?", 1)[0])
        if page is None:
            return _response(http.HTTPStatus.NOT_FOUND, b"try /healthz, /readyz or /metrics\n")
        if method != b"GET":
            return _response(http.HTTPStatus.METHOD_NOT_ALLOWED, b"try GET\n")
        return page()

    return respond


async def answer_one_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, respond: Respond) -> None:
    """Answer the first request on a connection and close it; drop callers that are slow, too long, or gone."""
    try:
        async with asyncio.timeout(REQUEST_DEADLINE_S):
            writer.write(respond(await reader.readuntil(b"\r\n\r\n")))
            await writer.drain()
    except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        pass
    finally:
        writer.close()


@contextlib.asynccontextmanager
async def serve_health(host: str | None, port: int, respond: Respond) -> AsyncIterator[int]:
    """Serve on `host` (None: every interface, IPv4 and IPv6) while the context lasts; yields the port in use."""

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answer_one_request(reader, writer, respond)

    server = await asyncio.start_server(on_connection, host, port, limit=MOST_HEAD_BYTES)
    async with server:
        yield server.sockets[0].getsockname()[1]


def _response(status: http.HTTPStatus, body: bytes, content_type: str = _TEXT) -> bytes:
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {content_type}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
