"""Reports to the operator: sent again and again until its leader has said that it got this very one.

Owns: to whom, how often, and what counts as received. Refuses to know: what is in a report.

A report is the whole state, so only the newest one is ever sent. A standby answers 421 and names the leader; an answer
of an older term than one already heard counts for nothing. Every minute one is sent although nothing changed, because
silence must mean something.
"""

import asyncio
import http
import random
from collections.abc import Awaitable, Callable

import msgspec
import structlog
from google.protobuf.message import DecodeError

from valkey_operator.agent.messages import report_message
from valkey_operator.agent.node import Node
from valkey_operator.agent.report import Report
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.wire.http_client import HttpError, Peer, post

log = structlog.get_logger(__name__)

FIRST_PAUSE_S = 0.1
MOST_PAUSE_S = 5.0
ATTEMPT_WITHIN_S = 2.0
DIGEST_EVERY_S = 60.0


class Delivery(msgspec.Struct):
    """What was heard from the operator so far."""

    leader: str | None = None
    term: int = 0
    acked_seq: int = 0


def after_reply(delivery: Delivery, report: Report, status: int, body: bytes) -> Delivery:
    """What an answer to `report` tells; only the ack of this very report by the newest leader acknowledges it."""
    try:
        if status == http.HTTPStatus.MISDIRECTED_REQUEST:
            return msgspec.structs.replace(delivery, leader=pb.Misdirected.FromString(body).leader or None)
        if status == http.HTTPStatus.OK:
            return _after_ack(delivery, report, pb.Ack.FromString(body))
    except DecodeError:
        pass
    return msgspec.structs.replace(delivery, leader=None)


def _after_ack(delivery: Delivery, report: Report, ack: pb.Ack) -> Delivery:
    is_of_this = (ack.boot_id, ack.seq) == (report.boot_id, report.seq)
    if not is_of_this or ack.term < delivery.term:
        return msgspec.structs.replace(delivery, leader=None)
    return msgspec.structs.replace(delivery, term=ack.term, acked_seq=ack.seq)


class Events:
    """Keeps the operator up to date. `addresses` gives every operator's host:port, anew for each round."""

    def __init__(
        self, node: Node, addresses: Callable[[], Awaitable[list[str]]], peer: Peer, chance: random.Random
    ) -> None:
        self._node = node
        self._addresses = addresses
        self._peer = peer
        self._chance = chance
        self._delivery = Delivery()

    async def send_all(self) -> None:
        """Send each new report, and a digest every so often; for ever."""
        while True:
            await self._deliver()
            acked = self._delivery.acked_seq
            within_s = DIGEST_EVERY_S * self._chance.uniform(0.8, 1.2)
            await self._node.wait_for(lambda report: report.seq != acked, within_s=within_s)  # noqa: B023 - awaited here

    async def _deliver(self) -> None:
        """Try until the newest report is acknowledged; a report that changes meanwhile is the one to send."""
        pause_s = FIRST_PAUSE_S
        while not await self._try_everybody():
            await asyncio.sleep(pause_s * self._chance.uniform(0.5, 1.0))
            pause_s = min(pause_s * 2, MOST_PAUSE_S)

    async def _try_everybody(self) -> bool:
        """One round: the leader if it is known, else one after the other until one leads or knows who does."""
        known = [self._delivery.leader] if self._delivery.leader else []
        waiting = known + await self._addresses()
        tried: set[str] = set()
        while waiting:
            address = waiting.pop(0)
            if address in tried:
                continue
            tried.add(address)
            if await self._try(address):
                return True
            if self._delivery.leader:
                waiting.insert(0, self._delivery.leader)
        return False

    async def _try(self, address: str) -> bool:
        report = self._node.report
        try:
            async with asyncio.timeout(ATTEMPT_WITHIN_S):
                body = report_message(report).SerializeToString()
                status, reply = await post(address, "/v1/report", body, self._peer)
        except (HttpError, OSError, TimeoutError) as problem:
            self._delivery = msgspec.structs.replace(self._delivery, leader=None)
            log.debug("report not delivered", to=address, reason=f"{type(problem).__name__}: {problem}")
            return False
        self._delivery = after_reply(self._delivery, report, status, reply)
        if self._delivery.acked_seq != report.seq:
            return False
        self._delivery.leader = address
        return True
