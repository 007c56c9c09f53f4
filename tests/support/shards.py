"""Builders of a shard's facts: sound examples, of which a test names only what it is about.

Nodes are called x-0, x-1, …; each has an address of its own, which is that of its Service.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from valkey_operator.api.shard import ShardOperation, ShardOwner, ValkeyShardSpec
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.core.shard.facts import PARKED_AT, Member, ShardFacts
from valkey_operator.core.shard.steps import Bind, ShardPlan, SwapRecord
from valkey_operator.core.shard.switchover import SWITCHOVER
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health, ProcessState
from valkey_operator.valkey.terms import Terms

OURS, NEXT, OTHER = "a" * 40, "b" * 40, "c" * 40
"""Replication ids: that of the record, one that came of it, and one that has nothing to do with it."""

NOW = datetime(2026, 11, 16, 12, 0, 30, tzinfo=UTC)
JUST_NOW, LONG_AGO = "2026-11-16T12:00:29Z", "2026-11-16T12:00:20Z"

_RECORD = ValkeyShardSpec(owner=ShardOwner(kind="Valkey", name="x"), index=0, epoch=7, primary="x-0", primary_pod="uid")
_VIEW = NodeView(pod_uid="uid", boot_id="boot", seq=1)
_RUNNING = msgspec.structs.replace(
    _VIEW, process=ProcessState.RUNNING, health=Health.ANSWERS, replication_id=OURS, whole=True, fenced=False
)


def address_of(node: str) -> Address:
    return Address(f"{node}.svc", 6379)


def waiting(**copy: Any) -> NodeView:
    """A server at the gate; the arguments say what is on its disk."""
    return msgspec.structs.replace(_VIEW, process=ProcessState.WAITING, copy=CopyView(**copy))


def in_state(process: ProcessState, **changes: Any) -> NodeView:
    return msgspec.structs.replace(_VIEW, process=process, **changes)


def a_primary(**changes: Any) -> NodeView:
    return msgspec.structs.replace(_RUNNING, **{"role": Role.PRIMARY, "offset": 100, "terms": Terms(), **changes})


def replica_of(primary: str, *, up: bool = True, syncing: bool = False, **changes: Any) -> NodeView:
    link = LinkView(primary=address_of(primary), up=up, syncing=syncing)
    return msgspec.structs.replace(_RUNNING, **{"role": Role.REPLICA, "offset": 100, "link": link, **changes})


def parked(**changes: Any) -> NodeView:
    return replica_of("nobody", **{"link": LinkView(primary=PARKED_AT, up=False), **changes})


def member(name: str, view: NodeView | None = None, **changes: Any) -> Member:
    index = int(name.rpartition("-")[2])
    sound = Member(
        name=name, index=index, address=address_of(name), pod_uid="uid", pod_ready=True, server_started=True, view=view
    )
    return msgspec.structs.replace(sound, **changes)


def record(**changes: Any) -> ValkeyShardSpec:
    return msgspec.structs.replace(_RECORD, **{"replication_id": OURS, "first_offset": 10, **changes})


def switchover(source: str = "x-0", target: str = "x-1", started_at: str | None = JUST_NOW) -> ShardOperation:
    return ShardOperation(
        type=SWITCHOVER, source=source, target=target, epoch=7, reason="a test", started_at=started_at
    )


def facts(*members: Member, replicas: int | None = None, on_record: ValkeyShardSpec | None = None) -> ShardFacts:
    count = sum(each.wanted for each in members) if replicas is None else replicas
    return ShardFacts(
        record=record() if on_record is None else on_record,
        members=members,
        replicas=count,
        just_asked=frozenset(each.name for each in members),
        now=NOW,
    )


def swapped(plan: ShardPlan) -> ValkeyShardSpec:
    """The record that a plan begins with writing; at most the primary is told before who that will be."""
    assert plan.steps, f"nothing to do; it waits for {plan.waits_for}"
    first = next(step for step in plan.steps if not isinstance(step, Bind))
    assert isinstance(first, SwapRecord), first
    return first.record
