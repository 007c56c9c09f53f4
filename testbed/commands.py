"""Run other programs: one way to call them, one way to show what they said when they fail."""

import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from testbed.errors import TestbedError


def output(argv: Sequence[str | Path], *, stdin: str | None = None, env: Mapping[str, str] | None = None) -> str:
    """Standard output of a program that must succeed."""
    done = attempt(argv, stdin=stdin, env=env)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-2000:]
        raise TestbedError(f"`{shlex.join(map(str, argv))}` failed with {done.returncode}: {said}")
    return done.stdout


def attempt(
    argv: Sequence[str | Path], *, stdin: str | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program that may fail, and look at the result."""
    return subprocess.run([str(arg) for arg in argv], check=False, text=True, capture_output=True, input=stdin, env=env)


def succeeds(argv: Sequence[str | Path]) -> bool:
    return attempt(argv).returncode == 0


def in_netns(netns: Path, argv: Sequence[str | Path]) -> list[str]:
    """The same command inside a network namespace.

    `ip netns exec` would remount /sys and hide the cgroups, so it is nsenter.
    """
    return ["nsenter", f"--net={netns}", *map(str, argv)]
