"""The status of a Valkey: what a person should know, and do next.

Owns: its state, conditions and fields. Refuses to know: how anything was found out.
"""

from collections.abc import Mapping, Sequence

from valkey_operator.api.status import Condition, ConditionType, Operation, TlsStatus
from valkey_operator.api.valkey import ValkeyNodeSummary, ValkeyStatus
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.core.shard.facts import Member, ShardFacts, runs_as
from valkey_operator.core.shard.isolated import lacks_replicas
from valkey_operator.core.shard.members import last_copy
from valkey_operator.core.shard.settings import to_configure
from valkey_operator.core.shard.wished import obstacle
from valkey_operator.core.status.conditions import Said, conditions_after
from valkey_operator.core.status.disk import describe_disk_errors, with_disk_error
from valkey_operator.core.status.node import observed_role
from valkey_operator.core.status.workload import (
    Verdict,
    WorkloadFindings,
    endpoints,
    exporter,
    held,
    held_conditions,
    hindered,
    said_of,
    secret_name,
    state_conditions,
    suspended,
    unsettled,
    version_of,
)
from valkey_operator.valkey.info import Role


class Findings(WorkloadFindings, frozen=True, kw_only=True):
    """Everything the status is made from. `shard` is None until there is a record."""

    spec: EffectiveValkey
    shard: ShardFacts | None
    waits_for: str | None = None
    zones: Mapping[str, str] = {}


def valkey_status(found: Findings, before: ValkeyStatus | None) -> ValkeyStatus:
    """What is told about a Valkey."""
    verdict = judge(found, before)
    members = found.shard.members if found.shard else ()
    record = found.shard.record if found.shard else None
    primary = _primary(found)
    operation = record.operation if record else None
    return ValkeyStatus(
        state=verdict.state,
        reason=verdict.reason,
        message=verdict.message,
        observed_generation=found.generation,
        conditions=_conditions(found, verdict, before),
        version=version_of(member.view for member in members) or (before.version if before else None),
        total_replicas=found.spec.replicas,
        ready_replicas=sum(member.pod_ready for member in members),
        secret_name=secret_name(found),
        endpoints=endpoints(found),
        tls=TlsStatus(enabled=False),
        exporter=exporter(found),
        primary=primary.name if primary else None,
        primary_epoch=record.epoch if record and record.epoch else None,
        replicas=[member.name for member in members if observed_role(member.view) == "replica"] or None,
        operation=_operation(operation) if operation else None,
        sentinel_managed=found.spec.sentinel is not None,
        sentinel_name=found.spec.sentinel.name if found.spec.sentinel else None,
        selector=f"valkey.io/kind=Valkey,valkey.io/cluster={found.owner.name}",
        nodes=[_summary(member, found.zones.get(member.name)) for member in members] or None,
    )


def judge(found: Findings, before: ValkeyStatus | None) -> Verdict:
    """The state in one word, and why; the first that applies."""
    members = found.shard.members if found.shard else ()
    if hold := held(found):
        return Verdict("Degraded" if any(m.pod_ready for m in members) else "Failed", *hold)
    if found.spec.replicas == 0:
        return suspended(found.pods)
    if lost := _lost(found):
        return Verdict("Degraded", *lost)
    if unwell := with_disk_error(members):
        return Verdict("Degraded", "CannotPersist", _disk_errors(found, unwell))
    changing = _changing(found)
    if changing is None and _all_ready(found):
        count = found.spec.replicas
        return Verdict("Ready", "AllNodesHealthy", f"{count} of {count} nodes are Ready.")
    message = _why_not(found) or changing
    return unsettled(found, before, is_changing=changing is not None, message=message)


def _lost(found: Findings) -> tuple[str, str] | None:
    """Why nobody takes writes though a primary is on record."""
    record, primary = found.shard.record if found.shard else None, _primary(found)
    if record is not None and record.pending is not None:
        waits = f" Waits for {found.waits_for}." if found.waits_for else ""
        return "FailingOver", f"{record.primary} is being replaced: {record.pending.reason}.{waits}"
    if primary is not None and primary.view is not None and primary.view.fenced:
        return "NoLicence", f"{primary.name} refuses writes: neither its replicas nor the operator let it write."
    if primary is not None and lacks_replicas(primary.view):
        return "TooFewReplicas", _too_few(primary)
    return None


def _too_few(primary: Member) -> str:
    view = primary.view
    found, needed = (view.good_replicas, view.terms.least_replicas) if view and view.terms else (0, 0)
    return (
        f"{primary.name} refuses writes: {found} of the {needed} replicas that it needs to write follow it. "
        "spec.durability and spec.replication.minReplicasToWrite say how many it needs."
    )


def _changing(found: Findings) -> str | None:
    """What is being changed about the nodes, if anything."""
    if found.shard is None:
        return "The first nodes are being made."
    wanted = [member for member in found.shard.members if member.wanted]
    surplus = [member.name for member in found.shard.members if not member.wanted]
    stale = [member.name for member in wanted if member.stale]
    if found.shard.record.operation is not None:
        operation = found.shard.record.operation
        return f"{operation.source} hands over to {operation.target}: {operation.reason}."
    if surplus:
        return f"{said_of(surplus)} to be removed."
    if len(wanted) < found.spec.replicas:
        return f"{len(wanted)} of {found.spec.replicas} nodes exist."
    if stale:
        return f"{said_of(stale)} to be restarted for the new spec."
    others = to_configure(found.shard)
    return f"{said_of(others)} to take the changed directives." if others else None


def _all_ready(found: Findings) -> bool:
    members = found.shard.members if found.shard else ()
    return _primary(found) is not None and all(member.pod_ready for member in members)


def _why_not(found: Findings) -> str | None:
    if words := hindered(found):
        return words
    members = found.shard.members if found.shard else ()
    behind = [member.name for member in members if not member.pod_ready]
    if found.waits_for:
        return f"Waits for {found.waits_for}."
    return f"{said_of(behind)} not Ready yet." if behind else None


def _conditions(found: Findings, verdict: Verdict, before: ValkeyStatus | None) -> list[Condition]:
    primary = _primary(found)
    said = [
        *state_conditions(found, verdict),
        _primary_elected(found, primary),
        *held_conditions(found),
    ]
    if found.shard and (wish := obstacle(found.shard)):
        said.append(Said(ConditionType.WISH_OPEN, True, wish.reason, wish.message))
    if found.shard and (last := last_copy(found.shard)):
        said.append(Said(ConditionType.WRITES_STOP, True, "LastCopyRestarts", _writes_stop(last)))
    return conditions_after(before.conditions if before else None, said, now=found.now, generation=found.generation)


def _primary_elected(found: Findings, primary: Member | None) -> Said:
    if primary is None:
        return Said(ConditionType.PRIMARY_ELECTED, False, "NoPrimary", "No node takes writes now.")
    if with_disk_error([primary]):
        return Said(ConditionType.PRIMARY_ELECTED, False, "CannotPersist", _disk_errors(found, [primary]))
    if lacks_replicas(primary.view):
        return Said(ConditionType.PRIMARY_ELECTED, False, "TooFewReplicas", _too_few(primary))
    return Said(ConditionType.PRIMARY_ELECTED, True, "PrimaryWritable", f"{primary.name} takes writes.")


def _disk_errors(found: Findings, members: Sequence[Member]) -> str:
    primary, has_volume = _primary(found), found.spec.persistence.enabled
    return describe_disk_errors(members, primaries=[primary.name] if primary else [], has_volume=has_volume)


def _writes_stop(node: str) -> str:
    return (
        f"{node} is restarted for the new spec, and no other node could take over: writes stop until it is back. "
        "With 2 or more replicas they would go on."
    )


def _primary(found: Findings) -> Member | None:
    if found.shard is None:
        return None
    primary = found.shard.member(found.shard.record.primary)
    return primary if primary and runs_as(primary.view, Role.PRIMARY) else None


def _operation(operation: Operation) -> Operation:
    return Operation(
        type=operation.type, target=operation.target, reason=operation.reason, started_at=operation.started_at
    )


def _summary(member: Member, zone: str | None) -> ValkeyNodeSummary:
    return ValkeyNodeSummary(name=member.name, role=observed_role(member.view), ready=member.pod_ready, zone=zone)
