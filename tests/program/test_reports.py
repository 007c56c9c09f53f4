"""Reports from a real agent program to a real report server, with certificates of the operator's own authority."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.support.agent_program import Ground
from tests.support.agents import NODE, OPERATOR, POD_UID
from tests.support.certificates import Authority as OtherAuthority
from tests.support.certificates import write_tls
from tests.support.engine import metrics
from tests.support.secret_api import SecretApi
from valkey_operator.agent.leader import LeaderLine
from valkey_operator.controllers.agents.authority import Authority, LeafSecret
from valkey_operator.controllers.agents.grants import Grants
from valkey_operator.controllers.agents.own_certificate import OwnCertificate, utc_now
from valkey_operator.controllers.agents.receiver import Receiver
from valkey_operator.controllers.agents.reports import Reports
from valkey_operator.kube.client import KubeClient
from valkey_operator.kube.objects import Key
from valkey_operator.pki.authority import KeyPair
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire import posts, tls_server
from valkey_operator.wire.http_client import HttpError, Peer, post
from valkey_operator.wire.pages import Page
from valkey_operator.wire.posts import Post, PostServer
from valkey_operator.wire.tls import Reloading, TlsFiles
from valkey_operator.wire.tls_server import bind_listener

KEY = Key("shop", "cart-0")
REPORT = pb.NodeReport(pod_uid=POD_UID, boot_id="boot", seq=1).SerializeToString()


class Replica:
    """One replica of the operator, as far as reports are concerned."""

    def __init__(self, api: SecretApi, folder: Path) -> None:
        self.authority = Authority(KubeClient(api), OPERATOR.namespace)
        folder.mkdir()
        self.files = TlsFiles(folder)
        self.reports = Reports(asyncio.get_running_loop().time)
        self.term: int | None = 1
        self.leader: str | None = None
        self.got: list[Page] = []
        receiver = Receiver(
            self.reports, Grants(lambda: 0.0), metrics(), term=lambda: self.term, leader=lambda: self.leader
        )

        def take(post: Post) -> Page:
            self.got.append(receiver.take(post))
            return self.got[-1]

        self.routes = {b"/v1/report": take}
        self.listener = bind_listener("127.0.0.1", 0)
        self.port: int = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator["Replica"]:
        await OwnCertificate(self.authority, self.files).obtain(iter(()))
        server = PostServer(self.listener, Reloading(self.files, ssl.Purpose.CLIENT_AUTH), self.routes)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(server.run())
            try:
                yield self
            finally:
                running.cancel()
                self.listener.close()

    def acks(self) -> list[pb.Ack]:
        return [pb.Ack.FromString(page.body) for page in self.got if page.status == 200]


class World:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.api = SecretApi()
        self.agent = Ground(folder)

    def replica(self, name: str = "one") -> Replica:
        return Replica(self.api, self.folder / name)

    def certify_agent(self, replica: Replica) -> None:
        leaf = replica.authority.leaf_for("shop", "cart-0", utc_now())
        write_leaf(self.agent.tls.folder, leaf)

    def peer(self, replica: Replica, leaf: LeafSecret | None = None) -> Peer:
        made = leaf or replica.authority.leaf_for("shop", "cart-0", utc_now())
        return Peer(OPERATOR, Reloading(write_leaf(self.folder / "peer", made), ssl.Purpose.SERVER_AUTH))


def write_leaf(folder: Path, leaf: LeafSecret) -> TlsFiles:
    return write_tls(folder, KeyPair(leaf.certificate, leaf.key), leaf.roots)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_report_of_the_agent_is_acknowledged_once(world: World) -> None:
    async def run() -> None:
        async with world.replica().serving() as leader:
            world.certify_agent(leader)
            async with world.agent.running(operator=leader.address):
                await world.agent.wait_for("ack", lambda: bool(leader.acks()))
                await asyncio.sleep(0.5)
            received = leader.reports.get(KEY, POD_UID)
            assert received is not None
            assert [(ack.boot_id, ack.seq, ack.term) for ack in leader.acks()] == [(received.view.boot_id, 1, 1)]

    asyncio.run(run())


def test_the_agent_goes_on_to_the_leader_that_a_standby_names(world: World) -> None:
    async def run() -> None:
        async with world.replica().serving() as leader, world.replica("two").serving() as standby:
            standby.term, standby.leader = None, leader.address
            world.certify_agent(standby)
            async with world.agent.running(operator=standby.address):
                await world.agent.wait_for("ack", lambda: bool(leader.acks()))
            assert [page.status for page in standby.got] == [421]
            assert standby.reports.get(KEY) is None

    asyncio.run(run())


def test_a_certificate_of_another_authority_is_not_heard(world: World) -> None:
    async def run() -> None:
        async with world.replica().serving() as leader:
            roots = leader.authority.operator_leaf(utc_now()).roots
            stranger = write_tls(world.folder / "stranger", OtherAuthority().leaf(NODE), roots)
            peer = Peer(OPERATOR, Reloading(stranger, ssl.Purpose.SERVER_AUTH))
            with pytest.raises((HttpError, OSError)):
                await post(leader.address, "/v1/report", REPORT, peer)
            assert leader.got == []

    asyncio.run(run())


def test_the_operators_own_name_is_no_node(world: World) -> None:
    async def run() -> None:
        async with world.replica().serving() as leader:
            peer = world.peer(leader, leader.authority.operator_leaf(utc_now()))
            status, _ = await post(leader.address, "/v1/report", REPORT, peer)
            assert status == 403
            assert leader.reports.get(Key(OPERATOR.namespace, "operator")) is None

    asyncio.run(run())


def test_a_renewed_certificate_is_shown_and_a_new_root_trusted_without_a_restart(world: World) -> None:
    async def run() -> None:
        async with world.replica().serving() as leader:
            before = world.peer(leader)
            assert (await post(leader.address, "/v1/report", REPORT, before))[0] == 200
            other = OtherAuthority()
            write_tls(leader.files.folder, other.leaf(OPERATOR), other.root.certificate)
            fresh = write_tls(world.folder / "fresh", other.leaf(NODE), other.root.certificate)
            peer = Peer(OPERATOR, Reloading(fresh, ssl.Purpose.SERVER_AUTH))
            assert (await post(leader.address, "/v1/report", REPORT, peer))[0] == 200
            with pytest.raises(ssl.SSLCertVerificationError):
                await post(leader.address, "/v1/report", REPORT, before)

    asyncio.run(run())


async def send_raw(leader: Replica, peer: Peer, content: bytes) -> bytes:
    """Whatever comes back until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", leader.port, ssl=peer.tls.context())
    writer.write(content)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.transport.abort()


@pytest.mark.parametrize(
    ("content", "answer"),
    [
        (b"POST /v1/report HTTP/1.1\r\nContent-Length: 65537\r\n\r\n", b"HTTP/1.1 413 "),
        (b"POST /v1/report HTTP/1.1\r\n\r\n", b"HTTP/1.1 411 "),
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 404 "),
        (b"nonsense\r\n\r\n", b"HTTP/1.1 400 "),
        (b"POST /v1/report HTTP/1.1\r\nContent-Length: 2\r\n\r\n\xff\xff", b"HTTP/1.1 400 "),
        (b"x" * 100_000, b""),
    ],
    ids=["too long", "no length", "other page", "no http", "no report", "endless head"],
)
def test_what_is_no_sound_request_is_refused_and_the_next_one_served(
    world: World, content: bytes, answer: bytes
) -> None:
    async def run() -> None:
        async with world.replica().serving() as leader:
            peer = world.peer(leader)
            reply = await send_raw(leader, peer, content)
            assert reply.startswith(answer) if answer else reply == b""
            assert leader.reports.get(KEY) is None
            assert (await post(leader.address, "/v1/report", REPORT, peer))[0] == 200

    asyncio.run(run())


def test_slow_callers_are_dropped_and_hold_no_more_than_their_places(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is silent before the handshake, one after it, one within its request; there are three places."""
    monkeypatch.setattr(posts, "REQUEST_DEADLINE_S", 0.6)
    monkeypatch.setattr(tls_server, "HANDSHAKE_WITHIN_S", 0.6)
    monkeypatch.setattr(tls_server, "MOST_CONNECTIONS", 3)

    async def run() -> None:
        async with world.replica().serving() as leader:
            peer = world.peer(leader)
            head = b"POST /v1/report HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf"
            with socket.create_connection(("127.0.0.1", leader.port)):
                dropped = [asyncio.create_task(send_raw(leader, peer, content)) for content in (b"", head)]
                await asyncio.sleep(0.2)
                began = asyncio.get_running_loop().time()
                assert (await post(leader.address, "/v1/report", REPORT, peer))[0] == 200
                assert 0.2 < asyncio.get_running_loop().time() - began < 3
                assert await asyncio.gather(*dropped) == [b"", b""]

    asyncio.run(run())


def test_an_operator_that_is_silent_is_not_waited_for_before_the_next_is_asked(world: World) -> None:
    async def run() -> None:
        open_lines: set[asyncio.StreamWriter] = set()

        async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            open_lines.add(writer)
            await reader.read()
            open_lines.discard(writer)
            writer.transport.abort()

        async with world.replica().serving() as leader, await asyncio.start_server(say_nothing, "127.0.0.1") as silent:
            host, port = silent.sockets[0].getsockname()

            async def addresses() -> list[str]:
                return [f"{host}:{port}", leader.address]

            def is_taken_while_the_other_is_silent(status: int, _body: bytes) -> bool:
                return status == 200 and bool(open_lines)

            line = LeaderLine(addresses, world.peer(leader))
            assert await line.ask("/v1/report", lambda: REPORT, is_taken_while_the_other_is_silent)
            assert leader.reports.get(KEY, POD_UID) is not None

    asyncio.run(run())
