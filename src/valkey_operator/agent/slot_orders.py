"""Orders about slots on their way from one node to another: all at once, or key by key.

Owns: that an order may be given again, and does then what is left of it; and that no slot is taken from an owner that
does not give it: a server would do so on SETSLOT … NODE. Refuses to know: how keys travel (slot_moves.py), and when a
slot is settled at which end.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from valkey_operator.agent.cluster_server import ClusterServer, check_id, check_slots, range_words
from valkey_operator.agent.node import Node
from valkey_operator.agent.orders import Refusal, check_address, check_running
from valkey_operator.agent.slot_moves import Route, move_keys
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.cluster_nodes import NodeLine
from valkey_operator.valkey.slots import NO_SLOTS, Slots, slot_range, union

GIVE_S = 1.0
MOST_GIVE_S = 10.0
# A portion that was begun in time ends in time: in all less than the 3 s that the operator waits.
LAST_PORTION_S = 1.5
_USER = "default"


class SlotOrders:
    """Carries orders out at the server of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._server = ClusterServer(node)
        self.by_name: dict[str, Callable[[Any], Awaitable[None]]] = {
            "MigrateSlots": self._migrate_slots,
            "CancelMigrations": self._cancel_migrations,
            "TakeSlots": self._take_slots,
            "GiveSlots": self._give_slots,
            "SettleSlots": self._settle_slots,
        }

    async def _migrate_slots(self, request: pb.MigrateSlotsRequest) -> None:
        wanted, target = check_slots(request.slots), check_id(request.target_id)
        line = (await self._server.seen()).line(target)
        leaving = union(each.slots for each in await self._server.exports_under_way() if each.target == target)
        left = wanted - (line.slots if line else NO_SLOTS) - leaving
        if left:
            await self._server.command("MIGRATESLOTS", "SLOTSRANGE", *range_words(left), "NODE", target)

    async def _cancel_migrations(self, _request: pb.CancelMigrationsRequest) -> None:
        if await self._server.exports_under_way():
            await self._server.command("CANCELSLOTMIGRATIONS")

    async def _take_slots(self, request: pb.TakeSlotsRequest) -> None:
        wanted, source = check_slots(request.slots), check_id(request.source_id)
        own = (await self._server.seen()).myself
        new = wanted - own.slots - _open(own, importing=True, peer=source)
        await self._server.set_slots(new, "IMPORTING", source)

    async def _give_slots(self, request: pb.GiveSlotsRequest) -> None:
        wanted, target = check_slots(request.slots), check_id(request.target_id)
        begun = asyncio.get_running_loop().time()
        within_s = min(request.within_ms / 1000 or GIVE_S, MOST_GIVE_S)
        route = await self._route(request.target)
        own = (await self._server.seen()).myself
        mine = wanted & own.slots
        new = mine - _open(own, importing=False, peer=target)
        await self._server.set_slots(new, "MIGRATING", target, within_s=max(within_s, GIVE_S))
        mover = self._node.another_connection(binary=True)
        try:
            await move_keys(mover, mine, route, until=begun + within_s, end_by=begun + within_s + LAST_PORTION_S)
        finally:
            mover.close()

    async def _route(self, target: pb.Address) -> Route:
        """A target that is silent is given up before the others take the source, which waits for it, for failed."""
        address = check_address(target)
        check_running(self._node.report.facts)
        _, timeout_ms = await self._node.connection.call("CONFIG", "GET", "cluster-node-timeout")
        return Route(
            target=address, user=_USER, password=self._node.read_password(), idle_ms=max(1, int(timeout_ms) // 2)
        )

    async def _settle_slots(self, request: pb.SettleSlotsRequest) -> None:
        """For all that are named, open or not: by gossip a primary closes its own, and its replicas learn nothing."""
        wanted = check_slots(request.slots)
        own = (await self._server.seen()).myself
        if not request.owner_id:
            return await self._server.set_slots(wanted, "STABLE")
        owner = check_id(request.owner_id)
        if owner == own.id and (stolen := wanted - own.slots - _open(own, importing=True)):
            raise Refusal(pb.OUTCOME_OTHER_STATE, f"the node neither owns nor takes the slots {stolen}")
        return await self._server.set_slots(wanted, "NODE", owner)


def _open(line: NodeLine, *, importing: bool, peer: str | None = None) -> Slots:
    """Slots that a node takes, or gives, key by key; with `peer` only those of that one."""
    return union(
        slot_range(each.slot, each.slot)
        for each in line.open_slots
        if each.importing is importing and peer in {None, each.peer}
    )
