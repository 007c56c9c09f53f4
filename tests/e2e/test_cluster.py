"""The cluster is a real one: scheduling, the network, names and storage do what Kubernetes promises."""

import time

import pytest

from testbed.faults import NodeCut, broken
from testbed.layout import ZONES, Layout
from tests.e2e.cluster import Cluster, Manifest
from tests.e2e.manifests import claim, container, pod, service, spread_over_zones

NAMES = ("a", "b", "c")


def zone_of(cluster: Cluster, node: str) -> str:
    return str(cluster.get("node", node)["metadata"]["labels"]["topology.kubernetes.io/zone"])


@pytest.mark.node_faults
@pytest.mark.usefixtures("layout")
def test_three_pods_land_in_three_zones(cluster: Cluster, namespace: str) -> None:
    pods = [pod(name, **spread_over_zones("spread")) for name in NAMES]
    for each in pods:
        each["metadata"]["labels"]["app"] = "spread"
    cluster.apply(*pods, namespace=namespace)

    ready = cluster.wait_for_pods(namespace, *NAMES)

    assert {zone_of(cluster, each["spec"]["nodeName"]) for each in ready} == set(ZONES)


@pytest.mark.node_faults
@pytest.mark.usefixtures("layout")
def test_pods_reach_each_other_across_nodes_and_on_the_same_one(cluster: Cluster, namespace: str) -> None:
    cluster.apply(pod("a", node="node0"), pod("b", node="node1"), pod("c", node="node1"), namespace=namespace)
    addresses = {p["metadata"]["name"]: p["status"]["podIP"] for p in cluster.wait_for_pods(namespace, *NAMES)}

    for caller, callee in (("a", "b"), ("b", "a"), ("b", "c")):
        assert cluster.say_in(namespace, caller, "valkey-cli", "-h", addresses[callee], "ping") == "PONG"


def test_a_service_name_resolves_and_leads_to_its_pod(cluster: Cluster, namespace: str) -> None:
    cluster.apply(pod("a"), pod("b"), service("cache", {"app": "b"}), namespace=namespace)
    cluster.wait_for_pods(namespace, "a", "b")
    cluster.say_in(namespace, "b", "valkey-cli", "set", "owner", "b")

    for name in ("cache", f"cache.{namespace}.svc.cluster.local"):
        cluster.wait_for_answer(namespace, "a", "valkey-cli", "-h", name, "get", "owner", expected="b")


def test_a_pod_reaches_itself_through_its_own_service(cluster: Cluster, namespace: str) -> None:
    cluster.apply(pod("a"), service("cache", {"app": "a"}), namespace=namespace)
    cluster.wait_for_pods(namespace, "a")

    cluster.wait_for_answer(namespace, "a", "valkey-cli", "-h", "cache", "ping", expected="PONG")


@pytest.mark.node_faults
def test_a_service_address_that_nobody_serves_refuses_at_once(cluster: Cluster, layout: Layout, namespace: str) -> None:
    cluster.apply(pod("a"), namespace=namespace)
    cluster.wait_for_pods(namespace, "a")
    unassigned = layout.api_service_ip.rpartition(".")[0] + ".254"

    refused = cluster.run_in(namespace, "a", "timeout", "30", "valkey-cli", "-h", unassigned, "ping")

    assert "Connection refused" in refused.stderr


def test_a_volume_fills_up_expands_and_follows_its_pod(cluster: Cluster, namespace: str) -> None:
    cluster.apply(claim("data", "256Mi"), pod("first", claim="data"), namespace=namespace)
    cluster.wait_for_pods(namespace, "first")

    full = cluster.run_in(namespace, "first", "dd", "if=/dev/zero", "of=/data/big", "bs=1M", "count=400")
    assert full.returncode != 0
    assert "No space left on device" in full.stderr

    grow = '{"spec": {"resources": {"requests": {"storage": "512Mi"}}}}'
    cluster.kubectl("patch", "pvc", "data", f"--namespace={namespace}", f"--patch={grow}")
    cluster.wait_for("the claim to have 512Mi", lambda: capacity_is(cluster, namespace, "512Mi"), namespace)
    cluster.say_in(namespace, "first", "dd", "if=/dev/zero", "of=/data/big", "bs=1M", "count=400")

    cluster.kubectl("delete", "pod", "first", f"--namespace={namespace}")
    cluster.apply(pod("second", claim="data", **away_from_the_first(cluster)), namespace=namespace)
    cluster.wait_for_pods(namespace, "second")
    assert cluster.say_in(namespace, "second", "stat", "--format=%s", "/data/big") == str(400 * 1024 * 1024)


def capacity_is(cluster: Cluster, namespace: str, size: str) -> bool | None:
    status = cluster.get("pvc", "data", namespace=namespace)["status"]
    return True if status["capacity"]["storage"] == size else None


def away_from_the_first(cluster: Cluster) -> dict[str, str]:
    """On another cluster, volumes may be bound to a node, so the pod is left where the scheduler wants it."""
    return {"nodeName": "node2"} if cluster.testbed else {}


def test_a_claim_is_bound_only_when_a_pod_wants_it(cluster: Cluster, namespace: str) -> None:
    cluster.apply(claim("early", "16Mi"), namespace=namespace)
    time.sleep(2)
    assert cluster.get("pvc", "early", namespace=namespace)["status"]["phase"] == "Pending"

    cluster.apply(pod("wants", claim="early"), namespace=namespace)
    cluster.wait_for_pods(namespace, "wants")
    assert cluster.get("pvc", "early", namespace=namespace)["status"]["phase"] == "Bound"


def test_a_native_sidecar_is_up_before_the_container_beside_it(cluster: Cluster, namespace: str) -> None:
    sidecar = container("agent", command=["sh", "-c", "touch /shared/up; exec sleep 1000"], restartPolicy="Always")
    sidecar["startupProbe"] = {"exec": {"command": ["test", "-e", "/shared/up"]}, "periodSeconds": 1}
    main = container(command=["sh", "-c", "test -e /shared/up && exec sleep 1000"])
    shared: Manifest = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}
    folder: Manifest = {"volumes": [{"name": "shared", "emptyDir": {}}]}
    spec: Manifest = {"initContainers": [sidecar | shared], "containers": [main | shared], "restartPolicy": "Never"}
    cluster.apply(pod("pair", **folder, **spec), namespace=namespace)

    cluster.wait_for_pods(namespace, "pair")


@pytest.mark.node_faults
def test_a_node_that_is_cut_off_becomes_not_ready_and_heals(cluster: Cluster, layout: Layout) -> None:
    with broken(layout, NodeCut("node2")):
        cluster.wait_for("node2 to be NotReady", lambda: None if cluster.node_is_ready("node2") else True)
    cluster.wait_for("node2 to be Ready again", lambda: cluster.node_is_ready("node2") or None)
