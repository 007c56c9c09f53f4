"""NetworkPolicy is enforced: what a policy does not allow is dropped."""

from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.manifests import pod, service

pytestmark = [pytest.mark.node_faults, pytest.mark.usefixtures("layout")]

PLACES = {"server": "node0", "friend": "node1", "near": "node0", "stranger": "node1"}


def allow(*apps: str) -> dict[str, Any]:
    sources = [{"podSelector": {"matchLabels": {"app": app}}} for app in apps]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "server"},
        "spec": {
            "podSelector": {"matchLabels": {"app": "server"}},
            "policyTypes": ["Ingress"],
            "ingress": [{"from": sources, "ports": [{"port": 6379}]}] if apps else [],
        },
    }


def reaches(cluster: Cluster, namespace: str, caller: str) -> bool:
    """Through the Service, so that the pod's address is translated on the way."""
    done = cluster.run_in(namespace, caller, "timeout", "2", "valkey-cli", "-h", "server", "ping")
    return done.stdout.strip() == "PONG"


def callers(cluster: Cluster, namespace: str) -> set[str]:
    return {name for name in PLACES if name != "server" and reaches(cluster, namespace, name)}


def test_only_the_pods_that_a_policy_names_get_through(cluster: Cluster, namespace: str) -> None:
    pods = [pod(name, node=node) for name, node in PLACES.items()]
    cluster.apply(*pods, service("server", {"app": "server"}), namespace=namespace)
    cluster.wait_for_pods(namespace, *PLACES)
    everybody = set(PLACES) - {"server"}
    cluster.wait_for("everybody to get through", lambda: callers(cluster, namespace) == everybody or None, namespace)

    cluster.apply(allow("friend", "near"), namespace=namespace)
    cluster.wait_for(
        "the stranger to be shut out", lambda: None if reaches(cluster, namespace, "stranger") else True, namespace
    )
    assert callers(cluster, namespace) == {"friend", "near"}

    cluster.apply(allow(), namespace=namespace)
    cluster.wait_for("everybody to be shut out", lambda: None if callers(cluster, namespace) else True, namespace)

    cluster.kubectl("delete", "networkpolicy", "server", f"--namespace={namespace}")
    cluster.wait_for("the stranger to be back", lambda: reaches(cluster, namespace, "stranger") or None, namespace)


def test_the_kubelet_reaches_a_pod_that_nobody_else_may_reach(cluster: Cluster, namespace: str) -> None:
    cluster.apply(allow(), namespace=namespace)
    probed = pod("server", node="node0")
    probed["spec"]["containers"][0]["readinessProbe"] = {"tcpSocket": {"port": 6379}, "periodSeconds": 1}
    cluster.apply(probed, namespace=namespace)

    cluster.wait_for_pods(namespace, "server")
