"""The operator runs in the cluster it was deployed to, with no more rights than a restricted namespace gives."""

import json

from tests.e2e.cluster import Cluster, Manifest

NAMESPACE = "valkey-operator-system"
SELECTOR = "app.kubernetes.io/name=valkey-operator"


def operator_pod(cluster: Cluster) -> Manifest:
    def running() -> Manifest | None:
        pods = cluster.get("pods", namespace=NAMESPACE, selector=SELECTOR)["items"]
        alive = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        return alive[0] if len(alive) == 1 else None

    return cluster.wait_for("one operator pod", running, NAMESPACE)


def log_lines(cluster: Cluster, pod: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in cluster.kubectl("logs", pod, f"--namespace={NAMESPACE}").splitlines()]


def test_the_operator_becomes_ready_in_a_restricted_namespace(cluster: Cluster) -> None:
    name = operator_pod(cluster)["metadata"]["name"]

    cluster.wait_for_pods(NAMESPACE, name)

    labels = cluster.get("namespace", NAMESPACE)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_the_operator_says_which_kubernetes_it_found(cluster: Cluster) -> None:
    server = json.loads(cluster.kubectl("get", "--raw", "/version"))["gitVersion"]
    name = operator_pod(cluster)["metadata"]["name"]
    cluster.wait_for_pods(NAMESPACE, name)

    assert any(server in str(line) for line in log_lines(cluster, name))


def test_a_deleted_operator_pod_is_replaced_by_one_that_is_ready(cluster: Cluster) -> None:
    former = operator_pod(cluster)["metadata"]["name"]
    cluster.kubectl("delete", "pod", former, f"--namespace={NAMESPACE}")

    replacement = operator_pod(cluster)["metadata"]["name"]
    assert replacement != former
    cluster.wait_for_pods(NAMESPACE, replacement)


def test_the_operator_leads_with_no_other_right_than_to_its_lease_and_to_events(cluster: Cluster) -> None:
    name = operator_pod(cluster)["metadata"]["name"]
    cluster.wait_for_pods(NAMESPACE, name)

    def leads() -> bool | None:
        return True if any(line["event"] == "this process leads" for line in log_lines(cluster, name)) else None

    cluster.wait_for("the operator to lead", leads, NAMESPACE)
    account = f"--as=system:serviceaccount:{NAMESPACE}:valkey-operator"
    for verb, what, allowed in (("get", "secrets", False), ("list", "events", False), ("patch", "events", True)):
        asked = cluster.try_kubectl("auth", "can-i", verb, what, "--namespace=default", account)
        assert asked.stdout.strip() == ("yes" if allowed else "no"), f"{verb} {what}"
