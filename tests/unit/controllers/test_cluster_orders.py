"""Each step of a cluster's plan becomes orders that an agent understands."""

from typing import Any

import pytest

from tests.support.clusters import NOW, facts, formed, slots, with_node
from valkey_operator.controllers.agents.messages import order_message
from valkey_operator.controllers.cluster_orders import epoch_for, nodes_of, stages_of
from valkey_operator.core.cluster.facts import Attempt, ClusterRecord, FailoverKind, Leave
from valkey_operator.core.cluster.leave import terms_of
from valkey_operator.core.cluster.steps import (
    AddSlots,
    Bind,
    BumpEpoch,
    CancelMigrations,
    Failover,
    Forget,
    Meet,
    Migrate,
    MigrationKind,
    Open,
    Reason,
    Remember,
    Replicate,
    Reset,
    SetConfigEpoch,
    SettleSlots,
    Step,
)
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.runtime.outcome import TransientError
from valkey_operator.valkey.boot import Address

SOURCE, TARGET = "a" * 40, "b" * 40
FACTS = facts(formed())
RECORD = ClusterRecord(attempts=(Attempt(shard=0, kind=FailoverKind.PLANNED, source=SOURCE, target="c-0-1", at=NOW),))


def move(kind: MigrationKind) -> Migrate:
    return Migrate(
        source="c-0-0",
        target="c-1-0",
        source_id=SOURCE,
        target_id=TARGET,
        target_address=Address("10.0.0.2", 6379),
        slots=slots("0-3"),
        kind=kind,
    )


def orders(step: Step, record: ClusterRecord = RECORD) -> list[list[tuple[str, Any]]]:
    """By stage, the node and the message of each order, spelled as it goes over the wire."""
    stages = stages_of(step, FACTS, record)
    return [
        [(order.node, order_message(order.name, pb.Order(), dict(order.fields))) for order in stage] for stage in stages
    ]


def only(step: Step, record: ClusterRecord = RECORD) -> Any:
    [[(node, message)]] = orders(step, record)
    assert (node,) == nodes_of(step)
    return message


def test_a_server_is_let_in_with_the_address_of_its_service_and_its_name() -> None:
    message = only(Open(node="c-0-0"))
    assert message.kind == pb.START_KIND_CLUSTER_NODE
    assert (message.announced.address.host, message.announced.address.port) == ("c-0-0.svc", 6379)
    assert message.announced.hostname == "c-0-0"


def test_who_is_let_in_or_bound_is_told_the_terms_on_record() -> None:
    leave = Leave(epoch=7, witnesses=("c-0-0", "c-1-0", "c-2-0"))
    terms = terms_of(FACTS, leave, "c-0-0")
    opened, bound = only(Open(node="c-0-0"), ClusterRecord(leave=leave)), only(Bind(node="c-0-0", terms=terms))
    assert opened.terms == bound.terms
    assert ([list(each.nodes) for each in bound.terms.sets], bound.terms.elected) == ([["c-1-0", "c-2-0"]], True)
    assert not only(Open(node="c-0-0")).HasField("terms")


def test_nobody_is_let_in_with_terms_to_which_the_agents_of_others_cannot_keep() -> None:
    leave = Leave(epoch=7, witnesses=("c-0-0", "c-1-0", "c-2-0"))
    older = facts(with_node(formed(), "c-1-0", keeps_terms=False))
    [[order]] = stages_of(Open(node="c-0-0"), older, ClusterRecord(leave=leave))
    assert "terms" not in order.fields


def test_orders_are_of_the_epoch_on_record_but_for_who_gets_no_leave_in_it() -> None:
    leave = Leave(epoch=7, witnesses=("c-0-0",), without=("c-1-0",))
    found = facts(with_node(formed(), "c-1-0", promised=6), leave=leave)
    assert [epoch_for(node, found, found.record) for node in ("c-0-0", "c-1-0")] == [7, 6]
    assert epoch_for("c-0-0", found, ClusterRecord()) == 0


def test_nobody_is_let_in_without_an_address_to_announce() -> None:
    homeless = facts(with_node(formed(), "c-0-0", member={"address": None}))
    with pytest.raises(TransientError, match="no address yet"):
        stages_of(Open(node="c-0-0"), homeless, RECORD)


def test_single_commands_carry_what_they_name() -> None:
    assert only(SetConfigEpoch(node="c-0-0", epoch=7)).config_epoch == 7
    assert only(AddSlots(node="c-0-0", slots=slots("0-5"))).slots == "0-5"
    assert only(Replicate(node="c-0-1", primary=SOURCE)).primary_id == SOURCE
    peers = only(Meet(node="c-0-0", peers=(Address("10.0.0.1", 6379), Address("10.0.0.2", 6379)))).peers
    assert [peer.host for peer in peers] == ["10.0.0.1", "10.0.0.2"]


@pytest.mark.parametrize("step", [Reset(node="c-0-1"), CancelMigrations(node="c-0-0"), BumpEpoch(node="c-0-0")])
def test_some_orders_say_all_by_their_name(step: Step) -> None:
    [[(_, message)]] = orders(step)
    assert message.ByteSize() == type(message)(order=pb.Order()).ByteSize()


def test_slots_are_settled_for_an_owner_or_for_whoever_has_them() -> None:
    assert only(SettleSlots(node="c-0-0", slots=slots("5"), owner=TARGET)).owner_id == TARGET
    assert only(SettleSlots(node="c-0-0", slots=slots("5"), owner=None)).owner_id == ""


def test_who_takes_over_is_told_from_whom_as_it_is_remembered() -> None:
    message = only(Failover(node="c-0-1", kind=FailoverKind.PLANNED))
    assert (message.kind, message.primary_id) == (pb.FAILOVER_KIND_PLANNED, SOURCE)


def test_a_failover_of_another_kind_than_remembered_names_nobody() -> None:
    message = only(Failover(node="c-0-1", kind=FailoverKind.FORCE))
    assert (message.kind, message.primary_id) == (pb.FAILOVER_KIND_FORCE, "")


def test_an_atomic_move_is_ordered_at_the_source() -> None:
    [[(node, message)]] = orders(move(MigrationKind.ATOMIC))
    assert (node, message.slots, message.target_id) == ("c-0-0", "0-3", TARGET)


def test_key_by_key_the_target_is_ready_before_the_source_gives() -> None:
    [[(first, takes)], [(second, gives)]] = orders(move(MigrationKind.KEY_BY_KEY))
    assert (first, takes.source_id) == ("c-1-0", SOURCE)
    assert (second, gives.target_id, gives.target.host) == ("c-0-0", TARGET, "10.0.0.2")


def test_a_move_keeps_both_ends_busy() -> None:
    assert set(nodes_of(move(MigrationKind.ATOMIC))) == {"c-0-0", "c-1-0"}


def test_an_id_is_forgotten_by_all_at_the_same_time() -> None:
    [stage] = orders(Forget(nodes=("c-0-0", "c-1-0"), id=SOURCE))
    assert [(node, message.id) for node, message in stage] == [("c-0-0", SOURCE), ("c-1-0", SOURCE)]


def test_what_is_remembered_is_nobodys_order() -> None:
    step = Remember(record=RECORD, reason=Reason.FORMED, message="")
    assert (orders(step), nodes_of(step)) == ([], ())
