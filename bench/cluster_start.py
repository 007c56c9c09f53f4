"""How fast a ValkeyCluster is whole, against as many bare StatefulSets with the same containers, volumes and probes.

Whole: Ready, with all 16384 slots served and every replica in sync. The bare ones are copied from the cluster
(starts.py) and differ in one thing: nobody would let a server in cluster mode through its gate but an operator, so each
shard gets a record, by which its agents open as those of a Valkey do. So as many primaries start, as many replicas get
in sync, and no cluster is formed. That, and making all the objects, is what the ratio shows.
"""

import argparse
import copy
from typing import Any

from bench.results_file import append
from bench.starts import STATEFUL_SETS, Bare, Track, compare
from tests.e2e.cluster import Cluster, Manifest, cluster_under_test
from tests.e2e.sharded import SLOTS, sharded
from valkey_operator.core.names import OWNER_LABEL, SHARD_LABEL, node_name, shard_name

BAR = 1.6
REPLICAS = 2
RATIO = f"cluster_to_{STATEFUL_SETS}"


def without_cluster_mode(copies: Bare) -> Bare:
    """The same pods, as shards of their own: each with a record, which its agents may read and open their gates by."""
    shards = {shard_name(labels_of(each)): labels_of(each) for each in copies.timed if each["kind"] == "StatefulSet"}
    before = [with_right(each, sorted(shards)) for each in copies.before if each["kind"] != "ValkeyShard"]
    records = [first_record(name, labels) for name, labels in sorted(shards.items())]
    return Bare([*before, *records], [by_record(each) for each in copies.timed])


def labels_of(stateful_set: Manifest) -> dict[str, str]:
    """Of its pod: the copy itself has none any more."""
    return dict(stateful_set["spec"]["template"]["metadata"]["labels"])


def first_record(name: str, labels: dict[str, str]) -> Manifest:
    owner = {"kind": "ValkeyCluster", "name": labels[OWNER_LABEL]}
    spec = {"owner": owner, "index": int(labels[SHARD_LABEL]), "epoch": 1, "primary": node_name(name, 0)}
    return {"apiVersion": "valkey.io/v1alpha1", "kind": "ValkeyShard", "metadata": {"name": name}, "spec": spec}


def with_right(manifest: Manifest, records: list[str]) -> Manifest:
    if manifest["kind"] != "Role":
        return manifest
    rules = [{**rule, "resourceNames": records} for rule in manifest["rules"]]
    return {**manifest, "rules": rules}


def by_record(manifest: Manifest) -> Manifest:
    """A StatefulSet whose agents know the name of their record; anything else as it is."""
    if manifest["kind"] != "StatefulSet":
        return manifest
    changed = copy.deepcopy(manifest)
    record = {"name": "VALKEY_AGENT_SHARD", "value": shard_name(labels_of(manifest))}
    [agent] = [each for each in changed["spec"]["template"]["spec"]["initContainers"] if each["name"] == "agent"]
    agent["env"].append(record)
    return changed


class Shards(Track):
    """A ValkeyCluster of so many shards with two nodes each."""

    def __init__(self, cluster: Cluster, shards: int) -> None:
        manifests = [sharded(shards=shards, replicas=REPLICAS)]
        super().__init__(cluster, "valkeycluster", manifests, pods=shards * REPLICAS)

    def startable(self, copies: Bare) -> Bare:
        return without_cluster_mode(copies)

    def missing(self, status: Manifest, /) -> str:
        slots, ready = status.get("slotsAssigned"), status.get("readyReplicas")
        is_whole = (slots, ready) == (SLOTS, self.pods)
        return "" if is_whole else f"{slots} of {SLOTS} slots are assigned, {ready} of {self.pods} pods are Ready"

    def compare(self, runs: int) -> dict[str, Any]:
        sorts = {"cluster": self.run_operated, STATEFUL_SETS: self.run_stateful_sets}
        figures = compare(sorts, pods=self.pods, runs=runs)
        verdict = "met" if figures[RATIO] <= BAR else "MISSED"
        print(f"{self.pods} pods: {RATIO} is {figures[RATIO]}, the bar {BAR} is {verdict}", flush=True)
        return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="of each sort with three shards (default: %(default)s)")
    parser.add_argument("--crowd-runs", type=int, default=3, help="of each sort with ten (default: %(default)s)")
    args = parser.parse_args()
    cluster = cluster_under_test()
    figures = {
        "bar": BAR,
        "three_shards_of_two": Shards(cluster, 3).compare(args.runs),
        "ten_shards_of_two": Shards(cluster, 10).compare(args.crowd_runs),
    }
    print(f"{figures}\nkept in {append('cluster_start', figures)}")


if __name__ == "__main__":
    main()
