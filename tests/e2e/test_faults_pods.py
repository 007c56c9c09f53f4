"""Each fault of pods and processes does what it says, and its undo undoes it."""

import pytest

from testbed import faults
from testbed.faults import ClockJump, DiskFull, Pause, PodFreeze, broken
from testbed.layout import Layout
from tests.e2e.cluster import Cluster, Manifest
from tests.e2e.manifests import claim, container, pod, server
from tests.e2e.testbed_command import run_testbed, try_testbed

pytestmark = pytest.mark.node_faults

AGENT_PORT = "6380"


def pair(name: str) -> Manifest:
    """A server with a second one beside it, as a native sidecar in the agent's place."""
    command = ["valkey-server", "--port", AGENT_PORT, "--protected-mode", "no", "--save", ""]
    agent = container("agent", command=command, restartPolicy="Always")
    return pod(name, initContainers=[agent], containers=[server()], shareProcessNamespace=True)


class Prober:
    """A pod on another node that asks the servers under test whether they answer."""

    def __init__(self, cluster: Cluster, namespace: str, target: Manifest) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._name = target["metadata"]["name"]
        cluster.apply(target, pod("prober"), namespace=namespace)
        self._address = cluster.wait_for_pods(namespace, self._name, "prober")[0]["status"]["podIP"]

    def ask(self, *command: str, port: str = "6379") -> str:
        argv = ("timeout", "2", "valkey-cli", "-h", self._address, "-p", port, *command)
        return self._cluster.run_in(self._namespace, "prober", *argv).stdout.strip()

    def answering(self) -> set[str]:
        ports = {"valkey": "6379", "agent": AGENT_PORT}
        return {name for name, port in ports.items() if self.ask("ping", port=port) == "PONG"}

    def restarts(self) -> dict[str, int]:
        status = self._cluster.get("pod", self._name, self._namespace)["status"]
        listed = [*status.get("initContainerStatuses", []), *status["containerStatuses"]]
        return {each["name"]: each["restartCount"] for each in listed}

    def wait_for_restarts(self, expected: dict[str, int]) -> None:
        self._cluster.wait_for(
            f"restarts {expected}", lambda: True if self.restarts() == expected else None, self._namespace
        )


def test_pod_kill_ends_the_main_process_and_the_kubelet_restarts_it(
    cluster: Cluster, layout: Layout, namespace: str
) -> None:
    prober = Prober(cluster, namespace, pair("target"))
    prober.ask("set", "remembered", "yes")

    run_testbed(layout, "fault", "pod-kill", f"{namespace}/target")
    prober.wait_for_restarts({"valkey": 1, "agent": 0})
    assert last_exit_code(cluster, namespace) == 128 + 9
    cluster.wait_for("an answer", lambda: prober.answering() == {"valkey", "agent"} or None, namespace)
    assert prober.ask("get", "remembered") == ""


def test_pod_kill_sends_the_signal_that_it_was_asked_to_send(cluster: Cluster, layout: Layout, namespace: str) -> None:
    prober = Prober(cluster, namespace, pair("target"))

    run_testbed(layout, "fault", "pod-kill", f"{namespace}/target", "--signal", "TERM")
    prober.wait_for_restarts({"valkey": 1, "agent": 0})
    assert last_exit_code(cluster, namespace) == 0


def last_exit_code(cluster: Cluster, namespace: str) -> int:
    status = cluster.get("pod", "target", namespace)["status"]["containerStatuses"][0]
    return int(status["lastState"]["terminated"]["exitCode"])


def test_agent_kill_ends_the_agent_alone(cluster: Cluster, layout: Layout, namespace: str) -> None:
    prober = Prober(cluster, namespace, pair("target"))

    run_testbed(layout, "fault", "agent-kill", f"{namespace}/target")
    prober.wait_for_restarts({"valkey": 0, "agent": 1})


def test_pause_stops_one_process_and_it_goes_on_with_what_it_had(
    cluster: Cluster, layout: Layout, namespace: str
) -> None:
    prober = Prober(cluster, namespace, pair("target"))
    prober.ask("set", "remembered", "yes")

    with broken(layout, Pause.of(layout, f"{namespace}/target")):
        assert prober.answering() == {"agent"}
    assert prober.answering() == {"valkey", "agent"}
    assert prober.ask("get", "remembered") == "yes"


def test_a_pause_with_a_length_ends_by_itself(cluster: Cluster, layout: Layout, namespace: str) -> None:
    prober = Prober(cluster, namespace, pair("target"))

    run_testbed(layout, "fault", "pause", f"{namespace}/target", "--seconds", "4")
    assert prober.answering() == {"agent"}
    cluster.wait_for("the pause to end", lambda: prober.answering() == {"valkey", "agent"} or None, namespace)
    cluster.wait_for("no fault to be on file", lambda: True if not faults.active(layout) else None)


def test_agent_pause_stops_the_agent_alone(cluster: Cluster, layout: Layout, namespace: str) -> None:
    prober = Prober(cluster, namespace, pair("target"))

    run_testbed(layout, "fault", "agent-pause", f"{namespace}/target")
    assert prober.answering() == {"valkey"}
    run_testbed(layout, "heal")
    assert prober.answering() == {"valkey", "agent"}


def test_pod_freeze_stops_every_process_of_the_pod(cluster: Cluster, layout: Layout, namespace: str) -> None:
    prober = Prober(cluster, namespace, pair("target"))

    with broken(layout, PodFreeze.of(layout, f"{namespace}/target")):
        assert prober.answering() == set()
    assert prober.answering() == {"valkey", "agent"}
    assert prober.restarts() == {"valkey": 0, "agent": 0}


def test_clock_jump_moves_the_wall_clock_of_one_process(cluster: Cluster, layout: Layout, namespace: str) -> None:
    prober = Prober(cluster, namespace, pair("target"))

    def ahead() -> int:
        """How far the server's clock is ahead of its neighbour's, in whole minutes."""
        server_time, agent_time = (int(prober.ask("time", port=p).split()[0]) for p in ("6379", AGENT_PORT))
        return round((server_time - agent_time) / 60)

    for seconds in (3600, -7200):
        with broken(layout, ClockJump.of(layout, f"{namespace}/target", seconds)):
            assert ahead() == seconds // 60
        assert ahead() == 0


def test_disk_full_leaves_no_space_on_the_volume(cluster: Cluster, layout: Layout, namespace: str) -> None:
    cluster.apply(claim("data", "64Mi"), pod("writer", claim="data"), namespace=namespace)
    cluster.wait_for_pods(namespace, "writer")
    write = ("dd", "if=/dev/zero", "of=/data/some", "bs=4096", "count=1")

    with broken(layout, DiskFull.of(layout, f"{namespace}/data")):
        assert "No space left on device" in cluster.run_in(namespace, "writer", *write).stderr
    cluster.say_in(namespace, "writer", *write)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        (("pod-kill", "nobody"), "no pod 'nobody'"),
        (("node-cut", "node99"), "no node 'node99': this testbed has node0"),
        (("partition", "node0", "nowhere"), "'nowhere' is no side of a partition"),
        (("disk-full", "nothing"), "no bound claim 'nothing'"),
    ],
)
def test_a_fault_with_a_wrong_target_says_so_and_breaks_nothing(
    layout: Layout, command: tuple[str, ...], complaint: str
) -> None:
    refused = try_testbed(layout.name, "fault", *command)

    assert refused.returncode == 1
    assert complaint in refused.stderr
    assert faults.active(layout) == []
