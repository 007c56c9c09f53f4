"""A full disk."""

import errno
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from testbed import kubectl
from testbed.addons import volumes
from testbed.errors import TestbedError
from testbed.faults.register import Fault
from testbed.layout import Layout

BALLAST = ".testbed-disk-full"
SMALLEST_PIECE = 4096


@dataclass(frozen=True)
class DiskFull(Fault):
    """No byte is left on the volume of a claim."""

    claim: str
    volume: str
    kind: ClassVar[str] = "disk-full"

    @classmethod
    def of(cls, layout: Layout, claim: str) -> Self:
        namespace, _, name = claim.rpartition("/")
        place = f"--namespace={namespace or 'default'}"
        found = kubectl.attempt(layout, "get", "pvc", name, place, "--output=jsonpath={.spec.volumeName}")
        if found.returncode or not found.stdout:
            raise TestbedError(f"no bound claim {claim!r}: {found.stderr.strip() or 'it has no volume yet'}")
        return cls(claim, found.stdout)

    def inject(self, layout: Layout) -> None:
        fill(volumes.mount_of(layout.volumes, self.volume) / BALLAST)

    def undo(self, layout: Layout) -> None:
        (volumes.mount_of(layout.volumes, self.volume) / BALLAST).unlink(missing_ok=True)


def fill(ballast: Path) -> None:
    """Take all free space with one file, in ever smaller pieces."""
    usage = os.statvfs(ballast.parent)
    piece = usage.f_bfree * usage.f_frsize
    with ballast.open("ab") as file:
        while piece >= SMALLEST_PIECE:
            try:
                os.posix_fallocate(file.fileno(), file.seek(0, os.SEEK_END), piece)
            except OSError as problem:
                if problem.errno != errno.ENOSPC:
                    raise
                piece //= 2
        with suppress(OSError):
            while True:
                os.write(file.fileno(), bytes(SMALLEST_PIECE))
