"""Single HTTP/1.1 requests over TLS, for a program that has no room for an HTTP library.

Owns: the exchange, and that the answer comes from whom it should. Refuses to know: what is posted or read.

A POST goes to one of our own programs: both sides show a certificate, and the peer's identity is checked. A GET goes to
an API server: it is known by its host name, and we are by a token.
"""

import asyncio
import ssl

import msgspec

from valkey_operator.wire.identity import Identity, has_identity
from valkey_operator.wire.tls import Reloading, peer_uris

MOST_BODY_BYTES = 1 << 16
_STATUS_LINE = 3
Response = tuple[int, bytes]


class HttpError(Exception):
    """The peer is somebody else, or what it says is no HTTP."""


class Peer(msgspec.Struct, frozen=True):
    """Who must answer, and with which files we show who we are."""

    identity: Identity
    tls: Reloading


async def post(address: str, path: str, body: bytes, peer: Peer) -> Response:
    """Post `body` to host:port; the status and body of the answer. The caller sets the deadline."""
    headers = {"Content-Type": "application/x-protobuf", "Content-Length": str(len(body))}
    request = _head("POST", path, address, headers) + body
    return await _exchange(address, request, peer.tls.context(), peer.identity)


async def get(address: str, path: str, *, token: str, context: ssl.SSLContext) -> Response:
    """Get a page of host:port as who `token` says; `context` checks the host's name. The caller sets the deadline."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", "Accept-Encoding": "identity"}
    return await _exchange(address, _head("GET", path, address, headers), context, None)


async def _exchange(address: str, request: bytes, context: ssl.SSLContext, expected: Identity | None) -> Response:
    host, _, port = address.rpartition(":")
    try:
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port), ssl=context, limit=MOST_BODY_BYTES)
    except ssl.SSLError:  # a refused certificate is a ValueError, too
        raise
    except ValueError as error:
        raise HttpError(f"{address!r} is no address: {error}") from error
    try:
        if expected is not None:
            _check_name(writer, expected)
        writer.write(request)
        await writer.drain()
        return await read_response(reader)
    finally:
        writer.transport.abort()


def _head(method: str, path: str, address: str, headers: dict[str, str]) -> bytes:
    lines = [f"{name}: {value}" for name, value in {"Host": address, **headers, "Connection": "close"}.items()]
    if any(mark in line for line in (path, *lines) for mark in "\r\n"):
        raise HttpError("a line break would begin another header")
    return "\r\n".join((f"{method} {path} HTTP/1.1", *lines, "", "")).encode()


def _check_name(writer: asyncio.StreamWriter, expected: Identity) -> None:
    tls: ssl.SSLObject = writer.get_extra_info("ssl_object")
    uris = peer_uris(tls.getpeercert())
    if not has_identity(uris, expected):
        raise HttpError(f"the peer is {uris}, and {expected.uri} is expected")


async def read_response(reader: asyncio.StreamReader) -> Response:
    """The status and body of the one answer on a connection; raises HttpError for what is cut, malformed or long."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        words = head[0].split(" ", 2)
        if len(words) < _STATUS_LINE - 1 or not words[0].startswith("HTTP/1."):
            raise HttpError(f"{head[0]!r} is no HTTP status line")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        if headers.get("transfer-encoding", "identity").lower() == "chunked":
            return int(words[1]), await _read_chunks(reader)
        return int(words[1]), await reader.readexactly(_checked(int(headers.get("content-length", "0"))))
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        raise HttpError(f"the answer is cut or malformed: {error}") from error


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        body += await reader.readexactly(_checked(size, already=len(body)))
        await reader.readuntil(b"\r\n")
    return body


def _checked(size: int, *, already: int = 0) -> int:
    if size < 0 or already + size > MOST_BODY_BYTES:
        raise HttpError(f"an answer of {already + size} bytes is too long")
    return size
