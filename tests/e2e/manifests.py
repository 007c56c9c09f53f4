"""Builders of what tests apply: small, and with only the fields that a test speaks about."""

from typing import Any

Manifest = dict[str, Any]

IMAGE = "valkey/valkey:9.1"
UNPRIVILEGED = {
    "runAsNonRoot": True,
    "runAsUser": 999,
    "runAsGroup": 999,
    "fsGroup": 999,
    "seccompProfile": {"type": "RuntimeDefault"},
}
PING = {"exec": {"command": ["valkey-cli", "ping"]}, "periodSeconds": 1}


def container(name: str = "valkey", image: str = IMAGE, **fields: Any) -> Manifest:
    contained = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {"name": name, "image": image, "securityContext": contained, **fields}


def server(image: str = IMAGE, **fields: Any) -> Manifest:
    command = ["valkey-server", "--protected-mode", "no", "--save", ""]
    return container(image=image, command=command, readinessProbe=PING, **fields)


def pod(name: str, *, node: str | None = None, claim: str | None = None, **spec: Any) -> Manifest:
    """A pod of one Valkey server, on a node of choice, with its data on a claim of choice."""
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}] if claim else []
    mounts: Manifest = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]} if claim else {}
    chosen = {"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "securityContext": UNPRIVILEGED,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": False,
            "containers": [server(**mounts)],
            "volumes": volumes,
            **chosen,
            **spec,
        },
    }


def service(name: str, selector: dict[str, str], port: int = 6379) -> Manifest:
    spec = {"selector": selector, "ports": [{"port": port}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def claim(name: str, size: str) -> Manifest:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def spread_over_zones(app: str) -> Manifest:
    """Scheduling fields that put each pod of an app into a zone of its own."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"topologySpreadConstraints": [constraint]}
