"""What is known about a cluster at one moment.

Owns: the facts, what has to be remembered between two looks, and plain questions about single nodes. Refuses to know:
what all nodes together say (view.py), and what follows from it (plans).
"""

import enum
from collections.abc import Mapping
from datetime import datetime

import msgspec

from valkey_operator.core.node_view import NodeView
from valkey_operator.core.shard.facts import has_no_server, is_unbroken, waits_at_gate
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.cluster_nodes import NodesView, SlotMigration
from valkey_operator.valkey.states import Health, ProcessState


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A node that exists, or whose servers others still speak of. `shard` and `index` are those of its name."""

    name: str
    shard: int
    index: int
    wanted: bool = True
    hostname: str
    """What its server announces: by it others' words are known to be about this node."""
    address: Address | None = None
    """What it announces to the bus; it outlives the pod."""
    pod_ready: bool = False
    pod_leaving: bool = False
    pod_ended: bool = False
    """Nothing runs any more of the pod in which its server was."""
    writes_ended: bool = False
    """Nobody knows whether its server lives, but whatever let it write has run out.

    So has the leave of replicas around it to be elected: fenced owners still vote, and a cut-off side that has most of
    them would choose owners of slots that are served on this side. The fence forbids both.
    """
    server_started: bool = False
    """Its container runs, whether or not its server was heard of."""
    settings_digest: str | None = None
    """Of the live settings that its server shall have; None: they are not ours to give."""
    stale: bool = False
    """Its pod is of another spec than the present one."""
    cordoned: bool = False
    zone: str | None = None
    machine: str | None = None
    view: NodeView | None = None
    """The last report of that very pod; None: nothing was heard of it."""
    seen: NodesView | None = None
    """CLUSTER NODES of its server, which runs and answers."""
    kept: NodesView | None = None
    """The nodes.conf with which a server at the gate would start; None: it would be a new node."""
    serves: bool = False
    """Whether its server answers clients: the state of the cluster is ok for it. A new node needs two seconds."""
    migrations: tuple[SlotMigration, ...] = ()
    keys: int | None = None
    keys_in_slots: Mapping[int, int] = {}
    """How many keys it has in each slot that is open, on its side."""
    used_bytes: int | None = None
    limit_bytes: int | None = None


class FailoverKind(enum.StrEnum):
    """How a replica becomes primary: with the old one's consent, with the others' votes, or by its own word alone."""

    PLANNED = "planned"
    FORCE = "force"
    TAKEOVER = "takeover"


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A failover that was ordered. `source` is the id of the node that was primary, `target` the name of the heir."""

    shard: int
    kind: FailoverKind
    source: str
    target: str
    at: datetime
    why: str = ""
    """Of a planned one: for what."""
    tries: int = 1
    """With those before it, for the same reason, of which nothing has come."""


class MoveFailure(msgspec.Struct, frozen=True, kw_only=True):
    """That slots could not be moved between two shards, until as many moves went well again."""

    source: int
    target: int
    count: int
    """One more with each that failed, one less with each that went well."""
    error: str
    """What the server said; empty: the last one went well."""
    at: datetime
    """When the last one failed."""


class Sleep(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that was suspended: how many shards it had, and nodes in each; and how many shards were asked for.

    All of them are needed to wake up: the owner of a shard's slots may be any.
    """

    shards: int
    replicas: int
    asked: int


class Leave(msgspec.Struct, frozen=True, kw_only=True):
    """Who gives nodes leave to write and to be elected, in an epoch that only grows; and who gets none in it."""

    epoch: int
    witnesses: tuple[str, ...]
    former: tuple[str, ...] = ()
    """The witnesses of before, by whose leave somebody may write who was not told of the present ones."""
    without: tuple[str, ...] = ()
    """Owners that were lost when this epoch was announced: they are not told of it, and get no leave in it."""
    kept: bool = False
    """Every member was bound once. From then on nobody writes without leave: new ones start with it."""


class ClusterRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What has to outlive a look and a leader.

    `formed`: all slots had an owner once, so none is ever simply given out.
    """

    formed: bool = False
    asleep: Sleep | None = None
    attempts: tuple[Attempt, ...] = ()
    failures: tuple[MoveFailure, ...] = ()
    leave: Leave | None = None


class ClusterFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a plan depends on. `members` are in the order of shard and index."""

    name: str
    record: ClusterRecord
    members: tuple[Member, ...]
    shards: int
    replicas: int
    node_timeout_s: float = 5.0
    may_lose: bool = False
    """Whether slots without an owner may come back empty: durability is Cache, or a user said so."""
    least_replicas: int = 0
    """Without how many attached replicas a server refuses writes, by the spec."""
    zones: tuple[str, ...] = ()
    """Where primaries belong, dealt out over the shards in turn."""
    now: datetime

    def member(self, name: str | None) -> Member | None:
        """The member of that name, if it exists."""
        return next((each for each in self.members if each.name == name), None)

    def of_shard(self, shard: int) -> list[Member]:
        """The members of one shard."""
        return [each for each in self.members if each.shard == shard]

    def all_shards(self) -> list[int]:
        """The numbers of all shards that have members."""
        return sorted({each.shard for each in self.members})


def runs(member: Member) -> bool:
    """Whether its server runs and says what it knows."""
    view = member.view
    answers = view is not None and view.process is ProcessState.RUNNING and view.health is Health.ANSWERS
    return answers and member.seen is not None


def is_at_gate(member: Member) -> bool:
    """Whether its server waits for leave to start."""
    return waits_at_gate(member.view)


def is_dead(member: Member) -> bool:
    """Whether it is proven that its server lives no more; it starts again only through the gate."""
    return has_no_server(member.view) or (member.view is None and member.pod_ended)


def takes_no_writes(member: Member) -> bool:
    """Whether it is proven that no client can write there: it is dead, or lost its leave."""
    return is_dead(member) or (not runs(member) and member.writes_ended)


def has_said_what_it_has(member: Member) -> bool:
    """Whether it is known which data it has: those of a server that answers, or those on its disk."""
    return runs(member) or has_no_server(member.view)


def has_files(member: Member) -> bool:
    """Whether its server would find data on disk, be they old or new."""
    return member.view is not None and (member.view.copy.rdb or member.view.copy.aof)


def stays(member: Member) -> bool:
    """Whether nobody wants it gone."""
    return member.wanted and not member.pod_leaving and not (member.view is not None and member.view.leaving)


def is_whole_replica(member: Member) -> bool:
    """Whether it runs as a replica with all that its primary had sent when they were last connected."""
    return runs(member) and is_unbroken(member.view)


def is_linked(member: Member) -> bool:
    """Whether it is a replica whose link is up and whose data set is complete."""
    link = member.view.link if member.view else None
    return is_whole_replica(member) and link is not None and link.up and not link.syncing


def offset_of(member: Member) -> int:
    """How far it is in the stream of its primary."""
    return member.view.offset if member.view else 0
