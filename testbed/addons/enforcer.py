"""The daemon that keeps the policy table of every node's network namespace as the cluster wants it."""

import logging
import time
from pathlib import Path

from testbed.addons.backoff import Backoff
from testbed.addons.kubeapi import Api, Json
from testbed.addons.loop import drive
from testbed.addons.mirror import Mirror, Snapshot
from testbed.addons.policy import concerns
from testbed.addons.ruleset import ruleset
from testbed.commands import in_netns, output
from testbed.errors import TestbedError

PODS = "/api/v1/pods"
NAMESPACES = "/api/v1/namespaces"
POLICIES = "/apis/networking.k8s.io/v1/networkpolicies"
# A namespace that was made anew is empty, and nothing announces it.
LOOK_AGAIN_S = 5.0
# Short, because until then a pod may be reachable that must not be.
LONGEST_RETRY_S = 2.0

log = logging.getLogger(__name__)


def run(kubeconfig: Path, namespaces: Path) -> None:
    """Enforce until SIGTERM. The folder holds the network namespace of each node, under its Kubernetes name."""
    mirror = Mirror(Api(kubeconfig), (PODS, NAMESPACES, POLICIES))
    drive(mirror, Enforcer(mirror.snapshot, namespaces).step)


class Enforcer:
    """Remembers what it applied, so that only changes reach the kernel."""

    def __init__(self, snapshot: Snapshot, netns_folder: Path) -> None:
        self._snapshot = snapshot
        self._netns_folder = netns_folder
        self._applied: dict[str, tuple[str, tuple[int, int]]] = {}
        self._backoff = Backoff(LONGEST_RETRY_S)
        self._egress_told = False

    def step(self) -> float:
        """Bring every node up to date; return the seconds after which to look again."""
        pods, namespaces, policies = map(self._snapshot, (PODS, NAMESPACES, POLICIES))
        self._tell_about_egress(policies)
        # Read anew each time: a testbed may have got more nodes.
        for node in sorted(path.name for path in self._netns_folder.iterdir()):
            if self._backoff.is_ready(node, time.monotonic()):
                self._attempt(node, ruleset(node, pods, namespaces, policies))
        return self._backoff.next_s(time.monotonic(), LOOK_AGAIN_S)

    def _attempt(self, node: str, text: str) -> None:
        try:
            self._apply(node, text)
        except (TestbedError, OSError) as error:
            delay = self._backoff.failed(node, time.monotonic())
            log.warning("%s: policies not applied: %s; trying again in %.1f s", node, error, delay)
        else:
            self._backoff.succeeded(node)

    def _apply(self, node: str, text: str) -> None:
        netns = self._netns_folder / node
        wanted = (text, _identity(netns))
        if self._applied.get(node) == wanted:
            return
        self._applied.pop(node, None)
        output(in_netns(netns, ["nft", "-f", "-"]), stdin=text)
        self._applied[node] = wanted
        log.info("%s: policies applied, isolated pods: %d", node, text.count("\tchain pod-"))

    def _tell_about_egress(self, policies: list[Json]) -> None:
        if not self._egress_told and any(concerns(policy, "Egress") for policy in policies):
            self._egress_told = True
            log.warning("egress rules of network policies are not enforced by the testbed")


def _identity(netns: Path) -> tuple[int, int]:
    """Differs for a namespace made anew under the same name; its inode number alone may come back."""
    status = netns.stat()
    return status.st_ino, status.st_ctime_ns
