"""The status of a ValkeyCluster: what a person should know, and do next.

Owns: its state, conditions and fields. Roles are what the servers say, never what names say. Refuses to know: how
anything was found out, and the words about slots (slots.py).
"""

from collections.abc import Collection, Iterable, Iterator, Sequence

from valkey_operator.api.cluster import ClusterShardStatus, ValkeyClusterStatus
from valkey_operator.api.status import Condition, ConditionType, Operation, TlsStatus
from valkey_operator.core.cluster.facts import FailoverKind, Member, is_linked, runs
from valkey_operator.core.cluster.failover import recent_attempt
from valkey_operator.core.cluster.handover import failing_handovers
from valkey_operator.core.cluster.roles import Cluster, follows
from valkey_operator.core.cluster.roll import last_copies
from valkey_operator.core.cluster.scale import needed_places
from valkey_operator.core.cluster.settings import to_configure
from valkey_operator.core.cluster.steps import NOTHING, ClusterPlan
from valkey_operator.core.effective import EffectiveCluster
from valkey_operator.core.status.conditions import Said, conditions_after, timestamp
from valkey_operator.core.status.disk import describe_disk_errors, with_disk_error
from valkey_operator.core.status.slots import covered, difference, migration, shown_slots, still_to_move
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
from valkey_operator.valkey.slots import union

_OPERATIONS = {FailoverKind.PLANNED: "Handover", FailoverKind.FORCE: "Failover", FailoverKind.TAKEOVER: "Takeover"}
_MOST_WAITS = 3


class ClusterFindings(WorkloadFindings, frozen=True, kw_only=True):
    """Everything the status is made from. `cluster` is None until there is a record."""

    spec: EffectiveCluster
    cluster: Cluster | None
    plan: ClusterPlan = NOTHING


def cluster_status(found: ClusterFindings, before: ValkeyClusterStatus | None) -> ValkeyClusterStatus:
    """What is told about a ValkeyCluster."""
    verdict, cluster = judge(found, before), found.cluster
    members = cluster.facts.members if cluster else ()
    behind = set(_behind(cluster)) if cluster else set()
    shards = [_shard(found, cluster, shard, behind) for shard in _shards(found, cluster)] if cluster else []
    spoke = cluster.view if cluster and cluster.view.spoke else None
    awake = cluster if found.spec.replicas else None
    return ValkeyClusterStatus(
        state=verdict.state,
        reason=verdict.reason,
        message=verdict.message,
        observed_generation=found.generation,
        conditions=_conditions(found, verdict, before),
        version=version_of(member.view for member in members) or (before.version if before else None),
        total_replicas=found.spec.shards * found.spec.replicas,
        ready_replicas=sum(member.pod_ready for member in members),
        secret_name=secret_name(found),
        endpoints=endpoints(found),
        tls=TlsStatus(enabled=False),
        exporter=exporter(found),
        total_shards=found.spec.shards,
        ready_shards=sum(bool(shard.ready) for shard in shards if shard.shard_index < found.spec.shards),
        slots_assigned=len(spoke.assigned) if spoke else None,
        slots_unassigned=len(spoke.unassigned) if spoke else None,
        shards=shards or None,
        migration=migration(awake, before.migration if before else None) if awake else None,
    )


def judge(found: ClusterFindings, before: ValkeyClusterStatus | None) -> Verdict:
    """The state in one word, and why; the first that applies."""
    cluster = found.cluster
    members = cluster.facts.members if cluster else ()
    if hold := held(found):
        return Verdict("Degraded" if any(m.pod_ready for m in members) else "Failed", *hold)
    if found.spec.replicas == 0:
        return suspended(found.pods)
    if cluster is None:
        return unsettled(found, before, is_changing=True, message="The first nodes are being made.")
    return _judge_servers(found, cluster, before)


def _judge_servers(found: ClusterFindings, cluster: Cluster, before: ValkeyClusterStatus | None) -> Verdict:
    slots, members = covered(cluster), cluster.facts.members
    if slots.holds is False and cluster.facts.record.formed and cluster.facts.record.asleep is None:
        return Verdict("Degraded", slots.reason, _joined(slots.message, hindered(found), _waits(found.plan)))
    if unwell := with_disk_error(members):
        return Verdict("Degraded", "CannotPersist", _disk_errors(found, cluster, unwell))
    changing, behind = next(_changes(cluster), None), _behind(cluster)
    if changing is None and slots.holds and not behind:
        well = f"All {found.spec.shards} shards are healthy, all slots are served."
        return Verdict("Ready", "ClusterHealthy", _joined(well, _waits_for(failing_handovers(cluster))))
    uncovered = None if slots.holds or changing else slots.message
    unready = f"{said_of(behind)} not Ready or not in sync yet." if behind else None
    message = hindered(found) or _joined(changing, uncovered, unready, _waits(found.plan))
    return unsettled(found, before, is_changing=changing is not None, message=message)


def _changes(cluster: Cluster) -> Iterator[str]:
    """What is being changed, the most important first."""
    facts = cluster.facts
    if not facts.record.formed:
        yield "The slots are being given out."
    if facts.record.asleep is not None:
        yield "The cluster is being resumed."
    missing = needed_places(facts) - {(each.shard, each.index) for each in facts.members}
    if missing:
        yield f"{len(missing)} of {len(needed_places(facts))} nodes are to be made."
    if count := still_to_move(cluster):
        yield f"{count} slots are still to move."
    if surplus := [each.name for each in facts.members if not each.wanted]:
        yield f"{said_of(surplus)} to be removed."
    if stale := [each.name for each in facts.members if each.wanted and each.stale]:
        yield f"{said_of(stale)} to be restarted for the new spec."
    if others := to_configure(facts):
        yield f"{said_of(others)} to take the changed directives."


def _behind(cluster: Cluster) -> list[str]:
    """Those that are not Ready, or neither primary of their shard nor in sync with it; silence is no sync."""
    return [each.name for each in cluster.facts.members if not (each.pod_ready and _is_in_place(cluster, each))]


def _is_in_place(cluster: Cluster, member: Member) -> bool:
    primary = cluster.primaries.get(member.shard)
    if primary is None or primary is member:
        return primary is member
    return follows(cluster.view, member, primary) and is_linked(member)


def _waits(plan: ClusterPlan) -> str | None:
    return _waits_for(plan.waits_for)


def _waits_for(what: Iterable[str]) -> str | None:
    waits = list(dict.fromkeys(what))
    return f"Waits for {'; '.join(waits[:_MOST_WAITS])}." if waits else None


def _joined(*sentences: str | None) -> str:
    return " ".join(each for each in sentences if each)


def _conditions(found: ClusterFindings, verdict: Verdict, before: ValkeyClusterStatus | None) -> list[Condition]:
    said = [*state_conditions(found, verdict), *_of_servers(found), *held_conditions(found)]
    return conditions_after(before.conditions if before else None, said, now=found.now, generation=found.generation)


def _of_servers(found: ClusterFindings) -> Iterator[Said]:
    cluster = found.cluster
    if cluster is None or found.spec.replicas == 0:
        return
    yield covered(cluster)
    if differs := difference(cluster):
        yield differs
    if last := last_copies(cluster):
        words = (
            f"{said_of(last)} to be restarted for the new spec, and no other node could take over: writes to their "
            "slots stop meanwhile. With 2 or more replicas they would go on."
        )
        yield Said(ConditionType.WRITES_STOP, True, "LastCopyRestarts", words)


def _disk_errors(found: ClusterFindings, cluster: Cluster, unwell: Sequence[Member]) -> str:
    primaries = [primary.name for primary in cluster.primaries.values()]
    return describe_disk_errors(unwell, primaries=primaries, has_volume=found.spec.persistence.enabled)


def _shards(found: ClusterFindings, cluster: Cluster) -> list[int]:
    """Those that shall be, and those that are still there."""
    wanted = range(found.spec.shards) if found.spec.replicas else ()
    return sorted({*wanted, *cluster.facts.all_shards()})


def _shard(found: ClusterFindings, cluster: Cluster, shard: int, behind: Collection[str]) -> ClusterShardStatus:
    members, known = cluster.facts.of_shard(shard), cluster.primaries.get(shard)
    primary = known if known is not None and runs(known) else None
    truth = cluster.view.truth_of(primary) if primary else None
    replicas = [each.name for each in cluster.replicas_of(primary) if runs(each)] if primary else []
    is_whole = len(members) >= found.spec.replicas and not any(each.name in behind for each in members)
    return ClusterShardStatus(
        shard_index=shard,
        primary=primary.name if primary else None,
        primary_epoch=truth.epoch if truth else None,
        replicas=replicas or None,
        slots=shown_slots(union(cluster.view.slots_of(each) for each in members)) or None,
        zone=primary.zone if primary else None,
        ready=primary is not None and is_whole,
        operation=_operation(cluster, shard),
    )


def _operation(cluster: Cluster, shard: int) -> Operation | None:
    attempt = recent_attempt(cluster, shard)
    if attempt is None:
        return None
    return Operation(type=_OPERATIONS[attempt.kind], target=attempt.target, started_at=timestamp(attempt.at))
