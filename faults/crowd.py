"""All clients of one run, in an event loop on a thread of its own, while faults are staged beside it."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

from faults.clients import ByRole, ByService, Client, Finder, read_for_ever, write_for_ever, writer_logs
from faults.connection import Connection, Reply
from faults.ground import NAME, Ground
from faults.history import History, Read, Way, WriterLog
from faults.prober import Prober
from faults.sight import Sight

READ_BACK_PATIENCE_S = 10.0
STOPPED_WITHIN_S = 20.0
STALL_PACE_S = 0.01


class Crowd:
    def __init__(self, ground: Ground, run: str, *, longest_s: float) -> None:
        self._netns = ground.network_of(ground.clients_on)
        self._password = ground.shop.password()
        self._service = ground.service_address(NAME)
        self._run = run
        self._longest_s = longest_s
        self._sight = Sight(ground.shop.cluster.kubeconfig, ground.namespace, NAME)
        self._prober = Prober(self._sight, self._password, ground.network_of)
        self._logs = writer_logs()
        self._reads: list[Read] = []
        self._stall_s = 0.0
        self._stopped: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextlib.contextmanager
    def at_work(self) -> Iterator["Crowd"]:
        """Clients write and read until the block ends, or until the longest time has passed."""
        started = threading.Event()
        thread = threading.Thread(target=lambda: asyncio.run(self._work(started)), daemon=True)
        thread.start()
        started.wait(STOPPED_WITHIN_S)
        try:
            yield self
        finally:
            assert self._loop is not None
            assert self._stopped is not None
            self._loop.call_soon_threadsafe(self._stopped.set)
            thread.join(STOPPED_WITHIN_S)

    async def _work(self, started: threading.Event) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        started.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._longest_s), asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._sight.watch()), group.create_task(self._prober.probe_all())]
                tasks.append(group.create_task(self._note_stalls()))
                tasks += [group.create_task(self._write(log)) for log in self._logs]
                tasks.append(group.create_task(self._read()))
                await self._stopped.wait()
                for task in tasks:
                    task.cancel()

    async def _note_stalls(self) -> None:
        """A busy machine makes gaps of its own."""
        while True:
            begun = time.monotonic()
            await asyncio.sleep(STALL_PACE_S)
            self._stall_s = max(self._stall_s, time.monotonic() - begun - STALL_PACE_S)

    async def _write(self, log: WriterLog) -> None:
        with contextlib.closing(Client(self._finder(log.way))) as client:
            await write_for_ever(client, log, self.key(log))

    async def _read(self) -> None:
        with contextlib.closing(Client(self._finder(Way.SERVICE))) as client:
            await read_for_ever(client, self._reads, self.key(self._logs[0]))

    def _finder(self, way: Way) -> Finder:
        if way is Way.SERVICE:
            return ByService(self._netns, self._service, self._password)
        return ByRole(self._netns, self._sight.addresses, self._password)

    def key(self, log: WriterLog) -> str:
        return f"faults:{self._run}:{log.name}"

    def accepted(self) -> dict[str, int]:
        """How many writes each writer got through so far."""
        return {log.name: sum(write.is_accepted for write in log.writes) for log in self._logs}

    def history(self) -> History:
        return History(
            self._logs, tuple(self._prober.writes), tuple(self._reads), tuple(self._sight.statuses), self._stall_s
        )

    def read_back(self) -> dict[str, list[int]]:
        """What is in each writer's list now, asked through the Service; the lists are gone afterwards."""
        return asyncio.run(self._read_back())

    async def _read_back(self) -> dict[str, list[int]]:
        replies: list[Reply] = []
        keys = [self.key(log) for log in self._logs]
        connection = await Connection.open(self._netns, self._service, self._password, READ_BACK_PATIENCE_S)
        try:
            async with asyncio.timeout(READ_BACK_PATIENCE_S):
                await connection.ask([*(("LRANGE", key, 0, -1) for key in keys), ("UNLINK", *keys)], replies)
        finally:
            connection.close()
        lists = [[int(number) for number in reply.value] for reply in replies[: len(keys)]]
        return dict(zip((log.name for log in self._logs), lists, strict=True))
