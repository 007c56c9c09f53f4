"""The process of a real server: at the gate, running, dead, and back."""

import os
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from tests.valkey.gated import PARKED, WRITABLE, Pod, pod, wait_until
from valkey_operator.agent.watch import ProcessTable, Watched, after_look, listens_at
from valkey_operator.valkey.states import ProcessState

# Measured below 60 ms (bench/agent.py); a test on a busy machine only shows the order of magnitude.
SEEN_WITHIN_S = 1.0


class Watcher:
    def __init__(self, made: Pod) -> None:
        self.table = ProcessTable(made.boot_conf, partial(listens_at, made.gate.socket))
        self.seen = Watched()

    def look(self) -> ProcessState:
        self.seen = after_look(self.seen, self.table.look(self.seen))
        return self.seen.state

    def wait_for(self, state: ProcessState) -> None:
        wait_until(f"the server is {state}", lambda: self.look() is state, lambda: self.seen)


@pytest.mark.every_version
def test_a_server_is_followed_from_the_gate_to_its_death_and_back(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        watcher = Watcher(made)
        assert watcher.look() is ProcessState.SHUT
        first = made.start_server()
        watcher.wait_for(ProcessState.WAITING)
        made.open_as(WRITABLE)
        watcher.wait_for(ProcessState.RUNNING)
        assert watcher.seen.process is not None
        assert watcher.seen.process.pid == first.pid
        first.kill()
        killed_at = time.monotonic()
        watcher.wait_for(ProcessState.GONE)
        assert time.monotonic() - killed_at < SEEN_WITHIN_S
        first.wait(timeout=10)
        made.start_server()
        watcher.wait_for(ProcessState.WAITING)
        assert watcher.seen.starts == 2


@pytest.mark.every_version
def test_a_saving_child_that_outlives_the_server_is_not_taken_for_it(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        server = made.start_server()
        made.open_as(WRITABLE)
        with made.agent_client() as client:
            made.wait_for(client)
            client.config_set("rdb-key-save-delay", 1_000_000)
            for index in range(20):
                client.set(f"key{index}", "value")
            client.bgsave()
            wait_until("the save runs", lambda: client.info("persistence")["rdb_bgsave_in_progress"] == 1)
        watcher = Watcher(made)
        assert watcher.look() is ProcessState.RUNNING
        assert watcher.seen.process is not None
        assert watcher.seen.process.pid == server.pid
        children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        assert children
        # It gets a title of its own a moment after it was made.
        wait_until("the child's title", lambda: b"rdb" in Path(f"/proc/{children[0]}/cmdline").read_bytes())
        try:
            server.kill()
            server.wait(timeout=10)
            assert watcher.look() is ProcessState.GONE
        finally:
            for child in children:
                os.kill(int(child), signal.SIGKILL)


def test_a_stopped_server_is_not_dead(version: str, tmp_path: Path) -> None:
    with pod(version, tmp_path) as made:
        server = made.start_server()
        made.open_as(PARKED)
        watcher = Watcher(made)
        watcher.wait_for(ProcessState.RUNNING)
        server.send_signal(signal.SIGSTOP)
        time.sleep(0.2)
        assert watcher.look() is ProcessState.RUNNING
