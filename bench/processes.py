"""What our programs use on this machine, read from the kernel.

Owns: which processes are ours, their memory and CPU time. Refuses to know: why anybody asks.
"""

import os
from pathlib import Path

MIB = 2**20
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
# Of /proc/PID/stat, counted from behind the name: the time in user mode and in the kernel.
_USER, _KERNEL = 11, 12


def processes(testbed: str, program: str) -> list[int]:
    """Of our programs in containers of one testbed."""
    found = []
    for path in Path("/proc").iterdir():
        try:
            command = (path / "cmdline").read_bytes().split(b"\0") if path.name.isdecimal() else []
            is_ours = f"/testbed-{testbed}/" in (path / "cgroup").read_text() if command else False
        except OSError:
            continue
        if is_ours and command[0].endswith(b"python3") and {b"valkey_operator", program.encode()} <= set(command):
            found.append(int(path.name))
    return found


def memory(pid: int) -> dict[str, float]:
    """Resident and anonymous memory of one process, MiB."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return {name: int(fields[name].split()[0]) * 1024 / MIB for name in ("VmRSS", "RssAnon")}


def cgroup_without_cache(pid: int) -> float:
    """What the container of a process is charged for, without the page cache, MiB."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    unified = next((line.split("::")[1] for line in lines if line.startswith("0::")), None)
    legacy = next((line.split(":", 2)[2] for line in lines if ":memory:" in line), None)
    folder = Path(f"/sys/fs/cgroup/memory{legacy}") if legacy else Path(f"/sys/fs/cgroup{unified}")
    usage = folder / ("memory.usage_in_bytes" if legacy else "memory.current")
    stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return (int(usage.read_text()) - int(stat["total_cache" if legacy else "file"])) / MIB


def cpu_seconds(pid: int) -> float:
    """The CPU time that a process has taken since it began."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[_USER]) + int(fields[_KERNEL])) / _TICKS_A_SECOND
