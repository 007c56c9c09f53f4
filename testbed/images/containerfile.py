"""The operator's own image, from the project's Containerfile.

buildah keeps its storage in a folder that is removed afterwards, and copies layers instead of mounting them: the
machine's own container storage is not touched, and nothing stays mounted.
"""

import platform
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from testbed.commands import output
from testbed.images.oci import full_name, repack_layout
from testbed.images.workshop import Image, Workshop

PYTHON = "3.13"
# Where the Containerfile looks for them.
SITE = "build/site"
SOURCES = (".containerignore", "Containerfile", "LICENSE", "README.md", "pyproject.toml", "requirements.txt", "src")


@dataclass(frozen=True)
class OwnContainerfile:
    """An image of the project in `project`, on a base image of ours."""

    project: Path
    base: Image

    def inputs(self) -> Iterable[str | bytes | Path]:
        return [self.base.key, *(self.project / source for source in SOURCES)]

    def make(self, image: Image, room: Path, shop: Workshop) -> Path:
        base = shop.build(self.base)
        shop.report(f"{image.title}: installing the locked dependencies")
        self.install_site(room, shop.tools.uv)
        shop.report(f"{image.title}: building from the Containerfile")
        self.build_layout(image, base, room)
        repack_layout(room / "layout", room / "image.tar", [image.name])
        return room / "image.tar"

    def install_site(self, room: Path, uv: str | Path) -> None:
        """The dependencies by the lock and its hashes, the project as a wheel: nothing is resolved or compiled."""
        host = ["--quiet", "--python", sys.executable]
        install = [str(uv), "pip", "install", *host, "--no-deps", "--target", str(room / SITE)]
        install += ["--python-version", PYTHON, "--python-platform", f"{platform.machine()}-manylinux_2_28"]
        lock = self.project / "requirements.txt"
        output([*install, "--require-hashes", "--only-binary", ":all:", "--requirements", lock])
        output([uv, "build", *host, "--wheel", "--out-dir", room / "wheel", self.project])
        for wheel in (room / "wheel").glob("*.whl"):
            # As an installer does with pure Python, but without a record of this machine's paths.
            shutil.unpack_archive(wheel, room / SITE, "zip")

    def build_layout(self, image: Image, base: Path, room: Path) -> None:
        name = full_name(image.name)
        buildah = ["buildah", "--root", f"{room}/storage", "--runroot", f"{room}/run", "--storage-driver", "vfs"]
        output([*buildah, "pull", "--quiet", f"oci-archive:{base}"])
        # In a chroot, because a container's cgroups and network are neither needed nor possible everywhere.
        build = [*buildah, "build", "--quiet", "--isolation", "chroot", "--pull=never", "--timestamp", "0"]
        build += ["--file", f"{self.project}/Containerfile", "--ignorefile", f"{self.project}/.containerignore"]
        output([*build, "--tag", name, room])
        output([*buildah, "push", "--quiet", "--compression-level", "1", name, f"oci:{room}/layout"])
