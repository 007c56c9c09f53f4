"""How fast objects of ours get Ready, against bare copies of what the operator made for them.

Owns: the copies, the clock, and the turns. Refuses to know: which objects there are, and what else they are compared
with. What is bare has everything a pod needs made beforehand (rights, settings, certificates, a record), so that no
operator is needed; the clock runs from the apply of StatefulSets, claims and Services until the last pod is Ready. All
sorts take turns, so that a busy machine is busy for all, and each begins once the pods of the one before are gone.
"""

import copy
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from bench.results_file import summary
from tests.e2e.cluster import Cluster, Manifest

READY_S = 300
GONE_S = 90
# Made before the clock starts, and what the clock is for.
BEFORE = ("serviceaccount", "role", "rolebinding", "secret", "configmap", "valkeyshard")
TIMED = ("service", "persistentvolumeclaim", "statefulset")
STATEFUL_SETS = "stateful_sets"
_SERVER_SET = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "ownerReferences")
_ASSIGNED = ("clusterIP", "clusterIPs", "volumeName")
# What a record learns once its servers run; without it the agents decide alone, as at a first start.
_LEARNED = ("promotable", "replicationId", "firstOffset", "operation")


class Bare(NamedTuple):
    """What a user without an operator would write: before the clock starts, and what the clock is for."""

    before: list[Manifest]
    timed: list[Manifest]


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


class Track:
    """Runs of some objects of one kind, and of copies of what was made for them the first time."""

    def __init__(self, cluster: Cluster, kind: str, manifests: Sequence[Manifest], *, pods: int) -> None:
        self.cluster = cluster
        self.kind = kind
        self.manifests = manifests
        self.pods = pods
        self.bare = Bare([], [])

    def startable(self, copies: Bare) -> Bare:
        """What starts without an operator, made of plain copies; those of a Valkey do as they are."""
        return copies

    def missing(self, _status: Manifest, /) -> str:
        """What an object that says Ready lacks, or nothing; that of a Valkey is believed."""
        return ""

    def run_operated(self) -> float:
        with self._empty_namespace() as namespace:
            taken = self.time(namespace, self.manifests, self.kind, "jsonpath={.status.state}=Ready")
            for found in self.cluster.get(self.kind, namespace=namespace)["items"]:
                if missing := self.missing(found["status"]):
                    raise AssertionError(f"Ready, and yet {missing}\n{self._explain(namespace, self.kind)}")
            if not self.bare.timed:
                self.bare = self.startable(Bare(self._copy(namespace, BEFORE), self._copy(namespace, TIMED)))
            return taken

    def run_stateful_sets(self) -> float:
        with self.prepared() as namespace:
            return self.time(namespace, self.bare.timed, "statefulset", "jsonpath={.status.readyReplicas}=1")

    @contextmanager
    def prepared(self) -> Iterator[str]:
        """A namespace with all that is made before the clock starts."""
        with self._empty_namespace() as namespace:
            for subject in (subject for each in self.bare.before for subject in each.get("subjects", ())):
                subject["namespace"] = namespace
            self.cluster.apply(*self.bare.before, namespace=namespace)
            yield namespace

    def time(self, namespace: str, manifests: Sequence[Manifest], kind: str, ready: str) -> float:
        """Seconds from the apply until all of this kind are ready."""
        begun = time.monotonic()
        self.cluster.apply(*manifests, namespace=namespace)
        wait = ("wait", kind, "--all", f"--for={ready}", f"--namespace={namespace}", f"--timeout={READY_S}s")
        done = self.cluster.try_kubectl(*wait, timeout_s=READY_S + 10)
        if done.returncode:
            raise TimeoutError(f"{done.stderr}\n{self._explain(namespace, kind)}")
        return time.monotonic() - begun

    @contextmanager
    def _empty_namespace(self) -> Iterator[str]:
        with self.cluster.namespace("bench") as namespace:
            yield namespace
        # Pods that end take the cores from those that start.
        gone = ("wait", "pod", "--all", "--for=delete", f"--namespace={namespace}", f"--timeout={GONE_S}s")
        self.cluster.try_kubectl(*gone, timeout_s=GONE_S + 10)

    def _copy(self, namespace: str, kinds: tuple[str, ...]) -> list[Manifest]:
        found = self.cluster.get(",".join(kinds), namespace=namespace)["items"]
        return [bare_copy(each) for each in found if "valkey.io/cr" in each["metadata"].get("annotations", {})]

    def _explain(self, namespace: str, kind: str) -> str:
        objects = self.cluster.section("get", kind, f"--namespace={namespace}", "--output=yaml")
        return f"{objects}\n{self.cluster.explain(namespace)}"


def compare(sorts: Mapping[str, Callable[[], float]], *, pods: int, runs: int) -> dict[str, Any]:
    """Seconds of each sort, in turns; the first one is ours, and its ratio to StatefulSets is that of the medians."""
    ours = next(iter(sorts))
    sorts[ours]()  # not counted: images and caches are warm afterwards, for all alike
    taken: dict[str, list[float]] = {name: [] for name in sorts}
    for _ in range(runs):
        for name, run in sorts.items():
            taken[name].append(run())
            print(f"{pods} pods as {name}: {taken[name][-1]:.2f} s", flush=True)
    figures: dict[str, Any] = {f"{name}_s": summary(values) for name, values in taken.items()}
    ratio = figures[f"{ours}_s"]["median"] / figures[f"{STATEFUL_SETS}_s"]["median"]
    figures[f"{ours}_to_{STATEFUL_SETS}"] = round(ratio, 2)
    return figures
