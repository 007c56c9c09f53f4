"""Traces of the model: what reached its servers, one event after the other, and what the model claims of them after it.

Owns: how both are taken down while a world goes on. Refuses to know: what makes things happen (shard_chaos.py,
shard_wander.py), and how a trace is replayed against real servers (tests/valkey).
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.sim.shard_events import (
    Attached,
    Bound,
    Claim,
    Copied,
    Cut,
    Ended,
    Event,
    Hung,
    KeptAlive,
    Opened,
    Promoted,
    Saved,
    Step,
    Told,
    TurnedAway,
    Wiped,
    Woken,
    Written,
)
from tests.sim.shard_model import World
from tests.sim.shard_pods import Place, Pod
from tests.sim.shard_servers import Disk, Server
from valkey_operator.valkey.info import Role


@dataclass(eq=False)
class _Known:
    """What was taken down of a node; of what changed since nobody was told."""

    server: Server | None = None
    disk: Disk | None = None
    hung: bool = False
    least: int = 0

    def changes(self, place: Place) -> Iterator[Event]:
        """Take over what is so by now, telling it."""
        name, server = place.name, _past_the_gate(place)
        if self.server is not None and server is not self.server:
            self.server, self.hung = None, False
            yield Ended(name)
        if self.disk is not None and place.disk is None:
            self.disk = None
            yield Wiped(name)
        if server is None or self.server is None or (self.hung and server.hung):
            return
        if self.hung:
            self.hung = False
            yield Woken(name)
        if server.least != self.least:
            self.least = server.least
            yield Bound(name, server.least)
        if server.hung:
            self.hung = True
            yield Hung(name)


@dataclass(eq=False)
class TracedWorld(World):
    """A world that takes down what reaches its servers. Without ghosts: a node has one server at a time here."""

    trace: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._known = {name: _Known() for name in self.places}
        self._turned_away: set[tuple[int, int]] = set()

    def open(self, pod: Pod, role: Role, *, follows: str | None, least: int = 0) -> None:
        self.catch_up()
        super().open(pod, role, follows=follows, least=least)
        known = self._known[pod.node]
        known.server, known.least = pod.server, least
        self._take_down(Opened(pod.node, role, follows, least))

    def follow(self, pod: Pod, primary: str | None) -> None:
        self.catch_up()
        server = pod.server
        assert server is not None
        role, follows, source = server.role, server.follows, server.source
        super().follow(pod, primary)
        if (server.role, server.follows) != (role, follows):
            self._take_down(Told(pod.node, primary))
        elif server.source is not source:
            self._take_down(Cut(pod.node))

    def promote(self, pod: Pod, *, least: int) -> None:
        self.catch_up()
        was_primary = pod.server is not None and pod.server.is_primary
        super().promote(pod, least=least)
        if not was_primary:
            self._known[pod.node].least = least
            self._take_down(Promoted(pod.node, least))

    def write(self, count: int) -> None:
        self.catch_up()
        asked = [(pod.node, server, server.values) for pod, server in self._running() if not server.hung]
        super().write(count)
        written = [Written(node, server.values[len(before) :]) for node, server, before in asked]
        self._take_down(*self._changes(), *written)

    def replicate(self, pod: Pod, *, everything: bool) -> None:
        self.catch_up()
        server = pod.server
        if server is None:
            return
        before = replace(server)
        super().replicate(pod, everything=everything)
        self._known[pod.node].disk = self.places[pod.node].disk
        self._take_down(*self._replicated(pod, server, before))

    def save(self, place: Place) -> None:
        self.catch_up()
        before = place.disk
        super().save(place)
        if place.disk is not before:
            self._known[place.name].disk = place.disk
            self._take_down(Saved(place.name))

    def catch_up(self) -> None:
        """Take down what changed without a word."""
        self._take_down(*self._changes())

    def _changes(self) -> Iterator[Event]:
        for name, place in self.places.items():
            yield from self._known[name].changes(place)

    def _replicated(self, pod: Pod, server: Server, before: Server) -> Iterator[Event]:
        source, node = server.source, pod.node
        is_new = source is not before.source
        if is_new and before.source is not None:
            yield Cut(node)
        if source is None:
            yield from self._sent_away(pod, server)
            return
        if is_new:
            yield Attached(node, self._node_of(source), server.partially)
            if source.is_primary and not server.partially:
                yield KeptAlive(self._node_of(source), node)
        if (server.values, server.offset) != (before.values, before.offset):
            yield Copied(node, server.values[-1] if server.values else None, server.offset == source.offset)

    def _sent_away(self, pod: Pod, server: Server) -> Iterator[Event]:
        """Once for each that it could not copy from."""
        found = None if server.hung else self._find(pod, server)
        if found is not None and not found.hung and (server.run, found.run) not in self._turned_away:
            self._turned_away.add((server.run, found.run))
            yield TurnedAway(pod.node, self._node_of(found))

    def _take_down(self, *events: Event) -> None:
        claims = {pod.node: _claim(server) for pod, server in self._running()}
        for event in events:
            self.trace.append(Step(event, claims if event is events[-1] else None))

    def _running(self) -> Iterator[tuple[Pod, Server]]:
        for pod in self.pods():
            if pod.server is not None and pod.server.role is not None:
                yield pod, pod.server

    def _node_of(self, server: Server) -> str:
        return next(pod.node for pod in self.pods() if pod.server is server)


def _past_the_gate(place: Place) -> Server | None:
    server = place.server
    return server if server is not None and server.role is not None else None


def _claim(server: Server) -> Claim:
    assert server.role is not None
    return Claim(
        role=server.role,
        linked=server.linked,
        whole=server.whole,
        hung=server.hung,
        values=server.values,
        history=server.history,
        former=server.former,
        offset=server.offset,
    )
