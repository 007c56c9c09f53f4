"""What objects of ours cost when nothing happens: requests to the API server, memory and CPU of operator and agents.

Owns: how long it is waited until all rests, and what is counted then. Refuses to know: which objects there are.
"""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from bench.processes import cgroup_without_cache, cpu_seconds, memory, processes
from bench.results_file import summary
from tests.e2e.cluster import Cluster, Manifest

OPERATOR = "valkey-operator-system"
SELECTOR = "app.kubernetes.io/name=valkey-operator"
REQUESTS = "valkey_operator_api_requests_total"
TERM = "valkey_operator_leader_term"
READY_S = 300
# The last events are sent, the last status is written.
SETTLED_S = 60
# Whoever leads renews the lease, the others read it; a watch is opened anew every few minutes.
_RENEWALS = (re.compile(r'method="(GET|PUT)",resource="leases"'), re.compile(r'method="WATCH"'))


def operator_pods(cluster: Cluster) -> list[str]:
    pods = cluster.get("pods", namespace=OPERATOR, selector=SELECTOR)["items"]
    return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def samples(cluster: Cluster, pod: str) -> dict[str, float]:
    page = cluster.kubectl("get", "--raw", f"/api/v1/namespaces/{OPERATOR}/pods/{pod}:8081/proxy/metrics")
    parts = (line.rpartition(" ") for line in page.splitlines() if line.startswith((REQUESTS, TERM)))
    return {name: float(value) for name, _, value in parts}


def sent_between(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """Requests by method, resource and code; those that were not sent are left out."""
    counts = {key: value - before.get(key, 0) for key, value in after.items() if key.startswith(REQUESTS)}
    return {key.removeprefix(REQUESTS): count for key, count in counts.items() if count}


def beyond_renewals(sent: Mapping[str, float]) -> dict[str, float]:
    """Requests that are neither for the lease nor to open a watch."""
    return {key: count for key, count in sent.items() if not any(each.search(key) for each in _RENEWALS)}


def rest(cluster: Cluster, kind: str, manifests: Sequence[Manifest], seconds: float) -> dict[str, Any]:
    """The figures of so long a rest with these objects of one kind."""
    assert cluster.testbed is not None, "memory is read from this machine's processes; unset KUBECONFIG"
    testbed = cluster.testbed.name
    with cluster.namespace("bench") as namespace:
        cluster.apply(*manifests, namespace=namespace)
        wait_until_ready(cluster, kind, namespace)
        time.sleep(SETTLED_S)
        operators, agents = processes(testbed, "operator"), processes(testbed, "agent")
        used = {pid: cpu_seconds(pid) for pid in (*operators, *agents)}
        requests = requests_of(cluster, seconds)
        cpu = {pid: (cpu_seconds(pid) - before) / seconds * 100 for pid, before in used.items()}
        memories = [memory(pid) for pid in agents]
        return {
            "seconds": seconds,
            "requests": requests,
            "beyond_renewals": {who: beyond_renewals(sent) for who, sent in requests.items()},
            "operators_cgroup_mib": sorted(round(cgroup_without_cache(pid), 1) for pid in operators),
            "operators_cpu_percent": sorted(round(cpu[pid], 2) for pid in operators),
            "agents_rss_mib": summary([each["VmRSS"] for each in memories]),
            "agents_anonymous_mib": summary([each["RssAnon"] for each in memories]),
            "agents_cpu_percent": summary([cpu[pid] for pid in agents]),
        }


def wait_until_ready(cluster: Cluster, kind: str, namespace: str) -> None:
    wait = ("wait", kind, "--all", "--for=jsonpath={.status.state}=Ready", f"--namespace={namespace}")
    done = cluster.try_kubectl(*wait, f"--timeout={READY_S}s", timeout_s=READY_S + 10)
    if done.returncode:
        found = cluster.section("get", kind, f"--namespace={namespace}", "--output=yaml")
        raise TimeoutError(f"{done.stderr}\n{found}\n{cluster.explain(namespace)}")


def requests_of(cluster: Cluster, seconds: float) -> dict[str, dict[str, float]]:
    """What the leader sends in that time, and what a standby does."""
    pods = operator_pods(cluster)
    before = {pod: samples(cluster, pod) for pod in pods}
    time.sleep(seconds)
    after = {pod: samples(cluster, pod) for pod in pods}
    return {"leader" if after[pod][TERM] else "standby": sent_between(before[pod], after[pod]) for pod in pods}
