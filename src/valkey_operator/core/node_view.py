"""A node as its agent last described it, in the operator's own words; what plans are made of.

Owns: the value. Refuses to know: how it came here (controllers/), and what follows from it (plans).
A field is None where the server did not tell; silence is never taken for an answer.
"""

from collections.abc import Mapping

import msgspec

from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.cluster_nodes import NodesView, SlotMigration
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.states import DiskError, Health, ProcessState
from valkey_operator.valkey.terms import Terms


class LinkView(msgspec.Struct, frozen=True, kw_only=True):
    """A replica's link to its primary."""

    primary: Address
    up: bool
    syncing: bool = False
    received_offset: int = 0


class CopyView(msgspec.Struct, frozen=True, kw_only=True):
    """What a restarted server would read; `epoch` is that in which the copy was last whole, None where it never was."""

    rdb: bool = False
    aof: bool = False
    epoch: int | None = None
    was_primary: bool = False
    offset: int = 0


class ClusterNodeView(msgspec.Struct, frozen=True, kw_only=True):
    """What a server in cluster mode knows of the others, and of its own keys."""

    seen: NodesView
    """CLUSTER NODES."""
    serves: bool = False
    """Whether it answers clients; a primary that does not just yet votes for nobody either."""
    migrations: tuple[SlotMigration, ...] = ()
    """Atomic ones: all that are under way, and the newest that have ended; the newest first."""
    keys: int = 0
    keys_in_slots: Mapping[int, int] = {}
    """How many keys it has in each slot that is open, on its side."""
    used_bytes: int = 0
    limit_bytes: int | None = None


class NodeView(msgspec.Struct, frozen=True, kw_only=True):
    """One report."""

    pod_uid: str
    boot_id: str
    seq: int
    clock_ms: int = 0
    """When the agent said so, by its own clock."""
    agent_version: str = ""
    process: ProcessState = ProcessState.SHUT
    starts: int = 0
    health: Health | None = None
    version: str | None = None
    run_id: str | None = None
    role: Role | None = None
    replication_id: str | None = None
    offset: int = 0
    former_replication_id: str | None = None
    former_id_valid_below: int | None = None
    link: LinkView | None = None
    good_replicas: int | None = None
    """Those that a server counts which needs some to write; None where it needs none."""
    whole: bool = False
    """The data set in memory was complete at least once since the process started."""
    fenced: bool | None = None
    copy: CopyView = CopyView()
    promised_term: int = 0
    promised_epoch: int = 0
    leaving: bool = False
    settings_digest: str | None = None
    """Of the live settings that the running server has; None: none runs, or its agent does not tell."""
    misses_primary: bool = False
    """No primary was let write by this node for so long that whatever it granted has run out."""
    terms: Terms | None = None
    """Those that this node is bound by, as a primary or as a cluster node."""
    keeps_terms: bool = False
    """Its agent can keep a cluster node to terms; one of an older release, or in an older pod, cannot."""
    disk_error: DiskError | None = None
    """What the server could not write to its disk; as a primary it refuses all writes for it."""
    cluster: ClusterNodeView | None = None
    """Of a server in cluster mode that answers."""
    kept_nodes: NodesView | None = None
    """The nodes.conf with which the next server would start; None: it would be a new node, or one runs."""
