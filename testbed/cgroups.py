"""A cgroup per node, so that a kubelet has a root of its own, and a node's pods can be frozen or ended together.

Both kernels' layouts are served: the unified hierarchy (v2), and one hierarchy per controller (v1, also beside an empty
v2 mount), where every controller gets a folder of the same name.
"""

import os
import time
from contextlib import suppress
from pathlib import Path

from testbed.errors import TestbedError

ROOT = Path("/sys/fs/cgroup")
NEEDED = ("cpu", "memory", "pids")
DELEGATED = ("cpuset", "cpu", "io", "memory", "pids")
REMOVE_DEADLINE_S = 20


def unified() -> bool:
    return (ROOT / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    """The mounted trees in which a cgroup needs a folder."""
    if unified():
        return [ROOT]
    return sorted(path for path in ROOT.iterdir() if (path / "cgroup.procs").exists() and not path.is_symlink())


def available() -> bool:
    if unified():
        return set(NEEDED) <= set((ROOT / "cgroup.controllers").read_text().split())
    return all((ROOT / controller / "cgroup.procs").exists() for controller in (*NEEDED, "freezer"))


def make(name: str) -> None:
    for tree in hierarchies():
        for folder in lineage(tree, name):
            folder.mkdir(exist_ok=True)
            inherit(folder)


def lineage(tree: Path, name: str) -> list[Path]:
    """Every folder from just below the tree's root down to the cgroup."""
    parts = name.split("/")
    return [tree.joinpath(*parts[: depth + 1]) for depth in range(len(parts))]


def inherit(folder: Path) -> None:
    """Hand down what a new cgroup does not get by itself."""
    if unified():
        offered = (folder.parent / "cgroup.controllers").read_text().split()
        wanted = " ".join(f"+{name}" for name in DELEGATED if name in offered)
        (folder.parent / "cgroup.subtree_control").write_text(wanted)
    for setting in ("cpuset.cpus", "cpuset.mems"):
        own = folder / setting
        if not unified() and own.exists() and not own.read_text().strip():
            own.write_text((folder.parent / setting).read_text())


def freezer(name: str) -> Path:
    return (ROOT if unified() else ROOT / "freezer") / name


def freeze(name: str) -> None:
    set_frozen(freezer(name), frozen=True)


def thaw(name: str) -> None:
    set_frozen(freezer(name), frozen=False)


def set_frozen(folder: Path, *, frozen: bool) -> None:
    if unified():
        (folder / "cgroup.freeze").write_text("1" if frozen else "0")
    else:
        (folder / "freezer.state").write_text("FROZEN" if frozen else "THAWED")


def pids(name: str) -> list[int]:
    """Every process in the cgroup and below it."""
    found: set[int] = set()
    for tree in hierarchies():
        for procs in (tree / name).rglob("cgroup.procs"):
            with suppress(OSError):
                found.update(map(int, procs.read_text().split()))
    return sorted(found)


def thaw_below(name: str) -> None:
    """A frozen process can't die, so everything below is thawed before it is ended."""
    top = freezer(name)
    for folder in [top, *below(top)]:
        with suppress(OSError):
            set_frozen(folder, frozen=False)


def below(folder: Path) -> list[Path]:
    return [Path(parent) / child for parent, children, _ in os.walk(folder) for child in children]


def remove(name: str) -> None:
    """Remove the cgroup with all below it; its processes must be gone."""
    deadline = time.monotonic() + REMOVE_DEADLINE_S
    for tree in hierarchies():
        while (tree / name).exists():
            for folder in [*reversed(below(tree / name)), tree / name]:
                with suppress(OSError):
                    folder.rmdir()
            if time.monotonic() > deadline:
                raise TestbedError(f"{tree / name} can't be removed: is a process in it? see `cat {tree / name}/tasks`")
            time.sleep(0.02)
