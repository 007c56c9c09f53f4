"""All clients of one run, in an event loop on a thread of its own, while faults are staged beside it."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator

from faults.clients import read_for_ever, write_for_ever
from faults.ground import Ground
from faults.history import History, Read, WriterLog
from faults.prober import Prober
from faults.settings import NAME
from faults.sight import Sight

STOPPED_WITHIN_S = 20.0
STALL_PACE_S = 0.01


class Crowd:
    def __init__(self, ground: Ground, run: str, *, longest_s: float) -> None:
        self._longest_s = longest_s
        self._sight = Sight(ground.shop.cluster.kubeconfig, ground.namespace, kind=ground.shop.kind, name=NAME)
        self._cast = ground.cast(run, self._sight)
        self._prober = Prober(self._sight, ground.shop.password(), ground.network_of, self._cast.probed)
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
                tasks += [group.create_task(self._write(log)) for log in self._cast.logs]
                tasks += [group.create_task(self._read(log)) for log in self._cast.read]
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
        with contextlib.closing(self._cast.writer(log)) as client:
            await write_for_ever(client, log, self.key(log))

    async def _read(self, log: WriterLog) -> None:
        with contextlib.closing(self._cast.reader(log)) as client:
            await read_for_ever(client, self._reads, self.key(log), log.slot)

    def key(self, log: WriterLog) -> str:
        return self._cast.key(log)

    def accepted(self) -> dict[str, int]:
        """How many writes each writer got through so far."""
        return {log.name: log.accepted for log in self._cast.logs}

    def history(self) -> History:
        return History(
            self._cast.logs, tuple(self._prober.writes), tuple(self._reads), tuple(self._sight.statuses), self._stall_s
        )

    def read_back(self) -> dict[str, list[int]]:
        """What is in each writer's list now; the lists are gone afterwards."""
        return asyncio.run(self._cast.read_back())
