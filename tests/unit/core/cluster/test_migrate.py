"""Slots that move: which, how, between whom, and what happens when it fails."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.clusters import NOW, Told, World, facts, formed, id_of, slots, with_node
from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord, MoveFailure
from valkey_operator.core.cluster.migrate import slots_to_move
from valkey_operator.core.cluster.moving import begins_move
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.retries import with_failure, with_outcomes, without_failure
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.steps import CancelMigrations, ClusterPlan, Failover, Migrate, MigrationKind
from valkey_operator.valkey.cluster_nodes import MigrationState, SlotMigration

GROWING = {**formed(), "c-3-0": Told(name="c-3-0", epoch=9), "c-3-1": Told(name="c-3-1", primary="c-3-0")}


def grown(world: World = GROWING, **changes: Any) -> ClusterFacts:
    return facts(world, **{"shards": 4, **changes})


def moves(found: ClusterPlan) -> list[Migrate]:
    return [step for step in found.steps if isinstance(step, Migrate)]


def logged(state: MigrationState, seconds_ago: int = 1, **changes: Any) -> SlotMigration:
    entry = SlotMigration(
        name="m",
        importing=False,
        source=id_of("c-0-0"),
        target=id_of("c-3-0"),
        slots=slots("0-9"),
        state=state,
        message="out of memory" if state is MigrationState.FAILED else "",
        updated_s=int(NOW.timestamp()) - seconds_ago,
    )
    return msgspec.structs.replace(entry, **changes)


def with_log(*entries: SlotMigration) -> World:
    return with_node(GROWING, "c-0-0", member={"migrations": entries})


def test_a_new_shard_gets_its_share_from_one_shard_at_a_time() -> None:
    (step,) = moves(plan_cluster(grown()))
    assert (step.source, step.target, step.kind) == ("c-0-0", "c-3-0", MigrationKind.ATOMIC)
    assert step.slots == slots("4096-5461")


def test_pairs_that_share_nothing_move_at_the_same_time() -> None:
    world = {**GROWING, "c-4-0": Told(name="c-4-0", epoch=10), "c-4-1": Told(name="c-4-1", primary="c-4-0")}
    pairs = [(step.source, step.target) for step in moves(plan_cluster(facts(world, shards=5)))]
    assert len(pairs) == 2
    assert len({name for pair in pairs for name in pair}) == 4


def test_servers_before_nine_move_few_slots_key_by_key() -> None:
    (step,) = moves(plan_cluster(grown(with_node(GROWING, "c-3-0", version="8.1.1"))))
    assert (step.kind, len(step.slots)) == (MigrationKind.KEY_BY_KEY, 64)


def test_a_shard_that_shall_go_gives_all_its_slots() -> None:
    world = with_node(GROWING, "c-3-0", slots=slots("0-99"))
    world = with_node(world, "c-0-0", slots=slots("100-5461"))
    (step,) = moves(plan_cluster(facts(world, shards=3)))
    assert (step.source, step.target) == ("c-3-0", "c-0-0")
    assert slots_to_move(look_at(facts(world, shards=3))) == 100


def test_nothing_moves_to_a_shard_whose_replica_is_not_in_sync() -> None:
    found = plan_cluster(grown(with_node(GROWING, "c-3-1", linked=False)))
    assert moves(found) == []
    assert "c-3-1 to be in sync with c-3-0" in found.waits_for


def test_nothing_moves_to_a_node_that_does_not_serve_clients_yet() -> None:
    found = plan_cluster(grown(with_node(GROWING, "c-3-0", member={"serves": False})))
    assert moves(found) == []
    assert "c-3-0 to serve clients" in found.waits_for


def test_nothing_moves_while_an_owner_is_silent() -> None:
    assert moves(plan_cluster(grown(with_node(GROWING, "c-2-0", process=None)))) == []


def test_nothing_moves_into_shards_without_room_for_it() -> None:
    world = with_node(GROWING, "c-3-0", slots=slots("0-99"), member={"used_bytes": 500, "limit_bytes": 1000})
    world = with_node(world, "c-0-0", slots=slots("100-5461"))
    for name in ("c-0-0", "c-1-0", "c-2-0"):
        world = with_node(world, name, member={"used_bytes": 800, "limit_bytes": 1000})
    found = plan_cluster(facts(world, shards=3))
    assert moves(found) == []
    assert any(what.startswith("room for 500 bytes of shard 3") for what in found.waits_for)


def test_while_slots_move_nothing_else_begins_in_their_shards() -> None:
    assert moves(plan_cluster(grown(with_log(logged(MigrationState.UNDER_WAY))))) == []


def test_a_move_to_a_shard_that_shall_go_again_is_called_off() -> None:
    found = plan_cluster(facts(with_log(logged(MigrationState.UNDER_WAY)), shards=3))
    assert found.steps == (CancelMigrations(node="c-0-0"),)


class TestAPrimaryWhosePodIsBeingStopped:
    MOVING = with_log(logged(MigrationState.UNDER_WAY))

    @pytest.mark.parametrize("stopped", ["c-0-0", "c-3-0"])
    def test_has_a_move_from_or_to_it_called_off_and_does_not_wait_for_its_end(self, stopped: str) -> None:
        giver = self.MOVING["c-0-0"].member
        world = with_node(self.MOVING, stopped, member={**(giver if stopped == "c-0-0" else {}), "pod_leaving": True})
        found = plan_cluster(grown(world))
        assert [step for step in found.steps if not isinstance(step, Migrate)] == [CancelMigrations(node="c-0-0")]

    def test_hands_over_once_that_is_so(self) -> None:
        called_off = {"migrations": (logged(MigrationState.CANCELLED),), "pod_leaving": True}
        found = plan_cluster(grown(with_node(GROWING, "c-0-0", member=called_off)))
        assert [step.node for step in found.steps if isinstance(step, Failover)] == ["c-0-1"]

    def test_leaves_moves_of_others_alone(self) -> None:
        found = plan_cluster(grown(with_node(self.MOVING, "c-1-0", member={"pod_leaving": True})))
        assert CancelMigrations(node="c-0-0") not in found.steps

    def test_lets_it_go_on_where_nobody_could_take_over(self) -> None:
        alone = with_node(self.MOVING, "c-0-1", linked=False)
        leaving = with_node(alone, "c-0-0", member={**alone["c-0-0"].member, "pod_leaving": True})
        assert CancelMigrations(node="c-0-0") not in plan_cluster(grown(leaving)).steps


def test_a_primary_on_a_cordoned_machine_waits_for_the_end_of_a_move() -> None:
    giver = with_log(logged(MigrationState.UNDER_WAY))
    world = with_node(giver, "c-0-0", member={**giver["c-0-0"].member, "cordoned": True})
    assert not [step for step in plan_cluster(grown(world)).steps if isinstance(step, CancelMigrations | Failover)]


def test_a_primary_that_has_to_hand_over_does_so_between_two_moves() -> None:
    leaving = with_node(GROWING, "c-0-0", member={"cordoned": True})
    found = plan_cluster(grown(leaving))
    assert [step.node for step in found.steps if isinstance(step, Failover)] == ["c-0-1"]
    assert "c-0-0" not in {step.source for step in moves(found)}


def test_a_primary_is_moved_to_a_better_place_only_once_no_slots_shall_move() -> None:
    """Whoever takes over while its shard gives slots away may lose them."""
    world = GROWING
    for name in GROWING:
        world = with_node(world, name, member={"machine": "a" if name.endswith("-0") else name})
    found = plan_cluster(grown(world))
    assert moves(found)
    assert not [step for step in found.steps if isinstance(step, Failover)]


class TestAMoveThatFailed:
    def test_is_tried_again_after_a_pause_with_fewer_slots(self) -> None:
        (step,) = moves(plan_cluster(grown(with_log(logged(MigrationState.FAILED)))))
        assert step.slots == slots("4096-5461")
        twice = with_log(*[logged(MigrationState.FAILED, 5)] * 3)
        (step,) = moves(plan_cluster(grown(twice)))
        assert len(step.slots) == 512

    def test_is_not_tried_again_at_once_and_the_error_is_told(self) -> None:
        found = plan_cluster(grown(with_log(*[logged(MigrationState.FAILED, 3)] * 5)))
        assert "c-0-0" not in {step.source for step in moves(found)}
        assert "slots to move from c-0-0 to c-3-0: out of memory" in found.waits_for

    @pytest.mark.parametrize(("well", "size"), [(1, 32), (2, 64), (5, 512), (9, 1366)])
    def test_grows_back_by_doubling_once_smaller_ones_go_well(self, well: int, size: int) -> None:
        log = with_log(*[logged(MigrationState.SUCCESS)] * well, *[logged(MigrationState.FAILED)] * 8)
        (step,) = moves(plan_cluster(grown(log)))
        assert len(step.slots) == size

    def test_often_is_tried_with_a_single_slot_and_grows_from_there(self) -> None:
        many = [logged(MigrationState.FAILED, 100)] * 30
        assert [len(step.slots) for step in moves(plan_cluster(grown(with_log(*many))))] == [1]
        well = with_log(logged(MigrationState.SUCCESS), *many)
        assert [len(step.slots) for step in moves(plan_cluster(grown(well)))] == [2]

    def test_and_was_followed_by_one_that_went_well_is_not_told_any_more(self) -> None:
        log = with_log(logged(MigrationState.SUCCESS), *[logged(MigrationState.FAILED)] * 9)
        found = plan_cluster(grown(log))
        assert len(moves(found)) == 1
        assert not any("slots to move" in what for what in found.waits_for)

    def test_says_nothing_about_the_next_where_somebody_called_it_off(self) -> None:
        log = with_log(logged(MigrationState.CANCELLED), logged(MigrationState.FAILED, 5))
        (step,) = moves(plan_cluster(grown(log)))
        assert len(step.slots) == 1366
        assert "slots to move from c-0-0 to c-3-0: out of memory" in plan_cluster(grown(log)).waits_for

    def test_was_refused_at_once_and_is_remembered_until_one_goes_well(self) -> None:
        cluster = look_at(grown())
        (step,) = moves(plan_cluster(cluster.facts))
        failures = with_failure(cluster, step, "ERR unknown")
        assert failures == (MoveFailure(source=0, target=3, count=1, error="ERR unknown", at=NOW),)
        record = ClusterRecord(formed=True, failures=failures)
        later = look_at(grown(record=record, now=NOW + timedelta(seconds=1)))
        twice = with_failure(later, step, "ERR again")
        assert [each.count for each in twice] == [2]
        assert without_failure(later, step) == ()
        [grown_back] = without_failure(look_at(grown(record=ClusterRecord(formed=True, failures=twice))), step)
        assert (grown_back.count, grown_back.error) == (1, "")

    def test_leaves_other_pairs_their_turn(self) -> None:
        log = with_log(*[logged(MigrationState.FAILED, 1)] * 8)
        assert [step.source for step in moves(plan_cluster(grown(log)))] == ["c-1-0"]


def test_a_second_owner_in_a_shard_gives_its_slots_to_the_first() -> None:
    world = with_node(formed(), "c-0-0", slots=slots("10-5461"))
    world = with_node(world, "c-0-1", primary=None, slots=slots("0-9"), epoch=9)
    (step,) = moves(plan_cluster(facts(world)))
    assert (step.source, step.target, step.slots) == ("c-0-1", "c-0-0", slots("0-9"))


class TestWhatCameOfSeveralMoves:
    def test_a_refusal_is_counted_and_one_that_was_obeyed_is_forgotten(self) -> None:
        [obeyed, *_] = moves(plan_cluster(grown()))
        known = MoveFailure(source=0, target=3, count=1, error="no", at=NOW)
        cluster = look_at(grown(record=ClusterRecord(formed=True, failures=(known,))))
        refused = msgspec.structs.replace(obeyed, source="c-1-0", source_id=id_of("c-1-0"))
        first = msgspec.structs.replace(obeyed, source="c-0-0", source_id=id_of("c-0-0"))
        record = with_outcomes(cluster, [(first, None), (refused, "it says no")])
        [failure] = record.failures
        assert (failure.source, failure.target, failure.count, failure.error) == (1, 3, 1, "it says no")

    def test_of_long_words_the_beginning_is_remembered(self) -> None:
        [step, *_] = moves(plan_cluster(grown()))
        record = with_outcomes(look_at(grown()), [(step, "x" * 5000)])
        assert len(record.failures[0].error) == 1024

    def test_nothing_changes_where_nothing_was_ordered(self) -> None:
        cluster = look_at(grown())
        assert with_outcomes(cluster, []) == cluster.facts.record


class TestWhetherAStepBeginsAMove:
    def test_one_of_slots_that_rest_does(self) -> None:
        [step, *_] = moves(plan_cluster(grown()))
        assert begins_move(look_at(grown()), step)

    def test_one_that_goes_on_with_open_slots_does_not(self) -> None:
        world = with_node(GROWING, "c-0-0", gives={5: "c-3-0"})
        [step, *_] = moves(plan_cluster(grown(with_node(world, "c-3-0", takes={5: "c-0-0"}))))
        assert not begins_move(look_at(grown(with_node(world, "c-3-0", takes={5: "c-0-0"}))), step)
