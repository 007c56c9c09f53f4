"""The planner's steps do to real servers what they are meant to do, in every version."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import valkey

from tests.valkey.clusters import cluster_nodes, command, migrations_of, nodes_of, serves
from tests.valkey.planned_cluster import PlannedCluster
from tests.valkey.servers import NEWEST, Server
from valkey_operator.core.cluster.facts import FailoverKind
from valkey_operator.core.cluster.roles import look_at
from valkey_operator.core.cluster.scale import removable
from valkey_operator.core.cluster.slots import first_slots
from valkey_operator.core.cluster.view import merge_views
from valkey_operator.valkey.cluster_nodes import MigrationState
from valkey_operator.valkey.slots import ALL_SLOTS

pytestmark = [pytest.mark.every_version, pytest.mark.timeout(300)]

SIX = ("c-0-0", "c-0-1", "c-1-0", "c-1-1", "c-2-0", "c-2-1")


@contextmanager
def planned(version: str, *more: str) -> Iterator[PlannedCluster]:
    """A formed cluster of three shards with a replica each; further nodes run, and nobody knows them yet."""
    names = (*SIX, *more)
    with cluster_nodes(version, len(names), names) as servers:
        everybody = dict(zip(names, servers, strict=True))
        cluster = PlannedCluster({name: everybody[name] for name in SIX})
        cluster.work_until("it is formed", lambda: is_well(cluster))
        cluster.servers = everybody
        yield cluster


def is_well(cluster: PlannedCluster) -> bool:
    facts = cluster.facts()
    view = merge_views(facts)
    running = [each for each in facts.members if each.seen is not None]
    linked = all(each.view is not None and (each.view.link is None or each.view.link.up) for each in running)
    serving = all(serves(cluster.servers[each.name]) for each in running)
    whole = view.assigned == ALL_SLOTS and not (view.dissenters or view.disputed or view.open_slots)
    return whole and linked and serving and cluster.record.formed


def fill(cluster: PlannedCluster) -> set[str]:
    with valkey.ValkeyCluster(host="127.0.0.1", port=cluster.servers["c-0-0"].port, decode_responses=True) as client:
        keys = {f"key-{number}" for number in range(2000)}
        for key in keys:
            client.set(key, key)
        return keys


def lost_keys(cluster: PlannedCluster, keys: set[str]) -> set[str]:
    live = next(server for server in cluster.servers.values() if server.process.poll() is None)
    with valkey.ValkeyCluster(host="127.0.0.1", port=live.port, decode_responses=True) as client:
        return {key for key in keys if client.get(key) != key}


def test_a_cluster_is_formed_without_a_refusal(version: str) -> None:
    with planned(version) as cluster:
        held = look_at(cluster.facts()).held_slots()
        assert [held[shard] for shard in range(3)] == first_slots(3)
        assert cluster.refusals == []


def test_a_primary_that_died_is_replaced_by_its_replica_at_once(version: str) -> None:
    with planned(version) as cluster:
        end(cluster, "c-1-0")
        took_s = cluster.work_until("its replica has its slots", lambda: bool(cluster.slots_of("c-1-1")))
        # The node timeout is 2 s; without the order it would take longer than that.
        assert took_s < 1.5


def test_two_of_three_primaries_that_died_are_replaced_one_by_takeover_one_by_votes(version: str) -> None:
    with planned(version) as cluster:
        for name in ("c-0-0", "c-1-0"):
            end(cluster, name)
        took_s = cluster.work_until("all slots are served", lambda: is_well(cluster))
        assert {attempt.kind for attempt in cluster.record.attempts} == {FailoverKind.TAKEOVER, FailoverKind.FORCE}
        assert took_s < 8


def test_a_node_that_was_removed_is_forgotten_by_all(version: str) -> None:
    with planned(version) as cluster:
        end(cluster, "c-2-1")
        del cluster.servers["c-2-1"]
        cluster.work_until(
            "nobody knows it", lambda: {len(nodes_of(each).others) for each in cluster.servers.values()} == {4}
        )
        assert cluster.refusals == []


def end(cluster: PlannedCluster, name: str) -> None:
    process = cluster.servers[name].process
    process.kill()
    process.wait(timeout=10)


def test_a_shard_is_added_without_losing_a_key(version: str) -> None:
    with planned(version, "c-3-0", "c-3-1") as cluster:
        keys = fill(cluster)
        cluster.shards = 4
        cluster.work_until("four shards share the slots", lambda: is_well(cluster) and shares(cluster) == [4096] * 4)
        assert lost_keys(cluster, keys) == set()
        assert cluster.refusals == []


def test_a_shard_that_was_added_is_emptied_again_and_may_go(version: str) -> None:
    if version != NEWEST:
        pytest.skip("a thousand slots take four seconds there, key by key or empty")
    with planned(version, "c-3-0", "c-3-1") as cluster:
        keys = fill(cluster)
        cluster.shards = 4
        cluster.work_until("four shards share the slots", lambda: is_well(cluster) and shares(cluster) == [4096] * 4)
        cluster.shards = 3
        cluster.work_until("the fourth is proven empty", lambda: gone(cluster) == ["c-3-0", "c-3-1"])
        assert [look_at(cluster.facts()).held_slots()[shard] for shard in range(3)] == first_slots(3)
        assert lost_keys(cluster, keys) == set()


def test_a_primary_that_is_stopped_while_its_slots_move_hands_over_at_once_without_losing_a_key(version: str) -> None:
    if version != NEWEST:
        pytest.skip("only there slots move all at once")
    with planned(version, "c-3-0", "c-3-1") as cluster:
        keys = fill(cluster)
        cluster.shards = 4
        giver = cluster.servers["c-0-0"]
        while not any(each.state is MigrationState.UNDER_WAY for each in migrations_of(giver)):
            cluster.look()
        cluster.leaving.add("c-0-0")
        took_s = cluster.work_until("its replica has the slots", lambda: bool(cluster.slots_of("c-0-1")))
        states = [each.state for each in migrations_of(giver)]
        assert MigrationState.CANCELLED in states, (states, took_s)
        cluster.leaving.clear()
        cluster.work_until("four shards share the slots", lambda: is_well(cluster) and shares(cluster) == [4096] * 4)
        assert lost_keys(cluster, keys) == set()
        assert cluster.refusals == []


def test_a_server_with_the_highest_epoch_keeps_it_until_another_one_went_ahead(version: str) -> None:
    with planned(version) as cluster:
        first, second = cluster.servers["c-0-0"], cluster.servers["c-1-0"]

        def epoch(server: Server) -> int:
            return nodes_of(server).myself.epoch

        def both_know() -> bool:
            lines = [(nodes_of(one).line(nodes_of(other).myself.id), epoch(other)) for one, other in pairs]
            return all(line is not None and line.epoch == known for line, known in lines)

        pairs = [(first, second), (second, first)]
        command(first, "BUMPEPOCH")
        cluster.work_until("each knows the other's epoch", both_know)
        highest = epoch(first)
        assert str(command(first, "BUMPEPOCH")).startswith("STILL")
        assert str(command(second, "BUMPEPOCH")).startswith("BUMPED")
        cluster.work_until("each knows the other's epoch again", both_know)
        assert str(command(first, "BUMPEPOCH")).startswith("BUMPED")
        assert (epoch(second), epoch(first)) == (highest + 1, highest + 2)


def gone(cluster: PlannedCluster) -> list[str]:
    return removable(look_at(cluster.facts()))


def shares(cluster: PlannedCluster) -> list[int]:
    return [len(slots) for _, slots in sorted(look_at(cluster.facts()).held_slots().items())]


@pytest.mark.parametrize("sides", ["source", "target", "both"])
def test_a_slot_that_was_left_open_is_closed_without_losing_a_key(version: str, sides: str) -> None:
    with planned(version) as cluster:
        keys = fill(cluster)
        source, target = cluster.servers["c-0-0"], cluster.servers["c-1-0"]
        ids = [nodes_of(server).myself.id for server in (source, target)]
        slot = next(slot for slot in range(5000) if command(source, "COUNTKEYSINSLOT", slot))
        if sides != "source":
            command(target, "SETSLOT", slot, "IMPORTING", ids[0])
        if sides != "target":
            command(source, "SETSLOT", slot, "MIGRATING", ids[1])
        cluster.work_until("it is closed", lambda: is_well(cluster))
        assert lost_keys(cluster, keys) == set()


def test_a_primary_hands_over_when_it_shall_go(version: str) -> None:
    with planned(version) as cluster:
        command(cluster.servers["c-0-1"], "FAILOVER")
        cluster.work_until("the other one has the slots", lambda: bool(cluster.slots_of("c-0-1")) and is_well(cluster))
        cluster.replicas = 1
        cluster.work_until("the replicas may go", lambda: gone(cluster) == ["c-0-1", "c-1-1", "c-2-1"])
        assert cluster.slots_of("c-0-0") == first_slots(3)[0]
