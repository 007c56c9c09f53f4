"""What must hold in the model of a cluster: at every plan, at every tick, and at rest.

Owns: the invariants. Refuses to know: how a life comes about (cluster_chaos.py).
"""

from tests.sim.cluster_operator import Operator
from tests.sim.cluster_world import TIMEOUT_TICKS, WRITTEN_SLOTS, World
from valkey_operator.core.cluster.facts import ClusterFacts, FailoverKind
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.steps import AddSlots, ClusterPlan, Failover, Forget, Reset
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import ALL_SLOTS


class Rules:
    """Looks at every plan before it is carried out, and at the world after every tick."""

    def __init__(self, world: World) -> None:
        self.world = world

    def judge_plan(self, facts: ClusterFacts, plan: ClusterPlan) -> None:
        partial = any(member.seen is None for member in facts.members)
        for step in plan.steps:
            destroys = isinstance(step, Forget | Reset) or (isinstance(step, AddSlots) and facts.record.formed)
            assert not (destroys and partial), f"{step} on a partial view"
            if isinstance(step, Forget):
                live = {node.server.id for node in self.world.ours() if node.running and node.server}
                assert step.id not in live, f"{step} of a live node"
            if isinstance(step, Failover) and step.kind is not FailoverKind.PLANNED:
                self._judge_failover(step)

    def _judge_failover(self, step: Failover) -> None:
        heir = self.world.nodes[step.node].running
        former = self.world.by_id(heir.own.primary) if heir else None
        assert former is None or former.fenced, f"{step} while its primary lives"

    def judge_removal(self, facts: ClusterFacts, name: str) -> None:
        server = self.world.nodes[name].running
        if facts.replicas == 0 or server is None:
            return
        newer = [each.own for each in self.world.running() if each.own.epoch > server.own.epoch]
        left = server.own.slots
        for each in newer:
            left &= ~each.slots
        assert left == 0, f"{name} is removed with slots that nobody has got since"

    def judge_tick(self) -> None:
        worst = max(self.world.two_writers.values(), default=0)
        assert worst <= TIMEOUT_TICKS + 1, f"two servers write one slot for {worst} ticks"


def judge_rest(world: World, operator: Operator) -> None:
    """All slots, one owner each, seen alike by all; the spec is met; what was confirmed is there."""
    facts = operator.facts()
    cluster = look_at(facts)
    view, spec = cluster.view, operator.spec
    assert {(each.shard, each.index) for each in facts.members} == {
        (shard, index) for shard in range(spec.shards) for index in range(spec.replicas)
    }
    assert view.is_agreed, f"missing {view.missing}, against {view.dissenters}, disputed {view.disputed}"
    assert view.assigned == ALL_SLOTS
    assert not view.open_slots
    assert not view.strangers()
    assert not view.collisions()
    sizes = [len(slots) for _, slots in sorted(cluster.held_slots().items())]
    assert len(sizes) == spec.shards
    assert max(sizes) - min(sizes) <= 1
    for member in facts.members:
        truth = view.truth_of(member)
        primary = cluster.primaries[member.shard]
        assert truth is not None
        assert member is primary or (truth.role is Role.REPLICA and truth.primary == view.ids[primary.name])
    judge_data(world)


def judge_data(world: World) -> None:
    for slot in WRITTEN_SLOTS:
        owner = next(server for server in world.running() if server.own.slots >> slot & 1)
        lost = world.confirmed.get(slot, 0) & ~owner.data.get(slot, 0)
        assert not lost, f"slot {slot} lost {lost.bit_count()} confirmed writes"
