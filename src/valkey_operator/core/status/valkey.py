"""The status of a Valkey: what a person should know, and do next.

Owns: its state, conditions and fields. Refuses to know: how anything was found out.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from valkey_operator.api.status import (
    Condition,
    ConditionType,
    Endpoints,
    ExporterStatus,
    Operation,
    State,
    TlsStatus,
)
from valkey_operator.api.valkey import ValkeyNodeSummary, ValkeyStatus
from valkey_operator.core.effective import EffectiveValkey
from valkey_operator.core.names import Owner
from valkey_operator.core.render.pod import SERVER_PORT, password_source
from valkey_operator.core.shard.facts import Member, ShardFacts, runs_as
from valkey_operator.core.shard.isolated import lacks_replicas
from valkey_operator.core.shard.members import last_copy
from valkey_operator.core.shard.settings import to_configure
from valkey_operator.core.shard.wished import obstacle
from valkey_operator.core.status.conditions import Said, conditions_after
from valkey_operator.core.status.disk import describe_disk_errors, with_disk_error
from valkey_operator.core.status.node import observed_role
from valkey_operator.core.validation import Problem
from valkey_operator.valkey.info import Role


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the status is made from. `shard` is None until there is a record."""

    owner: Owner
    generation: int
    spec: EffectiveValkey
    shard: ShardFacts | None
    waits_for: str | None = None
    hindrance: str | None = None
    """What did not go just now, in a sentence; it is tried again."""
    problems: Sequence[Problem] = ()
    conflicts: Sequence[str] = ()
    refused: str | None = None
    """What the API server would not take, in its words."""
    refused_volumes: Sequence[str] = ()
    pod_problems: Mapping[str, str] = {}
    pods: Sequence[str] = ()
    """All that exist, those of nodes that are gone too."""
    zones: Mapping[str, str] = {}
    now: datetime


class Verdict(msgspec.Struct, frozen=True):
    """The state in one word, and why."""

    state: State
    reason: str
    message: str


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
        version=_version(members) or (before.version if before else None),
        total_replicas=found.spec.replicas,
        ready_replicas=sum(member.pod_ready for member in members),
        secret_name=_secret_name(found),
        endpoints=_endpoints(found),
        tls=TlsStatus(enabled=False),
        exporter=_exporter(found),
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
    if held := _held(found):
        reason, message = held
        return Verdict("Degraded" if any(m.pod_ready for m in members) else "Failed", reason, message)
    if found.spec.replicas == 0:
        return _suspended(found.pods)
    if lost := _lost(found):
        return Verdict("Degraded", *lost)
    if unwell := with_disk_error(members):
        return Verdict("Degraded", "CannotPersist", _disk_errors(found, unwell))
    changing = _changing(found)
    if changing is None and _all_ready(found):
        count = found.spec.replicas
        return Verdict("Ready", "AllNodesHealthy", f"{count} of {count} nodes are Ready.")
    return _unsettled(found, before, changing)


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


def _unsettled(found: Findings, before: ValkeyStatus | None, changing: str | None) -> Verdict:
    """Not all is as it shall be: for the first time, while something changes, or though nothing does."""
    message = _why_not(found) or changing or "Nodes are starting."
    if before is None or before.state in (None, "Initializing", "Suspended"):
        return Verdict("Initializing", "PodFailing" if found.pod_problems else "NodesStarting", message)
    if found.pod_problems:
        return Verdict("Degraded", "PodFailing", message)
    if changing is None and _was_settled(before, found.generation):
        return Verdict("Degraded", "NodesNotReady", message)
    return Verdict("Reconciling", "Changing", message)


def _held(found: Findings) -> tuple[str, str] | None:
    """Why the spec is not carried out; what runs already keeps running."""
    if found.problems:
        return "InvalidSpec", " ".join(f"{problem.sentence()}." for problem in found.problems)
    if found.conflicts:
        return "NameConflict", " ".join(found.conflicts)
    if found.refused_volumes:
        return "VolumeRefused", " ".join(found.refused_volumes)
    if found.refused:
        return "Refused", refusal(found.refused)
    return None


def refusal(words: str) -> str:
    """What the API server refused, and what follows from it."""
    return f"The API server refuses what the spec asks for; correct the spec. It says: {words}"


def _suspended(pods: Sequence[str]) -> Verdict:
    if pods:
        return Verdict("Reconciling", "Suspending", f"{_said_of(pods)} being stopped; volumes are kept.")
    return Verdict("Suspended", "Suspended", "No pods run; volumes are kept. Set replicas to 1 or more to resume.")


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
        return f"{_said_of(surplus)} to be removed."
    if len(wanted) < found.spec.replicas:
        return f"{len(wanted)} of {found.spec.replicas} nodes exist."
    if stale:
        return f"{_said_of(stale)} to be restarted for the new spec."
    others = to_configure(found.shard)
    return f"{_said_of(others)} to take the changed directives." if others else None


def _all_ready(found: Findings) -> bool:
    members = found.shard.members if found.shard else ()
    return _primary(found) is not None and all(member.pod_ready for member in members)


def _why_not(found: Findings) -> str | None:
    if found.pod_problems:
        return " ".join(found.pod_problems[name] for name in sorted(found.pod_problems))
    members = found.shard.members if found.shard else ()
    behind = [member.name for member in members if not member.pod_ready]
    if found.hindrance:
        return f"{found.hindrance.rstrip('.')}."
    if found.waits_for:
        return f"Waits for {found.waits_for}."
    return f"{_said_of(behind)} not Ready yet." if behind else None


def _said_of(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'}"


def _was_settled(before: ValkeyStatus | None, generation: int) -> bool:
    """Whether this very spec was carried out once."""
    progressing = _find(before.conditions if before else None, ConditionType.PROGRESSING)
    return progressing is not None and progressing.status == "False" and progressing.observed_generation == generation


def _find(conditions: Sequence[Condition] | None, type_: ConditionType) -> Condition | None:
    return next((each for each in conditions or () if each.type == type_), None)


def _conditions(found: Findings, verdict: Verdict, before: ValkeyStatus | None) -> list[Condition]:
    primary = _primary(found)
    progressing = verdict.state in ("Initializing", "Reconciling")
    valid = "The spec can be carried out." if not found.problems else verdict.message
    said = [
        Said(ConditionType.READY, verdict.state == "Ready", verdict.reason, verdict.message),
        Said(ConditionType.PROGRESSING, progressing, verdict.reason, verdict.message),
        Said(ConditionType.DEGRADED, verdict.state in ("Degraded", "Failed"), verdict.reason, verdict.message),
        Said(ConditionType.SPEC_VALID, not found.problems, "InvalidSpec" if found.problems else "Valid", valid),
        _primary_elected(found, primary),
    ]
    if found.conflicts:
        said.append(Said(ConditionType.NAME_CONFLICT, True, "NameConflict", " ".join(found.conflicts)))
    if found.refused_volumes:
        said.append(Said(ConditionType.VOLUME_REFUSED, True, "VolumeRefused", " ".join(found.refused_volumes)))
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
    return describe_disk_errors(members, primary=primary.name if primary else None, has_volume=has_volume)


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


def _version(members: Sequence[Member]) -> str | None:
    versions = {member.view.version for member in members if member.view and member.view.version}
    return versions.pop() if len(versions) == 1 else None


def _secret_name(found: Findings) -> str | None:
    source = password_source(found.spec, found.owner.name)
    return source.name if source else None


def _endpoints(found: Findings) -> Endpoints:
    place = f"{found.owner.namespace}.svc:{SERVER_PORT}"
    name = found.owner.name
    return Endpoints(
        write=f"{name}.{place}",
        read=f"{name}-read.{place}" if found.spec.read_service.enabled else None,
        nodes=f"{name}-nodes.{place}",
    )


def _exporter(found: Findings) -> ExporterStatus | None:
    exporter = found.spec.exporter
    if not exporter.enabled:
        return None
    endpoint = f"http://{found.owner.name}-metrics.{found.owner.namespace}.svc:{exporter.port}/metrics"
    return ExporterStatus(enabled=True, metrics_endpoint=endpoint)


def _operation(operation: Operation) -> Operation:
    return Operation(
        type=operation.type, target=operation.target, reason=operation.reason, started_at=operation.started_at
    )


def _summary(member: Member, zone: str | None) -> ValkeyNodeSummary:
    return ValkeyNodeSummary(name=member.name, role=observed_role(member.view), ready=member.pod_ready, zone=zone)
