"""Real packets through a throw-away node: pods on routed veth pairs, as the CNI plugin ptp makes them."""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from testbed.addons import enforcer
from testbed.addons.enforcer import Enforcer
from testbed.commands import attempt, in_netns, output, succeeds
from testbed.network import ensure_namespace

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="only root makes network namespaces")]

Json = dict[str, Any]

# Kept out of /run/netns: `ip netns add` would leave a mount of that folder behind.
FOLDER = Path(tempfile.mkdtemp(prefix="policy-packets-"))
NODES = FOLDER / "nodes"
NODE = NODES / "node0"
GATEWAY = "10.200.0.1"
SERVED = (6379, 7000)
SERVE = """
import socketserver, sys, threading
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(100):
            self.request.sendall(data)
socketserver.ThreadingTCPServer.allow_reuse_address = True
servers = [socketserver.ThreadingTCPServer(("0.0.0.0", int(port)), Echo) for port in sys.argv[1:]]
for server in servers:
    threading.Thread(target=server.serve_forever).start()
print("serving", flush=True)
"""
KNOCK = """
import socket, sys
socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=0.5).close()
"""
# Holds one connection and says on demand whether it still carries data.
HOLD = """
import socket, sys
held = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=0.5)
print("open", flush=True)
for line in sys.stdin:
    held.sendall(b"x")
    print("alive" if held.recv(1) == b"x" else "dead", flush=True)
"""


class Pod(NamedTuple):
    name: str
    ip: str

    @property
    def netns(self) -> Path:
        return FOLDER / "pods" / self.name

    def as_object(self) -> Json:
        return {
            "metadata": {"name": self.name, "namespace": "shop", "uid": self.name, "labels": {"app": self.name}},
            "spec": {"nodeName": "node0", "containers": [{"name": "main"}]},
            "status": {"phase": "Running", "podIP": self.ip},
        }


SERVER, FRIEND, STRANGER = Pod("server", "10.200.0.2"), Pod("friend", "10.200.0.3"), Pod("stranger", "10.200.0.4")
PODS = (SERVER, FRIEND, STRANGER)


@pytest.fixture(scope="module")
def _node() -> Iterator[None]:
    ensure_namespace(NODE)
    try:
        output(in_netns(NODE, ["sysctl", "-qw", "net.ipv4.ip_forward=1"]))
        for pod in PODS:
            attach(pod)
        with serving(SERVER):
            yield
    finally:
        for netns in (NODE, *(pod.netns for pod in PODS)):
            attempt(["umount", netns])
        shutil.rmtree(FOLDER)


def attach(pod: Pod) -> None:
    host_end = f"v-{pod.name}"
    ensure_namespace(pod.netns)
    for netns, arguments in (
        (NODE, f"link add {host_end} type veth peer name eth0 netns {pod.netns}"),
        (NODE, f"addr add {GATEWAY}/32 dev {host_end}"),
        (NODE, f"link set {host_end} up"),
        (NODE, f"route add {pod.ip}/32 dev {host_end}"),
        (pod.netns, f"addr add {pod.ip}/32 dev eth0"),
        (pod.netns, "link set eth0 up"),
        (pod.netns, "link set lo up"),
        (pod.netns, f"route add {GATEWAY} dev eth0 scope link"),
        (pod.netns, f"route add default via {GATEWAY}"),
    ):
        output(in_netns(netns, ["ip", *arguments.split()]))


@contextlib.contextmanager
def running(netns: Path, script: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
    argv = in_netns(netns, [sys.executable, "-c", script, *map(str, arguments)])
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextlib.contextmanager
def serving(pod: Pod) -> Iterator[None]:
    with running(pod.netns, SERVE, *SERVED) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "serving\n"
        yield


def can_reach(netns: Path, port: int = 6379) -> bool:
    return succeeds(in_netns(netns, [sys.executable, "-c", KNOCK, SERVER.ip, str(port)]))


def enforcing(*policies: Json, pods: tuple[Pod, ...] = PODS) -> Enforcer:
    cluster = {
        enforcer.PODS: [pod.as_object() for pod in pods],
        enforcer.NAMESPACES: [],
        enforcer.POLICIES: list(policies),
    }
    daemon = Enforcer(cluster.__getitem__, NODES)
    daemon.step()
    return daemon


def guard(*rules: Json) -> Json:
    selector = {"matchLabels": {"app": "server"}}
    return {
        "metadata": {"name": "guard", "namespace": "shop"},
        "spec": {"podSelector": selector, "ingress": list(rules)},
    }


FROM_FRIEND = {"from": [{"podSelector": {"matchLabels": {"app": "friend"}}}]}


@pytest.mark.usefixtures("_node")
class TestPackets:
    def test_without_a_policy_everybody_gets_through(self) -> None:
        enforcing()
        assert can_reach(FRIEND.netns)
        assert can_reach(STRANGER.netns)

    def test_an_empty_policy_drops_everybody(self) -> None:
        enforcing(guard())
        assert not can_reach(FRIEND.netns)
        assert not can_reach(STRANGER.netns)

    def test_a_pod_selector_lets_only_those_pods_through(self) -> None:
        enforcing(guard(FROM_FRIEND))
        assert can_reach(FRIEND.netns)
        assert not can_reach(STRANGER.netns)

    def test_only_the_named_port_is_open(self) -> None:
        enforcing(guard({**FROM_FRIEND, "ports": [{"port": 6000, "endPort": 6500}]}))
        assert can_reach(FRIEND.netns, 6379)
        assert not can_reach(FRIEND.netns, 7000)

    def test_an_exception_of_an_ip_block_is_dropped(self) -> None:
        enforcing(guard({"from": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": [f"{STRANGER.ip}/32"]}}]}))
        assert can_reach(FRIEND.netns)
        assert not can_reach(STRANGER.netns)

    def test_the_node_itself_gets_through_as_kubelet_probes_must(self) -> None:
        enforcing(guard())
        assert can_reach(NODE)

    def test_the_isolated_pod_may_still_call_others(self) -> None:
        enforcing(guard())
        with serving(FRIEND):
            assert succeeds(in_netns(SERVER.netns, [sys.executable, "-c", KNOCK, FRIEND.ip, "6379"]))

    def test_an_open_connection_survives_a_policy_and_its_changes(self) -> None:
        enforcing()
        with running(STRANGER.netns, HOLD, SERVER.ip, 6379) as holder:
            assert holder.stdin is not None
            assert holder.stdout is not None
            assert holder.stdout.readline() == "open\n"
            enforcing(guard())
            print("?", file=holder.stdin, flush=True)
            assert holder.stdout.readline() == "alive\n"


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Path]:
    """A folder for the network namespaces of nodes, which are removed afterwards."""
    yield tmp_path
    for netns in tmp_path.iterdir():
        attempt(["umount", netns])


def has_table(netns: Path) -> bool:
    return succeeds(in_netns(netns, ["nft", "list", "table", "inet", "testbed-policy"]))


def test_a_namespace_made_anew_gets_its_rules_again(nodes: Path) -> None:
    daemon = Enforcer(lambda _: [], nodes)
    for _ in range(2):
        ensure_namespace(nodes / "node0")
        daemon.step()
        assert has_table(nodes / "node0")
        output(["umount", nodes / "node0"])


def test_a_node_that_joins_later_gets_rules_too(nodes: Path) -> None:
    daemon = Enforcer(lambda _: [], nodes)
    for name in ("node0", "node1"):
        ensure_namespace(nodes / name)
        daemon.step()
        assert has_table(nodes / name)


def test_a_namespace_that_is_not_one_yet_is_tried_again(nodes: Path) -> None:
    daemon = Enforcer(lambda _: [], nodes)
    (nodes / "node0").touch()
    delay_s = daemon.step()
    assert 0 < delay_s < 1
    ensure_namespace(nodes / "node0")
    time.sleep(delay_s)
    daemon.step()
    assert has_table(nodes / "node0")
