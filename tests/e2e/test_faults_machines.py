"""Faults of whole nodes and of the API server do what they say, and their undo undoes them."""

import socket
import time

import pytest

from testbed import faults, processes
from testbed.faults import ApiServerDown, ApiServerSlow, NodeCut, NodeStop, broken
from testbed.layout import Layout
from tests.e2e.cluster import Cluster
from tests.e2e.manifests import pod
from tests.e2e.testbed_command import run_testbed

pytestmark = pytest.mark.node_faults


def test_a_stopped_node_is_silent_and_comes_back_with_its_pods_as_they_were(
    cluster: Cluster, layout: Layout, namespace: str
) -> None:
    cluster.apply(pod("there", node="node2"), pod("here", node="node0"), namespace=namespace)
    address = cluster.wait_for_pods(namespace, "there", "here")[0]["status"]["podIP"]
    ask = ("timeout", "2", "valkey-cli", "-h", address)
    cluster.say_in(namespace, "here", *ask, "set", "remembered", "yes")

    with broken(layout, NodeStop("node2")):
        assert cluster.run_in(namespace, "here", *ask, "ping").returncode != 0
        cluster.wait_for("node2 to be NotReady", lambda: None if cluster.node_is_ready("node2") else True)
    wait_until_ready(cluster, "node2")
    assert cluster.say_in(namespace, "here", *ask, "get", "remembered") == "yes"
    cluster.wait_for_pods(namespace, "there")


def test_without_an_api_server_pods_go_on_serving(cluster: Cluster, layout: Layout, namespace: str) -> None:
    cluster.apply(pod("a"), namespace=namespace)
    address = cluster.wait_for_pods(namespace, "a")[0]["status"]["podIP"]

    with broken(layout, ApiServerDown()):
        assert cluster.try_kubectl("get", "--raw", "/readyz", "--request-timeout=2s").returncode != 0
        assert ping_from_this_machine(address) == b"+PONG\r\n"
        assert "does not answer" in run_testbed(layout, "status")
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"


def ping_from_this_machine(address: str) -> bytes:
    with socket.create_connection((address, 6379), timeout=5) as sock:
        sock.sendall(b"PING\r\n")
        return sock.recv(100)


def test_a_slow_api_server_answers_late(cluster: Cluster, layout: Layout) -> None:
    def slowest() -> float:
        return max(time_of_an_answer(cluster) for _ in range(5))

    usual = slowest()
    with broken(layout, ApiServerSlow(delay_ms=1500)):
        assert slowest() > usual + 0.75
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"


def time_of_an_answer(cluster: Cluster) -> float:
    begun = time.monotonic()
    cluster.kubectl("get", "--raw", "/api/v1/namespaces/default")
    return time.monotonic() - begun


def wait_until_ready(cluster: Cluster, node: str) -> None:
    cluster.wait_for(f"{node} to be Ready", lambda: cluster.node_is_ready(node) or None)


def test_heal_undoes_everything_at_once(cluster: Cluster, layout: Layout) -> None:
    faults.inject(layout, NodeCut("node1"))
    faults.inject(layout, NodeStop("node2"))
    faults.inject(layout, ApiServerDown())
    said = run_testbed(layout, "status")
    assert "node-cut-node1" in said
    assert "apiserver-down" in said

    run_testbed(layout, "heal")

    assert faults.active(layout) == []
    for name in ("node0", "node1", "node2"):
        wait_until_ready(cluster, name)
    assert processes.find(layout, "apiserver") is not None
