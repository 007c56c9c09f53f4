"""What a server reads when it starts: boot.conf, which waits at the gate, and the start file behind the gate.

Owns: the text of both, and which kinds of start there are. Refuses to know: who may start as what, and how the text
gets to the server.

boot.conf alone is the safe base: no network port, and a fence no number of replicas can lift. Whatever goes wrong at
the gate (an empty answer, an agent that dies while answering, a second server) leaves exactly that. The start file
comes last, so its lines win over the settings a user wrote.
"""

import enum
import hashlib
from collections.abc import Sequence

import msgspec

from valkey_operator.valkey.conf import quoted

# More replicas than any primary has: writes are refused, reads and replication go on.
FENCED = 1_000_000
# TEST-NET-1 answers nobody. In the answer, never in boot.conf: 9.1 keeps dialling "(null)" after a `replicaof no one`.
PARK_HOST = "192.0.2.1"
PARK_PORT = 1
AGENT_USER = "valkey-operator-agent"
NODES_FILE = "nodes.conf"
BUS_PORT_ABOVE = 10_000
_EVERYTHING = "~* &* +@all"


class StartKind(enum.StrEnum):
    """What a server is from its first moment."""

    WRITABLE_PRIMARY = "writable-primary"
    FENCED_PRIMARY = "fenced-primary"
    REPLICA = "replica"
    PARKED = "parked"
    CLUSTER_NODE = "cluster-node"


class Address(msgspec.Struct, frozen=True):
    """Where a server listens."""

    host: str
    port: int


class BusAddress(msgspec.Struct, frozen=True):
    """Where a cluster node listens, for clients and for other nodes; `bus_port` 0: the usual one."""

    host: str
    port: int
    bus_port: int = 0


class Announced(msgspec.Struct, frozen=True, kw_only=True):
    """What a cluster node says of itself to other nodes and to clients; it outlives the pod."""

    address: BusAddress
    hostname: str


class Start(msgspec.Struct, frozen=True, kw_only=True):
    """One way to start. `primary` is given for a replica and only then, `announced` for a cluster node.

    Whom a cluster node follows and which slots it has is in the nodes.conf that it finds; it is never fenced, for what
    it would write by that file was decided before it is let in.
    """

    kind: StartKind
    primary: Address | None = None
    announced: Announced | None = None
    min_replicas_to_write: int = 0

    def __post_init__(self) -> None:
        """Refuse what no server could be."""
        if (self.kind is StartKind.REPLICA) != (self.primary is not None):
            raise ValueError(f"a start as {self.kind} has primary {self.primary}; only a replica has one, and needs it")
        if (self.kind is StartKind.CLUSTER_NODE) != (self.announced is not None):
            raise ValueError(f"a start as {self.kind} announces {self.announced}; only a cluster node does, and must")


class ModuleToLoad(msgspec.Struct, frozen=True):
    """A module, by its path in the server's image, with its arguments."""

    path: str
    args: tuple[str, ...] = ()


class Credentials(msgspec.Struct, frozen=True, kw_only=True):
    """Who may log in: user default (None: without a password), and the agent with its password of this start."""

    default_password: str | None
    agent_password: str


def render_boot_conf(*, gate: str, data: str) -> str:
    """The file the server is started with; `gate` and `data` are folders that server and agent share."""
    return "".join(
        (
            "port 0\n",
            f"min-replicas-to-write {FENCED}\n",
            f"unixsocket {quoted(gate + '/valkey.sock')}\n",
            "unixsocketperm 700\n",
            f"dir {quoted(data)}\n",
            # By this the agent tells the server from its children and from all other processes of the pod.
            'proc-title-template "{title} {config-file}"\n',
            f"include {quoted(gate + '/go.conf')}\n",
        )
    )


def render_start_conf(
    start: Start,
    credentials: Credentials,
    *,
    port: int,
    settings_file: str | None,
    modules: Sequence[ModuleToLoad] = (),
) -> str:
    """The file behind the gate: the user's settings first, then what decides, so that the latter wins."""
    writable = start.kind is not StartKind.FENCED_PRIMARY
    lines = [
        # First: the settings may hold directives of theirs.
        *(" ".join(["loadmodule", *map(quoted, (each.path, *each.args))]) for each in modules),
        f"include {quoted(settings_file)}" if settings_file else None,
        'proc-title-template "{title} {config-file}"',
        f"port {port}",
        # The users below say who may log in; Valkey's own guess would lock out a server that is open on purpose.
        "protected-mode no",
        f"min-replicas-to-write {start.min_replicas_to_write if writable else FENCED}",
        *_replication_lines(start, credentials),
        *_cluster_lines(start.announced),
        *_user_lines(credentials),
    ]
    return "".join(f"{line}\n" for line in lines if line)


def render_gate_answer(start_file: str) -> bytes:
    """The line that opens the gate."""
    return f"include {quoted(start_file)}\n".encode()


def password_hash(password: str) -> str:
    """A password as ACL rules carry it."""
    return "#" + hashlib.sha256(password.encode()).hexdigest()


def _replication_lines(start: Start, credentials: Credentials) -> list[str]:
    lines = []
    # Also for a primary: it may have to follow another one later.
    if credentials.default_password is not None:
        lines = ["primaryuser default", f"primaryauth {quoted(credentials.default_password)}"]
    if start.primary is not None:
        lines.append(f"replicaof {quoted(start.primary.host)} {start.primary.port}")
    if start.kind is StartKind.PARKED:
        lines.append(f"replicaof {PARK_HOST} {PARK_PORT}")
    return lines


def _cluster_lines(announced: Announced | None) -> list[str]:
    if announced is None:
        return []
    address = announced.address
    return [
        "cluster-enabled yes",
        f"cluster-config-file {NODES_FILE}",
        f"cluster-announce-ip {quoted(address.host)}",
        f"cluster-announce-port {address.port}",
        f"cluster-announce-bus-port {address.bus_port or address.port + BUS_PORT_ABOVE}",
        f"cluster-announce-hostname {quoted(announced.hostname)}",
    ]


def _user_lines(credentials: Credentials) -> list[str]:
    password = credentials.default_password
    return [
        f"user default on {'nopass' if password is None else password_hash(password)} {_EVERYTHING}",
        f"user {AGENT_USER} on {password_hash(credentials.agent_password)} {_EVERYTHING}",
    ]
