"""The objects of the storage daemon, as it writes them to the API server."""

import hashlib
from pathlib import Path

from testbed.addons.kubeapi import Json
from testbed.addons.quantity import render_quantity

PROVISIONER = "testbed.valkey.io/loop"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"

STORAGE_CLASS: Json = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
    "provisioner": PROVISIONER,
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowVolumeExpansion": True,
    "reclaimPolicy": "Delete",
}

# All nodes share this machine's file system, so a volume follows its pod to each of them.
EVERY_NODE: Json = {
    "required": {
        "nodeSelectorTerms": [
            {"matchExpressions": [{"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}]},
        ]
    }
}


def volume_name(claim: Json) -> str:
    return f"pvc-{claim['metadata']['uid']}"


def persistent_volume(claim: Json, storage_class: Json, capacity: int, path: Path) -> Json:
    """A volume for a claim. `local` and not hostPath: the kubelet applies fsGroup to local volumes only."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": volume_name(claim), "annotations": {PROVISIONED_BY: PROVISIONER}},
        "spec": {
            "capacity": {"storage": render_quantity(capacity)},
            "accessModes": claim["spec"]["accessModes"],
            "volumeMode": "Filesystem",
            "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
            "storageClassName": storage_class["metadata"]["name"],
            "claimRef": reference(claim),
            "local": {"path": str(path)},
            "nodeAffinity": EVERY_NODE,
        },
    }


def warning(claim: Json, reason: str, message: str, now: str) -> Json:
    """An Event that tells why a claim does not get what it asks for. The same words have the same name."""
    digest = hashlib.sha256(f"{claim['metadata']['uid']} {reason} {message}".encode()).hexdigest()[:16]
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{claim['metadata']['name']}.{digest}", "namespace": claim["metadata"]["namespace"]},
        "involvedObject": reference(claim),
        "type": "Warning",
        "reason": reason,
        "message": message,
        "source": {"component": PROVISIONER},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }


def reference(claim: Json) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        **{key: claim["metadata"][key] for key in ("namespace", "name", "uid")},
    }
