"""Faults of the API server: gone, or slow to answer."""

import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from testbed import control_plane, processes
from testbed.faults.register import Fault
from testbed.layout import REPOSITORY, Layout

ROLE = "apiserver"
SLOWER = "fault-apiserver-slow"
RUN_SHARE = 0.1


@dataclass(frozen=True)
class ApiServerDown(Fault):
    kind: ClassVar[str] = "apiserver-down"

    def inject(self, layout: Layout) -> None:
        processes.stop(layout, ROLE, signal.SIGKILL)

    def undo(self, layout: Layout) -> None:
        control_plane.start(layout, ROLE)
        control_plane.wait_until_api_answers(layout)


@dataclass(frozen=True)
class ApiServerSlow(Fault):
    """The API server stands still most of the time, so that every answer is late, on open connections too."""

    delay_ms: int
    kind: ClassVar[str] = "apiserver-slow"

    def inject(self, layout: Layout) -> None:
        argv = [sys.executable, "-m", "testbed.faults.apiserver", layout.name, str(layout.slot), str(self.delay_ms)]
        processes.start(layout, SLOWER, argv, env={"PYTHONPATH": str(REPOSITORY)})

    def undo(self, layout: Layout) -> None:
        processes.stop(layout, SLOWER, signal.SIGKILL)
        pid = processes.find(layout, ROLE)
        if pid is not None:
            os.kill(pid, signal.SIGCONT)


def stutter(layout: Layout, delay_s: float) -> None:
    """Let the API server run a short while after each delay, until this process is ended."""
    while True:
        pid = processes.find(layout, ROLE)
        for sig, pause_s in ((signal.SIGSTOP, delay_s), (signal.SIGCONT, delay_s * RUN_SHARE)):
            with suppress(ProcessLookupError):
                if pid is not None:
                    os.kill(pid, sig)
            time.sleep(pause_s)


if __name__ == "__main__":
    stutter(Layout(sys.argv[1], int(sys.argv[2])), int(sys.argv[3]) / 1000)
