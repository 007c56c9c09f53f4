"""A leader of the model: gathers facts as they were reported, plans by the real planner, carries steps out.

Its work is a generator that stops around every act, where anything may happen. It has heard of nobody when it begins;
reports are kept by the real `Reports`. The record that it sees may be one version behind, but never behind one that it
has seen or written. Owns: what one leader knows and does. Refuses to know: who leads (shard_operator.py).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

import msgspec

from tests.sim.shard_model import (
    FENCE_AFTER,
    MISSED_AFTER,
    NOW,
    OWNER,
    BrokenRuleError,
    Place,
    Pod,
    World,
    first_record,
)
from tests.sim.shard_orders import NotObeyed, obey
from tests.support.shards import address_of
from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.controllers.agents.reports import Reports, without_positions
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.facts import Member, ShardFacts, WritingRules, has_no_server
from valkey_operator.core.shard.members import first_record_names_primary, needed_indices, next_turn, removable
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.proof import is_missed
from valkey_operator.core.shard.steps import (
    Detach,
    LookAgain,
    Open,
    Order,
    Park,
    Promote,
    ShardPlan,
    Step,
    SwapRecord,
)
from valkey_operator.kube.objects import Key
from valkey_operator.proto.agent.v1 import agent_pb2 as pb

MOST_PLANS = 400
Work = Iterator[None]


@dataclass(frozen=True)
class Seen:
    """A record, and its version."""

    record: ValkeyShardSpec
    version: int


class Leader:
    """Of one term."""

    def __init__(self, world: World, term: int) -> None:
        self.term = term
        self.reports = Reports(lambda: world.now)
        self.sees_late = False
        """Whether the cache is a version behind."""
        self.in_office = True
        """Who is not, and does not know it, goes on with orders and swaps; before a deletion it asks for its lease."""
        self.about_to: Step | None = None
        """What it does next, while it stands still."""
        self._world = world
        self._gave_leave_at = world.now
        self._newest_seen = 0

    # --- what it knows ------------------------------------------------------------------------------------------------

    def look(self) -> Seen | None:
        """The record, as its cache has it."""
        world = self._world
        if self.sees_late and world.former_record is not None and world.version - 1 >= self._newest_seen:
            self._newest_seen = world.version - 1
            return Seen(world.former_record, world.version - 1)
        self._newest_seen = world.version
        return None if world.record is None else Seen(world.record, world.version)

    def hear(self, pod: Pod) -> NodeView | None:
        """A report arrives, if there is something new in it."""
        if not self.reaches(pod):
            return None
        report, known = self._world.report(pod), self.reports.get(key_of(pod.node), pod.uid)
        if known is None or without_positions(known.view) != without_positions(report):
            self.reports.put(key_of(pod.node), report)
        return report

    def reaches(self, pod: Pod | None) -> bool:
        return pod is not None and pod.agent.runs and not pod.agent.machine.off_operator

    def lets_write(self, node: str, epoch: int, uid: str) -> bool:
        """Leave to the primary on record, while no change is announced; to its later pods if nobody could take over."""
        seen = self.look()
        if seen is None or (seen.record.primary, seen.record.epoch, seen.record.pending) != (node, epoch, None):
            return False
        if seen.record.promotable and seen.record.primary_pod not in {None, uid}:
            return False
        self._gave_leave_at = self._world.now
        return True

    def facts(self) -> ShardFacts:
        """A node counts until its pod is gone: it may serve until then."""
        world, seen = self._world, self.look()
        if seen is None:
            raise NotObeyed("the record is gone")
        lasts = FENCE_AFTER * 1.01 + 0.1
        return ShardFacts(
            record=seen.record,
            members=tuple(self._member(place) for place in world.places.values() if place.exists or place.pod),
            replicas=world.replicas,
            wished=world.wished,
            writing=writing_rules(world),
            primary_pod_ended=self._has_ended(seen.record),
            leave_until=NOW + timedelta(seconds=self._gave_leave_at + lasts) if world.durability != "Cache" else None,
            now=NOW + timedelta(seconds=world.now),
        )

    def _has_ended(self, record: ValkeyShardSpec) -> bool:
        uid = record.primary_pod
        if uid is None or record.primary is None:
            return False
        present, told = self._world.places[record.primary].pod, self.reports.get(key_of(record.primary), uid)
        is_former = present is None or present.uid != uid
        return uid in self._world.ended_pods or (is_former and told is not None and has_no_server(told.view))

    def _member(self, place: Place) -> Member:
        pod, server = place.pod, place.server
        heard = self.reports.get(key_of(place.name), pod.uid) if pod is not None else None
        return Member(
            name=place.name,
            index=place.index,
            wanted=place.index < self._world.replicas,
            address=address_of(place.name),
            pod_uid=pod.uid if pod else None,
            pod_ready=server is not None and (server.is_primary or server.linked),
            pod_leaving=pod is not None and pod.leaving_in is not None,
            server_started=server is not None,
            cordoned=place.cordoned,
            stale=pod is not None and pod.generation != self._world.generation,
            view=heard.view if heard else None,
        )

    # --- what it does -------------------------------------------------------------------------------------------------

    def work(self) -> Work:
        """One look at everything, and all that follows from it; raises NotObeyed."""
        world = self._world
        volumes = [place.index for place in world.places.values() if place.has_volume]
        if world.record is None:
            version = world.version
            yield
            first = first_record(with_volumes=not first_record_names_primary(volumes, nodes=()))
            self._swap(first, version)
        yield from self._make_nodes(volumes)
        self._look_after_the_missed()
        yield from self._settle()
        for name in removable(self.facts()):
            excuses = world.rules.excuses
            yield
            if not self.in_office:
                return
            world.rules.check_removal(world.places[name])
            world.places[name].exists = False
            world.stop(world.places[name], by_plan=excuses == world.rules.excuses)

    def _make_nodes(self, volumes: list[int]) -> Work:
        world, facts = self._world, self.facts()
        existing = [place.index for place in world.places.values() if place.exists]
        needed = needed_indices(OWNER, facts.record, replicas=world.replicas, existing=existing, volumes=volumes)
        turn = next_turn(facts)
        for index in sorted(needed):
            place = world.places[f"{OWNER}-{index}"]
            if not place.exists:
                yield
                place.exists = True
        if turn is not None and world.places[turn].pod is not None:
            member, excuses = facts.member(turn), world.rules.excuses
            yield
            pod = world.places[turn].pod
            if self.in_office and pod is not None and member is not None and pod.uid == member.pod_uid:
                world.stop(world.places[turn], by_plan=excuses == world.rules.excuses)

    def _look_after_the_missed(self) -> None:
        """Ask a primary that its replicas miss whether it is there."""
        facts = self.facts()
        primary = facts.member(facts.record.primary)
        if primary is not None and primary.view is not None and is_missed(facts):
            self._pull(primary.name)

    def _pull(self, node: str) -> None:
        """The state of this moment; of one that does not answer, what it said before may be untrue by now."""
        pod = self._world.places[node].pod
        if pod is not None and self.reaches(pod):
            self.reports.put(key_of(node), self._world.report(pod))
        elif pod is not None:
            self.reports.drop(key_of(node), pod.uid)

    def _settle(self) -> Work:
        asked: frozenset[str] = frozenset()
        for _ in range(MOST_PLANS):
            for place in self._world.places.values():
                if place.pod is not None and self.reports.get(key_of(place.name), place.pod.uid) is None:
                    self._pull(place.name)
            seen, facts = self.look(), self.facts()
            plan = plan_shard(msgspec.structs.replace(facts, just_asked=asked))
            asked = plan.only_asks
            if not plan.steps or seen is None:
                return
            yield from self._carry_out(plan, facts, seen)
            if not self.in_office:
                return
        if not self.sees_late:
            raise BrokenRuleError("the plans never come to an end")

    def _carry_out(self, plan: ShardPlan, facts: ShardFacts, seen: Seen) -> Work:
        uids = {member.name: member.pod_uid for member in facts.members}
        for step in plan.steps:
            self.about_to = step
            leave = self._leave_for(step, uids, seen)
            yield
            self.about_to = None
            if isinstance(step, SwapRecord):
                self._swap(step.record, seen.version, wished=facts.wished)
                seen = Seen(step.record, self._world.version)
            elif isinstance(step, Detach):
                for node in step.nodes:
                    self._detach(node, uids[node], seen)
                    yield
            elif isinstance(step, LookAgain):
                self._look_again(step.node, uids[step.node])
            else:
                self._order(step, uids[step.node], seen, leave)
            yield

    def _look_again(self, node: str, uid: str | None) -> None:
        """Nothing else is done where it does not answer."""
        self._world.tick()
        self._pull(node)
        if self.reports.get(key_of(node), uid) is None:
            raise NotObeyed(f"{node} cannot be reached")

    def _leave_for(self, step: Step, uids: Mapping[str, str | None], seen: Seen) -> pb.Leave | None:
        """Given before the order is on its way, however long that takes, and counted from the last report."""
        if not isinstance(step, Promote | Open) or not self.in_office:
            return None
        heard = self.reports.get(key_of(step.node), uids[step.node])
        if heard is None or not self.lets_write(step.node, epoch_of(seen.record), uids[step.node] or ""):
            return None
        return pb.Leave(boot_id=heard.view.boot_id, clock_ms=heard.view.clock_ms)

    def _swap(self, record: ValkeyShardSpec, version: int, *, wished: str | None = None) -> None:
        if not self._world.swap(version, record, wished=wished):
            raise NotObeyed("the record is another one by now")
        self._newest_seen = self._world.version

    def _detach(self, node: str, uid: str | None, seen: Seen) -> None:
        """Who does not answer is left out; who has no server has promised all the same."""
        pod = self._world.pod(uid)
        if pod is None or not self.reaches(pod):
            self.reports.drop(key_of(node), uid or "")
            return
        try:
            self._order(Park(node=node), uid, seen)
        except NotObeyed as problem:
            if not problem.promised:
                raise

    def _order(self, step: Order, uid: str | None, seen: Seen, leave: pb.Leave | None = None) -> None:
        pod = self._world.pod(uid)
        if pod is None or not self.reaches(pod):
            raise NotObeyed(f"{step.node} cannot be reached")
        try:
            order = pb.Order(term=self.term, epoch=epoch_of(seen.record), pod_uid=uid or "", leave=leave)
            obey(self._world, pod, step, order)
        finally:
            self.reports.put(key_of(pod.node), self._world.report(pod))


def writing_rules(world: World) -> WritingRules:
    """What the spec says about writing, by its durability."""
    is_quorum = world.durability == "Quorum"
    return WritingRules(
        fence_after_ms=0 if world.durability == "Cache" else int(FENCE_AFTER * 1000),
        missed_after_ms=int(MISSED_AFTER * 1000),
        min_replicas=world.least_confirmations if is_quorum else 0,
        half_attached=is_quorum,
    )


def epoch_of(record: ValkeyShardSpec) -> int:
    """Orders are of the epoch that was announced, where one was."""
    return record.pending.epoch if record.pending else record.epoch


def key_of(node: str) -> Key:
    return Key("here", node)
