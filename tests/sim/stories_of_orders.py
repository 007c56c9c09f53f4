"""Stories of starts, copies and orders: who is let in or chosen, with which data, and whose word counts.

Beside each the rule that closes it, switched off. They are played by test_interleavings.py.
"""

import msgspec
import pytest

from tests.sim import shard_orders
from tests.sim.shard_agents import as_read
from tests.sim.shard_chaos import expect
from tests.sim.shard_ground import Ground
from tests.sim.shard_leader import key_of
from tests.sim.shard_leave import Leave
from tests.sim.shard_model import Server
from tests.sim.shard_orders import NotObeyed, obey
from tests.sim.shard_stage import LONG_ENOUGH_S, Stage
from tests.support.shards import facts, member, record, swapped, waiting
from valkey_operator.agent import orders, promise, start, watch
from valkey_operator.agent.orders import check_order
from valkey_operator.agent.promise import Promise
from valkey_operator.agent.start import Decision
from valkey_operator.agent.watch import Look, ProcessId, Sign, Watched
from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.shard import plan, primary
from valkey_operator.core.shard.facts import Member, ShardFacts
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import Open, Park, ShardPlan, SwapRecord
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import StartKind
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.valkey.terms import Terms


def a_primary_restarts_before_the_operator_acts() -> None:
    """6. The record still names it, and others who could take over: it waits at the gate."""
    stage = Stage()
    stage.world.leave.starts_against_terms = True  # the record alone shall hold it back
    stage.world.kill(stage.place("x-0"))
    stage.go(2, led=False)
    expect(stage.server("x-0").role is None, "x-0 was let in")
    stage.go(4)
    expect(stage.primary != "x-0", "nobody took over")


def who_is_named_starts(patch: pytest.MonkeyPatch) -> None:
    named = Decision(StartKind.WRITABLE_PRIMARY, "the record names it")
    patch.setattr(start, "_decide_as_primary", lambda _record, _node, _promise: named)


def a_server_hangs_up_on_its_agent() -> None:
    """7. Death is a process that is gone, not a closed socket; by the agent's own `after_look`."""
    stage, process = Stage(), ProcessId(7, 100)
    state = watch.after_look(Watched(ProcessState.RUNNING, process, 1), Look(process, listens=False)).state
    report = stage.world.report(stage.pod("x-0"))
    silent = msgspec.structs.replace(report, process=state, health=Health.UNREACHABLE, role=None, link=None)
    stage.leader.reports.put(key_of("x-0"), silent)
    stage.operator.reconcile()
    expect(stage.primary == "x-0", "somebody took over")


def a_closed_socket_is_death(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(watch.NEXT_STATE, (ProcessState.RUNNING, Sign.SILENT), ProcessState.GONE)


def an_old_leader_writes_the_record() -> None:
    """10. It swaps the version that it has read, and nothing moves backwards."""
    stage = Stage()
    stage.world.kill(stage.place("x-2"))
    stage.hear()
    stage.pause_before(SwapRecord)
    stage.world.kill(stage.place("x-0"))
    stage.go(4)
    expect(stage.primary == "x-1", "x-1 did not take over")
    before = stage.world.record
    stage.wake()
    expect(stage.world.record is before, "the record moved")


def the_last_writer_wins(patch: pytest.MonkeyPatch) -> None:
    real = Ground.swap

    def swap(world: Ground, _seen: int, new: ValkeyShardSpec, *, wished: str | None = None) -> bool:
        return real(world, world.version, new, wished=wished)

    patch.setattr(Ground, "swap", swap)


def an_old_order_meets_a_new_pod() -> None:
    """11. A pod that knows of no epoch yet is told to start as a primary, as the one before it was."""
    stage = Stage(replicas=2)
    old = stage.pod("x-0").uid
    stage.world.kill(stage.place("x-0"), with_pod=True)
    stage.go(1, led=False)
    step = Open(node="x-0", kind=StartKind.WRITABLE_PRIMARY, terms=Terms(fence_after_ms=2000))
    with pytest.raises(NotObeyed, match="the order is for pod"):
        obey(stage.world, stage.pod("x-0"), step, pb.Order(term=1, epoch=1, pod_uid=old))


def orders_are_for_whoever_gets_them(patch: pytest.MonkeyPatch) -> None:
    def check(order: pb.Order, *, pod_uid: str, promise: Promise, given: promise.Given) -> Promise:
        return check_order(order, pod_uid=order.pod_uid, promise=promise, given=given)

    patch.setattr(orders, "check_order", check)


def who_was_chosen_restarts_empty() -> None:
    """13. The order says which data are meant, and its agent compares."""
    stage = Stage(persistent=False)
    stage.world.kill(stage.place("x-0"))
    stage.hear()
    stage.pause_before(SwapRecord)
    stage.world.kill(stage.place("x-1"))
    stage.go(2, led=False)
    stage.operator.resign(politely=True)
    leader, work = stage.operator.sleepers.pop()
    stage.operator.leader = leader
    with pytest.raises(NotObeyed):
        list(work)
    expect(stage.primary == "x-1", "another one was chosen")
    stage.go(4)
    expect(stage.primary == "x-2", "x-2 did not take over")


def data_are_not_compared(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shard_orders, "has_data_meant", lambda _server, _step: True)


def a_mark_outlives_the_data() -> None:
    """14. A mark counts only where files are; by the planner's own choice."""
    empty = member("x-0", waiting(epoch=9, was_primary=True))
    found = plan_shard(
        facts(empty, member("x-1", waiting(rdb=True, epoch=3)), on_record=record(primary=None, primary_pod=None))
    )
    expect(swapped(found).primary == "x-1", "a mark without data was taken for a copy")


def a_mark_is_a_copy(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(primary, "copy_rank", lambda each: each.view.copy.epoch or 0)


def a_primary_restarts_with_an_old_copy() -> None:
    """15. It never comes before a replica that has not restarted."""
    stage = Stage()
    stage.world.save(stage.place("x-0"))
    stage.write(3)
    stage.go(1)
    stage.world.kill(stage.place("x-0"))
    stage.go(4)
    expect(stage.primary != "x-0", "the old copy won")


def who_restarted_starts(patch: pytest.MonkeyPatch) -> None:
    real = vars(plan)["_start"]

    def begin(facts: ShardFacts, at_the_gate: Member) -> ShardPlan | None:
        forgetful = msgspec.structs.replace(facts.record, promotable=None)
        found: ShardPlan | None = real(msgspec.structs.replace(facts, record=forgetful), at_the_gate)
        return found

    patch.setattr(plan, "_start", begin)


def who_confirmed_a_value_restarts() -> None:
    """16. With Quorum it still counts among all, and no more among those that have everything."""
    stage = Stage(durability="Quorum", persistent=False)
    stage.server("x-2").hung = True
    confirmed = stage.write(2)
    stage.go(0.5)
    stage.world.kill(stage.place("x-1"))
    stage.go(0.25)
    stage.cut("x-0")
    stage.server("x-2").hung = False
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary == "x-0" and confirmed == 2, "somebody took over without what was confirmed")
    stage.place("x-0").machine.heal()
    stage.go(4)
    expect(len(stage.server(stage.primary or "").values) == 5, "a value is lost")


def any_replica_is_enough(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(primary, "_wait_for_quorum", lambda _facts, _unbroken: None)


def an_old_leader_gives_orders() -> None:
    """Who has heard of a newer term or epoch obeys it no more."""
    stage = Stage()
    stage.world.wished = "x-1"
    stage.pause_before(Park)
    stage.go(4)
    stage.wake()
    expect(stage.primary == "x-1" and stage.server("x-0").follows == "x-1", "x-0 was parked by an old order")


def a_primary_that_was_told_who_could_take_over_finds_an_older_record() -> None:
    """Its server died unseen, while its only replica was put on record as one who could take over."""
    stage = Stage(replicas=2)
    stage.world.kill(stage.place("x-1"))
    stage.go(0.25)
    stage.go(1, led=False)
    stage.write(3)
    stage.go(0.5, led=False)
    stage.leader.hear(stage.pod("x-1"))
    stage.world.kill(stage.place("x-0"))
    stage.pod("x-0").server = Server(run=stage.world.number())
    assert stage.world.record is not None
    stage.pod("x-0").agent.read = (as_read(stage.world.record), stage.world.now)
    stage.place("x-0").machine.off_api = True
    stage.pause_before(SwapRecord)
    stage.wake()
    stage.go(1, led=False)


def who_is_named_starts_whatever_its_terms(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Leave, "starts_against_terms", True)


def terms_do_not_matter(patch: pytest.MonkeyPatch) -> None:
    def check(order: pb.Order, *, pod_uid: str, promise: Promise, given: promise.Given) -> Promise:
        newer = pb.Order(
            term=max(order.term, promise.term), epoch=max(order.epoch, promise.epoch), pod_uid=order.pod_uid
        )
        return check_order(newer, pod_uid=pod_uid, promise=promise, given=given)

    patch.setattr(orders, "check_order", check)
