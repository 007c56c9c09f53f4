"""Volumes on real loop devices: their size is real, they grow in use, and nothing is left or lost by a kill."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.addons import volumes
from testbed.addons.loopdevices import backing_files
from testbed.addons.volumes import MIB, create, ensure_mounted, grow, image_of, mount_of, mounted, remove, unmount_all
from testbed.commands import attempt, output
from testbed.errors import TestbedError
from testbed.mounts import is_below

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts")]

SIZE = 256 * MIB


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "volumes"
    attempt(["umount", tmp_path / "elsewhere"])
    assert unmount_all(tmp_path) == []


def size_of(point: Path) -> int:
    status = os.statvfs(point)
    return status.f_blocks * status.f_frsize


def devices_below(root: Path) -> list[str]:
    return [device for device, file in backing_files().items() if is_below(file, root)]


def test_a_new_volume_is_mounted_empty_and_as_large_as_asked(root: Path) -> None:
    create(root, "a", SIZE)
    point = mount_of(root, "a")
    assert mounted(root) == {"a"}
    assert list(point.iterdir()) == []
    assert size_of(point) == SIZE
    assert (point.stat().st_uid, point.stat().st_mode & 0o7777) == (0, 0o755)


def test_a_volume_takes_no_more_than_its_size(root: Path) -> None:
    create(root, "a", SIZE)
    with (mount_of(root, "a") / "big").open("wb") as file, pytest.raises(OSError, match="No space left"):
        os.posix_fallocate(file.fileno(), 0, SIZE)


def test_a_volume_grows_while_in_use_and_keeps_its_data(root: Path) -> None:
    create(root, "a", SIZE)
    with (mount_of(root, "a") / "data").open("w+") as held:
        held.write("precious")
        grow(root, "a", 2 * SIZE)
        held.flush()
        assert size_of(mount_of(root, "a")) == 2 * SIZE
        held.seek(0)
        assert held.read() == "precious"


def test_a_volume_never_shrinks(root: Path) -> None:
    create(root, "a", 2 * SIZE)
    grow(root, "a", SIZE)
    assert size_of(mount_of(root, "a")) == 2 * SIZE


def test_growing_continues_where_a_kill_stopped_it(root: Path) -> None:
    create(root, "a", SIZE)
    os.truncate(image_of(root, "a"), 2 * SIZE + volumes.LOG_SIZE)
    grow(root, "a", 2 * SIZE)
    assert size_of(mount_of(root, "a")) == 2 * SIZE


def test_making_a_volume_again_keeps_what_is_in_it(root: Path) -> None:
    create(root, "a", SIZE)
    (mount_of(root, "a") / "data").write_text("precious")
    create(root, "a", SIZE)
    assert (mount_of(root, "a") / "data").read_text() == "precious"


def test_a_half_made_disk_is_made_anew(root: Path) -> None:
    (root / "a").mkdir(parents=True)
    image_of(root, "a").with_suffix(".draft").write_bytes(b"half a file system")
    create(root, "a", SIZE)
    assert mounted(root) == {"a"}


def test_a_volume_is_mounted_again_with_its_data(root: Path) -> None:
    create(root, "a", SIZE)
    (mount_of(root, "a") / "data").write_text("precious")
    output(["umount", mount_of(root, "a")])
    ensure_mounted(root, "a")
    assert (mount_of(root, "a") / "data").read_text() == "precious"


def test_a_disk_that_is_attached_but_not_mounted_is_mounted_once(root: Path) -> None:
    create(root, "a", SIZE)
    output(["umount", mount_of(root, "a")])
    output(["losetup", "--find", image_of(root, "a")])
    ensure_mounted(root, "a")
    assert len(devices_below(root)) == 1


def test_a_lost_disk_is_told_and_not_replaced_by_an_empty_one(root: Path) -> None:
    create(root, "a", SIZE)
    output(["umount", mount_of(root, "a")])
    image_of(root, "a").unlink()
    with pytest.raises(TestbedError, match="the disk of volume a is gone"):
        ensure_mounted(root, "a")


def test_removing_leaves_no_file_mount_or_device(root: Path) -> None:
    create(root, "a", SIZE)
    assert remove(root, "a")
    assert list(root.iterdir()) == []
    assert devices_below(root) == []
    assert not remove(root, "a")


def test_a_volume_that_a_pod_still_has_is_not_removed(root: Path, tmp_path: Path) -> None:
    create(root, "a", SIZE)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    output(["mount", "--bind", mount_of(root, "a"), elsewhere])
    with pytest.raises(TestbedError, match=f"also mounted at {elsewhere}"):
        remove(root, "a")
    assert mounted(root) == {"a"}
    output(["umount", elsewhere])
    assert remove(root, "a")


def test_a_volume_with_open_files_is_not_removed(root: Path) -> None:
    create(root, "a", SIZE)
    with (mount_of(root, "a") / "data").open("w"), pytest.raises(TestbedError, match="busy"):
        remove(root, "a")
    assert image_of(root, "a").exists()
    assert remove(root, "a")


def test_unmounting_all_needs_no_record_of_the_volumes(root: Path) -> None:
    create(root, "mounted", SIZE)
    create(root, "removed", SIZE)
    create(root, "attached", SIZE)
    image_of(root, "removed").unlink()
    output(["umount", mount_of(root, "attached")])
    output(["losetup", "--find", image_of(root, "attached")])
    assert unmount_all(root) == []
    assert mounted(root) == frozenset()
    assert devices_below(root) == []


def test_unmounting_all_tells_what_it_could_not(root: Path) -> None:
    create(root, "a", SIZE)
    create(root, "b", SIZE)
    with (mount_of(root, "a") / "held").open("w"):
        (refusal,) = unmount_all(root)
    assert "busy" in refusal
    assert mounted(root) == {"a"}


def test_more_volumes_than_ready_made_loop_devices(root: Path) -> None:
    names = [f"v{number}" for number in range(12)]
    for name in names:
        create(root, name, SIZE)
    assert mounted(root) == set(names)
