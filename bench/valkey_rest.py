"""What twenty Valkeys cost when nothing happens: requests to the API server, memory of operator and agents.

And how soon the operator acts: from the moment a watcher sees a new Valkey to the moment it sees the first
object that was made for it, over Valkeys without nodes, one after the other and many at once.
"""

import argparse
import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

from bench.results_file import append, summary
from testbed.layout import REPOSITORY
from tests.e2e.cluster import Cluster, cluster_under_test
from tests.e2e.valkeys import valkey

OPERATOR = "valkey-operator-system"
SELECTOR = "app.kubernetes.io/name=valkey-operator"
VALKEYS = 20
METRIC = "valkey_operator_api_requests_total"
MIB = 2**20


def operator_pods(cluster: Cluster) -> list[str]:
    pods = cluster.get("pods", namespace=OPERATOR, selector=SELECTOR)["items"]
    return [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def page(cluster: Cluster, pod: str) -> str:
    return cluster.kubectl("get", "--raw", f"/api/v1/namespaces/{OPERATOR}/pods/{pod}:8081/proxy/metrics")


def requests(cluster: Cluster, pod: str) -> dict[str, float]:
    lines = (line for line in page(cluster, pod).splitlines() if line.startswith(METRIC))
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def leads(cluster: Cluster, pod: str) -> bool:
    line = next(line for line in page(cluster, pod).splitlines() if line.startswith("valkey_operator_term "))
    return float(line.rpartition(" ")[2]) > 0


def processes(words: tuple[str, ...]) -> list[int]:
    found = []
    for path in Path("/proc").iterdir():
        try:
            command = (path / "cmdline").read_bytes().split(b"\0") if path.name.isdecimal() else []
        except OSError:
            continue
        if command and command[0].endswith(b"python3") and all(word.encode() in command for word in words):
            found.append(int(path.name))
    return found


def memory(pid: int) -> dict[str, float]:
    """Resident and anonymous memory of one process, MiB."""
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return {name: int(fields[name].split()[0]) * 1024 / MIB for name in ("VmRSS", "RssAnon")}


def cgroup_without_cache(pid: int) -> float:
    """What the container of a process is charged for, without the page cache, MiB."""
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    unified = next((line.split("::")[1] for line in lines if line.startswith("0::")), None)
    legacy = next((line.split(":", 2)[2] for line in lines if ":memory:" in line), None)
    folder = Path(f"/sys/fs/cgroup/memory{legacy}") if legacy else Path(f"/sys/fs/cgroup{unified}")
    usage = folder / ("memory.usage_in_bytes" if legacy else "memory.current")
    stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return (int(usage.read_text()) - int(stat["total_cache" if legacy else "file"])) / MIB


def rest(cluster: Cluster, seconds: float) -> dict[str, Any]:
    with cluster.namespace("bench") as namespace:
        cluster.apply(*(valkey(f"rest{index}") for index in range(VALKEYS)), namespace=namespace)
        wait = ("wait", "valkey", "--all", "--for=jsonpath={.status.state}=Ready", f"--namespace={namespace}")
        cluster.kubectl(*wait, "--timeout=300s", timeout_s=310)
        time.sleep(60)  # the last events are sent, the last status is written
        pods = operator_pods(cluster)
        before = {pod: requests(cluster, pod) for pod in pods}
        time.sleep(seconds)
        after = {pod: requests(cluster, pod) for pod in pods}
        sent = {
            ("leader" if leads(cluster, pod) else "standby"): {
                key.removeprefix(METRIC): after[pod][key] - before[pod].get(key, 0)
                for key in after[pod]
                if after[pod][key] != before[pod].get(key, 0)
            }
            for pod in pods
        }
        operators = sorted(cgroup_without_cache(pid) for pid in processes(("valkey_operator", "operator")))
        agents = [memory(pid) for pid in processes(("valkey_operator", "agent"))]
        return {
            "seconds": seconds,
            "requests": sent,
            "operators_cgroup_mib": [round(each, 1) for each in operators],
            "agents_rss_mib": summary([each["VmRSS"] for each in agents]),
            "agents_anonymous_mib": summary([each["RssAnon"] for each in agents]),
        }


class Seen:
    """When each Valkey, and the first object made for it, was seen by watches of one process."""

    def __init__(self, cluster: Cluster, namespace: str) -> None:
        self._command = [str(REPOSITORY / "bin" / "kubectl"), f"--kubeconfig={cluster.kubeconfig}", "get"]
        self._namespace = namespace
        self._watches: list[subprocess.Popen[str]] = []
        self.valkeys: dict[str, float] = {}
        self.children: dict[str, float] = {}

    def start(self) -> None:
        for kind, found in (("valkey", self.valkeys), ("valkeyshard", self.children), ("service", self.children)):
            watch = subprocess.Popen(
                [*self._command, kind, f"--namespace={self._namespace}", "--watch", "--output=json"],
                stdout=subprocess.PIPE,
                text=True,
            )
            self._watches.append(watch)
            threading.Thread(target=self._read, args=(watch, found), daemon=True).start()
        time.sleep(3)

    def stop(self) -> None:
        for watch in self._watches:
            watch.terminate()
            watch.wait()

    @staticmethod
    def _read(watch: subprocess.Popen[str], found: dict[str, float]) -> None:
        decoder, text = json.JSONDecoder(), ""
        assert watch.stdout is not None
        for line in watch.stdout:
            text += line
            if line.rstrip() != "}":
                continue
            document, _ = decoder.raw_decode(text)
            name = document["metadata"].get("annotations", {}).get("valkey.io/cr", document["metadata"]["name"])
            found.setdefault(name, time.monotonic())
            text = ""


def reaction(cluster: Cluster, count: int) -> dict[str, Any]:
    """Milliseconds from a new Valkey to the first object made for it."""
    with cluster.namespace("bench") as namespace:
        seen = Seen(cluster, namespace)
        seen.start()
        try:
            for index in range(count):
                cluster.apply(valkey(f"one{index}", replicas=0), namespace=namespace)
            cluster.apply(*(valkey(f"many{index}", replicas=0) for index in range(VALKEYS)), namespace=namespace)
            deadline = time.monotonic() + 60
            while len(seen.children) < count + VALKEYS and time.monotonic() < deadline:
                time.sleep(0.1)
        finally:
            seen.stop()
        taken = {name: (at - seen.valkeys[name]) * 1000 for name, at in seen.children.items() if name in seen.valkeys}
        one = sorted(value for name, value in taken.items() if name.startswith("one"))
        many = [value for name, value in taken.items() if name.startswith("many")]
        return {"one_ms": summary(one), "one_p99_ms": round(one[-1 - len(one) // 100], 1), "many_ms": summary(many)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="of rest (default: %(default)s)")
    parser.add_argument("--reactions", type=int, default=100, help="Valkeys made one by one (default: %(default)s)")
    args = parser.parse_args()
    cluster = cluster_under_test()
    figures = {"reaction": reaction(cluster, args.reactions), "rest": rest(cluster, args.seconds)}
    print(f"{figures}\nkept in {append('valkey_rest', figures)}")


if __name__ == "__main__":
    main()
