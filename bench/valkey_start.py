"""How fast Valkeys get Ready, against bare StatefulSets and naked pods with the same containers, volumes and probes.

What is bare has everything a pod needs made beforehand: record, rights, settings and certificate, copied from a Valkey.
Its agents open their gates by the record, so no operator is needed; the clock runs from the apply of StatefulSets (or
pods), claims and Services until the last pod is Ready. All sorts take turns, so that a busy machine is busy for all.
"""

import argparse
import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.results_file import append, summary
from tests.e2e.cluster import Cluster, Manifest, cluster_under_test
from tests.e2e.valkeys import valkey

READY_S = 180
# Made before the clock starts, and what the clock is for.
BEFORE = ("serviceaccount", "role", "rolebinding", "secret", "configmap", "valkeyshard")
TIMED = ("service", "persistentvolumeclaim", "statefulset")
_SERVER_SET = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences")
_ASSIGNED = ("clusterIP", "clusterIPs", "volumeName")
# What a record learns once its servers run; without it the agents decide alone, as at a first start.
_LEARNED = ("promotable", "replicationId", "firstOffset", "operation")


def bare_copy(found: Manifest) -> Manifest:
    """An object as a user without an operator would write it."""
    bare = copy.deepcopy(found)
    bare.pop("status", None)
    meta = bare["metadata"]
    for field in (*_SERVER_SET, "namespace", "finalizers"):
        meta.pop(field, None)
    meta.pop("labels", None)
    meta.pop("annotations", None)
    for field in (*_ASSIGNED, *_LEARNED):
        if bare.get("spec", {}).get(field) != "None":
            bare.get("spec", {}).pop(field, None)
    return bare


def naked_pod(stateful_set: Manifest) -> Manifest:
    template = copy.deepcopy(stateful_set["spec"]["template"])
    meta = {**template["metadata"], "name": f"{stateful_set['metadata']['name']}-0"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


class Track:
    """Runs of `count` Valkeys with `replicas` nodes each, and of what they are compared with."""

    def __init__(self, cluster: Cluster, count: int, replicas: int) -> None:
        self.cluster = cluster
        self.names = [f"run{index}" for index in range(count)]
        self.replicas = replicas
        self.before: list[Manifest] = []
        self.timed: list[Manifest] = []

    @property
    def pods(self) -> int:
        return len(self.names) * self.replicas

    def run_valkeys(self) -> float:
        with self.cluster.namespace("bench") as namespace:
            manifests = [valkey(name, replicas=self.replicas) for name in self.names]
            taken = self._time(namespace, manifests, "valkey", "jsonpath={.status.state}=Ready")
            if not self.timed:
                self.before, self.timed = self._copy(namespace, BEFORE), self._copy(namespace, TIMED)
            return taken

    def run_stateful_sets(self) -> float:
        with self._prepared() as namespace:
            return self._time(namespace, self.timed, "statefulset", "jsonpath={.status.readyReplicas}=1")

    def run_pods(self) -> float:
        pods = [naked_pod(each) for each in self.timed if each["kind"] == "StatefulSet"]
        others = [each for each in self.timed if each["kind"] != "StatefulSet"]
        with self._prepared() as namespace:
            return self._time(namespace, [*others, *pods], "pod", "condition=Ready")

    @contextmanager
    def _prepared(self) -> Iterator[str]:
        with self.cluster.namespace("bench") as namespace:
            for subject in (subject for each in self.before for subject in each.get("subjects", ())):
                subject["namespace"] = namespace
            self.cluster.apply(*self.before, namespace=namespace)
            yield namespace

    def _copy(self, namespace: str, kinds: tuple[str, ...]) -> list[Manifest]:
        found = self.cluster.get(",".join(kinds), namespace=namespace)["items"]
        return [bare_copy(each) for each in found if "valkey.io/cr" in each["metadata"].get("annotations", {})]

    def _time(self, namespace: str, manifests: list[Manifest], kind: str, ready: str) -> float:
        begun = time.monotonic()
        self.cluster.apply(*manifests, namespace=namespace)
        wait = ("wait", kind, "--all", f"--for={ready}", f"--namespace={namespace}", f"--timeout={READY_S}s")
        done = self.cluster.try_kubectl(*wait, timeout_s=READY_S + 10)
        if done.returncode:
            raise TimeoutError(self.cluster.explain(namespace))
        return time.monotonic() - begun


def compare(track: Track, runs: int) -> dict[str, Any]:
    sorts = {"valkey": track.run_valkeys, "stateful_sets": track.run_stateful_sets, "pods": track.run_pods}
    taken: dict[str, list[float]] = {name: [] for name in sorts}
    track.run_valkeys()  # not counted: images and caches are warm afterwards, for all alike
    for _ in range(runs):
        for name, run in sorts.items():
            taken[name].append(run())
            print(f"{track.pods} pods as {name}: {taken[name][-1]:.2f} s", flush=True)
    figures: dict[str, Any] = {f"{name}_s": summary(values) for name, values in taken.items()}
    median = {name: sorted(values)[len(values) // 2] for name, values in taken.items()}
    figures["valkey_to_stateful_sets"] = round(median["valkey"] / median["stateful_sets"], 2)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each sort with three pods (default: %(default)s)")
    parser.add_argument("--crowd-runs", type=int, default=3, help="of each sort with twenty (default: %(default)s)")
    args = parser.parse_args()
    cluster = cluster_under_test()
    figures = {
        "one_of_three_pods": compare(Track(cluster, count=1, replicas=3), args.runs),
        "twenty_of_one_pod": compare(Track(cluster, count=20, replicas=1), args.crowd_runs),
    }
    print(f"{figures}\nkept in {append('valkey_start', figures)}")


if __name__ == "__main__":
    main()
