"""What is mounted below a folder, and how to get rid of it."""

import time
from pathlib import Path

from testbed.commands import attempt
from testbed.errors import TestbedError

UNMOUNT_DEADLINE_S = 20


def below(folder: Path) -> list[str]:
    """Mount points at or below a folder, innermost and newest first."""
    points = [unescape(line.split()[4]) for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in reversed(points) if point == str(folder) or point.startswith(f"{folder}/")]


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
