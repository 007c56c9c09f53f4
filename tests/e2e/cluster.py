"""The cluster under test: what tests do with it, and what they say about it when something fails.

It is the one that KUBECONFIG names, or else the testbed, which is brought up if it is not.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from testbed import record
from testbed.layout import REPOSITORY, STATE_ROOT, Layout

Manifest = dict[str, Any]
T = TypeVar("T")

LOG_LINES = 40
TIMED_OUT = 124
OPERATOR_NAMESPACE = "--namespace=valkey-operator-system"


@dataclass(frozen=True)
class Cluster:
    kubeconfig: Path
    testbed: Layout | None
    """The testbed that this cluster is, or None for somebody else's."""

    def kubectl(self, *args: str, stdin: str | None = None, timeout_s: float = 60) -> str:
        done = self.try_kubectl(*args, stdin=stdin, timeout_s=timeout_s)
        if done.returncode:
            raise AssertionError(f"kubectl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def try_kubectl(
        self, *args: str, stdin: str | None = None, timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        argv = [str(REPOSITORY / "bin" / "kubectl"), *args]
        try:
            return subprocess.run(
                argv, check=False, text=True, capture_output=True, input=stdin, env=env, timeout=timeout_s
            )
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(argv, TIMED_OUT, "", f"no answer within {timeout_s} s")

    def get(self, kind: str, name: str = "", namespace: str | None = None, selector: str | None = None) -> Any:
        place = [f"--namespace={namespace}"] if namespace else []
        chosen = [f"--selector={selector}"] if selector else []
        return json.loads(self.kubectl("get", kind, *([name] if name else []), *place, *chosen, "--output=json"))

    def apply(self, *manifests: Manifest, namespace: str) -> None:
        bundle = {"apiVersion": "v1", "kind": "List", "items": list(manifests)}
        self.kubectl("apply", "--server-side", f"--namespace={namespace}", "--filename=-", stdin=json.dumps(bundle))

    def run_in(
        self, namespace: str, pod: str, *command: str, timeout_s: float = 60
    ) -> subprocess.CompletedProcess[str]:
        return self.try_kubectl("exec", f"--namespace={namespace}", pod, "--", *command, timeout_s=timeout_s)

    def say_in(self, namespace: str, pod: str, *command: str) -> str:
        """What a command in a pod printed; it must succeed."""
        done = self.run_in(namespace, pod, *command)
        if done.returncode:
            raise AssertionError(f"in {pod}, {' '.join(command)}: {done.stdout.strip()} {done.stderr.strip()}")
        return done.stdout.strip()

    def wait_for_answer(self, namespace: str, pod: str, *command: str, expected: str) -> None:
        """Wait until a command in a pod prints this: what goes through a Service takes a moment to get there.

        Until then it may lead to a machine that is cut off, or to a server that is frozen: its machine takes the
        connection, and nothing ever comes back.
        """

        def answered() -> bool | None:
            done = self.run_in(namespace, pod, "timeout", "5", *command)
            return True if done.stdout.strip() == expected else None

        self.wait_for(f"{' '.join(command)} in {pod} to say {expected!r}", answered, namespace)

    def wait_for_pods(self, namespace: str, *names: str, deadline_s: float = 90) -> list[Manifest]:
        """The named pods once all of them are Ready."""

        def ready() -> list[Manifest] | None:
            pods = {pod["metadata"]["name"]: pod for pod in self.get("pods", namespace=namespace)["items"]}
            chosen = [pods[name] for name in names if name in pods and is_ready(pods[name])]
            return chosen if len(chosen) == len(names) else None

        return self.wait_for(f"pods {', '.join(names)} to be Ready", ready, namespace, deadline_s=deadline_s)

    def wait_for(
        self, what: str, probe: Callable[[], T | None], namespace: str | None = None, *, deadline_s: float = 60
    ) -> T:
        """The first answer of the probe that is not None; a failure tells the state that explains it."""
        deadline = time.monotonic() + deadline_s
        while True:
            answer = probe()
            if answer is not None:
                return answer
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {deadline_s} s for {what}\n{self.explain(namespace)}")
            time.sleep(0.2)

    def node_is_ready(self, name: str) -> bool:
        return is_ready(self.get("node", name))

    def has_service_account(self, namespace: str) -> bool | None:
        """Pods are refused until the controller manager has made the account they run under."""
        asked = self.try_kubectl("get", "serviceaccount", "default", f"--namespace={namespace}")
        return True if asked.returncode == 0 else None

    @contextmanager
    def namespace(self, prefix: str) -> Iterator[str]:
        """A namespace for one test, gone with all that is in it."""
        name = f"{prefix}-{time.time_ns() // 1_000_000 % 10_000_000}"
        self.kubectl("create", "namespace", name)
        self.wait_for("the default service account", lambda: self.has_service_account(name), name)
        try:
            yield name
        finally:
            self.kubectl("delete", "namespace", name, "--wait=false")

    def explain(self, namespace: str | None) -> str:
        """Nodes, pods, claims, events, and the last lines of the operator's and every pod's log."""
        place = [f"--namespace={namespace}"] if namespace else ["--all-namespaces"]
        parts = [
            self.section("get", "nodes", "--output=wide"),
            self.section("get", "pods,persistentvolumeclaims,services", *place, "--output=wide"),
            self.section("get", "events", *place, "--sort-by=.lastTimestamp"),
            self.section("logs", "deployment/valkey-operator", OPERATOR_NAMESPACE, f"--tail={LOG_LINES}"),
        ]
        pods = self.try_kubectl("get", "pods", *place, "--output=name").stdout.split() if namespace else []
        logs = [self.section("logs", pod, *place, "--all-containers", f"--tail={LOG_LINES}") for pod in pods]
        return "\n".join([*parts, *logs])

    def section(self, *args: str) -> str:
        done = self.try_kubectl(*args)
        return f"--- kubectl {' '.join(args)}\n{(done.stdout + done.stderr).strip()[-6000:]}"


def is_ready(thing: Manifest) -> bool:
    conditions = thing.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def cluster_under_test() -> Cluster:
    given = os.environ.get("KUBECONFIG")
    if given:
        return Cluster(Path(given), testbed_behind(Path(given)))
    name = os.environ.get("TESTBED_NAME", "valkey")
    subprocess.run([REPOSITORY / "bin" / "testbed", "--name", name, "up"], check=True)
    layout, _ = record.require(name)
    return Cluster(layout.kubeconfig(), layout)


def testbed_behind(kubeconfig: Path) -> Layout | None:
    """The testbed whose kubeconfig this is, if it is one's."""
    resolved = kubeconfig.resolve()
    if not resolved.is_relative_to(STATE_ROOT):
        return None
    return record.require(resolved.relative_to(STATE_ROOT).parts[0])[0]
