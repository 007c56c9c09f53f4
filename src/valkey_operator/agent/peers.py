"""The agents of a shard or a cluster among themselves: one asks for leave to write, the others grant it.

Owns: the lines they exchange, who may ask, and that a connection is kept as long as it serves. Expired certificates are
accepted here: a fleet must not stop writing because nobody renewed them; chain and name are checked all the same.
Refuses to know: what a grant is good for (licence.py), and how peers are found.

One line asks, one line answers, both are JSON: {"epoch": 7, "missed_after_ms": 3000}, {"granted": true, "epoch": 7}.
The answer's epoch is the highest that the peer has promised.
"""

import asyncio
import contextlib
import re
from collections.abc import Callable
from typing import TypeVar

import msgspec
import structlog

from valkey_operator.wire.identity import Identity, node_in
from valkey_operator.wire.tls import Reloading, peer_uris
from valkey_operator.wire.tls_server import Caller

log = structlog.get_logger(__name__)
T = TypeVar("T")

MOST_LINE_BYTES = 1024
IDLE_S = 60.0


class Ask(msgspec.Struct, frozen=True):
    """Somebody wants to write in this epoch, and is to be missed after so much silence."""

    epoch: int
    missed_after_ms: int


class Answer(msgspec.Struct, frozen=True):
    """Whether it may, as far as this peer is concerned; and the highest epoch that the peer has promised."""

    granted: bool
    epoch: int


class PeerError(Exception):
    """The peer is somebody else, or what it says makes no sense."""


class Link:
    """A connection to the agent of one peer."""

    def __init__(self, peer: Identity, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.peer = peer
        self._reader = reader
        self._writer = writer

    async def ask(self, question: Ask) -> Answer:
        """Ask once; raises PeerError or OSError. The caller sets the deadline, and gives the link up if it passes."""
        self._writer.write(msgspec.json.encode(question) + b"\n")
        await self._writer.drain()
        return _decoded(await _line(self._reader), Answer)

    def close(self) -> None:
        """Hang up."""
        self._writer.transport.abort()


async def connect(host: str, port: int, tls: Reloading) -> Link:
    """A link to whoever is there, if it is a node; raises PeerError or OSError. The caller sets the deadline."""
    reader, writer = await asyncio.open_connection(host, port, ssl=tls.context(), limit=MOST_LINE_BYTES)
    uris = peer_uris(writer.get_extra_info("ssl_object").getpeercert())
    peer = node_in(uris)
    if peer is None:
        writer.transport.abort()
        raise PeerError(f"at {host} is {uris}, which is no node")
    return Link(peer, reader, writer)


class PeerServer:
    """Answers the nodes of our own shard, or of our own cluster, whose name is given then."""

    def __init__(self, own: Identity, grant: Callable[[Ask], Answer], *, cluster: str = "") -> None:
        self._own = own
        self._cluster = cluster
        self._grant = grant

    async def serve(self, caller: Caller) -> None:
        """Answer one caller, as often as it asks."""
        peer = node_in(caller.uris)
        if peer is None or not self._is_ours(peer):
            log.warning("a peer that is none of ours was refused", names=caller.uris)
            return
        with contextlib.suppress(PeerError):
            while True:
                async with asyncio.timeout(IDLE_S):
                    asked = _decoded(await _line(caller.reader), Ask)
                    answer = self._grant(asked)
                    caller.writer.write(msgspec.json.encode(answer) + b"\n")
                    await caller.writer.drain()

    def _is_ours(self, peer: Identity) -> bool:
        if self._cluster:
            return peer.namespace == self._own.namespace and is_of_cluster(self._cluster, peer.node or "")
        return are_of_one_shard(peer, self._own)


def is_of_cluster(cluster: str, node: str) -> bool:
    """Whether a name is that of a node of a cluster, with the numbers of its shard and its own, and no more."""
    return re.fullmatch(rf"{re.escape(cluster)}-[0-9]+-[0-9]+", node) is not None


def are_of_one_shard(one: Identity, other: Identity) -> bool:
    """Whether two nodes belong together: their names differ in the index alone."""
    return one.namespace == other.namespace and _shard_of(one) == _shard_of(other)


def _shard_of(identity: Identity) -> str:
    return (identity.node or "").rpartition("-")[0]


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\n")
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise PeerError(f"no whole line: {error}") from error


def _decoded(line: bytes, type_: type[T]) -> T:
    try:
        return msgspec.json.decode(line, type=type_)
    except msgspec.DecodeError as error:
        raise PeerError(f"{line!r} is no {type_.__name__}: {error}") from error
