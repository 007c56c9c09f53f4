"""Who the clients of a run are: what they write, how they find a primary, and how their lists are read in the end."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from faults.clients import ByRole, ByService, Caller, Client
from faults.cluster_client import ClusterClient
from faults.connection import Reply, ask_once
from faults.history import Way, WriterLog
from faults.prober import Probed
from faults.slot_map import slot_of

READ_BACK_PATIENCE_S = 10.0
# The first answers may be redirections.
READ_BACK_TRIES = 3
SHARD = "shard"
"""The way of clients that belong to a shard, as it was at the start."""


@dataclass(frozen=True)
class Door:
    """How clients get in: from a machine's network, through a Service."""

    netns: Path
    service: str
    """To the primary, or to any node of a cluster."""
    password: str


class Cast(ABC):
    """The clients of one run."""

    logs: tuple[WriterLog, ...]
    read: tuple[WriterLog, ...]
    """The writers whose last number is read all the time."""
    probed: tuple[Probed, ...]

    @abstractmethod
    def writer(self, log: WriterLog) -> Caller:
        """Whoever speaks for it."""

    @abstractmethod
    def reader(self, log: WriterLog) -> Caller:
        """Whoever speaks for its reader."""

    @abstractmethod
    def key(self, log: WriterLog) -> str:
        """Of its list."""

    @abstractmethod
    async def read_back(self) -> dict[str, list[int]]:
        """What is in each writer's list; the lists are gone afterwards."""


class ValkeyCast(Cast):
    """By the write Service and by the role of the pods, each plain and with WAIT."""

    def __init__(self, door: Door, run: str, addresses: Callable[[], Sequence[str]]) -> None:
        self._door = door
        self._run = run
        self._addresses = addresses
        self.logs = tuple(WriterLog(way, waits) for way in Way for waits in (False, True))
        self.read = self.logs[:1]
        self.probed = (Probed("faults-probe"),)

    def writer(self, log: WriterLog) -> Caller:
        if log.way == Way.SERVICE:
            return self.reader(log)
        return Client(ByRole(self._door.netns, self._addresses, self._door.password))

    def reader(self, _log: WriterLog) -> Caller:
        return Client(ByService(self._door.netns, self._door.service, self._door.password))

    def key(self, log: WriterLog) -> str:
        return f"faults:{self._run}:{log.name}"

    async def read_back(self) -> dict[str, list[int]]:
        keys = [self.key(log) for log in self.logs]
        commands = [*(("LRANGE", key, 0, -1) for key in keys), ("UNLINK", *keys)]
        door = self._door
        replies = await ask_once(door.netns, door.service, door.password, commands, patience_s=READ_BACK_PATIENCE_S)
        return {log.name: numbers(reply) for log, reply in zip(self.logs, replies, strict=False)}


class ClusterCast(Cast):
    """For each shard one plain writer and one with WAIT, whose keys have a slot that the shard has at the start."""

    def __init__(self, door: Door, run: str, tags: Mapping[int, str]) -> None:
        self._door = door
        self._run = run
        self._tags = {f"{SHARD}-{shard}": tag for shard, tag in tags.items()}
        self.logs = tuple(
            WriterLog(way, waits, slot_of(tag)) for way, tag in self._tags.items() for waits in (False, True)
        )
        self.read = tuple(log for log in self.logs if not log.waits)
        self.probed = tuple(Probed(f"faults-probe:{{{tag}}}", slot_of(tag)) for tag in self._tags.values())

    def writer(self, log: WriterLog) -> Caller:
        return ClusterClient(self._door.netns, self._door.password, door=self._door.service, slot=log.slot)

    def reader(self, log: WriterLog) -> Caller:
        return self.writer(log)

    def key(self, log: WriterLog) -> str:
        return f"faults:{{{self._tags[log.way]}}}:{self._run}:{log.name}"

    async def read_back(self) -> dict[str, list[int]]:
        return {log.name: await self._read_one(log) for log in self.logs}

    async def _read_one(self, log: WriterLog) -> list[int]:
        door, key = self._door, self.key(log)
        client = ClusterClient(
            door.netns, door.password, door=door.service, slot=log.slot, patience_s=READ_BACK_PATIENCE_S
        )
        replies: list[Reply] = []
        with contextlib.closing(client):
            for _ in range(READ_BACK_TRIES):
                replies.clear()
                await client.ask([("LRANGE", key, 0, -1)], replies)
                if replies and not replies[0].error:
                    await client.ask([("UNLINK", key)], [])
                    return numbers(replies[0])
        raise ConnectionRefusedError(f"{key} was not read: {replies[0].value if replies else 'no answer'}")


def numbers(reply: Reply) -> list[int]:
    return [int(number) for number in reply.value]
