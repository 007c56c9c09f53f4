"""Valkey of each version as an ordinary process of this machine, run from the unpacked image."""

import shutil
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import IO

from testbed import store
from testbed.errors import TestbedError
from testbed.images.catalogue import valkey
from testbed.images.oci import layer_paths
from testbed.images.workshop import Image, build


def rootfs(version: str, cache: Path, report: Callable[[str], None]) -> Path:
    """The unpacked image of a Valkey version, such as "9.1"."""
    return unpacked(valkey(version), cache, report)


def unpacked(image: Image, cache: Path, report: Callable[[str], None]) -> Path:
    return store.published(
        cache, f"{image.slug}-rootfs", image.key, make=lambda room: unpack(build(image, cache, report), room / "root")
    )


def unpack(archive: Path, root: Path) -> Path:
    root.mkdir()
    with tarfile.open(archive) as tar:
        for member in layer_paths(archive):
            pour(tar.extractfile(member), root)
    return root


def pour(layer: IO[bytes] | None, root: Path) -> None:
    """Unpack by tar, not by tarfile, which has no safe way to keep modes and owners before Python 3.12."""
    with subprocess.Popen(["tar", "-x", "-C", str(root)], stdin=subprocess.PIPE) as unpacking:
        if layer and unpacking.stdin:
            shutil.copyfileobj(layer, unpacking.stdin)
    if unpacking.returncode:
        raise TestbedError(f"a layer can't be unpacked into {root}")


def launcher(root: Path, program: str = "valkey-server") -> list[str]:
    """What to write in front of a program's arguments to run it from an unpacked image.

    The image's own dynamic linker loads the image's own libraries, so the program needs no chroot: it sees this
    machine's paths and network.
    """
    libraries = next((root / "usr/lib").glob("*-linux-gnu"))
    linker = next(libraries.glob("ld-linux*.so.*"))
    return [str(linker), "--library-path", str(libraries), str(root / "usr/bin" / program)]
