"""What agents of cluster nodes say, in the operator's own words, and values of orders in theirs.

Owns: which field means what. Refuses to know: over which wire, and what follows from it.
What is not understood is taken for silence, never for a guess.
"""

from collections.abc import Callable, Mapping
from typing import Any

from valkey_operator.core.cluster.facts import FailoverKind
from valkey_operator.core.node_view import ClusterNodeView
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import Announced, BusAddress
from valkey_operator.valkey.cluster_nodes import ClusterError, MigrationState, NodesView, SlotMigration, parse_nodes
from valkey_operator.valkey.slots import Slots, SlotsError, parse_slots

_STATES = {pb.MigrationState.Value(f"MIGRATION_STATE_{state.name}"): state for state in MigrationState}


def _wire_address(address: BusAddress) -> pb.BusAddress:
    return pb.BusAddress(host=address.host, port=address.port, bus_port=address.bus_port)


CLUSTER_SPELLINGS: Mapping[type, Callable[[Any], object]] = {
    BusAddress: _wire_address,
    Announced: lambda value: pb.Announced(address=_wire_address(value.address), hostname=value.hostname),
    Slots: str,
    FailoverKind: lambda value: f"FAILOVER_KIND_{value.name}",
}
"""How values of orders to cluster nodes are written in messages."""


def cluster_view_of(state: pb.ClusterState) -> ClusterNodeView | None:
    """What a server knows of its cluster; None where nobody understands whom it knows."""
    seen = nodes_view_of(state.nodes)
    if seen is None:
        return None
    migrations = (_migration(each) for each in state.migrations)
    return ClusterNodeView(
        seen=seen,
        serves=state.serves,
        migrations=tuple(each for each in migrations if each is not None),
        keys=state.keys,
        keys_in_slots=dict(state.keys_in_slots),
        used_bytes=state.used_bytes,
        limit_bytes=state.limit_bytes or None,
    )


def nodes_view_of(text: str) -> NodesView | None:
    """CLUSTER NODES or nodes.conf; None: there is none, or it is not understood."""
    try:
        return parse_nodes(text) if text else None
    except ClusterError:
        return None


def _migration(message: pb.SlotMigration) -> SlotMigration | None:
    try:
        slots = parse_slots(message.slots)
    except SlotsError:
        return None
    return SlotMigration(
        name=message.name,
        importing=message.importing,
        source=message.source_id,
        target=message.target_id,
        slots=slots,
        # One that nobody knows the end of keeps others away, which is the safe side.
        state=_STATES.get(message.state, MigrationState.UNDER_WAY),
        message=message.message,
        updated_s=message.updated_s,
    )
