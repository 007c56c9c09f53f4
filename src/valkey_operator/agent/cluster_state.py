"""What a server in cluster mode knows, as values for the report; and the file with which the next one would start.

Owns: which of it must be told when it changes. Refuses to know: how the server is asked (cluster_look.py), and what
follows from what it knows.

Gossip goes on all the time, and so do writes: times of pings, numbers of keys and bytes are in a report, but are no
news. That there are no keys any more is.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from valkey_operator.valkey.boot import NODES_FILE
from valkey_operator.valkey.cluster_nodes import MigrationState, SlotMigration
from valkey_operator.valkey.nodes_text import stable_nodes

# A server remembers a thousand; whoever asks how often one failed in a row is content with less.
MOST_ENDED_MIGRATIONS = 32


class ClusterState(msgspec.Struct, frozen=True, kw_only=True):
    """The cluster as the running server sees it, and its own keys; `limit_bytes` 0: none is set."""

    nodes: str
    """CLUSTER NODES as `stable_nodes` writes it."""
    serves: bool = False
    """Whether it answers clients; a primary that does not just yet votes for nobody either (9.1)."""
    config_epoch: int = 0
    """Its own; that of its primary for a replica."""
    owns_slots: bool = False
    migrations: tuple[SlotMigration, ...] = ()
    keys: int = 0
    keys_in_slots: tuple[tuple[int, int], ...] = ()
    """Each open slot with the number of its keys."""
    used_bytes: int = 0
    limit_bytes: int = 0


def without_counts(state: ClusterState) -> ClusterState:
    """The state without what changes by itself; of numbers of keys it is left whether there are any."""
    return msgspec.structs.replace(
        state,
        migrations=tuple(_without_age(each) for each in state.migrations),
        keys=min(state.keys, 1),
        keys_in_slots=tuple((slot, min(count, 1)) for slot, count in state.keys_in_slots),
        used_bytes=0,
    )


def worth_telling(migrations: Iterable[SlotMigration]) -> tuple[SlotMigration, ...]:
    """All that are under way, and the newest of those that have ended, in the order in which they came."""
    found, ended = [], 0
    for each in migrations:
        ended += each.state is not MigrationState.UNDER_WAY
        if each.state is MigrationState.UNDER_WAY or ended <= MOST_ENDED_MIGRATIONS:
            found.append(each)
    return tuple(found)


def _without_age(migration: SlotMigration) -> SlotMigration:
    under_way = migration.state is MigrationState.UNDER_WAY
    return msgspec.structs.replace(migration, updated_s=0) if under_way else migration


class NodesFile:
    """The nodes.conf of a data folder; servers replace it as a whole."""

    def __init__(self, data: Path) -> None:
        self._file = data / NODES_FILE

    def read(self) -> str:
        """What the next server would start with; empty: it would be a new node. One that cannot read it ends."""
        try:
            return stable_nodes(self._file.read_text(errors="replace"))
        except OSError:
            return ""
