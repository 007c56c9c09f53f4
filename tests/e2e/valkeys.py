"""Valkeys under test: how a test makes one, waits for it, and speaks with its servers."""

import base64
import json
from dataclasses import dataclass
from typing import Any

from testbed.images.catalogue import VALKEY_VERSIONS
from tests.e2e.cluster import Cluster
from tests.e2e.manifests import Manifest, pod

READY_WITHIN_S = 120
CLIENT = "client"


class Tested:
    """The version that Valkeys under test have: the newest, or the one of `--valkey`."""

    version = VALKEY_VERSIONS[-1]

    @classmethod
    def image(cls) -> str:
        return f"valkey/valkey:{cls.version}"


def valkey(name: str = "cart", *, replicas: int = 1, size: str = "256Mi", **spec: Any) -> Manifest:
    """A Valkey with a small volume; `persistence` given in full replaces that."""
    persistence = {"size": size} | spec.pop("persistence", {})
    return {
        "apiVersion": "valkey.io/v1alpha1",
        "kind": "Valkey",
        "metadata": {"name": name},
        "spec": {"image": Tested.image(), "replicas": replicas, "persistence": persistence, **spec},
    }


@dataclass(frozen=True)
class Shop:
    """A namespace with Valkeys, and a pod to call them from."""

    cluster: Cluster
    namespace: str
    kind: str = "valkey"
    """Of the objects that are asked for their status."""

    def apply(self, *manifests: Manifest) -> None:
        self.cluster.apply(*manifests, namespace=self.namespace)

    def get(self, kind: str, name: str) -> Any:
        return self.cluster.get(kind, name, self.namespace)

    def exists(self, kind: str, name: str) -> bool:
        found = self.cluster.try_kubectl("get", kind, name, f"--namespace={self.namespace}", "--output=name")
        return found.returncode == 0

    def status(self, name: str = "cart") -> Any:
        return self.get(self.kind, name).get("status", {})

    def wait_for_state(self, state: str, name: str = "cart", *, deadline_s: float = READY_WITHIN_S) -> Any:
        """The status, once it is about the present spec and in this state."""

        def reached() -> Any:
            found = self.get(self.kind, name)
            status = found.get("status", {})
            current = status.get("observedGeneration") == found["metadata"]["generation"]
            return status if current and status.get("state") == state else None

        return self.cluster.wait_for(
            f"{self.kind} {name} to be {state}", reached, self.namespace, deadline_s=deadline_s
        )

    def condition(self, type_: str, name: str = "cart") -> Any:
        return next((each for each in self.status(name).get("conditions", []) if each["type"] == type_), None)

    def wait_for_condition(self, type_: str, status: str, name: str = "cart", *, reason: str | None = None) -> Any:
        """The condition, once it has this status, and this reason where one is given."""

        def reached() -> Any:
            found = self.condition(type_, name)
            matches = found and found["status"] == status and reason in (None, found["reason"])
            return found if matches else None

        return self.cluster.wait_for(f"{type_} of {name} to be {status}", reached, self.namespace)

    def directives(self, node: str, *names: str, password: str | None = None) -> dict[str, str]:
        """What the running server of a node says to CONFIG GET."""
        lines = self.say(node, "CONFIG", "GET", *names, password=password).split("\n")
        return dict(zip(lines[::2], [*lines[1::2], ""], strict=False))

    def pods(self, name: str = "cart") -> dict[str, Any]:
        """The pods of a Valkey that are not on their way out, by node."""
        found = self.cluster.get("pods", namespace=self.namespace, selector=f"valkey.io/cluster={name}")["items"]
        staying = [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]
        return {pod["metadata"]["labels"]["valkey.io/node"]: pod for pod in staying}

    def uids(self, name: str = "cart") -> dict[str, str]:
        return {node: pod["metadata"]["uid"] for node, pod in self.pods(name).items()}

    def password(self, secret: str = "cart-auth", key: str = "password") -> str:  # noqa: S107 - their names
        return base64.b64decode(self.get("secret", secret)["data"][key]).decode()

    def pod_of(self, node: str) -> Any:
        """The pod of a node that is not on its way out."""
        pods = self.cluster.get("pods", namespace=self.namespace, selector=f"valkey.io/node={node}")["items"]
        return next(each for each in pods if "deletionTimestamp" not in each["metadata"])

    def say(self, node: str, *words: str, password: str | None = None) -> str:
        """What the server of a node answers."""
        secret = self.password() if password is None else password
        login = ["-a", secret, "--no-auth-warning"] if secret else []
        name = self.pod_of(node)["metadata"]["name"]
        command = ("exec", f"--namespace={self.namespace}", name, "--container=valkey", "--", "valkey-cli")
        return self.cluster.kubectl(*command, *login, *words).strip()

    def call(self, host: str, *words: str, password: str | None = None) -> str:
        """What a Service answers, called from the client's pod."""
        secret = self.password() if password is None else password
        login = ["-a", secret, "--no-auth-warning"] if secret else []
        return self.cluster.say_in(self.namespace, CLIENT, "valkey-cli", "-h", host, *login, *words)

    def wait_for_service(self, host: str = "cart", password: str | None = None) -> None:
        """Wait until a Service leads to a server: the rules for that come a moment after a pod is Ready."""
        secret = self.password() if password is None else password
        ask = ("valkey-cli", "-h", host, "-a", secret, "--no-auth-warning", "PING")
        self.cluster.wait_for_answer(self.namespace, CLIENT, *ask, expected="PONG")

    def patch(self, name: str, spec: Manifest) -> None:
        self.cluster.kubectl(
            "patch",
            self.kind,
            name,
            f"--namespace={self.namespace}",
            "--type=merge",
            f"--patch={json.dumps({'spec': spec})}",
        )

    def scale(self, replicas: int, name: str = "cart") -> None:
        self.patch(name, {"replicas": replicas})

    def delete_pod(self, node: str, *, force: bool = False) -> None:
        name = self.pod_of(node)["metadata"]["name"]
        now = ("--grace-period=0", "--force") if force else ()
        self.cluster.kubectl("delete", "pod", name, f"--namespace={self.namespace}", "--wait=false", *now)

    def kill_server(self, node: str) -> None:
        """Kill -9 of the server process alone; its container starts again."""
        script = 'for p in /proc/[0-9]*; do grep -q "^valkey-server" $p/comm && kill -9 ${p#/proc/}; done'
        name = self.pod_of(node)["metadata"]["name"]
        self.cluster.try_kubectl(
            "exec", f"--namespace={self.namespace}", name, "--container=valkey", "--", "sh", "-c", script
        )

    def write(self, count: int, *, host: str = "cart", prefix: str = "key") -> None:
        """Acknowledged writes through a Service, which may take a moment to lead to a new primary."""
        script = f"for i = 1, {count} do redis.call('SET', '{prefix}:' .. i, i) end return {count}"
        login = ("-a", self.password(f"{host}-auth"), "--no-auth-warning")
        ask = ("valkey-cli", "-h", host, *login, "EVAL", script, "0")
        self.cluster.wait_for_answer(self.namespace, CLIENT, *ask, expected=str(count))

    def count(self, node: str, *, prefix: str = "key") -> int:
        """How many of those a node has."""
        return int(self.say(node, "EVAL", f"return #redis.call('KEYS', '{prefix}:*')", "0"))

    def wait_for_copies(self, count: int, *nodes: str) -> None:
        """Wait until each of these nodes has that many; a server that was killed takes a moment to come back."""

        def all_there() -> bool | None:
            try:
                return True if {self.count(node) for node in nodes} == {count} else None
            # One that loads answers with a sentence.
            except (AssertionError, StopIteration, ValueError):
                return None

        self.cluster.wait_for(f"{count} keys on {', '.join(nodes)}", all_there, self.namespace, deadline_s=90)


def open_shop(cluster: Cluster, namespace: str) -> Shop:
    """A shop in an empty namespace."""
    cluster.kubectl("label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
    shop = Shop(cluster, namespace)
    shop.apply(pod(CLIENT))
    cluster.wait_for_pods(namespace, CLIENT)
    return shop
