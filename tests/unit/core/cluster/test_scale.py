"""Which nodes exist, which may go, who hands over for it, whose pods are replaced, and sleep."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.clusters import NOW, Told, World, all_nodes, facts, formed, id_of, slots, with_node, without
from valkey_operator.core.cluster.facts import Attempt, ClusterRecord, FailoverKind, Sleep
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.roll import next_turns
from valkey_operator.core.cluster.scale import asked_size, needed_places, removable
from valkey_operator.core.cluster.steps import ClusterPlan, Failover, Forget, Open, Remember
from valkey_operator.valkey.cluster_nodes import Failing, MigrationState, SlotMigration
from valkey_operator.valkey.states import ProcessState

EMPTIED = {**formed(), "c-3-0": Told(name="c-3-0", epoch=9), "c-3-1": Told(name="c-3-1", primary="c-3-0")}


def gone(world: World, **changes: Any) -> list[str]:
    return removable(look_at(facts(world, **changes)))


def turns(world: World, **changes: Any) -> list[str]:
    return next_turns(look_at(facts(world, **changes)))


def handed(found: ClusterPlan) -> list[str]:
    return [step.node for step in found.steps if isinstance(step, Failover)]


def remembered(found: ClusterPlan) -> list[Attempt]:
    return [each for step in found.steps if isinstance(step, Remember) for each in step.record.attempts]


def handed_in_vain(seconds_ago: float, **changes: Any) -> ClusterRecord:
    attempt = Attempt(
        shard=0,
        kind=FailoverKind.PLANNED,
        source=id_of("c-0-0"),
        target="c-0-1",
        at=NOW - timedelta(seconds=seconds_ago),
        why="its machine is cordoned",
    )
    return ClusterRecord(formed=True, attempts=(msgspec.structs.replace(attempt, **changes),))


class TestAShardThatShallGo:
    def test_goes_once_everybody_says_that_it_is_empty(self) -> None:
        assert gone(EMPTIED) == ["c-3-0", "c-3-1"]

    def test_stays_while_it_owns_a_slot(self) -> None:
        world = with_node(EMPTIED, "c-0-0", slots=slots("1-5461"))
        assert gone(with_node(world, "c-3-0", slots=slots("0"))) == []

    def test_stays_while_somebody_believes_that_it_owns_a_slot(self) -> None:
        assert gone(with_node(EMPTIED, "c-2-1", sees={"c-3-0": {"slots": slots("0")}})) == []

    @pytest.mark.parametrize("silent", ["c-3-0", "c-3-1", "c-1-1"])
    def test_stays_while_anybody_is_silent(self, silent: str) -> None:
        assert gone(with_node(EMPTIED, silent, process=None)) == []

    def test_stays_while_it_has_keys(self) -> None:
        world = with_node(EMPTIED, "c-3-0", member={"keys": 1})
        assert gone(world) == []
        assert plan_cluster(facts(world)).waits_for == ("c-3-0 to be without keys, before shard 3 goes",)

    def test_stays_while_it_holds_a_slot_open(self) -> None:
        assert gone(with_node(EMPTIED, "c-3-0", takes={0: "c-0-0"})) == []

    def test_stays_while_slots_are_on_their_way_to_it(self) -> None:
        """They may arrive before its servers are ended."""
        begun = SlotMigration(
            name="m",
            importing=False,
            source=id_of("c-0-0"),
            target=id_of("c-3-0"),
            slots=slots("0-9"),
            state=MigrationState.UNDER_WAY,
            message="",
            updated_s=int(NOW.timestamp()),
        )
        world = with_node(EMPTIED, "c-0-0", member={"migrations": (begun,)})
        assert gone(world) == []
        assert "slots on their way to be settled, before shard 3 goes" in plan_cluster(facts(world)).waits_for


class TestFewerReplicas:
    def test_the_last_ones_go(self) -> None:
        assert gone(formed(replicas=3), replicas=2) == ["c-0-2", "c-1-2", "c-2-2"]

    def test_a_primary_among_them_hands_over_first(self) -> None:
        world = with_node(formed(), "c-0-0", primary="c-0-1", slots=slots(""))
        world = with_node(world, "c-0-1", primary=None, slots=slots("0-5461"), epoch=9)
        assert gone(world, replicas=1) == ["c-1-1", "c-2-1"]
        assert handed(plan_cluster(facts(world, replicas=1))) == ["c-0-0"]

    def test_none_goes_while_those_who_stay_have_no_copy(self) -> None:
        assert gone(with_node(formed(replicas=3), "c-0-1", linked=False), replicas=2) == ["c-1-2", "c-2-2"]

    def test_the_last_copy_stays_while_the_pod_of_the_primary_is_being_stopped(self) -> None:
        world = with_node(formed(), "c-0-0", member={"pod_leaving": True})
        assert gone(world, replicas=1) == ["c-1-1", "c-2-1"]

    @pytest.mark.parametrize("process", [ProcessState.RUNNING, ProcessState.WAITING])
    def test_the_copy_of_an_owner_that_lost_its_volume_stays_until_it_has_taken_over(
        self, process: ProcessState
    ) -> None:
        former = Told(name="c-0-0", id=id_of("former"), epoch=1, slots=slots("0-5461"), process=None)
        world = {**formed(), "former": former}
        world = with_node(world, "c-0-0", slots=slots(""), epoch=9)
        world = with_node(world, "c-0-1", primary="former", linked=False, process=process)
        assert gone(world, replicas=1) == ["c-1-1", "c-2-1"]

    def test_a_silent_one_stays_while_most_owners_are_silent_with_it_and_may_have_made_it_one(self) -> None:
        world = with_node(formed(replicas=3), "c-1-2", process=None)
        assert "c-1-2" in gone(world, replicas=2)
        for name in ("c-0-0", "c-2-0"):
            world = with_node(world, name, process=None)
        assert "c-1-2" not in gone(world, replicas=2)


class TestAPrimaryThatHandsOver:
    @pytest.mark.parametrize("why", ["pod_leaving", "cordoned", "stale"])
    def test_does_so_to_a_replica_in_sync(self, why: str) -> None:
        world = with_node(formed(replicas=3), "c-0-0", member={why: True})
        world = with_node(world, "c-0-1", linked=False)
        assert handed(plan_cluster(facts(world, replicas=3))) == ["c-0-2"]

    def test_waits_for_stale_replicas_to_be_replaced_first(self) -> None:
        world = with_node(with_node(formed(), "c-0-0", member={"stale": True}), "c-0-1", member={"stale": True})
        assert handed(plan_cluster(facts(world))) == []

    def test_does_so_while_another_owner_is_silent_only_if_it_is_being_stopped(self) -> None:
        silent = with_node(formed(5), "c-1-0", process=None)
        cordoned = with_node(silent, "c-0-0", member={"cordoned": True})
        leaving = with_node(silent, "c-0-0", member={"pod_leaving": True})
        assert handed(plan_cluster(facts(cordoned, shards=5))) == []
        assert handed(plan_cluster(facts(leaving, shards=5))) == ["c-0-1"]

    @pytest.mark.parametrize(("seconds_ago", "ordered"), [(4.9, []), (5.1, ["c-0-1"])])
    def test_is_not_told_to_again_while_the_server_may_still_do_so(
        self, seconds_ago: float, ordered: list[str]
    ) -> None:
        at = NOW - timedelta(seconds=seconds_ago)
        begun = Attempt(shard=0, kind=FailoverKind.PLANNED, source=id_of("c-0-0"), target="c-0-2", at=at)
        world = with_node(formed(replicas=3), "c-0-0", member={"cordoned": True})
        found = plan_cluster(facts(world, replicas=3, record=ClusterRecord(formed=True, attempts=(begun,))))
        assert handed(found) == ordered
        assert found.look_after_s is not None

    @pytest.mark.parametrize(("tries", "pause_s"), [(1, 5), (2, 10), (4, 40), (7, 300), (50, 300)])
    def test_is_told_to_again_after_pauses_that_grow(self, tries: int, pause_s: int) -> None:
        world = with_node(formed(), "c-0-0", member={"cordoned": True})
        early = plan_cluster(facts(world, record=handed_in_vain(pause_s - 0.5, tries=tries)))
        assert (handed(early), early.look_after_s) == ([], 0.5)
        late = plan_cluster(facts(world, record=handed_in_vain(pause_s, tries=tries)))
        assert handed(late) == ["c-0-1"]
        assert [each.tries for each in remembered(late)] == [tries + 1]

    def test_does_not_wait_for_minutes_while_its_pod_is_being_stopped(self) -> None:
        record = handed_in_vain(20, tries=50, why="its pod is being stopped")
        world = with_node(formed(), "c-0-0", member={"pod_leaving": True})
        assert handed(plan_cluster(facts(world, record=record))) == ["c-0-1"]

    @pytest.mark.parametrize("changed", [{"why": "it is scaled in"}, {"source": "another"}])
    def test_begins_anew_for_another_reason_and_after_one_that_went_well(self, changed: dict[str, str]) -> None:
        world = with_node(formed(), "c-0-0", member={"cordoned": True})
        found = plan_cluster(facts(world, record=handed_in_vain(6, tries=7, **changed)))
        assert [each.tries for each in remembered(found)] == [1]

    def test_in_vain_keeps_no_other_shard_from_it_and_is_remembered_meanwhile(self) -> None:
        world = with_node(with_node(formed(), "c-0-0", member={"cordoned": True}), "c-1-0", member={"cordoned": True})
        found = plan_cluster(facts(world, record=handed_in_vain(100, tries=7)))
        assert handed(found) == ["c-1-1"]
        assert [(each.shard, each.tries) for each in remembered(found)] == [(0, 7), (1, 1)]

    def test_in_vain_is_told(self) -> None:
        world = with_node(formed(), "c-0-0", member={"cordoned": True})
        found = plan_cluster(facts(world, record=handed_in_vain(6, tries=3)))
        assert found.waits_for == (
            "c-0-0 to hand over (its machine is cordoned), which c-0-1 tried 3 times in vain; "
            "the next try comes 20 s after the last",
        )

    def test_does_so_also_in_a_shard_that_is_being_emptied(self) -> None:
        world = with_node(EMPTIED, "c-0-0", slots=slots("1-5461"))
        world = with_node(world, "c-3-0", slots=slots("0"), member={"pod_leaving": True})
        assert handed(plan_cluster(facts(world))) == ["c-3-1"]

    @pytest.mark.parametrize(("shards", "at_once"), [(3, 1), (5, 2), (7, 3)])
    def test_does_so_in_fewer_than_half_of_the_shards_at_once(self, shards: int, at_once: int) -> None:
        world = formed(shards)
        for shard in range(shards):
            world = with_node(world, f"c-{shard}-0", member={"cordoned": True})
        assert len(handed(plan_cluster(facts(world, shards=shards)))) == at_once

    def test_does_not_while_its_slots_move(self) -> None:
        world = with_node(formed(), "c-0-0", member={"cordoned": True}, gives={7: "c-1-0"})
        assert handed(plan_cluster(facts(world))) == []


class TestPrimariesOnOneMachine:
    @staticmethod
    def placed(**changes: Any) -> Any:
        world = formed()
        for shard in range(3):
            world = with_node(world, f"c-{shard}-0", member={"machine": "a", "zone": "x"})
            world = with_node(world, f"c-{shard}-1", member={"machine": "bcd"[shard], "zone": "y"})
        return plan_cluster(facts(world, **changes))

    def test_are_spread_one_at_a_time(self) -> None:
        assert handed(self.placed()) == ["c-0-1"]

    def test_are_left_alone_for_a_while_after_a_change(self) -> None:
        at = NOW - timedelta(seconds=5)
        attempt = Attempt(shard=0, kind=FailoverKind.FORCE, source="x", target="c-0-0", at=at)
        found = self.placed(record=ClusterRecord(formed=True, attempts=(attempt,)))
        assert handed(found) == []
        assert found.look_after_s == 5, "nobody else would look again"

    def test_are_spread_although_one_of_them_cannot_hand_over(self) -> None:
        found = self.placed(record=handed_in_vain(20, tries=7, why="primaries shall be spread"))
        assert handed(found) == ["c-1-1"]

    def test_go_to_the_zone_that_the_spec_gives_to_their_shard(self) -> None:
        assert handed(self.placed(zones=("x", "y", "x"))) == ["c-1-1"]


class TestAChangedSpec:
    STALE = all_nodes(formed(), member={"stale": True})

    def test_replaces_a_replica_of_one_shard_in_three(self) -> None:
        assert turns(self.STALE) == ["c-0-1"]

    def test_replaces_pods_of_several_shards_where_a_majority_is_not_at_risk(self) -> None:
        assert turns(all_nodes(formed(5), member={"stale": True}), shards=5) == ["c-0-1", "c-1-1"]

    def test_waits_while_a_node_is_away(self) -> None:
        assert turns(with_node(self.STALE, "c-1-1", process=ProcessState.GONE, member={})) == []

    def test_waits_for_a_primary_to_hand_over(self) -> None:
        assert turns(with_node(formed(), "c-0-0", member={"stale": True})) == []

    def test_replaces_primaries_without_replicas_one_at_a_time(self) -> None:
        assert turns(all_nodes(formed(5, 1), member={"stale": True}), shards=5, replicas=1) == ["c-0-0"]

    def test_replaces_a_primary_without_slots_as_if_it_were_a_replica(self) -> None:
        stale = with_node(EMPTIED, "c-3-0", member={"stale": True})
        assert turns(stale, shards=4) == ["c-3-0"]
        assert handed(plan_cluster(facts(stale, shards=4))) == []

    def test_replaces_a_pod_that_never_came_up_at_once(self) -> None:
        broken = with_node(self.STALE, "c-2-1", process=None, member={"stale": True, "pod_ready": False})
        assert "c-2-1" in turns(broken)

    def test_replaces_one_broken_pod_of_a_shard_after_the_other_its_primary_last(self) -> None:
        broken = {"process": None, "member": {"stale": True, "pod_ready": False}}
        world = all_nodes(formed(3, 3), failing=Failing.AGREED, **broken)
        assert turns(world, replicas=3)[:3] == ["c-0-2", "c-1-2", "c-2-2"]
        going = {"stale": True, "pod_ready": False, "pod_leaving": True}
        assert "c-0-1" not in turns(with_node(world, "c-0-2", member=going), replicas=3)

    def test_replaces_broken_primaries_fewer_than_half_at_once(self) -> None:
        broken = {"process": None, "failing": Failing.AGREED, "member": {"stale": True, "pod_ready": False}}
        world = formed(5, 1)
        for shard in range(4):
            world = with_node(world, f"c-{shard}-0", **broken)
        assert turns(world, shards=5, replicas=1) == ["c-0-0", "c-1-0"]
        world = with_node(world, "c-0-0", member={"stale": True, "pod_ready": False, "pod_leaving": True})
        assert turns(world, shards=5, replicas=1) == ["c-1-0"]

    def test_replaces_primaries_that_serve_without_their_agents_one_at_a_time(self) -> None:
        mute = {"process": None, "member": {"stale": True, "pod_ready": False}}
        world = formed(5, 1)
        for shard in range(3):
            world = with_node(world, f"c-{shard}-0", **mute)
        assert turns(world, shards=5, replicas=1) == ["c-0-0"]
        away = with_node(world, "c-0-0", failing=Failing.AGREED, member={"pod_ready": False})
        assert turns(away, shards=5, replicas=1) == []

    def test_leaves_a_shard_alone_whose_slots_move(self) -> None:
        world = with_node(self.STALE, "c-0-0", member={"stale": True}, gives={7: "c-1-0"})
        assert turns(world) == ["c-2-1"]


class TestSleep:
    def test_begins_with_a_note_of_how_many_shards_there_are(self) -> None:
        found = facts(EMPTIED, replicas=0)
        (step,) = plan_cluster(found).steps
        assert isinstance(step, Remember)
        assert step.record.asleep == Sleep(shards=4, replicas=2, asked=3)
        assert removable(look_at(found)) == []

    def test_lets_all_nodes_go_once_that_is_on_record(self) -> None:
        record = ClusterRecord(formed=True, asleep=Sleep(shards=3, replicas=2, asked=3))
        assert gone(formed(), replicas=0, record=record) == list(formed())

    def test_ends_with_another_number_of_shards_only_after_it_was_awake(self) -> None:
        record = ClusterRecord(formed=True, asleep=Sleep(shards=3, replicas=2, asked=3))
        found = plan_cluster(facts(formed(), shards=5, record=record))
        assert found.steps == ()
        assert found.waits_for[0].startswith("spec.shards to be 3 again")

    def test_ends_with_all_nodes_that_there_were(self) -> None:
        record = ClusterRecord(formed=True, asleep=Sleep(shards=4, replicas=2, asked=3))
        assert (3, 1) in needed_places(facts({}, replicas=1, record=record))

    def test_ends_when_owners_start_by_their_files_and_all_slots_are_served(self) -> None:
        record = ClusterRecord(formed=True, asleep=Sleep(shards=3, replicas=2, asked=3))
        waiting = plan_cluster(facts(all_nodes(formed(), process=ProcessState.WAITING), record=record))
        assert [step.node for step in waiting.steps if isinstance(step, Open)] == ["c-0-0", "c-1-0", "c-2-0"]
        (step,) = plan_cluster(facts(formed(), record=record)).steps
        assert isinstance(step, Remember)
        assert step.record.asleep is None


def test_a_node_that_was_removed_is_forgotten() -> None:
    world = without(with_node(formed(), "former", id=id_of("c-2-1")), "c-2-1")
    assert [step.id for step in plan_cluster(facts(world)).steps if isinstance(step, Forget)] == [id_of("c-2-1")]


class TestTheSizeOfACluster:
    def test_is_that_of_its_spec(self) -> None:
        assert asked_size(ClusterRecord(), {(0, 0)}, shards=5, replicas=2, is_held=False) == (5, 2)

    def test_stays_what_it_is_while_the_spec_cannot_be_carried_out(self) -> None:
        places = {(0, 0), (0, 1), (3, 0)}
        assert asked_size(ClusterRecord(formed=True), places, shards=9, replicas=0, is_held=True) == (4, 2)

    def test_is_that_before_it_fell_asleep_while_it_may_not_wake_up(self) -> None:
        asleep = ClusterRecord(formed=True, asleep=Sleep(shards=5, replicas=2, asked=3))
        assert asked_size(asleep, (), shards=4, replicas=2, is_held=True) == (3, 0)
