"""What is known about a shard at one moment.

Owns: the facts, and plain questions about them. Refuses to know: what follows from the answers.
"""

from datetime import datetime

import msgspec

from valkey_operator.api.shard import ValkeyShardSpec
from valkey_operator.core.node_view import NodeView
from valkey_operator.valkey.boot import PARK_HOST, PARK_PORT, Address
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health, ProcessState

PARKED_AT = Address(PARK_HOST, PARK_PORT)


class Member(msgspec.Struct, frozen=True, kw_only=True):
    """A node that exists. `view` is the last report of that very pod; None: nothing was heard of it."""

    name: str
    index: int
    wanted: bool = True
    address: Address | None = None
    pod_uid: str | None = None
    pod_ip: str | None = None
    pod_ready: bool = False
    pod_leaving: bool = False
    stops_at: datetime | None = None
    """When its pod is killed, if it leaves."""
    changed_at: datetime | None = None
    """When Kubernetes last said something new of its pod that Services go by."""
    role_label: str | None = None
    """What its pod is called, by which Services find it."""
    server_started: bool = False
    """The server's container runs, whatever the server does in it."""
    stale: bool = False
    """Its pod is of another spec than the present one."""
    own_settings: bool = False
    """A user has unbound what its server reads at its start."""
    cordoned: bool = False
    """Its machine takes no new pods, and may soon be without any."""
    view: NodeView | None = None


class WritingRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the spec says about writing.

    `half_attached`: half of the replicas must follow, or the server refuses. `fail_over`: one of them takes over from a
    primary that is silent.
    """

    fence_after_ms: int = 0
    missed_after_ms: int = 3000
    min_replicas: int = 0
    half_attached: bool = False
    fail_over: bool = True


class ShardFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a plan depends on. `members` are in the order of their indices."""

    record: ValkeyShardSpec
    members: tuple[Member, ...]
    replicas: int
    writing: WritingRules = WritingRules()
    settings_digest: str = ""
    """Of the live settings that every server shall have."""
    wished: str | None = None
    """The node that a user wants as primary, met or not."""
    just_asked: frozenset[str] = frozenset()
    """Who was asked for its state a moment ago: offsets of others are as old as their last news."""
    primary_pod_ended: bool = False
    """Nothing runs any more of the pod that is on record as primary, present or not."""
    leave_until: datetime | None = None
    """Until when leave to write may last that this operator gave, or the one before it."""
    now: datetime

    def member(self, name: str | None) -> Member | None:
        """The member of that name, if it exists."""
        return next((each for each in self.members if each.name == name), None)

    def others(self, name: str) -> list[Member]:
        """All members but one."""
        return [each for each in self.members if each.name != name]


def is_changing(facts: ShardFacts) -> bool:
    """Whether a change of the primary is under way."""
    return facts.record.operation is not None or facts.record.pending is not None


def waits_at_gate(view: NodeView | None) -> bool:
    """Whether a server process stands at the gate: it can neither write nor be written to."""
    return view is not None and view.process is ProcessState.WAITING


def has_no_server(view: NodeView | None) -> bool:
    """Whether its server is known to be dead, or stands at the gate: with it, whatever was in memory is gone.

    It stays so until the gate is opened, which an agent does not do by itself while somebody could take over.
    """
    return view is not None and view.process in {ProcessState.WAITING, ProcessState.GONE}


def runs_as(view: NodeView | None, role: Role) -> bool:
    """Whether the server runs, answers, and says that it is one."""
    return (
        view is not None
        and view.process is ProcessState.RUNNING
        and view.health is Health.ANSWERS
        and view.role is role
    )


def is_parked(view: NodeView | None) -> bool:
    """Whether it is a replica of nobody."""
    return runs_as(view, Role.REPLICA) and view is not None and view.link is not None and view.link.primary == PARKED_AT


def follows(view: NodeView | None, primary: Address | None) -> bool:
    """Whether it is a replica of the server at that address, connected or not."""
    return (
        runs_as(view, Role.REPLICA)
        and view is not None
        and view.link is not None
        and primary is not None
        and view.link.primary == primary
    )


def is_in_sync(view: NodeView | None, primary: Address | None) -> bool:
    """Whether it follows that server with a whole data set."""
    if view is None or view.link is None or not follows(view, primary):
        return False
    return view.whole and view.link.up and not view.link.syncing


def is_in_sync_with(view: NodeView | None, primary: Member) -> bool:
    """The same of a primary that was heard of: a link to a process that it no longer is has another replication id."""
    theirs = primary.view.replication_id if primary.view else None
    return view is not None and is_in_sync(view, primary.address) and view.replication_id == theirs


def is_unbroken(view: NodeView | None) -> bool:
    """Whether a replica holds what its primary had sent, in memory, since before any restart."""
    return runs_as(view, Role.REPLICA) and view is not None and view.whole


def has_said_what_it_has(view: NodeView | None) -> bool:
    """Whether it is known which data a node has: those on its disk, or those of a server that answers."""
    return has_no_server(view) or runs_as(view, Role.REPLICA) or runs_as(view, Role.PRIMARY)


def copy_rank(member: Member) -> tuple[int, bool, int, int]:
    """How new the copy on a node's disk is: the highest one is the newest. Without files there is no copy."""
    return (*copy_newness(member.view), -member.index)


def copy_newness(view: NodeView | None) -> tuple[int, bool, int]:
    """The same of one node, whose index does not count."""
    if view is None or not (view.copy.rdb or view.copy.aof):
        return (-1, False, 0)
    return (-1 if view.copy.epoch is None else view.copy.epoch, view.copy.was_primary, view.copy.offset)
