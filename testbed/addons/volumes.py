"""Volumes of this machine: each a sparse file with a file system of real size, mounted through a loop device.

    <root>/<name>/disk.img      the file system; appears under this name only when complete
    <root>/<name>/mnt           where it is mounted
    <root>/<name>/unpublished   there until the cluster knows the volume

It is XFS because a mounted ext4 grows only with CAP_SYS_RESOURCE, which root in a sandbox may lack; XFS does not ask.
Every function may be repeated, and continued after it was killed at any line.
"""

import os
import shutil
import time
from collections.abc import Collection
from pathlib import Path

from testbed.addons.loopdevices import backing_files
from testbed.commands import attempt, output
from testbed.errors import TestbedError
from testbed.mounts import is_below, mounts

MIB = 1 << 20
# XFS keeps its log inside: it comes on top, so that a volume has the capacity that was asked for.
LOG_SIZE = 64 * MIB
SMALLEST = 256 * MIB  # with the log, just above the smallest size mkfs.xfs agrees to
DETACH_DEADLINE_S = 3.0


def mount_of(root: Path, name: str) -> Path:
    return root / name / "mnt"


def image_of(root: Path, name: str) -> Path:
    return root / name / "disk.img"


def capacity_for(requested: int) -> int:
    """The capacity of a volume made for a request: whole MiB, and not too small for the file system."""
    return max(-(-requested // MIB) * MIB, SMALLEST)


def mounted(root: Path) -> frozenset[str]:
    """Names of the volumes that are mounted."""
    points = {mount.point for mount in mounts()}
    return frozenset(folder.name for folder in _folders(root) if str(folder / "mnt") in points)


def unpublished(root: Path) -> frozenset[str]:
    """Names of the volumes begun for a claim and not handed over to the cluster yet."""
    return frozenset(folder.name for folder in _folders(root) if (folder / "unpublished").exists())


def publish(root: Path, name: str) -> None:
    """Note that the cluster knows the volume: from now on only its release removes it."""
    (root / name / "unpublished").unlink(missing_ok=True)


def create(root: Path, name: str, capacity: int) -> None:
    """A mounted, unpublished volume of at least this capacity."""
    (root / name).mkdir(parents=True, exist_ok=True)
    (root / name / "unpublished").touch()
    image = image_of(root, name)
    if not image.exists():
        draft = image.with_suffix(".draft")
        draft.write_bytes(b"")
        _enlarge(draft, capacity)
        _make_file_system(draft)
        draft.rename(image)
    ensure_mounted(root, name)
    grow(root, name, capacity)


def ensure_mounted(root: Path, name: str) -> None:
    point = mount_of(root, name)
    if any(mount.point == str(point) for mount in mounts()):
        return
    if not image_of(root, name).exists():
        raise TestbedError(f"the disk of volume {name} is gone: there is no {image_of(root, name)}")
    point.mkdir(exist_ok=True)
    # `-o loop` takes a free loop device (made through loop-control if need be) that goes away with the last mount.
    output(["mount", "-t", "xfs", "-o", "loop", image_of(root, name), point])


def grow(root: Path, name: str, capacity: int) -> None:
    """Enlarge a mounted volume while it is in use. It never shrinks."""
    _enlarge(image_of(root, name), capacity)
    # Always: whoever was killed after enlarging the file has not told the device and the file system.
    for device in _devices(root / name):
        output(["losetup", "-c", device])
    output(["xfs_growfs", "-d", mount_of(root, name)])


def remove(root: Path, name: str) -> bool:
    """Unmount and delete a volume; False if there was none. Fails while any other mount of it is left."""
    folder = root / name
    if not folder.exists():
        return False
    if unwilling := unmount_all(folder):
        raise TestbedError("; ".join(unwilling))
    if mount_of(root, name).exists():
        mount_of(root, name).rmdir()  # refused if anything is mounted there: nothing inside is ever deleted
    shutil.rmtree(folder)
    return True


def unmount_all(root: Path) -> list[str]:
    """Unmount and detach all below a folder, whether or not a volume is known there; tell what was not possible.

    Mounts of the same devices elsewhere (a pod's) are left alone, and keep their volume.
    """
    root = root.resolve()  # as the kernel names mount points and backing files
    devices = _devices(root)
    elsewhere = [mount for mount in mounts() if mount.device in devices and not is_below(mount.point, root)]
    kept = {mount.device: f"{mount.device} is also mounted at {mount.point}" for mount in elsewhere}
    for mount in reversed(mounts()):
        if is_below(mount.point, root) and mount.device not in kept:
            done = attempt(["umount", mount.point])
            kept |= {mount.device: done.stderr.strip()} if done.returncode else {}
    return [*kept.values(), *_detach_all(root, besides=kept)]


def _detach_all(root: Path, *, besides: Collection[str]) -> list[str]:
    deadline = time.monotonic() + DETACH_DEADLINE_S
    while devices := {device: file for device, file in _devices(root).items() if device not in besides}:
        if time.monotonic() > deadline:
            return [f"{device} does not let go of {file}" for device, file in devices.items()]
        # Needed only for a device without a mount; the others go away by themselves, just not at once.
        for device in devices:
            attempt(["losetup", "-d", device])
        time.sleep(0.01)
    return []


def _devices(folder: Path) -> dict[str, str]:
    return {device: file for device, file in backing_files().items() if is_below(file, folder)}


def _enlarge(image: Path, capacity: int) -> None:
    if image.stat().st_size < capacity + LOG_SIZE:
        os.truncate(image, capacity + LOG_SIZE)


def _make_file_system(image: Path) -> None:
    log = f"size={LOG_SIZE}"
    # Reflinks and reverse maps would take a part of a small volume, and nobody here uses them.
    output(["mkfs.xfs", "-q", "-f", "-K", "-l", log, "-m", "reflink=0,rmapbt=0", image])


def _folders(root: Path) -> list[Path]:
    return [folder for folder in root.iterdir() if folder.is_dir()] if root.exists() else []
