"""Which nodes exist, which may go, and whose pod is replaced next."""

import pytest

from tests.support.shards import (
    OTHER,
    a_primary,
    facts,
    in_state,
    member,
    parked,
    record,
    replica_of,
    switchover,
    waiting,
)
from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.facts import Member
from valkey_operator.core.shard.members import (
    first_record_names_primary,
    last_copy,
    needed_indices,
    next_eviction,
    next_turn,
    removable,
)
from valkey_operator.valkey.states import ProcessState

PRIMARY = member("x-0", a_primary())


def test_a_shard_without_volumes_or_nodes_from_before_simply_begins() -> None:
    assert first_record_names_primary([], [])
    assert not first_record_names_primary([2], [])
    assert not first_record_names_primary([], [0])


class TestNeededNodes:
    """What must exist now."""

    @staticmethod
    def needed(
        primary: str | None, replicas: int, *, existing: tuple[int, ...] = (), volumes: tuple[int, ...] = ()
    ) -> set[int]:
        return needed_indices("x", record(primary=primary), replicas=replicas, existing=existing, volumes=volumes)

    def test_as_many_as_are_asked_for(self) -> None:
        assert self.needed("x-0", 3) == {0, 1, 2}

    def test_none_where_the_shard_is_suspended(self) -> None:
        assert self.needed("x-2", 0, existing=(0, 1, 2), volumes=(0, 1, 2)) == set()

    def test_every_volume_from_before_while_nobody_is_primary(self) -> None:
        assert self.needed(None, 2, volumes=(1, 4)) == {0, 1, 4}

    @pytest.mark.parametrize(("existing", "volumes"), [((2,), ()), ((), (2,)), ((2,), (2,))])
    def test_a_primary_that_is_scaled_in_while_its_data_are_there(
        self, existing: tuple[int, ...], volumes: tuple[int, ...]
    ) -> None:
        assert self.needed("x-2", 1, existing=existing, volumes=volumes) == {0, 2}

    def test_no_primary_that_is_scaled_in_and_lost(self) -> None:
        assert self.needed("x-2", 1, existing=(0, 1), volumes=(0, 1)) == {0}

    def test_no_other_volume_once_there_is_a_primary(self) -> None:
        assert self.needed("x-0", 1, existing=(0, 1), volumes=(0, 1, 2)) == {0}

    def test_no_node_by_a_name_that_is_none_of_this_owner(self) -> None:
        assert self.needed("y-2", 1, existing=(2,), volumes=(2,)) == {0}


class TestRemovableNodes:
    """Which may go."""

    EXTRA = member("x-1", replica_of("x-0"), wanted=False)

    def test_all_where_the_shard_is_suspended(self) -> None:
        assert removable(facts(PRIMARY, self.EXTRA, replicas=0)) == ["x-0", "x-1"]

    def test_those_not_asked_for_once_the_primary_is_one_that_stays(self) -> None:
        assert removable(facts(PRIMARY, self.EXTRA)) == ["x-1"]

    def test_nobody_who_is_asked_for(self) -> None:
        assert removable(facts(PRIMARY, member("x-1", waiting()))) == []

    def test_nobody_who_could_take_over_on_record(self) -> None:
        assert removable(facts(PRIMARY, self.EXTRA, on_record=record(promotable=["x-1"]))) == []

    @pytest.mark.parametrize("view", [None, waiting(), parked(), in_state(ProcessState.GONE)])
    def test_nobody_while_the_primary_does_not_run_as_one(self, view: NodeView | None) -> None:
        assert removable(facts(member("x-0", view), self.EXTRA)) == []

    def test_nobody_while_the_primary_shall_go_itself(self) -> None:
        assert (
            removable(facts(member("x-1", a_primary(), wanted=False), replicas=1, on_record=record(primary="x-1")))
            == []
        )

    def test_nobody_while_the_primary_does_not_exist(self) -> None:
        assert removable(facts(self.EXTRA, on_record=record(primary="x-7"), replicas=1)) == []

    def test_nobody_while_a_switchover_is_under_way(self) -> None:
        assert removable(facts(PRIMARY, self.EXTRA, on_record=record(operation=switchover()))) == []


class TestTheNextTurn:
    """Whose pod is replaced for a changed spec."""

    FIRST = member("x-1", replica_of("x-0"), stale=True)
    SECOND = member("x-2", replica_of("x-0"), stale=True)
    STALE_PRIMARY = member("x-0", a_primary(), stale=True)

    def test_is_nobodys_where_no_pod_is_stale(self) -> None:
        assert next_turn(facts(PRIMARY, member("x-1", replica_of("x-0")))) is None

    def test_is_the_last_replicas(self) -> None:
        assert next_turn(facts(self.STALE_PRIMARY, self.FIRST, self.SECOND)) == "x-2"

    def test_is_nobodys_while_the_primary_is_missed(self) -> None:
        missing = member("x-1", replica_of("x-0", misses_primary=True), stale=True)
        assert next_turn(facts(self.STALE_PRIMARY, missing, on_record=record(promotable=["x-1"]))) is None

    def test_is_not_the_primarys_while_somebody_could_take_over(self) -> None:
        assert next_turn(facts(self.STALE_PRIMARY, member("x-1", replica_of("x-0")))) is None

    def test_is_a_lone_primarys_at_last(self) -> None:
        assert next_turn(facts(self.STALE_PRIMARY)) == "x-0"
        gone = member("x-1", replica_of("x-0"), wanted=False, stale=True)
        assert next_turn(facts(self.STALE_PRIMARY, gone)) == "x-0"

    def test_is_nobodys_who_shall_go_anyway(self) -> None:
        assert next_turn(facts(PRIMARY, member("x-1", replica_of("x-0"), wanted=False, stale=True))) is None

    def test_is_nobodys_while_a_switchover_is_under_way(self) -> None:
        assert next_turn(facts(PRIMARY, self.FIRST, on_record=record(operation=switchover()))) is None

    def test_is_nobodys_while_any_pod_leaves(self) -> None:
        leaving = member("x-2", replica_of("x-0"), pod_leaving=True)
        assert next_turn(facts(PRIMARY, self.FIRST, leaving)) is None

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param(replica_of("x-0", up=False), id="no link"),
            pytest.param(replica_of("x-0", syncing=True), id="it syncs"),
            pytest.param(replica_of("x-0", replication_id=OTHER), id="another history"),
            pytest.param(waiting(), id="at the gate"),
            pytest.param(None, id="silent"),
        ],
    )
    def test_is_nobodys_while_another_replica_is_not_in_sync(self, other: NodeView | None) -> None:
        assert next_turn(facts(PRIMARY, self.FIRST, member("x-2", other))) is None

    @pytest.mark.parametrize("view", [None, waiting(), parked()])
    def test_is_nobodys_while_the_primary_does_not_run_as_one(self, view: NodeView | None) -> None:
        assert next_turn(facts(member("x-0", view), self.FIRST)) is None

    def test_is_nobodys_while_the_primary_does_not_exist(self) -> None:
        assert next_turn(facts(self.FIRST, on_record=record(primary="x-7"))) is None

    @pytest.mark.parametrize(
        "broken",
        [
            pytest.param(member("x-1", None, server_started=False, pod_ready=False, stale=True), id="never came up"),
            pytest.param(member("x-1", waiting(), pod_ready=False, stale=True), id="at the gate"),
        ],
    )
    def test_is_at_once_that_of_a_pod_with_no_memory_to_lose(self, broken: Member) -> None:
        assert next_turn(facts(member("x-0"), broken, member("x-2", waiting()))) == "x-1"

    def test_is_at_once_a_primarys_that_has_no_memory_to_lose_since_nothing_else_would_mend_it(self) -> None:
        broken = member("x-0", None, server_started=False, pod_ready=False, stale=True)
        assert next_turn(facts(broken, member("x-1"))) == "x-0"

    def test_is_not_at_once_that_of_a_server_that_runs_unheard(self) -> None:
        unheard = member("x-1", None, pod_ready=False, stale=True)
        assert next_turn(facts(PRIMARY, unheard, member("x-2", waiting()))) is None


class TestTheNextEviction:
    """Where all pods are guarded: the one that may go."""

    CORDONED = member("x-1", replica_of("x-0"), cordoned=True)
    OTHER_REPLICA = member("x-2", replica_of("x-0"))

    def test_is_that_of_a_replica_whose_machine_is_cordoned(self) -> None:
        assert next_eviction(facts(PRIMARY, self.CORDONED, self.OTHER_REPLICA)) == "x-1"

    def test_is_one_at_a_time(self) -> None:
        both = member("x-2", replica_of("x-0"), cordoned=True)
        assert next_eviction(facts(PRIMARY, self.CORDONED, both)) == "x-2"

    def test_is_never_that_of_the_primary(self) -> None:
        primary = member("x-0", a_primary(), cordoned=True)
        assert next_eviction(facts(primary, member("x-1", replica_of("x-0")))) is None
        assert next_eviction(facts(primary)) is None

    def test_is_nobodys_where_no_machine_is_cordoned(self) -> None:
        assert next_eviction(facts(PRIMARY, self.OTHER_REPLICA)) is None

    @pytest.mark.parametrize(
        "other",
        [
            pytest.param(member("x-2", replica_of("x-0", up=False)), id="not in sync"),
            pytest.param(member("x-2", replica_of("x-0"), pod_leaving=True), id="being replaced"),
            pytest.param(member("x-2", replica_of("x-0"), stale=True), id="to be replaced"),
            pytest.param(member("x-2"), id="silent"),
        ],
    )
    def test_waits_until_all_others_are_well(self, other: Member) -> None:
        assert next_eviction(facts(PRIMARY, self.CORDONED, other)) is None

    def test_waits_for_the_end_of_a_switchover(self) -> None:
        on_record = record(operation=switchover())
        assert next_eviction(facts(PRIMARY, self.CORDONED, self.OTHER_REPLICA, on_record=on_record)) is None

    def test_waits_for_a_primary(self) -> None:
        assert next_eviction(facts(self.CORDONED, self.OTHER_REPLICA, on_record=record(primary=None))) is None


class TestTheLastCopy:
    """A primary whose restart stops writes."""

    STALE = member("x-0", a_primary(), stale=True)

    def test_is_a_primary_that_is_alone_and_has_to_be_restarted(self) -> None:
        assert last_copy(facts(self.STALE)) == "x-0"
        assert last_copy(facts(self.STALE, member("x-1", replica_of("x-0"), wanted=False))) == "x-0"

    def test_is_not_one_that_can_hand_over(self) -> None:
        assert last_copy(facts(self.STALE, member("x-1", replica_of("x-0")))) is None

    def test_is_not_one_that_stays_as_it_is(self) -> None:
        assert last_copy(facts(PRIMARY)) is None

    @pytest.mark.parametrize("view", [None, waiting(), parked(), in_state(ProcessState.GONE)])
    def test_is_not_one_that_takes_no_writes_anyway(self, view: NodeView | None) -> None:
        assert last_copy(facts(member("x-0", view, stale=True))) is None
