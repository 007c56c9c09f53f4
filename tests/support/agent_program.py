"""The agent as a process, and a stand-in for the operator it reports to."""

import asyncio
import contextlib
import os
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from tests.support.agents import NODE, OPERATOR, POD_UID
from tests.support.ask import ask
from tests.support.certificates import Authority, write_tls
from tests.support.ports import free_port
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.identity import Identity
from valkey_operator.wire.tls import TlsFiles, make_context, peer_uris

DEADLINE_S = 20.0


class Operator:
    """Takes reports as one replica of the operator does; a leader acks them, a standby names the leader."""

    def __init__(self, files: TlsFiles) -> None:
        self.files = files
        self.address = f"127.0.0.1:{free_port()}"
        self.leader: str | None = None
        self.term = 1
        self.got: list[pb.NodeReport] = []
        self.callers: set[str] = set()

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["Operator"]:
        host, _, port = self.address.partition(":")
        context = make_context(self.files, ssl.Purpose.CLIENT_AUTH)
        async with await asyncio.start_server(self._answer, host, int(port), ssl=context):
            yield self

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            size = int(head.lower().partition("content-length: ")[2].split("\r\n")[0])
            report = pb.NodeReport.FromString(await reader.readexactly(size))
            self.callers.update(peer_uris(writer.get_extra_info("ssl_object").getpeercert()))
            self.got.append(report)
            if self.leader is None:
                status = "200 OK"
                body = pb.Ack(boot_id=report.boot_id, seq=report.seq, term=self.term).SerializeToString()
            else:
                status, body = "421 Misdirected Request", pb.Misdirected(leader=self.leader).SerializeToString()
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
        writer.close()


class Ground:
    """The folders, certificates and ports of one agent; a pod of tests/valkey may be in the same folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority()
        self.tls = self.files("agent", NODE)
        self.gate = folder / "gate"
        for path in (self.gate, folder / "data"):
            path.mkdir(exist_ok=True)
        self.probe_port, self.grpc_port = free_port(), free_port()
        self.log = folder / "agent.log"

    def files(self, name: str, identity: Identity) -> TlsFiles:
        return write_tls(self.folder / name, self.authority.leaf(identity), self.authority.root.certificate)

    def operator(self, name: str = "operator", identity: Identity = OPERATOR) -> Operator:
        return Operator(self.files(name, identity))

    async def start(self, *operators: Operator, log_level: str = "info", **changes: str) -> asyncio.subprocess.Process:
        settings = {
            "namespace": "shop",
            "node": "cart-0",
            "pod_uid": POD_UID,
            "operator_namespace": OPERATOR.namespace,
            "operator": ",".join(operator.address for operator in operators),
            "gate": str(self.gate),
            "data": str(self.folder / "data"),
            "tls": str(self.tls.folder),
            "boot_conf": str(self.folder / "boot.conf"),
            "grpc_address": f"127.0.0.1:{self.grpc_port}",
            "probe_address": f"127.0.0.1:{self.probe_port}",
            **changes,
        }
        environ = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        environ |= {f"VALKEY_AGENT_{name.upper()}": value for name, value in settings.items()}
        command = [sys.executable, "-m", "valkey_operator", "agent", "--log-level", log_level]
        with self.log.open("ab") as log:
            return await asyncio.create_subprocess_exec(*command, stdout=log, stderr=log, env=environ)

    @contextlib.asynccontextmanager
    async def running(self, *operators: Operator, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await self.start(*operators, **settings)
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    async def wait_for(self, what: str, holds: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(DEADLINE_S):
                while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - another process
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"no {what} within {DEADLINE_S} s; its log:\n{self.log.read_text()}") from None

    def ask(self, page: str) -> tuple[int, str]:
        return ask(self.probe_port, page)

    async def wait_until_it_serves(self) -> None:
        await self.wait_for("health", lambda: self.ask("/healthz")[0] == 200)

    async def wait_until_it_takes_orders(self) -> None:
        """Later than probes: what orders need is loaded after them."""

        def listens() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", self.grpc_port)) == 0

        await self.wait_for("orders", listens)
