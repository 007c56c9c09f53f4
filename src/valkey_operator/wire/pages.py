"""An HTTP server just large enough for a few read-only pages.

Owns: one request per connection, GET only, a small head, a deadline; nothing a caller sends can hold memory or a task
for long. Refuses to know: what the pages say, and what an answer is held back for.
"""

import asyncio
import contextlib
import http
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial

import msgspec

REQUEST_DEADLINE_S = 5.0
MOST_HEAD_BYTES = 8192
_REQUEST_LINE_WORDS = 3


class Page(msgspec.Struct, frozen=True):
    """An answer."""

    body: bytes
    status: http.HTTPStatus = http.HTTPStatus.OK
    content_type: str = "text/plain; charset=utf-8"


Pages = Mapping[bytes, Callable[[], Page]]
# What is waited for before a page is made; it must end by itself, well before REQUEST_DEADLINE_S.
Holds = Mapping[bytes, Callable[[], Awaitable[None]]]


def respond(pages: Pages, head: bytes) -> bytes:
    """The pure part: from the bytes of a request's head to the bytes of the whole response."""
    return render_page(_page_for(pages, head))


def render_page(page: Page) -> bytes:
    """A whole response."""
    head = (
        f"HTTP/1.1 {page.status.value} {page.status.phrase}\r\n"
        f"Content-Type: {page.content_type}\r\nContent-Length: {len(page.body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + page.body


@contextlib.asynccontextmanager
async def serve_pages(host: str | None, port: int, pages: Pages, holds: Holds | None = None) -> AsyncIterator[int]:
    """Serve on `host` (None: every interface, IPv4 and IPv6) while the context lasts; yields the port in use."""

    async def on_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await answer_one_request(reader, writer, partial(respond, pages), partial(_hold, holds or {}))

    server = await asyncio.start_server(on_connection, host, port, limit=MOST_HEAD_BYTES)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _hold(holds: Holds, head: bytes) -> None:
    words = head.split(b"\r\n", 1)[0].split(b" ")
    hold = holds.get(words[1].split(b"?", 1)[0]) if len(words) == _REQUEST_LINE_WORDS else None
    if hold is not None:
        await hold()


def _page_for(pages: Pages, head: bytes) -> Page:
    words = head.split(b"\r\n", 1)[0].split(b" ")
    if len(words) != _REQUEST_LINE_WORDS or not words[2].startswith(b"HTTP/1."):
        return Page(b"expected an HTTP/1.1 request\n", http.HTTPStatus.BAD_REQUEST)
    method, target, _ = words
    make = pages.get(target.split(b"?", 1)[0])
    if make is None:
        return Page(b"try " + b", ".join(sorted(pages)) + b"\n", http.HTTPStatus.NOT_FOUND)
    if method != b"GET":
        return Page(b"try GET\n", http.HTTPStatus.METHOD_NOT_ALLOWED)
    return make()


async def answer_one_request(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    respond: Callable[[bytes], bytes],
    hold: Callable[[bytes], Awaitable[None]] | None = None,
) -> None:
    """Answer the first request on a connection and close it; drop callers that are slow, too long, or gone."""
    try:
        async with asyncio.timeout(REQUEST_DEADLINE_S):
            head = await reader.readuntil(b"\r\n\r\n")
            if hold is not None:
                await hold(head)
            writer.write(respond(head))
            await writer.drain()
    except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
        pass
    finally:
        writer.close()
