"""Clients that write and read all the time: through the write Service, and by asking the pods for their role.

Each write is the next number, appended to a list that belongs to its writer alone. Nothing is tried twice: a number
that got no answer may be in the list or not, one that was acknowledged must be.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from faults.connection import Command, Connection, Reply
from faults.history import Outcome, Read, Write, WriterLog

PACE_S = 0.005
PATIENCE_S = 0.5
WAIT_MS = 400
ROLE_PATIENCE_S = 0.2
READ_PACE_S = 0.02


class Caller(Protocol):
    """Speaks for a writer or reader, with whatever server it thinks is the right one."""

    retry_s: float

    async def ask(self, commands: Sequence[Command], replies: list[Reply]) -> str:
        """Replies are added as far as they came; the server's run id, or nothing where none was found."""
        ...

    def close(self) -> None: ...


class Finder(ABC):
    """How a client gets a connection to the primary."""

    retry_s: ClassVar[float]

    @abstractmethod
    async def connect(self) -> Connection:
        """One to whoever seems to be primary; an OSError or TimeoutError where nobody does."""

    @abstractmethod
    def was_refused(self, connection: Connection) -> None:
        """That one answers, and did not take a write; it is the finder's now."""

    @abstractmethod
    def close(self) -> None:
        """Whatever it keeps."""


class ByService(Finder):
    """Connects anew after each refusal, and so not as often: all clients share two cores with what they call."""

    retry_s = 0.02

    def __init__(self, netns: Path, address: str, password: str) -> None:
        self._netns = netns
        self._address = address
        self._password = password

    async def connect(self) -> Connection:
        return await Connection.open(self._netns, self._address, self._password, PATIENCE_S)

    def was_refused(self, connection: Connection) -> None:
        connection.close()

    def close(self) -> None:
        pass


class ByRole(Finder):
    """Keeps a connection to every pod and asks all for their role; one that has just refused comes last."""

    retry_s = 0.005

    def __init__(self, netns: Path, addresses: Callable[[], Sequence[str]], password: str) -> None:
        self._netns = netns
        self._addresses = addresses
        self._password = password
        self._refused = ""
        self._kept: dict[str, Connection] = {}

    async def connect(self) -> Connection:
        addresses = self._addresses()
        for gone in self._kept.keys() - set(addresses):
            self._kept.pop(gone).close()
        primaries: list[str] = []
        async with asyncio.TaskGroup() as group:
            for address in addresses:
                group.create_task(self._ask(address, primaries))
        if not primaries:
            raise ConnectionRefusedError("nobody is primary")
        return self._kept.pop(min(primaries, key=lambda each: self._kept[each].server == self._refused))

    def was_refused(self, connection: Connection) -> None:
        self._refused = connection.server
        self._kept[connection.address] = connection

    def close(self) -> None:
        for connection in self._kept.values():
            connection.close()

    async def _ask(self, address: str, primaries: list[str]) -> None:
        """Keep the connection if it answers, and add its address if that is a primary."""
        replies: list[Reply] = []
        connection = self._kept.pop(address, None)
        try:
            async with asyncio.timeout(ROLE_PATIENCE_S):
                connection = connection or await Connection.open(self._netns, address, self._password, ROLE_PATIENCE_S)
                await connection.ask([("ROLE",)], replies)
            self._kept[address] = connection
        except (OSError, TimeoutError):
            return
        finally:
            if connection is not None and address not in self._kept:
                connection.close()
        if not replies[0].error and replies[0].value[0] == "master":
            primaries.append(address)


class Client:
    """Keeps one connection as long as it answers."""

    def __init__(self, finder: Finder) -> None:
        self._finder = finder
        self._connection: Connection | None = None
        self.retry_s = finder.retry_s

    async def ask(self, commands: Sequence[Command], replies: list[Reply]) -> str:
        """Replies are added as far as they came; the server's run id, or nothing where none was found."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                if self._connection is None:
                    self._connection = await self._finder.connect()
                await self._connection.ask(commands, replies)
        except (OSError, TimeoutError):
            return self._let_go(answers=False)
        refused = any(reply.error for reply in replies)
        return self._let_go(answers=True) if refused else self._connection.server

    def close(self) -> None:
        self._finder.close()
        if self._connection is not None:
            self._connection.close()

    def _let_go(self, *, answers: bool) -> str:
        connection, self._connection = self._connection, None
        if connection is None:
            return ""
        if answers:
            self._finder.was_refused(connection)
        else:
            connection.close()
        return connection.server


async def write_for_ever(client: Caller, log: WriterLog, key: str) -> None:
    number = 0
    while True:
        number += 1
        commands: list[Command] = [("TIME",), ("RPUSH", key, number)]
        commands += [("WAIT", 1, WAIT_MS)] if log.waits else []
        replies: list[Reply] = []
        sent_s = time.time()
        server = await client.ask(commands, replies)
        write = judge(number, sent_s, server, replies)._replace(slot=log.slot)
        log.writes.append(write)
        log.accepted += write.is_accepted
        log.refusals.update(reply.error for reply in replies if reply.error)
        await asyncio.sleep(PACE_S if write.is_accepted else client.retry_s)


def judge(number: int, sent_s: float, server: str, replies: Sequence[Reply]) -> Write:
    """What a write's replies say: to TIME, to the write, and to WAIT where that was asked."""
    if len(replies) < 2:  # TIME and the write
        return Write(number, sent_s, sent_s, time.time(), Outcome.UNKNOWN, server)
    asked_at, pushed = replies[:2]
    if pushed.error:
        return Write(number, sent_s, sent_s, pushed.at_s, Outcome.REFUSED, server)
    confirmed = any(isinstance(reply.value, int) and reply.value >= 1 for reply in replies[2:])
    outcome = Outcome.CONFIRMED if confirmed else Outcome.ACCEPTED
    return Write(number, sent_s, max(sent_s, server_time_s(asked_at)), pushed.at_s, outcome, server)


def server_time_s(reply: Reply) -> float:
    seconds, microseconds = reply.value
    return int(seconds) + int(microseconds) / 1e6


async def read_for_ever(client: Caller, reads: list[Read], key: str, slot: int = 0) -> None:
    """The last number of a writer's list, again and again."""
    while True:
        replies: list[Reply] = []
        sent_s = time.time()
        await client.ask([("LINDEX", key, -1)], replies)
        if replies and not replies[0].error:
            reads.append(Read(sent_s, replies[0].at_s, int(replies[0].value or 0), slot))
        await asyncio.sleep(READ_PACE_S)
