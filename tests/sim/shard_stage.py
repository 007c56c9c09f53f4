"""A stage for single stories: the model of a shard that has come to rest, in which only what is told happens.

Owns: setting the scene, letting time pass with or without the operator, cutting off. Refuses to know: the stories.
"""

from random import Random

from tests.sim.shard_chaos import expect
from tests.sim.shard_leader import Leader
from tests.sim.shard_model import Place, Pod, Server, World
from tests.sim.shard_operator import Operator

CUT_ZONE = 7
# Somebody has taken over by then, if anybody can.
LONG_ENOUGH_S = 9


class Stage:
    """Every node has all there is at the beginning, and everybody gets its turn at every tick."""

    def __init__(self, replicas: int = 3, durability: str = "Available", *, persistent: bool = True) -> None:
        self.world = World(chance=Random(1), replicas=replicas, durability=durability, persistent=persistent)
        self.operator = Operator(self.world)
        self.go(4)
        self.write(3)
        self.go(1)
        record = self.world.record
        expect(record is not None and len(record.promotable or ()) == replicas - 1, f"not at rest: {record}")

    @property
    def leader(self) -> Leader:
        assert self.operator.leader is not None
        return self.operator.leader

    @property
    def primary(self) -> str | None:
        """The one on record."""
        return self.world.record.primary if self.world.record else None

    def place(self, name: str) -> Place:
        return self.world.places[name]

    def pod(self, name: str) -> Pod:
        pod = self.place(name).pod
        assert pod is not None
        return pod

    def server(self, name: str) -> Server:
        server = self.pod(name).server
        assert server is not None
        return server

    def go(self, seconds: float, *, led: bool = True) -> None:
        """Let time pass; the operator hears of everybody and acts once a tick, unless nobody leads it."""
        for _ in range(int(seconds * 4)):
            self.world.tick(everything=True)
            if led:
                self.act()

    def act(self) -> None:
        self.operator.elect()
        if self.operator.leader is not None:
            self.hear()
            self.operator.reconcile()

    def hear(self) -> None:
        """All reports arrive."""
        for pod in self.world.pods():
            self.leader.hear(pod)

    def write(self, count: int = 1) -> int:
        """Clients write wherever they can; how many values were acknowledged."""
        before = self.world.acknowledged
        self.world.write(count)
        return self.world.acknowledged - before

    def cut(self, *names: str, operator: bool = True, api: bool = True, zone: int = CUT_ZONE) -> None:
        """Cut machines off; those in the same zone reach each other."""
        for name in names:
            machine = self.place(name).machine
            machine.zone, machine.off_operator, machine.off_api = zone, operator, api

    def pause_before(self, kind: type) -> None:
        """Let the leader work until it is about to do such a step; then another one leads."""
        leader = self.leader
        work = leader.work()
        while not isinstance(leader.about_to, kind):
            next(work)
        self.operator.resign(politely=True)
        self.operator.sleepers.append((leader, work))
        self.operator.elect()

    def wake(self) -> None:
        """The one who was paused goes on with its plan, as if nothing had happened."""
        self.operator.wake(0)
