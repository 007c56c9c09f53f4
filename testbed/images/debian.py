"""Images from Debian packages: only the packages named and what they depend on, unpacked, pruned and completed.

No package is configured (mmdebstrap's variant `extract`), so neither dpkg nor perl comes along, and what a maintainer
script would have made is made here: the merged /usr, accounts, the bundle of certificates.
The mirror is mmdebstrap's default one.
"""

import gzip
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.errors import TestbedError
from testbed.images.oci import write_image
from testbed.images.tree import Entry, layer, matcher, merge_usr, read_tree
from testbed.images.workshop import Image, Workshop

DROPPED = tuple(
    line
    for line in (Path(__file__).parent / "dropped-paths.txt").read_text().splitlines()
    if line and not line.startswith("#")
)
# The licences stay, of all the documentation.
KEPT = ("usr/share/doc/*/copyright",)
CERTIFICATES = "usr/share/ca-certificates/"


@dataclass(frozen=True)
class DebianPackages:
    """An image of packages of one suite of Debian."""

    suite: str
    packages: tuple[str, ...]
    config: Mapping[str, Any]
    additions: tuple[Entry, ...] = ()
    only: tuple[str, ...] = ("*",)
    drop: tuple[str, ...] = DROPPED
    # A suite laid over the first one; its packages are taken where the first has none.
    overlay: str = ""
    # A shell command run on the unpacked tree, whose path is "$1".
    finish: str = ""
    # The package whose upstream version the tag promises; the full version becomes a second name.
    versioned: str = ""

    def inputs(self) -> Iterable[str | bytes | Path]:
        return [repr(self)]

    def make(self, image: Image, room: Path, shop: Workshop) -> Path:
        shop.report(f"{image.title}: installing packages from {self.overlay or self.suite}")
        unpacked = room / "packages.tar"
        run_apart([*self.command(), str(unpacked)], {**os.environ, "TMPDIR": str(room)})
        shop.report(f"{image.title}: packing")
        entries = read_tree(unpacked)
        names = [image.name, *self.alias(image, entries)]
        write_image(room / "image.tar", names, layer(self.completed(entries)), self.config)
        return room / "image.tar"

    def command(self) -> list[str]:
        include = f"--include={','.join(self.packages)}"
        # Snapshots of old Release files have to do as well. Nothing here needs /proc or /dev to run, and without mounts
        # a killed build leaves none behind.
        options = ["--quiet", "--skip=chroot/mount", "--format=tar", '--aptopt=Acquire::Check-Valid-Until "false"']
        hooks = [f"--setup-hook={overlay_hook(self.suite, self.overlay)}"] if self.overlay else []
        hooks += [f"--extract-hook={self.finish}"] if self.finish else []
        return ["mmdebstrap", "--variant=extract", *options, *hooks, include, self.suite]

    def completed(self, entries: Iterable[Entry]) -> list[Entry]:
        merged = merge_usr(entries)
        wanted, kept, dropped = matcher(self.only), matcher(KEPT), matcher(self.drop)
        pruned = [e for e in merged if wanted(e.path) and (kept(e.path) or not dropped(e.path))]
        return [*pruned, *certificate_bundle(merged), *self.additions]

    def alias(self, image: Image, entries: Iterable[Entry]) -> list[str]:
        """A second name with the patch level, e.g. valkey/valkey:9.1.2."""
        if not self.versioned:
            return []
        repository, _, promised = image.name.rpartition(":")
        version = upstream_version(entries, self.versioned)
        if not version.startswith(promised + "."):
            raise TestbedError(
                f"{image.name} can't be built: Debian {self.overlay or self.suite} has {self.versioned} {version} now"
            )
        return [f"{repository}:{version}"]


def run_apart(argv: list[str], environment: Mapping[str, str]) -> None:
    """Run in a process group of its own: when mmdebstrap fails, it hangs up on its whole group, which would be us."""
    with subprocess.Popen(argv, env=environment, text=True, process_group=0, stderr=subprocess.PIPE) as process:
        try:
            _, said = process.communicate()
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
    if process.returncode:
        raise TestbedError(f"`{shlex.join(argv)}` failed with {process.returncode}: {said.strip()[-2000:]}")


def overlay_hook(suite: str, overlay: str) -> str:
    """Add the overlay at the same mirror, whichever that is."""
    return (
        f'sed -n "s/ {suite} main$/ {overlay} main/p" "$1/etc/apt/sources.list" '
        f'> "$1/etc/apt/sources.list.d/{overlay}.list"'
    )


def upstream_version(entries: Iterable[Entry], package: str) -> str:
    """From the newest line of the package's changelog: an unpacked package is in no database."""
    path = f"usr/share/doc/{package}/changelog.Debian.gz"
    changelog = next((gzip.decompress(entry.data).decode() for entry in entries if entry.path == path), "")
    match = re.match(r"\S+ \((?:\d+:)?(\d+\.\d+\.\d+)", changelog)
    if not match:
        raise TestbedError(f"no version of {package} can be read from its changelog, which begins {changelog[:80]!r}")
    return match[1]


def certificate_bundle(entries: Iterable[Entry]) -> list[Entry]:
    certificates = sorted((e.path, e.data) for e in entries if e.path.startswith(CERTIFICATES) and e.data)
    bundle = b"".join(data for _, data in certificates)
    return [Entry("etc/ssl/certs/ca-certificates.crt", data=bundle)] if bundle else []


def accounts(name: str, number: int, home: str) -> tuple[Entry, ...]:
    """root, one more user, and nobody."""
    users = [("root", 0, "/root"), (name, number, home), ("nobody", 65534, "/nonexistent")]
    passwd = "".join(f"{user}:x:{uid}:{uid}::{where}:/usr/sbin/nologin\n" for user, uid, where in users)
    group = "".join(f"{user}:x:{uid}:\n" for user, uid, _ in users)
    resolving = "passwd: files\ngroup: files\nhosts: files dns\n"
    files = {"passwd": passwd, "group": group, "nsswitch.conf": resolving}
    return tuple(Entry(f"etc/{file}", data=text.encode()) for file, text in files.items())
