"""The operators of the modelled cluster: who leads, and who still believes to.

A leader may crash between two steps, or stand still there while another one leads, and then go on. Owns: terms, the
lease, and those who stand still. Refuses to know: what a leader does (cluster_leader.py), and when it is struck
(cluster_api_faults.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.sim.cluster_api import NotWritten
from tests.sim.cluster_leader import Leader, Sight, Spec
from tests.sim.cluster_orders import Orders
from tests.sim.cluster_world import World
from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.steps import ClusterPlan, Step

LEASE_TICKS = 4
"""As long a leader leads on that cannot renew its lease."""


@dataclass(frozen=True)
class Sleeper:
    """A leader that stands still, with what it was about to do."""

    leader: Leader
    steps: tuple[Step, ...]
    sight: Sight
    wakes_at: int


@dataclass
class Operator:
    world: World
    spec: Spec = field(default_factory=Spec)
    crashes: float = 0.0
    """How often it crashes before a step, or in the middle of one."""
    back_at: int = 0
    """The tick before which it does nothing."""
    pauses_before: tuple[type, ...] = ()
    """Before the next step of these sorts the leader stands still."""
    sleeps_for: int = 0
    late_until: int = 0
    """The tick before which its cache may be a version behind."""
    sleepers: list[Sleeper] = field(default_factory=list)
    watch: Callable[[ClusterFacts, ClusterPlan], None] | None = None
    watch_removal: Callable[[ClusterFacts, str], None] | None = None

    def __post_init__(self) -> None:
        self.orders = Orders(self.world)
        self.leader: Leader | None = None
        self._term = 0

    @property
    def record(self) -> ClusterRecord:
        """As it is written."""
        return self.world.api.now.record

    def facts(self) -> ClusterFacts:
        """As a leader sees them."""
        leader = self.leader or self._next_leader()
        leader.read(late=False)
        return leader.facts()

    def look(self) -> ClusterPlan:
        """One reconcile: observe, plan, act, then which nodes exist. Whoever stood still may go on before."""
        for sleeper in [each for each in self.sleepers if self.world.tick >= each.wakes_at]:
            self._wake(sleeper)
        self._elect()
        plan = self._reconcile(self.leader) if self.leader is not None else ClusterPlan()
        self.world.is_led = self.leader is not None
        self.world.granted = self.leader.cache.record.leave if self.leader is not None else None
        return plan

    def _reconcile(self, leader: Leader) -> ClusterPlan:
        leader.read(late=self.world.tick < self.late_until)
        sight = leader.look()
        plan = plan_cluster(sight.facts)
        if self.watch:
            self.watch(sight.facts, plan)
        self.orders.interrupted = self.crashes
        for number, step in enumerate(plan.steps):
            if self.world.chance.random() < self.crashes:
                self.world.tell("the operator crashes")
                self.leader = None
                return plan
            if isinstance(step, self.pauses_before):
                self._pause(leader, plan.steps[number:], sight)
                return plan
            try:
                sight = leader.carry_out(step, sight)
            except NotWritten as problem:
                self.world.tell(str(problem))
                return plan
        if not self.world.api.is_away:
            leader.arrange(leader.facts() if plan.steps else sight.facts, self.watch_removal)
        return plan

    def _elect(self) -> None:
        """Somebody leads, if that is possible."""
        world, api = self.world, self.world.api
        if world.tick < self.back_at or (api.away_since is not None and world.tick - api.away_since > LEASE_TICKS):
            self.leader = None
        elif self.leader is None and not api.is_away:
            self.leader = self._next_leader()

    def _next_leader(self) -> Leader:
        self._term += 1
        return Leader(self.world, self.orders, self.spec, self._term)

    def _pause(self, leader: Leader, steps: tuple[Step, ...], sight: Sight) -> None:
        """Another one leads once the lease has run out."""
        self.pauses_before = ()
        self.world.tell(
            f"the leader of term {leader.term} stands still before {[type(each).__name__ for each in steps]}"
        )
        self.sleepers.append(Sleeper(leader, steps, sight, self.world.tick + self.sleeps_for))
        self.leader, self.back_at = None, self.world.tick + min(LEASE_TICKS, self.sleeps_for)

    def _wake(self, sleeper: Sleeper) -> None:
        """It goes on with what it was about to do; before anything is removed it asks for its lease."""
        self.world.tell(f"the leader of term {sleeper.leader.term} wakes up")
        self.sleepers.remove(sleeper)
        sight = sleeper.sight
        try:
            for step in sleeper.steps:
                sight = sleeper.leader.carry_out(step, sight)
        except NotWritten as problem:
            self.world.tell(str(problem))
