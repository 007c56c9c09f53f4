"""Stories of primaries that are cut off, frozen or hang: none of them writes on beside the one that took over.

Beside each the rule that closes it, switched off. They are played by test_interleavings.py.
"""

import msgspec
import pytest

from tests.sim import shard_leader
from tests.sim.shard_chaos import expect
from tests.sim.shard_leave import Leave
from tests.sim.shard_stage import LONG_ENOUGH_S, Stage
from valkey_operator.agent import licence
from valkey_operator.core.shard import announcement, failover, plan, proof
from valkey_operator.core.shard.announcement import announce
from valkey_operator.core.shard.facts import Member, ShardFacts
from valkey_operator.core.shard.steps import Kill, ShardPlan


def a_primary_and_one_replica_are_cut_off_together() -> None:
    """1. It reaches one of three: not enough to go on, and the two others may choose."""
    stage = Stage(replicas=4)
    stage.cut("x-0", "x-1")
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary in {"x-2", "x-3"}, "nobody took over")
    expect(not stage.world.takes_writes(stage.pod("x-0")), "x-0 writes on")


def one_replica_is_enough(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(licence, "_half_since", lambda members, asked_at: max(asked_at.get(each, -1e9) for each in members))


def a_primary_reaches_the_api_server_alone() -> None:
    """2. The record alone is no leave while an operator is there, and it changes before anybody is chosen."""
    stage = Stage()
    stage.cut("x-0", api=False)
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary != "x-0", "nobody took over")


def the_record_gives_leave_though_an_operator_leads(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Leave, "_without_operator_at", lambda _leave, _agent, now: now)


def a_pod_is_frozen_and_thaws() -> None:
    """3. Its server refuses by itself before its agent gets a turn: those who followed it have hung up."""
    stage = Stage(durability="Quorum")
    frozen = stage.pod("x-0")
    stage.server("x-0").hung = frozen.agent.stalled = True
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary != "x-0", "nobody took over")
    stage.server("x-0").hung = False
    stage.world.rules.check()
    frozen.agent.stalled = False
    stage.go(2)


def a_machine_whose_clock_stood_still_comes_back() -> None:
    """4. Its agent believes in leave that is long over; its server counts the replicas it has."""
    stage = Stage(durability="Quorum")
    agent = stage.pod("x-0").agent
    stage.server("x-0").hung = agent.stalled = True
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary != "x-0", "nobody took over")
    stage.server("x-0").hung = agent.stalled = False
    agent.take(replicas={"x-1": stage.world.now, "x-2": stage.world.now})
    expect(agent.may_write(agent.terms, stage.world.now), "it does not believe in its leave")
    stage.world.rules.check()


def an_agent_is_killed_on_a_machine_that_is_cut_off() -> None:
    """5. Nobody fences its server, which hears of no replica any more and refuses."""
    stage = Stage(durability="Quorum")
    stage.world.kill_agent(stage.pod("x-0"))
    stage.cut("x-0")
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary != "x-0", "nobody took over")


def servers_need_no_replicas(patch: pytest.MonkeyPatch) -> None:
    """The operator believes in Quorum, and tells no server."""
    real = shard_leader.writing_rules
    patch.setattr(
        shard_leader,
        "writing_rules",
        lambda world: msgspec.structs.replace(real(world), half_attached=False, min_replicas=0),
    )


def a_pod_is_deleted_by_force_on_a_machine_that_is_cut_off() -> None:
    """8. That it is gone proves nothing: the change is announced, and waits until all leave has run out."""
    stage = Stage()
    stage.cut("x-0")
    stage.world.force_delete(stage.place("x-0"))
    for _ in range(LONG_ENOUGH_S):
        stage.go(1)
        stage.write()
    expect(stage.primary != "x-0", "nobody took over")


def a_pod_that_is_gone_has_ended(patch: pytest.MonkeyPatch) -> None:
    for module in (failover, plan, proof):
        patch.setattr(module, "has_ended", lambda _facts, _primary: True)


def a_server_hangs_beside_its_agent() -> None:
    """12. No fence reaches it: it is killed, and only then somebody takes over."""
    stage = Stage()
    hung = stage.server("x-0")
    hung.hung = True
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary != "x-0", "nobody took over")
    hung.hung = False
    stage.world.rules.check()


def who_hangs_is_left_alive(patch: pytest.MonkeyPatch) -> None:
    real = failover.lost_primary

    def lost_primary(facts: ShardFacts, primary: Member) -> ShardPlan | None:
        found = real(facts, primary)
        kills = found is not None and any(isinstance(step, Kill) for step in found.steps)
        return announce(facts, "it hangs") if kills else found

    patch.setattr(plan, "lost_primary", lost_primary)


def the_only_replica_is_gone_and_the_operator_is_not_reached() -> None:
    """17. It writes on if it was alone on record before; else it stops, for the replica may be primary by now."""
    alone = Stage(replicas=2)
    alone.world.kill(alone.place("x-1"), with_pod=True)
    alone.go(0.5)
    alone.cut("x-1")
    alone.go(1)
    alone.cut("x-0", api=False, zone=1)
    alone.go(4)
    expect(alone.world.takes_writes(alone.pod("x-0")), "x-0 does not write, and nobody could take over")
    listed = Stage(replicas=2)
    listed.cut("x-1", zone=1)
    listed.cut("x-0", api=False)
    listed.go(4)
    expect(not listed.world.takes_writes(listed.pod("x-0")), "x-0 writes on, and x-1 could take over")


def a_primary_reaches_the_operator_and_none_of_its_replicas() -> None:
    """With Quorum it refuses writes then; its replicas, which reach each other, choose one that takes them."""
    stage = Stage(durability="Quorum")
    stage.cut("x-0", operator=False, api=False)
    stage.go(LONG_ENOUGH_S)
    expect(stage.primary != "x-0", "nobody took over")
    expect(stage.write() == 1, "nobody takes writes, or two do")
    stage.place("x-0").machine.heal()
    stage.go(LONG_ENOUGH_S)
    expect(len(stage.server("x-0").values) == 4, "x-0 does not follow")


def who_has_most_is_chosen(patch: pytest.MonkeyPatch) -> None:
    real = announcement.announce
    patch.setattr(failover, "announce", lambda facts, why, **_: real(facts, why))
