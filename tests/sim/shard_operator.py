"""The operator of the model: gathers facts as they were reported, plans by the real planner, carries steps out.

It may crash before and after any step, and then has heard of nobody; faults may strike in between. Reports are whole,
and may be old: one is sent when more than an offset has changed, and arrives some time later.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import msgspec

from tests.sim.shard_model import (
    FENCE_AFTER,
    MISSED_AFTER,
    NOW,
    OPERATOR,
    OWNER,
    BrokenRuleError,
    Place,
    Pod,
    Server,
    World,
    first_record,
)
from tests.support.shards import address_of
from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.facts import Member, ShardFacts, WritingRules
from valkey_operator.core.shard.members import first_record_names_primary, needed_indices, next_turn, removable
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import (
    Bind,
    Detach,
    Follow,
    LookAgain,
    Open,
    Order,
    Park,
    Pause,
    Promote,
    ShardPlan,
    Step,
    SwapRecord,
    Unpause,
)
from valkey_operator.valkey.boot import StartKind
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.terms import Terms

MOST_PLANS = 400


class Crashed(Exception):  # noqa: N818 - what happens, not a mistake
    """The operator is gone in the middle of its work."""


class NotObeyed(Exception):  # noqa: N818 - an outcome
    """An order did not arrive or was refused: everything is looked at again later."""


def nothing_happens() -> None:
    """Between two steps."""


class Operator:
    """One leader after the other. `between` is called around every step, and may do harm."""

    def __init__(self, world: World, between: Callable[[], None] = nothing_happens) -> None:
        self._world = world
        self._between = between
        self._reports: dict[str, NodeView] = {}
        self._gave_leave_at = -FENCE_AFTER

    def hear(self, place: Place) -> None:
        """A report arrives, if there is something new in it."""
        if place.pod is None or place.cut_off:
            return
        report, known = self._world.report(place), self._reports.get(place.name)
        if known is None or _without_offset(known) != _without_offset(report):
            self._reports[place.name] = report

    def lose(self, place: Place) -> None:
        """A node was silent for too long."""
        self._reports.pop(place.name, None)

    def forget(self) -> None:
        """Another leader, who has heard of nobody, and does not know what the one before it has granted."""
        self._reports.clear()
        self._gave_leave_at = self._world.now

    def reconcile(self) -> None:
        """One look at everything, and all that follows from it."""
        try:
            self._reconcile()
        except NotObeyed as problem:
            self._world.tell(f"not obeyed: {problem}")
        except Crashed:
            self._world.tell("the operator crashes")
            self.forget()

    def facts(self) -> ShardFacts:
        """A node counts until its pod is gone: it may serve until then."""
        world = self._world
        assert world.record is not None
        return ShardFacts(
            record=world.record,
            members=tuple(self._member(place) for place in world.places.values() if place.exists or place.pod),
            replicas=world.replicas,
            wished=world.wished,
            writing=WritingRules(fence_after_ms=int(FENCE_AFTER * 1000), missed_after_ms=int(MISSED_AFTER * 1000)),
            primary_pod_ended=world.record.primary_pod in world.ended_pods,
            leave_until=NOW + timedelta(seconds=self._gave_leave_at + FENCE_AFTER),
            now=NOW + timedelta(seconds=world.now),
        )

    def _reconcile(self) -> None:
        world = self._world
        volumes = [place.index for place in world.places.values() if place.has_volume]
        if world.record is None:
            self._do(
                lambda: world.swap(None, first_record(with_volumes=not first_record_names_primary(volumes, nodes=())))
            )
        self._make_nodes(volumes)
        self._settle()
        for name in removable(self.facts()):
            self._do(partial(self._remove, world.places[name]))

    def _make_nodes(self, volumes: list[int]) -> None:
        world = self._world
        assert world.record is not None
        existing = [place.index for place in world.places.values() if place.exists]
        needed = needed_indices(OWNER, world.record, replicas=world.replicas, existing=existing, volumes=volumes)
        turn = next_turn(self.facts())
        for index in sorted(needed):
            place = world.places[f"{OWNER}-{index}"]
            if not place.exists:
                self._do(partial(setattr, place, "exists", True))
        if turn is not None and world.places[turn].pod is not None:
            self._do(lambda: world.stop(world.places[turn], by_plan=True))

    def _remove(self, place: Place) -> None:
        place.exists = False
        self._world.stop(place, by_plan=True)

    def _settle(self) -> None:
        for _ in range(MOST_PLANS):
            for place in self._world.places.values():
                if self._heard(place) is None:
                    self.hear(place)
            plan = plan_shard(self.facts())
            if not plan.steps:
                return
            self._carry_out(plan)
        raise BrokenRuleError("the plans never come to an end")

    def _carry_out(self, plan: ShardPlan) -> None:
        record = self._world.record
        assert record is not None
        for step in plan.steps:
            if isinstance(step, SwapRecord):
                self._do(partial(self._world.swap, record, step.record))
                record = step.record
            elif isinstance(step, Detach):
                for node in step.nodes:
                    self._do(partial(self._detach, node, record))
            else:
                self._do(partial(self._order, step, record))

    def _detach(self, node: str, record: ValkeyShardSpec) -> None:
        """Who does not answer is left out; who has no server has promised all the same."""
        try:
            self._order(Park(node=node), record)
        except NotObeyed:
            place = self._world.places[node]
            if place.pod is None or place.cut_off:
                self.lose(place)
            else:
                self._reports[node] = self._world.report(place)

    def _do(self, act: Callable[[], None]) -> None:
        self._between()
        act()
        self._between()

    def _order(self, step: Order | LookAgain, record: ValkeyShardSpec) -> None:
        world, place, epoch = self._world, self._world.places[step.node], epoch_of(record)
        if place.pod is None or place.cut_off:
            raise NotObeyed(f"{step.node} cannot be reached")
        if isinstance(step, LookAgain):
            world.tick()
        elif epoch < place.pod.promised_epoch:
            raise NotObeyed(f"{step.node} has promised epoch {place.pod.promised_epoch}")
        else:
            if epoch > place.pod.promised_epoch:
                place.pod.promised_epoch, place.pod.terms = epoch, None
            if isinstance(step, Bind | Promote) or (isinstance(step, Open) and step.terms is not None):
                self._bind(place, place.pod, step.terms)
            self._obey(step, place)
        if place.pod is not None:
            self._reports[place.name] = world.report(place)

    def _bind(self, place: Place, pod: Pod, terms: Terms | None) -> None:
        """No primary takes terms by which it may not write; where replicas do not suffice, the operator is asked."""
        world, record = self._world, self._world.record
        assert record is not None
        world.ask_for_leave(place, terms)
        is_on_record = (record.primary, record.epoch, record.pending) == (place.name, pod.promised_epoch, None)
        if not world.has_leave(pod, terms) and is_on_record:
            world.leave[pod.uid, OPERATOR] = self._gave_leave_at = world.now
        if not world.has_leave(pod, terms):
            raise NotObeyed(f"nobody grants epoch {pod.promised_epoch} to {place.name}")
        pod.terms = terms

    def _obey(self, step: Step, place: Place) -> None:
        world, server = self._world, place.server
        world.tell(f"order: {type(step).__name__} {place.name}")
        if isinstance(step, Open):
            if server is not None and server.role is None:
                self._open(step, place)
            return
        if isinstance(step, Bind):
            return
        if server is None or server.role is None:
            raise NotObeyed(f"{place.name} has no server that runs")
        self._command(step, place, server)

    def _command(self, step: Step, place: Place, server: Server) -> None:
        world = self._world
        match step:
            case Follow():
                world.follow(place, node_at(step.primary.host))
            case Park():
                world.follow(place, None)
            case Promote():
                if server.history != step.replication_id or server.offset < step.at_least_offset:
                    raise NotObeyed(f"{place.name} has other data than were meant")
                world.promote(place)
            case Pause():
                server.paused_until = world.now + step.milliseconds / 1000
            case Unpause():
                server.paused_until = world.now
            case _:
                raise BrokenRuleError(f"nobody asked for {step}")

    def _open(self, step: Open, place: Place) -> None:
        assert self._world.record is not None
        role = Role.PRIMARY if step.kind is StartKind.WRITABLE_PRIMARY else Role.REPLICA
        follows = node_at(step.primary.host) if step.primary else None
        self._world.open(place, role, follows=follows, epoch=self._world.record.epoch)

    def _heard(self, place: Place) -> NodeView | None:
        view = self._reports.get(place.name)
        return view if view is not None and place.pod is not None and view.pod_uid == place.pod.uid else None

    def _member(self, place: Place) -> Member:
        pod = place.pod
        return Member(
            name=place.name,
            index=place.index,
            wanted=place.index < self._world.replicas,
            address=address_of(place.name),
            pod_uid=pod.uid if pod else None,
            pod_ready=place.server is not None and (place.server.is_primary or place.server.linked),
            pod_leaving=pod is not None and pod.leaving_in is not None,
            server_started=place.server is not None,
            cordoned=place.cordoned,
            stale=pod is not None and pod.generation != self._world.generation,
            view=self._heard(place),
        )


def epoch_of(record: ValkeyShardSpec) -> int:
    """Orders are of the epoch that was announced, where one was."""
    return record.pending.epoch if record.pending else record.epoch


def node_at(host: str) -> str:
    return host.removesuffix(".svc")


def _without_offset(view: NodeView) -> NodeView:
    return msgspec.structs.replace(view, offset=0)
