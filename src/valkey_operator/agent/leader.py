"""The way to the operator's leader, whichever of its pods that is.

Owns: who is tried, in which order, and who leads as far as is known: a standby answers 421 and names the leader.
Refuses to know: what is asked, and what counts as an answer.
"""

import asyncio
import http
from collections.abc import Awaitable, Callable

import structlog
from google.protobuf.message import DecodeError

from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.http_client import HttpError, Peer, Response, post

log = structlog.get_logger(__name__)

ATTEMPT_WITHIN_S = 2.0
# Who leads changes without a word to the agents, and a machine that is cut off answers nothing at all.
NEXT_AFTER_S = 0.3
Accept = Callable[[int, bytes], bool]


class _Answered(Exception):  # noqa: N818 - what ends a round
    """Nobody else has to be asked."""


def named_leader(status: int, body: bytes) -> str | None:
    """Whom a standby names."""
    if status != http.HTTPStatus.MISDIRECTED_REQUEST:
        return None
    try:
        return pb.Misdirected.FromString(body).leader or None
    except DecodeError:
        return None


class LeaderLine:
    """`addresses` gives every operator's host:port, anew for each round."""

    def __init__(self, addresses: Callable[[], Awaitable[list[str]]], peer: Peer) -> None:
        self._addresses = addresses
        self._peer = peer
        self._leader: str | None = None

    async def ask(self, path: str, make: Callable[[], bytes], accept: Accept) -> bool:
        """One round: the leader if it is known, then one after the other until one leads or knows who does.

        Nobody is waited for long before the next one is asked, too. Each gets what `make` gives at that moment; whether
        one answered what `accept` takes.
        """
        asked: set[str] = set()

        async def ask_one(address: str) -> None:
            """And whom it names instead."""
            if address in asked:
                return
            asked.add(address)
            reply = await self._post(address, path, make())
            if reply is not None and accept(*reply):
                self._leader = address
                raise _Answered
            named = named_leader(*reply) if reply else None
            if named or self._leader == address:
                self._leader = named
            if named:
                await ask_one(named)

        answered = False
        try:
            async with asyncio.TaskGroup() as group:
                # Who is known is not looked for: names may not be resolved at such a moment.
                if self._leader:
                    await asyncio.wait([group.create_task(ask_one(self._leader))], timeout=NEXT_AFTER_S)
                for address in await self._addresses():
                    await asyncio.wait([group.create_task(ask_one(address))], timeout=NEXT_AFTER_S)
        except* _Answered:
            answered = True
        return answered

    async def _post(self, address: str, path: str, body: bytes) -> Response | None:
        try:
            async with asyncio.timeout(ATTEMPT_WITHIN_S):
                return await post(address, path, body, self._peer)
        except (HttpError, OSError, TimeoutError) as problem:
            log.debug("no answer", of=address, path=path, reason=f"{type(problem).__name__}: {problem}")
            return None


async def ask_leave(line: LeaderLine, pod_uid: str, epoch: int) -> float | None:
    """When the leader was asked for leave to write, if it grants this epoch to this pod."""
    asked_at = asyncio.get_running_loop().time()
    request = pb.LicenceRequest(epoch=epoch, pod_uid=pod_uid).SerializeToString()
    return asked_at if await line.ask("/v1/licence", lambda: request, is_granted) else None


def is_granted(status: int, body: bytes) -> bool:
    """Whether an answer gives leave."""
    try:
        return status == http.HTTPStatus.OK and pb.LicenceReply.FromString(body).granted
    except DecodeError:
        return False
