"""The wall clock of one running process, set forward or back.

Programs read the clock from the vDSO, a page of code that the kernel maps into each of them. Writing to it through
/proc/PID/mem gives that process a copy of its own, so a few instructions there, which ask the kernel and add an offset,
move the clock of one process and of no other. Monotonic clocks are left alone, as they are when a real clock is set.
"""

import os
import platform
import signal
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from testbed.errors import TestbedError
from testbed.faults.pod_processes import find_pod, process_named
from testbed.faults.pods import started_at
from testbed.faults.register import Fault
from testbed.layout import Layout

STOP_DEADLINE_S = 5
DYNSYM_SECTION = 11


def clock_gettime_code(seconds: int) -> bytes:
    """clock_gettime: add the offset where the clock is CLOCK_REALTIME or its coarse sister."""
    ask, on_error_return = b"\xb8\xe4\x00\x00\x00\x0f\x05", b"\x85\xc0\x75\x16"
    realtime_only = b"\x85\xff\x74\x05\x83\xff\x05\x75\x0d"
    return ask + on_error_return + realtime_only + b"\x48\xba" + struct.pack("<q", seconds) + b"\x48\x01\x16\xc3"


def gettimeofday_code(seconds: int) -> bytes:
    ask, no_result_wanted = b"\xb8\x60\x00\x00\x00\x0f\x05", b"\x48\x85\xff\x74\x0d"
    return ask + no_result_wanted + b"\x48\xba" + struct.pack("<q", seconds) + b"\x48\x01\x17\xc3"


def time_code(seconds: int) -> bytes:
    ask, store_if_wanted = b"\xb8\xc9\x00\x00\x00\x0f\x05", b"\x48\x85\xff\x74\x03\x48\x89\x07\xc3"
    return ask + b"\x48\xba" + struct.pack("<q", seconds) + b"\x48\x01\xd0" + store_if_wanted


REPLACEMENTS = {
    "__vdso_clock_gettime": clock_gettime_code,
    "__vdso_gettimeofday": gettimeofday_code,
    "__vdso_time": time_code,
}


@dataclass(frozen=True)
class ClockJump(Fault):
    target: str
    seconds: int
    pid: int
    started: int | None
    kind: ClassVar[str] = "clock-jump"

    @classmethod
    def of(
        cls, layout: Layout, pod: str, seconds: int, *, container: str | None = None, process: str | None = None
    ) -> Self:
        found = process_named(find_pod(layout, pod), container, process)
        return cls(f"{pod}-{found.command}", seconds, found.pid, started_at(found.pid))

    def inject(self, layout: Layout) -> None:
        if platform.machine() != "x86_64":
            raise TestbedError(f"clock-jump knows the instructions of x86_64 only, and this is {platform.machine()}")
        patch(self.pid, {name: code(self.seconds) for name, code in REPLACEMENTS.items()})

    def undo(self, layout: Layout) -> None:
        if started_at(self.pid) == self.started:
            patch(self.pid, {name: original(name, len(code(0))) for name, code in REPLACEMENTS.items()})


def patch(pid: int, code_by_symbol: dict[str, bytes]) -> None:
    """Write code over functions of a process's vDSO, while the process stands still outside of it."""
    start, end = vdso_range(pid)
    symbols = vdso_symbols(own_vdso())
    stop_outside(pid, start, end)
    try:
        with Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
            for name, code in code_by_symbol.items():
                offset, size = symbols[name]
                if len(code) > size:
                    raise TestbedError(f"clock-jump can't be done on this kernel: its {name} has {size} bytes only")
                memory.seek(start + offset)
                memory.write(code)
    except PermissionError as problem:
        raise TestbedError(f"clock-jump can't be done: this kernel keeps /proc/{pid}/mem closed") from problem
    finally:
        os.kill(pid, signal.SIGCONT)


def original(name: str, size: int) -> bytes:
    image = own_vdso()
    offset, _ = vdso_symbols(image)[name]
    return image[offset : offset + size]


def vdso_range(pid: int | str) -> tuple[int, int]:
    maps = Path(f"/proc/{pid}/maps")
    for line in maps.read_text().splitlines() if maps.exists() else []:
        if line.endswith("[vdso]"):
            start, _, end = line.split()[0].partition("-")
            return int(start, 16), int(end, 16)
    raise TestbedError(f"process {pid} is gone or has no vDSO, so its clock can't be moved")


def own_vdso() -> bytes:
    start, end = vdso_range("self")
    with Path("/proc/self/mem").open("rb", buffering=0) as memory:
        memory.seek(start)
        return memory.read(end - start)


def vdso_symbols(image: bytes) -> dict[str, tuple[int, int]]:
    """Offset and size of each function that the vDSO, an ELF image, exports."""
    table, width, count = struct.unpack_from("<Q", image, 40)[0], *struct.unpack_from("<HH", image, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", image, table + width * index) for index in range(count)]
    dynsym = next(section for section in sections if section[1] == DYNSYM_SECTION)
    strings = sections[dynsym[6]][4]
    symbols = {}
    for at in range(dynsym[4], dynsym[4] + dynsym[5], 24):
        name, _, _, _, value, size = struct.unpack_from("<IBBHQQ", image, at)
        text = image[strings + name : image.index(b"\0", strings + name)].decode()
        symbols[text] = (value, size)
    return symbols


def stop_outside(pid: int, start: int, end: int) -> None:
    """Stop a process at a moment when none of its threads is inside the code that is going to change."""
    deadline = time.monotonic() + STOP_DEADLINE_S
    while time.monotonic() < deadline:
        os.kill(pid, signal.SIGSTOP)
        if stands_still(pid, deadline) and not any(start <= at < end for at in instruction_pointers(pid)):
            return
        os.kill(pid, signal.SIGCONT)
        time.sleep(0.01)
    raise TestbedError(f"process {pid} could not be stopped outside of its clock code within {STOP_DEADLINE_S} s")


def stands_still(pid: int, deadline: float) -> bool:
    while time.monotonic() < deadline:
        states = [stat.read_text().rpartition(")")[2].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]
        if all(state in "Tt" for state in states):
            return True
        time.sleep(0.001)
    return False


def instruction_pointers(pid: int) -> list[int]:
    lines = [file.read_text().split() for file in Path(f"/proc/{pid}/task").glob("*/syscall")]
    return [int(words[-1], 16) for words in lines if len(words) > 1]
