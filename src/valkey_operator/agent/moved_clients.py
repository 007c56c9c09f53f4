"""Clients of a server that is no primary any more: they are dropped, so that they find the new one.

Owns: who is dropped, and how often. An open connection would stay where it is, and get READONLY for ever. A Service
follows the primary a moment later than the servers do: whoever was too quick, and came back to the same place, is
dropped again. Links of replication stay.
Refuses to know: who is primary now, and why.
"""

import asyncio
import contextlib
import math

import structlog

from valkey_operator.agent.node import Node
from valkey_operator.agent.report import Facts
from valkey_operator.agent.server import ServerError
from valkey_operator.valkey.boot import PARK_HOST
from valkey_operator.valkey.info import InfoError, parse_refused_writes, parse_sections

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 0.1
FOLLOWED_AFTER_S = 3.0
"""A Service takes less than this to follow; ages of clients are known in whole seconds."""
SETTLED_AFTER_S = 6.0


class ClientMover:
    """Of one node."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._demoted = asyncio.Event()

    async def move(self) -> None:
        """Drop all who are connected now; `run` drops who comes back too early. Raises ServerError."""
        await self._drop()
        self._demoted.set()

    async def run(self) -> None:
        """Look after each demotion for a while, for ever."""
        while True:
            await self._demoted.wait()
            self._demoted.clear()
            await self._drop_early_ones()

    async def _drop_early_ones(self) -> None:
        """Who writes shows that it is misled, at once; who only waits cannot be told from a reader by then."""
        clock = asyncio.get_running_loop().time
        begun, known = clock(), 0
        while clock() - begun < SETTLED_AFTER_S:
            with contextlib.suppress(ServerError, InfoError):  # it may load a copy of the new primary meanwhile
                known = await self._drop_if_refused_more_than(known)
            await asyncio.sleep(LOOK_EVERY_S)
        try:
            if not has_clients_of_a_primary(self._node.report.facts):
                await self._drop("MAXAGE", math.ceil(clock() - begun - FOLLOWED_AFTER_S))
        except ServerError as problem:
            log.warning("clients that came back early cannot be dropped", reason=str(problem))

    async def _drop_if_refused_more_than(self, known: int) -> int:
        """How many writes were refused by now; more than before came from clients that are misled."""
        refused = await self._refused_writes()
        if refused > known:
            await self._drop()
        return refused

    async def _refused_writes(self) -> int:
        return parse_refused_writes(parse_sections(str(await self._node.connection.call("INFO", "errorstats"))))

    async def _drop(self, *which: str | int) -> None:
        kinds = ("normal", "pubsub")
        counts = [await self._node.connection.call("CLIENT", "KILL", "TYPE", kind, *which) for kind in kinds]
        if any(counts):
            log.info("clients are sent to the new primary", count=sum(counts))


def has_clients_of_a_primary(facts: Facts) -> bool:
    """Whether its clients may take it for the primary: it is one, or was parked, which replicas seldom are."""
    replication = facts.server.replication if facts.server else None
    if replication is None:
        return False
    link = replication.primary_link
    return link is None or link.host == PARK_HOST
