"""Builders: a sound example of each value, of which a test names only what it is about."""

import msgspec

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

_SERVER = ServerInfo(version=Version(9, 1, 2), mode=ServerMode.STANDALONE, run_id="f" * 40, process_id=7, uptime_s=60)
_CONNECTED = ConnectedReplica(host="10.0.0.2", port=6379, state="online", acknowledged_offset=14, lag_s=0)
_LINK = PrimaryLink(
    host="10.0.0.1",
    port=6379,
    status=LinkStatus.UP,
    sync_in_progress=False,
    applied_offset=14,
    received_offset=14,
    down_for_s=None,
)
_PRIMARY = ReplicationInfo(
    role=Role.PRIMARY,
    replication_id="a" * 40,
    offset=14,
    former_replication_id=None,
    former_id_valid_below=None,
    replicas=(),
    primary_link=None,
)


def server(**changes: object) -> ServerInfo:
    return msgspec.structs.replace(_SERVER, **changes)


def primary(**changes: object) -> ReplicationInfo:
    return msgspec.structs.replace(_PRIMARY, **changes)


def replica(**link_changes: object) -> ReplicationInfo:
    link = msgspec.structs.replace(_LINK, **link_changes)
    return primary(role=Role.REPLICA, primary_link=link)


def connected_replica(**changes: object) -> ConnectedReplica:
    return msgspec.structs.replace(_CONNECTED, **changes)
