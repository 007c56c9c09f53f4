"""What this node lets its primary do, or another node of its cluster: it grants an epoch until it promised a newer one.

Owns: the answer to a primary that asks, and noticing that none was let write for long.
Refuses to know: how questions arrive (peers.py), and what follows from silence: the operator decides that.
"""

import asyncio

import msgspec

from valkey_operator.agent.node import Node
from valkey_operator.agent.peers import Answer, Ask
from valkey_operator.agent.promise import Given, may_grant
from valkey_operator.valkey.states import Health
from valkey_operator.valkey.terms import Terms

LOOK_EVERY_S = 0.1
# A script is told as BUSY after five seconds (busy-reply-threshold); other long commands are not told at all.
COMPUTES_AT_MOST_S = 30.0


class Granting:
    """Of one node; a primary is missed when it was let write for the last time as long ago as it said itself.

    That is longer than any leave lasts, so who misses its primary also knows that it cannot write by this leave. An
    agent that comes back counts from its start: it does not know when the one before it granted anything, only how long
    that may have been for.
    """

    def __init__(self, node: Node) -> None:
        self.node = node
        self._missed_after_s = (node.report.facts.promise.missed_after_ms or Terms().missed_after_ms) / 1000
        self._granted_at = asyncio.get_running_loop().time()
        self._life = SignsOfLife(self._granted_at)

    def answer(self, asked: Ask) -> Answer:
        """Grant, or say which epoch was promised; what is granted is on file first."""
        promise = self.node.report.facts.promise
        granted = may_grant(promise, asked.epoch)
        if granted:
            kept = msgspec.structs.replace(promise, granted=asked.epoch, missed_after_ms=asked.missed_after_ms)
            self.node.keep_promise(kept)
            self._missed_after_s = asked.missed_after_ms / 1000
            self._granted_at = asyncio.get_running_loop().time()
            # Before it writes by this leave nobody may hear that it is missed: that is taken for a proof.
            self.node.note_primary(missed=False)
        return Answer(granted, max(promise.epoch, promise.granted))

    async def watch(self) -> None:
        """Say when the primary is missed, and when it is back; for ever."""
        told = self.node.report.facts.misses_primary
        while True:
            self.node.note_primary(missed=self._is_missed(asyncio.get_running_loop().time()))
            if self.node.report.facts.misses_primary != told:
                told = self.node.report.facts.misses_primary
                await self.node.tell()
            await asyncio.sleep(LOOK_EVERY_S)

    def _is_missed(self, now: float) -> bool:
        """By a replica: it was not asked. By the primary's own agent: its server hangs."""
        facts = self.node.report.facts
        if facts.promise.given is not Given.PRIMARY:
            return now - self._granted_at > self._missed_after_s
        self._granted_at = now  # whoever takes over from it is not missed before it had time to ask
        is_hung = facts.server is not None and facts.server.health is Health.HUNG
        self._life.look(now, answers=not is_hung, work=self.node.work_of_server())
        return now - self._life.last > (facts.promise.terms or Terms()).missed_after_ms / 1000


class SignsOfLife:
    """Of a primary: it answers, or it computes. One that is at a long command is slow, not dead."""

    def __init__(self, now: float) -> None:
        self._answered_at = self.last = now
        self._work = 0

    def look(self, now: float, *, answers: bool, work: int) -> None:
        """What is seen at this moment; `work` is how long it has computed since its start."""
        if answers:
            self._answered_at = self.last = now
        elif work != self._work and now - self._answered_at < COMPUTES_AT_MOST_S:
            self.last = now
        self._work = work
