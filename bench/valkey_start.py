"""How fast Valkeys get Ready, against bare StatefulSets and naked pods with the same containers, volumes and probes.

What is bare is copied from a Valkey (starts.py); its agents open their gates by the record.
"""

import argparse
import copy
from typing import Any

from bench.results_file import append
from bench.starts import STATEFUL_SETS, Track, compare
from tests.e2e.cluster import Cluster, Manifest, cluster_under_test
from tests.e2e.valkeys import valkey


def naked_pod(stateful_set: Manifest) -> Manifest:
    template = copy.deepcopy(stateful_set["spec"]["template"])
    meta = {**template["metadata"], "name": f"{stateful_set['metadata']['name']}-0"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": template["spec"]}


class Valkeys(Track):
    """`count` Valkeys with `replicas` nodes each."""

    def __init__(self, cluster: Cluster, count: int, replicas: int) -> None:
        manifests = [valkey(f"run{index}", replicas=replicas) for index in range(count)]
        super().__init__(cluster, "valkey", manifests, pods=count * replicas)

    def run_pods(self) -> float:
        pods = [naked_pod(each) for each in self.bare.timed if each["kind"] == "StatefulSet"]
        others = [each for each in self.bare.timed if each["kind"] != "StatefulSet"]
        with self.prepared() as namespace:
            return self.time(namespace, [*others, *pods], "pod", "condition=Ready")

    def compare(self, runs: int) -> dict[str, Any]:
        sorts = {"valkey": self.run_operated, STATEFUL_SETS: self.run_stateful_sets, "pods": self.run_pods}
        return compare(sorts, pods=self.pods, runs=runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each sort with three pods (default: %(default)s)")
    parser.add_argument("--crowd-runs", type=int, default=3, help="of each sort with twenty (default: %(default)s)")
    args = parser.parse_args()
    cluster = cluster_under_test()
    figures = {
        "one_of_three_pods": Valkeys(cluster, count=1, replicas=3).compare(args.runs),
        "twenty_of_one_pod": Valkeys(cluster, count=20, replicas=1).compare(args.crowd_runs),
    }
    print(f"{figures}\nkept in {append('valkey_start', figures)}")


if __name__ == "__main__":
    main()
