"""The Valkey that faults are staged on: who is what in it at this moment, and how a fault's target is found."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from faults.cast import Cast, Door, ValkeyCast
from faults.problems import NotThereError, first_line
from faults.settings import NAME, NODES
from faults.sight import Sight
from testbed.addons.kubeapi import JSON, MERGE_PATCH, Api, ApiError, Json
from testbed.faults.links import all_nodes, node_named
from testbed.layout import Layout
from tests.e2e.valkeys import Shop


@dataclass(frozen=True)
class Ground:
    """A Valkey; of a cluster, seen from the shard that a fault is staged on."""

    shop: Shop
    layout: Layout
    clients_on: str
    """The machine that clients are on; it is never cut off or stopped."""

    nodes: ClassVar[int] = NODES
    settled_within_s: ClassVar[float] = 150.0

    @property
    def namespace(self) -> str:
        return self.shop.namespace

    def for_fault(self, _variant: int) -> "Ground":
        """As one fault of a run sees it."""
        return self

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

    def a_replica(self, number: int) -> str:
        """One of them; raises NotThereError while there is none."""
        found = self.replicas()
        if not found:
            raise NotThereError("no pod but the primary's")
        return found[number % len(found)]

    def machine_of_primary(self) -> str:
        """Unless clients are there."""
        return self.breakable(self.machine_of(self.primary()))

    def machine_of(self, node: str) -> str:
        found = self.shop.pods().get(node, {}).get("spec", {}).get("nodeName")
        if not found:
            raise NotThereError(f"{node} is on no machine")
        return str(found)

    def breakable(self, machine: str) -> str:
        if machine == self.clients_on:
            raise NotThereError(f"clients are on {machine}")
        return machine

    def door(self) -> Door:
        service = str(self.shop.get("service", NAME)["spec"]["clusterIP"])
        return Door(self.network_of(self.clients_on), service, self.shop.password())

    def cast(self, run: str, sight: Sight) -> Cast:
        """Who the clients of a run are."""
        return ValkeyCast(self.door(), run, sight.addresses)

    def empty(self) -> None:
        """Without any key, as a run begins."""
        self.shop.say(self.primary(), "FLUSHALL")

    def patch(self, **spec: Any) -> None:
        self._change({"spec": spec})

    def annotate(self, name: str, value: str | None) -> None:
        """None takes it away."""
        self._change({"metadata": {"annotations": {name: value}}})

    def delete_pod(self, node: str, *, force: bool = False) -> None:
        name = self.pod_of(node).rpartition("/")[2]
        now = {"gracePeriodSeconds": 0} if force else {}
        self.request("DELETE", f"/api/v1/namespaces/{self.namespace}/pods/{name}", now)

    def _change(self, change: Json) -> None:
        self.request("PATCH", self.path, change, MERGE_PATCH)

    @property
    def path(self) -> str:
        """Of the custom resource, at the API server."""
        return f"/apis/valkey.io/v1alpha1/namespaces/{self.namespace}/{self.shop.kind}s/{NAME}"

    def request(self, method: str, path: str, body: Json | None = None, content_type: str = JSON) -> Json:
        """Without a program of its own, which would take the cores from what is measured."""
        try:
            return Api(self.shop.cluster.kubeconfig).request(method, path, body, content_type)
        except ApiError as refusal:
            raise NotThereError(f"{method} {path}: {refusal}") from refusal

    def not_settled(self) -> str:
        """Nothing once all is whole by its own words and no pod is on its way out; else what it is instead."""
        asked = self.shop.cluster.try_kubectl(
            "get", f"{self.shop.kind}s,pods", f"--namespace={self.namespace}", "--output=json", "--request-timeout=5s"
        )
        if asked.returncode:
            return asked.stderr.strip()
        items = json.loads(asked.stdout)["items"]
        [found] = [each for each in items if each["kind"] != "Pod"]
        pods = [
            each["metadata"] for each in items if each["metadata"].get("labels", {}).get("valkey.io/cluster") == NAME
        ]
        status = found.get("status", {})
        if status.get("observedGeneration") != found["metadata"]["generation"]:
            return "the status is not about the present spec"
        if status.get("state") != "Ready" or not self.is_whole(status):
            return f"{status.get('state')}: {status.get('message')}"
        leaving = [pod["name"] for pod in pods if "deletionTimestamp" in pod]
        return f"{', '.join(leaving)} on the way out" if leaving else ""

    def is_whole(self, status: Json) -> bool:
        return bool(status.get("readyReplicas") == self.nodes)

    def untruth(self) -> str:
        """What the status says and the servers do not."""
        try:
            status, nodes = self.shop.status(NAME), self.shop.pods()
        except AssertionError as problem:
            return first_line(problem)
        roles = {node: self._role_of(node) for node in nodes}
        wanted = {node: "master" if node == status["primary"] else "slave connected" for node in roles}
        if len(roles) != self.nodes or roles != wanted:
            return f"the status names {status['primary']}, and the servers say {roles}"
        return ""

    def _role_of(self, node: str) -> str:
        try:
            words = self.shop.say(node, "ROLE").split()
        except AssertionError as problem:
            return first_line(problem)
        linked = (word for word in words if word == "connected")
        return "master" if words[0] == "master" else " ".join(["slave", *linked])
