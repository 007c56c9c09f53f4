import string

from hypothesis import given
from hypothesis import strategies as st

from tests.support.info_text import Dialect, render_info
from valkey_operator.valkey.info import (
    ConnectedReplica,
    InfoError,
    LinkStatus,
    PrimaryLink,
    ReplicationInfo,
    Role,
    ServerInfo,
    ServerMode,
    Version,
    parse_replication,
    parse_sections,
    parse_server,
)

small = st.integers(0, 10_000)
offsets = st.integers(0, 2**63 - 1)
ports = st.integers(1, 65535)
hosts = st.ip_addresses().map(str) | st.text(string.ascii_lowercase + string.digits + "-.", min_size=1)
replication_ids = st.text("123456789abcdef", min_size=40, max_size=40)
servers = st.builds(
    ServerInfo,
    version=st.builds(Version, small, small, small),
    mode=st.sampled_from(ServerMode),
    run_id=replication_ids,
    process_id=small,
    uptime_s=offsets,
)
connected_replicas = st.builds(
    ConnectedReplica,
    host=hosts,
    port=ports,
    state=st.sampled_from(["online", "wait_bgsave", "send_bulk"]),
    acknowledged_offset=offsets,
    lag_s=small,
)


@st.composite
def links(draw: st.DrawFn) -> PrimaryLink:
    status = draw(st.sampled_from(LinkStatus))
    return PrimaryLink(
        host=draw(hosts),
        port=draw(ports),
        status=status,
        sync_in_progress=draw(st.booleans()),
        applied_offset=draw(offsets),
        received_offset=draw(offsets),
        down_for_s=draw(st.none() | small) if status is LinkStatus.DOWN else None,
    )


@st.composite
def replications(draw: st.DrawFn) -> ReplicationInfo:
    role = draw(st.sampled_from(Role))
    return ReplicationInfo(
        role=role,
        replication_id=draw(replication_ids),
        offset=draw(offsets),
        former_replication_id=draw(st.none() | replication_ids),
        former_id_valid_below=draw(st.none() | offsets),
        replicas=tuple(draw(st.lists(connected_replicas, max_size=12))),
        primary_link=draw(links()) if role is Role.REPLICA else None,
    )


@given(servers, replications(), st.sampled_from(Dialect))
def test_what_a_server_writes_is_what_is_read(
    server: ServerInfo, replication: ReplicationInfo, dialect: Dialect
) -> None:
    sections = parse_sections(render_info(server, replication, dialect))
    assert (parse_server(sections), parse_replication(sections)) == (server, replication)


def read_all(text: str) -> None:
    try:
        sections = parse_sections(text)
        parse_server(sections)
        parse_replication(sections)
    except InfoError:
        pass


@given(st.text())
def test_no_text_raises_anything_but_an_info_error(text: str) -> None:
    read_all(text)


@given(servers, replications(), st.data())
def test_no_damage_to_a_reply_raises_anything_but_an_info_error(
    server: ServerInfo, replication: ReplicationInfo, data: st.DataObject
) -> None:
    lines = render_info(server, replication).split("\r\n")
    victim = data.draw(st.integers(0, len(lines) - 1))
    name = lines[victim].partition(":")[0]
    lines[victim] = data.draw(st.text() | st.text().map(lambda value: f"{name}:{value}"))
    read_all("\r\n".join(lines))
