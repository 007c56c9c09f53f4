"""Asks the server for all that a report contains, also where it is in cluster mode.

Owns: which commands that takes, and that a server in no cluster mode is asked none of them. Refuses to know: what is
news (cluster_state.py).
"""

import msgspec

from valkey_operator.agent.cluster_state import ClusterState, worth_telling
from valkey_operator.agent.server import ServerConnection, ServerError, ServerView, observe_server
from valkey_operator.valkey.cluster_nodes import (
    ClusterError,
    NodeLine,
    NodesView,
    SlotMigration,
    own_line,
    parse_cluster_info,
    parse_links,
    parse_nodes,
    parse_slot_migrations,
)
from valkey_operator.valkey.info import (
    InfoError,
    Role,
    ServerMode,
    Version,
    parse_keys,
    parse_memory,
    parse_sections,
)
from valkey_operator.valkey.nodes_text import stable_nodes
from valkey_operator.valkey.states import Health

FIRST_WITH_MIGRATIONS = Version(9, 0, 0)


async def observe_node(connection: ServerConnection) -> ServerView:
    """What the server says of itself and of its cluster; never raises for what a server does."""
    view = await observe_server(connection)
    if view.server is None or view.server.mode is not ServerMode.CLUSTER or view.health is not Health.ANSWERS:
        return view
    try:
        return msgspec.structs.replace(view, cluster=await _observe_cluster(connection, view.server.version))
    except ServerError as error:
        return msgspec.structs.replace(view, health=error.health)
    except (ClusterError, InfoError):
        return msgspec.structs.replace(view, health=Health.REFUSES)


async def read_nodes(connection: ServerConnection) -> NodesView:
    """Whom the server knows at this moment; raises ServerError and ClusterError."""
    return parse_nodes(str(await connection.call("CLUSTER", "NODES")))


async def read_links(connection: ServerConnection) -> frozenset[str]:
    """Who has a link to the server at this moment; raises ServerError and ClusterError."""
    return parse_links(await connection.call("CLUSTER", "LINKS"))


async def read_migrations(connection: ServerConnection) -> tuple[SlotMigration, ...]:
    """The atomic migrations that it remembers; raises ServerError and ClusterError."""
    return parse_slot_migrations(await connection.call("CLUSTER", "GETSLOTMIGRATIONS"))


async def _observe_cluster(connection: ServerConnection, version: Version) -> ClusterState:
    nodes = str(await connection.call("CLUSTER", "NODES"))
    own = own_line(nodes)
    info = parse_cluster_info(str(await connection.call("CLUSTER", "INFO")))
    sections = parse_sections(str(await connection.call("INFO", "memory", "keyspace")))
    memory = parse_memory(sections)
    migrations = await read_migrations(connection) if version >= FIRST_WITH_MIGRATIONS else ()
    return ClusterState(
        nodes=stable_nodes(nodes),
        serves=info.serves,
        config_epoch=own.epoch,
        owns_slots=bool(own.slots),
        migrations=worth_telling(migrations),
        keys=parse_keys(sections),
        keys_in_slots=await _count_keys(connection, own),
        used_bytes=memory.used_bytes,
        limit_bytes=memory.limit_bytes,
    )


async def _count_keys(connection: ServerConnection, own: NodeLine) -> tuple[tuple[int, int], ...]:
    """Of each open slot; a replica has them open like its primary, which tells."""
    slots = sorted({each.slot for each in own.open_slots}) if own.role is Role.PRIMARY else []
    counts = await connection.call_each([("CLUSTER", "COUNTKEYSINSLOT", slot) for slot in slots])
    return tuple(zip(slots, map(int, counts), strict=True))
