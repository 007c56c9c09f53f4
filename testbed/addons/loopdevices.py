"""What the kernel knows of mounts and loop devices."""

import json
from dataclasses import dataclass
from pathlib import Path

from testbed.commands import output
from testbed.mounts import unescape

DELETED = " (deleted)"  # the kernel's word for a backing file that was removed


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


def parse_backing_files(listing: str) -> dict[str, str]:
    """Backing file by loop device, from `losetup -l -J`, which says nothing at all if there is none."""
    devices = json.loads(listing)["loopdevices"] if listing.strip() else []
    return {device["name"]: device["back-file"].removesuffix(DELETED) for device in devices if device["back-file"]}


def backing_files() -> dict[str, str]:
    return parse_backing_files(output(["losetup", "-l", "-J", "-O", "NAME,BACK-FILE"]))


def is_below(path: str, folder: Path) -> bool:
    return path.startswith(f"{folder}/")
