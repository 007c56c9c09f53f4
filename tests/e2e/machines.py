"""Machines that are cordoned and drained in a test, and are as before when it ends."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from testbed.layout import REPOSITORY
from tests.e2e.cluster import Cluster
from tests.e2e.valkeys import Shop

DRAINED_WITHIN_S = 240
TOO_MANY_REQUESTS = "disruption budget"


@contextmanager
def all_uncordoned(cluster: Cluster) -> Iterator[list[str]]:
    """The names of all machines; none is left cordoned."""
    names = [each["metadata"]["name"] for each in cluster.get("nodes")["items"]]
    try:
        yield names
    finally:
        cluster.kubectl("uncordon", *names)


def machine_of(shop: Shop, node: str) -> str:
    name: str = shop.pod_of(node)["spec"]["nodeName"]
    return name


@dataclass(frozen=True)
class Drain:
    """A `kubectl drain` that runs; pods of other things than this Valkey stay."""

    machine: str
    process: subprocess.Popen[str]

    def has_ended(self) -> bool:
        return self.process.poll() is not None

    def wait(self) -> None:
        said, _ = self.process.communicate(timeout=DRAINED_WITHIN_S + 30)
        assert self.process.returncode == 0, f"the drain of {self.machine} failed: {said}"


def drain(shop: Shop, machine: str, name: str = "cart") -> Drain:
    arguments = [
        *("drain", machine, f"--pod-selector=valkey.io/cluster={name}", "--ignore-daemonsets"),
        *("--delete-emptydir-data", f"--timeout={DRAINED_WITHIN_S}s", f"--kubeconfig={shop.cluster.kubeconfig}"),
    ]
    process = subprocess.Popen(
        [str(REPOSITORY / "bin" / "kubectl"), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return Drain(machine, process)


def may_be_evicted(shop: Shop, node: str) -> bool:
    """Whether Kubernetes would let the pod of a node go; it stays."""
    name = shop.pod_of(node)["metadata"]["name"]
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": shop.namespace},
        "deleteOptions": {"dryRun": ["All"]},
    }
    place = f"/api/v1/namespaces/{shop.namespace}/pods/{name}/eviction"
    said = shop.cluster.try_kubectl("create", "--raw", place, "--filename=-", stdin=json.dumps(body))
    assert said.returncode == 0 or TOO_MANY_REQUESTS in said.stderr, said.stderr
    return said.returncode == 0
