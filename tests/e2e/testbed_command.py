"""`bin/testbed` as a person calls it."""

import subprocess

from testbed.layout import REPOSITORY, Layout


def run_testbed(layout: Layout, *args: str) -> str:
    done = try_testbed(layout.name, *args)
    if done.returncode:
        raise AssertionError(f"testbed {' '.join(args)}: {done.stderr}")
    return done.stdout


def try_testbed(name: str, *args: str) -> subprocess.CompletedProcess[str]:
    argv = [str(REPOSITORY / "bin" / "testbed"), "--name", name, *args]
    return subprocess.run(argv, check=False, text=True, capture_output=True, timeout=300)
