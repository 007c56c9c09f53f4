"""The operator runs in the cluster it was deployed to, with no more rights than the chart gives."""

import json

from tests.e2e.cluster import Cluster, Manifest, is_ready

NAMESPACE = "valkey-operator-system"
SELECTOR = "app.kubernetes.io/name=valkey-operator"
LEASE = "valkey-operator"


def operator_pods(cluster: Cluster) -> list[str]:
    """The names of the operator's pods, once there are two and both are Ready."""

    def running() -> list[str] | None:
        pods: list[Manifest] = cluster.get("pods", namespace=NAMESPACE, selector=SELECTOR)["items"]
        alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"] and is_ready(pod)]
        return [pod["metadata"]["name"] for pod in alive] if len(alive) == 2 else None

    return cluster.wait_for("two operator pods to be Ready", running, NAMESPACE, deadline_s=90)


def leader(cluster: Cluster) -> str:
    """The name of the pod that holds the lease."""

    def holder() -> str | None:
        held = cluster.get("lease", LEASE, NAMESPACE)["spec"].get("holderIdentity") or ""
        return next((pod for pod in operator_pods(cluster) if held.startswith(pod)), None)

    return cluster.wait_for("a pod to hold the lease", holder, NAMESPACE)


def log_lines(cluster: Cluster, pod: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in cluster.kubectl("logs", pod, f"--namespace={NAMESPACE}").splitlines()]


def test_the_operator_becomes_ready_in_a_restricted_namespace(cluster: Cluster) -> None:
    operator_pods(cluster)

    labels = cluster.get("namespace", NAMESPACE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_operator_says_which_kubernetes_it_found(cluster: Cluster) -> None:
    server = json.loads(cluster.kubectl("get", "--raw", "/version"))["gitVersion"]
    for name in operator_pods(cluster):
        assert any(server in str(line) for line in log_lines(cluster, name))


def test_a_deleted_leader_is_replaced_and_the_other_pod_leads(cluster: Cluster) -> None:
    former = leader(cluster)
    cluster.kubectl("delete", "pod", former, f"--namespace={NAMESPACE}")

    assert leader(cluster) != former
    assert former not in operator_pods(cluster)


def test_the_leader_says_so_in_its_log(cluster: Cluster) -> None:
    name = leader(cluster)

    def said() -> bool | None:
        return True if any(line["event"] == "this process leads" for line in log_lines(cluster, name)) else None

    cluster.wait_for(f"{name} to say that it leads", said, NAMESPACE)


def test_the_operator_has_the_rights_it_needs_and_cannot_enter_pods(cluster: Cluster) -> None:
    account = f"--as=system:serviceaccount:{NAMESPACE}:valkey-operator"
    rights = (
        ("watch", "valkeys.valkey.io", True),
        ("patch", "events", True),
        ("list", "events", False),
        ("create", "pods", False),
        ("create", "pods/exec", False),
        ("delete", "valkeys.valkey.io", False),
    )
    for verb, what, allowed in rights:
        asked = cluster.try_kubectl("auth", "can-i", verb, what, "--namespace=default", account)
        assert asked.stdout.strip() == ("yes" if allowed else "no"), f"{verb} {what}"
