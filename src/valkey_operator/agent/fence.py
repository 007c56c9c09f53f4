"""No licence, no writes: the server's fence is where the licence puts it, at every moment.

Owns: what is fenced and when it is lifted, who is asked for a licence in which order, and that a server which does not
confirm its fence is killed. Refuses to know: the rules of the licence (licence.py).

Replicas are asked all the time (heartbeats.py). The operator is asked only when that does not suffice, and the record
only when the operator gave no answer: a shard that is well sends nothing to either.

In a cluster every server needs a licence, a replica to be elected: owners that are fenced still vote, and would choose
one on their side of a cut whose slots are served on the other. So there both are fenced, by one command.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec
import structlog

from valkey_operator.agent.licence import NEVER, Grants, Licence, good_until
from valkey_operator.agent.node import Node
from valkey_operator.agent.peers import Answer, Ask
from valkey_operator.agent.promise import Given, is_elected
from valkey_operator.agent.report import Facts, is_running
from valkey_operator.agent.server import ServerError, Words
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health
from valkey_operator.valkey.terms import Terms

log = structlog.get_logger(__name__)

TICK_S = 0.05
# Replicas take a primary for lost a second or more after its leave has run out: all of this is well within that.
FENCE_WITHIN_S = 0.5
SEEK_EVERY_S = 0.25
OPERATOR_WITHIN_S = 0.3
# An agent that comes back beside a running primary does not know yet who would grant what.
FIRST_LOOK_AFTER_S = 0.3
ASK_EVERY_S = 0.25
# Leave lasts longer there: many ask few. More than twice, or the operator would be asked, too.
ASKED_WHILE_LEAVE_LASTS = 2.5


class RecordAsked(Protocol):
    """The shard's record, which may give leave."""

    async def is_alone(self, epoch: int, /) -> bool:
        """Whether nobody could take over from this node in this epoch."""
        ...

    async def ask(self, epoch: int, /) -> float | None:
        """When it was asked, if it gives leave."""
        ...


class LicenceKeeper:
    """Of one node. `ask_operator` is there once there is a way to it: when it was asked, if it gives leave."""

    def __init__(self, node: Node, record: RecordAsked | None) -> None:
        self._node = node
        self._record = record
        self.ask_operator: Callable[[int], Awaitable[float | None]] | None = None
        self._grants = Grants()
        self._epoch = 0
        self._proposed = Terms()
        self._licence: Licence | None = None

    @property
    def epoch(self) -> int:
        """The epoch that a licence is wanted for."""
        return self._node.report.facts.promise.epoch

    def wanted_peers(self) -> frozenset[str]:
        """The peers to ask; none unless this node is to be a primary, or is one of a cluster."""
        if not self._is_to_write():
            return frozenset()
        return frozenset(name for members in (*self._terms.sets, *self._proposed.sets) for name in members)

    def question(self) -> Ask:
        """What they are asked."""
        return Ask(self.epoch, self._terms.missed_after_ms)

    @property
    def ask_every_s(self) -> float:
        """The pace at which peers are asked."""
        if not self._is_elected():
            return ASK_EVERY_S
        return max(TICK_S, self._terms.fence_after_ms / 1000 / ASKED_WHILE_LEAVE_LASTS)

    @property
    def _terms(self) -> Terms:
        return self._node.report.facts.promise.terms or Terms()

    def heard(self, peer: str, epoch: int, asked_at: float, answer: Answer) -> None:
        """A replica has answered. One that promised a newer epoch lets nobody else write for longer.

        What it granted before need not have run out by our clock: that of a machine which was paused stood still.
        """
        if epoch != self.epoch:
            return
        granted_at = asked_at if answer.granted else NEVER
        replicas = {**self._of_this_epoch().replicas, peer: granted_at}
        self._grants = msgspec.structs.replace(self._grants, replicas=replicas)

    def granted_by_operator(self, asked_at: float) -> None:
        """The leader gives leave in this epoch to who spoke to it at that moment."""
        self._take(self.epoch, operator=max(self._of_this_epoch().operator, asked_at))

    async def accept(self, terms: Terms, within_s: float) -> bool:
        """Be bound by these terms, as soon as this node may write by them; whether that is so.

        Until then the former ones hold, so that a primary writes on while those are asked who never were.
        """
        self._proposed = terms
        try:
            async with asyncio.timeout(within_s):
                while not self._may_write(terms):
                    await self._seek(terms)
                    if not self._may_write(terms):
                        await asyncio.sleep(TICK_S)
        except TimeoutError:
            return False
        finally:
            self._proposed = Terms()
        promise = self._node.report.facts.promise
        alone = promise.alone and not any(terms.sets)
        self._node.keep_promise(msgspec.structs.replace(promise, terms=terms, alone=alone))
        return True

    async def keep(self) -> None:
        """Fence and lift, for ever."""
        await asyncio.sleep(FIRST_LOOK_AFTER_S)
        while True:
            await self.settle()
            await asyncio.sleep(TICK_S)

    async def seek(self) -> None:
        """Ask others whenever the replicas' leave runs short; for ever."""
        while True:
            if self._is_to_write() and self._runs_short():
                await self._seek(self._terms)
            await asyncio.sleep(SEEK_EVERY_S)

    async def settle(self) -> None:
        """Fence or lift now; at last also when this agent is told to end: its server may go on without it."""
        if not is_bound(self._node.report.facts):
            return
        server = self._node.report.facts.server
        found = server.least_replicas if server else None
        if not self._may_write():
            if found != FENCED:
                await self._fence()
        elif found not in (None, self._terms.least_replicas):
            await self._lift()

    async def _fence(self) -> None:
        log.warning("writes are refused: no licence", epoch=self.epoch, was=self._licence)
        process = self._node.report.facts.process.process
        try:
            await self._say(FENCED)
        except ServerError as problem:
            # While it loads it takes no writes, and it will be asked again.
            if problem.health is not Health.LOADING and process is not None:
                log.warning("the server does not confirm its fence and is killed", reason=str(problem))
                self._node.end_server(process)
        await self._node.refresh()

    async def _lift(self) -> None:
        async with self._node.turn:
            if not self._may_write() or not is_bound(self._node.report.facts):
                return
            try:
                await self._say(self._terms.least_replicas)
                log.info("writes are accepted", licence=self._licence, epoch=self.epoch)
            except ServerError as problem:
                log.warning("the fence cannot be lifted", reason=str(problem))
        await self._node.refresh()

    async def _say(self, replicas: int) -> None:
        command = fence_command(replicas, elected=is_elected(self._node.report.facts.promise))
        await self._node.connection.call(*command, timeout_s=FENCE_WITHIN_S)

    async def _seek(self, terms: Terms) -> None:
        epoch = self.epoch
        if not (any(terms.sets) or terms.elected) and self._record and await self._record.is_alone(epoch):
            if epoch == self.epoch:
                self._node.keep_promise(msgspec.structs.replace(self._node.report.facts.promise, alone=True))
        else:
            await self._ask_others(epoch)

    async def _ask_others(self, epoch: int) -> None:
        """The operator; and the record, if that gives no leave or is silent: nobody waits for who may be gone."""
        async with asyncio.TaskGroup() as group:
            operator = group.create_task(self._ask_operator(epoch))
            await asyncio.wait([operator], timeout=OPERATOR_WITHIN_S)
            if not (operator.done() and operator.result()) and await self._ask_record(epoch):
                operator.cancel()

    async def _ask_operator(self, epoch: int) -> bool:
        asked_at = await self.ask_operator(epoch) if self.ask_operator else None
        if asked_at is not None:
            self._take(epoch, operator=asked_at)
        return asked_at is not None

    async def _ask_record(self, epoch: int) -> bool:
        asked_at = await self._record.ask(epoch) if self._record else None
        if asked_at is not None:
            self._take(epoch, record=asked_at)
        return asked_at is not None

    def _take(self, epoch: int, **grant: object) -> None:
        if epoch == self.epoch:
            self._grants = msgspec.structs.replace(self._of_this_epoch(), **grant)

    def _of_this_epoch(self) -> Grants:
        """Grants are for one epoch; another one begins without any."""
        if self._epoch != self.epoch:
            self._epoch, self._grants = self.epoch, Grants()
        return msgspec.structs.replace(self._grants, alone=self._node.report.facts.promise.alone)

    def _good_until(self, terms: Terms) -> float:
        until, self._licence = good_until(terms.sets, self._of_this_epoch(), terms.fence_after_ms / 1000)
        return until if terms.fence_after_ms else math.inf

    def _is_to_write(self) -> bool:
        """Also one that was told to park, and did not: it takes writes until it does."""
        facts = self._node.report.facts
        is_given = facts.promise.given is Given.PRIMARY or self._is_elected()
        return is_given or (facts.promise.terms is not None and is_bound(facts))

    def _is_elected(self) -> bool:
        return self._proposed.elected or is_elected(self._node.report.facts.promise)

    def _may_write(self, terms: Terms | None = None) -> bool:
        promise = self._node.report.facts.promise
        if terms is None and promise.terms is None and not promise.alone:
            return False
        return asyncio.get_running_loop().time() < self._good_until(terms or self._terms)

    def _runs_short(self) -> bool:
        half_time = asyncio.get_running_loop().time() + self._terms.fence_after_ms / 2000
        return self._good_until(self._terms) < half_time


def fence_command(replicas: int, *, elected: bool = False) -> Words:
    """Refuse writes without so many replicas; one that may be elected is not, while it is fenced."""
    command = ("CONFIG", "SET", "min-replicas-to-write", replicas)
    return (*command, "cluster-replica-no-failover", "yes" if replicas == FENCED else "no") if elected else command


def is_bound(facts: Facts) -> bool:
    """Whether there is a server that would take writes, on terms that it was told, or though it was told to be none.

    In a cluster also one that may become such.
    """
    promise = facts.promise
    if is_elected(promise):
        return is_running(facts)
    needs_none = promise.given is Given.ANY or (promise.given is Given.PRIMARY and promise.alone)
    if not is_running(facts) or (promise.terms is None and needs_none):
        return False
    replication = facts.server.replication if facts.server else None
    # One that does not tell what it is may be what it was told to be.
    return promise.given is Given.PRIMARY if replication is None else replication.role is Role.PRIMARY
