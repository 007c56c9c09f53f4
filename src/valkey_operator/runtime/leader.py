"""Leading: being told so, working while it lasts, stopping before it ends.

The lease is renewed in a thread of its own, so that a busy event loop never loses it. But a leader whose loop hangs is
no leader: if the loop does not answer for `STALL_S`, the thread stops renewing. The loop in turn does not wait for word
from the thread: it stops the work when the tenure it knows of is over, and every write asks for the tenure first,
which refuses those of a loop that wakes up too late.
Who loses the lease goes back to waiting, with warm caches, instead of ending the process: an API server that is away
for longer than the lease must not cost a restart, with its back-off, on top.
Owns: thread, heartbeat, the scope of a term. Refuses to know: the rules of the election, and what the work is.
"""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from random import Random

import structlog

from valkey_operator.kube.errors import ApiError
from valkey_operator.runtime.election import Candidate, Timing
from valkey_operator.runtime.holder import address_in
from valkey_operator.runtime.metrics import EngineMetrics
from valkey_operator.runtime.outcome import NotLeaderError

log = structlog.get_logger(__name__)

Work = Callable[[int], Coroutine[None, None, None]]
"""What is done in a term, which it is told."""

STALL_S = 2.0
RELEASE_DEADLINE_S = 5.0


def boot_clock() -> float:
    """Seconds since the machine started; unlike the monotonic clock it goes on while the machine is suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Leadership:
    """The event loop's side of it."""

    def __init__(self, candidate: Candidate, clock: Callable[[], float], metrics: EngineMetrics) -> None:
        self._candidate = candidate
        self._clock = clock
        self._metrics = metrics
        self._changed = asyncio.Event()

    @property
    def term(self) -> int | None:
        """The term we lead in now."""
        tenure = self._candidate.tenure
        return tenure.term if tenure is not None else None

    @property
    def other_leader(self) -> str | None:
        """Where another process that leads can be reached, if it says so in the lease."""
        holder = self._candidate.other_holder
        return address_in(holder) if holder is not None else None

    def check(self, term: int) -> None:
        """Raise `NotLeaderError` unless we lead in `term` at this very moment."""
        if self.term != term:
            raise NotLeaderError(f"term {term} is over")

    def look_again(self) -> None:
        """The tenure may have changed."""
        self._changed.set()

    async def lead_whenever_elected(self, work: Work) -> None:
        """Run `work` in each term, cancelled at once when the term is over; ends when `work` ends by itself."""
        while True:
            term = await self._elected()
            log.info("this process leads", term=term)
            self._metrics.term.set(term)
            try:
                if await self._lead(term, work):
                    return
            finally:
                self._metrics.term.set(0)
            log.warning("this process does not lead any more", term=term)

    async def _elected(self) -> int:
        while (term := self.term) is None:
            self._changed.clear()
            await self._changed.wait()
        return term

    async def _lead(self, term: int, work: Work) -> bool:
        """Whether the work ended before the term did."""
        async with asyncio.TaskGroup() as group:
            working = group.create_task(work(term), name=f"term {term}")
            over = group.create_task(self._until_over(term), name=f"end of term {term}")
            await asyncio.wait((working, over), return_when=asyncio.FIRST_COMPLETED)
            finished = working.done()
            working.cancel()
            over.cancel()
        return finished

    async def _until_over(self, term: int) -> None:
        while (tenure := self._candidate.tenure) is not None and tenure.term == term:
            self._changed.clear()
            try:
                async with asyncio.timeout(tenure.valid_until - self._clock()):
                    await self._changed.wait()
            except TimeoutError:
                pass


class LeaseThread:
    """Attempts the election until stopped, then gives the lease away."""

    def __init__(self, candidate: Candidate, timing: Timing, leadership: Leadership, random: Random) -> None:
        self._candidate = candidate
        self._timing = timing
        self._leadership = leadership
        self._random = random
        self._loop = asyncio.get_running_loop()
        self._beaten_at = boot_clock()
        self._stop = threading.Event()
        # A daemon: a process that must end does not wait for a request that hangs.
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)

    async def __aenter__(self) -> "LeaseThread":
        """Start to run for the lease."""
        self._thread.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Give the lease away and end the thread, within a deadline."""
        self._stop.set()
        await asyncio.to_thread(self._thread.join, RELEASE_DEADLINE_S)

    def _run(self) -> None:
        while not self._stop.is_set():
            if self._loop_turns():
                self._try(self._candidate.attempt)
                self._ask_loop(self._leadership.look_again)
            self._ask_loop(self._beat)
            self._stop.wait(self._pause_s())
        self._try(self._candidate.release)

    def _pause_s(self) -> float:
        usual_s = self._timing.retry_s * self._random.uniform(0.8, 1.0)
        free_in_s = self._candidate.free_in_s
        return free_in_s if 0 < free_in_s < usual_s else usual_s

    def _try(self, step: Callable[[], None]) -> None:
        try:
            step()
        except ApiError as error:
            log.warning("the lease could not be kept or taken", reason=str(error))
        except Exception:  # a thread that ends silently would leave a standby that never leads
            log.exception("the election failed by a defect")

    def _beat(self) -> None:
        self._beaten_at = boot_clock()

    def _loop_turns(self) -> bool:
        return boot_clock() - self._beaten_at < STALL_S

    def _ask_loop(self, callback: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is closed: the program is over
            self._stop.set()
