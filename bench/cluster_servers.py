"""The primaries of a ValkeyCluster, as a program in its network speaks with them. The password is in $PASSWORD.

Owns: connections, and who owns which slots by the word of one server. Refuses to know: why anybody asks.
"""

import os
import time
from collections.abc import Iterator, Mapping

import valkey

from valkey_operator.core.names import cluster_place
from valkey_operator.valkey.boot import Address
from valkey_operator.valkey.cluster_nodes import (
    MigrationState,
    NodeLine,
    NodesView,
    parse_nodes,
    parse_slot_migrations,
)
from valkey_operator.valkey.info import Role
from valkey_operator.valkey.slots import NO_SLOTS, Slots, union

PORT = 6379
ANSWERS_WITHIN_S = 5
# What leads to a Service comes to each machine a moment later.
REACHED_WITHIN_S = 30
AGAIN_S = 0.2
Owned = Mapping[str, Slots]
"""The slots of each primary, by its id."""


def reach(host: str, port: int) -> valkey.Valkey:
    """A connection that answers."""
    deadline, server = time.monotonic() + REACHED_WITHIN_S, connect(host, port)
    while True:
        try:
            server.ping()
        except (valkey.ConnectionError, valkey.TimeoutError):
            if time.monotonic() > deadline:
                raise
            time.sleep(AGAIN_S)
        else:
            return server


def connect(host: str, port: int) -> valkey.Valkey:
    return valkey.Valkey(
        host=host,
        port=port,
        password=os.environ.get("PASSWORD"),
        decode_responses=True,
        socket_timeout=ANSWERS_WITHIN_S,
    )


def ask(server: valkey.Valkey, *words: str | int) -> object:
    """The reply to CLUSTER and these words as it was sent: named in one word, the library would read it for us."""
    return server.execute_command("CLUSTER", *words)  # type: ignore[no-untyped-call]


def primaries_in(view: NodesView) -> list[NodeLine]:
    return [line for line in view.lines if line.role is Role.PRIMARY]


def owned_in(view: NodesView) -> Owned:
    return {line.id: line.slots for line in primaries_in(view)}


def moved_between(before: Owned, after: Owned) -> Slots:
    """Slots that have another owner now; one without any is not counted, for somebody is about to be told of it."""
    return union(slots - before.get(owner, NO_SLOTS) for owner, slots in after.items())


def shards_in(view: NodesView, cluster: str) -> dict[int, NodeLine]:
    """The primary of each shard, by the names that the servers announce."""
    places = {line: cluster_place(cluster, (line.hostname or "").partition(".")[0]) for line in primaries_in(view)}
    return {place[0]: line for line, place in places.items() if place}


class Primaries:
    """Those that there are when it is made. Who goes away later is not asked any more."""

    def __init__(self, host: str, port: int = PORT) -> None:
        first = reach(host, port)
        lines = primaries_in(parse_nodes(str(ask(first, "NODES"))))
        self._servers = {line.id: reach(*_place(line.address)) for line in lines}

    def __getitem__(self, node_id: str) -> valkey.Valkey:
        return self._servers[node_id]

    def __iter__(self) -> Iterator[valkey.Valkey]:
        return iter(self._servers.values())

    def look(self) -> NodesView:
        """What one of them knows."""
        for node_id, server in list(self._servers.items()):
            try:
                return parse_nodes(str(ask(server, "NODES")))
            except (valkey.ConnectionError, valkey.TimeoutError):
                del self._servers[node_id]
        raise ConnectionError("no primary answers any more")

    def give(self) -> bool:
        """Whether slots are leaving any of them all at once."""
        return any(self._gives(node_id) for node_id in list(self._servers))

    def _gives(self, node_id: str) -> bool:
        try:
            found = parse_slot_migrations(ask(self._servers[node_id], "GETSLOTMIGRATIONS"))  # type: ignore[arg-type]
        except (valkey.ConnectionError, valkey.TimeoutError):
            del self._servers[node_id]
            return False
        return any(not each.importing and each.state is MigrationState.UNDER_WAY for each in found)


def _place(address: Address | None) -> tuple[str, int]:
    if address is None:
        raise ConnectionError("a primary does not know its own address yet")
    return address.host, address.port
