"""What is told of a ValkeyCluster: states, shards, slots, and what nodes say against each other."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tests.support.cluster_render import OWNER, effective
from tests.support.clusters import NOW, World, all_nodes, facts, formed, id_of, slots, unformed, with_node, without
from valkey_operator.api.cluster import MigrationStatus, ValkeyClusterStatus
from valkey_operator.api.status import Condition, ConditionType
from valkey_operator.core.cluster.facts import Attempt, ClusterFacts, ClusterRecord, FailoverKind, MoveFailure, Sleep
from valkey_operator.core.cluster.plan import plan_cluster
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.status.cluster import ClusterFindings, cluster_status
from valkey_operator.core.validation import Problem
from valkey_operator.valkey.cluster_nodes import Failing, MigrationState, SlotMigration
from valkey_operator.valkey.slots import Slots
from valkey_operator.valkey.states import DiskError, ProcessState

FIRST, SECOND, THIRD = "0-5461", "5462-10922", "10923-16383"


def status_of(
    known: ClusterFacts | World, before: ValkeyClusterStatus | None = None, **changes: Any
) -> ValkeyClusterStatus:
    seen = known if isinstance(known, ClusterFacts) else facts(known)
    spec = {"shards": seen.shards, "replicas": seen.replicas, **changes.pop("spec", {})}
    found = ClusterFindings(
        owner=OWNER,
        generation=1,
        spec=effective(**spec),
        cluster=look_at(seen),
        plan=plan_cluster(seen),
        now=NOW,
    )
    return cluster_status(msgspec.structs.replace(found, **changes), before)


def told(status: ValkeyClusterStatus) -> tuple[str | None, str | None]:
    return status.state, status.reason


def condition(status: ValkeyClusterStatus, type_: ConditionType) -> Condition | None:
    return next((each for each in status.conditions or () if each.type == type_), None)


def coverage(status: ValkeyClusterStatus) -> tuple[str, str]:
    found = condition(status, ConditionType.SLOTS_COVERED)
    assert found is not None
    return found.status, found.reason


def silent(world: World, *names: str) -> World:
    """Nothing is heard of these."""
    for name in names:
        world = with_node(world, name, process=None)
    return world


class TestAllIsWell:
    """Everybody serves, is in sync, and says the same."""

    def test_it_is_ready(self) -> None:
        status = status_of(formed())
        assert told(status) == ("Ready", "ClusterHealthy")
        assert status.message == "All 3 shards are healthy, all slots are served."
        assert coverage(status) == ("True", "AllSlotsServed")
        assert condition(status, ConditionType.VIEWS_DIFFER) is None

    def test_totals_are_counted(self) -> None:
        status = status_of(formed())
        assert (status.total_shards, status.ready_shards) == (3, 3)
        assert (status.total_replicas, status.ready_replicas) == (6, 6)
        assert (status.slots_assigned, status.slots_unassigned) == (16384, 0)
        assert (status.version, status.migration) == ("9.1.2", None)

    def test_each_shard_is_told_with_what_its_servers_say(self) -> None:
        status = status_of(with_node(formed(), "c-1-0", member={"zone": "b"}))
        [first, second, third] = status.shards or []
        assert (first.primary, first.replicas, first.slots, first.zone) == ("c-0-0", ["c-0-1"], FIRST, None)
        assert (second.shard_index, second.slots, second.zone, second.ready) == (1, SECOND, "b", True)
        assert (third.slots, third.primary_epoch, third.operation) == (THIRD, 3, None)

    def test_where_clients_connect_is_told(self) -> None:
        status = status_of(formed())
        assert status.endpoints is not None
        assert (status.endpoints.write, status.endpoints.nodes) == ("c.app.svc:6379", "c-nodes.app.svc:6379")
        assert status.secret_name == "c-auth"

    @pytest.mark.timeout(60)
    def test_five_hundred_shards_fit_into_one_object(self) -> None:
        status = status_of(facts(formed(500, 1), shards=500, replicas=1))
        assert told(status) == ("Ready", "ClusterHealthy")
        assert len(msgspec.json.encode(status)) < 100_000


def test_roles_are_those_of_the_servers_not_of_the_names() -> None:
    world = with_node(formed(), "c-0-1", primary=None, epoch=9, slots=slots(FIRST))
    world = with_node(world, "c-0-0", primary="c-0-1", slots=Slots())
    status = status_of(world)
    [first, *_] = status.shards or []
    assert (first.primary, first.replicas, first.primary_epoch) == ("c-0-1", ["c-0-0"], 9)
    assert status.state == "Ready"


class TestComingUp:
    """For the first time, or again."""

    def test_before_there_is_a_record_the_first_nodes_are_being_made(self) -> None:
        status = status_of(formed(), cluster=None)
        assert told(status) == ("Initializing", "NodesStarting")
        assert status.shards is None
        assert (status.slots_assigned, condition(status, ConditionType.SLOTS_COVERED)) == (None, None)

    def test_nodes_that_have_met_nobody_have_no_slots_yet(self) -> None:
        status = status_of(facts(unformed(), record=ClusterRecord()))
        assert told(status) == ("Initializing", "NodesStarting")
        assert coverage(status) == ("False", "NotFormed")
        assert (status.slots_assigned, status.slots_unassigned) == (0, 16384)
        assert (status.message or "").startswith("The slots are being given out.")

    def test_it_is_not_ready_before_every_replica_is_in_sync(self) -> None:
        status = status_of(with_node(formed(), "c-2-1", linked=False))
        assert status.state == "Initializing"
        assert "c-2-1 is not Ready or not in sync yet." in (status.message or "")
        assert status.ready_shards == 2

    def test_a_pod_that_cannot_start_is_told_in_kubernetes_words(self) -> None:
        world = with_node(formed(), "c-2-1", process=None, member={"pod_ready": False})
        status = status_of(world, pod_problems={"c-2-1": "Pod c-2-1-0: no such image."})
        assert (told(status), status.message) == (("Initializing", "PodFailing"), "Pod c-2-1-0: no such image.")

    def test_a_cluster_that_wakes_up_is_not_called_degraded(self) -> None:
        record = ClusterRecord(formed=True, asleep=Sleep(shards=3, replicas=2, asked=3))
        world = with_node(formed(), "c-0-0", process=ProcessState.WAITING)
        status = status_of(facts(world, record=record), ValkeyClusterStatus(state="Suspended"))
        assert told(status) == ("Initializing", "NodesStarting")
        assert (status.message or "").startswith("The cluster is being resumed.")


class TestSuspended:
    """Nothing shall run."""

    def test_it_is_told_once_no_pod_is_left(self) -> None:
        asleep = facts({}, replicas=0, record=ClusterRecord(formed=True, asleep=Sleep(shards=3, replicas=2, asked=3)))
        stopping, stopped = status_of(asleep, pods=["c-0-0-0"]), status_of(asleep)
        assert (told(stopping), told(stopped)) == (("Reconciling", "Suspending"), ("Suspended", "Suspended"))

    def test_nothing_is_claimed_about_slots_that_nobody_tells_of(self) -> None:
        status = status_of(facts({}, replicas=0), ValkeyClusterStatus(migration=MigrationStatus(remaining=7)))
        assert (status.slots_assigned, status.slots_unassigned, status.shards, status.migration) == (None,) * 4


class TestSlotsThatAreNotServed:
    """Said openly, with what is known and what is not."""

    def test_an_owner_that_is_down_is_named_with_its_slots(self) -> None:
        world = with_node(formed(), "c-1-0", process=ProcessState.WAITING, failing=Failing.AGREED)
        status = status_of(world)
        assert (told(status), coverage(status)) == (("Degraded", "OwnerDown"), ("False", "OwnerDown"))
        assert f"c-1-0 (slots {SECOND}) is down, and nobody has taken over yet." in (status.message or "")
        assert status.shards is not None
        assert (status.shards[1].primary, status.shards[1].slots, status.shards[1].ready) == (None, SECOND, False)

    def test_an_owner_that_only_we_do_not_hear_of_is_not_called_down(self) -> None:
        status = status_of(silent(formed(), "c-1-0"))
        assert coverage(status) == ("Unknown", "OwnerSilent")
        assert status.state != "Ready"

    def test_an_owner_whose_clients_get_clusterdown_does_not_serve(self) -> None:
        status = status_of(with_node(formed(), "c-1-0", member={"serves": False}))
        assert (told(status), coverage(status)) == (("Degraded", "OwnerRefuses"), ("False", "OwnerRefuses"))

    def test_slots_without_an_owner_are_said_with_what_is_lost(self) -> None:
        status = status_of(with_node(formed(), "c-1-0", slots=slots("5463-10922")))
        assert told(status) == ("Degraded", "SlotsLost")
        assert "The slots 5462 (1 of 16384) have no owner: no node has them any more, and their keys are lost." in (
            status.message or ""
        )
        assert (status.slots_assigned, status.slots_unassigned) == (16383, 1)

    def test_slots_that_anybody_sees_with_an_owner_are_not_called_lost(self) -> None:
        seen = {"c-2-0": {"slots": slots("5462 10923-16383")}}
        status = status_of(with_node(formed(), "c-1-0", slots=slots("5463-10922"), sees=seen))
        assert coverage(status) == ("Unknown", "OwnerUnclear")
        found = condition(status, ConditionType.SLOTS_COVERED)
        assert found is not None
        assert found.message == "Not all nodes have heard yet who owns the slots 5462."

    def test_what_a_silent_node_may_have_is_not_called_lost(self) -> None:
        world = silent(with_node(formed(), "c-1-0", slots=slots("5463-10922")), "c-2-1")
        message = status_of(world).message or ""
        assert "that any node knows of; c-2-1 is not heard of, and may have them." in message
        assert "keys are lost" not in message

    def test_where_nobody_answers_nothing_is_known(self) -> None:
        status = status_of(all_nodes(formed(), process=None))
        assert coverage(status) == ("Unknown", "NobodyAnswers")
        assert (status.slots_assigned, status.version) == (None, None)

    def test_what_is_waited_for_is_said(self) -> None:
        world = with_node(formed(), "c-1-0", slots=slots("5463-10922"))
        assert "Waits for leave to give out the slots 5462 anew" in (status_of(world).message or "")


class TestNodesThatDisagree:
    """Both sides are quoted."""

    def test_two_that_claim_a_slot_are_named_with_their_epochs(self) -> None:
        status = status_of(with_node(formed(), "c-1-0", slots=slots("5461-10922")), status_of(formed()))
        assert (told(status), coverage(status)) == (("Degraded", "NodesNotReady"), ("Unknown", "SlotsDisputed"))
        assert "The slots 5461 are claimed by" in (status.message or "")
        differs = condition(status, ConditionType.VIEWS_DIFFER)
        assert differs is not None
        assert "The slots 5461 are claimed by c-0-0 (epoch 1) and c-1-0 (epoch 2)" in differs.message

    def test_one_that_sees_other_owners_is_named(self) -> None:
        seen = {"c-1-0": {"slots": slots("5463-10922")}}
        status = status_of(with_node(formed(), "c-0-1", sees=seen))
        differs = condition(status, ConditionType.VIEWS_DIFFER)
        assert differs is not None
        assert differs.message == "c-0-1 sees other owners of slots than the others do."
        assert status.slots_assigned == 16384

    def test_a_stranger_that_owns_slots_is_named(self) -> None:
        world = with_node(formed(), "c-1-0", slots=slots("5463-10922"))
        world = with_node(world, "other", slots=slots("5462"), epoch=9)
        differs = condition(status_of(world), ConditionType.VIEWS_DIFFER)
        assert differs is not None
        assert "is none of our nodes, and owns the slots 5462." in differs.message


class TestSlotsThatMove:
    """Counted on, whatever becomes of the target."""

    def test_a_larger_spec_shows_what_is_to_move_and_between_whom(self) -> None:
        world = {**formed(), **{name: each for name, each in formed(4).items() if name.startswith("c-3-")}}
        world = with_node(world, "c-3-0", slots=Slots(), epoch=4)
        status = status_of(facts(world, shards=4), ValkeyClusterStatus(state="Ready"))
        assert status.migration == MigrationStatus(
            from_="0, 1, 2", to="3", moved=0, remaining=4096, since="2026-11-16T12:00:30Z"
        )
        assert told(status) == ("Reconciling", "Changing")
        assert (status.message or "").startswith("4096 slots are still to move.")

    @pytest.mark.parametrize(("moved", "remaining", "now"), [(0, 5000, 904), (10, 4096, 10), (10, 100, 10)])
    def test_what_has_moved_is_never_forgotten(self, moved: int, remaining: int, now: int) -> None:
        world = {**formed(), **{name: each for name, each in formed(4).items() if name.startswith("c-3-")}}
        world = with_node(world, "c-3-0", slots=Slots(), epoch=4)
        before = ValkeyClusterStatus(migration=MigrationStatus(moved=moved, remaining=remaining))
        found = status_of(facts(world, shards=4), before).migration
        assert found is not None
        assert (found.moved, found.remaining) == (now, 4096)

    def test_slots_that_a_node_gives_key_by_key_are_shown(self) -> None:
        world = with_node(formed(), "c-0-0", gives={7: "c-1-0"})
        found = status_of(with_node(world, "c-1-0", takes={7: "c-0-0"})).migration
        assert found is not None
        assert (found.from_, found.to, found.slots, found.remaining) == ("0", "1", "7", 0)

    def test_slots_that_the_servers_move_at_once_are_shown(self) -> None:
        under_way = SlotMigration(
            name="x",
            importing=False,
            source=id_of("c-0-0"),
            target=id_of("c-2-0"),
            slots=slots("0-99"),
            state=MigrationState.UNDER_WAY,
            message="",
            updated_s=0,
        )
        found = status_of(with_node(formed(), "c-0-0", member={"migrations": (under_way,)})).migration
        assert found is not None
        assert (found.from_, found.to, found.slots) == ("0", "2", "0-99")

    def test_what_the_server_said_of_a_failed_move_reaches_the_message(self) -> None:
        world = {**formed(), **{name: each for name, each in formed(4).items() if name.startswith("c-3-")}}
        world = with_node(world, "c-3-0", slots=Slots(), epoch=4)
        failure = MoveFailure(source=0, target=3, count=1, error="OOM at the target", at=NOW)
        record = ClusterRecord(formed=True, failures=(failure,))
        assert "OOM at the target" in (status_of(facts(world, shards=4, record=record)).message or "")

    def test_shards_that_shall_go_are_told_while_they_are_there(self) -> None:
        status = status_of(facts(formed(4), shards=3), ValkeyClusterStatus(state="Ready"))
        assert [shard.shard_index for shard in status.shards or []] == [0, 1, 2, 3]
        assert (status.total_shards, status.ready_shards) == (3, 3)

    def test_while_slots_move_nobody_is_blamed_for_not_having_heard_of_it(self) -> None:
        seen = {"c-1-0": {"slots": slots("5463-10922")}}
        world = with_node(formed(4), "c-0-1", sees=seen)
        assert condition(status_of(facts(world, shards=3)), ConditionType.VIEWS_DIFFER) is None


class TestChanges:
    """Of nodes, pods and directives."""

    BEFORE = ValkeyClusterStatus(state="Ready")

    def test_nodes_that_are_missing_are_counted(self) -> None:
        status = status_of(without(formed(), "c-2-1"), self.BEFORE)
        assert told(status) == ("Reconciling", "Changing")
        assert (status.message or "").startswith("1 of 6 nodes are to be made.")

    def test_pods_of_another_spec_are_named_and_not_more_than_a_person_reads(self) -> None:
        world = all_nodes(formed(5, 3), member={"stale": True})
        message = status_of(facts(world, shards=5, replicas=3), self.BEFORE).message or ""
        assert "c-0-0" in message
        assert "and 5 more are to be restarted for the new spec." in message

    def test_servers_with_other_directives_are_named(self) -> None:
        world = with_node(formed(), "c-1-1", member={"settings_digest": "new"})
        known = facts(world)
        changed = tuple(
            msgspec.structs.replace(each, view=msgspec.structs.replace(each.view, settings_digest="old"))
            if each.name == "c-1-1" and each.view
            else each
            for each in known.members
        )
        status = status_of(msgspec.structs.replace(known, members=changed), self.BEFORE)
        assert status.message == "c-1-1 is to take the changed directives."

    def test_a_restart_of_the_only_copy_is_announced(self) -> None:
        world = with_node(formed(3, 1), "c-1-0", member={"stale": True})
        found = condition(status_of(facts(world, replicas=1)), ConditionType.WRITES_STOP)
        assert found is not None
        assert (found.reason, found.message[:30]) == ("LastCopyRestarts", "c-1-0 is to be restarted for t")
        with_replica = with_node(formed(), "c-1-0", member={"stale": True})
        assert condition(status_of(with_replica), ConditionType.WRITES_STOP) is None

    def test_a_handover_that_comes_to_nothing_is_told_though_all_is_well(self) -> None:
        attempt = Attempt(
            shard=0,
            kind=FailoverKind.PLANNED,
            source=id_of("c-0-0"),
            target="c-0-1",
            at=NOW - timedelta(seconds=6),
            why="its machine is cordoned",
            tries=3,
        )
        world = with_node(formed(), "c-0-0", member={"cordoned": True})
        status = status_of(facts(world, record=ClusterRecord(formed=True, attempts=(attempt,))))
        assert status.state == "Ready"
        words = "Waits for c-0-0 to hand over (its machine is cordoned), which c-0-1 tried 3 times in vain"
        assert words in str(status.message)

    def test_a_failover_that_was_just_ordered_is_an_operation_of_its_shard(self) -> None:
        attempt = Attempt(shard=1, kind=FailoverKind.FORCE, source=id_of("c-1-0"), target="c-1-1", at=NOW)
        status = status_of(facts(formed(), record=ClusterRecord(formed=True, attempts=(attempt,))))
        operations = [shard.operation for shard in status.shards or []]
        assert operations[0] is None
        assert operations[1] is not None
        assert (operations[1].type, operations[1].target) == ("Failover", "c-1-1")


def test_a_spec_that_cannot_be_carried_out_leaves_what_runs_and_is_said() -> None:
    problem = Problem("spec.shards", "5", "set it to 3")
    status = status_of(formed(), problems=[problem])
    assert told(status) == ("Degraded", "InvalidSpec")
    valid = condition(status, ConditionType.SPEC_VALID)
    assert valid is not None
    assert (valid.status, valid.message) == ("False", "spec.shards is 5: set it to 3.")
    assert told(status_of({}, problems=[problem])) == ("Failed", "InvalidSpec")


def test_a_full_disk_names_who_refuses_writes() -> None:
    known = facts(formed())
    full = tuple(
        msgspec.structs.replace(each, view=msgspec.structs.replace(each.view, disk_error=DiskError.SNAPSHOT))
        if each.shard == 0 and each.view
        else each
        for each in known.members
    )
    status = status_of(msgspec.structs.replace(known, members=full))
    assert told(status) == ("Degraded", "CannotPersist")
    assert "The server of c-0-0 cannot save its snapshot" in (status.message or "")
    assert "c-0-1 cannot save its snapshot (rdb_last_bgsave_status is err), and would refuse" in (status.message or "")


def test_the_version_that_all_had_is_kept_while_they_differ() -> None:
    world = with_node(formed(), "c-0-1", version="9.1.3")
    assert status_of(world, ValkeyClusterStatus(version="9.1.2")).version == "9.1.2"


def test_what_is_told_twice_of_the_same_facts_is_the_same() -> None:
    once = status_of(formed())
    assert status_of(formed(), once) == once
