"""The server as a process: is it at the gate, running, or gone.

Owns: the states of a process, and how they are read from /proc. Refuses to know: what the server answers.

The states are in valkey/states.py.

A process is gone as soon as it has no memory left (its VmRSS line), which is within a millisecond of its end. Its
socket and its pidfd tell the same only once all memory is freed: 85 ms later per GiB.
"""

import enum
import errno
import os
import signal
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import msgspec

from valkey_operator.valkey.states import ProcessState

_PROGRAM = b"valkey-server"
_CREDENTIALS = struct.Struct("3i")


class Sign(enum.Enum):
    """What one look at the processes shows, or what the agent did."""

    ABSENT = enum.auto()
    SILENT = enum.auto()
    LET_IN = enum.auto()
    LISTENING = enum.auto()


class ProcessId(msgspec.Struct, frozen=True):
    """A process; its number may come again, together with its start (clock ticks since boot) it does not."""

    pid: int
    start_ticks: int


class Look(msgspec.Struct, frozen=True):
    """One look: the living server process, if there is one, and whether it listens."""

    process: ProcessId | None
    listens: bool = False


class Watched(msgspec.Struct, frozen=True):
    """What is known about the server's process. `starts` counts the processes this agent has seen."""

    state: ProcessState = ProcessState.SHUT
    process: ProcessId | None = None
    starts: int = 0


_S = ProcessState
NEXT_STATE: dict[tuple[ProcessState, Sign], ProcessState] = {
    (_S.SHUT, Sign.ABSENT): _S.SHUT,
    (_S.SHUT, Sign.SILENT): _S.WAITING,
    (_S.SHUT, Sign.LISTENING): _S.RUNNING,
    (_S.WAITING, Sign.ABSENT): _S.GONE,
    (_S.WAITING, Sign.SILENT): _S.WAITING,
    (_S.WAITING, Sign.LET_IN): _S.STARTING,
    (_S.WAITING, Sign.LISTENING): _S.RUNNING,
    (_S.STARTING, Sign.ABSENT): _S.GONE,
    (_S.STARTING, Sign.SILENT): _S.STARTING,
    (_S.STARTING, Sign.LISTENING): _S.RUNNING,
    (_S.RUNNING, Sign.ABSENT): _S.GONE,
    # The socket's file may be removed, its queue may be full: a server that listened once is past the gate for good.
    (_S.RUNNING, Sign.SILENT): _S.RUNNING,
    (_S.RUNNING, Sign.LISTENING): _S.RUNNING,
    (_S.GONE, Sign.ABSENT): _S.GONE,
    (_S.GONE, Sign.SILENT): _S.WAITING,
    (_S.GONE, Sign.LISTENING): _S.RUNNING,
}


def after_look(before: Watched, look: Look) -> Watched:
    """Take one look into account; another process than before means that the one before is gone."""
    if look.process is None:
        return msgspec.structs.replace(before, state=NEXT_STATE[before.state, Sign.ABSENT])
    sign = Sign.LISTENING if look.listens else Sign.SILENT
    if look.process == before.process and before.state is not ProcessState.GONE:
        return msgspec.structs.replace(before, state=NEXT_STATE[before.state, sign])
    return Watched(NEXT_STATE[ProcessState.GONE, sign], look.process, before.starts + 1)


def after_let_in(before: Watched) -> Watched:
    """Remember that the waiting server was answered; without effect on one that moved on meanwhile."""
    return msgspec.structs.replace(before, state=NEXT_STATE.get((before.state, Sign.LET_IN), before.state))


class ProcessTable:
    """/proc, for the one server that was started with `boot_conf`; `listens` tells whether a process listens."""

    def __init__(self, boot_conf: Path, listens: Callable[[int], bool], proc: Path = Path("/proc")) -> None:
        self._boot_conf = os.fsencode(boot_conf)
        self._listens = listens
        self._proc = proc

    def look(self, before: Watched) -> Look:
        """Look again; costs two small reads while the known server runs."""
        process = before.process if before.process and self._lives(before.process) else self._find()
        if process is None:
            return Look(None)
        known = process == before.process and before.state is ProcessState.RUNNING
        return Look(process, known or self._listens(process.pid))

    def work_of(self, process: ProcessId) -> int:
        """How long it has computed since its start, in clock ticks; a process that stands still does not go on."""
        fields = self._stat_fields(process.pid)
        return int(fields[11]) + int(fields[12]) if fields else 0

    def root_of(self, process: ProcessId) -> Path:
        """The file system of the server's image, as we see it."""
        return self._proc / str(process.pid) / "root"

    def kill(self, process: ProcessId) -> None:
        """End that very process at once; raises OSError."""
        handle = os.pidfd_open(process.pid)
        try:
            # The number may stand for another process by now; the handle cannot.
            if self._start_ticks(process.pid) == process.start_ticks:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)

    def _lives(self, process: ProcessId) -> bool:
        return self._has_memory(process.pid) and self._start_ticks(process.pid) == process.start_ticks

    def _find(self) -> ProcessId | None:
        """The server by its title; its child has the same one until it sets its own (a save, a rewrite)."""
        servers = [pid for pid in self._pids() if self._is_server(pid)]
        for pid in servers:
            if self._parent(pid) not in servers and self._has_memory(pid):
                ticks = self._start_ticks(pid)
                return None if ticks is None else ProcessId(pid, ticks)
        return None

    def _pids(self) -> list[int]:
        return [int(name) for name in os.listdir(self._proc) if name.isdecimal()]  # noqa: PTH208 - no Path for each

    def _is_server(self, pid: int) -> bool:
        # The words are parted by NUL at first, and by blanks once the server has set its own title.
        words = self._read(pid, "cmdline").replace(b"\0", b" ").split(b" ")
        return self._boot_conf in words and any(word.endswith(_PROGRAM) for word in words)

    def _has_memory(self, pid: int) -> bool:
        return b"\nVmRSS:" in self._read(pid, "status")

    def _start_ticks(self, pid: int) -> int | None:
        fields = self._stat_fields(pid)
        return int(fields[19]) if fields else None

    def _parent(self, pid: int) -> int | None:
        fields = self._stat_fields(pid)
        return int(fields[1]) if fields else None

    def _stat_fields(self, pid: int) -> list[bytes]:
        return self._read(pid, "stat").rpartition(b")")[2].split()

    def _read(self, pid: int, name: str) -> bytes:
        try:
            with open(f"{self._proc}/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 - no Path for each
                return file.read()
        except OSError:
            return b""


def listens_at(path: Path, pid: int) -> bool:
    """Whether that process listens at a unix socket; a file left by a dead one refuses."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        failed = probe.connect_ex(os.fsencode(path))
        if failed:
            return failed == errno.EAGAIN  # its queue is full: somebody listens
        listener, _, _ = _CREDENTIALS.unpack(probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
        return bool(listener == pid)
