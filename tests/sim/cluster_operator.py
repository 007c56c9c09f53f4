"""An operator in the model: it sees what agents tell, plans with the real planner, and has the steps carried out.

Owns: facts from the model, its record, and which nodes it makes and removes. It may crash between two steps; the next
look begins anew with what is on record. Refuses to know: what a step does (cluster_orders.py), and what must hold
(cluster_rules.py).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import msgspec

from tests.sim.cluster_leave import FENCE_TICKS, Licence
from tests.sim.cluster_orders import Orders
from tests.sim.cluster_servers import address_of
from tests.sim.cluster_world import TICK_S, TIMEOUT_TICKS, Node, World, moment
from valkey_operator.controllers.cluster_orders import epoch_for, nodes_of
from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord, Member
from valkey_operator.core.cluster.leave import is_run_out, terms_of
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.roll import next_turns
from valkey_operator.core.cluster.scale import needed_places, removable
from valkey_operator.core.cluster.steps import Bind, ClusterPlan, Open, Remember, Step
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health, ProcessState


@dataclass
class Spec:
    shards: int = 3
    replicas: int = 2


@dataclass
class Operator:
    # What no leader must do, and one does where a test switches a rule off:
    is_hasty: ClassVar[bool] = False
    """It takes promises alone for a proof, and does not wait until what was granted before has run out."""

    world: World
    spec: Spec = field(default_factory=Spec)
    record: ClusterRecord = field(default_factory=ClusterRecord)
    crashes: float = 0.0
    """How often it crashes before a step, or in the middle of one."""
    back_at: int = 0
    """The tick before which it does nothing."""
    run_out_since: tuple[int, int] | None = None
    """The epoch in which older leave was first seen to run out, and when; a leader begins without."""
    watch: Callable[[ClusterFacts, ClusterPlan], None] | None = None
    watch_removal: Callable[[ClusterFacts, str], None] | None = None

    def __post_init__(self) -> None:
        self.orders = Orders(self.world)

    def look(self) -> ClusterPlan:
        """One reconcile: observe, plan, act, then which nodes exist."""
        self.world.is_led = self.world.tick >= self.back_at
        if not self.world.is_led:
            self.run_out_since = None
            return ClusterPlan()
        facts = self.facts()
        plan = plan_cluster(facts)
        if self.watch:
            self.watch(facts, plan)
        self.orders.interrupted = self.crashes
        for step in plan.steps:
            if self.world.chance.random() < self.crashes:
                self.world.tell("the operator crashes")
                self.run_out_since = None
                return plan
            self._do(step, facts)
        self._members(self.facts() if plan.steps else facts)
        return plan

    def facts(self) -> ClusterFacts:
        members = sorted(self.world.ours(), key=lambda node: (node.shard, node.index))
        facts = ClusterFacts(
            name="c",
            record=self.record,
            members=tuple(self._member(node) for node in members),
            shards=self.spec.shards,
            replicas=self.spec.replicas,
            node_timeout_s=TIMEOUT_TICKS * TICK_S,
            now=moment(self.world.tick),
        )
        return self._judged(facts)

    def _judged(self, facts: ClusterFacts) -> ClusterFacts:
        """With those whose leave has run out, as the real leave clock finds them."""
        leave = self.record.leave
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
            view=_report(node) if heard else None,
            seen=server.view() if server else None,
            kept=node.kept.view() if heard and node.state is ProcessState.WAITING and node.kept else None,
            serves=server is not None and not server.fenced,
            migrations=tuple(server.migrations) if server else (),
            keys=sum(map(bool, server.data.values())) if server else None,
            keys_in_slots={slot: int(bool(server.data.get(slot))) for slot in server.opens} if server else {},
        )

    def _members(self, facts: ClusterFacts) -> None:
        """Nodes are made and removed, and pods replaced, as the planner's answers say."""
        cluster = look_at(facts)
        for name in removable(cluster):
            if self.watch_removal:
                self.watch_removal(facts, name)
            self._remove(name)
        for shard, index in sorted(needed_places(facts)):
            name = f"c-{shard}-{index}"
            if name not in self.world.nodes:
                self.world.nodes[name] = self.world.volumes.pop(name, Node(name, shard, index))
        for name in next_turns(cluster):
            node = self.world.nodes.get(name)
            if node is not None and node.side == 0:
                self.world.kill(node)
                node.stale, node.licence = False, Licence()

    def _remove(self, name: str) -> None:
        """Its server saves and ends; its volume stays, except that of a shard which was emptied."""
        node = self.world.nodes.pop(name)
        self.world.tell(f"{name} is removed")
        if node.server is not None:
            node.kept, node.saved, node.saved_offset = node.server, dict(node.server.data), node.server.offset
        node.state, node.server, node.side, node.stale = ProcessState.WAITING, None, 0, False
        node.licence = Licence()
        if node.shard < self.spec.shards or self.spec.replicas == 0:
            self.world.volumes[name] = node

    def _do(self, step: Step, facts: ClusterFacts) -> None:
        if isinstance(step, Remember):
            self.record, self.world.leave = step.record, step.record.leave
            self.world.tell(step.message)
        elif self._is_obeyed(step, facts) and not isinstance(step, Bind):
            self.orders.carry_out(step)

    def _is_obeyed(self, step: Step, facts: ClusterFacts) -> bool:
        """Whether all who are ordered take the epoch of the order; some are bound by it, with leave."""
        leave = self.record.leave
        for name in nodes_of(step):
            node = self.world.nodes.get(name)
            if node is None or node.side != 0:
                continue
            if not node.licence.promise(epoch_for(name, facts, self.record)):
                return False
            if leave is not None and isinstance(step, Open | Bind):
                node.licence.terms, node.licence.operator = terms_of(facts, leave, name), self.world.tick
        return True


def _report(node: Node) -> NodeView:
    server = node.running
    copy = CopyView(rdb=node.saved_offset >= 0, epoch=0, offset=max(0, node.saved_offset))
    base = NodeView(
        pod_uid="uid",
        boot_id="boot",
        seq=1,
        process=node.state,
        copy=copy,
        promised_epoch=node.licence.epoch,
        terms=node.licence.terms,
        keeps_terms=True,
    )
    if server is None:
        return base
    role = server.own.role
    link = LinkView(primary=address_of("primary"), up=server.linked) if role is Role.REPLICA else None
    return msgspec.structs.replace(
        base,
        health=Health.ANSWERS,
        version=node.version,
        role=role,
        offset=server.offset,
        link=link,
        whole=server.whole,
    )
