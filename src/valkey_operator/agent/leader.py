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
Accept = Callable[[int, bytes], bool]


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
        """One round: the leader if it is known, else one after the other until one leads or knows who does.

        Each gets what `make` gives at that moment; whether one answered what `accept` takes.
        """
        tried: set[str] = set()

        async def ask_these(addresses: list[str]) -> bool:
            while addresses:
                address = addresses.pop(0)
                if address in tried:
                    continue
                tried.add(address)
                reply = await self._post(address, path, make())
                if reply is not None and accept(*reply):
                    self._leader = address
                    return True
                self._leader = named_leader(*reply) if reply else None
                if self._leader:
                    addresses.insert(0, self._leader)
            return False

        # Who is known is not looked for: names may not be resolved at such a moment.
        known = [self._leader] if self._leader else []
        return await ask_these(known) or await ask_these(await self._addresses())

    async def _post(self, address: str, path: str, body: bytes) -> Response | None:
        try:
            async with asyncio.timeout(ATTEMPT_WITHIN_S):
                return await post(address, path, body, self._peer)
        except (HttpError, OSError, TimeoutError) as problem:
            log.debug("no answer", of=address, path=path, reason=f"{type(problem).__name__}: {problem}")
            return None


async def ask_leave(line: LeaderLine, epoch: int) -> float | None:
    """When the leader was asked for leave to write, if it grants this epoch."""
    asked_at = asyncio.get_running_loop().time()
    request = pb.LicenceRequest(epoch=epoch).SerializeToString()
    return asked_at if await line.ask("/v1/licence", lambda: request, is_granted) else None


def is_granted(status: int, body: bytes) -> bool:
    """Whether an answer gives leave."""
    try:
        return status == http.HTTPStatus.OK and pb.LicenceReply.FromString(body).granted
    except DecodeError:
        return False
