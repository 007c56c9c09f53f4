"""A record that is gone while servers run: it is written as they are, above everything that was promised."""

from datetime import UTC, datetime
from typing import Any

from valkey_operator.api.shard import ShardOwner, ValkeyShardSpec
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.core.shard.facts import Member, ShardFacts
from valkey_operator.core.shard.members import first_record_names_primary
from valkey_operator.core.shard.plan import plan_shard
from valkey_operator.core.shard.steps import Reason, SwapRecord
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import Health, ProcessState

EMPTY = ValkeyShardSpec(owner=ShardOwner(kind="Valkey", name="x"), index=0, epoch=0)


def address(name: str) -> Address:
    return Address(f"{name}.svc", 6379)


def running(role: Role, *, of: str | None = None, **changes: Any) -> NodeView:
    link = LinkView(primary=address(of), up=True) if of else None
    return NodeView(
        pod_uid="uid",
        boot_id="boot",
        seq=1,
        process=ProcessState.RUNNING,
        health=Health.ANSWERS,
        role=role,
        link=link,
        whole=True,
        fenced=False,
        replication_id="a" * 40,
        **changes,
    )


def remade(*views: NodeView | None) -> SwapRecord | str | None:
    members = tuple(
        Member(name=f"x-{index}", index=index, address=address(f"x-{index}"), view=view)
        for index, view in enumerate(views)
    )
    now = datetime(2026, 11, 16, tzinfo=UTC)
    plan = plan_shard(ShardFacts(record=EMPTY, members=members, replicas=len(members), now=now))
    if not plan.steps:
        return plan.waits_for
    [step] = plan.steps
    assert isinstance(step, SwapRecord)
    return step


def test_who_runs_as_primary_stays_it_and_who_is_in_sync_could_take_over() -> None:
    found = remade(
        running(Role.REPLICA, of="x-1", promised_epoch=4),
        running(Role.PRIMARY, promised_epoch=5, offset=70),
        running(Role.REPLICA, of="x-0", promised_epoch=9, copy=CopyView(rdb=True, epoch=3)),
    )
    assert isinstance(found, SwapRecord)
    assert found.reason is Reason.RECORD_REMADE
    assert (found.record.primary, found.record.promotable) == ("x-1", ["x-0"])
    assert (found.record.epoch, found.record.first_offset) == (10, 70)


def test_of_two_primaries_the_one_by_the_newer_order_stays() -> None:
    found = remade(running(Role.PRIMARY, promised_epoch=4, offset=900), running(Role.PRIMARY, promised_epoch=5))
    assert isinstance(found, SwapRecord)
    assert found.record.primary == "x-1"


def test_nothing_is_written_while_a_node_is_silent() -> None:
    assert remade(running(Role.PRIMARY), None) == "x-1 to say which data it has"


def test_a_record_begins_with_node_0_only_where_nothing_is_left_of_that_name() -> None:
    assert first_record_names_primary((), ())
    assert not first_record_names_primary((1,), ())
    assert not first_record_names_primary((), (0,))
