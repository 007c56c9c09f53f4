"""A leader in the model of a cluster: it sees what agents tell, and has steps of the real planner carried out.

Owns: facts from the model, the record as its cache has it, orders of its term, and which nodes it makes and removes.
Refuses to know: who leads (cluster_operator.py), what a step does (cluster_orders.py), and what must hold
(cluster_rules.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar

import msgspec

from tests.sim.cluster_api import Seen
from tests.sim.cluster_leave import FENCE_TICKS
from tests.sim.cluster_orders import Orders
from tests.sim.cluster_reports import report
from tests.sim.cluster_servers import address_of
from tests.sim.cluster_world import TICK_S, TIMEOUT_TICKS, Node, World, moment
from valkey_operator.controllers.cluster_orders import epoch_for, nodes_of
from valkey_operator.core.cluster.facts import ClusterFacts, Member
from valkey_operator.core.cluster.leave import is_run_out, terms_of
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.roll import next_turns
from valkey_operator.core.cluster.scale import needed_places, removable
from valkey_operator.core.cluster.steps import Bind, Open, Remember, Step

NEVER_READ = -1


@dataclass
class Spec:
    shards: int = 3
    replicas: int = 2


@dataclass(frozen=True)
class Sight:
    """What was seen at one moment, and by which record; `pods` says of which pod of each node."""

    facts: ClusterFacts
    seen: Seen
    pods: dict[str, int]
    tick: int


@dataclass
class Leader:
    # What no leader must do, and one does where a test switches a rule off:
    is_hasty: ClassVar[bool] = False
    """It takes promises alone for a proof, and does not wait until what was granted before has run out."""

    world: World
    orders: Orders
    spec: Spec
    term: int
    cache: Seen = field(default_factory=lambda: Seen(version=NEVER_READ))
    run_out_since: tuple[int, int] | None = None
    """The epoch in which older leave was first seen to run out, and when; a leader begins without."""

    def read(self, *, late: bool) -> None:
        """Its cache may be one version behind, but never behind what it has seen or written."""
        api = self.world.api
        if not api.is_away:
            self.cache = api.former if late and api.former.version >= self.cache.version else api.now

    def look(self) -> Sight:
        pods = {node.name: node.pod for node in self.world.ours()}
        return Sight(self.facts(), self.cache, pods, self.world.tick)

    def facts(self) -> ClusterFacts:
        members = sorted(self.world.ours(), key=lambda node: (node.shard, node.index))
        facts = ClusterFacts(
            name="c",
            record=self.cache.record,
            members=tuple(self._member(node) for node in members),
            shards=self.spec.shards,
            replicas=self.spec.replicas,
            node_timeout_s=TIMEOUT_TICKS * TICK_S,
            now=moment(self.world.tick),
        )
        return self._judged(facts)

    def _judged(self, facts: ClusterFacts) -> ClusterFacts:
        """With those whose leave has run out, as the real leave clock finds them."""
        leave = facts.record.leave
        if leave is None or not leave.without:
            return facts
        if self.run_out_since is None or self.run_out_since[0] != leave.epoch:
            if not is_run_out(leave, facts.members):
                return facts
            self.run_out_since = (leave.epoch, self.world.tick)
        if not self.is_hasty and self.world.tick - self.run_out_since[1] <= FENCE_TICKS:
            return facts
        ended = (msgspec.structs.replace(each, writes_ended=each.name in leave.without) for each in facts.members)
        return msgspec.structs.replace(facts, members=tuple(ended))

    def _member(self, node: Node) -> Member:
        heard = node.side == 0
        server = node.running if heard else None
        return Member(
            name=node.name,
            shard=node.shard,
            index=node.index,
            wanted=node.shard < self.spec.shards and node.index < self.spec.replicas,
            hostname=node.name,
            address=address_of(node.name),
            stale=node.stale,
            view=report(node) if heard else None,
            seen=server.view() if server else None,
            kept=node.kept.view() if heard and node.at_gate and node.kept else None,
            serves=server is not None and not server.fenced,
            migrations=tuple(server.migrations) if server else (),
            keys=sum(map(bool, server.data.values())) if server else None,
            keys_in_slots={slot: int(bool(server.data.get(slot))) for slot in server.opens} if server else {},
        )

    def carry_out(self, step: Step, sight: Sight) -> Sight:
        """Raises NotWritten. The result is with the record as it was written."""
        if isinstance(step, Remember):
            self.cache = self.world.api.swap(sight.seen, step.record)
            self.world.tell(step.message)
            return replace(sight, seen=self.cache)
        if self._is_obeyed(step, sight) and not isinstance(step, Bind):
            self.orders.carry_out(step, sight.seen.record)
        return sight

    def _is_obeyed(self, step: Step, sight: Sight) -> bool:
        """Whether all who are ordered take the term and epoch of the order; some are bound by it, with leave.

        It is counted from when they were heard, and given to nobody whom the record leaves out.
        """
        record = sight.seen.record
        for name in nodes_of(step):
            node = self.world.nodes.get(name)
            if node is None or node.side != 0:
                continue
            epoch = epoch_for(name, sight.facts, record)
            if node.pod != sight.pods.get(name) or not node.licence.promise(epoch, term=self.term):
                self.world.tell(f"{name} does not obey term {self.term}, epoch {epoch}: {type(step).__name__}")
                return False
            if record.leave is not None and isinstance(step, Open | Bind):
                node.licence.terms = terms_of(sight.facts, record.leave, name)
                if name not in record.leave.without:
                    node.licence.operator = max(node.licence.operator, sight.tick)
        return True

    def arrange(self, facts: ClusterFacts, watch_removal: Callable[[ClusterFacts, str], None] | None) -> None:
        """Nodes are made and removed, and pods replaced, as the planner's answers say."""
        cluster = look_at(facts)
        for name in removable(cluster):
            if watch_removal:
                watch_removal(facts, name)
            stays = self.world.nodes[name].shard < self.spec.shards
            self.world.remove(name, keeps_volume=stays or self.spec.replicas == 0)
        for shard, index in sorted(needed_places(facts)):
            name = f"c-{shard}-{index}"
            if name not in self.world.nodes:
                self.world.nodes[name] = self.world.volumes.pop(name, Node(name, shard, index))
        for name in next_turns(cluster):
            node = self.world.nodes.get(name)
            if node is not None and node.side == 0:
                self.world.kill(node)
                node.replace_pod()
                node.stale = False
