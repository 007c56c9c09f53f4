"""Several real servers in cluster mode, on loopback; and their own words, as they send them."""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.ports import free_port
from tests.valkey.servers import QUIET, Server, start, wait_until_it_answers
from valkey_operator.valkey.cluster_nodes import (
    NodesView,
    SlotMigration,
    parse_cluster_info,
    parse_nodes,
    parse_slot_migrations,
)

WITHIN_S = 20
NODE_TIMEOUT_MS = 2000


@contextmanager
def cluster_nodes(version: str, count: int) -> Iterator[list[Server]]:
    """Nodes that know nobody yet, named c-0, c-1, …; they are killed with the block."""
    with tempfile.TemporaryDirectory(prefix="valkey-cluster-") as name:
        servers = [_start(version, Path(name) / f"c-{number}") for number in range(count)]
        try:
            for server in servers:
                wait_until_it_answers(server)
            yield servers
        finally:
            for server in servers:
                server.process.kill()
                server.process.wait(timeout=10)


def _start(version: str, folder: Path) -> Server:
    folder.mkdir()
    # A port of its own for the bus: the usual one, 10000 above, may be somebody else's.
    config = {
        "cluster-enabled": "yes",
        "cluster-port": str(free_port()),
        "cluster-node-timeout": str(NODE_TIMEOUT_MS),
        "cluster-announce-hostname": folder.name,
        "cluster-allow-replica-migration": "no",
    }
    return start(version, folder, {**QUIET, **config})


def command(server: Server, *words: str | int) -> Any:
    """The reply to CLUSTER and these words, as it was sent: the client library would read some for us."""
    with server.client() as client:
        client.response_callbacks.clear()
        return client.execute_command(f"CLUSTER {words[0]}", *words[1:])


def nodes_of(server: Server) -> NodesView:
    return parse_nodes(command(server, "NODES"))


def serves(server: Server) -> bool:
    return parse_cluster_info(command(server, "INFO")).serves


def migrations_of(server: Server) -> tuple[SlotMigration, ...]:
    return parse_slot_migrations(command(server, "GETSLOTMIGRATIONS"))


def wait_until(what: str, holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not holds():
        assert time.monotonic() < deadline, f"not within {WITHIN_S} s: {what}"
        time.sleep(0.02)
