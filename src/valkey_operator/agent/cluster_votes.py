"""Whether the other nodes of a cluster could elect the server beside us: each sends its vote over its own link to us.

After a pod was replaced the others keep theirs to the former one, for up to cluster-node-timeout. Whatever they grant
is lost then, and a primary that hands over refuses writes for as long. CLUSTER MEET makes them drop the old link.
Owns: who has a link, and asking for new ones. Refuses to know: when a failover is ordered (cluster_orders.py).
"""

import asyncio
from collections.abc import Iterable

from valkey_operator.agent.cluster_server import ClusterServer
from valkey_operator.valkey.cluster_nodes import NodeLine, NodesView
from valkey_operator.valkey.info import Role

LOOK_EVERY_S = 0.02
# Who has shaken hands drops its link for it, and makes the next one within 0.1 s.
SETTLED_AFTER_S = 0.25


async def wait_for_voters(server: ClusterServer, *, within_s: float) -> str | None:
    """Until enough of them have a link to us; else what is missing. Raises Refusal and ServerError."""
    clock = asyncio.get_running_loop().time
    deadline = clock() + within_s
    settled_at, have_asked = 0.0, False
    while True:
        seen, linked = await server.seen(), await server.linked()
        if any(line.role is None for line in seen.others):
            settled_at = clock() + SETTLED_AFTER_S
        missing = missing_voters(seen, linked)
        if missing is None and clock() >= settled_at:
            return None
        if clock() > deadline:
            return missing or "others have just made new links"
        if have_asked or missing is None:
            await asyncio.sleep(LOOK_EVERY_S)
        else:
            await _ask_for_links(server, [line for line in _voters(seen) if line.id not in linked])
        have_asked = True


async def _ask_for_links(server: ClusterServer, voters: Iterable[NodeLine]) -> None:
    for line in voters:
        if line.address is not None:
            await server.command("MEET", line.address.host, line.address.port, line.bus_port)


def missing_voters(seen: NodesView, linked: frozenset[str]) -> str | None:
    """Which owners of slots have no link, if those that have one are no majority."""
    voters = _voters(seen)
    silent = [line.hostname or line.id for line in voters if line.id not in linked]
    enough = len(voters) - len(silent) > len(voters) // 2
    return None if enough or not voters else f"{', '.join(silent)} cannot send their votes yet"


def _voters(seen: NodesView) -> list[NodeLine]:
    return [line for line in seen.others if line.role is Role.PRIMARY and line.slots]
