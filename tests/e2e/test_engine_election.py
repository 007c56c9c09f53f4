"""Processes that want to lead, on the real API server; times are those of their logs, on one machine."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from testbed.layout import REPOSITORY
from tests.e2e.cluster import Cluster
from tests.e2e.engine_ground import connection, until
from tests.e2e.engine_proxy import Proxy
from tests.support.engine import CONFIG_MAPS
from valkey_operator.runtime.election import Timing

TIMING = Timing()

LEADS = "this process leads"
LOST = "this process does not lead any more"


class Operator:
    def __init__(self, kubeconfig: Path, namespace: str, identity: str, folder: Path) -> None:
        self.identity = identity
        self._log = folder / f"{identity}.log"
        argv = [sys.executable, "-m", "tests.e2e.engine_program", str(kubeconfig), namespace, identity]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(argv, stderr=log, cwd=REPOSITORY)

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.endswith("}")]

    def when(self, event: str) -> float | None:
        """The time of the last such line."""
        found = [line["timestamp"] for line in self.log() if line["event"] == event]
        return datetime.fromisoformat(found[-1]).timestamp() if found else None

    def wait_for(self, event: str, deadline_s: float = 30.0) -> float:
        deadline = time.monotonic() + deadline_s
        while (at := self.when(event)) is None:
            told = self._log.read_text()
            assert time.monotonic() < deadline, f"{self.identity} did not say {event!r} in {deadline_s} s:\n{told}"
            time.sleep(0.02)
        return at


class Operators:
    def __init__(self, kubeconfig: Path, namespace: str, folder: Path) -> None:
        self.kubeconfig = kubeconfig
        self._namespace = namespace
        self._folder = folder
        self.started: list[Operator] = []

    def start(self, identity: str, kubeconfig: Path | None = None) -> Operator:
        operator = Operator(kubeconfig or self.kubeconfig, self._namespace, identity, self._folder)
        self.started.append(operator)
        return operator

    def leader_and_standby(self) -> tuple[Operator, Operator]:
        leader = self.start("first")
        leader.wait_for(LEADS)
        standby = self.start("second")
        standby.wait_for("API server answers")
        time.sleep(2 * TIMING.retry_s)
        assert standby.when(LEADS) is None
        return leader, standby


@pytest.fixture
def operators(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Operators]:
    operators = Operators(cluster.kubeconfig, namespace, tmp_path)
    try:
        yield operators
    finally:
        for each in operators.started:
            each.process.kill()
            each.process.wait()


def lease(cluster: Cluster, namespace: str) -> dict[str, Any]:
    spec: dict[str, Any] = cluster.get("lease", "valkey-operator", namespace=namespace)["spec"]
    return spec


def test_of_three_exactly_one_leads_and_works(cluster: Cluster, operators: Operators, namespace: str) -> None:
    for identity in ("a", "b", "c"):
        operators.start(identity)
    cluster.wait_for("a leader", lambda: [each for each in operators.started if each.when(LEADS)] or None, namespace)
    time.sleep(3 * TIMING.retry_s)
    [leader] = [each for each in operators.started if each.when(LEADS)]
    held = lease(cluster, namespace)
    assert (held["holderIdentity"], held["leaseTransitions"], held["leaseDurationSeconds"]) == (leader.identity, 1, 6)


def test_a_leader_that_is_killed_is_replaced(cluster: Cluster, operators: Operators, namespace: str) -> None:
    leader, standby = operators.leader_and_standby()
    leader.process.kill()
    standby.wait_for(LEADS)
    assert lease(cluster, namespace)["leaseTransitions"] == 2


def test_a_leader_that_is_asked_to_stop_finishes_and_hands_over_at_once(operators: Operators) -> None:
    leader, standby = operators.leader_and_standby()
    asked_at = time.time()
    leader.process.send_signal(signal.SIGTERM)
    assert leader.process.wait(10) == 0
    # Without the hand-over, the standby would have to see the lease unchanged for its whole length.
    assert standby.wait_for(LEADS) - asked_at < TIMING.duration_s


def test_a_new_leader_works_off_what_happened_while_there_was_none(
    cluster: Cluster, operators: Operators, namespace: str
) -> None:
    leader, _ = operators.leader_and_standby()
    leader.process.kill()
    original = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late", "labels": {"engine-test": "yes"}}}
    cluster.apply(original, namespace=namespace)
    cluster.wait_for("the copy", lambda: copied(cluster, namespace, "late"), namespace, deadline_s=20)


def copied(cluster: Cluster, namespace: str, name: str) -> bool | None:
    asked = cluster.try_kubectl("get", CONFIG_MAPS.plural, f"{name}-copy", f"--namespace={namespace}")
    return True if asked.returncode == 0 else None


def test_a_leader_whose_event_loop_hangs_is_replaced_and_cannot_write_when_it_wakes(
    cluster: Cluster, operators: Operators, namespace: str
) -> None:
    leader, standby = operators.leader_and_standby()
    meta = {"name": "hang", "labels": {"engine-test": "yes"}}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"seconds": "14"}}, namespace=namespace
    )
    leader.wait_for("hangs")
    cluster.kubectl("delete", "configmap", "hang", f"--namespace={namespace}")
    standby.wait_for(LEADS)
    leader.wait_for("wakes")
    leader.wait_for(LOST)
    time.sleep(1)
    assert leader.when("wrote after waking") is None
    assert copied(cluster, namespace, "hang") is None


def test_a_short_hang_does_not_cost_the_lease(cluster: Cluster, operators: Operators, namespace: str) -> None:
    leader, standby = operators.leader_and_standby()
    meta = {"name": "hang", "labels": {"engine-test": "yes"}}
    cluster.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"seconds": "3"}}, namespace=namespace
    )
    leader.wait_for("wrote after waking")
    time.sleep(TIMING.duration_s)
    assert (leader.when(LOST), standby.when(LEADS)) == (None, None)


def test_a_leader_that_is_frozen_and_thaws_does_not_lead(operators: Operators) -> None:
    leader, standby = operators.leader_and_standby()
    os.kill(leader.process.pid, signal.SIGSTOP)
    standby.wait_for(LEADS)
    os.kill(leader.process.pid, signal.SIGCONT)
    leader.wait_for(LOST)
    time.sleep(2 * TIMING.retry_s)
    assert standby.when(LOST) is None


@pytest.mark.asyncio
async def test_a_leader_that_is_cut_off_stops_before_its_lease_ends_and_stands_by_afterwards(
    cluster: Cluster, operators: Operators, tmp_path: Path
) -> None:
    proxy = Proxy(connection(cluster.kubeconfig))
    async with proxy.serve():
        leader = operators.start("first", proxy.write_kubeconfig(tmp_path / "kubeconfig"))
        await asyncio.to_thread(leader.wait_for, LEADS)
        standby = operators.start("second")
        await asyncio.to_thread(standby.wait_for, "API server answers")
        await asyncio.sleep(2 * TIMING.retry_s)
        proxy.cut()
        lost_at = await asyncio.to_thread(leader.wait_for, LOST)
        taken_at = await asyncio.to_thread(standby.wait_for, LEADS)
        assert lost_at < taken_at
        proxy.mend()
        with contextlib.suppress(ProcessLookupError):
            standby.process.send_signal(signal.SIGTERM)
        await until("the same process leads again", lambda: (leader.when(LEADS) or 0) > taken_at)
