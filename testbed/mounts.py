"""What is mounted below a folder, and how to get rid of it."""

import time
from dataclasses import dataclass
from pathlib import Path

from testbed.commands import attempt
from testbed.errors import TestbedError

UNMOUNT_DEADLINE_S = 20


@dataclass(frozen=True)
class Mount:
    device: str
    point: str


def parse_mounts(mountinfo: str) -> list[Mount]:
    """The mounts in /proc/self/mountinfo, oldest first (see proc_pid_mountinfo(5))."""
    found = []
    for line in mountinfo.splitlines():
        mount, _, file_system = line.partition(" - ")
        found.append(Mount(unescape(file_system.split()[1]), unescape(mount.split()[4])))
    return found


def mounts() -> list[Mount]:
    return parse_mounts(Path("/proc/self/mountinfo").read_text())


def is_below(path: str, folder: Path) -> bool:
    return path.startswith(f"{folder}/")


def below(folder: Path) -> list[str]:
    """Mount points at or below a folder, innermost and newest first."""
    points = [mount.point for mount in reversed(mounts())]
    return [point for point in points if point == str(folder) or is_below(point, folder)]


def unescape(point: str) -> str:
    return point.encode().decode("unicode_escape")


def unmount_below(folder: Path) -> None:
    deadline = time.monotonic() + UNMOUNT_DEADLINE_S
    while points := below(folder):
        refusals = [done.stderr.strip() for point in points if (done := attempt(["umount", point])).returncode]
        if refusals and time.monotonic() > deadline:
            raise TestbedError(f"can't unmount all of {folder}: {'; '.join(refusals[:3])}")
        if refusals:
            time.sleep(0.1)
