"""A way to the real API server that can be watched and broken: counts requests, answers some itself, cuts, goes silent.

It tells of each write before it is passed on, and after it is done and not answered yet.
Speaks plain HTTP to the engine and TLS, with the certificates of the kubeconfig, to the API server; one connection for
each request, so that every request is seen.
"""

import asyncio
import contextlib
import enum
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import yaml
from lightkube.config.client_adapter import verify_cluster

from tests.support.kubeconfig import kubeconfig
from valkey_operator.kube.connection import ConnectionConfig


class Request(NamedTuple):
    at: float
    method: str
    target: str
    body: bytes = b""

    @property
    def is_watch(self) -> bool:
        return "watch=true" in self.target

    @property
    def is_write(self) -> bool:
        """Whether it changes something that counts: the lease and events come and go with the process."""
        return self.method != "GET" and not re.search(r"/(leases|events)(/|\?|$)", self.target)

    @property
    def written(self) -> str:
        """Kind and name of what a write is about, such as secrets/cart-auth; a status is a part of its object."""
        path = self.target.partition("?")[0].split("/namespaces/")[-1].split("/")[1:]
        name = path[1] if len(path) > 1 else json.loads(self.body)["metadata"]["name"]
        return "/".join([path[0], name, *path[2:]])


class Moment(enum.Enum):
    """A write is on its way, or done and not answered yet."""

    BEFORE = "before"
    AFTER = "after"


Answer = Callable[[Request], bytes | None]
OnWrite = Callable[[Request, Moment], bool]
"""Whether nobody is there any more who could be answered."""


def status_answer(code: int, *headers: str) -> bytes:
    head = [f"HTTP/1.1 {code} X", "Content-Length: 2", "Connection: close", *headers]
    return "\r\n".join(head).encode() + b"\r\n\r\n{}"


class Proxy:
    def __init__(self, config: ConnectionConfig) -> None:
        assert config.user is not None
        self._upstream = urlsplit(config.cluster.server)
        self._tls = verify_cluster(config.cluster, config.user, config.abs_file)
        self._connections: set[asyncio.StreamWriter] = set()
        self._heard = asyncio.Event()
        self._heard.set()
        self._is_cut = False
        self.port = 0
        self.requests: list[Request] = []
        self.answer: Answer = lambda _: None
        """Asked first; bytes are sent as the answer, None lets the API server answer."""
        self.on_write: OnWrite = lambda _request, _moment: False

    @contextlib.asynccontextmanager
    async def serve(self) -> AsyncIterator[None]:
        server = await asyncio.start_server(self._on_connection, "127.0.0.1", 0, limit=2**20)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield
        finally:
            self.cut()
            server.close()
            await asyncio.sleep(0.05)

    def write_kubeconfig(self, path: Path) -> Path:
        path.write_text(yaml.safe_dump(kubeconfig(server=f"http://127.0.0.1:{self.port}")))
        return path

    def cut(self) -> None:
        """Break every connection, and every new one."""
        self._is_cut = True
        for writer in list(self._connections):
            writer.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    def silence(self) -> None:
        """Keep connections open, but pass nothing on."""
        self._heard.clear()

    def speak(self) -> None:
        self._heard.set()

    async def _on_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            if not self._is_cut:
                await self._on_request(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._connections.discard(writer)
            writer.transport.abort() if self._is_cut else writer.close()

    async def _on_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        body = await reader.readexactly(int(length[1])) if length else b""
        method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        request = Request(asyncio.get_running_loop().time(), method, target, body)
        self.requests.append(request)
        answer = self.answer(request)
        if answer is None and request.is_write:
            await self._write(request, _rewritten(head) + body, writer)
        elif answer is None:
            await self._forward(_rewritten(head) + body, writer)
        else:
            writer.write(answer)
            await writer.drain()

    async def _write(self, request: Request, sent: bytes, writer: asyncio.StreamWriter) -> None:
        if self.on_write(request, Moment.BEFORE):
            return
        upstream, to_upstream = await asyncio.open_connection(
            self._upstream.hostname, self._upstream.port, ssl=self._tls
        )
        to_upstream.write(sent)
        answer = await upstream.read(-1)
        to_upstream.transport.abort()
        if not self.on_write(request, Moment.AFTER):
            await self._heard.wait()
            writer.write(answer)
            await writer.drain()

    async def _forward(self, sent: bytes, writer: asyncio.StreamWriter) -> None:
        upstream, to_upstream = await asyncio.open_connection(
            self._upstream.hostname, self._upstream.port, ssl=self._tls
        )
        try:
            to_upstream.write(sent)
            while chunk := await upstream.read(65536):
                await self._heard.wait()
                writer.write(chunk)
                await writer.drain()
        finally:
            to_upstream.transport.abort()


def _rewritten(head: bytes) -> bytes:
    """One request per connection, as the owner of the certificate instead of as the bearer of a token."""
    kept = re.sub(rb"(?i)\r\n(connection|authorization):[^\r]*", b"", head)
    return kept.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
