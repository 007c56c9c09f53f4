"""A testbed of its own beside the one under test: up, again up, killed, up, down, and nothing is left."""

import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import cgroups, processes, record
from testbed.layout import REPOSITORY, STATE_ROOT, Layout
from tests.e2e.cluster import Cluster
from tests.e2e.manifests import claim, pod
from tests.e2e.testbed_command import run_testbed, try_testbed

pytestmark = [pytest.mark.node_faults, pytest.mark.usefixtures("layout")]

NAME = "second"


QUESTIONS = {
    "mounts": ("findmnt", "--list", "--noheadings", "--output=TARGET"),
    "namespaces": ("ip", "netns", "list"),
    "links": ("ip", "-oneline", "link"),
    "routes": ("ip", "route"),
    "loop devices": ("losetup", "--list", "--noheadings"),
    "cgroups": ("find", "/sys/fs/cgroup", "-maxdepth", "3", "-type", "d", "-name", f"testbed-{NAME}*"),
    "packet filter": ("nft", "list", "ruleset"),
    "settings": ("sysctl", "net.ipv4.ip_forward"),
}


def machine_now() -> dict[str, list[str]]:
    """What a testbed could leave behind on this machine, apart from what belongs to other testbeds."""
    others = [Layout(name, known.slot) for name in record.names() if name != NAME and (known := record.load(name))]
    words = [word for other in others for word in (f"{other.state}/", rf"\b{other.bridge}(n\d+)?\b")]
    foreign = re.compile("|".join(words) or "(?!)")
    answers = {
        what: subprocess.run(argv, check=True, text=True, capture_output=True).stdout.splitlines()
        for what, argv in QUESTIONS.items()
    }
    # The kernel numbers links in the order of their making.
    own = {what: [re.sub(r"^\d+: ", "", line) for line in lines] for what, lines in answers.items()}
    return {what: sorted(line for line in lines if not foreign.search(line)) for what, lines in own.items()}


@pytest.fixture
def second(cluster: Cluster) -> Iterator[Cluster]:
    """Another testbed, of one node."""
    try_testbed(NAME, "down")
    done = try_testbed(NAME, "up", "--nodes", "1")
    assert done.returncode == 0, done.stderr
    try:
        layout, _ = record.require(NAME)
        yield Cluster(layout.kubeconfig(), layout)
    finally:
        try_testbed(NAME, "down")


def layout_of(cluster: Cluster) -> Layout:
    assert cluster.testbed is not None
    return cluster.testbed


def test_two_testbeds_run_side_by_side(cluster: Cluster, second: Cluster) -> None:
    assert layout_of(second).slot != layout_of(cluster).slot
    with second.namespace("side") as namespace:
        second.apply(pod("a"), namespace=namespace)
        second.wait_for_pods(namespace, "a")
    assert cluster.kubectl("get", "--raw", "/readyz") == "ok"
    assert len(second.get("nodes")["items"]) == 1


def test_up_again_changes_nothing_and_up_with_more_nodes_adds_them(second: Cluster) -> None:
    before = {p.role: p.pid for p in processes.processes_of(layout_of(second)) if p.leads}

    run_testbed(layout_of(second), "up", "--nodes", "1")
    assert {p.role: p.pid for p in processes.processes_of(layout_of(second)) if p.leads} == before

    run_testbed(layout_of(second), "up", "--nodes", "2")
    assert {node["metadata"]["name"] for node in second.get("nodes")["items"]} == {"node0", "node1"}
    assert second.node_is_ready("node1")


def test_up_resumes_after_every_process_was_killed_from_outside(second: Cluster) -> None:
    with second.namespace("kept") as namespace:
        second.apply(claim("data", "256Mi"), pod("a", claim="data"), namespace=namespace)
        second.wait_for_pods(namespace, "a")
        second.say_in(namespace, "a", "valkey-cli", "set", "remembered", "yes")
        second.say_in(namespace, "a", "valkey-cli", "save")
        kill_everything(layout_of(second))

        run_testbed(layout_of(second), "up", "--nodes", "1")

        def remembers() -> bool | None:
            said = second.run_in(namespace, "a", "valkey-cli", "get", "remembered").stdout.strip()
            return True if said == "yes" else None

        second.wait_for("the pod to be back with its data", remembers, namespace, deadline_s=120)


def kill_everything(layout: Layout) -> None:
    """As a machine's reboot would, except that mounts, namespaces and cgroups stay."""
    for remaining in (lambda: [p.pid for p in processes.processes_of(layout)], lambda: cgroups.pids(layout.cgroup)):
        processes.end(remaining, signal.SIGKILL)


def test_down_leaves_nothing_behind() -> None:
    try_testbed(NAME, "down")
    before = machine_now()
    assert try_testbed(NAME, "up", "--nodes", "2").returncode == 0
    layout, _ = record.require(NAME)
    there = Cluster(layout.kubeconfig(), layout)
    there.apply(claim("data", "256Mi"), pod("a", claim="data"), namespace="default")
    there.wait_for_pods("default", "a")
    run_testbed(layout, "fault", "pod-freeze", "a")
    run_testbed(layout, "fault", "node-stop", "node1")

    run_testbed(layout, "down")

    assert machine_now() == before
    assert processes.processes_of(layout) == []
    assert not layout.state.exists()


def test_down_cleans_up_after_everything_was_killed(second: Cluster) -> None:
    layout = layout_of(second)
    kill_everything(layout)

    run_testbed(layout, "down")

    assert not layout.state.exists()
    assert not Path(f"/sys/class/net/{layout.bridge}").exists()


def test_down_of_a_testbed_that_is_not_there_does_nothing_and_says_so() -> None:
    done = try_testbed("nowhere", "down")

    assert done.returncode == 0
    assert "nothing to do" in done.stderr


@pytest.mark.parametrize("command", ["up", "down", "images"])
def test_without_root_it_says_so_in_one_sentence_and_changes_nothing(command: str) -> None:
    argv = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-B"]
    script = [str(REPOSITORY / "bin" / "testbed"), "--name", "nowhere", command]
    done = subprocess.run([*argv, *script], check=False, text=True, capture_output=True)

    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "testbed: a testbed needs root (network namespaces, mounts, cgroups): run it with sudo"
    ]
    assert not (STATE_ROOT / "nowhere").exists()
