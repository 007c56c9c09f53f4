"""Connections to agents, kept while they are of use.

Owns: one channel per pod, the most recently used ones, made anew after a failure or with new certificates.
Refuses to know: what is said over them.

A channel is closed only when nobody waits on it: gRPC would cancel the waiting task itself, which looks to that task as
if it had been told to stop.
"""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec

from valkey_operator.kube.objects import Key
from valkey_operator.wire.agent_client import AgentClient
from valkey_operator.wire.identity import node_identity
from valkey_operator.wire.tls import TlsFiles, stamp_of

AGENT_PORT = 9443
# A channel takes about 0.1 MiB; a new one costs a handshake of some milliseconds.
MOST_CHANNELS = 32


class Target(msgspec.Struct, frozen=True):
    """Whom to speak to: the agent of a node in this very pod, at this address."""

    key: Key
    pod_uid: str
    host: str
    port: int = AGENT_PORT

    @property
    def address(self) -> str:
        """As gRPC spells it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass
class _Channel:
    client: AgentClient
    address: str
    stamp: object
    users: int = 0
    retired: bool = False


class Channels:
    """By pod; the operator shows the certificate in `files`."""

    def __init__(self, files: TlsFiles, most: int = MOST_CHANNELS) -> None:
        self._files = files
        self._most = most
        self._channels: dict[str, _Channel] = {}

    def __len__(self) -> int:
        return len(self._channels)

    @contextlib.asynccontextmanager
    async def to(self, target: Target) -> AsyncIterator[AgentClient]:
        """A client of that agent; raises `TlsFilesError`."""
        channel = await self._channel(target)
        channel.users += 1
        try:
            yield channel.client
        finally:
            channel.users -= 1
            await _close_if_unused(channel)

    async def retire(self, pod_uid: str) -> None:
        """Use this pod's channel for nothing new."""
        channel = self._channels.pop(pod_uid, None)
        if channel is not None:
            channel.retired = True
            await _close_if_unused(channel)

    async def close(self) -> None:
        """Retire all."""
        for pod_uid in tuple(self._channels):
            await self.retire(pod_uid)

    async def _channel(self, target: Target) -> _Channel:
        stamp = stamp_of(self._files)
        known = self._channels.get(target.pod_uid)
        if known is not None and (known.address, known.stamp) != (target.address, stamp):
            await self.retire(target.pod_uid)
        # Taken out and put back, so that the one used longest ago is first.
        channel = self._channels.pop(target.pod_uid, None) or self._connect(target, stamp)
        self._channels[target.pod_uid] = channel
        if len(self._channels) > self._most:
            await self.retire(next(iter(self._channels)))
        return channel

    def _connect(self, target: Target, stamp: object) -> _Channel:
        identity = node_identity(target.key.namespace, target.key.name)
        return _Channel(AgentClient(target.address, identity, self._files), target.address, stamp)


async def _close_if_unused(channel: _Channel) -> None:
    if channel.retired and not channel.users:
        await channel.client.close()
