"""A life of the model's shard, drawn from a seed: writes, faults and wishes, then quiet, then what must be true."""

from collections.abc import Callable, Sequence
from random import Random

from tests.sim.shard_faults import FAULTS, Faults
from tests.sim.shard_leader import key_of
from tests.sim.shard_model import BrokenRuleError, Place, World
from tests.sim.shard_operator import Crashed, Operator, Paused
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.members import next_turn, removable
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import ShardPlan

EPISODES, EVENTS = 6, 20
ROUNDS_TO_REST = 150
STILL_ROUNDS = 4
TICKS_PER_ROUND = 4
LONGEST_WAIT = 14
"""Ticks that pass at once, at most: longer than it takes to miss a primary."""
REPORT_IS_LATE = 1.0
SIZES = (1, 2, 2, 3, 3, 4)
DURABILITIES = ("Cache", "Available", "Available", "Quorum")
WISHES = ("scale", "suspend", "roll", "evict")
MOVES = ("scale", "roll", "evict", "cordon", "primary")
"""Of these most lead to a switchover."""
NO_FAULTS: Sequence[str] = ()


class Life:
    """One seed. Each has its own mix of what happens often; without `faults` only what a user may do, and crashes."""

    def __init__(
        self,
        seed: int,
        *,
        faults: Sequence[str] = FAULTS,
        wishes: Sequence[str] = WISHES,
        kind_of_world: type[World] = World,
    ) -> None:
        chance = self._chance = Random(seed)
        self.world = kind_of_world(
            chance=chance,
            persistent=chance.random() < 0.8,
            append_only=chance.random() < 0.5,
            durability=chance.choice(DURABILITIES),
            least_confirmations=chance.choice([1, 1, 2]),
            replicas=chance.choice(SIZES),
        )
        hangs = chance.choice([0.0, 0.0, 0.2])
        self.world.hangs_now = lambda: not self._calm and chance.random() < hangs
        self.world.leave.is_slow = lambda: not self._calm and chance.random() < 0.2
        self._operator = Operator(self.world, self._between)
        self._faults = Faults(self.world, self._some_of(faults) if faults else [])
        self._calm = False
        self._harm, self._frailty = chance.choice([0.0, 0.05, 0.2]), chance.choice([0.0, 0.02, 0.1])
        self._drowsiness, self._slowness = chance.choice([0.0, 0.02, 0.1]), chance.choice([0.0, 0.05, 0.2])
        """How likely a fault, a crash, a pause of the operator or time comes between two acts of it."""
        self._late = chance.choice([0.0, 0.0, 0.3])
        """How likely the record that a leader sees is an old one."""
        self._prompt = {name: chance.choice([0.1, 0.5, 0.9]) for name in self.world.places}
        """How likely a report arrives, by the node that sends it."""
        self._post: list[tuple[int, float, NodeView, str]] = []
        self._wishes = self._some_of(wishes)
        self._acts: list[Callable[[], None]] = [
            lambda: self.world.write(chance.randint(1, 4)),
            self._tick,
            self._reports_arrive,
            self._operator.reconcile,
            self._wait,
            lambda: self._operator.resign(politely=chance.random() < 0.7),
            lambda: self.world.save(self._anybody()),
            self._wake,
            self._wish,
            lambda: self._faults.strike(self._anybody()),
        ]
        often, seldom = [chance.randint(10, 40) for _ in range(4)], [chance.randint(0, 5) for _ in range(4)]
        self._weights = [*often, *seldom, chance.randint(0, 10), chance.randint(0, 10)]

    def run(self) -> None:
        """All of it; raises `BrokenRuleError`."""
        self._come_to_rest()
        for place in self.world.places.values():
            place.pace = self._chance.randint(0, 3)
        for _ in range(EPISODES):
            for _ in range(EVENTS):
                self._chance.choices(self._acts, self._weights)[0]()
            self._recover(self._chance.randint(0, 9))
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
                place = self._anybody()
                place.cordoned = not place.cordoned
            case "primary":
                wished = self._chance.choice([None, *world.places])
                world.rules.wish_is_met = world.rules.wish_is_met and wished == world.wished
                world.wished = wished

    def _make_anew(self) -> None:
        """Perhaps it was deleted while suspended, and made again: the volumes are there, the record is not."""
        world = self.world
        gone = not world.ghosts and all(not place.exists and place.pod is None for place in world.places.values())
        if gone and self._chance.random() < 0.3:
            world.tell("it was made anew")
            world.forget_record()

    def _between(self) -> None:
        if self._calm:
            return
        if self._chance.random() < self._slowness:
            for _ in range(self._chance.randint(1, 4)):
                self._tick()
        if self._chance.random() < self._harm:
            self._faults.strike(self._anybody())
        if self._chance.random() < self._frailty:
            raise Crashed
        if self._chance.random() < self._drowsiness:
            raise Paused

    def _tick(self) -> None:
        self.world.tick()
        self._operator.renew()

    def _wait(self) -> None:
        for _ in range(self._chance.randint(1, LONGEST_WAIT)):
            self._tick()
            self._faults.heal_some()

    def _wake(self) -> None:
        """One who led before goes on where it stopped: with what it had sent, or with all of its plan."""
        if self._operator.sleepers:
            number = self._chance.randrange(len(self._operator.sleepers))
            self._operator.wake(number, acts=self._chance.choice([1, 2, None]))

    def _reports_arrive(self) -> None:
        """Some of them; one may come twice, and late."""
        leader, world = self._operator.leader, self.world
        if leader is None:
            return
        leader.sees_late = self._chance.random() < self._late
        for pod in list(world.pods()):
            if self._chance.random() < self._prompt[pod.node] and (report := leader.hear(pod)):
                self._post.append((leader.term, world.now, report, pod.node))
        if self._post and self._chance.random() < 0.3:
            sent_to, sent_at, report, node = self._post.pop(self._chance.randrange(len(self._post)))
            if sent_to == leader.term and world.now - sent_at <= REPORT_IS_LATE:
                leader.reports.put(key_of(node), report)
        self._post = self._post[-10:]
        self._faults.heal_some()

    def _anybody(self) -> Place:
        """Most often somebody who matters."""
        record = self.world.record
        if record is not None and record.primary is not None and self._chance.random() < 0.4:
            return self.world.places[record.primary]
        return self._chance.choice(
            [place for place in self.world.places.values() if place.pod] or [*self.world.places.values()]
        )

    def _recover(self, rounds: int) -> None:
        """No new faults and wishes for a while; clients go on, and replicas lag. What is broken may stay so."""
        self._calm = True
        if self._chance.random() < 0.5:
            self._faults.heal(ghosts=False)
        for _ in range(rounds):
            self.world.tick(everything=True)
            self.world.write(self._chance.randint(1, 4))
            for _ in range(TICKS_PER_ROUND - 1):
                self._tick()
            self._reports_arrive()
            self._operator.reconcile()
        self._calm = False

    def _come_to_rest(self) -> None:
        """Everybody gets the time it needs, until nothing changes any more."""
        self._calm = True
        while self._operator.sleepers:
            self._wake()
        self._faults.heal(ghosts=True)
        self.world.tell("from now on all is quiet")
        still, before = 0, None
        for _ in range(ROUNDS_TO_REST):
            self._round()
            now = self.world.fingerprint()
            still = still + 1 if now == before and self._operator.leader is not None else 0
            before = now
            if still == STILL_ROUNDS and not self._gives_up_quorum():
                self._calm = False
                return
        raise BrokenRuleError("it never comes to rest")

    def _round(self) -> None:
        for _ in range(TICKS_PER_ROUND):
            self.world.tick(everything=True)
        self._operator.elect()
        leader = self._operator.leader
        if leader is not None:
            leader.sees_late = False
            for pod in self.world.pods():
                leader.hear(pod)
            self._operator.reconcile()

    def _gives_up_quorum(self) -> bool:
        """With Quorum it waits for ever for those who are gone, and says what a user can do; who does that."""
        leader = self._operator.leader
        assert leader is not None
        if "with durability Quorum" not in (plan_shard(leader.facts()).waits_for or ""):
            return False
        self.world.tell("a user sets durability to Available")
        self.world.durability = "Available"
        self.world.rules.confirmed.clear()
        return True

    def _check_rest(self) -> None:
        world, leader = self.world, self._operator.leader
        assert leader is not None
        facts = leader.facts()
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
        pod = world.places[record.primary].pod
        primary = pod.server if pod else None
        expect(primary is not None and primary.is_primary, f"{record.primary} is no primary")
        assert primary is not None
        assert pod is not None
        others = [(each.node, each.server) for each in world.pods() if each.server and each is not pod]
        for name, server in others:
            expect(server.follows == record.primary and server.linked, f"{name} does not follow {record.primary}")
            expect(server.values == primary.values, f"{name} has other data than {record.primary}")
        expect(sorted(record.promotable or []) == sorted(name for name, _ in others), f"on record: {record.promotable}")
        must = world.rules.binding | world.rules.confirmed
        expect(must <= set(primary.values), f"lost: {sorted(must - set(primary.values))}")
        is_enough = world.durability != "Quorum" or len(others) >= world.least_confirmations
        expect(world.takes_writes(pod) or not is_enough, f"{record.primary} takes no writes")


def expect(holds: bool, sentence: str) -> None:
    if not holds:
        raise BrokenRuleError(sentence)


def live(seed: int, *, faults: Sequence[str] = FAULTS, wishes: Sequence[str] = WISHES) -> None:
    """Run one seed; a failure tells the whole story, and how to hear it again."""
    life = Life(seed, faults=faults, wishes=wishes)
    try:
        life.run()
    except BrokenRuleError as broken:
        story = "\n".join(life.world.story)
        again = f"from tests.sim.shard_chaos import live; live({seed}, faults={faults}, wishes={wishes})"
        raise AssertionError(f"{broken}\n\n{story}\n\nAgain: {again}") from None
