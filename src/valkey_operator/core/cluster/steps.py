"""What can be done to a cluster, and what a plan is.

Owns: the sorts of steps, each with the command that it is. Each can be repeated, and given up at any point. Refuses to
know: when one is due.
"""

import enum
from typing import TypeAlias

import msgspec

from valkey_operator.core.cluster.facts import ClusterRecord, FailoverKind
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.slots import Slots
from valkey_operator.valkey.terms import Terms


class Reason(enum.StrEnum):
    """Why the record changes; the word that events and conditions carry."""

    FORMED = "ClusterFormed"
    SUSPENDED = "ClusterSuspended"
    RESUMED = "ClusterResumed"
    HANDOVER = "HandoverStarted"
    FAILOVER = "FailoverForced"
    TAKEOVER = "TakeoverOrdered"
    WITNESSES = "WitnessesChanged"
    BOUND = "LeaveNeeded"
    LEAVE_ENDS = "LeaveEnds"
    LEAVE_AGAIN = "LeaveGivenAgain"


class MigrationKind(enum.StrEnum):
    """How slots move: all at once and by the servers alone (both are 9.0 or newer), or key by key."""

    ATOMIC = "atomic"
    KEY_BY_KEY = "key-by-key"


class Remember(msgspec.Struct, frozen=True, kw_only=True):
    """Write the record, over the very version that was seen, before anything else of the plan is done."""

    record: ClusterRecord
    reason: Reason
    message: str


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """Let the server at the gate start, with the nodes.conf that it has, bound by the terms of the record."""

    node: str


class Bind(msgspec.Struct, frozen=True, kw_only=True):
    """Promise the epoch on record, and need leave to write in it by these terms."""

    node: str
    terms: Terms


class SetConfigEpoch(msgspec.Struct, frozen=True, kw_only=True):
    """CLUSTER SET-CONFIG-EPOCH epoch; a node that has met another refuses it."""

    node: str
    epoch: int


class AddSlots(msgspec.Struct, frozen=True, kw_only=True):
    """CLUSTER ADDSLOTSRANGE first last …; refused as a whole where one has an owner."""

    node: str
    slots: Slots


class Meet(msgspec.Struct, frozen=True, kw_only=True):
    """CLUSTER MEET host port bus-port, to each of them."""

    node: str
    peers: tuple[Address, ...]


class Replicate(msgspec.Struct, frozen=True, kw_only=True):
    """CLUSTER REPLICATE primary."""

    node: str
    primary: str
    """The id of the node to follow."""


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """CLUSTER RESET SOFT: a replica becomes an empty primary that knows nobody, with the id that it has."""

    node: str


class Migrate(msgspec.Struct, frozen=True, kw_only=True):
    """Move slots, as `kind` says. ATOMIC, at the source: CLUSTER MIGRATESLOTS SLOTSRANGE first last … NODE target_id.

    It answers at once and fails later: CLUSTER GETSLOTMIGRATIONS tells. KEY_BY_KEY: for each slot CLUSTER SETSLOT slot
    IMPORTING source_id at the target, then CLUSTER SETSLOT slot MIGRATING target_id at the source, then there CLUSTER
    GETKEYSINSLOT and MIGRATE … KEYS … to the target's address until none is left. The slots stay open; SettleSlots
    follows.
    """

    source: str
    target: str
    source_id: str
    target_id: str
    target_address: Address | None
    slots: Slots
    kind: MigrationKind


class CancelMigrations(msgspec.Struct, frozen=True, kw_only=True):
    """CLUSTER CANCELSLOTMIGRATIONS; what was under way is rolled back by the servers."""

    node: str


class SettleSlots(msgspec.Struct, frozen=True, kw_only=True):
    """For each slot CLUSTER SETSLOT slot NODE owner; without an owner CLUSTER SETSLOT slot STABLE."""

    node: str
    slots: Slots
    owner: str | None


class Failover(msgspec.Struct, frozen=True, kw_only=True):
    """CLUSTER FAILOVER, CLUSTER FAILOVER FORCE or CLUSTER FAILOVER TAKEOVER, at the replica."""

    node: str
    kind: FailoverKind


class BumpEpoch(msgspec.Struct, frozen=True, kw_only=True):
    """CLUSTER BUMPEPOCH."""

    node: str


class Forget(msgspec.Struct, frozen=True, kw_only=True):
    """CLUSTER FORGET id, at all of them within the minute in which each refuses to learn of it again."""

    nodes: tuple[str, ...]
    id: str


Step: TypeAlias = (
    Remember
    | Open
    | Bind
    | SetConfigEpoch
    | AddSlots
    | Meet
    | Replicate
    | Reset
    | Migrate
    | CancelMigrations
    | SettleSlots
    | Failover
    | BumpEpoch
    | Forget
)


class ClusterPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What to do next; after it everything is looked at again.

    Steps at the same node go in this order, those at different nodes at the same time; only Remember comes before all.
    `waits_for` is said to the user, the most important first. `look_after_s`: time alone may change the plan.
    """

    steps: tuple[Step, ...] = ()
    waits_for: tuple[str, ...] = ()
    look_after_s: float | None = None


NOTHING = ClusterPlan()


def steps_only(*steps: Step) -> ClusterPlan:
    """A plan of these steps."""
    return ClusterPlan(steps=steps)


def wait_for(*what: str, look_after_s: float | None = None) -> ClusterPlan:
    """A plan to do nothing, and why."""
    return ClusterPlan(waits_for=what, look_after_s=look_after_s)


def together(*plans: ClusterPlan) -> ClusterPlan:
    """All of them as one: they concern different things, so none keeps another from being done."""
    looks = [plan.look_after_s for plan in plans if plan.look_after_s is not None]
    return ClusterPlan(
        steps=tuple(step for plan in plans for step in plan.steps),
        waits_for=tuple(what for plan in plans for what in plan.waits_for),
        look_after_s=min(looks, default=None),
    )
