"""Faults of pods and of single processes in them."""

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from testbed import cgroups
from testbed.errors import TestbedError
from testbed.faults.pod_processes import find_pod, pod_cgroup, process_named
from testbed.faults.register import Fault
from testbed.layout import Layout

AGENT = "agent"


def kill(
    layout: Layout, pod: str, *, sig: str = "KILL", container: str | None = None, process: str | None = None
) -> int:
    """Send a signal to a process of a pod; the kubelet is what mends it."""
    number = signal_named(sig)
    target = process_named(find_pod(layout, pod), container, process)
    os.kill(target.pid, number)
    return target.pid


def signal_named(name: str) -> signal.Signals:
    try:
        return signal.Signals(int(name)) if name.isdigit() else signal.Signals[f"SIG{name.upper().removeprefix('SIG')}"]
    except (KeyError, ValueError) as problem:
        raise TestbedError(f"--signal {name!r} is no signal: use a name such as KILL or TERM, or a number") from problem


def started_at(pid: int) -> int | None:
    """When a process started, in clock ticks since boot: with the pid, its identity."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return None


@dataclass(frozen=True)
class Pause(Fault):
    """One process stands still (SIGSTOP), as in a long garbage collection; its sockets stay open."""

    target: str
    pid: int
    started: int | None
    kind: ClassVar[str] = "pause"

    @classmethod
    def of(cls, layout: Layout, pod: str, *, container: str | None = None, process: str | None = None) -> Self:
        found = process_named(find_pod(layout, pod), container, process)
        return cls(f"{pod}-{found.command}", found.pid, started_at(found.pid))

    def inject(self, layout: Layout) -> None:
        self._signal(signal.SIGSTOP)

    def undo(self, layout: Layout) -> None:
        self._signal(signal.SIGCONT)

    def _signal(self, sig: signal.Signals) -> None:
        if started_at(self.pid) == self.started:
            with suppress(ProcessLookupError):
                os.kill(self.pid, sig)


@dataclass(frozen=True)
class PodFreeze(Fault):
    """Every process of a pod stands still at once, sidecars too."""

    pod: str
    cgroup: str
    kind: ClassVar[str] = "pod-freeze"

    @classmethod
    def of(cls, layout: Layout, pod: str) -> Self:
        return cls(pod, pod_cgroup(find_pod(layout, pod)))

    def inject(self, layout: Layout) -> None:
        cgroups.freeze(self.cgroup)

    def undo(self, layout: Layout) -> None:
        with suppress(FileNotFoundError):  # a pod that was deleted meanwhile took its cgroup along
            cgroups.thaw(self.cgroup)
