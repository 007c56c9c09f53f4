"""Opens the gate by the shard's record, so that a start does not wait for the operator.

Owns: when the record is read, how long a replica waits for its primary, and that only a fresh record opens.
Refuses to know: what a record means (start.py). Reads nothing while no server stands at the gate.

An order of the operator may come at any moment: both take the node's turn before they open.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable

import msgspec
import structlog

from valkey_operator.agent.gate import AnswerTooLateError, NobodyWaitsError
from valkey_operator.agent.node import Node
from valkey_operator.agent.promise import given_by_start
from valkey_operator.agent.reach import resolve, wait_for_port
from valkey_operator.agent.record import Known, RecordError
from valkey_operator.agent.report import Facts
from valkey_operator.agent.start import Decision, decide_start
from valkey_operator.agent.volume import VolumeTakenError
from valkey_operator.agent.watch import ProcessId
from valkey_operator.valkey.boot import Address, Start, StartKind
from valkey_operator.valkey.states import ProcessState

log = structlog.get_logger(__name__)

# What an older record says may no longer be so.
FRESH_S = 1.0
READ_AGAIN_S = 1.0
FIRST_PAUSE_S = 0.1
MOST_PAUSE_S = 2.0
# A process is seen some milliseconds before it has read as far as the gate.
OPEN_PAUSE_S = 0.01


class StartRules(msgspec.Struct, frozen=True, kw_only=True):
    """Whose start it is, and what the record does not say: `port` and `primary_domain` lead to a primary's Service."""

    node: str
    primary_domain: str
    port: int
    primary_wait_s: float = 5.0


class Starter:
    """Lets one server after the other in; `read` gives the record of this moment, `resolve` the IP of a host."""

    def __init__(
        self,
        node: Node,
        read: Callable[[], Awaitable[Known]],
        rules: StartRules,
        *,
        resolve: Callable[[str], Awaitable[str]] = resolve,
        chance: random.Random,
    ) -> None:
        self._node = node
        self._read = read
        self._rules = rules
        self._resolve = resolve
        self._chance = chance
        self._told = ""

    async def run(self) -> None:
        """Open for every server that comes to the gate; for ever."""
        while True:
            await self._node.wait_for(lambda report: waiting(report.facts) is not None)
            if server := waiting(self._node.report.facts):
                await self._serve(server)

    async def _serve(self, server: ProcessId) -> None:
        """Try until this server is past the gate, or gone. A primary is waited for once: then we open anyway."""
        self._told = ""
        patience: dict[str, float] = {}
        pause_s = FIRST_PAUSE_S
        while self._waits(server):
            try:
                known = await self._read()
            except RecordError as problem:
                self._tell("the record cannot be read", str(problem))
                await self._pause(server, pause_s)
                pause_s = min(pause_s * 2, MOST_PAUSE_S)
                continue
            pause_s = FIRST_PAUSE_S
            if not await self._try(known, server, patience):
                await self._pause(server, READ_AGAIN_S)

    async def _try(self, known: Known, server: ProcessId, patience: dict[str, float]) -> bool:
        """Whether the record let the server in, or must be read again at once; False: it decides nothing yet."""
        decision = self._decide(known)
        if decision.kind is None:
            self._tell("the record does not decide", decision.reason)
            return False
        address = None
        if decision.primary is not None:
            deadline = patience.setdefault(
                decision.primary, asyncio.get_running_loop().time() + self._rules.primary_wait_s
            )
            try:
                address = Address(await self._resolve(self._host(decision.primary)), self._rules.port)
            except OSError as problem:
                self._tell("the primary's name is not known", f"{self._host(decision.primary)}: {problem!r}")
                return False
            # A replica whose first attempt fails would try again only a second later.
            await wait_for_port(address, deadline, lambda: self._waits(server))
        try:
            await self._open(known, decision, server, Start(kind=decision.kind, primary=address))
        except VolumeTakenError as problem:
            self._tell("the volume is taken", str(problem))
            return False
        return True

    async def _open(self, known: Known, decision: Decision, server: ProcessId, start: Start) -> None:
        """Open while the record is fresh, and says the same."""
        while asyncio.get_running_loop().time() - known.asked_at < FRESH_S:
            async with self._node.turn:
                if not self._waits(server) or self._decide(known) != decision:
                    return
                promise = self._node.report.facts.promise
                self._node.keep_promise(
                    msgspec.structs.replace(
                        promise,
                        epoch=known.record.epoch,
                        given=given_by_start(start.kind),
                        terms=None,
                        alone=start.kind is StartKind.WRITABLE_PRIMARY,
                    )
                )
                try:
                    self._node.let_in(start)
                except (NobodyWaitsError, AnswerTooLateError) as problem:
                    log.debug("not let in yet", reason=str(problem))
                else:
                    log.info("opened by the record", reason=decision.reason, epoch=known.record.epoch)
                    await self._node.refresh()
                    return
            await asyncio.sleep(OPEN_PAUSE_S)

    def _decide(self, known: Known) -> Decision:
        return decide_start(known.record, node=self._rules.node, promise=self._node.report.facts.promise)

    def _host(self, primary: str) -> str:
        return f"{primary}.{self._rules.primary_domain}"

    async def _pause(self, server: ProcessId, pause_s: float) -> None:
        """Wait, but no longer than this server does."""
        within_s = pause_s * self._chance.uniform(0.8, 1.0)
        await self._node.wait_for(lambda _: not self._waits(server), within_s=within_s)

    def _waits(self, server: ProcessId) -> bool:
        return waiting(self._node.report.facts) == server

    def _tell(self, event: str, reason: str) -> None:
        if reason != self._told:
            log.warning(event, reason=reason)
        self._told = reason


def waiting(facts: Facts) -> ProcessId | None:
    """The process that stands at the gate."""
    return facts.process.process if facts.process.state is ProcessState.WAITING else None
