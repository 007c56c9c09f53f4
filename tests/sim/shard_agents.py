"""Agents of the model: what each has promised, whose leave it has, what it grants, how it opens its gate.

Owns: the state of an agent. Every rule is the real one: `check_order`, `may_grant`, `good_until`, `decide_start`.
Refuses to know: who reaches whom (shard_model.py), and how an order is carried out (shard_orders.py).
"""

import math
from dataclasses import dataclass, field

import msgspec

from tests.sim.shard_servers import Server
from valkey_operator.agent import licence, promise, start
from valkey_operator.agent.licence import Grants
from valkey_operator.agent.promise import Given, Promise
from valkey_operator.agent.record import PendingChange, RecordedOperation, ShardRecord
from valkey_operator.agent.start import Decision
from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.valkey.boot import FENCED
from valkey_operator.valkey.terms import Terms

FIRST_LOOK_AFTER = 0.3
RECORD_IS_FRESH = 1.0
NO_TERMS = Terms()


@dataclass(eq=False)
class Machine:
    """Where a pod runs, and whom it reaches from there: machines of one zone reach each other."""

    zone: int = 0
    off_operator: bool = False
    off_api: bool = False

    @property
    def is_cut(self) -> bool:
        return self.zone != 0 or self.off_operator or self.off_api

    def heal(self) -> None:
        self.zone, self.off_operator, self.off_api = 0, False, False


@dataclass(eq=False)
class Agent:
    """Beside one server. What a later agent of the same pod knows is `promise`; all else is in memory."""

    machine: Machine
    began: float
    promise: Promise = field(default_factory=Promise)
    alive: bool = True
    stalled: bool = False
    """It runs and does not get its turn: the pod is frozen, or has just thawed."""
    haunts: bool = False
    """Its pod is a ghost."""
    boots: int = 1
    grants: Grants = field(default_factory=Grants)
    granted_epoch: int = 0
    """The epoch that `grants` are for."""
    granted_at: float = 0.0
    missed_after: float = NO_TERMS.missed_after_ms / 1000
    answered_at: float = 0.0
    links: "dict[str, Agent]" = field(default_factory=dict)
    """To those of replicas: to a very pod's each, also after another one took its name."""
    read: tuple[ShardRecord, float] | None = None
    """The record as it was read for a start, and when it was asked for."""
    lease_seen: tuple[int, float] = (-1, 0.0)
    no_operator_since: float | None = None

    def __post_init__(self) -> None:
        self.granted_at = self.answered_at = self.began

    @property
    def runs(self) -> bool:
        return self.alive and not self.stalled

    def restart(self, now: float) -> None:
        """Another process takes over with what is on file."""
        self.alive, self.stalled, self.boots, self.began = True, False, self.boots + 1, now
        self.grants, self.links, self.read = Grants(), {}, None
        self.granted_at = self.answered_at = now
        self.lease_seen, self.no_operator_since = (-1, 0.0), None

    def keep(self, kept: Promise, server: Server | None, now: float) -> None:
        """A promise; the server's fence stays where it was if nobody is bound any more."""
        self.settle(server, now)
        self.promise = kept

    # --- leave to write -----------------------------------------------------------------------------------------------

    @property
    def terms(self) -> Terms:
        return self.promise.terms or NO_TERMS

    def of_this_epoch(self) -> Grants:
        if self.granted_epoch != self.promise.epoch:
            self.granted_epoch, self.grants = self.promise.epoch, Grants()
        return msgspec.structs.replace(self.grants, alone=self.promise.alone)

    def take(self, **grant: object) -> None:
        self.grants = msgspec.structs.replace(self.of_this_epoch(), **grant)

    def good_until(self, terms: Terms) -> float:
        until, _ = licence.good_until(terms.sets, self.of_this_epoch(), terms.fence_after_ms / 1000)
        return until if terms.fence_after_ms else math.inf

    def may_write(self, terms: Terms, now: float) -> bool:
        return now < self.good_until(terms)

    def runs_short(self, now: float) -> bool:
        return self.good_until(self.terms) < now + self.terms.fence_after_ms / 2000

    def settle(self, server: Server | None, now: float) -> None:
        """Put the fence where the licence puts it; one that is told no terms leaves it where it is."""
        if server is not None and server.is_primary and self._looks_after(now):
            server.least = self.terms.least_replicas if self.may_write(self.terms, now) else FENCED

    def must_end(self, server: Server, now: float) -> bool:
        """Whether it does not confirm its fence; one that hangs may be the primary that it was told to be."""
        is_to_write = self.promise.given is Given.PRIMARY
        return server.hung and is_to_write and self._looks_after(now) and not self.may_write(self.terms, now)

    def _looks_after(self, now: float) -> bool:
        return self.promise.terms is not None and self.runs and now - self.began >= FIRST_LOOK_AFTER

    # --- what it grants -----------------------------------------------------------------------------------------------

    def grant(self, epoch: int, missed_after: float, now: float) -> bool:
        """The answer to a primary that asks."""
        granted = promise.may_grant(self.promise, epoch)
        if granted:
            self.promise = msgspec.structs.replace(self.promise, granted=epoch)
            self.granted_at, self.missed_after = now, missed_after
        return granted

    def misses_primary(self, server: Server | None, now: float) -> bool:
        if server is None or not server.hung:
            self.answered_at = now
        if self.promise.given is not Given.PRIMARY:
            return now - self.granted_at > self.missed_after
        self.granted_at = now
        return now - self.answered_at > self.terms.missed_after_ms / 1000

    # --- the gate -----------------------------------------------------------------------------------------------------

    def decide_start(self, node: str, now: float) -> Decision | None:
        """What the record that was read says, while it is fresh."""
        if self.read is None or now - self.read[1] >= RECORD_IS_FRESH:
            return None
        # What its terms forbid is a rule of the model's own, to be switched off alone (shard_model.py).
        return start.decide_start(self.read[0], node=node, promise=Promise(epoch=self.promise.epoch))


def as_read(record: ValkeyShardSpec) -> ShardRecord:
    """A record as an agent reads it."""
    pending, operation = record.pending, record.operation
    return ShardRecord(
        epoch=record.epoch,
        primary=record.primary,
        promotable=tuple(record.promotable or ()),
        pending=PendingChange(epoch=pending.epoch) if pending else None,
        operation=RecordedOperation(type=operation.type, source=operation.source) if operation else None,
    )
