"""A report as the message that goes over the wire.

Owns: which field says what. Refuses to know: over which wire.
"""

from valkey_operator.agent.cluster_state import ClusterState
from valkey_operator.agent.report import Facts, Report, digest_of_settings
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.whole import is_whole
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.cluster_nodes import SlotMigration
from valkey_operator.valkey.info import LinkStatus, PrimaryLink, ReplicationInfo, Role
from valkey_operator.valkey.terms import Terms


def report_message(report: Report, clock_s: float) -> pb.NodeReport:
    """The whole report, said at that moment of the agent's clock."""
    facts = report.facts
    message = pb.NodeReport(
        pod_uid=report.pod_uid,
        boot_id=report.boot_id,
        seq=report.seq,
        clock_ms=int(clock_s * 1000),
        agent_version=report.agent_version,
        process=f"PROCESS_STATE_{facts.process.state.name}",
        starts=facts.process.starts,
        persisted=_persisted(facts),
        promised_term=facts.promise.term,
        promised_epoch=facts.promise.epoch,
        leaving=facts.leaving,
        whole=is_whole(facts),
        settings_digest=digest_of_settings(facts),
        misses_primary=facts.misses_primary,
        terms=_terms(facts.promise.terms) if facts.promise.terms else None,
        kept_nodes=facts.kept_nodes,
        keeps_terms=report.keeps_terms,
    )
    if facts.server is not None:
        message.MergeFrom(_server_part(facts.server))
    return message


def _terms(terms: Terms) -> pb.Terms:
    return pb.Terms(
        sets=[pb.MemberSet(nodes=members) for members in terms.sets],
        fence_after_ms=terms.fence_after_ms,
        missed_after_ms=terms.missed_after_ms,
        least_replicas=terms.least_replicas,
        elected=terms.elected,
    )


def _persisted(facts: Facts) -> pb.Persisted:
    found = facts.persisted
    return pb.Persisted(
        rdb=found.rdb, aof=found.aof, epoch=found.epoch, was_primary=found.was_primary, offset=found.offset
    )


def _server_part(view: ServerView) -> pb.NodeReport:
    error = None if view.disk_error is None else f"DISK_ERROR_{view.disk_error.name}"
    part = pb.NodeReport(health=f"HEALTH_{view.health.name}", fenced=view.fenced, disk_error=error)
    if view.server is not None:
        version = ".".join(map(str, view.server.version))
        part.server.MergeFrom(pb.Server(version=version, run_id=view.server.run_id, mode=view.server.mode))
    if view.replication is not None:
        part.replication.MergeFrom(_replication(view.replication))
    if view.cluster is not None:
        part.cluster.MergeFrom(_cluster(view.cluster))
    return part


def _cluster(state: ClusterState) -> pb.ClusterState:
    return pb.ClusterState(
        nodes=state.nodes,
        serves=state.serves,
        migrations=[_migration(each) for each in state.migrations],
        keys=state.keys,
        keys_in_slots=dict(state.keys_in_slots),
        used_bytes=state.used_bytes,
        limit_bytes=state.limit_bytes,
    )


def _migration(migration: SlotMigration) -> pb.SlotMigration:
    return pb.SlotMigration(
        name=migration.name,
        importing=migration.importing,
        source_id=migration.source,
        target_id=migration.target,
        slots=str(migration.slots),
        state=f"MIGRATION_STATE_{migration.state.name}",
        message=migration.message,
        updated_s=migration.updated_s,
    )


def _replication(info: ReplicationInfo) -> pb.Replication:
    link = info.primary_link
    return pb.Replication(
        role=pb.ROLE_PRIMARY if info.role is Role.PRIMARY else pb.ROLE_REPLICA,
        replication_id=info.replication_id,
        offset=info.offset if link is None else link.applied_offset,
        former_replication_id=info.former_replication_id,
        former_id_valid_below=info.former_id_valid_below,
        link=None if link is None else _link(link),
        good_replicas=info.good_replicas,
        replicas=[
            pb.Replica(
                address=pb.Address(host=replica.host, port=replica.port),
                state=replica.state,
                acknowledged_offset=replica.acknowledged_offset,
            )
            for replica in info.replicas
        ],
    )


def _link(link: PrimaryLink) -> pb.Link:
    return pb.Link(
        primary=pb.Address(host=link.host, port=link.port),
        up=link.status is LinkStatus.UP,
        sync_in_progress=link.sync_in_progress,
        received_offset=link.received_offset,
    )
