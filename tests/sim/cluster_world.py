"""The world around the servers of a cluster: pods, disks, network, time, and clients that write.

Owns: what happens by itself from one tick to the next. Refuses to know: the operator (cluster_operator.py) and which
faults come when (cluster_chaos.py).
"""

import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import ClassVar

from tests.sim.cluster_api import Api
from tests.sim.cluster_leave import Licence, ask_for_leave, has_leave
from tests.sim.cluster_servers import Server
from valkey_operator.core.cluster.facts import Leave
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import ProcessState

BEGIN = datetime(2026, 11, 16, 12, tzinfo=UTC)
TICK_S = 0.5
TIMEOUT_TICKS = 4
SAVE_EVERY = 4
WRITTEN_SLOTS = tuple(range(25, 16384, 1090))
BAN_TICKS = 120


@dataclass
class Node:
    """A pod with its server and disk. `side` 0 is where the operator is; a cut puts a node elsewhere."""

    name: str
    shard: int
    index: int
    server: Server | None = None
    state: ProcessState = ProcessState.WAITING
    kept: Server | None = None
    """What its nodes.conf says."""
    saved: dict[int, int] = field(default_factory=dict)
    saved_offset: int = -1
    side: int = 0
    licence: Licence = field(default_factory=Licence)
    stale: bool = False
    version: str = "9.1.2"
    ours: bool = True
    """Whether the operator has made it."""
    pod: int = 0
    """Which one it is: an order is for one of them."""

    @property
    def running(self) -> Server | None:
        return self.server if self.state is ProcessState.RUNNING else None

    @property
    def at_gate(self) -> bool:
        return self.state is ProcessState.WAITING

    def replace_pod(self) -> None:
        """What the one before had promised is gone with it."""
        self.pod, self.licence = self.pod + 1, Licence()


@dataclass
class World:
    # What nodes and operator must not do, and do where a test switches a rule off:
    writes_without_leave: ClassVar[bool] = False
    """Agents fence nobody."""
    is_elected_without_leave: ClassVar[bool] = False
    """A fence keeps a server from writes alone."""

    seed: int
    tick: int = 0
    nodes: dict[str, Node] = field(default_factory=dict)
    volumes: dict[str, Node] = field(default_factory=dict)
    """Disks of nodes that are gone, taken up again by the same name."""
    ids: int = 0
    written: int = 0
    confirmed: dict[int, int] = field(default_factory=dict)
    two_writers: dict[int, int] = field(default_factory=dict)
    story: list[str] = field(default_factory=list)
    granted: Leave | None = None
    """As the leader has seen it on record."""
    is_led: bool = True
    """Whether there is an operator that could be asked."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.api = Api(self.chance)

    def tell(self, what: str) -> None:
        self.story.append(f"{self.tick:4} {what}")

    def new_id(self) -> str:
        self.ids += 1
        return f"{self.chance.getrandbits(64):016x}{self.ids:024x}"

    def ours(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.ours]

    def running(self) -> list[Server]:
        return [node.server for node in self.nodes.values() if node.running and node.server]

    def by_id(self, node_id: str) -> Server | None:
        return next((server for server in self.running() if server.id == node_id), None)

    def reach(self, one: Server, other: Server) -> bool:
        return self.nodes[one.name].side == self.nodes[other.name].side

    def kill(self, node: Node) -> None:
        """End its server; what was only in memory is gone."""
        if node.server is not None and node.state is ProcessState.RUNNING:
            node.kept = node.server
        node.server, node.state = None, ProcessState.GONE
        self.tell(f"{node.name} dies")
        self._allow_losses()

    def lose_disk(self, node: Node) -> None:
        self.kill(node)
        node.kept, node.saved, node.saved_offset = None, {}, -1
        self.tell(f"{node.name} has lost its disk")

    def _allow_losses(self) -> None:
        """Nothing is promised of what nobody has in memory any more."""
        for slot, bits in self.confirmed.items():
            held = 0
            for server in self.running():
                followed = server.table.get(server.own.primary, server.own)
                held |= server.data.get(slot, 0) if followed.slots >> slot & 1 else 0
            self.confirmed[slot] = bits & held

    def remove(self, name: str, *, keeps_volume: bool) -> None:
        """Its server saves and ends."""
        node = self.nodes.pop(name)
        self.tell(f"{name} is removed")
        if node.server is not None:
            node.kept, node.saved, node.saved_offset = node.server, dict(node.server.data), node.server.offset
        node.state, node.server, node.side, node.stale = ProcessState.WAITING, None, 0, False
        node.replace_pod()
        if keeps_volume:
            self.volumes[name] = node

    def restart_pods(self) -> None:
        for node in self.nodes.values():
            if node.state is ProcessState.GONE and self.chance.random() < 0.6:
                node.state = ProcessState.WAITING

    def fence(self) -> None:
        """Agents ask for leave, and fence the servers that have none."""
        on_record = None if self.api.is_away else self.api.now.record.leave
        for node in self.ours():
            ask_for_leave(self, node, leave=self.granted if self.is_led else on_record, is_led=self.is_led)
            if node.running is not None:
                node.running.fenced = not (self.writes_without_leave or has_leave(node, self.tick))

    def save(self) -> None:
        for node in self.nodes.values():
            server = node.running
            if server is None:
                continue
            node.kept = server
            if self.tick % SAVE_EVERY == node.index % SAVE_EVERY and (server.whole or server.own.role is Role.PRIMARY):
                node.saved, node.saved_offset = dict(server.data), server.offset


def moment(tick: int) -> datetime:
    return BEGIN + timedelta(seconds=tick * TICK_S)
