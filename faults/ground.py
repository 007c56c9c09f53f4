"""The Valkey that faults are staged on: who is what in it at this moment, and how a fault's target is found."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.addons.kubeapi import JSON, MERGE_PATCH, Api, ApiError, Json
from testbed.faults.links import all_nodes, node_named
from testbed.layout import Layout
from tests.e2e.cluster import Cluster
from tests.e2e.valkeys import Shop, valkey

NAME = "cart"
NODES = 3
PREFIX = "faults"
"""Of the namespaces."""


class NotThereError(Exception):
    """What a fault is to be done to is not there now, such as a primary while nobody is one."""


@dataclass(frozen=True)
class Ground:
    shop: Shop
    layout: Layout
    clients_on: str
    """The machine that clients are on; it is never cut off or stopped."""

    @property
    def namespace(self) -> str:
        return self.shop.namespace

    def network_of(self, machine: str) -> Path:
        return node_named(self.layout, machine).netns

    def machines(self) -> list[str]:
        return [machine.name for machine in all_nodes(self.layout)]

    def primary(self) -> str:
        found = self.shop.status().get("primary")
        if not found:
            raise NotThereError("nobody is primary")
        return str(found)

    def primary_pod(self) -> str:
        """As `namespace/name`."""
        return self.pod_of(self.primary())

    def pod_of(self, node: str) -> str:
        try:
            return f"{self.namespace}/{self.shop.pod_of(node)['metadata']['name']}"
        except StopIteration:
            raise NotThereError(f"{node} has no pod") from None

    def replicas(self) -> list[str]:
        """Nodes that are not primary and have a pod, in order."""
        primary = self.primary()
        return sorted(node for node in self.shop.pods() if node != primary)

    def machine_of_primary(self) -> str:
        """Unless clients are there."""
        return self._breakable(self.machine_of(self.primary()))

    def machine_of(self, node: str) -> str:
        found = self.shop.pods().get(node, {}).get("spec", {}).get("nodeName")
        if not found:
            raise NotThereError(f"{node} is on no machine")
        return str(found)

    def _breakable(self, machine: str) -> str:
        if machine == self.clients_on:
            raise NotThereError(f"clients are on {machine}")
        return machine

    def service_address(self, name: str) -> str:
        return str(self.shop.get("service", name)["spec"]["clusterIP"])

    def patch(self, **spec: Any) -> None:
        self._change_valkey({"spec": spec})

    def annotate(self, name: str, value: str | None) -> None:
        """None takes it away."""
        self._change_valkey({"metadata": {"annotations": {name: value}}})

    def delete_pod(self, node: str, *, force: bool = False) -> None:
        name = self.shop.pod_of(node)["metadata"]["name"]
        now = {"gracePeriodSeconds": 0} if force else {}
        self._request("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{name}", now)

    def _change_valkey(self, change: Json) -> None:
        path = f"/apis/valkey.io/v1alpha1/namespaces/{self.namespace}/valkeys/{NAME}"
        self._request("PATCH", path, change, MERGE_PATCH)

    def _request(self, method: str, path: str, body: Json, content_type: str = JSON) -> None:
        """Without a program of its own, which would take the cores from what is measured."""
        try:
            Api(self.shop.cluster.kubeconfig).request(method, path, body, content_type)
        except ApiError as refusal:
            raise NotThereError(f"{method} {path}: {refusal}") from refusal


def apply_valkey(shop: Shop, durability: str) -> None:
    """Of three nodes, each on a machine of its own, and whole."""
    shop.apply(valkey(NAME, replicas=NODES, durability=durability))
    shop.wait_for_state("Ready")


def ground_on(shop: Shop, layout: Layout) -> Ground:
    """Clients are on a machine without the primary."""
    away = shop.pods()[shop.status()["primary"]]["spec"]["nodeName"]
    machines = [machine.name for machine in all_nodes(layout)]
    return Ground(shop, layout, next(each for each in reversed(machines) if each != away))


@contextlib.contextmanager
def shop_for_faults(cluster: Cluster, durability: str) -> Iterator[Shop]:
    """A Valkey in a namespace of its own, gone with the block."""
    with cluster.namespace(PREFIX) as namespace:
        shop = Shop(cluster, namespace)
        apply_valkey(shop, durability)
        yield shop


def not_settled(shop: Shop) -> str:
    """Nothing once the Valkey is whole by its own words and no pod is on its way out; else what it is instead."""
    asked = shop.cluster.try_kubectl(
        "get", "valkeys,pods", f"--namespace={shop.namespace}", "--output=json", "--request-timeout=5s"
    )
    if asked.returncode:
        return asked.stderr.strip()
    items = json.loads(asked.stdout)["items"]
    [found] = [each for each in items if each["kind"] == "Valkey"]
    pods = [each["metadata"] for each in items if each["metadata"].get("labels", {}).get("valkey.io/cluster") == NAME]
    status = found.get("status", {})
    if status.get("observedGeneration") != found["metadata"]["generation"]:
        return "the status is not about the present spec"
    if status.get("state") != "Ready" or status.get("readyReplicas") != NODES:
        return f"{status.get('state')}: {status.get('message')}"
    leaving = [pod["name"] for pod in pods if "deletionTimestamp" in pod]
    return f"{', '.join(leaving)} on the way out" if leaving else ""
