"""The way from a replica to the server that it follows: held, let through, metered, cut.

Owns: one listening port for each such way, the answer to PSYNC, and what was sent and not passed on yet.
Refuses to know: when any of it shall happen.

A replica that connects is kept waiting until it is let through. From its resync on only what is asked for is passed on,
so that it lags as far as a trace wants it to.
"""

import asyncio
import contextlib
from collections.abc import Callable

ANSWERS = (b"+CONTINUE", b"+FULLRESYNC", b"-")
DEADLINE_S = 10.0


class Wire:
    """From one replica to one server at `port`."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._allowed = asyncio.Event()
        self._links: set[asyncio.Task[None]] = set()
        self._near: asyncio.StreamWriter | None = None
        """To the replica, while it is linked."""
        self._far: list[asyncio.StreamWriter] = []
        self._held: bytearray | None = None
        """What was not passed on; None: everything is."""
        self.answer: str | None = None
        """To the last PSYNC."""

    async def listen(self) -> int:
        """Return the port to connect to."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def let_through(self) -> str:
        """Let the replica connect, now or as soon as it tries; return the answer that it gets."""
        self.answer = None
        self._allowed.set()
        await _wait_until("a resync is answered", lambda: self.answer is not None)
        return str(self.answer)

    def hold(self) -> None:
        """Pass nothing on any more."""
        self._held = bytearray() if self._held is None else self._held

    def flow(self) -> None:
        """Pass on what was held, and all that comes."""
        if self._held and self._near is not None:
            self._near.write(bytes(self._held))
        self._held = None

    async def pass_on(self, last: bytes) -> None:
        """Pass on everything up to these bytes, as soon as they are there."""
        await _wait_until(f"{last!r} arrives", lambda: self._held is not None and last in self._held)
        assert self._held is not None
        assert self._near is not None
        end = self._held.index(last) + len(last)
        self._near.write(bytes(self._held[:end]))
        del self._held[:end]

    def cut(self) -> None:
        """The replica is cut off; the other end does not hear of it."""
        if self._near is not None:
            self._near.transport.abort()
            self._near = None

    async def close(self) -> None:
        self._server.close()
        for link in self._links:
            link.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)
        for far in self._far:
            far.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        link = asyncio.current_task()
        assert link is not None
        self._links.add(link)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._allowed.wait()
            far_reader, far = await asyncio.open_connection("127.0.0.1", self._to)
            self._near, self._held, self.answer = writer, None, None
            self._far.append(far)
            up = asyncio.create_task(_pump(reader, far))
            await self._down(far_reader, writer)
            up.cancel()
        writer.transport.abort()

    async def _down(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Line by line until PSYNC is answered, then as it is asked for."""
        while self.answer is None:
            line = await reader.readline()
            if not line:
                return
            writer.write(line)
            if line.startswith(ANSWERS):
                self._held = bytearray() if line.startswith(b"+CONTINUE") else None
                self._allowed.clear()
                self.answer = line.decode().strip()
        while data := await reader.read(1 << 16):
            if writer is not self._near:
                continue
            if self._held is None:
                writer.write(data)
            else:
                self._held += data


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.transport.abort()


async def _wait_until(what: str, holds: Callable[[], bool]) -> None:
    try:
        async with asyncio.timeout(DEADLINE_S):
            while not holds():  # noqa: ASYNC110 - what is waited for is many things
                await asyncio.sleep(0.005)
    except TimeoutError:
        raise AssertionError(f"not within {DEADLINE_S} s: {what}") from None
