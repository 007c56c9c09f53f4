"""A primary's agent asks those of its replicas to go on writing, four times a second; in a cluster all ask a few.

Owns: finding them, a link to each, and the pace. They are found by the Service that stands for all pods of the shard;
who is behind an address is known by its certificate, so nobody has to tell where a node is now. Whoever turned out to
be nobody who is wanted is left alone for a while: in a large cluster most are.
Refuses to know: what the answers mean (licence.py).
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import structlog

from valkey_operator.agent.peers import Answer, Ask, Link, PeerError, connect
from valkey_operator.wire.identity import Identity
from valkey_operator.wire.tls import Reloading

log = structlog.get_logger(__name__)

CONNECT_WITHIN_S = 1.0
ANSWER_WITHIN_S = 1.0
# An address may be another node's by then.
LEFT_ALONE_FOR_S = 15.0
_LINK_ERRORS = (PeerError, OSError, TimeoutError)


class Asker(Protocol):
    """For whom is asked."""

    @property
    def ask_every_s(self) -> float:
        """The pace."""
        ...

    def wanted_peers(self) -> frozenset[str]:
        """Who is to be asked at this moment."""
        ...

    def question(self) -> Ask:
        """What is asked at this moment."""
        ...

    def heard(self, peer: str, epoch: int, asked_at: float, answer: Answer) -> None:
        """The answer to a question about that epoch, asked at that moment."""
        ...


class Heartbeats:
    """Of one node; `find` gives the addresses of all pods."""

    def __init__(
        self, own: Identity, tls: Reloading, asker: Asker, *, find: Callable[[], Awaitable[list[tuple[str, int]]]]
    ) -> None:
        self._own = own
        self._tls = tls
        self._asker = asker
        self._find = find
        self._linked: dict[str, tuple[str, int]] = {}
        self._others: dict[tuple[str, int], tuple[str, float]] = {}

    async def run(self) -> None:
        """Ask whoever is wanted; for ever."""
        async with asyncio.TaskGroup() as group:
            while True:
                if self._asker.wanted_peers() - self._linked.keys():
                    for address in await self._unknown():
                        if link := await self._connect(address):
                            self._linked[link.peer.node or ""] = address
                            group.create_task(self._keep_asking(link))
                await asyncio.sleep(self._asker.ask_every_s)

    async def _unknown(self) -> list[tuple[str, int]]:
        try:
            found = await self._find()
        except OSError as error:
            log.debug("the peers' name is not known", reason=str(error))
            return []
        return [each for each in found if each not in self._linked.values() and not self._is_left_alone(each)]

    def _is_left_alone(self, address: tuple[str, int]) -> bool:
        """Whether somebody was found there a moment ago who is not wanted."""
        name, seen_at = self._others.get(address, ("", -LEFT_ALONE_FOR_S))
        is_news = asyncio.get_running_loop().time() - seen_at < LEFT_ALONE_FOR_S
        return is_news and name not in self._asker.wanted_peers() - self._linked.keys()

    async def _connect(self, address: tuple[str, int]) -> Link | None:
        """A link to that address, if somebody is there who is wanted."""
        try:
            async with asyncio.timeout(CONNECT_WITHIN_S):
                link = await connect(*address, self._tls)
        except _LINK_ERRORS as problem:
            log.debug("no link to a peer", address=address, reason=f"{type(problem).__name__}: {problem}")
            return None
        is_new = link.peer.node in self._asker.wanted_peers() - self._linked.keys()
        if is_new and link.peer.namespace == self._own.namespace:
            return link
        self._others[address] = (link.peer.node or "", asyncio.get_running_loop().time())
        link.close()
        return None

    async def _keep_asking(self, link: Link) -> None:
        name, loop = link.peer.node or "", asyncio.get_running_loop()
        try:
            while name in self._asker.wanted_peers():
                question, asked_at = self._asker.question(), loop.time()
                async with asyncio.timeout(ANSWER_WITHIN_S):
                    answer = await link.ask(question)
                self._asker.heard(name, question.epoch, asked_at, answer)
                await asyncio.sleep(max(0.0, asked_at + self._asker.ask_every_s - loop.time()))
        except _LINK_ERRORS as problem:
            log.info("the link to a peer broke", peer=name, reason=f"{type(problem).__name__}: {problem}")
        finally:
            del self._linked[name]
            link.close()
