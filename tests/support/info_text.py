"""INFO text as a server would write it: the other direction of valkey/info.py, for its tests and for models."""

import enum

from valkey_operator.valkey.info import ConnectedReplica, PrimaryLink, ReplicationInfo, ServerInfo


class Dialect(enum.Enum):
    """Which words the server uses: the ones of 8.0 to 9.1, or those Valkey is moving to."""

    OLD = ("master", "slave")
    NEW = ("primary", "replica")


def render_info(server: ServerInfo, replication: ReplicationInfo, dialect: Dialect = Dialect.OLD) -> str:
    return "\r\n".join(["# Server", *_server(server), "", "# Replication", *_replication(replication, dialect), ""])


def _server(server: ServerInfo) -> list[str]:
    return [
        "redis_version:7.2.4",
        f"valkey_version:{'.'.join(map(str, server.version))}",
        f"server_mode:{server.mode}",
        f"process_id:{server.process_id}",
        f"run_id:{server.run_id}",
        f"uptime_in_seconds:{server.uptime_s}",
    ]


def _replication(info: ReplicationInfo, dialect: Dialect) -> list[str]:
    primary, replica = dialect.value
    return [
        f"role:{primary if info.role == 'primary' else replica}",
        *(_link(info.primary_link, primary, replica) if info.primary_link else ()),
        f"connected_{replica}s:{len(info.replicas)}",
        *(f"{replica}{number}:{_connected(each)}" for number, each in enumerate(info.replicas)),
        f"{primary}_replid:{info.replication_id}",
        f"{primary}_replid2:{info.former_replication_id or '0' * 40}",
        f"{primary}_repl_offset:{info.offset}",
        f"second_repl_offset:{-1 if info.former_id_valid_below is None else info.former_id_valid_below}",
    ]


def _link(link: PrimaryLink, primary: str, replica: str) -> list[str]:
    down = [f"{primary}_link_down_since_seconds:{-1 if link.down_for_s is None else link.down_for_s}"]
    return [
        f"{primary}_host:{link.host}",
        f"{primary}_port:{link.port}",
        f"{primary}_link_status:{link.status}",
        f"{primary}_sync_in_progress:{int(link.sync_in_progress)}",
        f"{replica}_read_repl_offset:{link.received_offset}",
        f"{replica}_repl_offset:{link.applied_offset}",
        *(down if link.status == "down" else ()),
    ]


def _connected(replica: ConnectedReplica) -> str:
    return (
        f"ip={replica.host},port={replica.port},state={replica.state},"
        f"offset={replica.acknowledged_offset},lag={replica.lag_s},type=replica"
    )
