"""A primary's agent asks those of its replicas to go on writing, four times a second.

Owns: finding them, a link to each, and the pace. They are found by the Service that stands for all pods of the shard;
who is behind an address is known by its certificate, so nobody has to tell where a node is now.
Refuses to know: what the answers mean (licence.py).
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from valkey_operator.agent.peers import Answer, Ask, Link, PeerError, connect
from valkey_operator.wire.identity import Identity
from valkey_operator.wire.tls import Reloading

log = structlog.get_logger(__name__)

EVERY_S = 0.25
CONNECT_WITHIN_S = 1.0
ANSWER_WITHIN_S = 1.0
_LINK_ERRORS = (PeerError, OSError, TimeoutError)


class Heartbeats:
    """Of one node. `wanted` are the nodes to ask at this moment; `find` gives the addresses of all pods."""

    def __init__(
        self,
        own: Identity,
        tls: Reloading,
        *,
        find: Callable[[], Awaitable[list[tuple[str, int]]]],
        wanted: Callable[[], frozenset[str]],
        question: Callable[[], Ask],
        heard: Callable[[str, int, float, Answer], None],
    ) -> None:
        self._own = own
        self._tls = tls
        self._find = find
        self._wanted = wanted
        self._question = question
        self._heard = heard
        self._linked: dict[str, tuple[str, int]] = {}

    async def run(self) -> None:
        """Ask whoever is wanted; for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                if self._wanted() - self._linked.keys():
                    for address in await self._unknown():
                        if link := await self._connect(address):
                            self._linked[link.peer.node or ""] = address
                            group.create_task(self._keep_asking(link))
                await asyncio.sleep(EVERY_S)

    async def _unknown(self) -> list[tuple[str, int]]:
        try:
            found = await self._find()
        except OSError as error:
            log.debug("the peers' name is not known", reason=str(error))
            return []
        return [address for address in found if address not in self._linked.values()]

    async def _connect(self, address: tuple[str, int]) -> Link | None:
        """A link to that address, if somebody is there who is wanted."""
        try:
            async with asyncio.timeout(CONNECT_WITHIN_S):
                link = await connect(*address, self._tls)
        except _LINK_ERRORS as problem:
            log.debug("no link to a peer", address=address, reason=f"{type(problem).__name__}: {problem}")
            return None
        is_new = link.peer.node in self._wanted() - self._linked.keys()
        if is_new and link.peer.namespace == self._own.namespace:
            return link
        link.close()
        return None

    async def _keep_asking(self, link: Link) -> None:
        name, loop = link.peer.node or "", asyncio.get_running_loop()
        try:
            while name in self._wanted():
                question, asked_at = self._question(), loop.time()
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    answer = await link.ask(question)
                self._heard(name, question.epoch, asked_at, answer)
                await asyncio.sleep(max(0.0, asked_at + EVERY_S - loop.time()))
        except _LINK_ERRORS as problem:
            log.info("the link to a peer broke", peer=name, reason=f"{type(problem).__name__}: {problem}")
        finally:
            del self._linked[name]
            link.close()
