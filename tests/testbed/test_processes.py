"""Real processes, found by their mark, without a testbed around them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from testbed import processes
from testbed.layout import Layout

PARENT = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']).wait()"


@pytest.fixture
def layout(tmp_path: Path) -> Iterator[Layout]:
    """Of the layout, only the name and the place for logs matter here."""
    made = cast("Layout", SimpleNamespace(name=f"test-{os.getpid()}-{tmp_path.name}", logs=tmp_path))
    yield made
    processes.end_all(made)


def wait_for(layout: Layout, count: int) -> list[processes.Process]:
    deadline = time.monotonic() + 10
    while len(found := processes.processes_of(layout)) != count:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


def test_a_daemon_is_found_by_its_role(layout: Layout) -> None:
    processes.start(layout, "sleeper", ["sleep", "60"])
    (sleeper,) = wait_for(layout, 1)

    assert processes.find(layout, "sleeper") == sleeper.pid
    assert processes.find(layout, "other") is None


def test_starting_again_starts_nothing(layout: Layout) -> None:
    processes.start(layout, "sleeper", ["sleep", "60"])
    (first,) = wait_for(layout, 1)
    processes.start(layout, "sleeper", ["sleep", "60"])

    assert [p.pid for p in processes.processes_of(layout)] == [first.pid]


def test_a_daemon_is_nobodys_child(layout: Layout) -> None:
    processes.start(layout, "sleeper", ["sleep", "60"])
    (sleeper,) = wait_for(layout, 1)

    children = Path("/proc/self/task").glob("*/children")
    assert str(sleeper.pid) not in " ".join(path.read_text() for path in children).split()


def test_what_a_daemon_spawned_belongs_to_the_testbed_but_is_not_the_daemon(layout: Layout) -> None:
    processes.start(layout, "parent", [sys.executable, "-c", PARENT])
    found = wait_for(layout, 2)

    assert sorted(process.leads for process in found) == [False, True]


def test_stopping_a_daemon_leaves_what_it_spawned(layout: Layout) -> None:
    processes.start(layout, "parent", [sys.executable, "-c", PARENT])
    wait_for(layout, 2)
    processes.stop(layout, "parent", signal.SIGKILL)

    (child,) = wait_for(layout, 1)
    assert not child.leads


def test_ending_all_ends_descendants_and_nobody_else(layout: Layout) -> None:
    with subprocess.Popen(["sleep", "60"]) as bystander:
        processes.start(layout, "parent", [sys.executable, "-c", PARENT])
        wait_for(layout, 2)
        processes.end_all(layout)

        assert processes.processes_of(layout) == []
        assert bystander.poll() is None
        bystander.kill()


def test_a_daemon_that_ignores_the_signal_is_killed_after_the_deadline(layout: Layout) -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    processes.start(layout, "stubborn", [sys.executable, "-c", stubborn])
    wait_for(layout, 1)
    processes.end(lambda: [p.pid for p in processes.processes_of(layout)], signal.SIGTERM, deadline_s=1)

    assert processes.find(layout, "stubborn") is None


def test_what_a_daemon_says_is_in_its_log(layout: Layout) -> None:
    processes.start(layout, "speaker", ["sh", "-c", "echo hello"])
    deadline = time.monotonic() + 10
    while "hello" not in (layout.logs / "speaker.log").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
