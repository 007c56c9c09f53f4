"""The model bites: with a single rule of the planner or of the agents switched off, some seed fails."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from tests.sim import shard_chaos
from tests.sim.shard_chaos import MOVES, NO_FAULTS, WISHES, live
from tests.sim.shard_faults import FAULTS
from tests.sim.stories_of_orders import who_restarted_starts
from valkey_operator.agent import promise
from valkey_operator.api.shard import ShardOperation
from valkey_operator.core.shard import failover, plan, primary, proof, switchover, wished
from valkey_operator.core.shard.facts import Member, ShardFacts, copy_rank
from valkey_operator.core.shard.steps import Reason, ShardPlan

SEEDS = 800
SELDOM = 4000
Patch = Callable[[pytest.MonkeyPatch], None]


def choose_the_lowest_index(patch: pytest.MonkeyPatch) -> None:
    """Instead of the one that is furthest."""
    real = vars(primary)["_choose_unbroken"]

    def choose(facts: ShardFacts, unbroken: list[Member], reason: Reason) -> ShardPlan:
        found: ShardPlan = real(facts, [min(unbroken, key=lambda heir: heir.index)], reason)
        return found

    patch.setattr(primary, "_choose_unbroken", choose)


def compare_offsets_that_still_move(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(primary, "is_parked", lambda _view: True)


def hand_over_before_the_source_is_parked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(switchover, "_before_parking", _hand_over_at_once)


def promote_before_the_target_has_everything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(switchover, "_after_parking", _hand_over_at_once)


def _hand_over_at_once(facts: ShardFacts, source: Member, target: Member, _operation: ShardOperation) -> ShardPlan:
    assert source.view is not None
    # Nothing is demanded of the target: else its own check would hold it back.
    demanding_nothing = msgspec.structs.replace(source.view, offset=0)
    found: ShardPlan = vars(switchover)["_hand_over"](facts, demanding_nothing, source, target)
    return found


def take_any_copy(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(primary, "copy_rank", lambda member: -member.index)


def do_not_prefer_the_copy_of_a_primary(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(primary, "copy_rank", lambda member: (copy_rank(member)[0], *copy_rank(member)[2:]))


def keep_the_epoch(patch: pytest.MonkeyPatch) -> None:
    real = vars(primary)["next_epoch"]
    patch.setattr(
        primary,
        "next_epoch",
        lambda facts, chosen: msgspec.structs.replace(real(facts, chosen), epoch=facts.record.epoch),
    )


def take_a_pod_that_is_gone_for_dead(patch: pytest.MonkeyPatch) -> None:
    for module in (failover, plan, proof):
        patch.setattr(module, "has_ended", lambda _facts, _primary: True)


def do_not_wait_for_leave_to_run_out(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(proof, "_leave_has_run_out", lambda _facts: True)


def half_of_the_replicas_are_a_majority(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(proof, "_is_majority", lambda count, listed: 2 * count >= len(listed) > 0)


def grant_older_epochs_than_were_promised(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(promise, "may_grant", lambda _promise, _epoch: True)


def test_a_planner_that_chooses_without_a_quorum_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primary, "_wait_for_quorum", lambda _facts, _unbroken: None)
    monkeypatch.setattr(shard_chaos, "DURABILITIES", ["Quorum"])
    with pytest.raises(AssertionError, match="Again: from tests"):
        live_often()


@pytest.mark.parametrize(
    "mutation",
    [
        take_a_pod_that_is_gone_for_dead,
        do_not_wait_for_leave_to_run_out,
        half_of_the_replicas_are_a_majority,
        grant_older_epochs_than_were_promised,
        choose_the_lowest_index,
        compare_offsets_that_still_move,
        hand_over_before_the_source_is_parked,
        promote_before_the_target_has_everything,
        who_restarted_starts,
        keep_the_epoch,
    ],
)
def test_a_planner_without_one_of_its_rules_fails(mutation: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation(monkeypatch)
    with pytest.raises(AssertionError, match="Again: from tests"):
        live_often()


@pytest.mark.parametrize("mutation", [take_any_copy, do_not_prefer_the_copy_of_a_primary])
def test_a_planner_that_starts_again_with_another_copy_fails(mutation: Patch, monkeypatch: pytest.MonkeyPatch) -> None:
    mutation(monkeypatch)
    with pytest.raises(AssertionError, match="Again: from tests"):
        live_often(("suspend", "evict", "roll"), faults=NO_FAULTS, seeds=range(SELDOM))


def test_a_wish_that_is_not_remembered_is_met_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (switchover, wished):
        monkeypatch.setattr(
            module, "open_wish", lambda facts: None if facts.wished == facts.record.primary else facts.wished
        )
    with pytest.raises(AssertionError, match="was met, and shall be met again"):
        live_often(MOVES)


def live_often(
    wishes: Sequence[str] = WISHES, *, faults: Sequence[str] = FAULTS, seeds: range = range(1000, 1000 + SEEDS)
) -> None:
    for seed in seeds:
        live(seed, faults=faults, wishes=wishes)
