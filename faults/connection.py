"""A client's connection to a server, made from a machine of the testbed: a socket in that machine's network.

Knows the protocol and nothing of what is asked. Every reply carries the time it came, so that a client which is cut off
half-way still knows what it had been told.
"""

import asyncio
import ctypes
import os
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import libvalkey

PORT = 6379
CLONE_NEWNET = 0x40000000
CHUNK = 1 << 16

Command = tuple[str | int, ...]


class Reply(NamedTuple):
    value: Any
    at_s: float

    @property
    def error(self) -> str:
        """The first word of a refusal, or nothing."""
        return str(self.value).split(" ", 1)[0] if isinstance(self.value, libvalkey.ReplyError) else ""


def socket_in(netns: Path) -> socket.socket:
    """A TCP socket of another network; this thread is back in its own network before anything else runs."""
    libc = ctypes.CDLL(None, use_errno=True)
    with netns.open() as there, Path("/proc/thread-self/ns/net").open() as here:
        enter(libc, there.fileno())
        try:
            made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        finally:
            enter(libc, here.fileno())
    made.setblocking(False)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def enter(libc: ctypes.CDLL, netns: int) -> None:
    if libc.setns(netns, CLONE_NEWNET):
        problem = ctypes.get_errno()
        raise OSError(problem, os.strerror(problem))


def pack(command: Command) -> bytes:
    words = [str(word).encode() for word in command]
    return b"".join([b"*%d\r\n" % len(words), *(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)])


class Connection:
    """One connection that is logged in; whoever made it closes it."""

    def __init__(self, sock: socket.socket, address: str) -> None:
        self._sock = sock
        self.address = address
        self._reader = libvalkey.Reader(encoding="utf-8", errors="replace")
        self.server = ""
        """The run id of the process at the other end."""

    @classmethod
    async def open(cls, netns: Path, address: str, password: str, patience_s: float) -> "Connection":
        made = cls(socket_in(netns), address)
        try:
            async with asyncio.timeout(patience_s):
                await asyncio.get_running_loop().sock_connect(made._sock, (address, PORT))
                await made._log_in(password)
        except BaseException:
            made.close()
            raise
        return made

    async def _log_in(self, password: str) -> None:
        replies: list[Reply] = []
        await self.ask([("AUTH", password), ("INFO", "server")], replies)
        if any(reply.error for reply in replies):
            raise ConnectionRefusedError(str(replies))
        lines = str(replies[1].value).splitlines()
        self.server = next(line.partition(":")[2] for line in lines if line.startswith("run_id:"))

    async def ask(self, commands: Sequence[Command], replies: list[Reply]) -> None:
        """Send all at once; replies are added as they come, also if the last one never does."""
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(self._sock, b"".join(map(pack, commands)))
        wanted = len(replies) + len(commands)
        while len(replies) < wanted:
            chunk = await loop.sock_recv(self._sock, CHUNK)
            if not chunk:
                raise ConnectionResetError("closed by the server")
            self._reader.feed(chunk)
            self._take(replies)

    def _take(self, replies: list[Reply]) -> None:
        now = time.time()
        while (value := self._reader.gets()) is not False:
            replies.append(Reply(value, now))

    def close(self) -> None:
        self._sock.close()


async def ask_once(
    netns: Path, address: str, password: str, commands: Sequence[Command], *, patience_s: float
) -> list[Reply]:
    """Over a connection of its own, for whoever only looks."""
    replies: list[Reply] = []
    connection = await Connection.open(netns, address, password, patience_s)
    try:
        async with asyncio.timeout(patience_s):
            await connection.ask(commands, replies)
    finally:
        connection.close()
    return replies
