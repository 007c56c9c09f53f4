"""A stand-in for the API server: answers GETs over TLS as it is told to, and keeps what it was asked."""

import asyncio
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

from tests.support.certificates import Authority, write_tls
from tests.support.ports import free_port
from valkey_operator.wire.identity import operator_identity


class ApiServer:
    """`record` is the spec of the one ValkeyShard; None: there is none."""

    def __init__(self, folder: Path) -> None:
        authority = Authority()
        self._files = write_tls(
            folder / "api-server", authority.leaf(operator_identity("x")), authority.root.certificate
        )
        self.token_dir = folder / "token"
        self.token_dir.mkdir()
        (self.token_dir / "ca.crt").write_bytes(authority.root.certificate)
        (self.token_dir / "token").write_text("first\n")
        self.address = f"127.0.0.1:{free_port()}"
        self.record: dict[str, object] | None = None
        self.chunked = False
        self.asked: list[tuple[str, str]] = []

    @property
    def settings(self) -> dict[str, str]:
        """What an agent must be told to read the record here."""
        return {"shard": "cart", "api_server": self.address, "token_dir": str(self.token_dir)}

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["ApiServer"]:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self._files.certificate, self._files.key)
        host, _, port = self.address.partition(":")
        async with await asyncio.start_server(self._answer, host, int(port), ssl=context):
            yield self

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            lines = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            token = next(line.partition(": ")[2] for line in lines if line.startswith("Authorization: "))
            self.asked.append((lines[0], token))
            writer.write(self._response())
            await writer.drain()
        writer.close()

    def _response(self) -> bytes:
        if self.record is None:
            body = b'{"kind": "Status", "code": 404}'
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        body = json.dumps({"kind": "ValkeyShard", "metadata": {"name": "cart"}, "spec": self.record}).encode()
        if self.chunked:
            halves = (body[:20], body[20:], b"")
            chunks = b"".join(b"%x\r\n%s\r\n" % (len(half), half) for half in halves)
            return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks
        return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body


def record(epoch: int = 1, **changes: object) -> dict[str, object]:
    """A record as the API server sends it, with parts the agent does not read."""
    return {"owner": {"kind": "Valkey", "name": "cart"}, "index": 0, "epoch": epoch, "primary": "cart-0", **changes}
