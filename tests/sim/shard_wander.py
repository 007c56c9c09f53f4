"""A walk of the model's servers, drawn from a seed: whatever could be ordered or strike, sensible or not.

Owns: what is drawn. No operator, no agents that decide, and no rules about what may be lost: only what servers do.
"""

from collections.abc import Callable
from random import Random

from tests.sim.shard_agents import Agent
from tests.sim.shard_events import Step
from tests.sim.shard_pods import Place, Pod
from tests.sim.shard_rules import Rules
from tests.sim.shard_servers import Server
from tests.sim.shard_traces import TracedWorld
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.info import Role

NODES = 3


class NoRules(Rules):
    """Two may write here, and everything may be lost."""

    def check(self) -> None: ...

    def becomes_primary(self, pod: Pod, server: Server) -> None: ...

    def ended(self, node: str, *, by_plan: bool) -> None: ...


class Walk:
    """One seed. Each has its own mix of what happens often."""

    def __init__(self, seed: int, world: type[TracedWorld] = TracedWorld) -> None:
        self._chance = Random(seed)
        self.world = world(chance=self._chance, append_only=False)
        self.world.rules = NoRules(self.world)
        self._places = [*self.world.places.values()][:NODES]
        for place in self._places:
            place.pace = self._chance.randint(1, 3)
            place.pod = Pod(place.name, place.name, 1, Agent(place.machine, began=0.0))
        # Of a silent replica a server forgets after some time, and the time of the model is not that of a replay.
        self._briskness = self._chance.choice([0.2, 0.5, 0.8])
        """How likely replicas get somewhere between two acts."""
        strikes = [self._hang, self._cut] if self._chance.random() < 0.5 else [self._count_replicas]
        acts: list[Callable[[Place], None]] = [self._end, self._save, self._fence, *strikes]
        self._acts = [self._write, self._order, self._open, *acts]
        self._weights = [self._chance.randint(8, 16) for _ in range(3)] + [self._chance.randint(1, 4) for _ in acts]

    def run(self, events: int) -> list[Step]:
        """As many events, and some more that belong to the last act."""
        for place in self._places:
            self._start(place, Role.PRIMARY if place is self._places[0] else Role.REPLICA, self._places[0])
        self._replicate(self._places[0])
        while len(self.world.trace) < events:
            self._chance.choices(self._acts, self._weights)[0](self._chance.choice(self._places))
            if self._chance.random() < self._briskness:
                self._replicate(self._places[0])
        return self.world.trace

    def _start(self, place: Place, role: Role, of: Place | None) -> None:
        pod = place.pod
        assert pod is not None
        pod.server = Server(run=self.world.number())
        follows = of.name if of is not None and role is Role.REPLICA and of is not place else None
        self.world.open(pod, role, follows=follows)

    def _open(self, place: Place) -> None:
        if place.server is None:
            role = self._chance.choice([Role.PRIMARY, Role.REPLICA, Role.REPLICA])
            self._start(place, role, self._chance.choice([None, *self._places]))

    def _order(self, place: Place) -> None:
        pod, server = place.pod, place.server
        if pod is None or server is None or server.hung:
            return
        others = [each for each in self._places if each is not place]
        serving = [
            each for each in others if each.server is not None and (each.server.is_primary or each.server.linked)
        ]
        other = self._chance.choice(serving if serving and self._chance.random() < 0.8 else others)
        match self._chance.choice(["promote", "follow", "follow", "park"]):
            case "promote":
                self.world.promote(pod, least=0)
            case "follow":
                self.world.follow(pod, other.name)
            case "park":
                self.world.follow(pod, None)

    def _write(self, _place: Place) -> None:
        self.world.write(self._chance.randint(1, 3))

    def _replicate(self, _place: Place) -> None:
        everything = self._chance.random() < 0.5
        for place in self._chance.sample(self._places, NODES):
            if place.pod is not None:
                self.world.replicate(place.pod, everything=everything)

    def _end(self, place: Place) -> None:
        if place.server is not None:
            self.world.kill(place, with_disk=self._chance.random() < 0.3)

    def _save(self, place: Place) -> None:
        self.world.save(place)

    def _fence(self, place: Place) -> None:
        self._bind(place, FENCED)

    def _count_replicas(self, place: Place) -> None:
        self._bind(place, 1)

    def _bind(self, place: Place, least: int) -> None:
        if place.server is not None and not place.server.hung:
            place.server.least = 0 if place.server.least else least

    def _hang(self, place: Place) -> None:
        if place.server is not None:
            place.server.hung = not place.server.hung

    def _cut(self, place: Place) -> None:
        place.machine.zone = 0 if place.machine.zone else place.index + 1
