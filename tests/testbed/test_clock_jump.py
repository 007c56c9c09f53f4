"""The clock of a real process is moved, and moved back; x86_64 only, as the fault itself says."""

import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from testbed.errors import TestbedError
from testbed.faults.clock import ClockJump, own_vdso, vdso_symbols
from testbed.faults.pods import started_at
from testbed.layout import Layout

NOWHERE = Layout("nowhere", 0)
CLOCKS = "import sys, time\nfor _ in sys.stdin: print(int(time.time()), int(time.monotonic()), flush=True)"

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="clock-jump knows x86_64 only")


class Teller:
    """A process that tells its wall clock and its monotonic clock when asked."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.pid = process.pid

    def clocks(self) -> tuple[int, int]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(file=self._process.stdin, flush=True)
        wall, monotonic = self._process.stdout.readline().split()
        return int(wall), int(monotonic)

    def jump(self, seconds: int) -> ClockJump:
        return ClockJump("teller", seconds, self.pid, started_at(self.pid))


@contextmanager
def telling() -> Iterator[Teller]:
    argv = [sys.executable, "-c", CLOCKS]
    with subprocess.Popen(argv, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Teller(process)
        process.kill()


@pytest.mark.parametrize("seconds", [3600, -86400])
def test_the_wall_clock_jumps_and_comes_back_while_the_monotonic_one_goes_on(seconds: int) -> None:
    with telling() as teller:
        wall, monotonic = teller.clocks()
        fault = teller.jump(seconds)
        fault.inject(NOWHERE)
        moved_wall, moved_monotonic = teller.clocks()
        fault.undo(NOWHERE)
        healed_wall, _ = teller.clocks()

    assert abs(moved_wall - wall - seconds) < 60
    assert 0 <= moved_monotonic - monotonic < 60
    assert 0 <= healed_wall - wall < 60


def test_no_other_process_notices() -> None:
    with telling() as victim, telling() as bystander:
        victim.jump(3600).inject(NOWHERE)

        assert victim.clocks()[0] - bystander.clocks()[0] > 3000


def test_a_process_in_place_of_the_one_that_was_patched_is_left_alone() -> None:
    with telling() as teller:
        ClockJump("teller", 3600, teller.pid, started=1).undo(NOWHERE)
        teller.clocks()


def test_a_process_that_is_not_there_is_named() -> None:
    with pytest.raises(TestbedError, match="is gone"):
        ClockJump("nobody", 3600, 2**22 + 1, None).inject(NOWHERE)


def test_the_functions_that_tell_the_time_are_found() -> None:
    assert {"__vdso_clock_gettime", "__vdso_gettimeofday", "__vdso_time"} <= set(vdso_symbols(own_vdso()))
