"""Real servers that a trace is replayed against: each at its gate, with its agent, and a wire to every other one.

Owns: what a node consists of, its settings, and how it looks. Refuses to know: what happens to it (trace_replay.py).
"""

import contextlib
import signal
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from tests.valkey.gated import Pod, pod
from tests.valkey.gated_agent import Agent
from tests.valkey.trace_claims import Seen
from tests.valkey.wires import Wire
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.info import Role

# Keep-alives would move offsets at moments that no trace knows, and what is held for long is not dead here.
SETTINGS = """\
save ""
repl-diskless-sync-delay 0
repl-ping-replica-period 3600
repl-timeout 3600
hz 25
"""
ROLES = {pb.ROLE_PRIMARY: Role.PRIMARY, pb.ROLE_REPLICA: Role.REPLICA}


class Node:
    """One real server with its agent, and the ways to all others."""

    def __init__(self, made: Pod) -> None:
        self.made = made
        settings = made.folder / "settings.conf"
        settings.write_text(SETTINGS)
        self.agent = Agent(made, settings_file=settings)
        self.wires: dict[str, tuple[Wire, int]] = {}
        self.follows: str | None = None
        self.hung = False

    @property
    def wire(self) -> Wire:
        assert self.follows is not None
        return self.wires[self.follows][0]

    @property
    def runs(self) -> bool:
        return bool(self.made.processes) and self.made.processes[-1].poll() is None

    def address_of(self, other: str) -> pb.Address:
        return pb.Address(host="127.0.0.1", port=self.wires[other][1])

    def signal(self, number: signal.Signals) -> None:
        self.made.processes[-1].send_signal(number)

    async def ask(self, *words: str | int, within_s: float | None = None) -> object:
        return await self.agent.node.connection.call(*words, timeout_s=within_s)

    async def look(self) -> Seen | None:
        report = await self.agent.service.report(pb.ReportRequest())
        if report.health != pb.HEALTH_ANSWERS:
            return None
        replication = report.replication
        keys = await self.ask("KEYS", "*")
        assert isinstance(keys, list)
        return Seen(
            role=ROLES[replication.role],
            linked=replication.link.up,
            whole=report.whole,
            values=frozenset(int(key) for key in keys),
            replication_id=replication.replication_id,
            former_id=replication.former_replication_id or None,
            offset=replication.offset,
        )


@contextlib.asynccontextmanager
async def running_nodes(names: Sequence[str], version: str, folder: Path) -> AsyncIterator[dict[str, Node]]:
    """Without servers yet; those that were started are killed with the block."""
    with contextlib.ExitStack() as stack:
        nodes = {name: Node(stack.enter_context(pod(version, folder / name))) for name in names}
        for name, node in nodes.items():
            for other in names:
                if other != name:
                    wire = Wire(nodes[other].made.port)
                    node.wires[other] = (wire, await wire.listen())
        try:
            yield nodes
        finally:
            for node in nodes.values():
                for wire, _ in node.wires.values():
                    await wire.close()
                node.agent.node.connection.close()
