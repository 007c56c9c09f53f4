"""Orders to a server in cluster mode: whom it knows, whom it follows, and whether it is primary.

Owns: that an order may be given again, and does then what is left of it; and which ones are refused because the node is
not what they take it for. A server checks much by itself, and its words reach whoever ordered. Refuses to know: slots
on their way (slot_orders.py), who may give orders (orders.py), and why one was given.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from valkey_operator.agent.cluster_server import ClusterServer, check_id, check_slots, range_words
from valkey_operator.agent.cluster_votes import wait_for_voters
from valkey_operator.agent.node import Node
from valkey_operator.agent.orders import Refusal, check_bus_address
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.info import Role

WATCH_S = 2.0
# With what comes after it less than the operator waits.
VOTERS_WITHIN_S = 0.8
LOOK_EVERY_S = 0.005
# It empties a replica, which takes its time on a large one; the operator waits 3 s.
RESET_WITHIN_S = 2.5
_PRIMARY = "master"
_FAILOVERS: dict[int, tuple[str, ...]] = {
    pb.FAILOVER_KIND_PLANNED: (),
    pb.FAILOVER_KIND_FORCE: ("FORCE",),
    pb.FAILOVER_KIND_TAKEOVER: ("TAKEOVER",),
}


class ClusterOrders:
    """Carries orders out at the server of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._server = ClusterServer(node)
        self.by_name: dict[str, Callable[[Any], Awaitable[None]]] = {
            "SetConfigEpoch": self._set_config_epoch,
            "AddSlots": self._add_slots,
            "Meet": self._meet,
            "Replicate": self._replicate,
            "Reset": self._reset,
            "Failover": self._failover,
            "BumpEpoch": self._bump_epoch,
            "Forget": self._forget,
        }

    async def _set_config_epoch(self, request: pb.SetConfigEpochRequest) -> None:
        if (await self._server.seen()).myself.epoch != request.config_epoch:
            await self._server.command("SET-CONFIG-EPOCH", request.config_epoch)

    async def _add_slots(self, request: pb.AddSlotsRequest) -> None:
        missing = check_slots(request.slots) - (await self._server.seen()).myself.slots
        if missing:
            await self._server.command("ADDSLOTSRANGE", *range_words(missing))

    async def _meet(self, request: pb.MeetRequest) -> None:
        peers = [check_bus_address(each) for each in request.peers]
        for peer in peers:
            await self._server.command("MEET", peer.host, peer.port, peer.bus_port)

    async def _replicate(self, request: pb.ReplicateRequest) -> None:
        primary = check_id(request.primary_id)
        if (await self._server.seen()).myself.primary != primary:
            await self._server.command("REPLICATE", primary)
            await self._node.lose_whole()

    async def _reset(self, _request: pb.ResetRequest) -> None:
        seen = await self._server.seen()
        if seen.myself.slots:
            raise Refusal(pb.OUTCOME_OTHER_STATE, f"the node owns the slots {seen.myself.slots}, and is not reset")
        if seen.others or seen.myself.role is not Role.PRIMARY:
            await self._server.command("RESET", "SOFT", timeout_s=RESET_WITHIN_S)

    async def _failover(self, request: pb.FailoverRequest) -> None:
        how = _FAILOVERS.get(request.kind)
        if how is None:
            raise Refusal(pb.OUTCOME_BAD_ORDER, f"kind of failover {request.kind} is not known to this agent")
        own = (await self._server.seen()).myself
        if own.role is Role.PRIMARY:
            return
        if request.primary_id and own.primary != request.primary_id:
            sentence = f"the node follows {own.primary}, and {request.primary_id!r} was meant"
            raise Refusal(pb.OUTCOME_OTHER_STATE, sentence)
        if request.kind != pb.FAILOVER_KIND_TAKEOVER:
            await self._check_voters(request.kind)
        await self._server.command("FAILOVER", *how)
        await self._watch_failover(request.within_ms / 1000 or WATCH_S)

    async def _check_voters(self, kind: pb.FailoverKind) -> None:
        """A primary that hands over refuses writes until the votes have come; a dead one refuses them anyway."""
        missing = await wait_for_voters(self._server, within_s=VOTERS_WITHIN_S)
        if missing and kind == pb.FAILOVER_KIND_PLANNED:
            raise Refusal(pb.OUTCOME_UNFINISHED, missing)

    async def _watch_failover(self, within_s: float) -> None:
        """An answer of OK says nothing: whether it is primary is for the others to decide."""
        clock = asyncio.get_running_loop().time
        deadline = clock() + within_s
        while (await self._node.connection.call("ROLE"))[0] != _PRIMARY:
            if clock() > deadline:
                raise Refusal(pb.OUTCOME_UNFINISHED, f"the node is no primary after {within_s:g} s, and may become one")
            await asyncio.sleep(LOOK_EVERY_S)

    async def _bump_epoch(self, _request: pb.BumpEpochRequest) -> None:
        await self._server.command("BUMPEPOCH")

    async def _forget(self, request: pb.ForgetRequest) -> None:
        if (await self._server.seen()).line(check_id(request.id)) is not None:
            await self._server.command("FORGET", request.id)
