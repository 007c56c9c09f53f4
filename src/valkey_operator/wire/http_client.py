"""One HTTP/1.1 POST over mutual TLS, for a program that has no room for an HTTP library.

Owns: the exchange, and that the answer comes from whom it should. Refuses to know: what is posted.
"""

import asyncio
import ssl

import msgspec

from valkey_operator.wire.identity import Identity, has_identity
from valkey_operator.wire.tls import Reloading, peer_uris

MOST_BODY_BYTES = 1 << 16
_STATUS_LINE = 3


class HttpError(Exception):
    """The peer is somebody else, or what it says is no HTTP."""


class Peer(msgspec.Struct, frozen=True):
    """Who must answer, and with which files we show who we are."""

    identity: Identity
    tls: Reloading


async def post(address: str, path: str, body: bytes, peer: Peer) -> tuple[int, bytes]:
    """Post `body` to host:port; the status and body of the answer. The caller sets the deadline."""
    host, _, port = address.rpartition(":")
    try:
        reader, writer = await asyncio.open_connection(
            host.strip("[]"), int(port), ssl=peer.tls.context(), limit=MOST_BODY_BYTES
        )
    except ValueError as error:
        raise HttpError(f"{address!r} is no address: {error}") from error
    try:
        _check_name(writer, peer.identity)
        writer.write(_request(address, path, body))
        await writer.drain()
        return await _read_response(reader)
    finally:
        writer.transport.abort()


def _request(address: str, path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/x-protobuf\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


def _check_name(writer: asyncio.StreamWriter, expected: Identity) -> None:
    tls: ssl.SSLObject = writer.get_extra_info("ssl_object")
    uris = peer_uris(tls.getpeercert())
    if not has_identity(uris, expected):
        raise HttpError(f"the peer is {uris}, and {expected.uri} is expected")


async def _read_response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        words = head[0].split(" ", 2)
        if len(words) < _STATUS_LINE - 1 or not words[0].startswith("HTTP/1."):
            raise HttpError(f"{head[0]!r} is no HTTP status line")
        lengths = [line.partition(":")[2] for line in head if line.lower().startswith("content-length:")]
        size = int(lengths[0]) if lengths else 0
        if not 0 <= size <= MOST_BODY_BYTES:
            raise HttpError(f"an answer of {size} bytes is too long")
        return int(words[1]), await reader.readexactly(size)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
        raise HttpError(f"the answer is cut or malformed: {error}") from error
