"""An agent's parts without a server: a node that nobody runs on, and its gRPC service on loopback."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from valkey_operator.agent.fence import LicenceKeeper
from valkey_operator.agent.gate import Gate
from valkey_operator.agent.node import Node, Places
from valkey_operator.agent.report import Facts, Report
from valkey_operator.agent.rpc import AgentService, make_grpc_server
from valkey_operator.agent.server import ServerConnection
from valkey_operator.agent.watch import ProcessTable
from valkey_operator.wire.identity import Identity, node_identity, operator_identity
from valkey_operator.wire.tls import TlsFiles

OPERATOR = operator_identity("valkey-operator-system")
NODE = node_identity("shop", "cart-0")
POD_UID = "uid-1"


def lonely_node(folder: Path) -> Node:
    """A node whose server was never started."""
    gate = Gate(folder)
    gate.make()
    return Node(
        Places(gate=folder, data=folder, port=6379),
        gate,
        ProcessTable(folder / "boot.conf", lambda _: False),
        connection=ServerConnection(gate.socket, gate.password),
        first=Report(pod_uid=POD_UID, boot_id="boot", agent_version="test", seq=1, facts=Facts()),
    )


@contextlib.asynccontextmanager
async def serving(node: Node, files: TlsFiles, port: int, operator: Identity = OPERATOR) -> AsyncIterator[str]:
    """The service on loopback; yields its address."""
    address = f"127.0.0.1:{port}"
    server = make_grpc_server(
        AgentService(node, LicenceKeeper(node, None)),
        files=files,
        operator=operator,
        address=address,
    )
    await server.start()
    try:
        yield address
    finally:
        await server.stop(None)
