"""A client of a cluster, as libraries are: it keeps a map of slots, follows redirections, and asks anew after errors.

It belongs to one slot, as its writer does. Nothing is tried twice: a write that is answered with a redirection was
refused, and the next one goes where that pointed to.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from faults.clients import PATIENCE_S
from faults.connection import Command, Connection, Reply
from faults.slot_map import Redirect, SlotMap, parse_slot_map, redirect_in

RETRY_S = 0.005
# Of one node, so that a machine that is cut off does not take the whole patience.
NODE_PATIENCE_S = 0.2
ASKING: Command = ("ASKING",)


class ClusterClient:
    """Keeps one connection to each node that it has met."""

    def __init__(self, netns: Path, password: str, *, door: str, slot: int, patience_s: float = PATIENCE_S) -> None:
        self.retry_s = RETRY_S
        self._netns = netns
        self._password = password
        self._door = door
        """An address that leads to any node."""
        self._slot = slot
        self._patience_s = patience_s
        self._map = SlotMap()
        self._is_stale = True
        self._asked = ""
        """The node that the next request alone goes to."""
        self._turn = 0
        self._kept: dict[str, Connection] = {}

    async def ask(self, commands: Sequence[Command], replies: list[Reply]) -> str:
        """Replies are added as far as they came; the server's run id, or nothing where none was found."""
        asked, self._asked = self._asked, ""
        host, server = asked, ""
        try:
            async with asyncio.timeout(self._patience_s):
                host = host or await self._owner()
                connection = await self._connection(host)
                server = connection.server
                await send(connection, commands, replies, asking=bool(asked))
        except (OSError, TimeoutError):
            self._drop(host)
        self._heed(replies)
        return server

    def close(self) -> None:
        for connection in self._kept.values():
            connection.close()
        self._kept.clear()

    def _heed(self, replies: Sequence[Reply]) -> None:
        """A map that led to a refusal is asked for anew, unless the refusal tells what is new."""
        redirect = redirect_in(replies)
        if redirect is None:
            self._is_stale |= any(reply.error for reply in replies)
        elif redirect.is_for_good:
            self._follow(redirect)
        else:
            self._asked = redirect.host

    def _follow(self, redirect: Redirect) -> None:
        if redirect.host:
            self._map, self._is_stale = self._map.moved(redirect.slot, redirect.host), False
        else:
            self._is_stale = True

    async def _owner(self) -> str:
        if self._is_stale:
            await self._refresh()
        host = self._map.owner_of(self._slot)
        if not host:
            self._is_stale = True
            raise ConnectionRefusedError(f"nobody owns slot {self._slot}")
        return host

    async def _refresh(self) -> None:
        """From whoever answers first; a different one begins each time, for one may know less than the others."""
        self._turn += 1
        for host in self._doors():
            if found := await self._asked_for_map(host):
                self._map, self._is_stale = found, False
                return
        raise ConnectionRefusedError("no node tells who owns which slots")

    def _doors(self) -> list[str]:
        """In turn, and those first that have not just been silent."""
        known = [*dict.fromkeys((*self._map.hosts, self._door))]
        first = self._turn % len(known)
        return sorted([*known[first:], *known[:first]], key=lambda host: host not in self._kept)

    async def _asked_for_map(self, host: str) -> SlotMap | None:
        replies: list[Reply] = []
        try:
            async with asyncio.timeout(NODE_PATIENCE_S):
                await (await self._connection(host)).ask([("CLUSTER", "SLOTS")], replies)
        except (OSError, TimeoutError):
            return None
        finally:
            # An answer that comes later would be taken for that to another question.
            if not replies:
                self._drop(host)
        return None if replies[0].error else parse_slot_map(replies[0].value, host)

    async def _connection(self, host: str) -> Connection:
        if host not in self._kept:
            self._kept[host] = await Connection.open(self._netns, host, self._password, NODE_PATIENCE_S)
        return self._kept[host]

    def _drop(self, host: str) -> None:
        self._is_stale = True
        if connection := self._kept.pop(host, None):
            connection.close()


async def send(connection: Connection, commands: Sequence[Command], replies: list[Reply], *, asking: bool) -> None:
    """A node that a slot is moving to takes each command of it only after ASKING."""
    if not asking:
        return await connection.ask(commands, replies)
    answered: list[Reply] = []
    try:
        await connection.ask([each for command in commands for each in (ASKING, command)], answered)
    finally:
        replies += answered[1::2]
    return None
