"""Reports to the operator: sent again and again until its leader has said that it got this very one.

Owns: how often, and what counts as received. Refuses to know: what is in a report, and how the leader is found.

A report is the whole state, so only the newest one is ever sent. An answer of an older term than one already heard
counts for nothing. Every minute one is sent although nothing changed, because silence must mean something.
"""

import asyncio
import http
import random

import msgspec
from google.protobuf.message import DecodeError

from valkey_operator.agent.leader import LeaderLine
from valkey_operator.agent.messages import report_message
from valkey_operator.agent.node import Node
from valkey_operator.agent.report import Report
from valkey_operator.proto.agent.v1 import agent_pb2 as pb

FIRST_PAUSE_S = 0.1
MOST_PAUSE_S = 5.0
DIGEST_EVERY_S = 60.0
# What an order brought about is in its answer already, and often followed by more.
SETTLES_WITHIN_S = 0.03


class Delivery(msgspec.Struct, frozen=True):
    """The highest term heard of, and what its leader has."""

    term: int = 0
    acked_seq: int = 0


def after_reply(delivery: Delivery, report: Report, status: int, body: bytes) -> Delivery:
    """What an answer to `report` tells; only the ack of this very report by the newest leader acknowledges it."""
    if status != http.HTTPStatus.OK:
        return delivery
    try:
        ack = pb.Ack.FromString(body)
    except DecodeError:
        return delivery
    is_of_this = (ack.boot_id, ack.seq) == (report.boot_id, report.seq)
    return Delivery(ack.term, ack.seq) if is_of_this and ack.term >= delivery.term else delivery


class Events:
    """Keeps the operator up to date."""

    def __init__(self, node: Node, line: LeaderLine, chance: random.Random) -> None:
        self._node = node
        self._line = line
        self._chance = chance
        self._delivery = Delivery()
        self._sent = node.report

    async def send_all(self) -> None:
        """Send each new report, that of a server's end at once, and a digest every so often; for ever."""
        while True:
            await self._deliver()
            acked = self._delivery.acked_seq
            within_s = DIGEST_EVERY_S * self._chance.uniform(0.8, 1.2)
            await self._node.wait_for(lambda report: report.seq != acked, within_s=within_s)  # noqa: B023 - awaited here
            process = self._sent.facts.process
            await self._node.wait_for(lambda report: report.facts.process != process, within_s=SETTLES_WITHIN_S)  # noqa: B023

    async def _deliver(self) -> None:
        """Try until the newest report is acknowledged; a report that changes meanwhile is the one to send."""
        pause_s = FIRST_PAUSE_S
        while not await self._line.ask("/v1/report", self._newest, self._is_acked):
            await asyncio.sleep(pause_s * self._chance.uniform(0.5, 1.0))
            pause_s = min(pause_s * 2, MOST_PAUSE_S)

    def _newest(self) -> bytes:
        self._sent = self._node.report
        return report_message(self._sent, asyncio.get_running_loop().time()).SerializeToString()

    def _is_acked(self, status: int, body: bytes) -> bool:
        before = self._delivery
        self._delivery = after_reply(before, self._sent, status, body)
        return self._delivery is not before
