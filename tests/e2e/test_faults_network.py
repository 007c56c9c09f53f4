"""Each fault of the network does what it says, and its undo undoes it."""

import os
import select
import socket
import struct
import subprocess
import sys
import time

import pytest

from testbed.commands import in_netns
from testbed.faults import LinkLoss, LinkSlow, Partition, broken
from testbed.layout import Layout, NodeLayout
from tests.e2e.cluster import Cluster
from tests.e2e.manifests import pod, service

pytestmark = pytest.mark.node_faults

MEGABYTE = 1_000_000
ECHO_REQUEST, ECHO_REPLY = 8, 0
SO_RCVBUFFORCE = 33

COUNT_ARRIVALS = """
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], 9999))
sock.settimeout(2)
print("listening", flush=True)
seen = 0
try:
    while seen < 20:
        sock.recv(100)
        seen += 1
except TimeoutError:
    pass
print(seen)
"""
SEND = """
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(20):
    sock.sendto(b"hello", (sys.argv[1], 9999))
"""


def arrivals(sender: NodeLayout, receiver: NodeLayout) -> int:
    """How many of 20 datagrams from one node arrive at another."""
    listen = in_netns(receiver.netns, [sys.executable, "-c", COUNT_ARRIVALS, receiver.ip])
    with subprocess.Popen(listen, text=True, stdout=subprocess.PIPE) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == "listening\n"
        # A refused send is as good as a lost packet.
        subprocess.run(
            in_netns(sender.netns, [sys.executable, "-c", SEND, receiver.ip]), check=False, capture_output=True
        )
        return int(listener.stdout.read())


def echoes(address: str, count: int) -> int:
    """How many of so many ICMP echo requests are answered."""
    ident = os.getpid() & 0xFFFF
    seen: set[int] = set()
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as sock:
        # On a busy machine the answers come in one burst, which the usual buffer does not hold.
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 22)
        for sequence in range(count):
            sock.sendto(echo_request(ident, sequence), (address, 0))
            seen |= answered_within(sock, ident, seconds=0.002)
        return len(seen | answered_within(sock, ident, seconds=2))


def answered_within(sock: socket.socket, ident: int, seconds: float) -> set[int]:
    seen = set()
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and select.select([sock], [], [], left)[0]:
        kind, _, _, got_ident, sequence = struct.unpack_from("!BBHHH", sock.recv(200), 20)
        if (kind, got_ident) == (ECHO_REPLY, ident):
            seen.add(sequence)
    return seen


def echo_request(ident: int, sequence: int) -> bytes:
    total = (ECHO_REQUEST << 8) + ident + sequence
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!BBHHH", ECHO_REQUEST, 0, ~total & 0xFFFF, ident, sequence)


def test_link_loss_loses_about_the_share_it_was_asked_for(cluster: Cluster, layout: Layout) -> None:
    address = layout.node(1).ip

    def loses_nothing() -> bool | None:
        return True if echoes(address, 100) == 100 else None

    cluster.wait_for("the link to be whole", loses_nothing)
    with broken(layout, LinkLoss("node1", percent=50)):
        # Half of the requests arrive, and half of their answers: a quarter, five standard deviations either way.
        assert 40 <= echoes(address, 400) <= 160
    cluster.wait_for("the link to be whole again", loses_nothing)


def test_a_slow_link_carries_no_more_than_it_was_asked_to(cluster: Cluster, layout: Layout, namespace: str) -> None:
    cluster.apply(pod("far", node="node1"), pod("near", node="node0"), namespace=namespace)
    address = cluster.wait_for_pods(namespace, "far", "near")[0]["status"]["podIP"]
    cluster.say_in(namespace, "far", "valkey-cli", "setrange", "big", str(MEGABYTE - 1), "x")

    def fetch() -> float:
        begun = time.monotonic()
        size = cluster.say_in(namespace, "near", "bash", "-c", f"valkey-cli -h {address} get big | wc -c")
        assert int(size) > MEGABYTE
        return time.monotonic() - begun

    fetch()
    with broken(layout, LinkSlow("node1", kilobits=2000, queue_ms=500)):
        assert fetch() > 8 * MEGABYTE / 2_000_000 * 0.9
    fetch()


def test_a_partition_parts_two_nodes_and_leaves_the_others_together(layout: Layout) -> None:
    one, other, third = (layout.node(index) for index in range(3))
    with broken(layout, Partition.between(layout, "node0", "node1")):
        assert arrivals(one, other) == 0
        assert arrivals(other, one) == 0
        assert arrivals(one, third) == 20
        assert arrivals(third, other) == 20
    assert arrivals(one, other) == 20


def test_a_one_way_partition_lets_the_other_way_through(layout: Layout) -> None:
    with broken(layout, Partition.between(layout, "node0", "node1", one_way=True)):
        assert arrivals(layout.node(0), layout.node(1)) == 0
        assert arrivals(layout.node(1), layout.node(0)) == 20
    assert arrivals(layout.node(0), layout.node(1)) == 20


def test_a_partition_of_pods_also_cuts_their_way_through_a_service(
    cluster: Cluster, layout: Layout, namespace: str
) -> None:
    pods = [pod("server", node="node0"), pod("near", node="node0"), pod("far", node="node1")]
    cluster.apply(*pods, service("server", {"app": "server"}), namespace=namespace)
    cluster.wait_for_pods(namespace, "server", "near", "far")

    def reaching() -> set[str]:
        ping = ("timeout", "2", "valkey-cli", "-h", "server", "ping")
        return {name for name in ("near", "far") if cluster.run_in(namespace, name, *ping).stdout.strip() == "PONG"}

    cluster.wait_for("both to get through", lambda: reaching() == {"near", "far"} or None, namespace)
    for cut, left in (("near", "far"), ("far", "near")):
        with broken(layout, Partition.between(layout, f"{namespace}/{cut}", f"{namespace}/server")):
            assert reaching() == {left}
    assert reaching() == {"near", "far"}


def test_a_pod_can_be_parted_from_the_api_server_alone(cluster: Cluster, layout: Layout, namespace: str) -> None:
    cluster.apply(pod("a", node="node0"), pod("b", node="node1"), namespace=namespace)
    other = cluster.wait_for_pods(namespace, "a", "b")[1]["status"]["podIP"]
    connect = ("timeout", "2", "bash", "-c", f"exec 3<>/dev/tcp/{layout.api_service_ip}/443")

    assert cluster.run_in(namespace, "a", *connect).returncode == 0
    with broken(layout, Partition.between(layout, f"{namespace}/a", "apiserver")):
        assert cluster.run_in(namespace, "a", *connect).returncode != 0
        assert cluster.say_in(namespace, "a", "valkey-cli", "-h", other, "ping") == "PONG"
    assert cluster.run_in(namespace, "a", *connect).returncode == 0
