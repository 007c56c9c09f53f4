"""The processes of a testbed: started once, found again, ended.

A process belongs to a testbed when its environment says so. That mark is inherited, it survives the death of whoever
started the process, and it can't be confused with a reused pid, so no pid files are kept. The process that was started
under a role leads its own session; what it spawned carries the mark too, but leads none.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from testbed.commands import in_netns
from testbed.errors import TestbedError
from testbed.layout import Layout

TESTBED_MARK = "VALKEY_TESTBED"
ROLE_MARK = "VALKEY_TESTBED_ROLE"
END_DEADLINE_S = 20
LEADS_WITHIN_S = 5


@dataclass(frozen=True)
class Process:
    pid: int
    role: str
    leads: bool
    """Whether this is the process started under the role, not a descendant of it."""


def start(
    layout: Layout,
    role: str,
    argv: Sequence[str | Path],
    *,
    netns: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> None:
    """Start a daemon under a role, unless it runs already."""
    if find(layout, role) is not None:
        return
    command = in_netns(netns, argv) if netns else [str(arg) for arg in argv]
    layout.logs.mkdir(parents=True, exist_ok=True)
    with (layout.logs / f"{role}.log").open("a") as log:
        # Forked off at once: it is nobody's child, so nobody has to wait for it.
        subprocess.run(
            ["setsid", "--fork", *command],
            check=True,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            cwd="/",
            env={**os.environ, **(env or {}), TESTBED_MARK: layout.name, ROLE_MARK: role},
        )
    wait_until_it_leads(layout, role)


def wait_until_it_leads(layout: Layout, role: str) -> None:
    """A process that was forked off gets its session a moment later, and is not found by its role before that."""
    deadline = time.monotonic() + LEADS_WITHIN_S
    while find(layout, role) is None and any(process.role == role for process in processes_of(layout)):
        if time.monotonic() > deadline:
            raise TestbedError(f"the {role} got no session of its own within {LEADS_WITHIN_S} s: see its log")
        time.sleep(0.002)


def find(layout: Layout, role: str) -> int | None:
    """The pid of the daemon with this role, if it runs."""
    return next((p.pid for p in processes_of(layout) if p.role == role and p.leads), None)


def processes_of(layout: Layout) -> list[Process]:
    return [process for pid in all_pids() if (process := read_process(pid, layout.name))]


def all_pids() -> list[int]:
    return [int(entry.name) for entry in os.scandir("/proc") if entry.name.isdigit()]


def read_process(pid: int, testbed: str) -> Process | None:
    """The process if it is alive and marked as this testbed's."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    if f"{TESTBED_MARK}={testbed}".encode() not in environ or stat[0] in "ZX":
        return None
    role = next((entry for entry in environ if entry.startswith(f"{ROLE_MARK}=".encode())), b"=")
    return Process(pid, role.partition(b"=")[2].decode(), leads=int(stat[3]) == pid)


def stop(layout: Layout, role: str, sig: signal.Signals = signal.SIGTERM) -> None:
    """End one daemon; its descendants (a containerd's pods, say) go on."""
    end(lambda: [p.pid for p in processes_of(layout) if p.role == role and p.leads], sig)


def end_all(layout: Layout) -> None:
    own = os.getpid()
    end(lambda: [p.pid for p in processes_of(layout) if p.pid != own], signal.SIGKILL)


def end(remaining: Callable[[], list[int]], sig: signal.Signals, deadline_s: float = END_DEADLINE_S) -> None:
    """Signal processes until none remains, by SIGKILL after a while; new ones may appear while the old ones go."""
    deadline = time.monotonic() + deadline_s
    while pids := remaining():
        late = time.monotonic() > deadline
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL if late else sig)
        if time.monotonic() > deadline + END_DEADLINE_S:
            raise TestbedError(
                f"processes {pids} do not end even with SIGKILL: see `ps -fp {','.join(map(str, pids))}`"
            )
        time.sleep(0.05)
