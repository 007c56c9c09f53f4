"""The ground of the model: one shard's pods on their machines, the record, and what servers do when told.

Owns: the state of everything, and that it changes by the rules (shard_rules.py). Servers and replication:
shard_servers.py; agents: shard_agents.py; leave to write: shard_leave.py.
Refuses to know: what happens by itself (shard_model.py), and who gives orders (shard_operator.py).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from tests.sim.shard_leave import Leave, reach
from tests.sim.shard_pods import Place, Pod, report
from tests.sim.shard_rules import Rules
from tests.sim.shard_servers import Disk, Server, attach, copy
from valkey_operator.agent.promise import Given
from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.node_view import NodeView
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.info import Role

OWNER = "x"
MOST_NODES = 5


@dataclass(eq=False)
class Ground:
    """Everything, at one moment."""

    chance: Random
    persistent: bool = True
    append_only: bool = False
    """What is on disk has no offset, and its server begins to count anew."""
    durability: str = "Available"
    least_confirmations: int = 1
    replicas: int = 3
    generation: int = 1
    now: float = 0.0
    record: ValkeyShardSpec | None = None
    former_record: ValkeyShardSpec | None = None
    version: int = 0
    """Of the record."""
    acknowledged: int = 0
    hangs_now: Callable[[], bool] = lambda: False
    """Whether a server hangs just when it is told to be primary."""
    wished: str | None = None
    """The node that a user wants as primary."""
    ended_pods: set[str] = field(default_factory=set)
    """Those that were seen to end; not those that vanished."""
    ghosts: list[Pod] = field(default_factory=list)
    story: list[str] = field(default_factory=list)
    _numbers: int = 0

    def __post_init__(self) -> None:
        self.places = {name: Place(name, index) for index in range(MOST_NODES) for name in [f"{OWNER}-{index}"]}
        self.rules = Rules(self)
        self.leave = Leave(self.places, lambda: self.record)

    def tell(self, sentence: str) -> None:
        self.story.append(f"{self.now:7.2f}  {sentence}")

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    def new_history(self) -> str:
        return f"{self.number():040x}"

    def pods(self) -> Iterator[Pod]:
        """All that run, ghosts too."""
        yield from (place.pod for place in self.places.values() if place.pod is not None)
        yield from self.ghosts

    def pod(self, uid: str | None) -> Pod | None:
        return next((pod for pod in self.pods() if pod.uid == uid), None)

    def report(self, pod: Pod) -> NodeView:
        """What the agent of a pod says at this moment."""
        disk = None if pod.is_ghost else self.places[pod.node].disk
        return report(pod, disk, seq=self.number(), now=self.now, append_only=self.append_only)

    def fingerprint(self) -> object:
        """Equal ones: nothing has changed in between but the time."""
        return (
            self.record,
            self.replicas,
            [(place.exists, place.has_volume, place.disk and place.disk.values) for place in self.places.values()],
            [
                (pod.uid, pod.mark, pod.leaving_in, pod.ends_in, pod.agent.promise, _look(pod.server))
                for pod in self.pods()
            ],
        )

    def swap(self, seen: int, new: ValkeyShardSpec, *, wished: str | None = None) -> bool:
        """Compare and swap, under the rules that the API server holds; whether nobody was faster.

        `wished` is what the writer knows of a user's wish.
        """
        if seen != self.version:
            return False
        before = self.record
        self.rules.check_swap(before, new)
        self.former_record, self.record, self.version = before, new, self.version + 1
        self.rules.swapped(before, new, wished=wished)
        under_way = (new.operation and "switchover") or (new.pending and f"failover: {new.pending.reason}")
        self.tell(f"the record: {new.primary}, epoch {new.epoch}, then {new.promotable or []}, {under_way}")
        return True

    def forget_record(self) -> None:
        """It was deleted, with all that it was about."""
        self.record, self.former_record, self.version = None, None, self.version + 1
        self.rules.listed_runs = {}

    # --- clients and copies -------------------------------------------------------------------------------------------

    def takes_writes(self, pod: Pod) -> bool:
        """Whether a client that finds it can write."""
        server = pod.server
        if server is None or not server.is_primary or server.hung:
            return False
        pod.agent.settle(server, self.now)
        return server.attached(self.now) >= server.least

    def write(self, count: int) -> None:
        """A client writes to whoever lets it."""
        for pod in self.pods():
            server = pod.server
            if server is not None and self.takes_writes(pod):
                first = self.acknowledged + 1
                self.acknowledged += count
                server.take(tuple(range(first, first + count)), counts_alone=self.append_only)
                self.rules.acknowledged(pod, server)
                self.tell(f"{pod.node} ({pod.uid}) acknowledges {first} to {self.acknowledged}")

    def replicate(self, pod: Pod, *, everything: bool) -> None:
        """Copy from whom it is attached to; else find whoever has the name that it follows."""
        server = pod.server
        if server is None or server.role is not Role.REPLICA or server.hung:
            return
        self.notice_cuts(pod, server)
        found = self._find(pod, server) if server.source is None else None
        if found is not None and attach(pod.node, server, found, self):
            self.detach_from(server)
        if found is not None and server.source is found and not server.partially:
            self._keep_copy(pod, server)
            if found.is_primary:
                found.keep_alive()
        most = None if everything else self.chance.randint(0, self.places[pod.node].pace)
        copy(server, self.now, most)

    def notice_cuts(self, pod: Pod, server: Server) -> None:
        """A link to where nobody gets any more is none; the other end does not hear of it."""
        if server.source is not None:
            of = next((each for each in self.pods() if each.server is server.source), None)
            if of is None or not reach(of.agent.machine, pod.agent.machine):
                server.hang_up(told=False)

    def _find(self, pod: Pod, server: Server) -> Server | None:
        of = self.places[server.follows].pod if server.follows else None
        if of is None or of is pod or of.server is None or not reach(of.agent.machine, pod.agent.machine):
            return None
        return of.server if of.server.role is not None else None

    def detach_from(self, server: Server) -> None:
        for other in self.pods():
            if other.server is not None and other.server.source is server:
                other.server.source = None
        server.acks.clear()

    # --- what servers do when told ------------------------------------------------------------------------------------

    def open(self, pod: Pod, role: Role, *, follows: str | None, least: int = 0) -> None:
        server, disk = pod.server, self.places[pod.node].disk
        assert server is not None
        assert server.role is None
        server.load(disk, self.new_history(), with_offset=not self.append_only)
        server.become(role, follows)
        server.least = least
        self.tell(f"{pod.node} ({pod.uid}) starts as {role} of {follows}, with {server.values[-1:]} at {server.offset}")
        if role is Role.PRIMARY:
            server.begin_history(self.new_history())
            self.rules.becomes_primary(pod, server)
        self.rules.check()

    def follow(self, pod: Pod, primary: str | None) -> None:
        """`primary` None parks it; those who follow it stay attached and get the rest."""
        server = pod.server
        assert server is not None
        self.notice_cuts(pod, server)
        if server.is_primary or server.follows != primary:
            server.become(Role.REPLICA, primary)
        self.rules.check()

    def promote(self, pod: Pod, *, least: int) -> None:
        """It takes no write without so many replicas, and is behind no fence that it had before."""
        server = pod.server
        assert server is not None
        server.least = least
        if server.is_primary:
            return
        self.notice_cuts(pod, server)
        server.become(Role.PRIMARY, None)
        server.begin_history(self.new_history())
        self.detach_from(server)
        self.tell(f"{pod.node} is promoted at {server.offset}")
        self.rules.becomes_primary(pod, server)
        self.rules.check()

    def save(self, place: Place) -> None:
        """A snapshot, marked as the agent does: only what is whole is a copy."""
        server = place.server
        if server is not None and place.pod is not None and server.whole and not server.hung:
            self._keep_copy(place.pod, server)

    def _keep_copy(self, pod: Pod, server: Server) -> None:
        """On its disk, where a full resync leaves one too."""
        self.mark(pod, server)
        epoch, was_primary = pod.mark
        history, offset = (None, 0) if server.backlog is None else (server.history, server.offset)
        if not pod.is_ghost:
            disk = Disk(server.values, server.ends, offset, history, epoch, was_primary=was_primary)
            self.places[pod.node].disk = disk

    def mark(self, pod: Pod, server: Server) -> None:
        """Only a server with the role it was given is of the promised epoch."""
        promise = pod.agent.promise
        is_writer = server.is_primary and server.least != FENCED
        fits = promise.given in {Given.ANY, Given.PRIMARY if server.is_primary else Given.REPLICA}
        if fits and not server.hung and pod.agent.runs and (is_writer or server.linked):
            pod.mark = (promise.epoch, server.is_primary)
            place = self.places[pod.node]
            if place.disk is not None and place.pod is pod:
                place.disk = replace(place.disk, epoch=promise.epoch, was_primary=server.is_primary)


def _look(server: Server | None) -> object:
    if server is None:
        return None
    return (server.run, server.role, server.follows, server.linked, server.values, server.history, server.least)
