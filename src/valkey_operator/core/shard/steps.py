"""What can be done to a shard, and what a plan is.

Owns: the sorts of steps. Each can be repeated, and given up at any point. Refuses to know: when one is due.
"""

import enum
from typing import TypeAlias

import msgspec

from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.valkey.boot import Address, StartKind
from valkey_operator.valkey.terms import Terms


class Reason(enum.StrEnum):
    """Why the record changes; the word that events and conditions carry."""

    NEWEST_COPY = "NewestCopyChosen"
    RECORD_REMADE = "RecordMadeAnew"
    PRIMARY_RESTARTED = "PrimaryRestarted"
    ALL_RESTARTED = "AllRestarted"
    PRIMARY_REMOVED = "PrimaryRemoved"
    SWITCHOVER_BEGINS = "SwitchoverStarted"
    SWITCHOVER_DONE = "SwitchoverDone"
    SWITCHOVER_GIVEN_UP = "SwitchoverGivenUp"
    FAILOVER_BEGINS = "FailoverStarted"
    PRIMARY_LOST = "PrimaryLost"
    MEMBERS_CHANGED = "MembersChanged"
    WISH_MET = "WishMet"
    WISH_FORGOTTEN = "WishForgotten"


class SwapRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Write the record, over the very version that was seen."""

    record: ValkeyShardSpec
    reason: Reason
    message: str


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """Let the server at the gate start."""

    node: str
    kind: StartKind
    primary: Address | None = None
    terms: Terms | None = None


class Follow(msgspec.Struct, frozen=True, kw_only=True):
    """Become a replica."""

    node: str
    primary: Address


class Promote(msgspec.Struct, frozen=True, kw_only=True):
    """Become primary, if the data are those that were meant."""

    node: str
    replication_id: str
    at_least_offset: int
    terms: Terms


class Bind(msgspec.Struct, frozen=True, kw_only=True):
    """Write on these terms from now on."""

    node: str
    terms: Terms


class Park(msgspec.Struct, frozen=True, kw_only=True):
    """Become a replica of nobody."""

    node: str


class Detach(msgspec.Struct, frozen=True, kw_only=True):
    """Become replicas of nobody, all at once, and promise the epoch announced; who does not answer is left out."""

    nodes: tuple[str, ...]


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """End the server, unless it answers after all."""

    node: str


class Release(msgspec.Struct, frozen=True, kw_only=True):
    """Drop the clients of a server that is primary no more, and let them find who is."""

    node: str


class LookAgain(msgspec.Struct, frozen=True, kw_only=True):
    """Ask a node for its state of this moment."""

    node: str


Order: TypeAlias = Open | Follow | Promote | Bind | Park | Kill | Release
Step: TypeAlias = SwapRecord | Order | LookAgain | Detach


class ShardPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do next, in this order; after it everything is looked at again. `waits_for` is said to the user.

    `look_after_s`: time alone may change the plan.
    """

    steps: tuple[Step, ...] = ()
    waits_for: str | None = None
    look_after_s: float | None = None

    @property
    def only_asks(self) -> frozenset[str]:
        """Whose state is of this moment after it: it asks them, and changes nothing."""
        asked = [step.node for step in self.steps if isinstance(step, LookAgain)]
        return frozenset(asked if len(asked) == len(self.steps) else ())
