"""What cluster nodes of every version say of each other is what our parser understands, and our steps rely on."""

import pytest
import valkey

from tests.valkey.clusters import cluster_nodes, command, migrations_of, nodes_of, serves, wait_until
from tests.valkey.servers import Server
from valkey_operator.core.cluster.slots import first_slots
from valkey_operator.valkey.cluster_nodes import MigrationState, OpenSlot
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import Slots, slot_range


def form(servers: list[Server]) -> list[str]:
    """Three primaries with all slots, and replicas behind them; the ids of all."""
    for epoch, server in enumerate(servers, start=1):
        command(server, "SET-CONFIG-EPOCH", epoch)
    for server, slots in zip(servers, first_slots(3), strict=False):
        command(server, "ADDSLOTSRANGE", *next(slots.ranges()))
    for number, server in enumerate(servers):
        for other in servers[:number]:
            command(server, "MEET", "127.0.0.1", other.port, bus_port(other))
    wait_until("all know all", lambda: all(len(nodes_of(each).others) == len(servers) - 1 for each in servers))
    wait_until("hands are shaken", lambda: all(line.role for each in servers for line in nodes_of(each).lines))
    ids = [nodes_of(server).myself.id for server in servers]
    for number, server in enumerate(servers[3:]):
        command(server, "REPLICATE", ids[number])
    wait_until("all serve", lambda: all(serves(server) for server in servers))
    return ids


def bus_port(server: Server) -> int:
    with server.client() as client:
        return int(client.config_get("cluster-port")["cluster-port"])


def has_succeeded(server: Server) -> bool:
    return migrations_of(server)[0].state is MigrationState.SUCCESS


def slots_of(node_id: str, seen_by: Server) -> Slots:
    line = nodes_of(seen_by).line(node_id)
    assert line, f"{node_id} is not known there"
    return line.slots


@pytest.mark.every_version
def test_a_cluster_that_is_formed_by_our_commands_is_seen_alike_by_all(version: str) -> None:
    with cluster_nodes(version, 4) as servers:
        ids = form(servers)
        for server in servers:
            view = nodes_of(server)
            assert [slots_of(node_id, server) for node_id in ids[:3]] == first_slots(3)
            assert {line.hostname for line in view.lines} == {"c-0", "c-1", "c-2", "c-3"}
        copy = nodes_of(servers[3]).myself
        assert (copy.role, copy.primary, copy.epoch) == (Role.REPLICA, ids[0], 1)


@pytest.mark.every_version
def test_an_epoch_is_refused_by_a_node_that_knows_another(version: str) -> None:
    with cluster_nodes(version, 2) as (server, other):
        command(server, "MEET", "127.0.0.1", other.port, bus_port(other))
        with pytest.raises(valkey.ResponseError, match="only when the node does not know any other node"):
            command(server, "SET-CONFIG-EPOCH", 7)


@pytest.mark.every_version
def test_an_open_slot_is_seen_on_both_sides_and_is_settled_at_the_target_first(version: str) -> None:
    with cluster_nodes(version, 3) as servers:
        ids = form(servers)
        source, target = servers[:2]
        command(target, "SETSLOT", 7, "IMPORTING", ids[0])
        command(source, "SETSLOT", 7, "MIGRATING", ids[1])
        assert nodes_of(source).myself.open_slots == (OpenSlot(slot=7, importing=False, peer=ids[1]),)
        assert nodes_of(target).myself.open_slots == (OpenSlot(slot=7, importing=True, peer=ids[0]),)
        command(target, "SETSLOT", 7, "NODE", ids[1])
        command(source, "SETSLOT", 7, "NODE", ids[1])
        assert (nodes_of(target).myself.open_slots, nodes_of(source).myself.open_slots) == ((), ())
        assert 7 in nodes_of(target).myself.slots
        # The new owner has a new epoch, higher than all: that is why the others believe it.
        assert nodes_of(target).myself.epoch > 3
        wait_until("all believe it", lambda: all(7 in slots_of(ids[1], each) for each in servers))


def test_an_atomic_migration_is_remembered_by_both_with_its_end(version: str) -> None:
    with cluster_nodes(version, 3) as servers:
        ids = form(servers)
        command(servers[0], "MIGRATESLOTS", "SLOTSRANGE", 0, 9, 20, 29, "NODE", ids[1])
        wait_until("both say so", lambda: all(has_succeeded(server) for server in servers[:2]))
        for server in servers[:2]:
            (found,) = migrations_of(server)
            assert (found.source, found.target) == (ids[0], ids[1])
            assert found.slots == slot_range(0, 9) | slot_range(20, 29)
        assert 25 in nodes_of(servers[1]).myself.slots


def test_an_atomic_migration_to_a_replica_is_accepted_and_fails_later(version: str) -> None:
    """So an answer of OK says nothing; only the log does."""
    with cluster_nodes(version, 4) as servers:
        ids = form(servers)
        command(servers[1], "MIGRATESLOTS", "SLOTSRANGE", 6000, 6000, "NODE", ids[3])
        wait_until("it fails", lambda: migrations_of(servers[1])[0].state is MigrationState.FAILED)
        assert migrations_of(servers[1])[0].message
