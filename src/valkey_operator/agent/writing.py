"""Everything about leave to write, put together for one agent.

Owns: which parts there are, and how they know each other. Refuses to know: how any of them works.
"""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Coroutine

from valkey_operator.agent.fence import LicenceKeeper
from valkey_operator.agent.granting import Granting
from valkey_operator.agent.heartbeats import Heartbeats
from valkey_operator.agent.node import Node
from valkey_operator.agent.peers import PeerServer
from valkey_operator.agent.record_leave import RecordLeave
from valkey_operator.agent.settings import AgentSettings
from valkey_operator.wire.identity import node_identity
from valkey_operator.wire.tls import Reloading, TlsFiles
from valkey_operator.wire.tls_server import TlsServer, bind_listener

Work = Coroutine[None, None, None]


def make_keeper(settings: AgentSettings, node: Node) -> LicenceKeeper:
    """The licence of one node."""
    if settings.record is None:
        return LicenceKeeper(node, None)
    leave = RecordLeave(settings.record, node=settings.node, operator_namespace=settings.operator_namespace)
    return LicenceKeeper(node, leave)


def writing_works(settings: AgentSettings, node: Node, keeper: LicenceKeeper) -> list[Work]:
    """What is done all the time; raises OSError where the peers' port is taken."""
    if not settings.peers:
        return []
    own, files = node_identity(settings.namespace, settings.node), TlsFiles(settings.tls)
    granting = Granting(node)
    # Expired certificates never cost the leave to write.
    incoming = Reloading(files, ssl.Purpose.CLIENT_AUTH, expired_too=True)
    outgoing = Reloading(files, ssl.Purpose.SERVER_AUTH, expired_too=True)
    peers = PeerServer(own, granting.answer, cluster=settings.cluster)
    server = TlsServer(bind_listener(settings.peer_host, settings.peer_port), incoming, peers.serve)
    heartbeats = Heartbeats(own, outgoing, keeper, find=_all_behind(settings.peers))
    works = [server.run(), heartbeats.run(), keeper.keep(), keeper.seek()]
    # Servers of a cluster notice by themselves who is lost.
    return works if settings.cluster else [*works, granting.watch()]


def _all_behind(peers: str) -> Callable[[], Awaitable[list[tuple[str, int]]]]:
    host, _, port = peers.rpartition(":")

    async def find() -> list[tuple[str, int]]:
        infos = await asyncio.get_running_loop().getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
        return [(str(address[0]), int(address[1])) for *_, address in infos]

    return find
