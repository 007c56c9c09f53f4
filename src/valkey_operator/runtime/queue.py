"""Which key a worker takes next.

A key is what has to be looked at, never what happened to it: adding it ten times is one look. Rules, each with a test:
one worker per key at a time; a key added while a worker has it is handed out once more afterwards; two additions merge
to the higher lane and the earlier time; within a lane who was due first goes first.
Owns: order, time and back-off of keys. Refuses to know: what a key names.
"""

import asyncio
import enum
import heapq
import itertools
from collections.abc import Hashable
from dataclasses import dataclass
from random import Random
from typing import Generic, TypeVar

from valkey_operator.runtime.metrics import EngineMetrics

K = TypeVar("K", bound=Hashable)

FIRST_RETRY_S = 0.05
LAST_RETRY_S = 60.0
_MOST_STALE = 64


class Lane(enum.IntEnum):
    """How urgent a key is; the smaller goes first."""

    URGENT = 0
    """A server may be down."""
    EDIT = 1
    """Somebody or something changed an object."""
    RESYNC = 2
    """Nothing is known to have changed: start, or time passed."""


class QueueClosedError(Exception):
    """Nothing will be handed out any more."""


@dataclass(slots=True)
class _Entry:
    lane: Lane
    due: float
    ticket: int


@dataclass(frozen=True, slots=True)
class Taken(Generic[K]):
    """A key in the hands of a worker."""

    key: K
    lane: Lane
    due: float
    since: float


class WorkQueue(Generic[K]):
    """On the clock of the running event loop."""

    def __init__(self, name: str, metrics: EngineMetrics, random: Random) -> None:
        self._loop = asyncio.get_running_loop()
        self._random = random
        self._tickets = itertools.count()
        self._entries: dict[K, _Entry] = {}
        self._again: dict[K, _Entry] = {}
        self._running: dict[K, Taken[K]] = {}
        self._failures: dict[K, int] = {}
        self._ready: list[tuple[Lane, float, int, K]] = []
        self._later: list[tuple[float, int, K]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: dict[asyncio.Future[None], Lane] = {}
        self._closed = False
        self._metrics = metrics
        self._name = name
        metrics.queue_depth.labels(controller=name).set_function(lambda: len(self._entries) + len(self._again))
        metrics.longest_running_s.labels(controller=name).set_function(self._longest_running_s)

    def __len__(self) -> int:
        return len(self._entries) + len(self._again)

    def add(self, key: K, lane: Lane = Lane.EDIT, *, due: float = 0.0) -> None:
        """Hand `key` out at the loop time `due`, at once by default."""
        due = max(due, self._loop.time())
        table = self._again if key in self._running else self._entries
        known = table.get(key)
        if known is not None and known.lane <= lane and known.due <= due:
            return
        if known is not None:
            lane, due = min(known.lane, lane), min(known.due, due)
        table[key] = _Entry(lane, due, next(self._tickets))
        if table is self._entries:
            self._schedule(key)

    def add_after(self, key: K, delay_s: float, lane: Lane = Lane.RESYNC) -> None:
        """Hand `key` out when `delay_s` have passed."""
        self.add(key, lane, due=self._loop.time() + delay_s)

    def retry(self, key: K, lane: Lane, *, least_s: float = 0.0) -> float:
        """Hand `key` out after a pause that doubles with each failure in a row; returns the pause."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        longest_s = min(FIRST_RETRY_S * 2.0 ** min(failures - 1, 32), LAST_RETRY_S)
        delay_s = max(longest_s * self._random.uniform(0.5, 1.0), least_s)
        self.add_after(key, delay_s, lane)
        return delay_s

    def retry_at_once(self, key: K, lane: Lane) -> float:
        """As `retry`, but without a pause after the first failure."""
        if key in self._failures:
            return self.retry(key, lane)
        self._failures[key] = 1
        self.add(key, lane)
        return 0.0

    def forget_failures(self, key: K) -> None:
        """The next failure of `key` is a first one."""
        self._failures.pop(key, None)

    async def take(self, slowest: Lane = Lane.RESYNC) -> Taken[K]:
        """The next key of the lanes up to `slowest`; `done` gives it back. Raises `QueueClosedError` when closed."""
        while not self._closed:
            taken = self._pop(slowest)
            if taken is not None:
                return taken
            waiting = self._loop.create_future()
            self._waiting[waiting] = slowest
            try:
                await waiting
            finally:
                del self._waiting[waiting]
        raise QueueClosedError

    def done(self, key: K) -> None:
        """A worker is finished with `key`, however it went."""
        del self._running[key]
        again = self._again.pop(key, None)
        if again is not None:
            self._entries[key] = again
            self._schedule(key)

    def close(self) -> None:
        """Hand out nothing any more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._wake(Lane.URGENT)

    def _schedule(self, key: K) -> None:
        entry = self._entries[key]
        if entry.due <= self._loop.time():
            heapq.heappush(self._ready, (entry.lane, entry.due, entry.ticket, key))
            self._wake(entry.lane)
            return
        heapq.heappush(self._later, (entry.due, entry.ticket, key))
        if len(self._later) > 2 * len(self._entries) + _MOST_STALE:
            self._drop_stale_timers()
        self._set_timer()

    def _drop_stale_timers(self) -> None:
        # A key that is woken before its time leaves its former time behind; without this, one for every wake-up.
        self._later = [each for each in self._later if self._is_valid(each[2], each[1])]
        heapq.heapify(self._later)

    def _is_valid(self, key: K, ticket: int) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.ticket == ticket

    def _pop(self, slowest: Lane) -> Taken[K] | None:
        while self._ready and self._ready[0][0] <= slowest:
            _, _, ticket, key = heapq.heappop(self._ready)
            if self._is_valid(key, ticket):
                return self._start(key, self._entries.pop(key))
        return None

    def _start(self, key: K, entry: _Entry) -> Taken[K]:
        now = self._loop.time()
        taken = self._running[key] = Taken(key, entry.lane, entry.due, now)
        latency = self._metrics.queue_latency_s.labels(controller=self._name, lane=entry.lane.name.lower())
        latency.observe(now - entry.due)
        return taken

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(self._later[0][0], self._on_timer) if self._later else None

    def _on_timer(self) -> None:
        # A timer may fire a clock tick early.
        now = max(self._loop.time(), self._later[0][0])
        while self._later and self._later[0][0] <= now:
            due, ticket, key = heapq.heappop(self._later)
            if self._is_valid(key, ticket):
                lane = self._entries[key].lane
                heapq.heappush(self._ready, (lane, due, ticket, key))
                self._wake(lane)
        self._set_timer()

    def _wake(self, lane: Lane) -> None:
        # All who may take it: one that is woken and cancelled at the same moment would take the news with it.
        for waiting, slowest in self._waiting.items():
            if lane <= slowest and not waiting.done():
                waiting.set_result(None)

    def _longest_running_s(self) -> float:
        since = [taken.since for taken in self._running.values()]
        return self._loop.time() - min(since) if since else 0.0
