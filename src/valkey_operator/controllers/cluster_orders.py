"""What an agent is told for each step of a cluster's plan.

Owns: the orders, by their names in agent.proto, at which nodes, in which order. Refuses to know: when a step is due,
and how an order gets to its agent.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from valkey_operator.core.cluster.facts import ClusterFacts, ClusterRecord, FailoverKind
from valkey_operator.core.cluster.leave import can_be_kept, terms_of
from valkey_operator.core.cluster.steps import (
    AddSlots,
    Bind,
    Failover,
    Forget,
    Meet,
    Migrate,
    MigrationKind,
    Open,
    Remember,
    Replicate,
    SetConfigEpoch,
    SettleSlots,
    Step,
)
from valkey_operator.runtime.outcome import TransientError
from valkey_operator.valkey.boot import Address, Announced, BusAddress, StartKind


class NodeOrder(msgspec.Struct, frozen=True, kw_only=True):
    """An order to one node; `fields` as agent.proto has them."""

    node: str
    name: str
    fields: Mapping[str, Any] = {}


Stages = Sequence[Sequence[NodeOrder]]
"""Orders of which each sort is obeyed before the next is given; those of one stage go at the same time."""


def stages_of(step: Step, facts: ClusterFacts, record: ClusterRecord) -> Stages:
    """The orders of a step; raises `TransientError` where an address is missing."""
    match step:
        case Remember():
            return []
        case Forget():
            return [[NodeOrder(node=node, name="Forget", fields={"id": step.id}) for node in step.nodes]]
        case Migrate():
            return _moves(step)
        case _:
            return [[NodeOrder(node=step.node, name=type(step).__name__, fields=_fields(step, facts, record))]]


def nodes_of(step: Step) -> tuple[str, ...]:
    """Where a step is carried out: no two go at the same node at the same time."""
    match step:
        case Remember():
            return ()
        case Forget():
            return step.nodes
        case Migrate():
            return (step.target, step.source)
        case _:
            return (step.node,)


def epoch_for(node: str, facts: ClusterFacts, record: ClusterRecord) -> int:
    """The epoch of an order: whoever gets no leave in the present one is not told of it by any order."""
    leave, member = record.leave, facts.member(node)
    if leave is None:
        return 0
    if node not in leave.without:
        return leave.epoch
    return member.view.promised_epoch if member is not None and member.view is not None else 0


def _fields(step: Step, facts: ClusterFacts, record: ClusterRecord) -> Mapping[str, Any]:
    fields: Mapping[str, Any] = {}
    match step:
        case Open():
            fields = {"kind": StartKind.CLUSTER_NODE, "announced": _announced(step.node, facts)}
            if record.leave is not None and can_be_kept(facts, record.leave):
                fields = {**fields, "terms": terms_of(facts, record.leave, step.node)}
        case Bind():
            fields = {"terms": step.terms}
        case SetConfigEpoch():
            fields = {"config_epoch": step.epoch}
        case AddSlots():
            fields = {"slots": step.slots}
        case Meet():
            fields = {"peers": tuple(_on_bus(peer) for peer in step.peers)}
        case Replicate():
            fields = {"primary_id": step.primary}
        case SettleSlots():
            fields = {"slots": step.slots, "owner_id": step.owner or ""}
        case Failover():
            fields = {"kind": step.kind, "primary_id": replaced_by(step.node, record, step.kind)}
    return fields


def _moves(step: Migrate) -> Stages:
    fields = {"slots": step.slots, "target_id": step.target_id}
    if step.kind is MigrationKind.ATOMIC:
        return [[NodeOrder(node=step.source, name="MigrateSlots", fields=fields)]]
    if step.target_address is None:
        raise TransientError(f"the Service of {step.target} has no address yet")
    takes = {"slots": step.slots, "source_id": step.source_id}
    return [
        [NodeOrder(node=step.target, name="TakeSlots", fields=takes)],
        [NodeOrder(node=step.source, name="GiveSlots", fields={**fields, "target": step.target_address})],
    ]


def _announced(node: str, facts: ClusterFacts) -> Announced:
    member = facts.member(node)
    if member is None or member.address is None:
        raise TransientError(f"the Service of {node} has no address yet")
    return Announced(address=_on_bus(member.address), hostname=member.hostname)


def _on_bus(address: Address) -> BusAddress:
    return BusAddress(address.host, address.port)


def replaced_by(node: str, record: ClusterRecord, kind: FailoverKind) -> str:
    """The id of the primary that is meant; whoever follows another one by now shall not obey."""
    found = [each for each in record.attempts if each.target == node and each.kind is kind]
    return max(found, key=lambda each: each.at).source if found else ""
