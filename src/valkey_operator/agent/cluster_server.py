"""The server beside us as a cluster node: what orders ask of it, and the words that they name slots and nodes by.

Owns: that only a running server is spoken with, and that an answer nobody understands is a refusal. Refuses to know:
which order it is for.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from valkey_operator.agent.cluster_look import read_links, read_migrations, read_nodes
from valkey_operator.agent.node import Node
from valkey_operator.agent.orders import Refusal, check_running
from valkey_operator.agent.server import ServerConnection, Words
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.cluster_nodes import ClusterError, MigrationState, NodesView, SlotMigration
from valkey_operator.valkey.slots import Slots, SlotsError, parse_slots

# Until all replicas of a primary have heard of a change of a slot; one that is behind must not hold up all others.
SETSLOT_WITHIN_MS = 500
LANES = 8
# Less than the operator waits.
SET_SLOTS_WITHIN_S = 2.0
_ID = re.compile(r"[0-9a-f]{40}")
_Answer = TypeVar("_Answer")


class ClusterServer:
    """The server of one node; every method raises Refusal and ServerError."""

    def __init__(self, node: Node) -> None:
        self._node = node

    async def seen(self) -> NodesView:
        """Whom it knows at this moment."""
        return await self._ask(read_nodes)

    async def linked(self) -> frozenset[str]:
        """Who has a link to it at this moment."""
        return await self._ask(read_links)

    async def exports_under_way(self) -> list[SlotMigration]:
        """Slots that are leaving it all at once."""
        found = await self._ask(read_migrations)
        return [each for each in found if not each.importing and each.state is MigrationState.UNDER_WAY]

    async def _ask(self, read: Callable[[ServerConnection], Awaitable[_Answer]]) -> _Answer:
        check_running(self._node.report.facts)
        try:
            return await read(self._node.connection)
        except ClusterError as problem:
            raise Refusal(pb.OUTCOME_NO_ANSWER, str(problem)) from None

    async def command(self, *words: str | int, timeout_s: float | None = None) -> None:
        """CLUSTER and these words."""
        check_running(self._node.report.facts)
        await self._node.connection.call("CLUSTER", *words, timeout_s=timeout_s)

    async def set_slots(self, slots: Slots, *how: str, within_s: float = SET_SLOTS_WITHIN_S) -> None:
        """CLUSTER SETSLOT for each, known to all replicas when it returns; what it was too late for is left.

        The first goes alone: a replica that is behind refuses one command, not each of them after a while.
        """
        check_running(self._node.report.facts)
        clock = asyncio.get_running_loop().time
        deadline = clock() + within_s
        commands: list[Words] = [("CLUSTER", "SETSLOT", slot, *how, "TIMEOUT", SETSLOT_WITHIN_MS) for slot in slots]
        await self._node.connection.call_each(commands[:1], timeout_s=within_s)
        await self._call_side_by_side(commands[1:], within_s=deadline - clock())

    async def _call_side_by_side(self, commands: Sequence[Words], *, within_s: float) -> None:
        """Each waits for all replicas, so that one connection would wait for them command by command.

        What a server hears at once it also writes to its nodes.conf at once, and that takes longest.
        """
        lanes = [self._node.another_connection() for _ in commands[:LANES]]
        shares = [lane.call_each(commands[number::LANES], timeout_s=within_s) for number, lane in enumerate(lanes)]
        try:
            found = await asyncio.gather(*shares, return_exceptions=True)
        finally:
            for lane in lanes:
                lane.close()
        for problem in found:
            if isinstance(problem, BaseException):
                raise problem


def check_slots(text: str) -> Slots:
    """The slots that an order names; raises Refusal."""
    try:
        slots = parse_slots(text)
    except SlotsError as problem:
        raise Refusal(pb.OUTCOME_BAD_ORDER, str(problem)) from None
    if not slots:
        raise Refusal(pb.OUTCOME_BAD_ORDER, "the order names no slots")
    return slots


def check_id(node_id: str) -> str:
    """The id of a node that an order names; raises Refusal."""
    if not _ID.fullmatch(node_id):
        raise Refusal(pb.OUTCOME_BAD_ORDER, f"{node_id!r} is no id of a cluster node")
    return node_id


def range_words(slots: Slots) -> list[int]:
    """Slots as commands take them: the first and the last of each run."""
    return [bound for bounds in slots.ranges() for bound in bounds]
