"""An asyncio event loop on a virtual clock, with an order of callbacks chosen by a seed.

Time stands still while anything can run, and jumps to the next timer when nothing can: an hour of sleep costs nothing.
Which of the ready callbacks runs next is drawn from the seed, so every seed explores one interleaving and replays it
exactly. This is more than asyncio promises (it runs them in order of arrival), and on purpose: on a real machine the
network decides that order. What the real world would have to answer (sockets, threads, processes, signals) is refused.
`time.time()` and `time.monotonic()` are not virtual; code under simulation asks the loop.
"""

import asyncio
import collections
import heapq
import random
from collections.abc import Callable, Coroutine
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")

MOST_STEPS_AT_ONE_INSTANT = 1_000_000
_REAL_WORLD = ("add_", "connect_", "create_", "getaddrinfo", "getnameinfo", "remove_", "run_in_executor", "sendfile",
               "sock_", "start_tls", "subprocess_")  # fmt: skip
_VIRTUAL = ("create_future", "create_task")


class RealWorldRefusedError(RuntimeError):
    """Simulated code asked for something only the real world has."""


class DeadlockError(RuntimeError):
    """Nothing can run and no timer is set, yet the simulation has not ended."""


class LivelockError(RuntimeError):
    """Callbacks keep scheduling each other and time cannot move."""


class VirtualTimeLoop(asyncio.BaseEventLoop):
    """Replaces the one step that asyncio's loops are made of; tasks, timers and generators are asyncio's own."""

    _ready: collections.deque[asyncio.Handle]
    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._now = 0.0
        self._steps_at_this_instant = 0
        self.failures: list[BaseException] = []
        self.set_exception_handler(lambda _, context: self.failures.append(_failure(context)))

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        if not self._ready:
            self._jump_to_next_timer()
        self._steps_at_this_instant += 1
        if self._steps_at_this_instant > MOST_STEPS_AT_ONE_INSTANT:
            raise LivelockError(f"{MOST_STEPS_AT_ONE_INSTANT} callbacks ran at {self._now} s and time did not move")
        chosen = self._random.randrange(len(self._ready))
        handle = self._ready[chosen]
        del self._ready[chosen]
        if not handle.cancelled():
            handle._run()  # noqa: SLF001 - what every asyncio loop calls

    def _jump_to_next_timer(self) -> None:
        while self._scheduled and self._scheduled[0].cancelled():
            heapq.heappop(self._scheduled)
        if not self._scheduled:
            waiting = ", ".join(sorted(f"{task.get_name()} in {task.get_coro()}" for task in asyncio.all_tasks(self)))
            raise DeadlockError(f"at {self._now} s nothing can ever run again; still waiting: {waiting or 'no task'}")
        if self._scheduled[0].when() > self._now:
            self._now = self._scheduled[0].when()
            self._steps_at_this_instant = 0
        while self._scheduled and self._scheduled[0].when() <= self._now:
            self._ready.append(heapq.heappop(self._scheduled))

    def _write_to_self(self) -> None:
        """Wake nobody: the loop never sleeps."""


def _failure(context: dict[str, Any]) -> BaseException:
    failure: BaseException = context.get("exception") or RuntimeError(context["message"])
    failure.add_note(context["message"])
    return failure


def _refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(_loop: VirtualTimeLoop, *_args: object, **_kwargs: object) -> NoReturn:
        raise RealWorldRefusedError(f"loop.{name}() needs the real world; give the simulated code a model of it")

    return refuse


for _name in dir(asyncio.AbstractEventLoop):
    if _name.startswith(_REAL_WORLD) and _name not in _VIRTUAL:
        setattr(VirtualTimeLoop, _name, _refusal(_name))


def run(main: Coroutine[Any, Any, T], *, seed: int) -> T:
    """Run a simulation to its end; a failure, also one in a mere callback, carries the seed that replays it."""
    loop = VirtualTimeLoop(seed)
    try:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            result = runner.run(main)
        if loop.failures:
            raise loop.failures[0]
    except BaseException as error:
        error.add_note(f"replay this with seed={seed}")
        raise
    return result
