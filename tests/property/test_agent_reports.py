"""What an agent says is what the operator hears, for every report an agent can make, and for bytes that are none."""

from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from valkey_operator.agent.messages import report_message
from valkey_operator.agent.promise import Promise
from valkey_operator.agent.report import Facts, Persisted, Report
from valkey_operator.agent.server import ServerView
from valkey_operator.agent.watch import ProcessId, Watched
from valkey_operator.agent.whole import is_whole
from valkey_operator.controllers.agents.messages import view_of
from valkey_operator.core.node_view import CopyView, LinkView, NodeView
from valkey_operator.proto.agent.v1 import agent_pb2 as pb
from valkey_operator.valkey.boot import FENCED, Address
from valkey_operator.valkey.info import (
    ConnectedReplica,
    LinkStatus,
    PrimaryLink,
    ReplicationInfo,
    Role,
    ServerInfo,
    ServerMode,
    Version,
)
from valkey_operator.valkey.states import DiskError, Health, ProcessState

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
hosts = st.sampled_from(["10.0.0.1", "fd00::1", "cart-0.shop.svc"])
ports = st.integers(1, 65535)
offsets = st.integers(0, 2**63 - 1)
counts = st.integers(0, 2**32 - 1)
epochs = st.integers(0, 2**64 - 1)
numbers = st.integers(0, 999)

servers = st.builds(
    ServerInfo,
    version=st.builds(Version, numbers, numbers, numbers),
    mode=st.sampled_from(ServerMode),
    run_id=words,
    process_id=numbers,
    uptime_s=numbers,
)
links = st.builds(
    PrimaryLink,
    host=hosts,
    port=ports,
    status=st.sampled_from(LinkStatus),
    sync_in_progress=st.booleans(),
    applied_offset=offsets,
    received_offset=offsets,
    down_for_s=st.none(),
)
replicas = st.builds(ConnectedReplica, host=hosts, port=ports, state=words, acknowledged_offset=offsets, lag_s=numbers)
replications = st.builds(
    ReplicationInfo,
    role=st.sampled_from(Role),
    replication_id=words,
    offset=offsets,
    former_replication_id=st.none() | words,
    former_id_valid_below=st.none() | offsets,
    replicas=st.tuples() | st.tuples(replicas),
    primary_link=st.none() | links,
)
server_views = st.builds(
    ServerView,
    health=st.sampled_from(Health),
    server=st.none() | servers,
    replication=st.none() | replications,
    least_replicas=st.none() | st.sampled_from([0, 1, FENCED]),
    disk_error=st.none() | st.sampled_from(DiskError),
)
facts = st.builds(
    Facts,
    process=st.builds(Watched, st.sampled_from(ProcessState), st.none(), counts),
    server=st.none() | server_views,
    persisted=st.builds(
        Persisted,
        rdb=st.booleans(),
        aof=st.booleans(),
        epoch=st.none() | epochs,
        was_primary=st.booleans(),
        offset=offsets,
    ),
    promise=st.builds(Promise, epochs, epochs),
    leaving=st.booleans(),
    whole=st.none() | st.just(ProcessId(7, 1)),
)
reports = st.builds(Report, pod_uid=words, boot_id=words, agent_version=words, seq=epochs, facts=facts)


def heard(report: Report) -> NodeView:
    """Over the wire and back."""
    return view_of(pb.NodeReport.FromString(report_message(report, 12.3456).SerializeToString()))


@given(reports)
def test_what_the_agent_says_of_itself_is_heard(report: Report) -> None:
    view, said = heard(report), report.facts
    assert (view.pod_uid, view.boot_id, view.seq) == (report.pod_uid, report.boot_id, report.seq)
    assert (view.agent_version, view.leaving, view.whole) == (report.agent_version, said.leaving, is_whole(said))
    assert (view.process, view.starts) == (said.process.state, said.process.starts)
    assert (view.promised_term, view.promised_epoch) == (said.promise.term, said.promise.epoch)
    persisted = said.persisted
    assert view.copy == CopyView(
        rdb=persisted.rdb,
        aof=persisted.aof,
        epoch=persisted.epoch,
        was_primary=persisted.was_primary,
        offset=persisted.offset,
    )


@given(reports)
def test_what_the_agent_says_of_its_server_is_heard_and_silence_stays_silence(report: Report) -> None:
    view, server = heard(report), report.facts.server
    assert view.health == (server.health if server else None)
    assert view.fenced == (server.fenced if server else None)
    assert view.disk_error == (server.disk_error if server else None)
    told = server.server if server else None
    assert (view.version, view.run_id) == ((".".join(map(str, told.version)), told.run_id) if told else (None, None))


@given(reports)
def test_what_the_agent_says_of_replication_is_heard(report: Report) -> None:
    view = heard(report)
    told = report.facts.server.replication if report.facts.server else None
    if told is None:
        assert (view.role, view.replication_id, view.offset, view.link) == (None, None, 0, None)
        return
    link = told.primary_link
    assert (view.role, view.replication_id) == (told.role, told.replication_id)
    assert view.former_replication_id == told.former_replication_id
    assert view.former_id_valid_below == told.former_id_valid_below
    assert view.offset == (told.offset if link is None else link.applied_offset)
    assert view.link == (
        None
        if link is None
        else LinkView(
            primary=Address(link.host, link.port),
            up=link.status is LinkStatus.UP,
            syncing=link.sync_in_progress,
            received_offset=link.received_offset,
        )
    )


@given(st.binary(max_size=200))
def test_any_bytes_are_a_report_or_refused_as_none(body: bytes) -> None:
    try:
        report = pb.NodeReport.FromString(body)
    except DecodeError:
        return
    assert isinstance(view_of(report), NodeView)
