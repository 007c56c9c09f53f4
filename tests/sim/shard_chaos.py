"""A life of the model's shard, drawn from a seed: writes, faults and wishes, then quiet, then what must be true."""

from collections.abc import Callable, Sequence
from random import Random

from tests.sim.shard_model import BrokenRuleError, Place, World
from tests.sim.shard_operator import Crashed, Operator
from valkey_operator.core.shard.members import next_turn, removable
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import ShardPlan

EPISODES, EVENTS = 6, 20
ROUNDS_TO_REST = 150
STILL_ROUNDS = 3
SIZES = (1, 2, 2, 3, 3, 4)
WISHES = ("scale", "suspend", "roll", "evict")
MOVES = ("scale", "roll", "evict", "cordon", "primary")
"""Of these most lead to a switchover."""
FAULTS = ("process", "pod", "disk", "network")


class Life:
    """One seed. Each has its own mix of what happens often; without `faults` only what a user may do, and crashes."""

    def __init__(self, seed: int, *, faults: bool = True, wishes: Sequence[str] = WISHES) -> None:
        self._chance = Random(seed)
        self.world = World(
            chance=self._chance,
            persistent=self._chance.random() < 0.8,
            append_only=self._chance.random() < 0.5,
            replicas=self._chance.choice(SIZES),
        )
        self._operator = Operator(self.world, self._between)
        self._calm = False
        self._harm, self._frailty = self._chance.choice([0.0, 0.05, 0.2]), self._chance.choice([0.0, 0.02, 0.1])
        """How likely a fault, and a crash of the operator, comes between two steps."""
        self._prompt = {name: self._chance.choice([0.1, 0.5, 0.9]) for name in self.world.places}
        """How likely a report arrives, by the node that sends it."""
        self._wishes = self._some_of(wishes)
        self._faults = self._some_of(FAULTS) if faults else []
        self._acts: list[Callable[[], None]] = [
            lambda: self.world.write(self._chance.randint(1, 4)),
            self.world.tick,
            self._reports_arrive,
            self._operator.reconcile,
            self._operator.forget,
            lambda: self.world.save(self._anybody()),
            self._wish,
            self._strike,
        ]
        often, seldom = [self._chance.randint(10, 40) for _ in range(4)], [self._chance.randint(0, 5) for _ in range(2)]
        self._weights = [*often, *seldom, self._chance.randint(0, 10), self._chance.randint(0, 10)]

    def run(self) -> None:
        """All of it; raises `BrokenRuleError`."""
        self._come_to_rest()
        for place in self.world.places.values():
            place.pace = self._chance.randint(0, 3)
        for _ in range(EPISODES):
            for _ in range(EVENTS):
                self._chance.choices(self._acts, self._weights)[0]()
            self._recover(self._chance.randint(0, 6))
        self._come_to_rest()
        self._check_rest()

    def _some_of(self, choices: Sequence[str]) -> list[str]:
        return [choice for choice in choices if self._chance.random() < 0.5] or [self._chance.choice(choices)]

    def _wish(self) -> None:
        """What a user may ask for."""
        world = self.world
        wish = self._chance.choice(self._wishes)
        world.tell(f"wish: {wish}")
        match wish:
            case "scale":
                world.replicas = self._chance.choice(SIZES)
            case "suspend":
                world.replicas = 0 if world.replicas else self._chance.choice(SIZES)
                self._make_anew()
            case "roll":
                world.generation += 1
            case "evict":
                world.stop(self._anybody(), by_plan=False)
            case "cordon":
                machine = self._anybody()
                machine.cordoned = not machine.cordoned
            case "primary":
                wished = self._chance.choice([None, *world.places])
                world.wish_is_met = world.wish_is_met and wished == world.wished
                world.wished = wished

    def _make_anew(self) -> None:
        """Perhaps it was deleted while suspended, and made again: the volumes are there, the record is not."""
        gone = all(not place.exists and place.pod is None for place in self.world.places.values())
        if gone and self._chance.random() < 0.3:
            self.world.tell("it was made anew")
            self.world.record, self.world.listed_runs = None, {}

    def _strike(self) -> None:
        """A fault."""
        if not self._faults:
            return
        place, world = self._anybody(), self.world
        match self._chance.choice(self._faults):
            case "process":
                world.kill(place)
            case "pod":
                world.kill(place, with_pod=True)
            case "disk":
                world.kill(place, with_pod=True, with_disk=True)
            case "network":
                place.cut_off = self._chance.random() < 0.7
                place.isolated = not place.cut_off or self._chance.random() < 0.7
                if place.cut_off:
                    self._operator.lose(place)

    def _between(self) -> None:
        if self._calm:
            return
        if self._chance.random() < self._harm:
            self._strike()
        if self._chance.random() < self._frailty:
            raise Crashed

    def _reports_arrive(self) -> None:
        for place in self.world.places.values():
            if self._chance.random() < self._prompt[place.name]:
                self._operator.hear(place)
            if self._chance.random() < 0.1:
                place.cut_off = place.isolated = False

    def _anybody(self) -> Place:
        """Most often somebody who matters."""
        record = self.world.record
        if record is not None and record.primary is not None and self._chance.random() < 0.4:
            return self.world.places[record.primary]
        return self._chance.choice(
            [place for place in self.world.places.values() if place.pod] or [*self.world.places.values()]
        )

    def _recover(self, rounds: int) -> None:
        """No faults and wishes for a while, but clients go on, and replicas lag."""
        self._calm = True
        for place in self.world.places.values():
            place.cut_off = place.isolated = False
        for _ in range(rounds):
            self.world.now += 1
            self.world.tick(everything=True)
            self.world.write(self._chance.randint(1, 4))
            self.world.tick()
            self._reports_arrive()
            self._operator.reconcile()
        self._calm = False

    def _come_to_rest(self) -> None:
        """Everybody gets the time it needs, until nothing changes any more."""
        self._recover(rounds=0)
        self._calm = True
        self.world.tell("from now on all is quiet")
        still, before = 0, None
        for _ in range(ROUNDS_TO_REST):
            self._round()
            now = self.world.fingerprint()
            still = still + 1 if now == before else 0
            before = now
            if still == STILL_ROUNDS:
                self._calm = False
                return
        raise BrokenRuleError("it never comes to rest")

    def _round(self) -> None:
        self.world.now += 1
        self.world.tick(everything=True)
        for place in self.world.places.values():
            self._operator.hear(place)
        self._operator.reconcile()

    def _check_rest(self) -> None:
        world, facts = self.world, self._operator.facts()
        existing = {place.index for place in world.places.values() if place.exists or place.pod is not None}
        expect(existing == set(range(world.replicas)), f"nodes {existing} exist, {world.replicas} were asked for")
        expect(plan_shard(facts) == ShardPlan(), f"there is more to do: {plan_shard(facts)}")
        expect(next_turn(facts) is None, "a pod still has to be replaced")
        if world.replicas == 0:
            return
        expect(not removable(facts), "a node still has to go")
        expect(not any(member.stale for member in facts.members), "a pod is of an older spec")
        self._check_servers()

    def _check_servers(self) -> None:
        world, record = self.world, self.world.record
        expect(record is not None and record.primary is not None, "nobody is primary on record")
        assert record is not None
        assert record.primary is not None
        primary = world.places[record.primary].server
        expect(primary is not None and primary.is_primary, f"{record.primary} is no primary")
        assert primary is not None
        others = [(place.name, server) for place, server in world.servers() if server is not primary]
        for name, server in others:
            expect(server.follows == record.primary and server.linked, f"{name} does not follow {record.primary}")
            expect(server.values == primary.values, f"{name} has other data than {record.primary}")
        expect(sorted(record.promotable or []) == sorted(name for name, _ in others), f"on record: {record.promotable}")
        expect(world.binding <= set(primary.values), f"lost: {sorted(world.binding - set(primary.values))}")


def expect(holds: bool, sentence: str) -> None:
    if not holds:
        raise BrokenRuleError(sentence)


def live(seed: int, *, faults: bool = True, wishes: Sequence[str] = WISHES) -> None:
    """Run one seed; a failure tells the whole story, and how to hear it again."""
    life = Life(seed, faults=faults, wishes=wishes)
    try:
        life.run()
    except BrokenRuleError as broken:
        story = "\n".join(life.world.story)
        again = f"from tests.sim.shard_chaos import live; live({seed}, faults={faults}, wishes={wishes})"
        raise AssertionError(f"{broken}\n\n{story}\n\nAgain: {again}") from None
