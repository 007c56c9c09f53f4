import asyncio
import itertools
from random import Random

import pytest

from tests.sim import virtual_time
from tests.support.engine import metrics
from valkey_operator.kube.errors import ConflictError, InvalidError, TooManyRequestsError, UnreachableError
from valkey_operator.runtime.controller import Controller
from valkey_operator.runtime.outcome import DONE, NotLeaderError, Result, TerminalError, TransientError
from valkey_operator.runtime.queue import Lane, WorkQueue


class Script:
    """A reconcile that takes its steps in turn, and notes when."""

    def __init__(self, *steps: Exception | Result, takes_s: float = 0.0) -> None:
        self._steps = list(steps)
        self._takes_s = takes_s
        self.times: list[float] = []
        self.finished = 0

    async def __call__(self, key: str) -> Result:
        self.times.append(asyncio.get_running_loop().time())
        step = self._steps.pop(0) if self._steps else DONE
        await asyncio.sleep(self._takes_s)
        self.finished += 1
        if isinstance(step, Exception):
            raise step
        return step


def times_of(script: Script, *, for_s: float = 1000, **settings: float) -> list[float]:
    async def simulate() -> None:
        queue: WorkQueue[str] = WorkQueue("test", metrics(), Random(1))
        controller = Controller(name="test", queue=queue, reconcile=script, metrics=metrics(), **settings)  # type: ignore[arg-type]
        stop = asyncio.Event()
        queue.add("a", Lane.EDIT)
        asyncio.get_running_loop().call_later(for_s, stop.set)
        await controller.run(stop)

    virtual_time.run(simulate(), seed=1)
    return script.times


def test_a_key_whose_reconcile_went_well_is_left_alone() -> None:
    assert times_of(Script(DONE)) == [0]


def test_time_alone_wakes_a_key_where_the_result_says_so() -> None:
    assert times_of(Script(Result(wake_at=300.0), DONE)) == [0, 300]


def test_a_conflict_is_tried_again_at_once_but_a_second_one_waits() -> None:
    first, second, third = times_of(Script(ConflictError("stale"), ConflictError("stale")))
    assert (first, second) == (0, 0)
    assert third > 0


@pytest.mark.parametrize("error", [TooManyRequestsError("busy", retry_after_s=7), TransientError("x", retry_after_s=7)])
def test_the_server_is_left_alone_for_as_long_as_it_asks(error: Exception) -> None:
    assert times_of(Script(error)) == [0, 7]


@pytest.mark.parametrize("error", [UnreachableError("cut"), TransientError("not yet"), LookupError("a defect")])
def test_what_may_go_well_later_is_tried_with_growing_pauses(error: Exception) -> None:
    times = times_of(Script(*[error] * 6))
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert len(times) == 7
    assert pauses == sorted(pauses)


@pytest.mark.parametrize("error", [TerminalError("the spec is wrong"), InvalidError("refused"), NotLeaderError("over")])
def test_what_only_a_change_can_mend_is_not_tried_again(error: Exception) -> None:
    assert times_of(Script(error)) == [0]


def test_a_reconcile_that_hangs_is_ended_at_its_deadline_and_tried_again() -> None:
    script = Script(takes_s=3600)
    times = times_of(script, for_s=100, deadline_s=60)
    assert times[0] == 0
    assert 60 < times[1] < 61
    assert script.finished == 0


def test_a_stop_lets_what_is_under_way_finish() -> None:
    script = Script(takes_s=5)
    times_of(script, for_s=1, grace_s=10)
    assert script.finished == 1


def test_a_stop_ends_what_does_not_finish_in_time() -> None:
    script = Script(takes_s=500)
    times_of(script, for_s=1, grace_s=10, deadline_s=1000)
    assert script.finished == 0


def test_a_defect_in_one_key_does_not_keep_the_others_waiting() -> None:
    done: list[str] = []

    async def reconcile(key: str) -> Result:
        if key == "bad":
            raise ZeroDivisionError
        done.append(key)
        return DONE

    async def simulate() -> None:
        queue: WorkQueue[str] = WorkQueue("test", metrics(), Random(1))
        controller = Controller(name="test", queue=queue, reconcile=reconcile, metrics=metrics(), workers=1)
        stop = asyncio.Event()
        for key in ("bad", "good", "fine"):
            queue.add(key)
        asyncio.get_running_loop().call_later(10, stop.set)
        await controller.run(stop)

    for seed in range(10):
        done.clear()
        virtual_time.run(simulate(), seed=seed)
        assert sorted(done) == ["fine", "good"]


def test_losing_the_lease_ends_a_reconcile_in_the_middle() -> None:
    script = Script(takes_s=500)

    async def simulate() -> float:
        queue: WorkQueue[str] = WorkQueue("test", metrics(), Random(1))
        controller = Controller(name="test", queue=queue, reconcile=script, metrics=metrics())
        queue.add("a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3):
                await controller.run(asyncio.Event())
        return asyncio.get_running_loop().time()

    assert virtual_time.run(simulate(), seed=1) == 3
    assert script.finished == 0
